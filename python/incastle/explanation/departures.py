"""Why a packet of a queue pair left at its instant, and not before.

The NIC pulls packets from queue pairs, so that a packet leaves when four conditions hold: there is
something to send that the window allows, its pacing is over, its priority is not paused, and it is
its turn by round robin. The record has the first two exactly: the event `ready` where a queue pair
that could not send can again, and `paced_until` of each packet. Leaves out: the other queue pairs
of the NIC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from incastle.explanation.record import NEARLY, Passage

if TYPE_CHECKING:
    from incastle.explanation.record import Event, Packet, Record

RECOVERIES = ("nak", "ack-timeout", "read-retry")
"""The events after which a queue pair goes back and repeats."""


class Departure(NamedTuple):
    """The waits before a packet left, as instants in their order, and where its cause is.

    Attributes:
        begins: when its waits began; the cause is there.
        paced: until when its pacing held it, at least `begins`.
        before: the packet that left then, if that is the cause.
        timer: the retransmission timer that fired then, if that is the cause.
        arrived: whether an arrival at that instant is the cause.

    """

    begins: int
    paced: int
    before: Packet | None = None
    timer: Event | None = None
    arrived: bool = False

    @property
    def repeats(self) -> bool:
        """Whether it waited for a packet that was sent again."""
        return self.before is not None and self.before.repeated


def departure(record: Record, end: str, own: Packet) -> Departure:
    """Return why a packet that the NIC has pulled left at its instant."""
    at = own.sent.at
    before = record.last_pulled(end, at)
    since = -1 if before is None else before.at
    again = record.last_inside(end, at, RECOVERIES)
    if again is not None and again.at > since:
        timer = again if again.event == "ack-timeout" else None
        paced = min(max(_held_until(own, before), again.at), at)
        return Departure(again.at, paced, timer=timer, arrived=timer is None)
    opened = record.last_inside(end, at, ("ready",))
    if opened is not None and opened.at > since and not _is_held(own, before, opened.at):
        return Departure(opened.at, opened.at, arrived=record.arrived_at(end, opened.at))
    if before is None:
        return Departure(at, at)
    paced = min(max(_held_until(own, before), before.at), at)
    return Departure(before.at, paced, before=before.packet)


def _is_held(own: Packet, before: Passage | None, opened: int) -> bool:
    """Whether the pacing after an earlier packet held it longer than its window."""
    paced = own.sent.paced_until
    return before is not None and paced is not None and paced > opened


def _held_until(own: Packet, before: Passage | None) -> int:
    """Return until when its pacing held it; -1 where the line was busy as long."""
    paced = own.sent.paced_until
    if paced is None or before is None:
        return -1
    is_busy = paced - before.at <= before.packet.sent.serialisation + NEARLY
    return -1 if is_busy else paced
