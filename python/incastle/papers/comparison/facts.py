"""The best algorithm of each case: names and numbers from the runs, for a note of paper.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incastle.analysis.ends import shown
from incastle.reproduction.claims import number

from .standings import BEST, EQUAL, OTHER, of_metric, rank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incastle.analysis.expressions import Choice
    from incastle.reproduction.declarations import Declarations
    from incastle.reproduction.papers import Observations

    from .standings import Standing


def joined(names: Sequence[str]) -> str:
    """Give "A, B and C"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def verdict(metric: Choice, found: dict[str, Standing]) -> str:
    """Tell who is best, who is not distinguishable from the best, and the last of the others."""
    order = sorted(
        found, key=lambda name: rank(found[name].mean, high=metric.of["better"] == "high")
    )

    def value(*names: str) -> str:
        means = (shown(found[name].mean, number) for name in names)
        return f"{' to '.join(means)} {metric.of['unit']}".rstrip()

    def those(standing: str) -> list[str]:
        return [name for name in order if found[name].standing == standing]

    best, equal, others = those(BEST), those(EQUAL), those(OTHER)
    if not others:
        return f"none is distinguishable from the best ({value(order[0], order[-1])})"
    told = f"{joined(best)} with {value(best[0])}"
    beside = f", not distinguishable from {joined(equal)}" if equal else ""
    last = f"last {others[-1]}" if others[-1] == order[-1] else f"last of the others {others[-1]}"
    return f"{told}{beside}; {last} with {value(others[-1])}"


def tally(
    labels: Sequence[str], tables: Sequence[dict[str, Standing]]
) -> dict[str, tuple[int, int]]:
    """Count in how many rows each algorithm is best, and in how many equal; the most first."""

    def count(label: str, standing: str) -> int:
        return sum(row[label].standing == standing for row in tables if label in row)

    counts = {label: (count(label, BEST), count(label, EQUAL)) for label in labels}
    return dict(sorted(counts.items(), key=lambda item: item[1], reverse=True))


def wins(declared: Declarations, runs: Observations) -> dict[str, str]:
    """Give the verdict of each row, and how often each algorithm is best or equal."""
    scope = declared.scope(runs)
    rows = {metric: of_metric(scope, metric) for metric in scope.names["metrics"]}
    facts = {str(metric): verdict(metric, found) for metric, found in rows.items()}
    labels = [one.of["label"] for one in scope.names["algorithms"]]
    counts = tally(labels, [*rows.values()]).items()
    told = joined([f"{name} {best} + {equal}" for name, (best, equal) in counts])
    not_run = sum("D2TCP" not in found for found in rows.values())
    return {**facts, "rows": str(len(rows)), "not_run": str(not_run), "tally": told}
