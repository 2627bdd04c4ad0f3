"""A job that says when it runs and when it runs again; an interrupt ends it."""

import os
import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGCONT, lambda *_: os.write(1, b"back\n"))
os.write(1, b"up\n")
while True:
    signal.pause()
