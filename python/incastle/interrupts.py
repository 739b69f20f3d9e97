"""Ctrl-C at a bad moment: at the very start, or while what must not be torn is done."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells have it."""


def leave_at_once() -> None:
    """Let Ctrl-C end the process until `raise_again`.

    While modules are imported an exception would be a traceback from any of them, and nothing is
    there yet that has to be put in order. Where Ctrl-C is ignored, as in the background of a shell,
    it stays so.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_again() -> None:
    """Let Ctrl-C be a KeyboardInterrupt, as Python has it."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


@dataclass
class Waiting:
    """Whether a Ctrl-C waits for the end of a block."""

    arrived: bool = False


@contextmanager
def put_off() -> Iterator[Waiting]:
    """Let a Ctrl-C wait until the end of the block; a second one does not wait.

    Signals reach the main thread alone: in any other one there is nothing to put off. A program
    that has replaced Python's own handler is left to it.
    """
    ours = threading.current_thread() is threading.main_thread()
    waiting = Waiting()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield waiting
        return

    def note(number: int, frame: FrameType | None) -> None:
        if waiting.arrived:
            signal.default_int_handler(number, frame)
        waiting.arrived = True

    signal.signal(signal.SIGINT, note)
    try:
        yield waiting
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if waiting.arrived:
        raise KeyboardInterrupt
