"""A job that says when it runs and when it runs again; an interrupt ends it."""

import os
import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)
# Blocked, it still wakes a job that is stopped, and stays until it is waited for: none is missed.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCONT})
os.write(1, b"up\n")
while True:
    signal.sigwait({signal.SIGCONT})
    os.write(1, b"back\n")
