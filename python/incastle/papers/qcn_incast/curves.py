"""Curves over the number of servers: the table of a figure, and how its panels are drawn.

Most figures of qcn-incast are of this shape: panels that each show one number of several series.
The table has panel, series, n, seed and value; a curve that no run gave (the paper's own values)
has no seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from incastle.reproduction import figures

from .points import BUFFERS, SERVERS, SYSTEMS, point
from .runs import COLLAPSE, goodput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incastle.reproduction.papers import Observations

    from .runs import Statistic

PAPER = "the paper"
"""How the series of the paper's own values is named."""

STYLES: dict[str, dict[str, Any]] = {
    "32 KiB": {"color": figures.RED, "marker": "s"},
    "64 KiB": {"color": figures.ORANGE, "marker": "D"},
    "128 KiB": {"color": figures.GREEN, "marker": "^"},
    "256 KiB": {"color": figures.BLUE, "marker": "o"},
    SYSTEMS["tcp"].label: {"color": figures.GREEN, "marker": "p", "ms": 5},
    SYSTEMS["sack"].label: {"color": figures.ORANGE, "marker": "D"},
    SYSTEMS["dctcp"].label: {"color": figures.PURPLE, "marker": ">", "ms": 5},
    SYSTEMS["I"].label: {"color": figures.BLACK, "marker": "x"},
    SYSTEMS["II"].label: {"color": figures.SKY, "marker": "v"},
    SYSTEMS["III"].label: {"color": figures.ORANGE, "marker": "^"},
    SYSTEMS["IV"].label: {"color": figures.PURPLE, "marker": "d"},
    SYSTEMS["V"].label: {"color": figures.BLUE, "marker": "o"},
    SYSTEMS["VI"].label: {"color": figures.RED, "marker": "s"},
    SYSTEMS["every"].label: {"color": figures.GREEN, "marker": "*", "ms": 6},
    SYSTEMS["older"].label: {"color": figures.OLIVE, "marker": "P", "ls": "--"},
    "NewReno, 10 ms": {"color": figures.GREEN, "marker": "p", "ms": 5},
    PAPER: {"color": figures.GREY, "marker": "o", "mfc": "none", "ls": ":"},
    f"{PAPER}, NewReno": {"color": figures.GREEN, "marker": "o", "mfc": "none", "ls": ":"},
    f"{PAPER}, I": {"color": figures.BLACK, "marker": "o", "mfc": "none", "ls": ":"},
}
_FURTHER = ({"marker": "o"}, {"marker": "s"}, {"marker": "^"}, {"marker": "D"}, {"marker": "v"})
_WIDTH = 7.2
"""Of every figure, in inches."""
_CHARACTER, _HANDLE = 0.075, 0.6
"""About the width of a letter in a legend, and of the line before a label, in inches."""
SCHEMA = {
    "panel": pl.String,
    "series": pl.String,
    "n": pl.Int64,
    "seed": pl.Int64,
    "value": pl.Float64,
}


@dataclass(frozen=True)
class Curve:
    """One curve: its panel and label, where its runs are, and which number of them it shows."""

    panel: str
    series: str
    system: str
    rto: str
    buffer: int
    prefix: str = ""
    what: Statistic = goodput
    servers: Sequence[int] = SERVERS

    def rows(self, runs: Observations) -> list[tuple[str, str, int, int, float]]:
        """Give its points; a length may leave some out."""
        names = {n: point(self.system, self.rto, self.buffer, n, self.prefix) for n in self.servers}
        return [
            (self.panel, self.series, n, seed, self.what(run))
            for n, name in names.items()
            if name in runs.runs
            for seed, run in enumerate(runs[name], 1)
        ]


@dataclass(frozen=True)
class Panel:
    """How a panel is drawn: its axis, a line to compare with, where it ends, its share of width."""

    label: str
    line: float | None = None
    top: float | None = None
    scale: str = "linear"
    width: float = 1


GOODPUT = Panel("goodput (Mbit/s)", COLLAPSE, 1000, width=1.4)


@dataclass(frozen=True)
class Curves:
    """The data of a figure: curves, and what the paper says, by panel and series."""

    curves: tuple[Curve, ...]
    paper: tuple[tuple[str, str, Mapping[int, float]], ...] = ()

    def __call__(self, runs: Observations) -> pl.DataFrame:
        """Give the table."""
        rows: list[tuple[str, str, int, int | None, float]] = []
        for curve in self.curves:
            rows += curve.rows(runs)
        for panel, series, values in self.paper:
            rows += [(panel, series, n, None, value) for n, value in values.items()]
        return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@dataclass(frozen=True)
class Draw:
    """The drawing of such a table: how each panel looks, in columns or in a grid."""

    panels: Mapping[str, Panel]
    columns: int = 0
    height: float = 3.0
    legend: str = ""

    def __call__(self, figure: Figure, data: pl.DataFrame) -> None:
        """Draw it."""
        names = list(self.panels)
        columns = self.columns or len(names)
        rows = math.ceil(len(names) / columns)
        figure.set_size_inches(_WIDTH, 0.5 + self.height * rows)
        widths = [self.panels[name].width for name in names[:columns]]
        grid = figure.subplots(
            rows, columns, squeeze=False, width_ratios=widths, sharey=self._shared(columns)
        )
        shown: dict[str, Any] = {}
        for axes, name in zip(grid.flat, names, strict=False):
            shown |= self._panel(axes, name, data.filter(pl.col("panel") == name))
        for axes in grid.flat[len(names) :]:
            axes.set_visible(False)
        for axes in grid[-1]:
            axes.set_xlabel("servers")
        self._labels(grid, names)
        labels = sorted(shown, key=lambda label: label.startswith(PAPER))  # the paper's come last
        handles = [shown[label] for label in labels]
        columns = legend_columns(labels)
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, title=self.legend)

    def _shared(self, columns: int) -> Literal["all", "row", "none"]:
        """Tell which panels have one vertical axis: those that are compared, as they are alike."""
        panels = list(self.panels.values())
        if len(set(panels)) == 1:
            return "all"
        rows = [panels[first : first + columns] for first in range(0, len(panels), columns)]
        return "row" if all(len(set(row)) == 1 for row in rows) else "none"

    def _labels(self, grid: Any, names: Sequence[str]) -> None:  # noqa: ANN401
        """Name the axes; panels of one kind beside each other once."""
        columns = grid.shape[1]
        for place, name in enumerate(names):
            label = self.panels[name].label
            before = self.panels[names[place - 1]].label if place % columns else ""
            if label != before:
                grid.flat[place].set_ylabel(label)
            grid.flat[place].set_title(name, fontsize=9 if columns > 2 else 10)  # noqa: PLR2004

    def _panel(self, axes: Axes, name: str, data: pl.DataFrame) -> dict[str, Any]:
        how = self.panels[name]
        shown = {}
        for place, series in enumerate(data["series"].unique(maintain_order=True)):
            part = data.filter(pl.col("series") == series)
            style = STYLES.get(series) or {
                "color": figures.SERIES[place % len(figures.SERIES)],
                **_FURTHER[place % len(_FURTHER)],
            }
            style = style | {"clip_on": False}  # markers on an edge are whole
            if series.startswith(PAPER):
                part = part.sort("n")
                axes.plot(part["n"], part["value"], label=series, **style)
            else:
                figures.spread(axes, part, "n", "value", label=series, **style)
            shown[series] = axes.lines[-1]
        over_servers(axes, data["n"].unique().sort().to_list())
        if how.line is not None:
            axes.axhline(how.line, color=figures.GREY, lw=0.9, ls=(0, (4, 3)))
        if how.scale != "linear":
            in_decades(axes, how.scale)
        if how.scale != "log":
            axes.set_ylim(bottom=0, top=how.top)
        return shown


def in_decades(axes: Axes, scale: str) -> None:
    """Make y logarithmic, "symlog" linear up to 1, with plain numbers and several of them."""
    from matplotlib.ticker import LogLocator  # noqa: PLC0415  slow to import: only to draw

    if scale == "log":
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    else:
        axes.set_yscale(scale, linthresh=1)
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.minorticks_off()


def legend_columns(labels: Sequence[str]) -> int:
    """Tell how many columns of a legend fit below a figure."""
    return max(1, min(4, int(_WIDTH / (_HANDLE + _CHARACTER * max(map(len, labels))))))


def over_servers(axes: Axes, ticks: Sequence[int]) -> None:
    """Make x the number of servers, in powers of two."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.minorticks_off()


def by_buffer(
    panel: str, system: str, rto: str, prefix: str = "", what: Statistic = goodput
) -> tuple[Curve, ...]:
    """Give a curve for each buffer."""
    return tuple(Curve(panel, f"{b} KiB", system, rto, b, prefix, what) for b in BUFFERS)


def labelled(
    panel: str,
    systems: Sequence[tuple[str, str]],
    buffer: int,
    prefix: str = "",
    what: Statistic = goodput,
) -> tuple[Curve, ...]:
    """Give a curve for each of these systems and timeouts, under the system's label."""
    return tuple(
        Curve(panel, SYSTEMS[system].label, system, rto, buffer, prefix, what)
        for system, rto in systems
    )
