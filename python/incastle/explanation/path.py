"""The critical path of a transfer: what its time was spent with, without a gap and without overlap.

From the arrival of the last byte it goes backwards: that packet's path through the network, then
what had made its sender send it at that instant (an acknowledgement, a timer, the application, room
in the NIC), that packet's path, and so on until the transfer began. Every picosecond belongs to
exactly one part. What happened in parallel does not count: nothing waited for it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from incastle.explanation.departures import departure
from incastle.explanation.record import NEARLY, RECEIVER, SENDER, Event, Packet, Passage, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from incastle.explanation.departures import Departure
    from incastle.explanation.pauses import Pause

TIMEOUT, PROBE, REORDERING = ("timeout", "probe", "reordering")
QUEUE, SERIALISATION, PROPAGATION, STALL = ("queue", "serialisation", "propagation", "stall")
PACING, LIMITER, OWN, NIC = ("pacing", "limiter", "own", "nic")
PAUSED, REPETITION = ("paused", "repetition")
RESPONSE, APPLICATION = ("response", "application")

PARTS = {
    TIMEOUT: "waiting for retransmission timeouts",
    PROBE: "waiting for tail loss probes",
    REORDERING: "waiting for the reordering timer",
    PAUSED: "paused by PFC",
    QUEUE: "waiting in queues",
    SERIALISATION: "being sent on links",
    PROPAGATION: "travelling on links",
    STALL: "nothing more arrived until the run ended",
    PACING: "paced at its rate",
    REPETITION: "sending packets again",
    LIMITER: "held back by the NIC's rate limiter",
    OWN: "behind its own packets",
    NIC: "waiting in the NIC",
    RESPONSE: "waiting for the receiver to respond",
    APPLICATION: "nothing to send",
}
"""The kinds of parts of a critical path, in words."""
WAITS = {
    "timeout": TIMEOUT,
    "expired": TIMEOUT,
    "tail-loss-probe": PROBE,
    "reordering-timeout": REORDERING,
}
"""The events of timers, and the kinds of the waits for them."""


@dataclass(frozen=True)
class Piece:
    """A part of the path: from one instant to another, of one kind, at most at one port."""

    kind: str
    where: str
    begins: int
    ends: int
    packet: Packet | None = None
    timer: Event | None = None
    priority: int | None = None
    pause: Pause | None = None

    @property
    def span(self) -> int:
        """How long it lasts."""
        return self.ends - self.begins


@dataclass(frozen=True)
class Path:
    """All parts, from the first to the last."""

    pieces: tuple[Piece, ...]

    @property
    def span(self) -> int:
        """How long they last together: the time of the transfer."""
        return sum(one.span for one in self.pieces)

    def stalled(self, record: Record, since: int, until: int) -> Path:
        """Return the path of something incomplete: nothing more arrives at its end.

        The port of its oldest packet in flight may be paused at the end.
        """
        stop = record.oldest_in_flight(SENDER)
        where, priority = ("", None) if stop is None else stop
        parts = _parted(record, Piece(STALL, where, since, until, priority=priority))
        nowhere = (one if one.pause else replace(one, where="") for one in reversed(parts))
        return Path((*self.pieces, *nowhere))

    def by_kind(self) -> dict[str, int]:
        """Return the time of each kind, the longest first."""
        return _longest_first((one.kind, one.span) for one in self.pieces)

    def by_port(self, kind: str) -> dict[str, int]:
        """Return the time of one kind at each port, the longest first."""
        return _longest_first((one.where, one.span) for one in self.pieces if one.kind == kind)

    @property
    def timers(self) -> list[Event]:
        """The timeouts that it waited for."""
        return [one.timer for one in self.pieces if one.timer is not None]

    @property
    def paused(self) -> list[Piece]:
        """The parts in which the port of a packet was paused."""
        return [one for one in self.pieces if one.pause is not None]

    @property
    def flights(self) -> list[Packet]:
        """The packets with data of the sender that it waited for, one after the other."""
        flights: list[Packet] = []
        for one in self.pieces:
            packet = one.packet
            is_data = packet is not None and packet.sent.end == SENDER and packet.carries > 0
            if packet is not None and is_data and (not flights or flights[-1] is not packet):
                flights.append(packet)
        return flights


def _longest_first(spans: Iterator[tuple[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = defaultdict(int)
    for name, span in spans:
        sums[name] += span
    return dict(sorted(sums.items(), key=lambda pair: -pair[1]))


def critical_path(record: Record, begins: int, ends: int) -> Path:
    """Take the time between two instants apart; at the second, the receiver got the last byte."""
    pieces: list[Piece] = []
    walk = _Walk(record, ends).pieces()
    parts = (part for piece in walk for part in _parted(record, piece))
    for piece in (own for part in parts for own in _own(record, part)):
        if piece.begins <= begins:
            if piece.ends > begins:
                pieces.append(_clipped(piece, begins))
            break
        if piece.span:
            pieces.append(piece)
    first = pieces[-1].begins if pieces else ends
    if first > begins:
        pieces.append(Piece(APPLICATION, "", begins, first))
    return Path(tuple(reversed(pieces)))


def _clipped(piece: Piece, begins: int) -> Piece:
    return replace(piece, begins=begins)


def _parted(record: Record, piece: Piece) -> list[Piece]:
    """Take the times out of a wait at a port in which that was paused; the last part first."""
    if piece.kind not in (QUEUE, NIC, REPETITION, STALL):
        return [piece]
    parts, at = [], piece.begins
    pauses = record.pauses.within(piece.where, piece.priority, piece.begins, piece.ends)
    for begins, ends, pause in pauses:
        parts.append(replace(piece, begins=at, ends=begins))
        parts.append(replace(piece, kind=PAUSED, begins=begins, ends=ends, pause=pause))
        at = ends
    parts.append(replace(piece, begins=at))
    return [part for part in reversed(parts) if part.span]


def _own(record: Record, piece: Piece) -> list[Piece]:
    """Take the times out of a wait at a host in which its port sent packets of the same flow."""
    if piece.kind != NIC:
        return [piece]
    parts, at = [], piece.begins
    for begins, ends in record.busy(piece.where, piece.begins, piece.ends):
        parts.append(replace(piece, begins=at, ends=begins))
        parts.append(replace(piece, kind=OWN, begins=begins, ends=ends))
        at = ends
    parts.append(replace(piece, begins=at))
    return [part for part in reversed(parts) if part.span]


class _Walk:
    """The path of the ACK."""

    def __init__(self, record: Record, ends: int) -> None:
        self.record = record
        self.end = RECEIVER
        self.at = ends
        self.is_over = False  # nothing led to the last step
        self.own: Packet | None = None  # what the endpoint sent at this instant, if that leads here

    def pieces(self) -> Iterator[Piece]:
        """Yield the parts, the last one first, down to where nothing is recorded any more."""
        while True:
            cause = (
                self._pulled()
                or self._timer()
                or self._pacer()
                or self._arrival()
                or self._earlier_packet()
                or self._application()
            )
            if cause is None:
                return
            yield from cause
            if self.is_over:
                return

    def _pulled(self) -> list[Piece] | None:
        """Go on at what let the NIC pull this packet of a queue pair."""
        own = self.own
        if own is None or not own.is_pulled:
            return None
        why = departure(self.record, self.end, own)
        waits = _before_departure(own, why)
        self.at, self.own = why.begins, why.before
        if why.timer is not None:
            self.at -= self.record.waited(why.timer)
            waits.append(Piece(TIMEOUT, "", self.at, why.begins, timer=why.timer))
            self.own = self._sent_at(self.at)
        self.is_over = why.before is None and why.timer is None and not why.arrived
        return waits

    def _timer(self) -> list[Piece] | None:
        """Go on where the timer was started, if the endpoint acted because it had fired."""
        event = self.record.last_inside(self.end, self.at, tuple(WAITS))
        if event is None or event.at != self.at or self.own is None:
            return None
        waits_from = event.at - self.record.waited(event)
        if waits_from >= event.at:
            return None
        self.at, self.own = waits_from, self._sent_at(waits_from)
        kind = WAITS[event.event]
        timer = event if kind == TIMEOUT else None
        return [Piece(kind, "", waits_from, event.at, timer=timer)]

    def _sent_at(self, at: int) -> Packet | None:
        last = self.record.last_sending(self.end, at + 1)
        return last.packet if last is not None and last.at == at else None

    def _pacer(self) -> list[Piece] | None:
        """Go on at the segment before, if the pacer held this one longer than all else."""
        if self.own is None or not self.own.carries:
            return None
        before = self.record.last_data(self.end, self.at)
        until = self.record.paced_until(self.end, self.at)
        if before is None or until is None or self._line_was_busy(before):
            return None
        arrival = self.record.last_arrival(self.end, self.at)
        others = (-1 if arrival is None else arrival.at, self.record.available_at(self.own))
        if max(others) >= until:
            return None
        if self.at - until <= NEARLY:
            until = self.at
        port = before.packet.sent.port
        pieces = [Piece(NIC, port, until, self.at), Piece(PACING, port, before.at, until)]
        self.at, self.own = before
        return pieces

    def _arrival(self) -> list[Piece] | None:
        """Go on where the packet was sent that made the endpoint act, then or before."""
        arrival = self.record.last_arrival(self.end, self.at)
        if arrival is None or self._prefers_own(arrival.at):
            return None
        at, packet = arrival
        pieces = []
        if at < self.at:
            pieces.append(Piece(self._wait_kind(), "", at, self.at))
        pieces += reversed(list(flight(packet, at)))
        self.end, self.at, self.own = packet.sent.end, packet.sent.at, packet
        return pieces

    def _prefers_own(self, arrived: int) -> bool:
        """Whether the packet only waited for the one before it, or for what was written later."""
        if self.own is None or arrived == self.at:
            return False
        if self.record.available_at(self.own) > arrived:
            return True
        before = self._before()
        if before is None:
            return False
        return self._goes_by_rate() or self._line_was_busy(before)

    def _goes_by_rate(self) -> bool:
        return self.end == SENDER and self.record.is_paced

    def _before(self) -> Passage | None:
        """Return the packet that the endpoint sent before; of a paced sender one with data."""
        if self.own is None:
            return None
        if self._goes_by_rate() and self.own.carries:
            return self.record.last_data(self.end, self.at)
        return self.record.last_sending(self.end, self.at)

    def _line_was_busy(self, before: Passage) -> bool:
        return self.at - before.at <= before.packet.sent.serialisation + NEARLY

    def _wait_kind(self) -> str:
        if self.end == RECEIVER:
            return RESPONSE
        return PACING if self.record.is_paced else NIC

    def _earlier_packet(self) -> list[Piece] | None:
        """Go on at the packet before, if the endpoint sent one after the other."""
        before = self._before()
        if self.own is None or before is None or self.record.available_at(self.own) > before.at:
            return None
        if before.packet.released is not None:
            kind = LIMITER
        else:
            by_rate = self._goes_by_rate() and not self._line_was_busy(before)
            kind = PACING if by_rate else NIC
        port, priority = before.packet.sent.port, before.packet.sent.priority
        piece = Piece(kind, port, before.at, self.at, priority=priority)
        self.at, self.own = before
        return [piece]

    def _application(self) -> list[Piece] | None:
        """Go on before the application wrote, if nothing was to be sent until then."""
        before = self._before()
        if self.own is None or before is None:
            return None
        written = self.record.available_at(self.own)
        waits = PACING if self._goes_by_rate() else NIC
        pieces = [Piece(waits, "", written, self.at)] if written < self.at else []
        pieces.append(Piece(APPLICATION, "", before.at, written))
        self.at, self.own = before
        return pieces


def _before_departure(own: Packet, why: Departure) -> list[Piece]:
    """Return the waits of a packet that a NIC has pulled, the last one first."""
    at, port, priority = own.sent.at, own.sent.port, own.sent.priority
    if why.repeats:
        return [Piece(REPETITION, port, why.begins, at, priority=priority)]
    return [
        Piece(NIC, port, why.paced, at, priority=priority),
        Piece(PACING, port, why.begins, why.paced),
    ]


def flight(packet: Packet, received: int) -> Iterator[Piece]:
    """Split the path of a packet: waiting, serialisation and propagation at each port."""
    stops = [packet.sent, *packet.hops]
    arrivals = [*(hop.at for hop in packet.hops), received]
    for stop, arrives in zip(stops, arrivals, strict=True):
        at = stop.at
        if stop is packet.sent and packet.released is not None:
            yield Piece(LIMITER, "", at, packet.released, packet)
            at = packet.released
        propagates = max(at, arrives - stop.propagation)
        serialises = max(at, propagates - stop.serialisation)
        if serialises - at < NEARLY:
            serialises = at
        waits = NIC if stop is packet.sent else QUEUE
        yield Piece(waits, stop.port, at, serialises, packet, priority=packet.sent.priority)
        yield Piece(SERIALISATION, stop.port, serialises, propagates, packet)
        yield Piece(PROPAGATION, stop.port, propagates, arrives, packet)
