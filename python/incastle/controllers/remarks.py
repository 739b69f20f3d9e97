"""What a controller did that is legal and probably not meant: remarks after the run.

Looked at are the methods of the class, and the first controllers of a run as they are at its end.
Leaves out: values of a call (`return self.helper()`), which may be None.
"""

from __future__ import annotations

import dis
import inspect
from contextlib import suppress
from types import FunctionType
from typing import TYPE_CHECKING, Any

from incastle.controllers.base import Controller

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_WATCHED = 16
"""Controllers of a run that are kept to its end: enough to see a mistake of the class."""
RETURNS = {"RETURN_VALUE", "RETURN_CONST"}
OF_VALUES = ("BINARY_", "UNARY_", "COMPARE_", "LOAD_FAST", "LOAD_ATTR")
"""Instructions, by their beginnings, whose outcome is a value in all probability."""
BITS = 8


def remarks(name: str, kind: type, made: Sequence[Any], duration_s: float) -> list[str]:
    """Return a sentence with the remedy for each finding.

    Args:
        name: of the controller in the scenario.
        kind: its class.
        made: controllers of the run, as they are at its end.
        duration_s: simulated time.

    """
    found = (
        _returned(kind),
        _no_limit(kind),
        _small_windows(kind, made),
        _slow_pacing(kind, made, duration_s),
    )
    return [f'the controller "{name}": {kind.__name__}.{one}' for one in found if one]


def _returned(kind: type) -> str | None:
    if any(isinstance(one, str) for one in _what_returns(kind, "on_ack")):
        return "on_ack returns a value, which is not used: set self.cwnd_bytes"
    return None


def _no_limit(kind: type) -> str | None:
    """Remark on a window that is always None where no rate limits the sender either."""
    found = _what_returns(kind, "window")
    is_theirs = getattr(kind, "window", None) is not Controller.window
    if is_theirs and not hasattr(kind, "pacing") and found and set(found) == {None}:
        return "window() always returns None, which is no limit: return bytes"
    return None


def _what_returns(kind: type, method: str) -> list[object]:
    """Return, for each `return` of a method, None, "a value", or False where that is open."""
    function = inspect.getattr_static(kind, method, None)
    if not isinstance(function, FunctionType):
        return []
    steps = list(dis.get_instructions(function))
    found: list[object] = []
    for before, step in zip([None, *steps], steps, strict=False):
        if step.opname not in RETURNS:
            continue
        origin = step if step.opname == "RETURN_CONST" or before is None else before
        if "CONST" in origin.opname or origin.opname == "LOAD_SMALL_INT":
            found.append(None if origin.argval is None else "a value")
        else:
            found.append("a value" if origin.opname.startswith(OF_VALUES) else False)
    return found


def _small_windows(kind: type, made: Sequence[Any]) -> str | None:
    """Remark on windows that all ended below a segment without pacing: packets, not bytes."""
    if kind.window is not Controller.window or hasattr(kind, "pacing"):  # type: ignore[attr-defined]
        return None
    known = [one for one in made if hasattr(one, "connection")]
    changed = [one for one in known if one.cwnd_bytes != one.connection.initial_window_bytes]
    if not changed or any(one.cwnd_bytes >= one.mss_bytes for one in changed):
        return None
    segment, least = changed[0].mss_bytes, min(one.cwnd_bytes for one in changed)
    return (
        f"cwnd_bytes ended at {least:g}, below a segment ({segment} B), for every connection: it "
        "is in bytes, so 10 packets are 10 * self.mss_bytes"
    )


def _slow_pacing(kind: type, made: Sequence[Any], duration_s: float) -> str | None:
    """Remark on rates with which no packet would leave in the whole run."""
    if not hasattr(kind, "pacing"):
        return None
    rates = []
    for one in made:
        with suppress(Exception):  # it is over: what fails now has failed in the run
            rates.append((float(one.pacing()), one.mss_bytes))
    if not rates or any(rate * duration_s >= BITS * segment for rate, segment in rates):
        return None
    return (
        f"pacing() returned {rates[0][0]:g}, less than a packet in the whole run: it is in bits "
        "per second, so 10 Gbit/s are 10e9"
    )
