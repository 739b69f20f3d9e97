"""What is measured of each workload: two to four numbers that an operator asks for, one per seed.

A query's time is from the request to the last answer. What was unfinished at the end of a run gives
its numbers two ends (`incastle.reproduction.lasting`). The cluster has time to complete what has
begun; of a barrier at most the last round is open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from incastle.analysis import ends
from incastle.reproduction import lasting

from .plan import BEGIN, runs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from incastle.analysis.ends import Value
    from incastle.reproduction.papers import Observation, Observations

Values: TypeAlias = "Sequence[Value]"
Statistic: TypeAlias = "Callable[[Observation], Value]"
BOTTLENECK = "switch->receiver"
FLOWS = 4
"""Long flows, and flows of mixed round trips."""
SHORT = (100e3, 1e6)
"""Bytes of the cluster's short messages, as in the DCTCP paper, section 4.3."""
WIRE = 1538 / 1460
"""Bytes on the wire for each of the application."""
LINK_BIT_S = 1e9
RTT_S = 100e-6


@dataclass(frozen=True)
class Metric:
    """A row of the table. `value` gives it for the runs of one algorithm, seed by seed."""

    key: str
    workload: str
    label: str
    unit: str
    high: bool
    value: Statistic
    beside: str = ""
    """The workload by whose value, of the same seed, this one is divided."""

    def values(self, runs: Observations, algorithm: str) -> Values | None:
        """Give the values of an algorithm; none where it is not run."""
        name = runs_of(self.workload, algorithm)
        if name is None:
            return None
        values = [self.value(run) for run in runs[name]]
        if not self.beside:
            return values
        alone = [self.value(run) for run in runs[f"{self.beside}/{algorithm}"]]
        return [ends.ratio(a, b) for a, b in zip(values, alone, strict=True)]

    @property
    def uses(self) -> tuple[str, ...]:
        """Name the experiments."""
        return tuple(f"{name}/" for name in (self.workload, self.beside) if name)


def number(value: object) -> float:
    """Take a number of polars; what has no value (no rows) is not a number."""
    return float(value) if isinstance(value, int | float) else math.nan


def queries(run: Observation, group: str = "") -> pl.DataFrame:
    """Give the queries or messages, of a group if one is named, with what they lasted."""
    rounds = run["rounds"]
    return lasting.begun(run, rounds.filter(pl.col("group") == group) if group else rounds)


def quantile(share: float) -> Statistic:
    """Give a quantile of the completion times in ms."""
    return lambda run: lasting.quantile(queries(run), share)


def _mean_completion(run: Observation) -> Value:
    return lasting.mean(queries(run))


def _timeouts_per_query(run: Observation) -> float:
    return number(run["rounds"]["timeouts"].mean())


# ---- long flows


def rates(run: Observation, begin: float) -> list[float]:
    """Give each flow's goodput in Mbit/s, in the intervals of 10 ms from an instant on."""
    inside = run["throughput"].filter(pl.col("time_s") >= begin - 1e-9)
    seconds = 0.01 * inside["time_s"].n_unique()
    sums = dict(inside.group_by("flow").agg(pl.col("bytes").sum()).iter_rows())
    return [8e-6 * sums.get(flow, 0) / seconds if seconds else math.nan for flow in range(FLOWS)]


def jain(rates: list[float]) -> float:
    """Give Jain's index: 1 where all are equal, 1 / n where one has everything."""
    squares = len(rates) * sum(rate**2 for rate in rates)
    return sum(rates) ** 2 / squares if squares else math.nan


def least_share(rates: list[float]) -> float:
    """Give what the slowest flow has, in % of a fair share."""
    return 100 * min(rates) * len(rates) / sum(rates) if sum(rates) else math.nan


def _of_rates(workload: str, statistic: Callable[[list[float]], float]) -> Statistic:
    return lambda run: statistic(rates(run, BEGIN[workload]))


def mean_queue(run: Observation) -> float:
    """Give the mean queue at the bottleneck in packets."""
    links = run["links"].filter(pl.col("port") == BOTTLENECK)
    return number(links["mean_queue_packets"].item())


# ---- the cluster, and deadlines


def background(run: Observation) -> pl.DataFrame:
    """Give the messages and updates, with what they lasted and, at both ends, their slowdown.

    Slowdown has a definition of this comparison's own, the same for every algorithm: the FCT over
    the time of the same bytes at the rate of the link and one round trip. Slow start, which is a
    matter of the algorithm, is not in it; nor is anything else of `[measure] slowdown`.
    """
    flows = lasting.begun(run, run["transfers"].filter(pl.col("group") == "background"))
    ideal_s = pl.col("bytes") * 8 * WIRE / LINK_BIT_S + RTT_S
    return flows.with_columns(
        slowdown_low=pl.col("s_low") / ideal_s, slowdown_high=pl.col("s_high") / ideal_s
    )


def _short_messages(run: Observation) -> Value:
    flows = background(run)
    short = flows.filter((pl.col("bytes") >= SHORT[0]) & (pl.col("bytes") < SHORT[1]))
    return lasting.quantile(short, 0.95)


def _slowdown(run: Observation) -> Value:
    return lasting.quantile(background(run), 0.99, "slowdown")


def _deadlines_met(run: Observation) -> Value:
    """Give the share of deadlines that were met, in %; who can still meet his may or may not."""
    met, missed = (number(run["summary"][f"{kind}_deadlines"].item()) for kind in ("met", "missed"))
    still = pl.col("completed_s").is_null() & (pl.col("deadline_s") >= lasting.interval(run).end)
    undecided = len(run["transfers"].filter(still))
    judged = met + missed + undecided
    if not judged:
        return math.nan
    low, high = 100 * met / judged, 100 * (met + undecided) / judged
    return ends.Ends(low, high, undecided) if undecided else low


METRICS = (
    Metric("incast_mean", "incast", "query, mean", "ms", False, _mean_completion),
    Metric("incast_p99", "incast", "query, p99", "ms", False, quantile(0.99)),
    Metric("incast_timeouts", "incast", "timeouts per query", "", False, _timeouts_per_query),
    Metric("long_goodput", "long", "goodput", "Mbit/s", True, _of_rates("long", sum)),
    Metric("long_queue", "long", "mean queue", "packets", False, mean_queue),
    Metric("long_jain", "long", "Jain's index", "", True, _of_rates("long", jain)),
    Metric("message_p95", "build-up", "20 KB, p95", "ms", False, quantile(0.95)),
    Metric("message_deadlines", "build-up", "20 KB within 2 ms", "%", True, _deadlines_met),
    Metric("pressure_p95", "pressure", "query, p95", "ms", False, quantile(0.95)),
    Metric(
        "pressure_ratio", "pressure", "p95 / without background", "", False,
        quantile(0.95), "pressure-alone",
    ),
    Metric("cluster_p99", "cluster", "query, p99", "ms", False, quantile(0.99)),
    Metric("cluster_deadlines", "cluster", "answers within 10 ms", "%", True, _deadlines_met),
    Metric("cluster_short", "cluster", "short messages, p95", "ms", False, _short_messages),
    Metric("cluster_slowdown", "cluster", "slowdown, p99", "", False, _slowdown),
    Metric("mixed_least", "mixed", "slowest flow / fair share", "%", True,
           _of_rates("mixed", least_share)),
    Metric("mixed_jain", "mixed", "Jain's index", "", True, _of_rates("mixed", jain)),
)  # fmt: skip
"""The rows of the table."""
