"""The time-sequence plot of an explained flow, with its critical path as a strip below.

Every packet with data is a point at the instant it was sent, as high as the bytes (or packets)
before it; the line is what is acknowledged; bands are the waits for timers.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

from incastle.errors import PlotError
from incastle.explanation import path as paths
from incastle.explanation.path import PARTS
from incastle.explanation.record import PS_PER_S, SENDER
from incastle.plotting import style
from incastle.plotting.axes import legend_outside, letter
from incastle.plotting.options import Options
from incastle.plotting.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    OLIVE,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    STYLES,
    canvas,
    setting,
)

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from incastle.explanation.api import Explanation
    from incastle.explanation.record import Packet

SIZE = (8.0, 4.6)
"""Inches on a screen: wider than other figures, with the legend beside the panel."""
MS = 1e-9
"""Milliseconds in a picosecond."""
COLOURS = {
    paths.TIMEOUT: RED,
    paths.PROBE: "#e8998d",
    paths.REORDERING: "#b07aa1",
    paths.PAUSED: "#a6611a",
    paths.QUEUE: ORANGE,
    paths.SERIALISATION: BLUE,
    paths.PROPAGATION: SKY,
    paths.STALL: BLACK,
    paths.PACING: OLIVE,
    paths.REPETITION: "#d98cb3",
    paths.LIMITER: PURPLE,
    paths.OWN: "#a6d854",
    paths.NIC: GREEN,
    paths.RESPONSE: GREY,
    paths.APPLICATION: "#dddddd",
}


def save(explanation: Explanation, path: Path, options: Options | None = None) -> None:
    """Draw an explanation into a file whose suffix, png, svg or pdf, gives the format.

    Columns of papers have no title, and the legends above and below.

    Raises:
        PlotError: no such format, or no data were ever sent.
        OSError: the file cannot be written.

    """
    style.form_of(path)
    options = options or Options()
    is_column = STYLES[options.style].is_column
    with canvas(options.style) as figure:
        if options.size is not None or options.style == "screen":
            figure.set_size_inches(*(options.size or SIZE))
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[12, 1])
        _sequence(above, explanation)
        _strip(below, explanation)
        handles, labels = above.get_legend_handles_labels()
        more, words = below.get_legend_handles_labels()
        if is_column:
            legend_outside(figure, above, options, dict(zip(words, more, strict=True)))
        else:
            title = f"{explanation.name}, {explanation.hosts[0]} to {explanation.hosts[1]}: "
            letters = float(figure.get_size_inches()[0]) / letter(options, "figure.titlesize")
            figure.suptitle(
                textwrap.fill(title + explanation.headline, int(letters)), x=0.01, ha="left"
            )
            beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
            above.legend(handles + more, labels + words, **beside)
        style.save(figure, path)


def _sequence(axes: Axes, explanation: Explanation) -> None:
    began = explanation.began_s * 1e3
    ended = None if explanation.ended_s is None else explanation.ended_s * 1e3
    sent = [one for _, one in explanation.record.sendings[SENDER] if one.carries]
    sent = [one for one in sent if began <= one.sent.at * MS <= (ended or float("inf"))]
    if not sent:
        raise PlotError(f"there is nothing to draw: {explanation.name} sent no data")
    numbered = sent[0].is_numbered
    unit = 1 if numbered else 1000
    arrived = [one for one in sent if one.dropped is None]
    new = [one for one in arrived if not one.repeated]
    _points(axes, new, unit, _Look("sent", BLUE, "."))
    _points(
        axes, [one for one in arrived if one.repeated], unit, _Look("retransmitted", ORANGE, "^")
    )
    lost = [one for one in sent if one.dropped is not None]
    _points(axes, lost, unit, _Look("dropped", RED, "x"))
    _acknowledged(axes, explanation, unit)
    waits = "waiting for a timer"
    for begins, ends in _timers(explanation):
        axes.axvspan(begins * MS, ends * MS, color=RED, alpha=0.12, lw=0, label=waits)
        waits = "_"
    axes.set_ylabel("number of the packet" if numbered else "position in the stream (KB)")


def _timers(explanation: Explanation) -> list[tuple[int, int]]:
    """Return the waits for retransmission timers, and those for others on the critical path."""
    chains = [(one.timer.at - one.waited, one.timer.at) for one in explanation.chains]
    others = (paths.PROBE, paths.REORDERING)
    return chains + [
        (one.begins, one.ends) for one in explanation.path.pieces if one.kind in others
    ]


class _Look(NamedTuple):
    """How a kind of packets is drawn."""

    label: str
    colour: str
    marker: str


def _points(axes: Axes, packets: list[Packet], unit: int, look: _Look) -> None:
    if packets:
        times = [one.sent.at * MS for one in packets]
        heights = [(one.sent.seq or 0) / unit for one in packets]
        size = setting("lines.markersize")
        axes.plot(times, heights, look.marker, color=look.colour, label=look.label, markersize=size)


def _acknowledged(axes: Axes, explanation: Explanation, unit: int) -> None:
    """Draw the highest acknowledgement that had reached the sender."""
    times: list[float] = []
    heights: list[float] = []
    first = explanation.began_s * PS_PER_S
    last = None if explanation.ended_s is None else explanation.ended_s * PS_PER_S
    for at, packet in explanation.record.arrivals[SENDER]:
        within = at >= first and (last is None or at <= last)
        ack = packet.sent.ack
        if within and ack is not None and (not heights or ack / unit > heights[-1]):
            times.append(at * MS)
            heights.append(ack / unit)
    if times:
        axes.step(times, heights, where="post", color=GREY, linewidth=1.0, label="acknowledged")


def _strip(axes: Axes, explanation: Explanation) -> None:
    for kind in explanation.path.by_kind():
        pieces = [one for one in explanation.path.pieces if one.kind == kind]
        bars = [(one.begins * MS, one.span * MS) for one in pieces]
        colour, label = COLOURS[kind], PARTS[kind]
        axes.broken_barh(bars, (0, 1), facecolors=colour, linewidth=0, label=label)
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.set_xlabel("time (ms)")
