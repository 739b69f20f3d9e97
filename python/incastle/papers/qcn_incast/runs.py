"""Statistics of one run of qcn-incast: by name in the expressions of its declarations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from incastle.reproduction import lasting
from incastle.reproduction.statistics import flow_sum, link, of_group, summary

if TYPE_CHECKING:
    from incastle.analysis.ends import Value
    from incastle.reproduction.papers import Observation

PORT = "switch->receiver"
RUN = 20.0
"""The paper's runs, in seconds: timeouts and notifications are counted for this time."""
_STORAGE, _BACKGROUND = "storage", "background"


def goodput(run: Observation) -> float:
    """Give the goodput of the requests in Mbit/s."""
    return flow_sum(run, "goodput_bit_s", _STORAGE) / 1e6


def udp_goodput(run: Observation) -> float:
    """Give what UDP delivers, in Mbit/s."""
    return flow_sum(run, "goodput_bit_s", _BACKGROUND) / 1e6


def goodput_of_all(run: Observation) -> float:
    """Give what requests and UDP deliver together, in Mbit/s."""
    return goodput(run) + udp_goodput(run)


def queue_kilobytes(run: Observation) -> float:
    """Give the time-weighted mean queue at the port to the client, in KB.

    It is counted in packets. Nearly all are full; the mean size is that of what the port sent.
    """
    sent = link(run, PORT, "packets")
    size = link(run, PORT, "bytes") / sent / 1e3 if sent else 0.0
    return link(run, PORT, "mean_queue_packets") * size


def seconds(run: Observation) -> float:
    """Give how long the run lasted."""
    return summary(run, "simulated_s")


def notifications(run: Observation) -> float:
    """Give the notifications (CNMs) that the port to the client sent, in 20 s."""
    return link(run, PORT, "cnms") * RUN / seconds(run)


def timeouts_per_flow(run: Observation) -> float:
    """Give the timeouts of a server's flow in 20 s, on average."""
    flows = of_group(run["flows"], _STORAGE)
    return float(flows["timeouts"].sum()) / len(flows) * RUN / seconds(run)


def send_buffer_drop_percent(run: Observation) -> float:
    """Give the share of UDP's datagrams that its send buffer dropped, in %."""
    dropped = flow_sum(run, "send_buffer_drops", _BACKGROUND)
    return 100 * dropped / (dropped + flow_sum(run, "packets", _BACKGROUND))


# ---- rounds


def completion_mean(run: Observation) -> Value:
    """Give the mean completion time of a round, in ms."""
    return lasting.mean(lasting.begun(run, run["rounds"]))


def completion_p99(run: Observation) -> Value:
    """Give the 99th percentile of the completion times of rounds, in ms."""
    return lasting.quantile(lasting.begun(run, run["rounds"]), 0.99)


# ---- the timeouts of a run, one by one

SPURIOUS = "spurious"
_STARTED_BY = 0.003  # s: by then a round's first windows and what they lost are over


def kinds() -> pl.Expr:
    """Name a timeout's kind: what happened to the oldest segment that was not acknowledged.

    `port` says where its last transmission was dropped. Where it was not, that transmission, or its
    acknowledgement, was still on its path: spurious, whatever the form.
    """
    kept = pl.col("port") == ""
    return pl.when(kept).then(pl.lit(SPURIOUS)).otherwise(pl.col("kind"))


def share_of_kind(run: Observation, kind: str) -> float:
    """Give the share of a run's timeouts that are of a kind, in %."""
    found = run["timeouts"]
    return 100 * len(found.filter(kinds() == kind)) / len(found) if len(found) else math.nan


def kind_per_flow(run: Observation, kind: str, n: int) -> float:
    """Give the timeouts of a kind for each of n flows in 20 s."""
    return len(run["timeouts"].filter(kinds() == kind)) / n * RUN / seconds(run)


def kind_idle(run: Observation, kind: str) -> float:
    """Give the time for which the link was idle for timeouts of a kind, in % of the run."""
    idle = float(run["timeouts"].filter(kinds() == kind)["idle_s"].sum() or 0)
    return 100 * idle / seconds(run)


def early_waits(run: Observation) -> float:
    """Give the share of timeouts whose wait began in a round's first 3 ms, in %."""
    rounds = run["rounds"].select(pl.col("round").cast(pl.Float64), "started_s")
    waits = run["timeouts"].with_columns(pl.col("round").cast(pl.Float64))
    begun = waits.join(rounds, on="round")
    since = begun["time_s"] - begun["waited_s"] - begun["started_s"]
    return 100 * int((since <= _STARTED_BY).sum()) / len(begun) if len(begun) else math.nan


# ---- section IX

_HOT = ("switch->receiver", "second->hot")


def baseline_throughput(run: Observation) -> float:
    """Give what all sources deliver, in Gbit/s."""
    return flow_sum(run, "delivered_bytes") * 8 / seconds(run) / 1e9


def baseline_queue(run: Observation) -> float:
    """Give the time-weighted mean queue at the hotspot, in packets."""
    hot = run["links"].filter(pl.col("port").is_in(_HOT))
    return float(hot["mean_queue_packets"].item())


def baseline_drops(run: Observation) -> float:
    """Give the share of packets that were dropped, in %."""
    return 100 * flow_sum(run, "drops") / flow_sum(run, "packets")
