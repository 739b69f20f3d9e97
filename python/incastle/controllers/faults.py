"""The message about a controller that failed: where, when, and the traceback of the user's code."""

from __future__ import annotations

import traceback
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from incastle import _engine
from incastle.controllers.base import Controller
from incastle.units import si

if TYPE_CHECKING:
    from incastle._engine import ControllerFault

PACKAGE = str(Path(__file__).parent.parent)


def words_of(fault: ControllerFault, kind: type, clock: str = "of simulated time") -> str:
    """Name the controller, its class, the method, the time and the reason."""
    when = "" if fault.now_s is None else f" at {si(fault.now_s, 's', 9)} {clock}"
    what = f'the controller "{fault.controller}"'
    if not fault.controller.endswith(f":{kind.__name__}"):
        what += f" ({kind.__name__})"
    if fault.gave is not None:
        return f"{what}: {fault.method}(){when} {fault.gave}"
    raised = "" if fault.raised is None else raised_outside(fault.raised)
    return f"{what} raised in {fault.method}{when}:\n{raised}{_hint(fault.raised)}"


def _hint(error: BaseException | None) -> str:
    """Describe the remedy for a missing attribute that beginners forget."""
    if not isinstance(error, AttributeError):
        return ""
    if isinstance(error.obj, Controller) and not hasattr(error.obj, "connection"):
        return "\nthe base class is not set up: begin __init__ with super().__init__(connection)"
    if not isinstance(error.obj, Controller | _engine.ControllerContext | _engine.Connection):
        return ""
    has = [name for name in dir(error.obj) if not name.startswith("_")]
    wanted = error.name or ""
    # A unit that was left out first: cwnd is cwnd_bytes.
    near = [name for name in has if name.startswith(f"{wanted}_")] or get_close_matches(wanted, has)
    meant = f"did you mean {near[0]}? " if near else ""
    return f"\n{meant}there are {', '.join(has)}"


def stopped_within(stop: KeyboardInterrupt) -> str | None:
    """Name the line of a controller's method that a Ctrl-C had to end, if it was in one.

    The engine calls controllers from a frame of this package, and a handler of it raised the
    exception: what is between the two is the user's, unless it was a callable of this package.
    """
    between = traceback.extract_tb(stop.__traceback__)[1:-1]
    if not between or any(frame.filename.startswith(PACKAGE) for frame in between):
        return None
    return f"{between[0].filename}:{between[0].lineno}, in {between[0].name}"


def raised_outside(error: BaseException) -> str:
    """Return an exception as Python prints it, without the frames of this package."""
    report = traceback.TracebackException.from_exception(error)
    theirs = [frame for frame in report.stack if not frame.filename.startswith(PACKAGE)]
    report.stack = traceback.StackSummary.from_list(theirs)
    lines = list(report.format())
    if not theirs:
        lines = [line for line in lines if not line.startswith("Traceback ")]
    return "".join(lines).rstrip()
