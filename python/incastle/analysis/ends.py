"""Numbers that unfinished transfers leave open: their ends, and what is computed from them.

An unfinished transfer has lasted some time already and may go on without limit. A statistic over
transfers therefore has a lower and an upper end, of which nothing is assumed but the order. What is
computed from such numbers has the ends that the parts allow: a ratio is at its minimum where its
numerator is at its minimum and its denominator at its maximum. A measure's value is a plain number
where every transfer completed, and `Ends` otherwise, also where both ends agree: how many were
unfinished is reported.

Leaves out that two parts may rest on the same transfers: ends may then lie further apart than need
be, never closer.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class Ends(NamedTuple):
    """A number between two ends, and how many transfers were unfinished where it was measured."""

    low: float
    high: float
    unfinished: int = 0


Value: TypeAlias = "float | Ends"


def ends(value: Value) -> Ends:
    """Return the ends of a value; those of a plain number are equal."""
    return value if isinstance(value, Ends) else Ends(value, value)


def joined(low: float, high: float, parts: Iterable[Value]) -> Value:
    """Return what was computed from parts: a plain number where all of them are.

    What has no value at one end has none.
    """
    of_parts = list(parts)
    if not any(isinstance(part, Ends) for part in of_parts):
        return low
    if math.isnan(low) or math.isnan(high):
        return math.nan
    return Ends(low, high, sum(ends(part).unfinished for part in of_parts))


def rising(function: Callable[[list[float]], float], values: Iterable[Value]) -> Value:
    """Apply a function that never falls when one of its values rises: a mean, `max`, a sum."""
    parts = list(values)
    low = function([ends(part).low for part in parts])
    return joined(low, function([ends(part).high for part in parts]), parts)


def ratio(above: Value, below: Value) -> Value:
    """Divide what is not negative; x / 0 is infinite, 0 / 0 is no value."""
    over, under = ends(above), ends(below)
    low, high = _quotient(over.low, under.high), _quotient(over.high, under.low)
    return joined(low, high, (above, below))


def _quotient(a: float, b: float) -> float:
    return a / b if b else (math.inf if a else math.nan)


def difference(one: Value, other: Value) -> Value:
    """Subtract."""
    a, b = ends(one), ends(other)
    return joined(a.low - b.high, a.high - b.low, (one, other))


def size(value: Value) -> Value:
    """Return the absolute value."""
    low, high, _ = ends(value)
    sizes = sorted((abs(low), abs(high)))
    return joined(0.0 if low < 0 < high else sizes[0], sizes[1], (value,))


def apart(values: Sequence[Value]) -> tuple[list[float], list[float]]:
    """Return the lower ends of several values, and their upper ends."""
    both = [ends(value) for value in values]
    return [one.low for one in both], [one.high for one in both]


def unfinished(values: Iterable[Value]) -> int:
    """Count the unfinished transfers behind several values."""
    return sum(ends(value).unfinished for value in values)


def shown(value: Value, write: Callable[[float], str]) -> str:
    """Write a value: one number where both ends read alike, else `3 to 4`, or `≥ 3`."""
    low, high, _ = ends(value)
    first, last = write(low), write(high)
    if first == last:
        return first
    return f"≥ {first}" if math.isinf(high) else f"{first} to {last}"
