"""Intervals over seeds: of the mean by Student's t, of the median by ranks.

The seeds of a run are independent draws. Student's interval takes the values as about normally
distributed. That of the median takes them as independent and of one distribution, and nothing else:
it goes from the k-th least to the k-th largest value, where k follows from the binomial
distribution. Leaves out: percentiles over seeds.
"""

from __future__ import annotations

import math
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from incastle.analysis.ends import apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incastle.analysis.ends import Value

CONFIDENCE = 0.95


class Method(StrEnum):
    """The centre of a case's values, and with it the kind of its interval."""

    MEAN = "mean"
    MEDIAN = "median"

    def centre(self, values: Sequence[float]) -> float:
        """Give the mean or the median; of what has no value there is none."""
        import statistics  # noqa: PLC0415  slow to import

        if any(math.isnan(value) for value in values):
            return math.nan
        if self is Method.MEDIAN:
            return statistics.median(values)
        finite = all(math.isfinite(value) for value in values)
        return statistics.fmean(values) if finite else sum(values) / len(values)

    def interval(
        self, values: Sequence[float], confidence: float = CONFIDENCE
    ) -> tuple[float, float] | None:
        """Give the interval; none for a single value or one that is no number."""
        find = interval if self is Method.MEAN else median_interval
        return find(values, confidence)


def interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Give the interval of the mean by Student's t; none for a single or an infinite value."""
    import statistics  # noqa: PLC0415  slow to import

    count = len(values)
    if count < 2 or not all(math.isfinite(value) for value in values):  # noqa: PLR2004
        return None
    mean = statistics.fmean(values)
    half = student_t(count - 1, confidence) * statistics.stdev(values) / math.sqrt(count)
    return mean - half, mean + half


def median_interval(
    values: Sequence[float], confidence: float = CONFIDENCE
) -> tuple[float, float] | None:
    """Give the interval of the median by ranks; without end where the seeds are too few for one."""
    if len(values) < 2 or any(math.isnan(value) for value in values):  # noqa: PLR2004
        return None
    rank = median_rank(len(values), confidence)
    ordered = [-math.inf, *sorted(values), math.inf]
    return ordered[rank], ordered[-1 - rank]


def interval_of(
    values: Sequence[Value], confidence: float = CONFIDENCE, method: Method = Method.MEAN
) -> tuple[float, float] | None:
    """Give the same of values that may have ends: from the lower ends' interval to the upper ends'.

    Where an upper end is infinite, so is the interval's; none where the lower ends have none.
    """
    lows, highs = apart(values)
    around = method.interval(lows, confidence)
    if around is None or lows == highs:
        return around
    above = method.interval(highs, confidence) or (min(highs), max(highs))
    return min(around[0], above[0]), max(around[1], above[1])


@cache
def student_t(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Give the t with P(|T| <= t) = confidence, for n - 1 degrees of freedom of n seeds."""
    # `scipy.stats.t` takes this function, too, but its module imports in four times the time.
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # noqa: PLC0415

    return float(stdtrit(freedom, (1 + confidence) / 2))


@cache
def median_rank(count: int, confidence: float = CONFIDENCE) -> int:
    """Give the largest k for which the k-th least and largest of n values enclose the median.

    Of n values at most k - 1 lie below the median with the probability P(B <= k - 1), B binomial
    with n and 1/2; both sides together may take 1 - confidence. 0 where no k is left.
    """
    from scipy.special import bdtr  # noqa: PLC0415  as above

    ranks = (k for k in range(count // 2, 0, -1) if 2 * bdtr(k - 1, count, 0.5) <= 1 - confidence)
    return next(ranks, 0)
