"""The retransmission timer for which an incomplete flow waited when the run ended.

It is exact where no round trip was measured yet (the RTO is `initial_rto`) and after a timeout (the
RTO doubles; RFC 6298, sections 2 and 5.5). Elsewhere the RTO follows from the measured round trips,
which are not recorded: then it is at least `min_rto`.

Leaves out: timers of flows with packets in flight, the timers of probes and of reordering, the
persist timer, UDT's EXP.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incastle.explanation import words
from incastle.explanation.record import PS_PER_S, SENDER
from incastle.units import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from incastle.explanation.record import Event, Packet, Record


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
    if transport["kind"] != "tcp" or moving:
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
