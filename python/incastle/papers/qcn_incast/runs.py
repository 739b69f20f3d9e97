"""What is read from one run of qcn-incast, and from the runs of one experiment."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import polars as pl

from .points import SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from incastle.ends import Value
    from incastle.reproduction.papers import Observation, Observations

    from .points import Line

PORT = "switch->receiver"
LINK = 1000.0
"""Mbit/s."""
COLLAPSE = LINK / 2
UDP = 400.0
REST = LINK - UDP
"""What UDP leaves of the link, in Mbit/s."""
RUN = 20.0
"""The paper's runs, in seconds: timeouts and notifications are counted per so many."""
_STORAGE, _BACKGROUND = "storage", "background"

Number = TypeVar("Number", float, "Value")
Values: TypeAlias = list[float]
Statistic: TypeAlias = "Callable[[Observation], float]"


def each(runs: Observations, name: str, what: Callable[[Observation], Number]) -> list[Number]:
    """Give a number for each run of an experiment; not a number where this length has none."""
    if name in runs.runs:
        return [what(run) for run in runs[name]]
    return [math.nan] * seeds_of(runs, name)


def seeds_of(runs: Observations, name: str) -> int:
    """Give how many seeds an experiment would have: as many as others of its kind."""
    kind = name.rpartition("/")[0]
    for known, found in runs.runs.items():
        if known.startswith(f"{kind}/"):
            return len(found)
    return 1


def curve(runs: Observations, line: Line, what: Statistic | None = None) -> dict[int, Values]:
    """Give a number for each n and seed: the goodput unless told."""
    return {n: each(runs, line.at(n), what or goodput) for n in SERVERS}


def _of_group(run: Observation, group: str) -> float:
    flows = run["flows"].filter(pl.col("group") == group)
    return float(flows["goodput_bit_s"].sum()) / 1e6


def goodput(run: Observation) -> float:
    """Give the goodput of the requests in Mbit/s."""
    return _of_group(run, _STORAGE)


def udp_goodput(run: Observation) -> float:
    """Give what UDP delivers, in Mbit/s."""
    return _of_group(run, _BACKGROUND)


def flows_mean(run: Observation) -> float:
    """Give what requests and UDP deliver together, in Mbit/s."""
    return goodput(run) + udp_goodput(run)


def _link(run: Observation, port: str, column: str) -> float:
    return float(run["links"].filter(pl.col("port") == port)[column].item())


def queue_kilobytes(run: Observation) -> float:
    """Give the time-weighted mean queue at the port to the client, in KB.

    It is counted in packets. Nearly all are full; the mean size is that of what the port sent.
    """
    sent = _link(run, PORT, "packets")
    size = _link(run, PORT, "bytes") / sent / 1e3 if sent else 0.0
    return _link(run, PORT, "mean_queue_packets") * size


def seconds(run: Observation) -> float:
    """Give how long the run lasted."""
    return float(run["summary"]["simulated_s"].item())


def notifications(run: Observation) -> float:
    """Give the notifications (CNMs) that the port to the client sent, in 20 s."""
    return _link(run, PORT, "cnms") * RUN / seconds(run)


def timeouts_per_flow(run: Observation) -> float:
    """Give the timeouts of a server's flow in 20 s, in the mean."""
    flows = run["flows"].filter(pl.col("group") == _STORAGE)
    return float(flows["timeouts"].sum()) / len(flows) * RUN / seconds(run)


def datagrams_refused(run: Observation) -> float:
    """Give the share of UDP's datagrams that its host's buffer refused, in per cent."""
    flows = run["flows"].filter(pl.col("group") == _BACKGROUND)
    refused = float(flows["send_buffer_drops"].sum())
    return 100 * refused / (refused + float(flows["packets"].sum()))


# ---- the timeouts of a run, one by one

UNDER_WAY = "spurious"
_STARTED_BY = 0.003  # s: by then a round's first windows and what they lost are over


def kinds() -> pl.Expr:
    """Name a timeout's kind: what happened to the oldest segment that was not acknowledged.

    `port` says where its last transmission was dropped. Where it was not, that transmission, or its
    acknowledgement, was still under way: spurious, whatever the form.
    """
    kept = pl.col("port") == ""
    return pl.when(kept).then(pl.lit(UNDER_WAY)).otherwise(pl.col("kind"))


def share_of_kind(kind: str) -> Statistic:
    """Give the share of a run's timeouts that are of a kind, in per cent."""

    def share(run: Observation) -> float:
        found = run["timeouts"]
        return 100 * len(found.filter(kinds() == kind)) / len(found) if len(found) else math.nan

    return share


def early_waits(run: Observation) -> float:
    """Give the share of timeouts whose wait began in a round's first 3 ms, in per cent."""
    rounds = run["rounds"].select(pl.col("round").cast(pl.Float64), "started_s")
    waits = run["timeouts"].with_columns(pl.col("round").cast(pl.Float64))
    begun = waits.join(rounds, on="round")
    since = begun["time_s"] - begun["waited_s"] - begun["started_s"]
    return 100 * int((since <= _STARTED_BY).sum()) / len(begun) if len(begun) else math.nan


# ---- section IX

_HOT = ("switch->receiver", "second->hot")


def baseline_throughput(run: Observation) -> float:
    """Give what all sources deliver, in Gbit/s."""
    return float(run["flows"]["delivered_bytes"].sum()) * 8 / seconds(run) / 1e9


def baseline_queue(run: Observation) -> float:
    """Give the time-weighted mean queue at the hotspot, in packets."""
    hot = run["links"].filter(pl.col("port").is_in(_HOT))
    return float(hot["mean_queue_packets"].item())


def baseline_drops(run: Observation) -> float:
    """Give the share of packets that were dropped, in per cent."""
    flows = run["flows"]
    return 100 * float(flows["drops"].sum()) / float(flows["packets"].sum())
