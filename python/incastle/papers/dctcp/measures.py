"""What dctcp measures for its claims: per claim and case one value for each seed.

A query is a row of `rounds`: from the request to the last answer. One that was unfinished when its
run ended gives completion times their two ends (`incastle.reproduction.lasting`); it counts for
timeouts with those that it had. Comparisons are formed between runs of the same seed.
"""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean, pvariance
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import polars as pl

from incastle.analysis import ends
from incastle.reproduction import lasting

from . import plan
from .plan import PHASES, SPEEDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from incastle.analysis.ends import Value
    from incastle.reproduction.papers import Observation, Observations

ONSET = 1.0
"""Per cent of the queries: from here on an algorithm suffers timeouts."""
JOINED = 0.5
"""DCTCP has joined TCP when it has this share of TCP's timeouts."""
BELOW_30 = 30
SHORT = (100e3, 1e6)
"""Bytes: the short messages that the claim is about."""

Number = TypeVar("Number", float, "Value")
Values: TypeAlias = "Sequence[Value]"
Cases: TypeAlias = "Mapping[str, Values]"
Measure: TypeAlias = "Callable[[Observations], Cases]"
Statistic: TypeAlias = "Callable[[Observation], Value]"


def each(runs: Observations, name: str, statistic: Callable[[Observation], Number]) -> list[Number]:
    """Give a statistic of each seed of an experiment."""
    return [statistic(run) for run in runs[name]]


def ratio(above: Sequence[Value], below: Sequence[Value]) -> Values:
    """Divide seed by seed; x / 0 is infinite, 0 / 0 is no value."""
    return [ends.ratio(a, b) for a, b in zip(above, below, strict=True)]


# ---- queries


def queries(run: Observation) -> pl.DataFrame:
    """Give the queries of a run, with what they lasted."""
    return lasting.begun(run, run["rounds"])


def mean_completion(run: Observation) -> Value:
    """Give the mean completion time of a query in ms."""
    return lasting.mean(queries(run))


def quantile(share: float) -> Statistic:
    """Give a quantile of the completion times of queries in ms."""
    return lambda run: lasting.quantile(queries(run), share)


_P95 = quantile(0.95)


def with_timeouts(run: Observation) -> float:
    """Give the share of queries with a timeout in per cent."""
    return 100 * _float((run["rounds"]["timeouts"] > 0).mean())


def _float(value: object) -> float:
    """Take a number of polars; what has no value (no rows) is not a number."""
    return float(value) if isinstance(value, int | float) else math.nan


# ---- two long flows


def queue(runs: Observations, speed: str, name: str) -> list[pl.Series]:
    """Give the samples of the queue in the evaluated part of each seed."""
    begin = plan.evaluated_from(SPEEDS[speed], runs.length)
    return [samples_from(run, begin) for run in runs[f"basic/{speed}/{name}"]]


def samples_from(run: Observation, begin: float) -> pl.Series:
    """Give the samples of the queue in packets from an instant on."""
    samples = run["queue_samples"].filter(pl.col("time_s") >= begin)
    return samples["packets"].cast(pl.Float64)


def middle_range(queue: pl.Series) -> float:
    """Give the 95th less the 5th percentile."""
    return _float(queue.quantile(0.95)) - _float(queue.quantile(0.05))


def _mean_queue(runs: Observations, speed: str, name: str) -> list[float]:
    return [_float(one.mean()) for one in queue(runs, speed, name)]


def _queue_spread(runs: Observations, name: str) -> Values:
    return [middle_range(one) for one in queue(runs, "1G", name)]


def _goodput(runs: Observations, speed: str) -> Cases:
    """In Gbit/s, over the evaluated part: both flows' bytes in intervals of 10 ms."""
    begin = plan.evaluated_from(SPEEDS[speed], runs.length)

    def one(run: Observation) -> float:
        inside = run["throughput"].filter(pl.col("time_s") >= begin - 1e-9)
        seconds = 0.01 * inside["time_s"].n_unique()
        return _float(inside["bytes"].sum()) * 8 / seconds / 1e9

    return {
        label: each(runs, f"basic/{speed}/{name}", one) for name, label in plan.ALGORITHMS.items()
    }


# ---- convergence


def phases(run: Observation, phase_s: float) -> list[list[list[float]]]:
    """Give for each phase the rates of its flows over its last two thirds, in shares of fair."""
    found = []
    rates = run["throughput"]
    for phase in range(PHASES):
        count = min(phase, PHASES - 1 - phase) + 1
        begin, end = (phase + 1 / 3) * phase_s, (phase + 1) * phase_s
        time = pl.col("time_s")
        inside = rates.filter((time >= begin - 1e-9) & (time < end - 1e-9))
        times = inside["time_s"].unique().sort()
        series = [_filled(inside.filter(pl.col("flow") == flow), times) for flow in range(count)]
        fair = sum(map(sum, series)) / count / len(times)
        found.append([[value / fair for value in one] for one in series])
    return found


def _filled(flow: pl.DataFrame, times: pl.Series) -> list[float]:
    """Give a flow's bytes at each time; an interval in which nothing arrived has no row."""
    found: dict[float, float] = dict(flow.select("time_s", "bytes").iter_rows())
    return [float(found.get(time, 0)) for time in times]


Shares: TypeAlias = list[list[list[float]]]
"""Of each phase, of each of its flows, the rates in shares of fair."""


def shares(runs: Observations, name: str) -> list[Shares]:
    """Give the shares of each seed of an experiment in which flows come and go."""
    phase_s = plan.EXTENTS[runs.length].phase_s
    return [phases(run, phase_s) for run in runs[name]]


def worst_share(seed: Shares) -> float:
    """Give the largest deviation of a flow's mean rate from its fair share in per cent."""
    return max(100 * abs(fmean(flow) - 1) for phase in seed for flow in phase)


def jain(shares: list[float]) -> float:
    """Jain's index of fairness."""
    return sum(shares) ** 2 / len(shares) / sum(share**2 for share in shares)


def least_jain(seed: Shares) -> float:
    """Give the least index of any phase."""
    return min(jain([fmean(flow) for flow in phase]) for phase in seed)


def variance(seed: Shares) -> float:
    """Give the mean variance of a flow's rates within a phase, where it is not alone."""
    return fmean(pvariance(flow) for phase in seed if len(phase) > 1 for flow in phase)


def _fair(statistic: Callable[[Shares], float]) -> Measure:
    return lambda runs: {
        "5 senders": [statistic(seed) for seed in shares(runs, "convergence/dctcp")]
    }


def _variances(runs: Observations) -> Cases:
    tcp, dctcp = (
        [variance(seed) for seed in shares(runs, f"convergence/{name}")] for name in plan.ALGORITHMS
    )
    return {"5 senders": ratio(tcp, dctcp)}


# ---- incast


def over_servers(
    runs: Observations, prefix: str, statistic: Callable[[Observation], Number]
) -> dict[int, list[Number]]:
    """Give a statistic of each seed over the number of servers, for the experiments `PREFIXn=N`."""
    return {
        int(name.removeprefix(f"{prefix}n=")): each(runs, name, statistic)
        for name in runs.names(f"{prefix}n=")
    }


def _by_seed(curve: dict[int, list[Number]]) -> list[dict[int, Number]]:
    count = len(next(iter(curve.values())))
    return [{n: values[seed] for n, values in curve.items()} for seed in range(count)]


def _least(runs: Observations) -> Cases:
    cases = {}
    for name, label in plan.ALGORITHMS.items():
        for rto in plan.RTOS:
            curve = over_servers(runs, f"incast/static/{name}/rto={rto}/", mean_completion)
            cases[f"{label}, {_rto(rto)}"] = [
                ends.rising(min, one.values()) for one in _by_seed(curve)
            ]
    return cases


def _rto(key: str) -> str:
    return key.replace("ms", " ms")


def _share_over_n(runs: Observations, prefix: str) -> list[dict[int, float]]:
    return _by_seed(over_servers(runs, prefix, with_timeouts))


def _static_onset(runs: Observations) -> Cases:
    def onset(shares: dict[int, float]) -> float:
        return min((n for n, share in shares.items() if share >= ONSET), default=math.inf)

    return {
        _rto(rto): [onset(one) for one in _share_over_n(runs, f"incast/static/tcp/rto={rto}/")]
        for rto in plan.RTOS
    }


def _static_none(runs: Observations) -> Cases:
    return {
        _rto(rto): [
            max(share for n, share in one.items() if n < BELOW_30)
            for one in _share_over_n(runs, f"incast/static/dctcp/rto={rto}/")
        ]
        for rto in plan.RTOS
    }


def _static_join(runs: Observations) -> Cases:
    cases = {}
    for rto in plan.RTOS:
        tcp, dctcp = (
            _share_over_n(runs, f"incast/static/{name}/rto={rto}/") for name in plan.ALGORITHMS
        )
        cases[_rto(rto)] = [joined(*pair) for pair in zip(tcp, dctcp, strict=True)]
    return cases


def joined(tcp: dict[int, float], dctcp: dict[int, float]) -> float:
    """Give the least n at which DCTCP has at least half of TCP's timeouts, and any."""
    return min((n for n in tcp if dctcp[n] > 0 and dctcp[n] >= JOINED * tcp[n]), default=math.inf)


def _most(prefix: str, case: str) -> Measure:
    """Give the largest share of queries with a timeout over all n."""
    return lambda runs: {case: [max(one.values()) for one in _share_over_n(runs, prefix)]}


# ---- single settings


def _of(name: str, case: str, statistic: Statistic) -> Measure:
    return lambda runs: {case: each(runs, name, statistic)}


def _compared(above: str, below: str, case: str, statistic: Statistic) -> Measure:
    return lambda runs: {
        case: ratio(each(runs, above, statistic), each(runs, below, statistic)),
    }


def slowdown(runs: Observations, place: str, name: str) -> Values:
    """Give the 95th percentile of the queries' completion with background / without, by seed."""
    return ratio(
        each(runs, f"{place}/beside/{name}", _P95), each(runs, f"{place}/alone/{name}", _P95)
    )


def _build_up_timeouts(runs: Observations) -> Cases:
    return {
        label: each(runs, f"build-up/{name}", with_timeouts)
        for name, label in plan.ALGORITHMS.items()
    }


def background(run: Observation) -> pl.DataFrame:
    """Give the background flows, whatever does not belong to a query, with what they lasted."""
    return lasting.begun(run, run["transfers"].filter(pl.col("group") != "query"))


def of_size(flows: pl.DataFrame, low: float, high: float) -> pl.DataFrame:
    """Give the flows from some bytes on and below others."""
    return flows.filter((pl.col("bytes") >= low) & (pl.col("bytes") < high))


def short_messages(run: Observation) -> Value:
    """Give the 95th percentile of the completion times of short messages in ms."""
    return lasting.quantile(of_size(background(run), *SHORT), 0.95)


KINDS = (("short messages", 50e3, 1e6), ("updates", 1e6, 50e6))
"""Of the background flows, by their sizes in bytes (DCTCP paper, section 2.2)."""


def size_bins() -> list[tuple[str, float, float]]:
    """Give the sizes of figure 22: label, from, to."""
    edges = (0, 10e3, 100e3, 1e6, 10e6, math.inf)
    labels = ("< 10 KB", "10 to 100 KB", "100 KB to 1 MB", "1 to 10 MB", "> 10 MB")
    return [(label, *pair) for label, pair in zip(labels, pairwise(edges), strict=True)]


MEASURES: dict[str, Measure] = {
    "basic-goodput": lambda runs: _goodput(runs, "1G"),
    "basic-queue": lambda runs: {"1 Gbit/s": _mean_queue(runs, "1G", "dctcp")},
    "basic-stable": lambda runs: {"1 Gbit/s": _queue_spread(runs, "dctcp")},
    "basic-larger": lambda runs: {
        "1 Gbit/s": ratio(_mean_queue(runs, "1G", "tcp"), _mean_queue(runs, "1G", "dctcp"))
    },
    "basic-varies": lambda runs: {
        "1 Gbit/s": ratio(_queue_spread(runs, "tcp"), _queue_spread(runs, "dctcp"))
    },
    "basic-fast-goodput": lambda runs: _goodput(runs, "10G"),
    "basic-fast-queue": lambda runs: {
        "10 Gbit/s": [
            100 * mean / SPEEDS["10G"].threshold for mean in _mean_queue(runs, "10G", "dctcp")
        ]
    },
    "convergence-share": _fair(worst_share),
    "convergence-jain": _fair(least_jain),
    "convergence-variance": _variances,
    "static-least": _least,
    "static-tcp": _static_onset,
    "static-dctcp": _static_none,
    "static-join": _static_join,
    "dynamic-dctcp": _most("incast/dynamic/dctcp/rto=10ms/", "10 ms"),
    "dynamic-tcp": _most("incast/dynamic/tcp/rto=10ms/", "10 ms"),
    "all-tcp": _of("all/tcp", "41 hosts", with_timeouts),
    "all-dctcp": _of("all/dctcp", "41 hosts", with_timeouts),
    "buildup-dctcp": _of("build-up/dctcp", "20 KB", quantile(0.5)),
    "buildup-ratio": _compared("build-up/tcp", "build-up/dctcp", "20 KB", quantile(0.5)),
    "buildup-timeouts": _build_up_timeouts,
    "pressure-base": _of("pressure/alone/tcp", "10:1", _P95),
    "pressure-dctcp-base": _of("pressure/alone/dctcp", "10:1", _P95),
    "pressure-tcp": lambda runs: {"10:1": slowdown(runs, "pressure", "tcp")},
    "pressure-dctcp": lambda runs: {"10:1": slowdown(runs, "pressure", "dctcp")},
    "cluster-query": _compared("cluster/dctcp", "cluster/tcp", "95th percentile", _P95),
    "cluster-short": _compared("cluster/dctcp", "cluster/tcp", "95th percentile", short_messages),
    "cluster-tcp-timeouts": _of("cluster/tcp", "45 servers", with_timeouts),
    "cluster-dctcp-timeouts": _of("cluster/dctcp", "45 servers", with_timeouts),
    "today-dynamic": _most("today/dynamic/dctcp/rto=10ms/", "10 ms"),
    "today-all": _of("today/all/dctcp", "41 hosts", with_timeouts),
    "today-pressure-tcp": lambda runs: {"10:1": slowdown(runs, "today/pressure", "tcp")},
    "today-pressure-dctcp": lambda runs: {"10:1": slowdown(runs, "today/pressure", "dctcp")},
}

BASES: dict[str, Measure] = {
    f"{when}pressure-{name}": _of(f"{place}pressure/alone/{name}", "10:1", with_timeouts)
    for when, place in (("", ""), ("today-", "today/"))
    for name in plan.ALGORITHMS
}
"""Of what the claims of buffer pressure rest on: queries without background."""
