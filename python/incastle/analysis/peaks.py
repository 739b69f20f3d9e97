"""Two peaks: whether the values of seeds fall into two kinds, such as a lock-out or none.

Sorted values are cut where the distance of both means, over the deviation within the parts, is
largest. That distance must reach `APART`, with a tenth of the values or more on each side, of at
least `LEAST` values. Values of one peak do so in less than 1 % (normal) to 5 % (log-normal with a
deviation of 1) of samples, by simulation (tests/python/test_peaks.py). It is a description that no
verdict rests on. Leaves out: three peaks, and peaks that overlap.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

APART = 9.0
LEAST = 16


class Peaks(NamedTuple):
    """Two kinds of values: how many are in the smaller part, and the means of both."""

    few: int
    mean_of_few: float
    mean_of_many: float


def two_peaks(values: Sequence[float]) -> Peaks | None:
    """Find two peaks; none where there is one."""
    ordered = sorted(values)
    count = len(ordered)
    if count < LEAST or not all(math.isfinite(value) for value in ordered):
        return None
    least = math.ceil(count / 10)
    parts = [(ordered[:cut], ordered[cut:]) for cut in range(least, count - least + 1)]
    low, high = max(parts, key=lambda both: _distance(*both))
    if _distance(low, high) < APART:
        return None
    few, many = sorted((low, high), key=len)
    return Peaks(len(few), statistics.fmean(few), statistics.fmean(many))


def _distance(low: Sequence[float], high: Sequence[float]) -> float:
    """Give the distance of two means in deviations within the parts."""
    apart = statistics.fmean(high) - statistics.fmean(low)
    squares = sum(len(part) * statistics.pvariance(part) for part in (low, high))
    within = math.sqrt(squares / (len(low) + len(high)))
    if within == 0:
        return math.inf if apart > 0 else 0.0
    return apart / within
