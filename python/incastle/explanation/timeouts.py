"""The chain of events behind each retransmission timeout.

The missing packet and its fate; the fate of everything else that was outstanding; the ACKs that
came back, and why they did not help; how long the timer waited; what it sent again, and whether
that arrived.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incastle.explanation import words
from incastle.explanation.record import PS_PER_S, RECEIVER, SENDER, other_end

if TYPE_CHECKING:
    from incastle.explanation.record import Event, Packet, Record

TIMERS = ("timeout", "ack-timeout", "expired")
DUP_THRESH = 3
"""Duplicate ACKs that begin a fast retransmit (RFC 5681)."""


@dataclass(frozen=True)
class Step:
    """Something that happened, in words."""

    at: int
    text: str

    def as_json(self) -> dict[str, object]:
        """Return it with its instant in seconds."""
        return {"time_s": self.at / PS_PER_S, "text": self.text}


@dataclass(frozen=True)
class Chain:
    """A timeout with its causes and consequences, in order of time."""

    timer: Event
    waited: int
    steps: tuple[Step, ...]

    def as_json(self) -> dict[str, object]:
        """Return it as plain values."""
        return {
            "time_s": self.timer.at / PS_PER_S,
            "end": self.timer.end,
            "kind": self.timer.cause or "expired",
            "waited_s": self.waited / PS_PER_S,
            "rto_s": self.timer.rto / PS_PER_S if self.timer.rto else None,
            "steps": [one.as_json() for one in self.steps],
        }


def chains(record: Record, begins: int, ends: int) -> list[Chain]:
    """Return the chain behind each timeout between two instants."""
    timers = [
        one
        for (_, name), events in record.inside.items()
        for one in events
        if name in TIMERS and begins <= one.at <= ends
    ]
    return [
        Chain(one, record.waited(one), _steps(record, one))
        for one in sorted(timers, key=lambda one: one.at)
    ]


def _steps(record: Record, timer: Event) -> tuple[Step, ...]:
    outstanding = _outstanding(record, timer)
    missing = _missing(timer, outstanding)
    steps: list[Step] = []
    if missing is not None:
        steps += _earlier_copies(record, timer, missing)
        steps += _fate(record, timer, missing)
    steps += _others(outstanding, missing)
    steps += _news(record, timer, outstanding, missing)
    steps.append(_fired(record, timer))
    steps += _repair(record, timer, missing)
    return tuple(sorted(steps, key=lambda step: step.at))


def _outstanding(record: Record, timer: Event) -> list[Packet]:
    """Return the last copy, before the timer fired, of each packet that was not acknowledged."""
    last: dict[int, Packet] = {}
    for _, packet in record.sendings[timer.end]:
        if packet.sent.at >= timer.at:
            break
        seq = packet.sent.seq
        if seq is None or not (packet.carries or packet.sent.kind in ("syn", "syn-ack", "fin")):
            continue
        if timer.seq is None or _overlaps(packet, timer):
            last[seq] = packet
    if timer.seq is not None:
        return list(last.values())
    if timer.event == "ack-timeout" and timer.end == RECEIVER:
        return _missing_responses(record, timer)
    arrived = {packet.sent.seq for _, packet in record.arrivals[other_end(timer.end)]}
    return [packet for seq, packet in last.items() if packet.dropped or seq not in arrived]


def _missing_responses(record: Record, timer: Event) -> list[Packet]:
    """Return the requests and responses of READs that were lost before the timer fired."""
    since = timer.at - timer.waited
    sent = [*record.sendings[RECEIVER], *record.sendings[SENDER]]
    return [
        one
        for _, one in sent
        if one.is_pulled and one.dropped is not None and since <= one.dropped.at <= timer.at
    ]


def _overlaps(packet: Packet, timer: Event) -> bool:
    if timer.bytes == 0:  # a SYN, which lies before the first byte
        return packet.sent.kind in ("syn", "syn-ack")
    first, seq = timer.seq or 0, packet.sent.seq or 0
    within = seq < first + (timer.bytes or 0) and seq + max(packet.carries, 1) > first
    return within and packet.sent.kind in ("data", "fin")


def _missing(timer: Event, outstanding: list[Packet]) -> Packet | None:
    """Return the packet that the sender missed first, sent for the last time."""
    if timer.seq is not None and timer.bytes:
        candidates = [one for one in outstanding if one.covers(timer.seq)]
    elif timer.seq is not None:
        candidates = outstanding
    else:
        candidates = [one for one in outstanding if one.dropped]
    return (
        max(candidates, key=lambda one: one.sent.at)
        if timer.seq is not None and candidates
        else (candidates[0] if candidates else None)
    )


def _earlier_copies(record: Record, timer: Event, missing: Packet) -> list[Step]:
    """Describe earlier transmissions of the same data that were lost."""
    same = [one for _, one in record.sendings[timer.end] if one.sent.seq == missing.sent.seq]
    return [
        Step(one.dropped.at, f"{words.packet(one)} {words.drop(one.dropped, one)}")
        for one in same
        if one.dropped is not None and one.sent.at < missing.sent.at and one.carries
    ]


def _fate(record: Record, timer: Event, missing: Packet) -> list[Step]:
    name = words.packet(missing)
    again = " (sent again)" if missing.repeated else ""
    if missing.dropped is not None and missing.dropped.at <= timer.at:
        return [Step(missing.dropped.at, f"{name}{again} {words.drop(missing.dropped, missing)}")]
    if missing.received is None or missing.received > timer.at:
        text = f"{name}{again} sent; it is still in flight when the timer fires"
        return [Step(missing.sent.at, text)]
    steps = [Step(missing.received, f"{name}{again} received")]
    lost = _lost_acks(record, timer, missing.received)
    if lost:
        steps += _dropped_together(lost, words.count(len(lost), "ACK"))
        return steps
    steps.append(
        Step(timer.at, "its ACK is still in flight: nothing was lost, the timer was early")
    )
    return steps


def _lost_acks(record: Record, timer: Event, since: int) -> list[Packet]:
    acks = record.sent_by(other_end(timer.end), since, timer.at)
    return [one for one in acks if one.dropped is not None and one.dropped.at <= timer.at]


def _others(outstanding: list[Packet], missing: Packet | None) -> list[Step]:
    lost = [one for one in outstanding if one is not missing and one.dropped is not None]
    if not lost:
        return []
    return _dropped_together(lost, f"{len(lost):,} more of the {len(outstanding):,} outstanding")


def _dropped_together(lost: list[Packet], what: str) -> list[Step]:
    """One step for all drops at one port."""
    drops = [(one.dropped, one) for one in lost if one.dropped is not None]
    ports = Counter(event.port for event, _ in drops)
    steps = []
    for port, number in ports.items():
        first, packet = next(one for one in drops if one[0].port == port)
        text = what if len(ports) == 1 else f"{number:,} of {what}"
        steps.append(Step(first.at, f"{text} {words.drop(first, packet)}"))
    return steps


def _news(
    record: Record, timer: Event, outstanding: list[Packet], missing: Packet | None
) -> list[Step]:
    """Why only the timer helped."""
    beyond = len([one for one in outstanding if one is not missing])
    duplicates = timer.count or 0
    since = timer.at - timer.waited
    last = record.last_inside(timer.end, timer.at, ("duplicate-ack",))
    at = last.at if last is not None and last.at >= since else timer.at
    came = words.count(duplicates, "duplicate ACK") if duplicates else "no duplicate ACK"
    few = f"{came}, too few for fast retransmit ({DUP_THRESH})" if duplicates else came
    texts = {
        "last-packet": f"{few}: {words.count(beyond, 'packet')} beyond it, and no more to send"
        if beyond
        else "nothing beyond it that duplicate ACKs could answer",
        "full-window": f"no duplicate ACK: none of {len(outstanding):,} outstanding reported",
        "few-duplicates": few
        if duplicates < DUP_THRESH
        else f"{came}, which were not taken for a loss",
        "lost-retransmission": f"{came}: none shows that the retransmission is lost",
    }
    text = texts.get(timer.cause)
    return [] if text is None else [Step(at, text)]


def _fired(record: Record, timer: Event) -> Step:
    waited = words.span(record.waited(timer))
    if timer.event == "expired":
        return Step(timer.at, f"EXP expired, {waited} after the last data were sent")
    if timer.event == "ack-timeout":
        return Step(timer.at, f"no acknowledgement for {waited}: the retransmission timer expired")
    rto = words.span(timer.rto)
    since = "" if waited == rto else f", {waited} after the last progress"
    return Step(timer.at, f"RTO of {rto} expired{since}: retransmission timeout")


def _repair(record: Record, timer: Event, missing: Packet | None) -> list[Step]:
    """Describe the retransmissions of the timer, and their fate."""
    if missing is None or missing.sent.seq is None:
        return []
    sendings = (packet for at, packet in record.sendings[timer.end] if at >= timer.at)
    again = next((one for one in sendings if one.sent.seq == missing.sent.seq), None)
    if again is None:
        return []
    name = f"sent again as packet {again.number}"
    if again.dropped is not None:
        return [Step(again.dropped.at, f"{name}, {words.drop(again.dropped, again)}")]
    if again.received is not None:
        took = words.span(again.received - again.sent.at)
        return [Step(again.received, f"{name}, received after {took}")]
    return [Step(again.sent.at, name)]
