"""The record of one flow: its packets, each with its path, and the events at its endpoints.

Instants are whole picoseconds here, as in the engine: they are compared, and sums have to be exact.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

    from incastle.explanation.pauses import Pauses

PS_PER_S = 1e12
NEARLY = 1_000
"""Picoseconds by which a carried remainder, or one that is rounded off, may move a packet."""
SENDER, RECEIVER = "sender", "receiver"
OF_PACKETS = frozenset({"sent", "resent", "released", "queued", "marked", "dropped", "received"})
NUMBERS = ("packet", "seq", "bytes", "ack", "count", "queue_packets", "queue_bytes", "priority")
LIMITS = ("limit_packets", "limit_bytes", "cwnd_bytes", "ssthresh_bytes")
PULLED = frozenset({"write", "send", "read-request", "read-response"})
"""Packets of a queue pair that its NIC pulls: they leave as soon as they are made."""
SPANS = ("serialisation_s", "propagation_s", "waited_s", "rto_s")


def other_end(end: str) -> str:
    """Return the other endpoint."""
    return RECEIVER if end == SENDER else SENDER


@dataclass(frozen=True)
class Event:
    """One row of the table `events`; None where there is no value.

    Spans are in picoseconds, as `at`.
    """

    at: int
    end: str
    event: str
    kind: str
    port: str
    cause: str
    packet: int | None
    seq: int | None
    bytes: int | None
    ack: int | None
    count: int | None
    queue_packets: int | None
    queue_bytes: int | None
    limit_packets: int | None
    limit_bytes: int | None
    cwnd_bytes: int | None
    ssthresh_bytes: int | None
    serialisation: int
    propagation: int
    waited: int
    rto: int
    rate_bit_s: float | None
    priority: int | None
    paced_until: int | None


@dataclass
class Packet:
    """A packet that an endpoint has sent, and its fate.

    `needs` is how many bytes the application must have written before it can leave.
    """

    sent: Event
    released: int | None = None
    hops: list[Event] = field(default_factory=list)
    received: int | None = None
    dropped: Event | None = None
    needs: int = 0

    @property
    def number(self) -> int:
        """Its number among those of its endpoint."""
        return _number(self.sent)

    @property
    def repeated(self) -> bool:
        """Whether it repeats something that was sent before."""
        return self.sent.event == "resent"

    @property
    def carries(self) -> int:
        """Application bytes."""
        return self.sent.bytes or 0

    @property
    def is_numbered(self) -> bool:
        """Whether `seq` counts packets (UDT, datagrams), not bytes: TCP's data carry an ACK."""
        return self.carries > 0 and self.sent.ack is None

    @property
    def is_pulled(self) -> bool:
        """Whether the NIC has pulled it from a queue pair."""
        return self.sent.kind in PULLED

    def covers(self, seq: int) -> bool:
        """Return whether a sequence number is in it."""
        first = self.sent.seq
        if first is None or self.sent.kind not in ("data", "fin", "datagram"):
            return False
        return first <= seq < first + max(self.carries, 1)


class Passage(NamedTuple):
    """A packet and the instant at which it was sent or received."""

    at: int
    packet: Packet


class Record:
    """The recorded events of one flow."""

    def __init__(self, frame: pl.DataFrame, pauses: Pauses) -> None:
        self.pauses = pauses
        self.events = [_event(row) for row in frame.iter_rows(named=True)]
        self.packets: dict[tuple[str, int], Packet] = {}
        self.arrivals: dict[str, list[Passage]] = {SENDER: [], RECEIVER: []}
        self.sendings: dict[str, list[Passage]] = {SENDER: [], RECEIVER: []}
        self.inside: dict[tuple[str, str], list[Event]] = defaultdict(list)
        self._new = {SENDER: 0, RECEIVER: 0}
        self._busy: dict[str, list[tuple[int, int]]] = {}
        for event in self.events:
            if event.event in OF_PACKETS:
                self._enter(event)
            elif event.event != "full":
                self.inside[event.end, event.event].append(event)

    def _enter(self, event: Event) -> None:
        key = (event.end, _number(event))
        if event.event in ("sent", "resent"):
            packet = self.packets[key] = Packet(event)
            if packet.carries and not packet.repeated:
                self._new[event.end] += packet.carries
                packet.needs = self._new[event.end]
            self.sendings[event.end].append(Passage(event.at, packet))
            return
        packet = self.packets[key]
        if event.event == "released":
            packet.released = event.at
        elif event.event == "received":
            packet.received = event.at
            self.arrivals[other_end(event.end)].append(Passage(event.at, packet))
        elif event.event == "dropped":
            packet.dropped = event
        else:
            packet.hops.append(event)

    @property
    def full_at(self) -> int | None:
        """When the record had no more room, if that happened."""
        last = self.events[-1] if self.events else None
        return last.at if last is not None and last.event == "full" else None

    @property
    def is_paced(self) -> bool:
        """Whether a rate or the application alone controls the sender: UDT and datagrams."""
        data = (one for _, one in self.sendings[SENDER] if one.carries)
        first = next(data, None)
        return first is not None and first.is_numbered

    def paced_until(self, end: str, at: int) -> int | None:
        """Return until when the pacer held what an endpoint sent at an instant, if it did.

        At a rate each segment of TCP waits until the payload of the one before it has had its time.
        """
        before = self.last_data(end, at)
        rate = before and before.packet.sent.rate_bit_s
        if before is None or not rate:
            return None
        until = before.at + int(before.packet.carries * 8 * PS_PER_S / rate)
        return until if until <= at + NEARLY else None

    def last_data(self, end: str, before: int) -> Passage | None:
        """Return the last packet with data that an endpoint sent before an instant."""
        last = self.last_sending(end, before)
        while last is not None and not last.packet.carries:
            last = self.last_sending(end, last.at)
        return last

    def waited(self, timer: Event) -> int:
        """Return how long an endpoint waited for its timer.

        EXP begins when data were last sent, the reordering timer with the last ACK, and that of
        tail loss probes with the later of both.
        """
        if timer.event in ("timeout", "ack-timeout"):
            return timer.waited
        sent = self.last_data(timer.end, timer.at)
        arrived = self.last_arrival(timer.end, timer.at)
        starts = {
            "expired": [sent],
            "tail-loss-probe": [sent, arrived],
            "reordering-timeout": [arrived],
        }
        began = max((one.at for one in starts[timer.event] if one is not None), default=timer.at)
        return timer.at - began

    def last_arrival(self, end: str, at: int) -> Passage | None:
        """Return the last packet that reached an endpoint until an instant, inclusive."""
        return _last(self.arrivals[end], at)

    def last_sending(self, end: str, before: int) -> Passage | None:
        """Return the last packet that an endpoint sent before an instant."""
        return _last(self.sendings[end], before - 1)

    def last_pulled(self, end: str, before: int) -> Passage | None:
        """Return the last packet that a NIC pulled from an endpoint before an instant."""
        last = self.last_sending(end, before)
        while last is not None and not last.packet.is_pulled:
            last = self.last_sending(end, last.at)
        return last

    def oldest_in_flight(self, end: str) -> tuple[str, int | None] | None:
        """Return the port and priority where the oldest packet in flight of an endpoint waits."""
        for _, packet in self.sendings[end]:
            if packet.received is None and packet.dropped is None:
                return (packet.hops or [packet.sent])[-1].port, packet.sent.priority
        return None

    def busy(self, port: str, begins: int, ends: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of an interval in which a host's port sent packets of this flow.

        Gaps that a carried remainder explains are none.
        """
        if port not in self._busy:
            self._busy[port] = _merged(one for one in map(_on_first_link, self._from(port)) if one)
        spans = self._busy[port]
        first = bisect_right(spans, begins, key=lambda one: one[1])
        for start, end in spans[first:]:
            if start >= ends:
                return
            low = begins if start - begins <= NEARLY else start
            high = ends if ends - end <= NEARLY else end
            yield low, high

    def _from(self, port: str) -> Iterator[Packet]:
        return (one for one in self.packets.values() if one.sent.port == port)

    def arrived_at(self, end: str, at: int) -> bool:
        """Return whether a packet reached an endpoint at this very instant."""
        last = self.last_arrival(end, at)
        return last is not None and last.at == at

    def last_inside(self, end: str, at: int, events: tuple[str, ...]) -> Event | None:
        """Return the last of some events inside an endpoint until an instant."""
        last = None
        for name in events:
            named = self.inside[end, name]
            place = bisect_right(named, at, key=lambda one: one.at)
            if place and (last is None or named[place - 1].at > last.at):
                last = named[place - 1]
        return last

    def available_at(self, packet: Packet) -> int:
        """Return when the application had written what is in a packet; -1 if nothing is needed."""
        written = self.inside[packet.sent.end, "written"]
        place = bisect_left(written, packet.needs, key=lambda one: one.count or 0)
        return written[place].at if packet.needs and place < len(written) else -1

    def sent_by(self, end: str, first: int, last: int) -> list[Packet]:
        """Return the packets that an endpoint sent between two instants, inclusive."""
        sendings = self.sendings[end]
        low = bisect_left(sendings, first, key=lambda one: one.at)
        high = bisect_right(sendings, last, key=lambda one: one.at)
        return [packet for _, packet in sendings[low:high]]

    def delivered_at(self, first: int, last: int) -> int | None:
        """Return when the receiver's application last got something between two instants."""
        event = self.last_inside(RECEIVER, last, ("delivered",))
        return event.at if event is not None and event.at > first else None


def _number(event: Event) -> int:
    """Return the number of an event's packet; the table gives each one."""
    return -1 if event.packet is None else event.packet


def _on_first_link(packet: Packet) -> tuple[int, int] | None:
    """Return when the port of its host sent a packet; None where the record does not show it."""
    sent = packet.sent
    if packet.is_pulled:
        return sent.at, sent.at + sent.serialisation
    arrived = packet.hops[0].at if packet.hops else packet.received
    if arrived is None:
        return None
    end = arrived - sent.propagation
    return end - sent.serialisation, end


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans in order, those that follow each other at once as one."""
    merged: list[tuple[int, int]] = []
    for begins, ends in sorted(spans):
        if merged and begins - merged[-1][1] <= NEARLY:
            merged[-1] = merged[-1][0], max(ends, merged[-1][1])
        else:
            merged.append((begins, ends))
    return merged


def _last(pairs: list[Passage], at: int) -> Passage | None:
    place = bisect_right(pairs, at, key=lambda one: one.at)
    return pairs[place - 1] if place else None


def picoseconds(seconds: float) -> int:
    """Return an instant or span that the table has in seconds; exact up to some thousands."""
    return round(seconds * PS_PER_S)


def _event(row: dict[str, Any]) -> Event:
    def number(name: str) -> int | None:
        value = row.get(name)  # earlier versions had fewer columns
        return None if value is None else int(value)

    def span(name: str) -> int:
        value = row[name]
        return 0 if value is None else picoseconds(value)

    fields = {name: number(name) for name in (*NUMBERS, *LIMITS)}
    spans = {name.removesuffix("_s"): span(name) for name in SPANS}
    words = {name: str(row[name]) for name in ("end", "event", "kind", "port", "cause")}
    values: dict[str, Any] = {**words, **fields, **spans}
    paced_s = row.get("paced_until_s")
    values["paced_until"] = None if paced_s is None else picoseconds(paced_s)
    return Event(at=span("time_s"), rate_bit_s=row["rate_bit_s"], **values)
