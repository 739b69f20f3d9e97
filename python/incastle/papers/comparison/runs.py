"""Statistics of one run of the comparison: by name in the expressions of its declarations.

The cluster has time to complete what has begun; of barrier-synchronised requests at most the last
round is open. Leaves out what `incastle.reproduction.statistics` has.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from incastle.analysis.ends import Ends
from incastle.reproduction import lasting
from incastle.reproduction.statistics import between, jain, number, of_group

if TYPE_CHECKING:
    from incastle.analysis.ends import Value
    from incastle.reproduction.papers import Observation

RTTS_US = (100, 200, 400, 800)
"""Of the flows of mixed round trips; as many long flows."""
WIRE = 1538 / 1460
"""Bytes on the wire for each of the application."""
LINK_BIT_S = 1e9
RTT_S = 100e-6


def timeouts_per_query(run: Observation) -> float:
    """Give the mean number of timeouts of a query."""
    return number(run["rounds"]["timeouts"].mean())


# ---- long flows


def rates(run: Observation, begin: float) -> list[float]:
    """Give each flow's goodput in Mbit/s, in the intervals of 10 ms from an instant on."""
    inside = between(run["throughput"], begin)
    seconds = 0.01 * inside["time_s"].n_unique()
    sums = dict(inside.group_by("flow").agg(pl.col("bytes").sum()).iter_rows())
    flows = range(len(RTTS_US))
    return [8e-6 * sums.get(flow, 0) / seconds if seconds else math.nan for flow in flows]


def goodput(run: Observation, begin: float) -> float:
    """Give the goodput of all flows in Mbit/s."""
    return sum(rates(run, begin))


def fairness(run: Observation, begin: float) -> float:
    """Give Jain's index of the flows' goodput."""
    return jain(rates(run, begin))


def min_share(run: Observation, begin: float) -> float:
    """Give the share of the slowest flow, in % of a fair share."""
    found = rates(run, begin)
    return 100 * min(found) * len(found) / sum(found) if sum(found) else math.nan


def shares(run: Observation, begin: float) -> list[dict[str, float]]:
    """Give the share of each flow in % of a fair share, by its round-trip time."""
    found = rates(run, begin)
    pairs = zip(RTTS_US, found, strict=True)
    return [{"rtt_us": rtt, "share": 100 * rate * len(found) / sum(found)} for rtt, rate in pairs]


def dctcp_share(run: Observation, begin: float) -> float:
    """Give DCTCP's share of the long flows' bytes in %, from an instant on."""
    inside = between(run["throughput"], begin)
    groups = inside.join(run["flows"].select("flow", "group"), on="flow")
    dctcp = of_group(groups, "dctcp")
    return 100 * number(dctcp["bytes"].sum()) / number(groups["bytes"].sum())


# ---- the cluster, and deadlines


def slowdown(run: Observation) -> Value:
    """Give the 99th percentile of the slowdown of messages and updates.

    Slowdown has a definition of this comparison's own, the same for every algorithm: the FCT over
    the time of the same bytes at the rate of the link and one round trip. Slow start, which is a
    matter of the algorithm, is not in it; nor is anything else of `[measure] slowdown`.
    """
    flows = lasting.begun(run, of_group(run["transfers"], "background"))
    ideal_s = pl.col("bytes") * 8 * WIRE / LINK_BIT_S + RTT_S
    low, high = (pl.col(f"s_{end}") / ideal_s for end in ("low", "high"))
    slowed = flows.with_columns(slowdown_low=low, slowdown_high=high)
    return lasting.quantile(slowed, 0.99, "slowdown")


def deadlines_met(run: Observation) -> Value:
    """Give the share of deadlines that were met, in %; an open one may be met or not."""
    met, missed = (number(run["summary"][f"{kind}_deadlines"].item()) for kind in ("met", "missed"))
    still = pl.col("completed_s").is_null() & (pl.col("deadline_s") >= lasting.interval(run).end)
    undecided = len(run["transfers"].filter(still))
    judged = met + missed + undecided
    if not judged:
        return math.nan
    low, high = 100 * met / judged, 100 * (met + undecided) / judged
    return Ends(low, high, undecided) if undecided else low


# ---- RDMA


def paused(run: Observation) -> float:
    """Give the share of the run in which the port that was paused longest was paused, in %."""
    if run["pauses"].is_empty():
        return 0.0
    return 100 * number(run["pauses"]["paused_s"].max()) / lasting.interval(run).end


def lost(run: Observation) -> float:
    """Give the packets dropped, in % of the data packets that were dropped or arrived."""
    drops, arrived = (number(run["summary"][name].item()) for name in ("drops", "data_packets"))
    return 100 * drops / (drops + arrived) if drops + arrived else math.nan


def slowed(run: Observation, low: float, high: float) -> Value:
    """Give the 99th percentile of the slowdown of web-search flows of `low` bytes to below `high`.

    Ideal is `[measure] slowdown`'s: the flow alone at the rate of its links.
    """
    flows = lasting.begun(run, of_group(run["transfers"], "web"))
    sized = flows.filter((pl.col("bytes") >= low) & (pl.col("bytes") < high))
    ratios = (pl.col(f"s_{end}") / pl.col("ideal_fct_s") for end in ("low", "high"))
    low_ratio, high_ratio = ratios
    ratio = sized.with_columns(slowdown_low=low_ratio, slowdown_high=high_ratio)
    return lasting.quantile(ratio, 0.99, "slowdown")
