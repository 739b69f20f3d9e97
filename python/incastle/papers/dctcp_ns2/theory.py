"""The fluid model of DCTCP's queue, as section 3.3 of the DCTCP paper gives it.

N flows in step, each with the window W* = (C RTT + K) / N packets when the queue reaches K; the
queue then overshoots by N packets, and the windows fall by alpha / 2. "No underflow" says that the
queue does not run empty between two such cuts.

It leaves out what decides for small windows: whole packets, flows that are not in step, the round
trip after the peak whose ACKs still carry marks, and that such ACKs do not grow a window.
"""

from __future__ import annotations

import math

# C RTT of figure 4 in packets: 40 ms and the sending times of two packets and of two ACKs (40 B).
PIPE = (0.040 + 2 * 12_000 / 100e6 + 2 * 320 / 100e6) * 100e6 / 12_000


def alpha_exact(window: float) -> float:
    """Solve alpha^2 (1 - alpha / 4) = (2 W + 1) / (W + 1)^2 (equation 6) for 0 <= alpha <= 1."""
    marked = (2 * window + 1) / (window + 1) ** 2
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        if middle * middle * (1 - middle / 4) < marked:
            low = middle
        else:
            high = middle
    return high


def amplitude(flows: int, window: float, *, exact: bool) -> float:
    """Give the queue's oscillation A in packets: equations 7 and 8, or the form for large W."""
    if exact:
        return flows * (window + 1) * alpha_exact(window) / 2
    return flows * window * math.sqrt(2 / window) / 2


def period(window: float) -> float:
    """Give the time between two cuts in round trips: (W + 1) alpha / 2, the windows' growth."""
    return (window + 1) * alpha_exact(window) / 2


def knee(flows: int, pipe: float, *, exact: bool) -> float:
    """Give the least K without underflow: K + N = A, for a pipe of C RTT packets (section 3.4)."""
    low, high = 0.0, pipe
    for _ in range(100):
        middle = (low + high) / 2
        if middle + flows < amplitude(flows, (pipe + middle) / flows, exact=exact):
            low = middle
        else:
            high = middle
    return high


def throughput(flows: int, pipe: float, threshold: float) -> float:
    """Give the share of the link that is used when the queue swings by the exact A below K + N.

    While the windows' sum is short of the pipe by s packets, s / C RTT of the link is idle. They
    grow by N packets per round trip, so the shortfall s falls to 0 over s / N round trips and is
    s / 2 on average, once in every period of (W + 1) alpha / 2 round trips.
    """
    window = (pipe + threshold) / flows
    shortfall = max(0.0, amplitude(flows, window, exact=True) - threshold - flows)
    return 1 - shortfall / 2 / pipe * min(1.0, shortfall / flows / period(window))
