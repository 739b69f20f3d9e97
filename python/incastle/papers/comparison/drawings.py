"""The figures of the comparison: every number as a dot and in a table, shares, coexistence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from incastle.analysis.ends import ends, shown
from incastle.reproduction import figures, lasting
from incastle.reproduction.claims import number
from incastle.reproduction.papers import Cell, FigureSpec, Grid

from . import coexistence
from .measures import rates
from .plan import ALGORITHMS, BEGIN, WORKLOADS, runs_of
from .standings import BEST, EQUAL, NOT_RUN, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incastle.reproduction.papers import Observations

_COLUMNS = 4
"""Panels side by side."""
RTTS_US = (100, 200, 400, 800)
"""Of the four flows of mixed.toml."""
STYLES: dict[str, dict[str, Any]] = {
    "NewReno": {"color": figures.RED, "marker": "s"},
    "SACK + ECN": {"color": figures.ORANGE, "marker": "D"},
    "CUBIC": {"color": figures.BLACK, "marker": "v", "ls": "--"},
    "DCTCP": {"color": figures.BLUE, "marker": "o"},
    "D2TCP": {"color": figures.OLIVE, "marker": "P"},
    "DT-DCTCP": {"color": figures.SKY, "marker": "^", "ls": "-."},
    "DT-CWA": {"color": figures.GREEN, "marker": "x", "ls": ":"},
    "QCN VI": {"color": figures.PURPLE, "marker": "*", "ls": (0, (5, 1))},
}


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
    count = ends(lasting.read(row, "mean")).unfinished
    return "; ".join([*parts, *([f"{count} unfinished"] if count else [])])


def draw_workloads(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a panel for each metric, a line for each algorithm: the mean and its interval."""
    panels = [part for _, part in data.group_by("key", maintain_order=True)]
    labels = data["algorithm"].unique(maintain_order=True).to_list()
    lines = -(-len(panels) // _COLUMNS)
    figure.set_size_inches(8.4, 0.6 + 1.75 * lines)
    panes = figure.subplots(lines, _COLUMNS, squeeze=False, sharey=True).flatten()
    for axes, part in zip(panes, panels, strict=False):
        _dots(axes, part, labels)
    for axes in panes[len(panels) :]:
        axes.set_axis_off()
    panes[0].invert_yaxis()
    _legend(figure)


_MARKS: dict[str, tuple[str, dict[str, Any]]] = {
    BEST: ("best", {"color": figures.GREEN, "mfc": figures.GREEN}),
    EQUAL: ("not told apart from the best", {"color": figures.BLUE, "mfc": "white"}),
    "": ("other", {"color": figures.GREY, "mfc": figures.GREY}),
}


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
        top = max(row["low"], row["mean"]) if math.isinf(row["high"]) else row["high"]
        axes.plot([row["low"], top], [y, y], color=style["color"], lw=2.2, alpha=0.5)
        if math.isinf(row["high"]):
            figures.arrows(axes, [(row["mean"], y)], style["color"], sideways=True)
        axes.plot(row["mean"], y, marker="o", ms=5, clip_on=False, **style)
    unit = f" ({first['unit']})" if first["unit"] else ""
    axes.set_title(f"{first['workload']}\n{first['metric']}{unit}", fontsize=7.5)
    axes.set_yticks(range(len(labels)), labels, fontsize=7)
    axes.tick_params(axis="x", labelsize=7)
    axes.margins(x=0.12)
    axes.locator_params(axis="x", nbins=4)
    axes.grid(visible=True, axis="y", color="#eeeeee")


# ---- shares of mixed round trips


def shares(runs: Observations) -> pl.DataFrame:
    """Give algorithm, rtt_us, seed, share (of a fair share, in %)."""
    rows = []
    for key, algorithm in ALGORITHMS.items():
        for seed, run in enumerate(runs.runs.get(runs_of("mixed", key) or "", ()), 1):
            found = rates(run, BEGIN["mixed"])
            for rtt, rate in zip(RTTS_US, found, strict=True):
                share = 100 * rate * len(found) / sum(found)
                rows.append((algorithm.label, rtt, seed, share))
    return pl.DataFrame(rows, schema=["algorithm", "rtt_us", "seed", "share"], orient="row")


def draw_shares(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a curve for each algorithm."""
    figure.set_size_inches(6.4, 3.6)
    axes = figure.subplots()
    for label in data["algorithm"].unique(maintain_order=True):
        part = data.filter(pl.col("algorithm") == label)
        figures.spread(axes, part, "rtt_us", "share", label=label, **STYLES[label])
    axes.axhline(100, color=figures.GREY, lw=0.9, ls=(0, (4, 3)))
    axes.set_xscale("log")
    axes.set_xticks(RTTS_US, [str(rtt) for rtt in RTTS_US])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("round trip without queues (µs)")
    axes.set_ylabel("throughput (% of a fair share)")
    figure.legend(loc="outside right center")


FIGURES = (
    FigureSpec(
        number="workloads",
        title="Eight algorithms, six workloads: what wins where",
        caption="Mean over the seeds and its 95 % interval; p95 and p99 are percentiles. Best is "
        "the best mean; not told apart is whose interval overlaps that of a best one. The table "
        "below has the same numbers (↓: low is better, ↑: high): the best is framed, its equals "
        "are underlined, intervals show under the pointer. D2TCP is DCTCP where nothing has a "
        "deadline. Slowdown is the time of a message over that of its bytes at the link's rate "
        "and one round trip.",
        uses=tuple(f"{workload}/" for workload in WORKLOADS),
        claims=(),
        data=table,
        draw=draw_workloads,
        grid=grid,
    ),
    FigureSpec(
        number="rtt",
        title="Who gets how much when round trips differ",
        caption="Four flows at one port, of 100, 200, 400 and 800 µs; median over the seeds and "
        "their range. Dashed: a fair share.",
        uses=("mixed/",),
        claims=(),
        data=shares,
        draw=draw_shares,
    ),
    coexistence.FIGURE,
)
