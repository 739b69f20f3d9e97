"""Drawings of dctcp-ns2: the queue over time with its spread over seeds, and throughput over K."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from incastle.reproduction import figures

from . import theory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_queue_over_time(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a row for each speed: one seed over time, and beside it the spread over all seeds."""
    speeds = data["speed"].unique(maintain_order=True).to_list()
    figure.set_size_inches(7.2, 0.4 + 2.6 * len(speeds))
    grid = figure.subplots(len(speeds), 2, squeeze=False, width_ratios=(3, 1), sharey="row")
    for (left, right), speed in zip(grid, speeds, strict=True):
        part = data.filter(pl.col("speed") == speed)
        for place, name in enumerate(("TCP", "DCTCP")):
            _draw_series(left, part.filter(pl.col("algorithm") == name), name)
            _draw_whiskers(right, part.filter(pl.col("algorithm") == name), name, place)
        left.set_ylabel("queue (packets)")
        left.set_ylim(bottom=0)
        left.set_title(f"{speed}, 2 flows, seed 1")
        right.set_title("all seeds")
        right.set_xticks([0, 1], ["TCP", "DCTCP"])
        right.set_xlim(-0.6, 1.6)
        right.grid(visible=False, axis="x")
    grid[-1][0].set_xlabel("time (s)")
    grid[-1][1].set_xlabel("median, 1 to 99 %")
    grid[0][0].legend(loc="center", bbox_to_anchor=(0.5, 0.28), ncols=2)


def _draw_series(axes: Axes, data: pl.DataFrame, name: str) -> None:
    one = data.filter(pl.col("seed") == 1)
    axes.plot(one["time_s"], one["packets"], color=figures.STYLES[name]["color"], lw=1, label=name)


def _draw_whiskers(axes: Axes, data: pl.DataFrame, name: str, place: int) -> None:
    """Draw, for each seed, the median and the range from the 1st to the 99th percentile."""
    seeds = data.group_by("seed").agg(
        pl.col("packets").quantile(0.01).alias("low"),
        pl.col("packets").median().alias("median"),
        pl.col("packets").quantile(0.99).alias("high"),
    )
    seeds = seeds.sort("seed")
    count = len(seeds)
    x = [place + (i - (count - 1) / 2) * 0.7 / max(count, 4) for i in range(count)]
    style = figures.STYLES[name]
    axes.vlines(
        x, seeds["low"], seeds["high"], color=style["color"], lw=min(1.0, 12 / max(count, 1))
    )
    size = min(3.0, 24 / max(count, 1))  # 20 markers beside each other still stay apart
    axes.plot(x, seeds["median"], ls="", color=style["color"], marker=style["marker"], ms=size)


def draw_throughput(figure: Figure, data: pl.DataFrame) -> None:
    """Draw DCTCP's curve over K and TCP's level."""
    figure.set_size_inches(7.2, 3.2)
    axes = figure.subplots()
    tcp = data.filter(pl.col("series") == "TCP")["throughput_percent"]
    figures.level(axes, tcp, color=figures.RED, ls="--", label="TCP (drop-tail, no K)")
    dctcp = data.filter(pl.col("series") == "DCTCP")
    figures.spread(axes, dctcp, "k", "throughput_percent", label="DCTCP", **figures.STYLES["DCTCP"])
    figures.mark(axes, 1 / 7 * 0.040 * 100e6 / 12_000, "C·RTT/7 = 47.6")
    axes.set_xlabel("marking threshold K (packets)")
    axes.set_ylabel("throughput (% of the link)")
    axes.set_title("100 Mbit/s, RTT 40 ms, 2 flows")
    axes.legend(loc="lower right")


_GROWING = "DCTCP, marked ACKs grow the window"


def draw_steady(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a panel for each number of flows: measured, the fluid model, its knees, TCP."""
    figure.set_size_inches(7.2, 3.4)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, flows in zip(panels, (2, 48), strict=True):
        y = "throughput_percent"
        part = {
            name: data.filter(pl.col("series") == f"{name}, n = {flows}")
            for name in ("DCTCP", _GROWING, "TCP", "fluid model")
        }
        figures.level(axes, part["TCP"][y], color=figures.RED, ls="--", label="TCP")
        model = part["fluid model"]
        axes.plot(model["k"], model[y], color=figures.BLACK, ls=":", label="fluid model (exact)")
        style = figures.STYLES["DCTCP"]
        figures.spread(axes, part["DCTCP"], "k", y, label="DCTCP", **style)
        if not part[_GROWING].is_empty():
            style = {"color": figures.GREEN, "marker": "^", "ls": "--", "label": _GROWING}
            figures.spread(axes, part[_GROWING], "k", y, **style)
        short, exact = (theory.knee(flows, theory.PIPE, exact=form) for form in (False, True))
        if round(short) == round(exact):
            figures.mark(axes, exact, f"knee {exact:.0f}")
        else:
            figures.mark(axes, short, f"short {short:.1f}", side="right")
            figures.mark(axes, exact, f"exact {exact:.1f}")
        axes.set_title(f"n = {flows}")
        axes.set_xlabel("marking threshold K (packets)")
    panels[0].set_ylabel("throughput (% of the link)")
    handles, labels = panels[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=2)
