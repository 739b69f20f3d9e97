"""Numbers of one run of dt-cwa, and of the seeds of an experiment."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from incastle import ends
from incastle.reproduction import lasting

from .plan import PORT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from incastle.ends import Value
    from incastle.reproduction.papers import Observation, Observations

SEGMENT = 1460
Values: TypeAlias = "Sequence[Value]"
Statistic: TypeAlias = "Callable[[Observation], Value]"


def throughput(run: Observation, seconds: float) -> float:
    """Give the IP bytes that the port to the aggregator took in, in Mbit/s over the whole run."""
    taken: int = _port(run, "links")["bytes"].item()
    return taken * 8 / seconds / 1e6


def drops(run: Observation) -> float:
    """Give the packets dropped at the port to the aggregator."""
    return float(_port(run, "links")["drops"].item())


def timeouts_per_flow(run: Observation) -> float:
    """Give the timeouts of a run per flow."""
    return float(run["flows"]["timeouts"].mean())  # type: ignore[arg-type]


def deviation(run: Observation) -> float:
    """Give the standard deviation over time of the queue to the aggregator, in packets."""
    queue = _port(run, "queues")
    packets, seconds = queue["packets"].cast(pl.Float64), queue["seconds"]
    total = float(seconds.sum())
    mean = float((packets * seconds).sum()) / total
    return math.sqrt(float(((packets - mean) ** 2 * seconds).sum()) / total)


def mean_queue(run: Observation) -> float:
    """Give the mean queue to the aggregator, in packets."""
    return float(_port(run, "links")["mean_queue_packets"].item())


def at_one_segment(run: Observation) -> float:
    """Give the share of samples in which a window is one segment or less, in percent."""
    return 100 * float((run["windows"]["cwnd_bytes"] <= SEGMENT).mean())  # type: ignore[arg-type]


def query_completion(run: Observation) -> Value:
    """Give the mean over the queries of the time until their last flow is complete, in ms.

    A query that the run does not complete has lasted until its end, or goes on without limit.
    """
    return lasting.mean(_queries(run))


def message_completion(run: Observation) -> Value:
    """Give the mean completion of single messages, in ms."""
    return lasting.mean(_transfers(run))


def query_throughput(run: Observation) -> Value:
    """Give the bytes of a query over its mean completion, in Mbit/s."""
    queries = _queries(run)
    asked = int(queries["bytes"].sum())
    bits = asked * 8 / len(queries)
    return ends.ratio(bits, ends.rising(lambda ms: ms[0] * 1e3, [query_completion(run)]))


def of(runs: Observations, name: str, what: Statistic) -> Values:
    """Give a number of each seed of an experiment."""
    return [what(run) for run in runs[name]]


def change(ours: Values, theirs: Values) -> Values:
    """Give ours / theirs, less 1, in percent, seed by seed."""
    return [ends.rising(lambda one: 100 * (one[0] - 1), [part]) for part in ratio(ours, theirs)]


def ratio(ours: Values, theirs: Values) -> Values:
    """Give ours / theirs, seed by seed; 0 / 0 is no value."""
    return [ends.ratio(a, b) for a, b in zip(ours, theirs, strict=True)]


def difference(ours: Values, theirs: Values) -> Values:
    """Give ours less theirs, seed by seed."""
    return [ends.difference(a, b) for a, b in zip(ours, theirs, strict=True)]


def _port(run: Observation, table: str) -> pl.DataFrame:
    return run[table].filter(pl.col("port") == PORT)


def _transfers(run: Observation) -> pl.DataFrame:
    return lasting.begun(run, run["transfers"])


def _queries(run: Observation) -> pl.DataFrame:
    """Give each query with what its slowest flow lasted, and when that completed, if it did."""
    queries = _transfers(run).group_by("group", maintain_order=True)
    unfinished = pl.col("completed_s").is_null().any()
    return queries.agg(
        pl.col("ms_low", "ms_high").max(),
        pl.col("bytes").sum(),
        pl.when(~unfinished).then(pl.col("completed_s").max()).alias("completed_s"),
    )
