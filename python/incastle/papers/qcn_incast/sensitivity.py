"""The figure of qcn-incast on the limiter's queue, whose length 802.1Qau leaves to the adapter."""

from __future__ import annotations

from incastle.reproduction.papers import FigureSpec

from .curves import GOODPUT, Curve, Curves, Draw, Panel
from .plan import LIMITER, LIMITER_SYSTEMS, OPEN_BUFFERS

_PANELS = {
    f"{system}, {buffer} KiB": (system, buffer)
    for system in LIMITER_SYSTEMS
    for buffer in OPEN_BUFFERS
}

FIGURES = (
    FigureSpec(
        number="open-limiter",
        title="Another queue of the limiter",
        caption="The limiter of a flow holds 2 packets as taken, and 200; RTO_min 200 ms. Goodput; "
        "median over the seeds and their range.",
        uses=(LIMITER, *(f"{system}/rto=200ms/" for system in LIMITER_SYSTEMS)),
        claims=(),
        data=Curves(
            tuple(
                Curve(panel, label, system, "200ms", buffer, prefix)
                for panel, (system, buffer) in _PANELS.items()
                for label, prefix in (("2 packets, as taken", ""), ("200 packets", LIMITER))
            )
        ),
        draw=Draw(
            dict.fromkeys(_PANELS, Panel("goodput (Mbit/s)", GOODPUT.line, 1000)),
            columns=2,
            height=2.0,
        ),
    ),
)
