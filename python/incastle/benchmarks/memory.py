"""Memory of a flow and of a packet in flight: the peak with many, less that with few.

Peaks are of whole processes. A flow has two endpoints, a packet in flight, and its rows of the
result tables. A packet has the room that arrays keep as they grow.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from incastle.benchmarks import process

if TYPE_CHECKING:
    from collections.abc import Callable

FLOWS = """
name = "flows-{count}"
[run]
duration = "600 ms"
[network]
topology = "star"
senders = 20
rate = "10 Gbit/s"
delay = "25 us"
[switch]
buffer = "1 GB"
[transport]
preset = "ns-2-2010"
[flows.all]
workload = "bulk"
from = "senders"
to = "receiver"
count = {count}
size = "1460 B"
"""
"""All are open before the first is complete: their packets wait for the receiver's link."""

PACKETS = """
name = "packets-{count}"
[run]
duration = "{span_ns} ns"
[network]
topology = "star"
senders = 1
rate = "10 Gbit/s"
delay = "{delay_ns} ns"
[transport]
kind = "udp"
[flows.all]
workload = "cbr"
from = "senders"
to = "receiver"
rate = "9 Gbit/s"
message = "1472 B"
"""
PACKET_NS = 1472 * 8 / 9
"""A packet leaves so often, and is in flight on two links."""


def flows(count: int) -> str:
    """Return a scenario with n flows at once."""
    return FLOWS.format(count=count)


def packets(count: int) -> str:
    """Return a scenario with n packets in flight."""
    delay_ns = round(count * PACKET_NS / 2)
    # Three times the delay, so that as many have arrived as are in flight.
    return PACKETS.format(count=count, delay_ns=delay_ns, span_ns=6 * delay_ns)


@dataclass(frozen=True)
class Memory:
    """The memory of one more object of a kind.

    Attributes:
        words: the thing.
        goal: bytes that it should not exceed.
        scenario: gives one with n at once.
        counts: of a small and a large run.

    """

    words: str
    goal: int
    scenario: Callable[[int], str]
    counts: tuple[int, int]


# Lists double as they grow: with counts of a ratio of four they are equally full, and what the
# allocator leaves free is small against the difference.
FLOW = Memory("a flow", 2_000, flows, (80_000, 320_000))
PACKET = Memory("a packet in flight", 64, packets, (20_000, 260_000))


@dataclass(frozen=True)
class Cost:
    """The measured bytes of each."""

    of: Memory
    bytes: float

    def as_row(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {"memory": self.of.words, "bytes": self.bytes, "goal_bytes": self.of.goal}


def measure() -> list[Cost]:
    """Measure all, each run in a separate process."""
    return [Cost(one, _cost(one)) for one in (FLOW, PACKET)]


def _cost(one: Memory) -> float:
    peaks = []
    with TemporaryDirectory(prefix="incastle-memory-") as folder:
        for count in one.counts:
            file = Path(folder) / f"{count}.toml"
            file.write_text(one.scenario(count), encoding="utf-8")
            peaks.append(process.measure(file)["peak_memory_bytes"])
    few, many = one.counts
    return float(peaks[1] - peaks[0]) / (many - few)
