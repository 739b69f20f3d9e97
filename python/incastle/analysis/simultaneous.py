"""Simultaneous intervals of several means over the same seeds: all hold together in 95 %.

Each interval is m ± c s / sqrt(n) with one c for all. From `BOOTSTRAP_FROM` seeds on c is found by
the max-t bootstrap: seeds are drawn with replacement, the same for all columns, and c is the 95 %
quantile of the largest |t| among the columns. It assumes independent seeds, and keeps how columns
go together, and their skewness. With fewer seeds there are too few different draws: c is Student's
t at Bonferroni's 1 - 0.05 / (number of columns), which takes the values as about normal.

The random numbers are fixed, so the same values give the same intervals. The error of both by the
number of seeds is in tests/python/test_simultaneous.py. Leaves out: a single seed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from incastle.analysis.confidence import CONFIDENCE, student_t

if TYPE_CHECKING:
    from collections.abc import Sequence

BOOTSTRAP_FROM = 10
"""Seeds from which the bootstrap errs in at most 7 %, for skewed values, too."""
RESAMPLES = 2_000


def critical(columns: Sequence[Sequence[float]], confidence: float = CONFIDENCE) -> float:
    """Give c for the values of some means: a column each, a row for each seed, all finite."""
    seeds = len(columns[0])
    if seeds < BOOTSTRAP_FROM:
        return student_t(seeds - 1, 1 - (1 - confidence) / len(columns))
    import numpy as np  # noqa: PLC0415  slow to import

    values = np.array(columns).T
    drawn = values[np.random.default_rng(1).integers(seeds, size=(RESAMPLES, seeds))]
    apart = np.abs(drawn.mean(axis=1) - values.mean(axis=0))
    # What is equal in all seeds drawn has no t; it counts as one that no c encloses.
    errors = drawn.std(axis=1, ddof=1) / math.sqrt(seeds)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(apart > 0, apart / errors, 0.0)
    return float(np.quantile(t.max(axis=1), confidence, method="higher"))
