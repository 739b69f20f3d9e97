"""Statistics of one run of dt-cwa: by name in the expressions of its declarations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from incastle.analysis import ends
from incastle.reproduction import lasting

if TYPE_CHECKING:
    from incastle.analysis.ends import Value
    from incastle.reproduction.papers import Observation

SEGMENT = 1460
PORT = "switch:0->receiver"


def throughput(run: Observation, seconds: float) -> float:
    """Give the IP bytes that the port to the aggregator took in, in Mbit/s over the whole run."""
    taken: int = _port(run, "links")["bytes"].item()
    return taken * 8 / seconds / 1e6


def deviation(run: Observation) -> float:
    """Give the standard deviation over time of the queue to the aggregator, in packets."""
    queue = _port(run, "queues")
    packets, seconds = queue["packets"].cast(pl.Float64), queue["seconds"]
    total = float(seconds.sum())
    mean = float((packets * seconds).sum()) / total
    return math.sqrt(float(((packets - mean) ** 2 * seconds).sum()) / total)


def windows_up_to(run: Observation, segments: int) -> float:
    """Give the share of samples in which a window is at most this many segments, in %."""
    small = run["windows"]["cwnd_bytes"] <= segments * SEGMENT
    return 100 * float(small.mean())  # type: ignore[arg-type]


def window_shares(run: Observation) -> list[dict[str, float]]:
    """Give the same for each number of segments up to ten."""
    found = ((segments, windows_up_to(run, segments)) for segments in range(1, 11))
    return [{"segments": segments, "share_percent": share} for segments, share in found]


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
