"""The retransmission timer for which an incomplete flow waited when the run ended.

It is exact where no round trip was measured yet (the RTO is `initial_rto`) and after a timeout (the
RTO doubles; RFC 6298, sections 2 and 5.5). Elsewhere the RTO follows from the measured round trips,
which are not recorded: then it is at least `min_rto`.

The timer of a queue pair (RDMA) is always `ack_timeout`. It starts with the first request that
leaves while it does not run, and again with each acknowledgement of something new; going back stops
it (docs/models/rdma.md).

Leaves out: timers of flows with packets in flight, the timers of probes and of reordering, the
persist timer, UDT's EXP, and queue pairs that go back to the start of a message (go-back-0).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from incastle.explanation import words
from incastle.explanation.departures import RECOVERIES
from incastle.explanation.record import PS_PER_S, RECEIVER, SENDER
from incastle.units import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from incastle.explanation.record import Event, Packet, Record


READ_RETRIES = ("ack-timeout", "read-retry")


@dataclass(frozen=True)
class Pending:
    """A retransmission timer that had not expired.

    Attributes:
        at: when it would expire, or at the earliest.
        rto: its span, or the minimum.
        exact: whether both are more than lower bounds.
        reason: why it has this span.

    """

    at: int
    rto: int
    exact: bool
    reason: str

    @property
    def text(self) -> str:
        """Name the timer, its span and the reason, and when it expires."""
        earliest = "" if self.exact else ", at the earliest"
        return f"{self.short}, expires at {words.instant(self.at)}{earliest}"

    @property
    def short(self) -> str:
        """Name the timer, its span and the reason."""
        least = "" if self.exact else "at least "
        return f"RTO of {least}{words.span(self.rto)} pending ({self.reason})"

    def as_json(self) -> dict[str, object]:
        """Return it with its instants in seconds."""
        return {
            "expires_s": self.at / PS_PER_S,
            "rto_s": self.rto / PS_PER_S,
            "exact": self.exact,
            "reason": self.reason,
        }


def pending(record: Record, transport: Mapping[str, Any], now: int) -> Pending | None:
    """Return the timer that alone could make an incomplete flow go on.

    Args:
        record: of the flow.
        transport: its table in the complete scenario.
        now: the end of the run.

    """
    moving = any(one.received is None and one.dropped is None for one in record.packets.values())
    if moving:
        return None
    if transport["kind"] == "rdma":
        return _of_queue_pair(record, transport, now)
    if transport["kind"] != "tcp":
        return None
    sent = [one for _, one in record.sendings[SENDER] if one.carries or one.sent.kind == "syn"]
    progress = _last_progress(record)
    acked = -1 if progress is None else progress[1]
    outstanding = [one for one in sent if _end(one) > acked]
    if not outstanding:
        return None
    last = record.last_inside(SENDER, now, ("timeout",))
    if last is not None and (progress is None or last.at >= progress[0]):
        return _doubled(last, transport)
    if progress is None:
        found = _span(transport, "initial_rto"), "initial_rto: no RTT was measured"
        began = outstanding[0].sent.at
    else:
        found = _span(transport, "min_rto"), "min_rto"
        began = max(progress[0], outstanding[0].sent.at)
    rto, reason = found
    exact = progress is None and not transport["randomized_rto"]
    return Pending(began + rto if exact else max(began + rto, now), rto, exact, reason)


def _of_queue_pair(record: Record, transport: Mapping[str, Any], now: int) -> Pending | None:
    """Return the retransmission timer of a queue pair; None where it does not run."""
    if transport["ack_timeout"] == "off" or transport["recovery"] != "go-back-n":
        return None
    end = RECEIVER if transport["verb"] == "read" else SENDER
    requests = [one for _, one in record.sendings[end] if one.is_pulled]
    last = record.last_inside(end, now, RECOVERIES)
    has_gone_back = last is not None and bool(requests) and last.at > requests[-1].sent.at
    if not requests or has_gone_back or record.inside[end, "failed"]:
        return None
    began = (_of_read if end == RECEIVER else _of_write)(record, requests)
    rto = _span(transport, "ack_timeout")
    return None if began is None else Pending(began + rto, rto, True, "ack_timeout")


def _of_write(record: Record, requests: list[Packet]) -> int | None:
    """Return when the timer of WRITEs or SENDs started; None where everything is acknowledged."""
    unacked, progress = _acknowledged(record)
    outstanding = [one for one in requests if _seq(one) >= unacked]
    if not outstanding:
        return None
    # A NAK that the requester does not follow does not stop it: what is sent shows where it did.
    starts = [
        one.sent.at
        for before, one in pairwise(requests)
        if one.repeated and not (before.repeated and _seq(one) > _seq(before))
    ]
    return max(outstanding[0].sent.at, progress, *starts)


def _of_read(record: Record, requests: list[Packet]) -> int:
    """Return when the timer of READs started."""
    last = max(
        (one.at for name in READ_RETRIES for one in record.inside[RECEIVER, name]), default=0
    )
    started = next(one.sent.at for one in requests if one.sent.at >= last)
    return max(started, _last_due_response(record, _seq(requests[0])))


def _seq(packet: Packet) -> int:
    return packet.sent.seq or 0


def _last_due_response(record: Record, due: int) -> int:
    """Return when the last response of a READ arrived in order, from a PSN on; 0 if none did."""
    progress = 0
    for at, packet in record.arrivals[RECEIVER]:
        if packet.is_pulled and packet.sent.seq == due:
            progress, due = at, due + 1
    return progress


def _acknowledged(record: Record) -> tuple[int, int]:
    """Return the oldest PSN without acknowledgement, and when it became that.

    An ACK has the last PSN that arrived, a NAK the first that did not.
    """
    unacked, progress = -1, 0
    for at, packet in record.arrivals[SENDER]:
        kind, ack = packet.sent.kind, packet.sent.ack
        if ack is None or kind not in ("ack", "nak"):
            continue
        up_to = ack + 1 if kind == "ack" else ack
        if up_to > unacked:
            unacked, progress = up_to, at
    return max(unacked, 0), progress


def _doubled(last: Event, transport: Mapping[str, Any]) -> Pending:
    rto = min(2 * last.rto, _span(transport, "max_rto"))
    exact = not transport["randomized_rto"]
    return Pending(last.at + rto, rto, exact, "doubled by the timeout before")


def _last_progress(record: Record) -> tuple[int, int] | None:
    """Return when something new was last acknowledged, and up to which byte; None if never."""
    found = None
    for at, packet in record.arrivals[SENDER]:
        ack = packet.sent.ack or 0
        if packet.sent.kind == "syn-ack" or ack > (0 if found is None else found[1]):
            found = (at, ack)
    return found


def _end(packet: Packet) -> int:
    """Return the first byte after a packet; of a SYN, which lies before the first, 0."""
    return (packet.sent.seq or 0) + packet.carries


def _span(transport: Mapping[str, Any], key: str) -> int:
    value, _ = parse(transport[key]) or (0.0, "")
    return round(value * PS_PER_S)
