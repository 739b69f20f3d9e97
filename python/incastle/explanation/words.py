"""Words for packets, places and spans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incastle.explanation.record import PS_PER_S, SENDER
from incastle.units import si

if TYPE_CHECKING:
    from incastle.explanation.record import Event, Packet

CAUSES = {
    "buffer-full": "the buffer was full",
    "shared-limit": "its share of the shared memory was used up",
    "early": "dropped early by the queue discipline",
    "not-ecn-capable": "above the marking threshold, and not ECN-capable",
    "link-down": "the link was down",
    "lost-on-wire": "lost on the wire",
    "corrupted": "corrupted on the wire",
    "pause-watchdog": "dropped by the watchdog of a paused priority",
}

HEADROOM = "headroom-full"


def span(picoseconds: int) -> str:
    """Write a span of time."""
    return si(picoseconds / PS_PER_S, "s")


def instant(picoseconds: int) -> str:
    """Write an instant in milliseconds with all digits down to the nanosecond."""
    return f"{picoseconds / 1e9:,.6f} ms"


def count(number: int, thing: str) -> str:
    """Write a number of things; the plural has an s."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def packet(one: Packet) -> str:
    """Name a packet: its number and the bytes in it."""
    name = (
        f"packet {one.number}" if one.sent.end == SENDER else f"the receiver's packet {one.number}"
    )
    first = one.sent.seq
    if one.is_pulled and first is not None:
        kind = "" if one.carries else "request of a READ, "
        return f"{name} ({kind}PSN {first:,})"
    if one.carries and first is not None:
        if one.sent.kind == "data" and not one.is_numbered:
            return f"{name} (bytes {first:,} to {first + one.carries:,})"
        return f"{name} (number {first:,})"
    if one.sent.ack is not None and one.sent.kind == "ack":
        return f"{name} (ACK of {one.sent.ack:,})"
    return f"{name} ({one.sent.kind})"


def memory(event: Event) -> str:
    """Describe a port's occupancy when it admitted or dropped a packet, and its limit."""
    if event.limit_packets is not None:
        return f"queue {event.queue_packets:,} of {count(event.limit_packets, 'packet')}"
    if event.limit_bytes is not None:
        return f"queue {event.queue_bytes:,} of {event.limit_bytes:,} B"
    return f"queue {event.queue_packets:,} packets"


def drop(event: Event, one: Packet) -> str:
    """Describe the place and cause of a packet's drop."""
    if event.cause in {"lost-on-wire", "corrupted"}:
        return f"{CAUSES[event.cause]} of {event.port}"
    where = f"dropped at {event.port}"
    if event.cause == "link-down":
        return f"{where}: {CAUSES[event.cause]}"
    if event.cause == HEADROOM:
        # The headroom is that of the port by whose link it came, as in the table `pauses`.
        came_by = opposite((one.hops or [one.sent])[-1].port)
        return f"{where}: {memory(event)}, above XOFF, and the headroom of {came_by} was full"
    return f"{where}: {memory(event)}" + (
        "" if event.cause == "buffer-full" else f", {CAUSES[event.cause]}"
    )


def opposite(port: str) -> str:
    """Name the port at the other end of a port's link: `b->a#2` for `a->b#2`."""
    nodes, mark, number = port.partition("#")
    node, _, peer = nodes.partition("->")
    return f"{peer}->{node}{mark}{number}"


def peer(port: str) -> str:
    """Name the node at the other end of a port's link; "" if the port is unknown."""
    return port.partition("#")[0].partition("->")[2]
