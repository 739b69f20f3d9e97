"""Further numbers of dctcp, for the sentences of reasons.toml and the notes of paper.toml.

They do not decide a verdict; they show why it is as it is. Each is a text for a name in braces.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from incastle.analysis import ends
from incastle.analysis.confidence import interval_of

from . import measures, plan, why

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from incastle.analysis.ends import Value
    from incastle.reproduction.papers import Observation, Observations

Facts: TypeAlias = dict[str, str]
CLIENT = "switch->sender:0"
RECEIVER = "switch->receiver"
STILL = 5
"""Packets: a queue whose middle nine tenths lie closer together stands still."""


def _mean(runs: Observations, name: str, statistic: measures.Statistic, digits: int = 1) -> str:
    return told(measures.each(runs, name, statistic), digits)


def told(values: Sequence[Value], digits: int = 1) -> str:
    """Give the mean with its 95 % interval, "2.1 [1.8, 2.4]"; alone where all are equal.

    Where transfers were unfinished the mean has its ends, and the interval is that of both.
    """

    def write(value: float) -> str:
        return "∞" if math.isinf(value) else f"{value:.{digits}f}"

    mean, around = ends.shown(ends.rising(fmean, values), write), interval_of(values)
    if around is None or around[0] == around[1]:
        return mean
    return f"{mean} [{write(around[0])}, {write(around[1])}]"


def _first_with_timeouts(runs: Observations, prefix: str) -> str:
    """Give the least number of servers at which any query of any seed has a timeout."""
    shares = measures.over_servers(runs, prefix, measures.with_timeouts)
    return str(min((n for n, values in shares.items() if max(values) > 0), default="none"))


def _locked(runs: Observations) -> Facts:
    """Tell in how many seeds TCP's queue does not move, what one flow has there, and the cure."""
    begin = plan.evaluated_from(plan.SPEEDS["1G"], runs.length)
    free = [measures.middle_range(one) for one in measures.queue(runs, "1G", "tcp")]
    limited = [
        measures.middle_range(measures.samples_from(run, begin)) for run in runs["why/basic/tcp"]
    ]
    dctcp = [measures.middle_range(one) for one in measures.queue(runs, "1G", "dctcp")]
    shares = [
        _greater_share(run, begin)
        for run, range_ in zip(runs["basic/1G/tcp"], free, strict=True)
        if range_ < STILL
    ]
    return {
        "still": str(len(shares)),
        "seeds": str(len(free)),
        "share": f"{min(shares, default=math.nan):.1f}",
        "limited": told(limited, 0),
        "limited_times": told(measures.ratio(limited, dctcp)),
        "limited_share": told([_greater_share(run, begin) for run in runs["why/basic/tcp"]]),
    }


def _greater_share(run: Observation, begin: float) -> float:
    """Give the part of the bytes that the greater flow has from an instant on, in per cent."""
    rows = run["throughput"].filter(pl.col("time_s") >= begin)
    flows = [sum(part["bytes"]) for part in rows.partition_by("flow")]
    return 100 * max(flows) / sum(flows)


def _windows(runs: Observations) -> Facts:
    """Tell what the limit of the window is worth to flows that come and go."""
    facts = {}
    for key in why.LONG_WINDOWS:
        place = "convergence/" if key == "512KB" else f"why/convergence/{key}/"
        tcp, dctcp = (measures.shares(runs, f"{place}{name}") for name in plan.ALGORITHMS)
        variances = [[measures.variance(one) for one in of] for of in (tcp, dctcp)]
        facts[f"times_{key}"] = told(measures.ratio(variances[0], variances[1]))
        for name, of in (("tcp", tcp), ("dctcp", dctcp)):
            facts[f"{name}_jain_{key}"] = told([measures.least_jain(one) for one in of], 3)
            facts[f"{name}_share_{key}"] = told([measures.worst_share(one) for one in of])
    return facts


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


def _kinds(runs: Iterable[Observation], group: str) -> Facts:
    """Tell of what kind the timeouts of a group of flows are, in per cent of all of them."""
    kinds = pl.concat(run["timeouts"].filter(pl.col("group") == group)["kind"] for run in runs)
    return {
        kind.replace("-", "_"): f"{100 * fmean(kinds == kind):.0f}" if len(kinds) else "0"
        for kind in ("last-packet", "lost-retransmission", "few-duplicates", "full-window")
    }


def _onset(runs: Observations) -> Facts:
    prefix = "incast/static/tcp/rto=10ms/"
    facts = {f"at_{n}": _mean(runs, f"{prefix}n={n}", measures.with_timeouts) for n in (8, 10, 20)}
    for key, window in why.WINDOWS.items():
        if window != "64 KiB":
            varied = f"why/window/{key}/tcp/rto=10ms/"
            shares = measures.over_servers(runs, varied, measures.with_timeouts)
            onset = min(n for n, values in shares.items() if fmean(values) >= measures.ONSET)
            facts[f"onset_{key}"] = str(onset)
            facts[f"at_onset_{key}"] = told(shares[onset])
    return {**facts, **_kinds(runs[f"{prefix}n=10"], "query")}


def _memories(runs: Observations) -> Facts:
    """Tell the share of queries with a timeout at each memory, and how much of 4 MB is used."""
    found = {}
    for key, memory in why.MEMORIES.items():
        for name in plan.ALGORITHMS:
            run = f"all/{name}" if memory == "4 MB" else f"why/memory/{key}/{name}"
            found[f"{name}_{key.replace('.', '_')}"] = _mean(runs, run, measures.with_timeouts)
    return {
        **found,
        "stored": _mean(runs, "all/tcp", _most_stored),
        "port": _mean(runs, "all/tcp", _fullest_port, 0),
    }


def _varied_all(runs: Observations) -> Facts:
    """Tell the largest share of queries with a timeout of any variation at 4 MB."""
    shares = [
        share
        for name in runs.names("why/all/")
        for share in measures.each(runs, name, measures.with_timeouts)
    ]
    return {**_memories(runs), "varied": f"{max(shares):.1f}"}


def _most_stored(run: Observation) -> float:
    """Give the most that the switch stored at once, in MB."""
    return float(run["summary"]["max_memory_bytes"][0]) / 1e6


def _fullest_port(run: Observation) -> float:
    """Give the most that a port of the switch stored at once, in KB."""
    ports = run["links"].filter(pl.col("port").str.starts_with("switch"))
    return float(ports["max_bytes"].max() or 0) / 1e3  # type: ignore[arg-type]


def _stored(run: Observation) -> float:
    """Give what the whole switch stores, in MB, in the mean."""
    rows = run["buffer_occupancy"].filter(pl.col("port") == "all")["bytes"]
    return fmean(rows) / 1e6 if len(rows) else 0.0


def _client_threshold(run: Observation) -> float:
    """Give what the client's port may hold, in KB, in the mean."""
    rows = run["buffer_occupancy"].filter(pl.col("port") == CLIENT)["threshold_bytes"].drop_nulls()
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
    for key in why.PRESSURE:
        place = f"why/pressure/{key}"
        facts[f"times_{key}"] = told(measures.slowdown(runs, place, "tcp"), 2)
        facts[f"alone_{key}"] = _mean(runs, f"{place}/alone/tcp", measures.with_timeouts)
        facts[f"timeouts_{key}"] = _mean(runs, f"{place}/beside/tcp", measures.with_timeouts)
    facts["dctcp_times_1MB"] = told(measures.slowdown(runs, "why/pressure/1MB", "dctcp"), 2)
    counts = pl.concat(run["rounds"]["timeouts"] for run in runs["pressure/beside/tcp"])
    facts["most"] = str(max(counts))
    return facts


def _base(runs: Observations) -> Facts:
    """Tell what queries need whose servers answer within some time instead of at once."""
    return {
        f"{name}_{key}": _mean(runs, f"why/stagger/{key}/alone/{name}", measures.quantile(0.95), 2)
        for key in why.STAGGERS
        for name in plan.ALGORITHMS
    }


def _build_up(runs: Observations) -> Facts:
    """Tell how many of TCP's transfers have timeouts, which, and where the packets were lost."""
    found = runs["build-up/tcp"]
    rounds = [run["rounds"].sort("started_s") for run in found]
    timeouts = pl.concat(run["timeouts"].filter(pl.col("group") == "short") for run in found)
    return {
        "share": _mean(runs, "build-up/tcp", measures.with_timeouts, 2),
        "transfers": str(sum(int((one["timeouts"] > 0).sum()) for one in rounds)),
        "early": str(sum(int((one["timeouts"][:2] > 0).sum()) for one in rounds)),
        "all": f"{sum(len(one) for one in rounds):,}",
        "count": str(len(timeouts)),
        "dropped": str(len(timeouts.filter(pl.col("port") == RECEIVER))),
    }


def _rest(runs: Observations) -> Facts:
    """Tell what the port at 10 Gbit/s sees, and whether the algorithms' places change."""
    facts = {}
    for key, place in (("even", "cluster"), ("half", "why/rest")):
        tcp, dctcp = (f"{place}/{name}" for name in plan.ALGORITHMS)
        for what, of in (("query", measures.quantile(0.95)), ("short", measures.short_messages)):
            times = measures.ratio(measures.each(runs, dctcp, of), measures.each(runs, tcp, of))
            facts[f"{what}_{key}"] = told(times, 2)
        facts[f"tcp_{key}"] = _mean(runs, tcp, measures.with_timeouts)
        facts[f"dctcp_{key}"] = _mean(runs, dctcp, measures.with_timeouts)
        facts[f"used_{key}"] = _mean(runs, dctcp, lambda run: 100 * _of_rest(run, "utilisation"))
        longest = measures.each(runs, dctcp, lambda run: _of_rest(run, "max_queue_packets"))
        facts[f"longest_{key}"] = f"{max(longest):.0f}"
    return facts


def _of_rest(run: Observation, column: str) -> float:
    """Give a value of the port to the host at 10 Gbit/s."""
    return sum(run["links"].filter(pl.col("port") == RECEIVER)[column])


def _today_pressure(runs: Observations) -> Facts:
    facts = {
        f"{prefix}{kind}_{key}": _mean(runs, f"{place}{kind}/tcp", statistic)
        for prefix, place in (("", "today/pressure/"), ("limited_", "why/today/"))
        for kind in ("alone", "beside")
        for key, statistic in (
            ("timeouts", measures.with_timeouts),
            ("p95", measures.quantile(0.95)),
        )
    }
    for prefix, place in (("", "today/pressure/"), ("limited_", "why/today/")):
        facts[f"{prefix}port"] = _mean(runs, f"{place}alone/tcp", _fullest_port, 0)
    return facts


FACTS: dict[str, Callable[[Observations], Facts]] = {
    "basic-varies": _locked,
    "13": _locked,
    "16-window": _windows,
    "static-tcp": _onset,
    "static-dctcp": _static,
    "18": _static,
    "all-tcp": _varied_all,
    "buildup-timeouts": _build_up,
    "pressure-base": _base,
    "20-memory": _memories,
    "pressure-tcp": _pressure,
    "2": _pressure,
    "today-pressure-tcp": _today_pressure,
    "19-today": _today_pressure,
    "23-rest": _rest,
}
"""By claim, and by figure for its note."""
