"""The claims under the readings that come nearest to Devkota and Reddy.

These readings were found after the results, so they decide no verdict. Here the measures of the
claims are formed again with the runs of `open/nearest/` in the place of QCN's, by whether the mean
over the seeds lies in the band; without intervals, as there are few seeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from incastle.reproduction import claims
from incastle.reproduction.papers import Observations
from incastle.reproduction.scores import share

if TYPE_CHECKING:
    from collections.abc import Iterable

    from incastle.reproduction.declarations import Declarations

NEAREST = "open/nearest/"
# Claims about QCN whose every run exists under both readings.
AGAIN = (
    *("fig4-small", "fig4-large", "fig5-limit", "fig5-dip", "fig5-before"),
    *("queue-qcn-8", "queue-qcn-64", "fig6-least", "fig7-changes", "fig8-wait"),
    *("table1-before", "table1-after", "every-collapse", "every-cnms", "fig9-10-every"),
    *("fig9-10-better", "fig11-better", "fig11-collapse", "fig12-13-best", "fig12-13-256"),
    *("fig12-13-32", "fig12-13-queue", "fig12-13-rto", "table2-more", "table2-fewer"),
    *("table3-few", "table3-many", "fig16-better", "fig16-dip", "fig17-18-large"),
    *("fig17-18-small", "fig17-18-large-all", "fig17-18-small-all", "fig17-18-dip"),
    *("udp-queue-combined", "udp-queue-detailed"),
)


def taken(runs: Observations) -> Observations:
    """Give the runs as taken, as many seeds of each as there are under the nearest readings."""
    return _cut(runs, {name: name for name in runs.runs})


def instead(runs: Observations) -> Observations:
    """Give the runs with those under the nearest readings in their places."""
    names = {name: name for name in runs.runs}
    found = [name.removeprefix(NEAREST) for name in runs.names(NEAREST)]
    return _cut(runs, names | {name: f"{NEAREST}{name}" for name in found})


def _cut(runs: Observations, names: dict[str, str]) -> Observations:
    seeds = min(len(runs[name]) for name in runs.names(NEAREST))
    return Observations(runs.length, {name: runs[source][:seeds] for name, source in names.items()})


def shares(declared: Declarations, runs: Observations) -> dict[str, float]:
    """Give, for each claim, the share of its cases whose mean lies in the band."""
    known = {claim.id: claim for claim in claims.load(declared.folder / "claims.toml")}
    return {name: share(claims.judge(known[name], declared.measure(name)(runs))) for name in AGAIN}


def again(declared: Declarations, runs: Observations) -> dict[str, str]:
    """List the claims that would be in their bands under the nearest readings, and as taken."""
    before = shares(declared, taken(runs))
    after = shares(declared, instead(runs))
    return {
        "judged": str(len(after)),
        "before": str(sum(share == 1 for share in before.values())),
        "after": str(sum(share == 1 for share in after.values())),
        "gained": _listed(name for name in after if after[name] > before[name]),
        "lost": _listed(name for name in after if after[name] < before[name]),
        "out": _listed(name for name, share in after.items() if share == 0),
    }


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
