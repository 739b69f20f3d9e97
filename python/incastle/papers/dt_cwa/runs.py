"""Numbers of one run of dt-cwa, and of the seeds of an experiment."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from .plan import PORT

if TYPE_CHECKING:
    from collections.abc import Callable

    from incastle.papers import Observation, Observations

SEGMENT = 1460
Values: TypeAlias = list[float]
Statistic: TypeAlias = "Callable[[Observation], float]"


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


def query_completion(run: Observation) -> float:
    """Give the mean over the queries of the time until their last flow is complete, in ms.

    A query that the run does not complete counts as infinite.
    """
    queries = _transfers(run).group_by("group").agg(pl.col("ms").max())
    return float(queries["ms"].mean())  # type: ignore[arg-type]


def message_completion(run: Observation) -> float:
    """Give the mean completion of single messages, in ms."""
    return float(_transfers(run)["ms"].mean())  # type: ignore[arg-type]


def query_throughput(run: Observation) -> float:
    """Give the bytes of a query over its mean completion, in Mbit/s."""
    transfers = _transfers(run)
    queries = transfers["group"].n_unique()
    asked = int(transfers["bytes"].sum())
    return asked * 8 / queries / (query_completion(run) * 1e3)


def of(runs: Observations, name: str, what: Statistic) -> Values:
    """Give a number of each seed of an experiment."""
    return [what(run) for run in runs[name]]


def change(ours: Values, theirs: Values) -> Values:
    """Give ours / theirs, less 1, in percent, seed by seed."""
    return [100 * (a / b - 1) for a, b in zip(ours, theirs, strict=True)]


def ratio(ours: Values, theirs: Values) -> Values:
    """Give ours / theirs, seed by seed; 0 / 0 is no value."""
    return [
        a / b if b else (math.inf if a else math.nan) for a, b in zip(ours, theirs, strict=True)
    ]


def difference(ours: Values, theirs: Values) -> Values:
    """Give ours less theirs, seed by seed."""
    return [a - b for a, b in zip(ours, theirs, strict=True)]


def _port(run: Observation, table: str) -> pl.DataFrame:
    return run[table].filter(pl.col("port") == PORT)


def _transfers(run: Observation) -> pl.DataFrame:
    lasted = (pl.col("completed_s") - pl.col("started_s")) * 1e3
    return run["transfers"].with_columns(lasted.fill_null(math.inf).alias("ms"))
