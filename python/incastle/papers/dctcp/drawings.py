"""Drawings of dctcp that are its own: queues with K, flows that come and go, seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from incastle.reproduction import figures
from incastle.reproduction.drawings import Dots, Panel, distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SPEEDS = {"1 Gbit/s": 20, "10 Gbit/s": 65}
"""K in packets."""
_LIMITED = {"color": figures.ORANGE, "ls": "--"}
_FEW_PERCENT = 5
_BINS = 5
"""Of sizes; kinds of background flows follow."""


def draw_long_queue(figure: Figure, data: pl.DataFrame) -> None:
    """Draw the queue over time at 1 Gbit/s, and its distribution at both speeds."""
    figure.set_size_inches(7.2, 3.0)
    panels = figure.subplots(1, 3, width_ratios=(1.5, 1, 1))
    for (label,), one in data.filter(kind="time").group_by("algorithm", maintain_order=True):
        color = figures.STYLES[str(label)]["color"]
        panels[0].plot(one["x"], one["packets"], color=color, lw=1)
    panels[0].set_title("1 Gbit/s, seed 1")
    panels[0].set_xlabel("time (s)")
    panels[0].set_ylabel("queue (packets)")
    panels[0].set_ylim(bottom=0)
    for axes, (speed, k) in zip(panels[1:], _SPEEDS.items(), strict=True):
        part = data.filter(kind="distribution", speed=speed)
        for (label,), one in part.group_by("algorithm", maintain_order=True):
            style = figures.STYLES.get(str(label), _LIMITED)
            distribution(axes, one, "packets", {**style, "label": label})
        figures.mark(axes, k, f"K = {k}", y=0.45)
        axes.set_title(speed)
        axes.set_xlabel("queue (packets)")
        axes.set_xlim(left=0)
        axes.set_ylim(0, 1.02)
    panels[1].set_ylabel("fraction of samples at or below")
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)


def draw_convergence(figure: Figure, data: pl.DataFrame) -> None:
    """Draw the rates of the five flows, one panel for each algorithm."""
    figure.set_size_inches(7.2, 3.0)
    labels = data["algorithm"].unique(maintain_order=True)
    panels = figure.subplots(1, 3, sharey=True)
    for axes, label in zip(panels, labels, strict=True):
        for flow, color in enumerate(figures.SERIES[:5]):
            one = data.filter(pl.col("mbit_s") > 0, algorithm=label, flow=flow).sort("time_s")
            axes.plot(one["time_s"], one["mbit_s"], color=color, lw=0.9, label=f"flow {flow + 1}")
        axes.set_title(label)
        axes.set_xlabel("time (s)")
        axes.set_ylim(0, 1000)
    panels[0].set_ylabel("goodput (Mbit/s)")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=5)


def draw_pressure(figure: Figure, data: pl.DataFrame) -> None:
    """Draw the 95th percentile of each seed and of the paper, and the share with timeouts."""
    figure.set_size_inches(7.2, 2.8)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.6, 1))
    paper = {"ls": "", "marker": "o", "mfc": "none", "color": figures.GREY}
    cases = data.group_by("algorithm", "background", maintain_order=True)
    names = []
    for place, ((label, background), part) in enumerate(cases):
        names.append(f"{label}, {background}")
        ours, theirs = (part.filter(pl.col("seed").is_null() == paper_) for paper_ in (False, True))
        style = {**figures.STYLES[str(label)], "ls": ""}
        places = [place] * len(ours)
        left.plot(ours["p95_ms"], places, **style)
        figures.bars(left, ours, "p95_ms", places, style["color"], sideways=True)
        left.plot(theirs["p95_ms"], [place], **paper)
        right.plot(ours["timeouts_percent"], places, **style)
    left.plot([], [], **paper, label="paper, table 2")
    left.plot([], [], ls="", marker="o", color=figures.BLACK, label="here, each seed")
    left.set_yticks(range(len(names)), names)
    left.invert_yaxis()
    left.set_xlim(left=0)
    left.set_xlabel("95th percentile of completion (ms)")
    left.legend(loc="center right")
    right.set_xlim(left=-0.5)
    right.set_xlabel("queries with a timeout (%)")


@dataclass(frozen=True)
class Varied(Dots):
    """Dots with a share in %, whose axis reaches to 5 % at least."""

    def limit(self, axes: Axes, panel: Panel) -> None:
        """Limit the axis of the values."""
        super().limit(axes, panel)
        if panel.y == "timeouts_percent":
            most = max(_FEW_PERCENT, axes.get_ylim()[1])
            axes.set_ylim(-0.04 * most, most)


@dataclass(frozen=True)
class Sizes(Dots):
    """Dots by size, and behind a line by kind."""

    def limit(self, axes: Axes, panel: Panel) -> None:
        """Limit the axis of the values, and divide that of the sizes."""
        super().limit(axes, panel)
        axes.axvline(_BINS - 0.5, color=figures.GREY, lw=0.8)


@dataclass(frozen=True)
class Rests(Dots):
    """Dots whose categories have two lines: three panels leave them little room."""

    def limit(self, axes: Axes, panel: Panel) -> None:
        """Limit the axis of the values, and break the names of the categories."""
        super().limit(axes, panel)
        names = [label.get_text().replace(" ", "\n", 1) for label in axes.get_xticklabels()]
        axes.set_xticks(axes.get_xticks(), names)
