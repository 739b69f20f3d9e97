"""Statistics of one run of dcudp: by name in the expressions of its declarations."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from incastle.analysis.expressions import quotient
from incastle.reproduction.statistics import between, jain, link, number

from .readings import TH_MAX

if TYPE_CHECKING:
    from incastle.reproduction.papers import Observation

PORT = "switch->receiver"
LINK = 1e9
"""Of the receiver, in bit/s."""
MANY = 20
"""Senders of figure 7, and of the bursts."""
BURST_S, PERIOD_S = 0.1, 0.25
SMALL = 3 * TH_MAX
"""Packets: the queue that the claims call small at first."""
WATCHED_S = 0.1
"""The time evaluated before and after the end of figure 8's bulk transfer."""
LINEAR_S = 0.01
NEW_S = 0.01
"""The time evaluated after a new flow's start."""
LAST_S = 0.025
"""Of a burst: where shares should have converged."""
PAYLOAD = {"tcp": 1460, "dcudp": 1456, "udt": 1456}
"""Application bytes of a packet of 1500 bytes."""
PACKET = 1500
MSS = PAYLOAD["tcp"]
_EDGE = 1e-9
_THIRD = round(MANY / 3)


def throughput(run: Observation, seconds: float) -> float:
    """Give the IP bytes that came to the receiver in the first seconds, in Gbit/s."""
    inside = (pl.col("host") == "receiver") & (pl.col("time_s") < seconds - _EDGE)
    came = run["goodput"].filter(inside)["ip_bytes"].sum()
    return float(came) * 8 / seconds / 1e9


def mean_queue(run: Observation) -> float:
    """Give the mean queue to the receiver over the run, in packets."""
    return link(run, PORT, "mean_queue_packets")


def queue(run: Observation, begin: float = 0.0, end: float = math.inf) -> pl.Series:
    """Give the samples of the queue to the receiver between two instants, in packets."""
    samples = run["queue_samples"]
    time = pl.col("time_s")
    here = (pl.col("port") == PORT) & (time >= begin - _EDGE) & (time < end - _EDGE)
    return samples.filter(here)["packets"].cast(pl.Float64)


def queue_mean(run: Observation, begin: float, end: float) -> float:
    """Give the mean of the samples of the queue between two instants, in packets."""
    return number(queue(run, begin, end).mean())


def queue_deviation(run: Observation, begin: float) -> float:
    """Give the standard deviation of the samples of the queue from an instant on, in packets."""
    return number(queue(run, begin).std(ddof=0))


def burst(run: Observation, seconds: float) -> float:
    """Give the longest queue in the first 10 ms over the mean of the second half."""
    return quotient(number(queue(run, 0.0, 0.01).max()), queue_mean(run, seconds / 2, math.inf))


def calm_after(run: Observation, seconds: float) -> float:
    """Give when the queue is small after its first peak, in ms; the run's length if it never is."""
    here = run["queue_samples"].filter(pl.col("port") == PORT).sort("time_s")
    early = here.filter(pl.col("time_s") < 0.01 - _EDGE)
    peak = early.filter(pl.col("packets") == early["packets"].max())["time_s"].min()
    small = (pl.col("time_s") >= number(peak)) & (pl.col("packets") <= SMALL)
    first = here.filter(small)["time_s"].min()
    return 1e3 * (seconds if first is None else number(first))


def loss(run: Observation) -> float:
    """Give what the port to the receiver drops of the data packets sent, in %.

    Those that neither arrived nor wait at the end: the port's own count has ACK2s in it, which RED
    drops where data are marked.
    """
    sent = float(run["flows"]["packets"].sum())
    arrived = float(run["udt"]["packets_received"].sum())
    samples = run["queue_samples"].filter(pl.col("port") == PORT).sort("time_s")
    return 100 * quotient(max(sent - arrived - float(samples["packets"][-1]), 0.0), sent)


def packets_per_ack(run: Observation) -> float:
    """Give the data packets that arrived for each ACK that the receivers sent."""
    counters = run["udt"]
    return quotient(float(counters["packets_received"].sum()), float(counters["acks_sent"].sum()))


# ---- figures 8 and 9


def share_after(run: Observation, kind: str, ended: float) -> float:
    """Give the share of the link that the constant sender takes after the other's end, in %.

    Its data in order, with headers; `kind` is that of the scenario.
    """
    end = ended + WATCHED_S
    came = between(run["throughput"], ended, end).join(_of(run, "cbr"), on="flow", how="semi")
    wire = float(came["bytes"].sum()) * PACKET / PAYLOAD[kind]
    return 100 * wire * 8 / (LINK * (end - ended))


def growth_per_round_trip(run: Observation, ended: float) -> float:
    """Give the segments by which the constant sender's window grows in a round trip, after the end.

    The table has a row where an ACK came. Until the next one the window and the round-trip time
    hold: the window of a sender that waits for a timeout does not grow. The number of round trips
    is the sum of the time between rows over the round-trip time then.
    """
    end, time = ended + LINEAR_S, pl.col("time_s")
    rows = _windows(run, 0.0, end).drop_nulls(["cwnd_bytes", "rtt_s"])
    earlier = rows.filter(time < ended - _EDGE).tail(1)
    after = pl.concat([earlier.with_columns(time_s=pl.lit(ended)), between(rows, ended, end)])
    if after.is_empty():
        return math.nan
    lasts = after["time_s"].diff().shift(-1).fill_null(end - after["time_s"][-1])
    trips = float((lasts / after["rtt_s"]).sum())
    grown = float(after["cwnd_bytes"][-1]) - float(after["cwnd_bytes"][0])
    return quotient(grown / MSS, trips)


def window_before(run: Observation, ended: float) -> float:
    """Give the constant sender's mean window before the other's end, in segments."""
    return number(_windows(run, ended - WATCHED_S, ended)["cwnd_bytes"].mean()) / MSS


def window_after(run: Observation, ended: float) -> float:
    """Give the constant sender's largest window after the other's end, in segments."""
    return number(_windows(run, ended, ended + WATCHED_S)["cwnd_bytes"].max()) / MSS


def until_udp_mode(run: Observation, ended: float, lasts: float) -> float:
    """Give when the constant sender is in UDP mode after the other's end, in ms.

    What the run has left if it never is.
    """
    modes = run["dcudp_modes"].join(_of(run, "cbr"), on="flow", how="semi").sort("time_s")
    before = modes.filter(pl.col("time_s") <= ended)
    if len(before) and before["mode"][-1] == "udp":
        return 0.0
    free = modes.filter((pl.col("time_s") > ended) & (pl.col("mode") == "udp"))["time_s"].min()
    return 1e3 * ((lasts if free is None else number(free)) - ended)


def newcomer(run: Observation, begin: float) -> float:
    """Give the bytes that the newcomer delivers in its first 10 ms."""
    came = between(run["throughput"], begin, begin + NEW_S)
    return float(came.join(_of(run, "newcomer"), on="flow", how="semi")["bytes"].sum())


def jain_of_bursts(run: Observation, bursts: int, last: float = BURST_S) -> float:
    """Give the mean over the bursts of Jain's index in the last `last` seconds of a burst.

    A burst in which nothing was delivered then has no index.
    """
    found = [jain(_delivered(run, number_, last)) for number_ in range(bursts)]
    known = [index for index in found if not math.isnan(index)]
    return fmean(known) if known else math.nan


def burst_bytes(run: Observation, bursts: int) -> float:
    """Give what all senders deliver within the bursts, in bytes."""
    return sum(sum(_delivered(run, number_)) for number_ in range(bursts))


def short_over_long(run: Observation, bursts: int) -> float:
    """Give what a sender of the third with the shortest round trips delivers over one of the last.

    Senders are numbered by their round trips, and flows by their senders.
    """
    sums = [_delivered(run, number_) for number_ in range(bursts)]
    short = sum(sum(one[:_THIRD]) for one in sums)
    return quotient(short, sum(sum(one[-_THIRD:]) for one in sums))


def _delivered(run: Observation, number_: int, last: float = BURST_S) -> list[float]:
    """Give the bytes of every sender in a burst; who delivered nothing has no row in the table."""
    end = number_ * PERIOD_S + BURST_S
    came = between(run["throughput"], end - last, end).group_by("flow").agg(pl.col("bytes").sum())
    found: dict[int, float] = dict(came.iter_rows())
    return [float(found.get(flow, 0)) for flow in run["flows"].sort("index")["flow"]]


def _of(run: Observation, group: str) -> pl.DataFrame:
    return run["flows"].filter(pl.col("group") == group).select("flow")


def _windows(run: Observation, begin: float, end: float) -> pl.DataFrame:
    return between(run["windows"], begin, end).sort("time_s")


def per_millisecond(run: Observation) -> pl.DataFrame:
    """Give the longest queue of each millisecond: x in ms, y in packets."""
    here = run["queue_samples"].filter(pl.col("port") == PORT)
    whole = ((pl.col("time_s") * 1e3 + 1e-6).floor()).alias("x")
    return here.group_by(whole).agg(pl.col("packets").max().cast(pl.Float64).alias("y")).sort("x")


def rates(run: Observation, kind: str) -> pl.DataFrame:
    """Give what both flows of figure 8 take over time: series, x in s, y in Mbit/s with headers."""
    scale = 8 * PACKET / PAYLOAD[kind] / 0.01 / 1e6
    names = {"cbr": "constant rate", "ftp": "bulk transfer"}
    named = run["flows"].select("flow", pl.col("group").replace(names).alias("series"))
    came = run["throughput"].join(named, on="flow", maintain_order="left")
    return came.select("series", x="time_s", y=pl.col("bytes") * scale)


def windows(run: Observation, ended: float) -> list[dict[str, float]]:
    """Give windows around the end of the other flow: x in ms from it, y in segments."""
    samples = run["windows"].sort("time_s").select("time_s", "cwnd_bytes").iter_rows()
    near = ((time, size) for time, size in samples if abs(time - ended) <= BURST_S)
    return [{"x": 1e3 * (time - ended), "y": size / MSS} for time, size in near]
