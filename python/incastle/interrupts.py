"""Ctrl-C at a bad moment: put off until what must not be torn is done."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


@contextmanager
def put_off() -> Iterator[None]:
    """Let a Ctrl-C wait until the end of the block; a second one does not wait.

    Signals reach the main thread alone: in any other one there is nothing to put off. A program
    that has replaced Python's own handler is left to it.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    arrived = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal arrived
        if arrived:
            signal.default_int_handler(number, frame)
        arrived = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if arrived:
        raise KeyboardInterrupt
