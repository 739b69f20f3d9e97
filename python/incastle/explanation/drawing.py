"""The time-sequence plot of an explained flow, with its critical path as a strip below.

Every packet with data is a point at the instant it was sent, as high as the bytes (or packets)
before it; the line is what is acknowledged; bands are the waits for timers.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from incastle.errors import PlotError
from incastle.explanation.record import RECEIVER, SENDER
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

SIZE = (8.0, 4.6)
"""Inches on a screen: wider than other figures, with the legend beside the panel."""
MS = 1e-9
"""Milliseconds in a picosecond."""
COLOURS = {
    "timeout": RED,
    "probe": "#e8998d",
    "reordering": "#b07aa1",
    "down": "#7f3b08",
    "paused": "#a6611a",
    "queue": ORANGE,
    "serialisation": BLUE,
    "propagation": SKY,
    "stall": BLACK,
    "pacing": OLIVE,
    "repetition": "#d98cb3",
    "limiter": PURPLE,
    "own": "#a6d854",
    "nic": GREEN,
    "response": GREY,
    "application": "#dddddd",
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
    sent = explanation.record.packets(SENDER).filter(pl.col("bytes") > 0)
    sent = _within(sent, explanation)
    if sent.is_empty():
        raise PlotError(f"there is nothing to draw: {explanation.name} sent no data")
    # The data of TCP carry an ACK; `seq` of others counts packets.
    numbered = sent["ack"][0] is None
    unit = 1 if numbered else 1000
    is_lost, is_new = pl.col("dropped_s").is_not_null(), pl.col("event") == "sent"
    _points(axes, sent.filter(~is_lost & is_new), unit, _Look("sent", BLUE, "."))
    _points(axes, sent.filter(~is_lost & ~is_new), unit, _Look("retransmitted", ORANGE, "^"))
    _points(axes, sent.filter(is_lost), unit, _Look("dropped", RED, "x"))
    _acknowledged(axes, explanation, unit)
    waits = "waiting for a timer"
    for begins, ends in _timers(explanation):
        axes.axvspan(begins * MS, ends * MS, color=RED, alpha=0.12, lw=0, label=waits)
        waits = "_"
    axes.set_ylabel("number of the packet" if numbered else "position in the stream (KB)")


def _within(events: pl.DataFrame, explanation: Explanation) -> pl.DataFrame:
    """Return the events from the beginning to the end of the transfer."""
    ended = explanation.ended_s
    return events.filter(
        pl.col("time_s").is_between(
            explanation.began_s, float("inf") if ended is None else ended, closed="both"
        )
    )


def _timers(explanation: Explanation) -> list[tuple[int, int]]:
    """Return the waits for retransmission timers, and those for others on the critical path."""
    chains = [(one.timer.at - one.waited, one.timer.at) for one in explanation.chains]
    others = ("probe", "reordering")
    return chains + [
        (one.begins, one.ends) for one in explanation.path.pieces if one.kind in others
    ]


class _Look(NamedTuple):
    """How a kind of packets is drawn."""

    label: str
    colour: str
    marker: str


def _points(axes: Axes, packets: pl.DataFrame, unit: int, look: _Look) -> None:
    if not packets.is_empty():
        times, heights = packets["time_s"] * 1e3, packets["seq"].fill_null(0.0) / unit
        size = setting("lines.markersize")
        axes.plot(times, heights, look.marker, color=look.colour, label=look.label, markersize=size)


def _acknowledged(axes: Axes, explanation: Explanation, unit: int) -> None:
    """Draw the highest acknowledgement that had reached the sender."""
    events = explanation.record.events
    arrived = events.filter((pl.col("end") == RECEIVER) & (pl.col("event") == "received"))
    acks = _within(arrived, explanation).drop_nulls("ack")
    highest = acks.filter(pl.col("ack") > pl.col("ack").cum_max().shift(1).fill_null(-1.0))
    if not highest.is_empty():
        times, heights = highest["time_s"] * 1e3, highest["ack"] / unit
        axes.step(times, heights, where="post", color=GREY, linewidth=1.0, label="acknowledged")


def _strip(axes: Axes, explanation: Explanation) -> None:
    path = explanation.path
    for kind, (label, *_) in zip(path.by_kind(), path.rows, strict=True):
        bars = [(one.begins * MS, one.span * MS) for one in path.pieces if one.kind == kind]
        axes.broken_barh(bars, (0, 1), facecolors=COLOURS[kind], linewidth=0, label=label)
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.set_xlabel("time (ms)")
