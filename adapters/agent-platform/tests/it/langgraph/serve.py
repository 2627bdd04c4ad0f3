"""Serves the graphs of this directory until standard input ends: no server outlives the test that started it."""

import os
import sys
import threading

from langgraph_cli.cli import cli


def wait_for_end():
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=wait_for_end, daemon=True).start()
port = sys.argv[1]
cli(["dev", "--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", port, "--n-jobs-per-worker", "32"])
