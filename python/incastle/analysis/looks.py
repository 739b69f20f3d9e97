"""Looks: how often a case may be judged while seeds are added, so that it errs in 5 % over all.

A case is judged first with the seeds of its plan, then with twice, four times ... as many, at most
`LOOKS` times, and no further once it is decided, or once more seeds are futile. How many seeds a
look has follows from the plan and the method alone. Who looks often errs often: at 95 % each, five
looks would err in 14 %. Every look therefore has an interval of `CONFIDENCE` = 99 %. All intervals
of a case together then enclose the truth in 95 %, by Bonferroni's inequality: whatever the
dependence between looks, and whenever one stops. Group-sequential boundaries that compute the
dependence (Pocock's) would have 98.8 %: intervals narrower by 3 %, for normal values alone.

Leaves out: the error over many cases or claims.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count

from incastle.analysis import confidence
from incastle.analysis.confidence import Method

LOOKS = 5
CONFIDENCE = 1 - (1 - confidence.CONFIDENCE) / LOOKS
MEDIAN_SEEDS = 8
"""The least number of values whose median has an interval at that confidence: 2 / 2^8 < 1 %."""
MOST_SEEDS = 10_000
"""An extrapolation beyond is none."""


@dataclass(frozen=True)
class Look:
    """One look at a case: the how manieth, at which confidence, by which method."""

    number: int = 1
    confidence: float = confidence.CONFIDENCE
    method: Method = Method.MEAN

    def interval(self, values: list[float]) -> tuple[float, float] | None:
        """Give the interval of values."""
        return self.method.interval(values, self.confidence)

    def seeds_needed(self, values: list[float], edge: float) -> int | None:
        """Extrapolate how many seeds an interval needs that keeps clear of an edge of a band.

        More seeds are taken to keep the mean and the deviation of these, or their share beyond the
        edge. None where they are on the edge, or need more than `MOST_SEEDS`.
        """
        need = self._clear_mean if self.method is Method.MEAN else self._clear_median
        tried = (round(len(values) * 1.1**step) for step in count())
        enough = (seeds for seeds in tried if seeds > MOST_SEEDS or need(values, edge, seeds))
        found = next(enough)
        return found if found <= MOST_SEEDS else None

    def _clear_mean(self, values: list[float], edge: float, seeds: int) -> bool:
        around = self.interval(values)
        if around is None:
            return False
        here, there = (
            confidence.student_t(n - 1, self.confidence) / math.sqrt(n)
            for n in (len(values), seeds)
        )
        half = (around[1] - around[0]) / 2 * there / here
        return half < abs(self.method.centre(values) - edge)

    def _clear_median(self, values: list[float], edge: float, seeds: int) -> bool:
        beyond = sum(value > edge for value in values) / len(values)
        return seeds * min(beyond, 1 - beyond) < confidence.median_rank(seeds, self.confidence)


def seeds_at(look: int, planned: int, method: Method) -> int:
    """Give the seeds of a look of a case: at the first the plan's, then twice as many each.

    The second look of a median has at least those that its interval needs.
    """
    if look == 1:
        return planned
    least = MEDIAN_SEEDS if method is Method.MEDIAN else 0
    return int(max(2 * planned, least) * 2 ** (look - 2))


ONLY = Look()
"""The look at what is judged once, at 95 %."""
