"""Figures of papers: curves with their spread over seeds, and the files of each.

A figure is drawn from one table and from nothing else; that table is with it, as CSV. Rendering
therefore needs neither runs nor papers and can happen in another process. The style is that of
`incastle.plotting.style`; its colours and sizes are here, too: a drawing imports one module.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incastle.plotting.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    OLIVE,
    ORANGE,
    PURPLE,
    RED,
    SERIES,
    SKY,
    SMALL,
    SMALLER,
    SMALLEST,
    TEXT,
    TITLE,
    canvas,
    encode,
)
from incastle.storage.compressed import CSV, write_csv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BLACK",
    "BLUE",
    "DIGITS",
    "GREEN",
    "GREY",
    "HIGH",
    "OLIVE",
    "ORANGE",
    "PURPLE",
    "RED",
    "SERIES",
    "SKY",
    "SMALL",
    "SMALLER",
    "SMALLEST",
    "STYLES",
    "TEXT",
    "TITLE",
    "UNFINISHED",
    "Drawing",
    "arrows",
    "bars",
    "level",
    "mark",
    "render",
    "spread",
    "top",
    "without_end",
]

STYLES: dict[str, dict[str, Any]] = {
    "TCP": {"color": RED, "marker": "s"},
    "DCTCP": {"color": BLUE, "marker": "o"},
}
HIGH, UNFINISHED = "_high", "_unfinished"
"""Suffixes of a column of lower ends: for its upper ends, and the number unfinished."""


DIGITS = 12
"""Of numbers in a report's data: what comes after is rounding, and a tenth of it."""
SVG, PNG = "svg", "png"
DPI, COLOURS = 144, 64
"""Of a PNG in a page: somewhat wider than its column, and enough for the edges of letters."""
SMALL_BYTES = 16_000
"""Of an SVG: a PNG of that width is larger, and is not tried."""


@dataclass(frozen=True)
class Drawing:
    """One figure to be rendered: where to, from which table, by which function.

    `formats` are those that it is written in for other uses than the page.
    """

    stem: Path
    data: pl.DataFrame
    draw: Callable[[Figure, pl.DataFrame], None]
    formats: tuple[str, ...] = ()

    def files(self) -> list[str]:
        """Give its files as a page names them, once it is rendered: the picture is the first."""
        place = f"{self.stem.parent.name}/{self.stem.name}"
        forms = [form for form in (SVG, PNG, "pdf") if self.stem.with_suffix(f".{form}").exists()]
        return [*(f"{place}.{form}" for form in forms), f"{place}{CSV}"]


def render(drawing: Drawing) -> None:
    """Write a figure as a picture for a page and in its formats, and its table."""
    from polars import selectors  # noqa: PLC0415  slow to import: only where figures are drawn

    drawing.stem.parent.mkdir(parents=True, exist_ok=True)
    rounded = drawing.data.with_columns(selectors.float().round_sig_figs(DIGITS))
    write_csv(drawing.stem.with_suffix(CSV), rounded.write_csv())
    with canvas() as figure:
        drawing.draw(figure, drawing.data)
        _tell_unfinished(figure, drawing.data)
        figure.get_layout_engine().execute(figure)  # type: ignore[union-attr]
        figure.set_layout_engine("none")  # laid out once, not once per format
        pictures = _picture(figure) | {form: encode(figure, form) for form in drawing.formats}
    for form, content in pictures.items():
        drawing.stem.with_suffix(f".{form}").write_bytes(content)


def _picture(figure: Figure) -> dict[str, bytes]:
    """Give a figure for a page: as SVG, or as PNG where that is smaller, of many points.

    A report has nearly a hundred figures, which would be most of its size.
    """
    from incastle.small_svg import HatchError, small_svg  # noqa: PLC0415

    try:
        vector = small_svg(figure).encode()
    except HatchError:
        return {PNG: _pixels(figure)}
    if len(vector) > SMALL_BYTES and len(pixels := _pixels(figure)) < len(vector):
        return {PNG: pixels}
    return {SVG: vector}


def _pixels(figure: Figure) -> bytes:
    """Give a figure as a small PNG."""
    import matplotlib as mpl  # noqa: PLC0415  slow to import: only where figures are drawn
    from PIL import Image  # noqa: PLC0415

    with mpl.rc_context({"savefig.dpi": DPI}):
        raster = encode(figure, PNG)
    png = io.BytesIO()
    whole = Image.open(io.BytesIO(raster)).convert("RGB")
    whole.quantize(COLOURS, dither=Image.Dither.NONE).save(png, PNG, optimize=True)
    return png.getvalue()


def _tell_unfinished(figure: Figure, data: pl.DataFrame) -> None:
    """Say in small print that transfers were unfinished, and how that is drawn."""
    counts = [max(data[name]) for name in data.columns if name.endswith(UNFINISHED)]
    if counts:
        words = (
            f"up to {max(counts)} unfinished at the end of a run: lower ends are drawn; bands and "
            "bars reach to the upper ends, arrows stand where there is none"
        )
        figure.suptitle(words, x=0.01, ha="left", fontsize=SMALLEST, color=GREY)


def spread(axes: Axes, data: pl.DataFrame, x: str, y: str, **style: Any) -> None:  # noqa: ANN401
    """Draw the median over the seeds as a line and the range from least to largest as a band.

    Where there are upper ends, the line is that of the lower ends, and the band goes up to them.
    """
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    points = (
        data.group_by(x)
        .agg(
            pl.col(y).median().alias("median"),
            pl.col(y).min().alias("min"),
            top(data, y).max().alias("max"),
        )
        .sort(x)
    )
    axes.plot(points[x], points["median"], **style)
    axes.fill_between(
        points[x], points["min"], points["max"], color=style["color"], alpha=0.2, lw=0
    )
    endless = set(data.filter(without_end(data, y))[x])
    rows = points.select(x, "median").iter_rows()
    arrows(axes, [row for row in rows if row[0] in endless], style["color"])


def top(data: pl.DataFrame, value: str) -> pl.Expr:
    """Give the upper ends of a column, as far as they are finite; without them the column."""
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    if f"{value}{HIGH}" not in data.columns:
        return pl.col(value)
    upper = pl.col(f"{value}{HIGH}")
    return pl.when(upper.is_infinite()).then(pl.col(value)).otherwise(upper)


def without_end(data: pl.DataFrame, value: str) -> pl.Series:
    """Tell of each row of a table whether a value has no upper end."""
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    if f"{value}{HIGH}" not in data.columns:
        return pl.Series([False] * len(data), dtype=pl.Boolean)
    return (data[f"{value}{HIGH}"].is_infinite() & data[value].is_finite()).fill_null(value=False)


def bars(
    axes: Axes,
    data: pl.DataFrame,
    value: str,
    places: Sequence[float],
    color: str,
    *,
    sideways: bool = False,
) -> None:
    """Lead each point up, or to the right, to its upper end: by a bar, or an arrow without one."""
    if f"{value}{HIGH}" not in data.columns:
        return
    draw = axes.hlines if sideways else axes.vlines
    draw(places, data[value], data.select(top(data, value)).to_series(), color, lw=1.2)
    rows = zip(places, data[value], without_end(data, value), strict=True)
    points = [(low, at) if sideways else (at, low) for at, low, endless in rows if endless]
    arrows(axes, points, color, sideways=sideways)


def arrows(
    axes: Axes, points: Iterable[tuple[float, float]], color: str, *, sideways: bool = False
) -> None:
    """Draw an arrow from each point, upwards or to the right: the value is at least that."""
    for x, y in points:
        axes.annotate(
            "",
            (x, y),
            xytext=(11, 0) if sideways else (0, 11),
            textcoords="offset points",
            arrowprops={"arrowstyle": "<-", "color": color, "lw": 0.9, "shrinkA": 0, "shrinkB": 2},
            annotation_clip=False,
        )


def level(axes: Axes, values: pl.Series, **style: Any) -> None:  # noqa: ANN401
    """Draw what does not depend on x: the median as a horizontal line, the range as a band."""
    axes.axhline(float(values.median()), **style)  # type: ignore[arg-type]
    axes.axhspan(
        float(values.min()),  # type: ignore[arg-type]
        float(values.max()),  # type: ignore[arg-type]
        color=style["color"],
        alpha=0.2,
        lw=0,
    )


def mark(axes: Axes, x: float, text: str, *, y: float = 0.02, side: str = "left") -> None:
    """Draw a vertical reference line with its name along it, `y` high in shares of the axes."""
    axes.axvline(x, color=GREY, lw=0.9, ls=(0, (4, 3)))
    axes.annotate(
        text,
        (x, y),
        xycoords=("data", "axes fraction"),
        xytext=(3 if side == "left" else -3, 0),
        textcoords="offset points",
        ha=side,
        color=GREY,
        fontsize=SMALL,
    )
