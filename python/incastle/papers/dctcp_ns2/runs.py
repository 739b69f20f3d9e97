"""Statistics of one run of dctcp-ns2, and the knee of a curve: by name in its declarations."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from incastle.reproduction.statistics import link

from . import theory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from incastle.reproduction.papers import Observation

PORT = "switch->receiver"


def samples(run: Observation, begin: float, end: float) -> pl.DataFrame:
    """Give the samples of the queue within the evaluated part of a run: time_s, packets."""
    inside = pl.col("time_s").is_between(begin, end)
    here = run["queue_samples"].filter((pl.col("port") == PORT) & inside)
    return here.select("time_s", "packets")


def queue_mean(run: Observation, begin: float, end: float) -> float:
    """Give the mean queue in packets."""
    return float(samples(run, begin, end)["packets"].mean() or 0)  # type: ignore[arg-type]


def queue_quantile(run: Observation, share: float, begin: float, end: float) -> float:
    """Give a quantile of the queue in packets."""
    return float(samples(run, begin, end)["packets"].quantile(share) or 0)


def fractions(run: Observation, begin: float, end: float, buffer: int) -> pl.DataFrame:
    """Give P(queue <= packets): packets, fraction."""
    grid = pl.Series("packets", range(0, buffer + 1, buffer // 200), pl.Int64)
    queue = samples(run, begin, end)["packets"].cast(pl.Int64).sort()
    below = queue.search_sorted(grid, side="right")
    shares = [count / max(len(queue), 1) for count in below]
    return pl.DataFrame({"packets": grid, "fraction": shares})


def throughput(run: Observation) -> float:
    """Give the throughput on the receiver's link in % of its rate."""
    return 100 * link(run, PORT, "utilisation")


def knee(points: Iterable[tuple[float, float]], full: float = 99.9) -> float:
    """Give the least K from which on the throughput stays at `full`, between the K by a line.

    The largest K where it is never reached there, the least where it is never missed.
    """
    curve = sorted(points)
    short = [place for place, (_, value) in enumerate(curve) if value < full]
    if not short:
        return curve[0][0]
    if short[-1] == len(curve) - 1:
        return curve[-1][0]
    (last, low), (following, high) = curve[short[-1] : short[-1] + 2]
    return last + (following - last) * (full - low) / (high - low)


def fluid(flows: int, threshold: float) -> float:
    """Give the throughput of the fluid model in % of the link."""
    return 100 * theory.throughput(flows, theory.PIPE, threshold)


# ---- who delivers


def largest_share(run: Observation) -> float:
    """Give the largest flow's share of what was delivered."""
    delivered = _delivered(run)
    return max(delivered) / sum(delivered)


def others_timeouts(run: Observation) -> float:
    """Give the timeouts per flow, without the flow that delivered most."""
    delivered, timeouts = _delivered(run), run["flows"]["timeouts"].to_list()
    largest = delivered.index(max(delivered))
    return fmean(count for flow, count in enumerate(timeouts) if flow != largest)


def nothing_delivered(run: Observation) -> float:
    """Give how many flows delivered nothing."""
    return float(_delivered(run).count(0))


def _delivered(run: Observation) -> list[int]:
    return run["flows"]["delivered_bytes"].to_list()
