"""Ctrl-C at a bad moment: at the very start, or during work that must not be interrupted."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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


@dataclass(frozen=True)
class Patience:
    """How long a user's code may delay a Ctrl-C.

    Attributes:
        seconds: after them it is raised within that code, and again until the block ends.
        spared: but not within this function, nor in what that calls: it must not be torn.

    """

    seconds: float
    spared: Callable[..., object]

    def spares(self, frame: FrameType | None) -> bool:
        """Return whether the function runs in this frame, or below it."""
        while frame is not None:
            if frame.f_code is self.spared.__code__:
                return True
            frame = frame.f_back
        return False


@contextmanager
def put_off(patience: Patience | None = None) -> Iterator[Waiting]:
    """Let a Ctrl-C wait until the end of the block; a second one does not wait.

    Signals reach the main thread alone: in any other one there is nothing to put off. A program
    that has replaced Python's own handler is left to it.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield Waiting()
        return
    putting_off = _PuttingOff(patience)
    signal.signal(signal.SIGINT, putting_off.handle)
    try:
        yield putting_off.waiting
    finally:
        try:
            putting_off.end()
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if putting_off.waiting.arrived:
        raise KeyboardInterrupt


class _PuttingOff:
    """The handler of a block, and the thread that reminds it of a Ctrl-C."""

    def __init__(self, patience: Patience | None) -> None:
        self.patience = patience
        self.waiting = Waiting()
        self._reminder: threading.Thread | None = None
        self._reminded = False
        self._over = threading.Event()

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Note the first Ctrl-C; raise the second, and what the thread reminds of."""
        if self._reminded:
            self._reminded = False
            if self.patience is not None and self.patience.spares(frame):
                return
            signal.default_int_handler(number, frame)
        if self.waiting.arrived:
            signal.default_int_handler(number, frame)
        self.waiting.arrived = True
        if self.patience is not None:
            self._reminder = threading.Thread(
                target=self._remind, args=(self.patience.seconds,), daemon=True
            )
            self._reminder.start()

    def _remind(self, every_s: float) -> None:
        main = threading.main_thread().ident
        while main is not None and not self._over.wait(every_s):
            self._reminded = True
            # A signal ends a system call as well, which an exception from this thread would not.
            signal.pthread_kill(main, signal.SIGINT)

    def end(self) -> None:
        """Wait until the thread sends no signal any more."""
        self._over.set()
        if self._reminder is not None:
            self._reminder.join()
