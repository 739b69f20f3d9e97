"""Means over seeds and their 95 % intervals, by Student's t.

The seeds of a run are independent draws; the interval is that of their mean, and takes the values
as about normally distributed. Leaves out: percentiles over seeds.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from incastle.analysis.ends import apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incastle.analysis.ends import Value

CONFIDENCE = 0.95


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Give the 95 % interval of the mean by Student's t; none for a single or an infinite value."""
    import statistics  # noqa: PLC0415  slow to import

    count = len(values)
    if count < 2 or not all(math.isfinite(value) for value in values):  # noqa: PLR2004
        return None
    mean = statistics.fmean(values)
    half = student_t(count - 1) * statistics.stdev(values) / math.sqrt(count)
    return mean - half, mean + half


def interval_of(values: Sequence[Value]) -> tuple[float, float] | None:
    """Give the same of values that may have ends: from the lower ends' interval to the upper ends'.

    Where an upper end is infinite, so is the interval's; none where the lower ends have none.
    """
    lows, highs = apart(values)
    around = interval(lows)
    if around is None or lows == highs:
        return around
    above = interval(highs) or (min(highs), max(highs))
    return min(around[0], above[0]), max(around[1], above[1])


@cache
def student_t(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Give the t with P(|T| <= t) = confidence, for n - 1 degrees of freedom of n seeds."""
    # `scipy.stats.t` takes this function, too, but its module imports in four times the time.
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # noqa: PLC0415

    return float(stdtrit(freedom, (1 + confidence) / 2))
