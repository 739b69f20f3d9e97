"""The record of flows as parts of a Perfetto trace: events of endpoints, drops, packets on links.

An arrow leads a packet from its sender through the ports that send it to its end. Another one leads
from a drop to the timeout that answers it and to the packet that repairs it, where these name the
same first byte.

Leaves out: random delays of links, by which a packet seems to be sent later than it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from incastle.explanation.record import RECEIVER, SENDER
from incastle.report.tracks import nanoseconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from incastle.report.places import Places

OF_ACCEPTED = ("queued", "marked")
HOPS = ("sent", "resent", *OF_ACCEPTED, "dropped", "received")
"""Events at which a packet reaches a port or its host."""
TOTALS = ("written", "delivered")
PACKET = ("flow", "end", "packet")
SEGMENT = ("flow", "end", "seq")
DETAILS = (
    *("packet", "seq", "bytes", "ack", "count", "cause"),
    *("queue_packets", "queue_bytes", "limit_packets", "limit_bytes"),
    *("cwnd_bytes", "ssthresh_bytes", "rate_bit_s", "waited_s", "rto_s"),
)
"""Columns of the table `events` that are details of an instant."""


def write(places: Places, events: pl.DataFrame) -> None:
    """Write the record of some flows."""
    joined = _with_arrows(events)
    for row in joined.iter_rows(named=True):
        _instant(places, row)
    _transmissions(places, joined)


def _with_arrows(events: pl.DataFrame) -> pl.DataFrame:
    """Add the numbers of arrows: of each packet, and of each segment that was dropped."""
    packet = pl.when(pl.col("packet").is_not_null()).then(
        2 * pl.struct(PACKET).rank("dense").cast(pl.Int64)
    )
    is_loss = (pl.col("event") == "dropped") & (pl.col("bytes") > 0)
    lost = events.filter(is_loss).group_by(SEGMENT, maintain_order=True)
    first = lost.agg(pl.col("time_s").min().alias("lost_s")).with_row_index("segment", 1)
    follows = pl.col("event").is_in(["dropped", "resent", "timeout"])
    follows &= pl.col("time_s") >= pl.col("lost_s")
    return (
        events.with_columns(packet_arrow=packet)
        .join(first, on=SEGMENT, how="left", maintain_order="left")
        .with_columns(loss_arrow=pl.when(follows).then(2 * pl.col("segment").cast(pl.Int64) + 1))
    )


def _instant(places: Places, row: Mapping[str, Any]) -> None:
    """Write one event: a drop at its port, any other at the endpoint that it happens to."""
    event, flow, at = row["event"], row["flow"], nanoseconds(row["time_s"])
    arrows = [row[name] for name in ("packet_arrow", "loss_arrow") if row[name] is not None]
    if event in TOTALS:
        track = places.counter("flow", flow, f"{event} (bytes)")
        places.tracks.count(track, at, row["count"])
        return
    if event == "queued":
        return
    name = f"{event} {row['kind']}" if row["kind"] else event
    if event in {"dropped", "marked"}:
        track, name = places.track("port", row["port"]), f"{name} of {places.name(flow)}"
    else:
        ends = {SENDER: RECEIVER, RECEIVER: SENDER}
        track = places.track("flow", flow, ends[row["end"]] if event == "received" else row["end"])
    places.tracks.instant(track, at, name, details_of(row, DETAILS), arrows)


def _transmissions(places: Places, events: pl.DataFrame) -> None:
    """Write a slice for each packet while a port sends it: the port sends one at a time."""
    ahead = [pl.col(name).shift(-1).over(PACKET) for name in ("event", "port", "time_s")]
    hops = events.filter(pl.col("event").is_in(HOPS)).with_columns(
        ahead[0].alias("next_event"), ahead[1].alias("next_port"), ahead[2].alias("next_s")
    )
    ends = pl.col("next_s") - pl.col("propagation_s")
    sent = (
        hops.filter(
            pl.col("propagation_s").is_not_null()
            & pl.col("next_s").is_not_null()
            & ~((pl.col("next_event") == "dropped") & (pl.col("next_port") == pl.col("port")))
        )
        .with_columns(ends_s=ends, begins_s=ends - pl.col("serialisation_s"))
        .sort("port", "begins_s", maintain_order=True)
    )
    free: dict[str, int] = {}
    for row in sent.iter_rows(named=True):
        port = row["port"]
        # Rounding, and what this module leaves out, must not make slices overlap.
        begins = max(nanoseconds(row["begins_s"]), free.get(port, 0))
        free[port] = ends_at = max(begins, nanoseconds(row["ends_s"]))
        places.tracks.slice(
            places.track("port", port),
            (begins, ends_at),
            f"{places.name(row['flow'])} {row['kind']}",
            details_of(row, ("packet", "seq", "bytes")),
            [row["packet_arrow"]],
        )


def details_of(row: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Return the values that a row has, whole numbers as such."""
    found = {name: row[name] for name in columns if row.get(name) not in (None, "")}
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in found.items()
    }
