"""Points with their intervals: what unfinished transfers leave open, and the spread over seeds.

A point has a marker where its value is one number, hollow where flows of it were unfinished. Where
only bounds are known, a bar has no marker; an arrow begins at a lower bound without an upper one.
How many were unfinished stands at the top of the axis, a row per series.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from incastle.plotting.style import GREY
from incastle.units import DIGITS

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.transforms import Transform

OPEN, BOUNDS, ENDLESS = "some flows unfinished", "between bounds", "no upper bound"
COUNTED = "number of unfinished flows"
STRETCH = 1.35
"""An arrow on a logarithmic axis: its end over its beginning."""
ROW = 1.2
"""The height of a row of numbers, in letters of its size."""
ALIKE = 0.5 * 10.0 ** (1 - DIGITS)
"""Ends that differ by less of their value are written alike."""
APART, AT_MOST = 3.5, 8.0
"""Points between the markers of series that have the same place, in the order of the legend: of
two, and of the first and the last."""


def shifted(axes: Axes, place: int, count: int) -> Transform:
    """Return the data's transform, moved aside so that n series do not hide each other."""
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415  slow to import

    apart = min(APART, AT_MOST / max(1, count - 1))
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


def curve(
    axes: Axes,
    data: pl.DataFrame,
    arrow: float | None,
    bottom: float = 0.0,
    **style: Any,  # noqa: ANN401
) -> None:
    """Draw points with bars for the 95 % interval of their mean, or for their bounds.

    Args:
        axes: where to.
        data: x, low, high, mean_from, mean_to (null with one seed) and optionally unfinished, how
            many flows of the point were; sorted by x.
        arrow: the length of an arrow in units of the axis; none if that is logarithmic.
        bottom: the end of the axis: bars that begin below it begin there.
        style: colour, line style, marker, label, and a transform such as `shifted`.

    """
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    color = style["color"]
    # What is moved aside, as bars are, has no part in the limits of an axis.
    axes.update_datalim([(x, 0.0) for x in data["x"]], updatey=False)
    axes.autoscale_view(scaley=False)
    known = is_known()
    axes.plot(data["x"], data.select(pl.when(known).then("low").otherwise(math.nan)), **style)
    hollow = data.filter(known & _is_open(data))
    if len(hollow):
        inside = {"mfc": "white", "linestyle": "", "label": "_open", "zorder": 2.5}
        axes.plot(hollow["x"], hollow["low"], **{**style, **inside})
    bars = data.filter(~known | pl.col("mean_from").is_not_null()).with_columns(
        begin=pl.coalesce("mean_from", "low").clip(bottom), end=pl.coalesce("mean_to", "high")
    )
    # Without an upper bound, the bar is that of the lower bounds' mean, and an arrow begins there.
    endless = pl.col("high").is_infinite()
    bars = bars.with_columns(end=pl.when(endless).then("low").otherwise("end").clip(bottom))
    errors: dict[str, Any] = {"fmt": "none", "ecolor": color, "elinewidth": 1.0, "capsize": 1.5}
    errors["transform"] = style.get("transform", axes.transData)
    if len(bars):
        height = bars["end"] - bars["begin"]
        axes.errorbar(bars["x"], bars["begin"], yerr=[0 * height, height], **errors)
    raised = bars.filter(endless)
    if len(raised):
        reach = raised["end"] * (STRETCH - 1) if arrow is None else arrow
        axes.errorbar(raised["x"], raised["end"], yerr=reach, lolims=True, **errors)


def count_unfinished(axes: Axes, data: pl.DataFrame, row: int, color: str) -> None:
    """Write how many flows of each point were unfinished, in a row of its own for each series."""
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    if "unfinished" not in data.columns:
        return
    for one in data.filter(pl.col("unfinished") > 0).iter_rows(named=True):
        axes.annotate(
            f"{one['unfinished']:,}",
            (one["x"], 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, -1.0 - ROW * row),
            textcoords=("offset fontsize", "offset fontsize"),
            size="xx-small",
            color=color,
            ha="center",
            va="center",
        )


def remarks(data: pl.DataFrame) -> dict[str, Artist]:
    """Return what a legend has to say of the points that are drawn, with a picture of each."""
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn
    from matplotlib.lines import Line2D  # noqa: PLC0415

    known = is_known()
    endless = pl.col("high").is_infinite()
    counted = pl.col("unfinished") > 0 if "unfinished" in data.columns else pl.lit(value=False)
    pictures = {
        COUNTED: (counted, "$n$"),
        OPEN: (known & _is_open(data), "o"),
        BOUNDS: (~known & ~endless, "|"),
        ENDLESS: (endless, "^"),
    }
    style: dict[str, Any] = {"color": GREY, "linestyle": ""}
    return {
        words: Line2D([], [], marker=marker, mfc="white" if words == OPEN else GREY, **style)
        for words, (which, marker) in pictures.items()
        if len(data.filter(which))
    }


def shade(words: str) -> dict[str, Artist]:
    """Return the same of a band."""
    from matplotlib.patches import Patch  # noqa: PLC0415  slow to import

    return {words: Patch(color=GREY, alpha=0.3, lw=0)}
