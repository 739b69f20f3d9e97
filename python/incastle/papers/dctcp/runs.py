"""Statistics of one run of dctcp: by name in the expressions of its declarations.

A query is a row of `rounds`; a background flow is a transfer that belongs to no query. The DCTCP
paper has short messages and updates among its background flows: the size alone distinguishes them.
Leaves out what `incastle.reproduction.statistics` has.
"""

from __future__ import annotations

from statistics import fmean, pvariance
from typing import TYPE_CHECKING, Any

import polars as pl

from incastle.reproduction import lasting
from incastle.reproduction.statistics import (
    between,
    jain,
    link,
    number,
    queries,
    query_mean,
    query_quantile,
    summary,
)

if TYPE_CHECKING:
    from incastle.analysis.ends import Value
    from incastle.reproduction.papers import Observation

CLIENT, RECEIVER = "switch->sender:0", "switch->receiver"
PHASES = 9
"""Of the convergence: one to five flows, and down to one again."""
SHORT = (100e3, 1e6)
"""Bytes: the short messages that the claim is about."""
SIZES = (
    ("< 10 KB", 0, 10e3),
    ("10 to 100 KB", 10e3, 100e3),
    ("100 KB to 1 MB", 100e3, 1e6),
    ("1 to 10 MB", 1e6, 10e6),
    ("> 10 MB", 10e6, float("inf")),
    ("short messages", 50e3, 1e6),
    ("updates", 1e6, 50e6),
)
"""Of background flows, from and below: the bins of figure 22, and the kinds of section 2.2."""
SHARES = sorted([*(share / 100 for share in (*range(0, 90, 2), *range(90, 101))), 0.995, 0.999])
"""The quantiles of a distribution that is drawn."""


# ---- two long flows


def _queue(run: Observation, begin: float) -> pl.Series:
    samples = run["queue_samples"].filter(pl.col("time_s") >= begin)
    return samples["packets"].cast(pl.Float64)


def queue_mean(run: Observation, begin: float) -> float:
    """Give the mean queue in packets from an instant on."""
    return number(_queue(run, begin).mean())


def queue_range(run: Observation, begin: float) -> float:
    """Give the 95th less the 5th percentile of the queue from an instant on."""
    queue = _queue(run, begin)
    return number(queue.quantile(0.95)) - number(queue.quantile(0.05))


def queue_quantiles(run: Observation, begin: float) -> list[dict[str, float]]:
    """Give the distribution of the queue from an instant on."""
    queue = _queue(run, begin)
    return [{"x": share, "packets": number(queue.quantile(share, "linear"))} for share in SHARES]


def last_second(run: Observation) -> pl.DataFrame:
    """Give the queue's samples in the last second."""
    samples = run["queue_samples"]
    last = samples.filter(pl.col("time_s") >= number(samples["time_s"].max()) - 1)
    return last.select(x="time_s", packets=pl.col("packets").cast(pl.Float64))


def goodput(run: Observation, begin: float) -> float:
    """Give both flows' goodput in Gbit/s, in the intervals of 10 ms from an instant on."""
    inside = between(run["throughput"], begin)
    return number(inside["bytes"].sum()) * 8 / (0.01 * inside["time_s"].n_unique()) / 1e9


def greater_share(run: Observation, begin: float) -> float:
    """Give the share of the bytes that the greater flow has from an instant on, in %."""
    rows = run["throughput"].filter(pl.col("time_s") >= begin)
    flows = [sum(part["bytes"]) for part in rows.partition_by("flow")]
    return 100 * max(flows) / sum(flows)


# ---- convergence


def rates(run: Observation, phase_s: float) -> pl.DataFrame:
    """Give the rates of each flow in Mbit/s, 30 to a phase."""
    rate = pl.col("bytes") * 8 / (phase_s / 30) / 1e6
    return run["throughput"].select("flow", "time_s", rate.alias("mbit_s"))


def phases(run: Observation, phase_s: float) -> list[list[list[float]]]:
    """Give for each phase the rates of its flows over its last two thirds, in shares of fair."""
    found = []
    for phase in range(PHASES):
        count = min(phase, PHASES - 1 - phase) + 1
        inside = between(run["throughput"], (phase + 1 / 3) * phase_s, (phase + 1) * phase_s)
        times = inside["time_s"].unique().sort()
        series = [_filled(inside.filter(pl.col("flow") == flow), times) for flow in range(count)]
        fair = sum(map(sum, series)) / count / len(times)
        found.append([[value / fair for value in one] for one in series])
    return found


def _filled(flow: pl.DataFrame, times: pl.Series) -> list[float]:
    """Give a flow's bytes at each time; an interval in which nothing arrived has no row."""
    found: dict[float, float] = dict(flow.select("time_s", "bytes").iter_rows())
    return [float(found.get(time, 0)) for time in times]


def worst_share(run: Observation, phase_s: float) -> float:
    """Give the maximum deviation of a flow's mean rate from its fair share, in %."""
    return max(100 * abs(fmean(flow) - 1) for phase in phases(run, phase_s) for flow in phase)


def min_jain(run: Observation, phase_s: float) -> float:
    """Give the minimum of Jain's index over the phases."""
    return min(jain([fmean(flow) for flow in phase]) for phase in phases(run, phase_s))


def rate_variance(run: Observation, phase_s: float) -> float:
    """Give the mean variance of a flow's rates within a phase, where it is not alone."""
    several = (phase for phase in phases(run, phase_s) if len(phase) > 1)
    return fmean(pvariance(flow) for phase in several for flow in phase)


# ---- queries


def query_quantiles(run: Observation) -> list[dict[str, Value]]:
    """Give the distribution of the query completion time in ms."""
    found = queries(run)
    return [{"x": share, "ms": lasting.quantile(found, share)} for share in SHARES]


def query_statistics(run: Observation) -> list[dict[str, Any]]:
    """Give the mean and percentiles of the query completion time in ms."""
    percentiles = {"95th": 0.95, "99th": 0.99, "99.9th": 0.999}
    found = {"mean": query_mean(run)}
    found |= {name: query_quantile(run, share) for name, share in percentiles.items()}
    return [{"statistic": name, "ms": value} for name, value in found.items()]


def late_timeouts(run: Observation) -> float:
    """Give the share of queries with a timeout in %, without the first two of the run."""
    return 100 * fmean(run["rounds"].sort("started_s")[2:]["timeouts"] > 0)


def transfer_count(run: Observation) -> int:
    """Count the transfers of a run."""
    return len(run["rounds"])


def transfers_with_timeouts(run: Observation, first: int) -> int:
    """Count the transfers with a timeout among the first of a run."""
    return int((run["rounds"].sort("started_s")["timeouts"][:first] > 0).sum())


def timeouts_of(run: Observation, group: str, column: str = "", value: str = "") -> int:
    """Count the timeouts of a group, or those of them with a value in a column."""
    found = run["timeouts"].filter(pl.col("group") == group)
    return len(found.filter(pl.col(column) == value) if column else found)


def max_timeouts(run: Observation) -> int:
    """Give the maximum number of timeouts of a query."""
    return int(max(run["rounds"]["timeouts"]))


# ---- background flows


def _background(run: Observation, low: float, high: float) -> pl.DataFrame:
    sized = (pl.col("bytes") >= low) & (pl.col("bytes") < high)
    return lasting.begun(run, run["transfers"].filter(pl.col("group") != "query")).filter(sized)


def short_messages(run: Observation) -> Value:
    """Give the 95th percentile of the completion times of short messages in ms."""
    return lasting.quantile(_background(run, *SHORT), 0.95)


def background_by_size(run: Observation) -> list[dict[str, Any]]:
    """Give for each size the number of background flows, and mean and percentile in ms."""
    rows: list[dict[str, Any]] = []
    for size, low, high in SIZES:
        these = _background(run, low, high)
        mean = lasting.mean(these) if len(these) else None
        p95 = lasting.quantile(these, 0.95)
        rows.append({"size": size, "flows": len(these), "mean_ms": mean, "p95_ms": p95})
    return rows


# ---- the switch


def max_stored(run: Observation) -> float:
    """Give the maximum that the switch stored, in MB."""
    return summary(run, "max_memory_bytes") / 1e6


def fullest_port(run: Observation) -> float:
    """Give the maximum that a port of the switch stored, in KB."""
    ports = run["links"].filter(pl.col("port").str.starts_with("switch"))
    return number(ports["max_bytes"].max()) / 1e3


def stored(run: Observation) -> float:
    """Give the mean that the whole switch stores, in MB."""
    rows = run["buffer_occupancy"].filter(pl.col("port") == "all")["bytes"]
    return fmean(rows) / 1e6 if len(rows) else 0.0


def client_threshold(run: Observation) -> float:
    """Give the mean that the client's port may hold, in KB."""
    rows = run["buffer_occupancy"].filter(pl.col("port") == CLIENT)["threshold_bytes"].drop_nulls()
    return fmean(rows) / 1e3 if len(rows) else 0.0


def of_rest(run: Observation, column: str) -> float:
    """Give a value of the port to the host at 10 Gbit/s."""
    return link(run, RECEIVER, column)
