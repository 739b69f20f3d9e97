"""Everything that happened to a flow within an interval, in order and in words.

What comes often (marks, drops, duplicate ACKs, cuts) is one line, at its first instant, for each
stretch between two turning points: a fast retransmit, a probe, a timer, the end of a recovery, a
change of mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from incastle.explanation import words
from incastle.explanation.record import SENDER
from incastle.explanation.timeouts import Step
from incastle.units import si

if TYPE_CHECKING:
    from collections.abc import Callable

    from incastle.explanation.record import Event, Packet, Record

MAX_NUMBERS = 4
"""Ranges of packet numbers that are named one by one."""


def story(record: Record, begins: int, ends: int) -> list[Step]:
    """Describe the events between two instants."""
    steps = _beginning(record, begins, ends)
    groups: dict[tuple[str, str, str], list[Event]] = {}
    for event in record.events:
        if not begins <= event.at <= ends:
            continue
        if event.event in GROUPED:
            groups.setdefault((event.event, event.end, event.port), []).append(event)
        elif event.event in TURNS:
            steps += _told(record, groups)
            steps.append(_step(event, TURNS[event.event](record, event)))
    return steps + _told(record, groups)


def _beginning(record: Record, begins: int, ends: int) -> list[Step]:
    sent = record.sent_by(SENDER, begins, ends)
    first = next((one for one in sent if one.carries), None)
    if first is None:
        return []
    window = first.sent.cwnd_bytes
    with_window = "" if window is None else f", the window is {window:,} B"
    return [Step(first.sent.at, f"{words.packet(first)} is the first with data{with_window}")]


def _told(record: Record, groups: dict[tuple[str, str, str], list[Event]]) -> list[Step]:
    """Yield the gathered events by their first instants, and clear them."""
    steps = [
        _step(events[0], GROUPED[name](record, events)) for (name, _, _), events in groups.items()
    ]
    groups.clear()
    return sorted(steps, key=lambda step: step.at)


def _step(event: Event, text: str) -> Step:
    """Describe the endpoint of an event, unless it is the sender of the data."""
    elsewhere = event.end != SENDER and event.event in OF_ENDS
    return Step(event.at, f"at the receiver: {text}" if elsewhere else text)


def _dropped(record: Record, events: list[Event]) -> str:
    packet = record.packets[events[0].end, events[0].packet or 0]
    if len(events) == 1:
        again = " (sent again)" if packet.repeated else ""
        return f"{words.packet(packet)}{again} {words.drop(events[0], packet)}"
    return f"{_packets(events)} {words.drop(events[0], packet)} (the first)"


def _marked(_: Record, events: list[Event]) -> str:
    return f"{_packets(events)} marked at {events[0].port}{_until(events)}"


def _packets(events: list[Event]) -> str:
    numbers = sorted(one.packet for one in events if one.packet is not None)
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    of_sender = events[0].end == SENDER
    whose = "" if of_sender else "receiver's "
    the = "" if of_sender else "the "
    if len(ranges) > MAX_NUMBERS:
        return f"{len(numbers):,} of the {whose}packets {numbers[0]} to {numbers[-1]}"
    texts = [str(a) if a == b else f"{a} to {b}" for a, b in ranges]
    joined = ", ".join(texts)
    return f"{the}{whose}packet{'' if len(numbers) == 1 else 's'} {joined}"


def _until(events: list[Event]) -> str:
    return "" if len(events) == 1 else f", from here until {words.instant(events[-1].at)}"


def _duplicates(_: Record, events: list[Event]) -> str:
    return words.count(len(events), "duplicate ACK") + _until(events)


def _reduced(_: Record, events: list[Event]) -> str:
    last = events[-1]
    if last.cwnd_bytes is not None:
        what, to = "the window is cut", f"{last.cwnd_bytes:,} B"
    else:
        what, to = "the rate is cut", si(last.rate_bit_s, "bit/s")
    return f"{what}{_often(events)}, to {to}{_until(events)}"


def _often(events: list[Event]) -> str:
    return "" if len(events) == 1 else f" {len(events):,} times"


def _notified(_: Record, events: list[Event]) -> str:
    what = words.count(len(events), "congestion notification")
    if events[0].count is None:
        return f"{what} (CNP or echo){_until(events)}"
    largest = max(one.count or 0 for one in events)
    return f"{what}, feedback up to {largest}{_until(events)}"


def _limited(_: Record, events: list[Event]) -> str:
    lowest = min(one.rate_bit_s or 0.0 for one in events)
    last = events[-1].rate_bit_s
    return f"the NIC's rate limiter: down to {si(lowest, 'bit/s')}, finally {si(last, 'bit/s')}"


def _naks(record: Record, events: list[Event]) -> str:
    text = words.count(len(events), "NAK") + " received" + _until(events)
    again = next((one for one in _after(record, events[0]) if one.repeated), None)
    is_pair = again is not None and again.is_pulled
    return f"{text}; sent again from {words.packet(again)} on" if again and is_pair else text


def _after(record: Record, event: Event) -> list[Packet]:
    """Return the packets that the endpoint of an event sent after it."""
    return [packet for at, packet in record.sendings[event.end] if at >= event.at]


def _read_retries(_: Record, events: list[Event]) -> str:
    gaps = words.count(len(events), "gap")
    return f"{gaps} in responses of a READ, asked for again{_until(events)}"


def _retransmit(record: Record, event: Event) -> str:
    again = next((one for one in _after(record, event) if one.repeated), None)
    return "fast retransmit" if again is None else f"fast retransmit: {words.packet(again)} again"


def _probe(record: Record, event: Event) -> str:
    """Name the probe, the first segment that left when its timer fired."""
    sent = record.sent_by(event.end, event.at, event.at)
    probe = next((one for one in sent if one.carries or one.sent.kind == "fin"), None)
    if probe is None:
        return "tail loss probe"
    return f"tail loss probe: {words.packet(probe)}{' again' if probe.repeated else ', new data'}"


def _reordering(_: Record, event: Event) -> str:
    return f"reordering timer expired: {words.count(event.count or 0, 'packet')} lost"


def _timeout(_: Record, event: Event) -> str:
    if event.event == "expired":
        return "EXP expired"
    if event.event == "ack-timeout":
        return f"retransmission timeout: no acknowledgement for {words.span(event.waited)}"
    return f"retransmission timeout ({event.cause}): no progress for {words.span(event.waited)}"


GROUPED: dict[str, Callable[[Record, list[Event]], str]] = {
    "dropped": _dropped,
    "marked": _marked,
    "duplicate-ack": _duplicates,
    "reduced": _reduced,
    "notified": _notified,
    "limited": _limited,
    "nak": _naks,
    "read-retry": _read_retries,
}
TURNS: dict[str, Callable[[Record, Event], str]] = {
    "fast-retransmit": _retransmit,
    "tail-loss-probe": _probe,
    "reordering-timeout": _reordering,
    "timeout": _timeout,
    "ack-timeout": _timeout,
    "failed": lambda _, __: "the retry limit is exceeded: the queue pair fails",
    "expired": _timeout,
    "recovered": lambda _, __: "everything sent before that is acknowledged",
    "mode": lambda _, event: f"{event.cause} mode begins",
    "full": lambda _, __: "the record is full",
}
OF_ENDS = (GROUPED.keys() | TURNS.keys()) - {"dropped", "marked", "full"}
"""Events inside an endpoint; packets are named with theirs."""
