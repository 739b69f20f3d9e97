"""Who is best, and who is not distinguishable from the best: one rule for table, figure and words.

Of each row the best mean is best. Not distinguishable from it is whose difference to it, paired by
seed, may be 0: the intervals of all differences of a row hold together in 95 %
(`incastle.analysis.simultaneous`). The truly best algorithm is therefore among those in at least
95 % of rows, whichever has the best mean here. With one seed there are no intervals, and only equal
means are equal.

A number that unfinished transfers leave open (`incastle.analysis.ends`) ranks by its worse end,
then by its better one. The interval of its difference spans that of both ends, so it may be equal
where it would be another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

import polars as pl

from incastle.analysis import ends
from incastle.analysis.confidence import interval_of
from incastle.analysis.simultaneous import critical
from incastle.reproduction import lasting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from incastle.analysis.ends import Value
    from incastle.analysis.expressions import Choice, Scope
    from incastle.reproduction.declarations import Declarations
    from incastle.reproduction.papers import Observations

BEST, EQUAL, OTHER = "best", "equal", ""
NOT_RUN = "as DCTCP"
"""D2TCP where nothing has a deadline."""

_SCHEMA = {
    "key": pl.String,
    "workload": pl.String,
    "metric": pl.String,
    "unit": pl.String,
    "better": pl.String,
    "algorithm": pl.String,
    "seeds": pl.Int64,
    "mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "standing": pl.String,
    "to_best_low": pl.Float64,
    "to_best_high": pl.Float64,
}


@dataclass(frozen=True)
class Standing:
    """One cell: an algorithm's mean in a row, its interval, and whether it is best or equal.

    `to_best` is the interval of its difference to the best, and none of the best one.
    """

    mean: Value
    low: float
    high: float
    standing: str
    seeds: int
    to_best: tuple[float, float] | None = None


def standings(values: Mapping[str, Sequence[Value]], *, high: bool) -> dict[str, Standing]:
    """Rank algorithms by their values per seed. What is not a number ranks nowhere."""
    means = {name: ends.rising(fmean, seeds) for name, seeds in values.items()}
    ranks = {name: rank(mean, high=high) for name, mean in means.items()}
    known = {name: one for name, one in ranks.items() if not math.isnan(one[0])}
    best = min(known.values(), default=None)
    others = [name for name, one in known.items() if one != best]
    leading = next((values[name] for name, one in known.items() if one == best), ())
    pairs = {name: list(map(ends.difference, values[name], leading)) for name in others}
    to_best = _simultaneous(pairs)

    def standing(name: str) -> str:
        if ranks[name] == best:
            return BEST
        low, top = to_best.get(name, (math.inf, math.inf))
        return EQUAL if low <= 0 <= top else OTHER

    ranges = {
        name: interval_of(seeds) or ends.ends(means[name])[:2] for name, seeds in values.items()
    }
    return {
        name: Standing(
            *(means[name], *ranges[name], standing(name), len(values[name])), to_best.get(name)
        )
        for name in values
    }


def _simultaneous(pairs: Mapping[str, Sequence[Value]]) -> dict[str, tuple[float, float]]:
    """Give the intervals of differences, all of them together; of one seed its ends."""
    sides = {name: ends.apart(values) for name, values in pairs.items()}
    finite = [side for both in sides.values() for side in both if all(map(math.isfinite, side))]
    columns = [list(side) for side in dict.fromkeys(map(tuple, finite))]
    several = columns and len(columns[0]) > 1
    c = critical(columns) if several else 0.0

    def around(side: Sequence[float]) -> tuple[float, float]:
        if not all(map(math.isfinite, side)):
            return min(side), max(side)
        half = c * stdev(side) / math.sqrt(len(side)) if several else 0.0
        return fmean(side) - half, fmean(side) + half

    found = {}
    for name, (lows, highs) in sides.items():
        low, high = around(lows), around(highs)
        found[name] = (min(low[0], high[0]), max(low[1], high[1]))
    return found


def rank(mean: Value, *, high: bool) -> tuple[float, float]:
    """Give what sorts means, the best first: the worse end, then the better one."""
    low, top, _ = ends.ends(mean)
    return (-low, -top) if high else (top, low)


def of_metric(scope: Scope, metric: Choice) -> dict[str, Standing]:
    """Rank the algorithms that are run in a row, by label."""
    values = {}
    for algorithm in scope.names["algorithms"]:
        here = scope.having(a=algorithm)
        here.missing.clear()
        found = here.seeds(metric.of["value"])
        if not here.missing:
            values[algorithm.of["label"]] = found
    return standings(values, high=metric.of["better"] == "high")


def standings_table(declared: Declarations, runs: Observations) -> pl.DataFrame:
    """Give a row for each metric and algorithm; without numbers where it is not run."""
    scope = declared.scope(runs)
    rows = []
    for metric in scope.names["metrics"]:
        found, of = of_metric(scope, metric), metric.of
        label = scope.evaluate(f"workloads['{of['workload']}'].label")
        for algorithm in (one.of["label"] for one in scope.names["algorithms"]):
            one = found.get(algorithm)
            between = (one.to_best if one else None) or (None, None)
            row = (str(metric), label, of["label"], of["unit"], of["better"], algorithm)
            cell = (
                (0, None, None, None, NOT_RUN, None, None)
                if one is None
                else (one.seeds, one.mean, one.low, one.high, one.standing, *between)
            )
            rows.append((*row, *cell))
    return lasting.table(rows, _SCHEMA)
