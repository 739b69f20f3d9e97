"""The other queue pairs of a NIC that sent while packets of a flow waited for their turn.

A NIC pulls packets from its queue pairs by round robin (docs/models/rdma.md). The record of a flow
has the packets of other queue pairs of its host, where a run was made for it: of those that lived
at the same time, as long as they have no more than `MAX_BYTES` together, the longest overlap first.
Leaves out: ACKs and other packets that the NIC makes itself, and senders that are no queue pairs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from incastle.explanation import words
from incastle.explanation.path import NIC
from incastle.explanation.record import PS_PER_S, PULLED
from incastle.explanation.timeouts import Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from incastle.explanation.path import Path, Piece
    from incastle.results import Result

MAX_BYTES = 100_000_000
"""Data of other queue pairs in a record."""
MAX_NAMES = 4
"""Queue pairs that a line names."""

Sendings = dict[str, list[tuple[int, int, int]]]
"""By port of a host: begin and end of each packet of a queue pair in picoseconds, and its flow."""


@dataclass(frozen=True)
class Other:
    """A queue pair that sent meanwhile.

    Attributes:
        flow: its number.
        name: GROUP:INDEX.
        packets: those that were sent in the wait, at least in part.
        sent: how long the port was sending them in the wait, in picoseconds.

    """

    flow: int
    name: str
    packets: int
    sent: int

    @property
    def text(self) -> str:
        """Name it and its packets."""
        return f"{words.count(self.packets, 'packet')} of {self.name}"


@dataclass(frozen=True)
class NicWait:
    """The wait at the port of a host, on the critical path.

    Attributes:
        port: the port.
        begins: when the first part of it began, in picoseconds.
        waited: all of it, in picoseconds.
        others: the queue pairs that sent meanwhile, those that sent longest first.

    """

    port: str
    begins: int
    waited: int
    others: tuple[Other, ...]

    @property
    def text(self) -> str:
        """Name the wait and the queue pairs."""
        waited = f"waited {words.span(self.waited)} for its turn at {self.port}, which sent"
        if len(self.others) <= MAX_NAMES:
            return f"{waited} " + ", ".join(one.text for one in self.others)
        packets = words.count(sum(one.packets for one in self.others), "packet")
        most = ", ".join(one.name for one in self.others[:MAX_NAMES])
        return f"{waited} {packets} of {len(self.others):,} other queue pairs, most of {most}"

    def as_json(self) -> dict[str, object]:
        """Return it as plain values."""
        return {
            "port": self.port,
            "began_s": self.begins / PS_PER_S,
            "waited_s": self.waited / PS_PER_S,
            "queue_pairs": [
                {
                    "flow": one.flow,
                    "name": one.name,
                    "packets": one.packets,
                    "sent_s": one.sent / PS_PER_S,
                }
                for one in self.others
            ],
        }


def neighbours(result: Result, flows: Sequence[int]) -> list[int]:
    """Return the other queue pairs of the hosts of some flows that a record is to have, too."""
    if "queue_pairs" not in result.tables:
        return []
    pairs = result.flows.join(result.table("queue_pairs").select("flow"), on="flow", how="semi")
    end = pl.col("completed_s").fill_null(result.totals["simulated_s"])
    own = pairs.filter(pl.col("flow").is_in(list(flows))).select("from", "started_s", end)
    near = (
        pairs.select("flow", "from", "started_s", end, "delivered_bytes")
        .filter(~pl.col("flow").is_in(list(flows)))
        .join(own, on="from", suffix="_own")
        .with_columns(
            overlap=pl.min_horizontal("completed_s", "completed_s_own")
            - pl.max_horizontal("started_s", "started_s_own")
        )
        .filter(pl.col("overlap") > 0)
        .group_by("flow")
        .agg(pl.col("overlap").max(), pl.col("delivered_bytes").first())
        .sort("overlap", "flow", descending=[True, False])
    )
    return near.filter(pl.col("delivered_bytes").cum_sum() <= MAX_BYTES)["flow"].to_list()


def sendings(events: pl.DataFrame | None, flows: Iterable[int]) -> Sendings:
    """Return the packets of some queue pairs at the ports of their hosts, in order."""
    if events is None:
        return {}
    is_sent = pl.col("event").is_in(["sent", "resent"]) & pl.col("kind").is_in(list(PULLED))
    begins = (pl.col("time_s") * PS_PER_S).round().cast(pl.Int64)
    span = (pl.col("serialisation_s") * PS_PER_S).round().cast(pl.Int64)
    rows = events.filter(is_sent & pl.col("flow").is_in(list(flows))).select(
        "port", begins.alias("begins"), (begins + span).alias("ends"), "flow"
    )
    found: Sendings = defaultdict(list)
    for port, *packet in rows.sort("begins").iter_rows():
        found[port].append(tuple(packet))
    return found


def nic_waits(path: Path, packets: Sendings, own: int, names: Mapping[int, str]) -> list[NicWait]:
    """Return the waits of a flow for its turn at a NIC, the longest first.

    Args:
        path: its critical path.
        packets: those of the queue pairs of its host.
        own: the flow.
        names: the names of the others.

    """
    pieces: dict[str, list[Piece]] = defaultdict(list)
    for one in path.pieces:
        if one.kind == NIC and one.where in packets:
            pieces[one.where].append(one)
    waits = (_wait(port, some, packets[port], own, names) for port, some in pieces.items())
    return sorted((one for one in waits if one.others), key=lambda one: -one.waited)


def steps_of(waits: Iterable[NicWait]) -> list[Step]:
    """Return the waits as steps of the story, where the first part of each began."""
    return [Step(one.begins, one.text) for one in waits]


def _wait(
    port: str,
    pieces: Sequence[Piece],
    packets: Sequence[tuple[int, int, int]],
    own: int,
    names: Mapping[int, str],
) -> NicWait:
    counts: dict[int, int] = defaultdict(int)
    sent: dict[int, int] = defaultdict(int)
    for piece in pieces:
        place = bisect_right(packets, piece.begins, key=lambda one: one[1])
        while place < len(packets) and packets[place][0] < piece.ends:
            begins, ends, flow = packets[place]
            if flow != own:
                counts[flow] += 1
                sent[flow] += min(ends, piece.ends) - max(begins, piece.begins)
            place += 1
    longest = sorted(counts, key=lambda flow: (-sent[flow], flow))
    return NicWait(
        port=port,
        begins=pieces[0].begins,
        waited=sum(one.span for one in pieces),
        others=tuple(Other(flow, names[flow], counts[flow], sent[flow]) for flow in longest),
    )
