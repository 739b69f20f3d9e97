"""`incastle.Controller`: what a congestion controller of your own derives from.

Its reactions to loss, marks, timeouts and idleness are those of RFC 5681 and RFC 3168, so that a
first idea needs `on_ack` alone. Leaves out: recovery, retransmission and the timeout itself, which
the transport owns.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from incastle._engine import Ack, CongestionEvent, Connection

REQUIRED = ("on_ack", "on_congestion", "window")
OPTIONAL = ("on_sent", "pacing", "on_timer", "next_timer")


class Hop(NamedTuple):
    """In-band telemetry of one egress port, as a packet left it: an element of `ack.hops`."""

    rate_bit_s: int
    """The rate of the port's link."""
    at_s: float
    """The second at which the port dequeued the packet."""
    sent_bytes: int
    """Bytes that the port had sent before this packet, headers included."""
    queue_bytes: int
    """Bytes that waited at the port at that instant, without this packet."""


class Controller:
    """A congestion controller: one object for each endpoint of a connection.

    Write `on_ack`, and override further methods as needed. It is called with the transport's state,
    and keeps `cwnd_bytes`; after each call the transport calls `window()`. Parameters of the
    scenario (`parameters = { gain = 0.5 }`) are keyword arguments of `__init__`.

    Optional methods, each called only where a class has it:

    - `pacing(self) -> float | None`: the rate in bits per second at which packets leave, at least
      1; None sends as the window allows.
    - `on_sent(self, now: ControllerContext, size_bytes: int) -> None`: a data packet left,
      new or again.
    - `next_timer(self) -> float | None` and `on_timer(self, now: ControllerContext) -> None`: the
      second at which the controller wants to be called, and that call.

    Attributes:
        connection: sizes that the scenario gives, and the controller's number in its run.
        mss_bytes: application bytes of a full segment.
        cwnd_bytes: the congestion window.
        ssthresh_bytes: the slow-start threshold, drawn with the window; infinite while unset.
        alpha: a class may set it to a number: it is recorded with the window.

    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.mss_bytes = connection.mss_bytes
        self.cwnd_bytes: float = connection.initial_window_bytes
        self.ssthresh_bytes: float = math.inf
        self._answered = -1
        """SND.NXT at the last reaction: what was sent before it is answered."""

    def on_ack(self, ack: Ack) -> None:
        """Handle an acknowledgement, duplicates included: grow the window, or not."""
        raise NotImplementedError

    def on_congestion(self, event: CongestionEvent) -> bool | None:
        """Handle a mark ("ecn"), a loss, a timeout, or a start after idleness ("idle").

        The transport reports every ACK with an echo, and the start of each recovery. Return
        whether this was an answer, by which CWR is set; None leaves that to the window: it was, if
        the window or the rate is smaller than before.
        """
        if event.kind == "idle":
            # RFC 5681, section 4.1.
            self.cwnd_bytes = min(self.cwnd_bytes, self.connection.initial_window_bytes)
            return False
        half = max(event.in_flight_bytes / 2, 2 * self.mss_bytes)
        if event.kind == "timeout":
            # RFC 5681, section 3.1: once for the same data, and then one segment.
            if event.backoff == 0:
                self.ssthresh_bytes = half
            self.cwnd_bytes = self.mss_bytes
        elif self._is_answered(event):
            return False
        else:
            # RFC 5681, section 3.2, and RFC 3168, section 6.1.2: once in a window of data.
            self.cwnd_bytes = self.ssthresh_bytes = half
        self._answered = event.snd_nxt
        return True

    def _is_answered(self, event: CongestionEvent) -> bool:
        # The byte that begins a new window of data may be lost anew; the first mark that its ACK
        # echoes belongs to the window before.
        last = self._answered - (event.kind == "loss")
        return event.snd_una <= last

    def window(self) -> float | None:
        """Return the bytes that may be outstanding; None is no limit."""
        return self.cwnd_bytes
