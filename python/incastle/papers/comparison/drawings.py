"""The drawings of the comparison that are its own: every number as a dot, and in a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from incastle.analysis.ends import ends, shown
from incastle.reproduction import figures, lasting
from incastle.reproduction.claims import number
from incastle.reproduction.drawings import Curves, Panel
from incastle.reproduction.papers import Cell, Grid

from .standings import BEST, EQUAL, NOT_RUN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 4
"""Panels side by side."""


# ---- all workloads


def grid(data: pl.DataFrame) -> Grid:
    """Give the table: a row for each metric, a column for each algorithm."""
    labels = data["algorithm"].unique(maintain_order=True).to_list()
    rows = []
    for _, part in data.group_by("key", maintain_order=True):
        first = part.row(0, named=True)
        arrow = "↑" if first["better"] == "high" else "↓"
        unit = f", {first['unit']}" if first["unit"] else ""
        what = f"{first['metric']}{unit} {arrow}"
        cells = [_cell(one) for one in part.iter_rows(named=True)]
        rows.append((Cell(first["workload"]), Cell(what), *cells))
    return Grid(("workload", "metric", *labels), tuple(rows))


def _cell(row: dict[str, Any]) -> Cell:
    if row["standing"] == NOT_RUN:
        return Cell(NOT_RUN, kind="none")
    text = shown(lasting.read(row, "mean"), number)
    if row["standing"] == BEST:
        return Cell(text, kind="best", title=_range(row))
    return Cell(text, kind="equal" if row["standing"] == EQUAL else "", title=_range(row))


def _range(row: dict[str, Any]) -> str:
    parts = [f"{number(row['low'])} to {number(row['high'])}"] if row["low"] < row["high"] else []
    if row["to_best_low"] is not None and row["to_best_low"] < row["to_best_high"]:
        low, high = (number(row[f"to_best_{end}"]) for end in ("low", "high"))
        parts.append(f"to the best {low} to {high}")
    count = ends(lasting.read(row, "mean")).unfinished
    return "; ".join([*parts, *([f"{count} unfinished"] if count else [])])


def draw_workloads(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a panel for each metric, a line for each algorithm: the mean and its interval."""
    panels = [part for _, part in data.group_by("key", maintain_order=True)]
    labels = data["algorithm"].unique(maintain_order=True).to_list()
    lines = -(-len(panels) // _COLUMNS)
    figure.set_size_inches(8.4, 0.6 + 1.9 * lines)
    panes = figure.subplots(lines, _COLUMNS, squeeze=False, sharey=True).flatten()
    for axes, part in zip(panes, panels, strict=False):
        _dots(axes, part, labels)
    for axes in panes[len(panels) :]:
        axes.set_axis_off()
    panes[0].invert_yaxis()
    _legend(figure)


_MARKS: dict[str, tuple[str, dict[str, Any]]] = {
    BEST: ("best", {"color": figures.GREEN, "mfc": figures.GREEN}),
    EQUAL: ("not distinguishable from the best", {"color": figures.BLUE, "mfc": "white"}),
    "": ("other", {"color": figures.GREY, "mfc": figures.GREY}),
}


_DIRECTIONS = {"high": "higher is better →", "low": "← lower is better"}


def _possible(end: float, of: dict[str, Any]) -> float:
    """Limit an end of an interval of Student's t to possible values: no time is below 0."""
    largest = {"%": 100.0}.get(of["unit"], 1.0 if of["metric"] == "Jain's index" else math.inf)
    return end if math.isinf(end) else min(max(end, 0.0), largest)


def _legend(figure: Figure) -> None:
    axes = figure.axes[0]
    for words, style in _MARKS.values():
        axes.plot([], [], marker="o", lw=2.2, ms=5, label=words, **style)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)


def _dots(axes: Axes, part: pl.DataFrame, labels: list[str]) -> None:
    first = part.row(0, named=True)
    for row in part.drop_nulls("mean").iter_rows(named=True):
        _, style = _MARKS[row["standing"]]
        y = labels.index(row["algorithm"])
        low, high = (_possible(row[end], first) for end in ("low", "high"))
        top = max(low, row["mean"]) if math.isinf(high) else high
        line = {"color": style["color"], "lw": 2.2, "alpha": 0.5, "solid_capstyle": "butt"}
        axes.plot([low, top], [y, y], **line)
        if math.isinf(row["high"]):
            figures.arrows(axes, [(row["mean"], y)], style["color"], sideways=True)
        axes.plot(row["mean"], y, marker="o", ms=5, clip_on=False, **style)
    unit = f" ({first['unit']})" if first["unit"] else ""
    axes.set_title(f"{first['workload']}\n{first['metric']}{unit}", fontsize=figures.SMALLER)
    axes.set_xlabel(
        _DIRECTIONS[first["better"]], fontsize=figures.SMALLEST, color=figures.GREY, labelpad=1
    )
    axes.set_yticks(range(len(labels)), labels, fontsize=figures.SMALLER)
    axes.tick_params(axis="x", labelsize=figures.SMALLER)
    axes.margins(x=0.12)
    axes.locator_params(axis="x", nbins=4)
    axes.grid(visible=True, axis="y", color="#eeeeee")


# ---- coexistence


@dataclass(frozen=True)
class Coexistence(Curves):
    """Curves for each use of the port: how many queues it has, and whether CUBIC has ECN."""

    def __call__(self, figure: Figure, data: pl.DataFrame) -> None:
        """Draw it, with the names of the curves."""
        queues = pl.col("queues").replace({"one": "one queue", "two": "two queues"})
        ecn = pl.col("ecn").replace({"off": "CUBIC without ECN", "classic": "CUBIC with ECN"})
        named = data.with_columns(series=pl.concat_str(queues, ecn, separator=", "))
        super().__call__(figure, named)

    def limit(self, axes: Axes, panel: Panel) -> None:
        """Limit the axis of the values; that of times is the same in both panels."""
        super().limit(axes, panel)
        if panel.look.scale == "log":
            low, high = axes.get_ylim()
            axes.set_ylim(min(low, 1), max(high, 100))
