"""One measurement: its parameters and its results, as a record for the JSON file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ends import Outcome
    from lab import Traffic
    from transports import Goodput, Pings

GIGA = 1e9


@dataclass(frozen=True)
class Record:
    """One measurement; a value that was not measured is absent.

    Attributes:
        transport, how, offloads, loss: the parameters.
        gbit_s: goodput at the receiver.
        gigabytes: the data received.
        lost: share of the data lost, for an unreliable transport.
        packet_bytes: mean size of packets on the link towards the receiver.
        sender_cpu_s, receiver_cpu_s, kernel_cpu_s: CPU time of each program, and of the kernel
            outside both.
        sender_bytes, receiver_bytes: peak memory.
        pings, p50_us, p99_us: of round trips, and how many they were.
        others, stolen: shares of the machine's time that went elsewhere.
        failure: why nothing came out.

    """

    transport: str
    how: str
    offloads: bool
    loss: float
    gbit_s: float | None = None
    gigabytes: float | None = None
    lost: float | None = None
    packet_bytes: float | None = None
    sender_cpu_s: float | None = None
    receiver_cpu_s: float | None = None
    kernel_cpu_s: float | None = None
    sender_bytes: int | None = None
    receiver_bytes: int | None = None
    pings: int | None = None
    p50_us: float | None = None
    p99_us: float | None = None
    others: float | None = None
    stolen: float | None = None
    failure: str | None = None

    def with_goodput(self, goodput: Goodput, outcome: Outcome, traffic: Traffic) -> Record:
        """Return it with what a transfer was."""
        lost = None if goodput.sent is None else 1 - goodput.bytes / max(goodput.sent, 1)
        return replace(
            self._with_costs(outcome),
            gbit_s=8 * goodput.bytes / goodput.seconds / GIGA,
            gigabytes=goodput.bytes / GIGA,
            lost=lost,
            packet_bytes=traffic.bytes / max(traffic.packets, 1),
        )

    def with_pings(self, pings: Pings, outcome: Outcome) -> Record:
        """Return it with round trips."""
        return replace(
            self._with_costs(outcome), pings=pings.count, p50_us=pings.p50_us, p99_us=pings.p99_us
        )

    def with_failure(self, reason: str) -> Record:
        """Return it with a reason."""
        return replace(self, failure=reason)

    def fields(self) -> dict[str, Any]:
        """Return what is there."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def per_gigabyte(self, *names: str) -> float:
        """Return the sum of some processor times, per gigabyte that arrived."""
        seconds: float = sum(getattr(self, name) for name in names)
        return seconds / (self.gigabytes or 0.0)

    def __str__(self) -> str:
        """Return the result as a string."""
        if self.failure is not None:
            return self.failure
        if self.gbit_s is not None:
            return f"{self.gbit_s:.2f} Gbit/s"
        return f"p50 {self.p50_us:.0f} us, p99 {self.p99_us:.0f} us"

    def _with_costs(self, outcome: Outcome) -> Record:
        return replace(
            self,
            sender_cpu_s=outcome.client.cpu_s,
            receiver_cpu_s=outcome.server.cpu_s,
            kernel_cpu_s=outcome.meanwhile.kernel_s,
            sender_bytes=outcome.client.peak_bytes,
            receiver_bytes=outcome.server.peak_bytes,
            others=outcome.meanwhile.others,
            stolen=outcome.meanwhile.stolen,
        )
