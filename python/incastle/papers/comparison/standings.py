"""Who is best, and whom the runs do not tell from the best: one rule for table, figure and words.

Of each row the best mean is best. Equal to it is whose 95 % interval (Student's t over the seeds)
overlaps that of a best one; with one seed there are no intervals, and only equal means are equal.

A number that unfinished transfers leave open (`incastle.analysis.ends`) ranks by its worse end,
then by its better one. Its interval spans that of both ends, so it may be equal where it
would be another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from incastle.analysis import ends
from incastle.analysis.confidence import interval_of
from incastle.reproduction import lasting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from incastle.analysis.ends import Value
    from incastle.reproduction.declarations import Declarations
    from incastle.reproduction.expressions import Choice, Scope
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
}


@dataclass(frozen=True)
class Standing:
    """One cell: an algorithm's mean in a row, its interval, and whether it is best or equal."""

    mean: Value
    low: float
    high: float
    standing: str
    seeds: int


def standings(values: Mapping[str, Sequence[Value]], *, high: bool) -> dict[str, Standing]:
    """Rank algorithms by their values per seed. What is not a number ranks nowhere."""
    means = {name: ends.rising(fmean, seeds) for name, seeds in values.items()}
    ranks = {name: rank(mean, high=high) for name, mean in means.items()}
    known = [one for one in ranks.values() if not math.isnan(one[0])]
    best = min(known, default=None)
    ranges = {
        name: interval_of(seeds) or ends.ends(means[name])[:2] for name, seeds in values.items()
    }
    leading = [ranges[name] for name, one in ranks.items() if one == best]

    def standing(name: str) -> str:
        if ranks[name] == best:
            return BEST
        low, top = ranges[name]
        overlaps = any(low <= other_top and other_low <= top for other_low, other_top in leading)
        return EQUAL if overlaps else OTHER

    return {
        name: Standing(means[name], *ranges[name], standing(name), len(values[name]))
        for name in values
    }


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
            row = (str(metric), label, of["label"], of["unit"], of["better"], algorithm)
            cell = (
                (0, None, None, None, NOT_RUN)
                if one is None
                else (one.seeds, one.mean, one.low, one.high, one.standing)
            )
            rows.append((*row, *cell))
    return lasting.table(rows, _SCHEMA)
