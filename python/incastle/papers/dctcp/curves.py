"""What several figures of dctcp have: distributions, curves over servers, dots beside each other.

All show the median over the seeds and their range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from incastle.reproduction import figures, lasting

from . import measures
from .plan import ALGORITHMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incastle.analysis.ends import Value
    from incastle.reproduction.papers import Observations

SHARES = [share / 100 for share in (*range(0, 90, 2), *range(90, 101))] + [0.995, 0.999]
"""The quantiles of a distribution that is drawn."""
WIDE = 10
"""Times from least to largest: from here on an axis is logarithmic."""
LIMITED = "TCP, windows of 512 KB"
LINES: dict[str, dict[str, Any]] = {
    "TCP": {"color": figures.RED},
    "DCTCP": {"color": figures.BLUE},
    LIMITED: {"color": figures.ORANGE, "ls": "--"},
}


def quantile(values: pl.Series, share: float) -> float:
    """Give a quantile; of nothing it is not a number."""
    found = values.quantile(share, "linear")
    return float("nan") if found is None else float(found)


def quantiles(values: pl.Series) -> list[tuple[float, float]]:
    """Give the shares of `SHARES` with their quantiles, in their order."""
    return [(share, quantile(values, share)) for share in sorted(SHARES)]


def quantiles_of(transfers: pl.DataFrame) -> list[tuple[float, Value]]:
    """Give the same of what transfers lasted, in ms."""
    return [(share, lasting.quantile(transfers, share)) for share in sorted(SHARES)]


def distributions(axes: Axes, data: pl.DataFrame, value: str) -> None:
    """Draw each series' quantiles: the median over the seeds, and their range to the upper end.

    From the first quantile on that has no upper end, an arrow says so.
    """
    top = figures.top(data, value)
    for label in data["algorithm"].unique(maintain_order=True):
        part = data.filter(pl.col("algorithm") == label)
        points = (
            part.group_by("x")
            .agg(
                pl.col(value).median().alias("median"),
                pl.col(value).min().alias("least"),
                top.max().alias("largest"),
            )
            .sort("x")
        )
        style = LINES[label]
        axes.plot(points["median"], points["x"], label=label, **style)
        axes.fill_betweenx(
            points["x"], points["least"], points["largest"], color=style["color"], alpha=0.2, lw=0
        )
        endless = set(part.filter(figures.without_end(part, value))["x"])
        rows = points.select("median", "x").iter_rows()
        first = [row for row in rows if row[1] in endless][:1]
        figures.arrows(axes, first, style["color"], sideways=True)
    axes.set_ylim(0, 1.02)


def dots(axes: Axes, data: pl.DataFrame, x: str, places: Sequence[str], y: str) -> None:
    """Draw each algorithm's median over the seeds and their range, beside each other.

    The range goes to the upper ends.
    """
    for shift, label in zip((-0.12, 0.12), ALGORITHMS.values(), strict=True):
        style = figures.STYLES[label]
        for place, value in enumerate(places):
            part = data.filter((pl.col("algorithm") == label) & (pl.col(x) == value))
            values = part[y].drop_nulls().drop_nans()
            if len(values) == 0:
                continue
            least, middle = (quantile(values, share) for share in (0, 0.5))
            tops = part.select(figures.top(part, y)).to_series().drop_nulls().drop_nans()
            most = quantile(tops, 1)
            axes.vlines(place + shift, least, most, color=style["color"], lw=1.2)
            shown = label if place == 0 else None
            axes.plot([place + shift], [middle], ls="", label=shown, **style)
            if figures.without_end(part, y).any():
                figures.arrows(axes, [(place + shift, middle)], style["color"])
    axes.set_xticks(range(len(places)), places)
    axes.grid(visible=False, axis="x")


WINDOW_2 = "DCTCP, RTO_min 10 ms, initial window 2"
_INCAST_STYLES: dict[str, dict[str, Any]] = {
    "windows of 64 KiB": {"color": figures.RED, "marker": "s", "ms": 3},
    "windows of 32 KiB": {"color": figures.ORANGE, "marker": "D", "ms": 3},
    "windows of 16 KiB": {"color": figures.GREEN, "marker": "v", "ms": 3},
    "windows of 8 KiB": {"color": figures.SKY, "marker": "^", "ms": 3},
    "TCP, RTO_min 300 ms": {"color": figures.ORANGE, "marker": "D", "ms": 3},
    "TCP, RTO_min 10 ms": {"color": figures.RED, "marker": "s", "ms": 3},
    "DCTCP, RTO_min 300 ms": {"color": figures.SKY, "marker": "^", "ms": 3},
    "DCTCP, RTO_min 10 ms": {"color": figures.BLUE, "marker": "o", "ms": 3},
    WINDOW_2: {"color": figures.GREEN, "marker": "v", "ms": 3, "ls": "--"},
}


def points(
    runs: Observations, prefix: str, series: str
) -> list[tuple[str, int, int, Value, float]]:
    """Give series, n, seed, mean_ms, timeouts_percent of the experiments `PREFIXn=N`."""
    means = measures.over_servers(runs, prefix, measures.mean_completion)
    shares = measures.over_servers(runs, prefix, measures.with_timeouts)
    return [
        (series, n, seed, mean, share)
        for n in means
        for seed, (mean, share) in enumerate(zip(means[n], shares[n], strict=True), 1)
    ]


def draw_incast(figure: Figure, data: pl.DataFrame) -> None:
    """Draw completion time and share of queries with timeouts over the number of servers."""
    figure.set_size_inches(7.2, 3.4)
    left, right = figure.subplots(1, 2)
    for series in data["series"].unique(maintain_order=True):
        part = data.filter(pl.col("series") == series)
        style = _INCAST_STYLES[series]
        figures.spread(left, part, "n", "mean_ms", label=series, **style)
        figures.spread(right, part, "n", "timeouts_percent", label=series, **style)
    if float(data["mean_ms"].max() or 0) > 50:  # type: ignore[arg-type]  # noqa: PLR2004
        left.set_yscale("log")
        left.yaxis.set_major_formatter("{x:g}")
    else:
        left.set_ylim(bottom=0)
    left.set_ylabel("mean completion time (ms)")
    right.set_ylabel("queries with a timeout (%)")
    right.set_ylim(-2, 102)
    for axes in (left, right):
        axes.set_xlabel("servers")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
