"""Runs the program `softswitch`, the very same code as the binary, in a separate process."""

from __future__ import annotations

import signal
import sys

from incastle import _engine

if __name__ == "__main__":
    # Ctrl-C reaches the whole group: the process that started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(_engine.softswitch_program(["softswitch", *sys.argv[1:]]))
