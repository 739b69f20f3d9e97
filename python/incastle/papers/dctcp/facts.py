"""Further numbers of dctcp, for the sentences of reasons.toml and the notes of paper.toml.

They do not decide a verdict; they show why it is as it is. Each is a text for a name in braces.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from . import measures, plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from incastle.papers import Observation, Observations

Facts: TypeAlias = dict[str, str]
CLIENT = "switch->sender:0"
STILL = 5
"""Packets: a queue whose middle nine tenths lie closer together stands still."""


def _mean(
    runs: Observations, name: str, statistic: Callable[[Observation], float], digits: int = 1
) -> str:
    return f"{fmean(measures.each(runs, name, statistic)):.{digits}f}"


def _first_with_timeouts(runs: Observations, prefix: str) -> str:
    """Give the least number of servers at which any query of any seed has a timeout."""
    shares = measures.over_servers(runs, prefix, measures.with_timeouts)
    return str(min((n for n, values in shares.items() if max(values) > 0), default="none"))


def _locked(runs: Observations) -> Facts:
    """Tell in how many seeds TCP's queue does not move, and its range with limited windows."""
    begin = plan.evaluated_from(plan.SPEEDS["1G"], runs.length)
    free = [measures.middle_range(one) for one in measures.queue(runs, "1G", "tcp")]
    limited = [
        measures.middle_range(measures.samples_from(run, begin)) for run in runs["why/basic/tcp"]
    ]
    return {
        "still": str(sum(one < STILL for one in free)),
        "seeds": str(len(free)),
        "limited": f"{min(limited):.0f}",
    }


def _after_two_rounds(run: Observation) -> float:
    """Give the share of queries with a timeout in per cent, without the first two of the run."""
    later = run["rounds"].sort("started_s")[2:]
    return 100 * fmean(later["timeouts"] > 0)


def _static(runs: Observations) -> Facts:
    return {
        "first": _first_with_timeouts(runs, "incast/static/dctcp/rto=10ms/"),
        "first_two": _first_with_timeouts(runs, "why/static/dctcp/rto=10ms/"),
        "later_29": _mean(runs, "incast/static/dctcp/rto=10ms/n=29", _after_two_rounds),
        "at_29": _mean(runs, "incast/static/dctcp/rto=10ms/n=29", measures.with_timeouts),
    }


def _onset(runs: Observations) -> Facts:
    prefix = "incast/static/tcp/rto=10ms/"
    return {f"at_{n}": _mean(runs, f"{prefix}n={n}", measures.with_timeouts) for n in (8, 10, 20)}


def _memories(runs: Observations) -> Facts:
    """Tell the share of queries with a timeout at each memory of the switch."""
    found = {}
    for key, memory in plan.MEMORIES.items():
        for name in plan.ALGORITHMS:
            run = f"all/{name}" if memory == "4 MB" else f"why/memory/{key}/{name}"
            found[f"{name}_{key.replace('.', '_')}"] = _mean(runs, run, measures.with_timeouts)
    return found


def _stored(run: Observation) -> float:
    """Give what the whole switch stores, in MB, in the mean."""
    rows = run["memory"].filter(pl.col("port") == "all")["bytes"]
    return fmean(rows) / 1e6 if len(rows) else 0.0


def _client_threshold(run: Observation) -> float:
    """Give what the client's port may hold, in KB, in the mean."""
    rows = run["memory"].filter(pl.col("port") == CLIENT)["threshold_bytes"].drop_nulls()
    return fmean(rows) / 1e3 if len(rows) else 0.0


def _pressure(runs: Observations) -> Facts:
    facts = {}
    for name in plan.ALGORITHMS:
        for kind in ("alone", "beside"):
            run = f"pressure/{kind}/{name}"
            facts[f"{name}_{kind}_timeouts"] = _mean(runs, run, measures.with_timeouts)
            facts[f"{name}_{kind}_p99"] = _mean(runs, run, measures.quantile(0.99))
        run = f"pressure/beside/{name}"
        facts[f"{name}_stored"] = _mean(runs, run, _stored)
        facts[f"{name}_threshold"] = _mean(runs, run, _client_threshold, 0)
    return facts


def _today_pressure(runs: Observations) -> Facts:
    return {
        f"{kind}_{key}": _mean(runs, f"today/pressure/{kind}/tcp", statistic)
        for kind in ("alone", "beside")
        for key, statistic in (
            ("timeouts", measures.with_timeouts),
            ("p95", measures.quantile(0.95)),
        )
    }


FACTS: dict[str, Callable[[Observations], Facts]] = {
    "basic-varies": _locked,
    "13": _locked,
    "static-tcp": _onset,
    "static-dctcp": _static,
    "18": _static,
    "all-tcp": _memories,
    "20-memory": _memories,
    "pressure-tcp": _pressure,
    "2": _pressure,
    "today-pressure-tcp": _today_pressure,
    "19-today": _today_pressure,
}
"""By claim, and by figure for its note."""
