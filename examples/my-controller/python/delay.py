# ruff: noqa: INP001
"""A congestion controller that follows the round-trip time, in Python.

After the reaction of Swift (Kumar et al., "Swift: Delay is Simple and Effective for Congestion
Control in the Datacenter", SIGCOMM 2020, algorithm 1): below a target delay the window grows by one
segment a round trip, above it the window shrinks in proportion to the excess, at most once a round
trip. Leaves out: targets that depend on the way and on the window, windows below one segment with
pacing, and the delay within hosts.
"""

from __future__ import annotations

import math

import incastle as ic


class Delay(ic.Controller):
    """Holds the round-trip time near a target."""

    def __init__(
        self,
        connection: ic.Connection,
        target_us: float = 100.0,
        beta: float = 0.8,
        most: float = 0.5,
    ) -> None:
        super().__init__(connection)
        self.target_s = target_us * 1e-6
        self.beta = beta
        self.most = most
        self.last_decrease_s = -math.inf

    def on_ack(self, ack: ic.Ack) -> None:
        """Grow or shrink by the latest round-trip sample."""
        if ack.rtt_s is None or ack.in_recovery:
            return
        if ack.rtt_s < self.target_s:
            if ack.window_limited:
                self.cwnd_bytes += self.mss_bytes * ack.acked_bytes / self.cwnd_bytes
        elif ack.now_s - self.last_decrease_s >= ack.rtt_s:
            excess = (ack.rtt_s - self.target_s) / ack.rtt_s
            share = max(1 - self.beta * excess, 1 - self.most)
            self.cwnd_bytes = max(share * self.cwnd_bytes, self.mss_bytes)
            self.last_decrease_s = ack.now_s
