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
    """Give the t with P(|T| <= t) = confidence, for whole degrees of freedom."""
    low, high = 0.0, 1.0
    while _student_t_within(high, freedom) < confidence:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if _student_t_within(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return high


def _student_t_within(t: float, freedom: int) -> float:
    """P(|T| <= t), the finite sums of Abramowitz and Stegun, 26.7.3 (odd) and 26.7.4 (even)."""
    angle = math.atan2(t, math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 + odd, freedom, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
