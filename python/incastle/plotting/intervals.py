"""Points with their intervals: what unfinished transfers leave open, and the spread over seeds.

A thin bar with caps is the 95 % interval of the mean. A point has a marker where its value is one
number, hollow where flows of it were unfinished. Where only bounds are known, a wide pale bar spans
them, without a marker; an arrow begins at a lower one without an upper one. How many were
unfinished stands at the top of the axis, a row per series.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from incastle.plotting.axes import height_of
from incastle.plotting.style import GREY, setting
from incastle.units import DIGITS

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import Container
    from matplotlib.transforms import Transform

OPEN, COUNTED = "some {} unfinished", "number of unfinished {}"
BOUNDS, ENDLESS = "between the bounds: unfinished {}", "no upper bound"
CUT = "interval cut at its lower end"
"""Words of legends, about flows or rounds."""
BIN = "between the bounds: lengths that share a bin"
"""The same of percentiles of queues, which no flow leaves open."""
THIN_BAR, WIDE_BAR, CAP = 0.75, 3.0, 1.1
"""Widths of the bars of intervals, of what is between bounds, and of caps, in those of lines."""
PALE: dict[str, Any] = {"alpha": 0.4}
ARROW = 9.0
"""Length of an arrow, in widths of lines."""
ROW = 1.1
"""The height of a row of numbers, in letters of its size."""
SMALLEST = 0.75
"""Size of numbers in panels, in the font's size: 6 points in columns of papers."""
EDGE = 0.6
"""From the edge of a panel to the middle of its first number, in letters of its size."""
ALIKE = 0.5 * 10.0 ** (1 - DIGITS)
"""Ends that differ by less of their value are written alike."""
APART, AT_MOST = 0.9, 2.0
"""Markers, between the markers of series that have the same place, in the order of the legend: of
two, and of the first and the last."""


def shifted(axes: Axes, place: int, count: int) -> Transform:
    """Return the data's transform, moved aside so that n series do not hide each other."""
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415  slow to import

    apart = min(APART, AT_MOST / max(1, count - 1)) * setting("lines.markersize")
    aside = apart * (place - (count - 1) / 2) / 72
    figure = axes.get_figure(root=True)
    if figure is None:
        return axes.transData
    return axes.transData + ScaledTranslation(aside, 0, figure.dpi_scale_trans)


def is_known() -> pl.Expr:
    """Return whether a point is one number: its ends are read alike in the digits of tables."""
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    return pl.col("high") - pl.col("low") <= ALIKE * pl.col("low").abs()


def _is_open(data: pl.DataFrame) -> pl.Expr:
    """Return whether flows of a point were unfinished, as far as that can be told."""
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    apart = pl.col("low") != pl.col("high")
    return apart | (pl.col("unfinished") > 0) if "unfinished" in data.columns else apart


def is_cut(bottom: float) -> pl.Expr:
    """Return whether an interval ends at the least value that is drawn, and would go on."""
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    return (pl.col("mean_from") <= bottom) & (pl.col("low") > bottom)


def curve(
    axes: Axes,
    data: pl.DataFrame,
    bottom: float = 0.0,
    least: float = 0.0,
    **style: Any,  # noqa: ANN401
) -> None:
    """Draw points with the 95 % interval of their mean, or with their bounds.

    Args:
        axes: where to.
        data: x, low, high, mean_from, mean_to (null with one seed) and optionally unfinished, how
            many flows of the point were; sorted by x.
        bottom: the end of the axis: bars that begin below it begin there, with a sign.
        least: the least possible value, at which intervals end, with the same sign.
        style: colour, line style, marker, label, and a transform such as `shifted`.

    """
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    # What is moved aside, as bars are, has no part in the limits of an axis.
    axes.update_datalim([(x, 0.0) for x in data["x"]], updatey=False)
    axes.autoscale_view(scaley=False)
    known, endless = is_known(), pl.col("high").is_infinite()
    axes.plot(data["x"], data.select(pl.when(known).then("low").otherwise(math.nan)), **style)
    hollow = data.filter(known & _is_open(data))
    if len(hollow):
        inside = {"mfc": "white", "linestyle": "", "label": "_open", "zorder": 2.5}
        axes.plot(hollow["x"], hollow["low"], **{**style, **inside})
    width = setting("lines.linewidth")
    same: dict[str, Any] = {"transform": style.get("transform", axes.transData)}
    # Without an upper bound, the interval is that of the lower bounds' mean.
    means = data.drop_nulls("mean_from").with_columns(
        begin=pl.col("mean_from").clip(bottom),
        end=pl.when(endless).then("low").otherwise("mean_to").clip(bottom),
    )
    if len(means):
        height = means["end"] - means["begin"]
        thin = {"elinewidth": THIN_BAR * width, "capsize": CAP * width, "ecolor": style["color"]}
        ends = [0 * height, height]
        axes.errorbar(means["x"], means["begin"], ends, fmt="none", **thin, **same)
    if len(cut := means.filter(is_cut(max(bottom, least)))):
        sign: dict[str, Any] = {"color": style["color"], "clip_on": False, **_caret(), **same}
        axes.plot(cut["x"], cut["begin"], label="_cut", **sign)
    pale = {"color": style["color"], **PALE, **same}
    between = data.filter(~known & ~endless)
    if len(between):
        wide: dict[str, Any] = {"lw": WIDE_BAR * width, "capstyle": "projecting", **pale}
        axes.vlines(between["x"], between["low"].clip(bottom), between["high"], **wide)
    raised = data.filter(endless)
    if len(raised):
        axes.plot(raised["x"], raised["low"].clip(bottom), label="_endless", **_arrow(), **pale)


def _caret() -> dict[str, Any]:
    """Return the marker of an interval that is cut, with its tip there."""
    from matplotlib.markers import CARETDOWN  # noqa: PLC0415  slow to import

    return {"marker": CARETDOWN, "ms": setting("lines.markersize"), "linestyle": ""}


def _arrow(below: float = 0.0) -> dict[str, Any]:
    """Return the marker of a lower bound without an upper one: a wide arrow that begins there.

    In a legend a share of it is below its place.
    """
    from matplotlib.path import Path  # noqa: PLC0415  slow to import

    shape = [(-0.15, 0), (-0.15, 0.6), (-0.3, 0.6), (0, 1), (0.3, 0.6), (0.15, 0.6), (0.15, 0)]
    outline = [(x, y - below) for x, y in (*shape, shape[0])]
    # A marker of some size reaches half of it from its origin.
    size = 2 * max(below, 1 - below) * ARROW * setting("lines.linewidth")
    return {"marker": Path(outline, closed=True), "ms": size, "mew": 0, "linestyle": ""}


def _is_counted(axes: Axes, data: pl.DataFrame, *, own: bool) -> bool:
    """Return whether numbers stand in a panel: those of panels above each other are the same."""
    place = axes.get_subplotspec()
    return "unfinished" in data.columns and (own or place is None or place.is_first_row())


def headroom(axes: Axes, data: pl.DataFrame, rows: int, *, own: bool = False) -> float:
    """Return the share of an axis, at most a half, for what stands above the highest value.

    Numbers stand in panels of the first row, in others where they have flows of their `own`.
    """
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    points = setting("lines.markersize")
    if data["high"].is_infinite().any():
        points += ARROW * setting("lines.linewidth")
    if _is_counted(axes, data, own=own) and len(data.filter(pl.col("unfinished") > 0)):
        points += (EDGE + ROW * rows) * SMALLEST * setting("font.size")
    return min(0.5, points / 72 / height_of(axes))


def count_unfinished(
    axes: Axes, data: pl.DataFrame, row: int, color: str, *, own: bool = False
) -> None:
    """Write how many flows of each point were unfinished, in a row of its own for each series."""
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    if not _is_counted(axes, data, own=own):
        return
    for one in data.filter(pl.col("unfinished") > 0).iter_rows(named=True):
        axes.annotate(
            f"{one['unfinished']:,}",
            (one["x"], 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, -EDGE - ROW * row),
            textcoords=("offset fontsize", "offset fontsize"),
            size=SMALLEST * setting("font.size"),
            color=color,
            ha="center",
            va="center",
        )


def in_corner(axes: Axes, text: str, row: int, color: str, *, left: bool) -> None:
    """Write a number in a row of the lower left or right corner."""
    axes.annotate(
        text,
        (0 if left else 1, 0),
        xycoords="axes fraction",
        xytext=(0.5 if left else 0, 1.0 + ROW * row),
        textcoords=("offset fontsize", "offset fontsize"),
        size=SMALLEST * setting("font.size"),
        color=color,
        ha="left" if left else "right",
        va="center",
    )


def remarks(
    data: pl.DataFrame, counted: str = "flows", bottom: float = 0.0
) -> dict[str, Artist | Container]:
    """Return what a legend has to say of the points that are drawn, with a picture of each.

    Args:
        data: the points, as for `curve`.
        counted: what may be unfinished.
        bottom: the end of the axis, or a higher least possible value.

    """
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn
    from matplotlib.lines import Line2D  # noqa: PLC0415

    known = is_known()
    endless = pl.col("high").is_infinite()
    some = pl.col("unfinished") > 0 if "unfinished" in data.columns else pl.lit(value=False)
    wide = WIDE_BAR * setting("lines.linewidth")
    pictures: dict[str, tuple[pl.Expr, dict[str, Any]]] = {
        COUNTED: (some, {"marker": "$n$"}),
        OPEN: (known & _is_open(data), {"marker": "o", "mfc": "white"}),
        BOUNDS if "unfinished" in data.columns else BIN: (
            ~known & ~endless,
            {"marker": "|", "mew": wide, "ms": 2 * wide, **PALE},
        ),
        ENDLESS: (endless, {**_arrow(below=0.5), **PALE}),
        CUT: (is_cut(bottom), _caret()),
    }
    found: dict[str, Artist | Container] = {
        words.format(counted): Line2D([], [], color=GREY, **{"linestyle": "", **style})
        for words, (which, style) in pictures.items()
        if len(data.filter(which))
    }
    seeds = data.drop_nulls("mean_from")["runs"]
    if len(seeds):
        found = {of_seeds(max(seeds)): _capped_bar(), **found}
    return found


def of_seeds(count: int) -> str:
    """Name the interval of a mean in legends."""
    return f"95 % interval over {count} seeds"


def _capped_bar() -> Container:
    """Return the picture of an interval."""
    from matplotlib.collections import LineCollection  # noqa: PLC0415  slow to import
    from matplotlib.container import ErrorbarContainer  # noqa: PLC0415
    from matplotlib.lines import Line2D  # noqa: PLC0415

    caps = tuple(Line2D([], [], color=GREY, marker="_", ms=3) for _ in range(2))
    bar = LineCollection([], colors=[GREY], linewidths=[1.0])
    parts = (Line2D([], [], linestyle=""), caps, (bar,))
    return ErrorbarContainer(parts, has_yerr=True)


def shade(words: str) -> dict[str, Artist | Container]:
    """Return the same of a band."""
    from matplotlib.patches import Patch  # noqa: PLC0415  slow to import

    return {words: Patch(color=GREY, alpha=0.3, lw=0)}
