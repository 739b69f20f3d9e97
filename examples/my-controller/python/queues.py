# ruff: noqa: INP001
"""A congestion controller of RDMA that keeps the longest queue of its path at a target.

Each ACK has the telemetry of the ports on the path. Below the target the window grows by one packet
a round trip, above it the window shrinks in proportion to the excess, at most to a half and once a
round trip. The rate is the window per round trip of the empty path. Leaves out: what HPCC adds to
this, the load of ports without a queue.
"""

from __future__ import annotations

import math

import incastle as ic


class Queues(ic.Controller):
    """Keeps the longest queue of the path near a target, in time."""

    def __init__(self, connection: ic.Connection, target_us: float = 2.0) -> None:
        super().__init__(connection)
        self.cwnd_bytes = connection.initial_window_bytes
        self.target_s = target_us * 1e-6
        self.rtt_s = math.inf
        self.next_decrease = 0

    def on_ack(self, ack: ic.Ack) -> None:
        """Grow or shrink by the longest queue that the acknowledged packet met."""
        if not ack.hops:
            return
        self.rtt_s = min(self.rtt_s, ack.rtt_s or math.inf)
        wait_s = max(8 * hop.queue_bytes / hop.rate_bit_s for hop in ack.hops)
        if wait_s < self.target_s:
            self.cwnd_bytes += self.mss_bytes * ack.acked_bytes / self.cwnd_bytes
        elif ack.snd_una >= self.next_decrease:
            self.cwnd_bytes *= max(self.target_s / wait_s, 0.5)
            self.cwnd_bytes = max(self.cwnd_bytes, self.mss_bytes / 2)
            self.next_decrease = ack.snd_nxt

    def pacing(self) -> float | None:
        """Return the rate: a window per round trip of the empty path."""
        return 8 * self.cwnd_bytes / self.rtt_s if math.isfinite(self.rtt_s) else None
