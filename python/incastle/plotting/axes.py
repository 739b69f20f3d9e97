"""Axes and legends that figures share."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any, Literal

from incastle.errors import PlotError
from incastle.plotting.style import MIN_PAGE_IN, STYLES, setting
from incastle.units import scale_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.container import Container
    from matplotlib.figure import Figure

    from incastle.plotting.options import Options

WIDE = 10
"""Values whose maximum is n times the minimum are drawn on a logarithmic axis."""
DECADES = 2
"""A logarithmic axis of fewer has ticks between powers of ten."""
HEIGHT = 0.6
"""Of the axes of a panel, as a share of the panel with its titles and legends."""
TICKS = 6
"""On a logarithmic axis, at most."""
PANEL = 24
"""Letters across a panel with its margins, at least."""
MIN_LETTERS = 12
"""In a line of the name of an axis."""
MARK = 9.5
"""Width of an entry's picture and margins, in letters."""
ROW = 1.6
"""Height of a row of a legend, as a multiple of the font's size."""


def is_stacked(options: Options) -> bool:
    """Return whether panels are above each other: in columns of papers, and in high figures.

    A paper's figure of another size is in a column as well, unless it is as wide as the page.
    """
    is_column = STYLES[options.style].is_column
    if options.size is None:
        return is_column
    width, height = options.size
    return width < (MIN_PAGE_IN if is_column else height)


def panels(
    figure: Figure,
    options: Options,
    rows: int,
    columns: int,
    widths: Sequence[float] | None = None,
) -> list[list[Axes]]:
    """Divide a figure; each row beyond the first makes it higher, unless its size is chosen.

    Raises:
        PlotError: the chosen size is too narrow for panels next to each other.

    """
    width, height = figure.get_size_inches()
    if options.size is None:
        figure.set_size_inches(width, height + STYLES[options.style].row * (rows - 1))
    elif columns > 1 and width < (least := columns * PANEL * letter(options, "font.size")):
        raise PlotError(
            f"{options.name('size')}: {columns} panels next to each other need {least:.1f} inches, "
            f"and {width:g} are given; panels are stacked in figures higher than wide, and with "
            f"{options.name('style')} ieee"
        )
    grid: Any = figure.subplots(rows, columns, squeeze=False, sharex="col", width_ratios=widths)
    return [list(row) for row in grid]


def in_line(
    figure: Figure, options: Options, count: int, *, stacked: bool | None = None
) -> list[Axes]:
    """Divide a figure into panels in one row, or in one column."""
    stacked = is_stacked(options) if stacked is None else stacked
    shape = (count, 1) if stacked else (1, count)
    return [axes for row in panels(figure, options, *shape) for axes in row]


def height_of(axes: Axes) -> float:
    """Return about how high a panel will be in inches, once all around it is laid out."""
    figure, place = axes.get_figure(root=True), axes.get_subplotspec()
    rows = 1 if place is None else place.get_gridspec().nrows
    return 1.0 if figure is None else HEIGHT * float(figure.get_size_inches()[1]) / rows


def wrap_name(axes: Axes, options: Options) -> None:
    """Break the name of the vertical axis into lines that fit its panel."""
    letters = int(height_of(axes) / letter(options, "font.size"))
    name = textwrap.fill(axes.get_ylabel(), max(letters, MIN_LETTERS))
    axes.set_ylabel(name, linespacing=1.0)


def name_once(figure: Figure, grid: Sequence[Sequence[Axes]], x: str, y: str) -> None:
    """Name the axes that panels share: once, in the middle."""
    last = grid[-1]
    for axes in last if len(last) % 2 == 0 else last[len(last) // 2 :][:1]:
        axes.set_xlabel(x)
    if len(grid) == 1:
        grid[0][0].set_ylabel(y)
    else:
        figure.supylabel(y)


def legend_outside(
    figure: Figure,
    axes: Axes,
    options: Options,
    remarks: Mapping[str, Artist | Container] | None = None,
) -> None:
    """Name the series above the panels, and below what else is drawn; below a title, all there.

    A single series has no entry. The legend makes the figure higher, unless its size is chosen.
    """
    found: dict[str, Any] = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    series = found if len(found) > 1 else {}
    if figure.get_suptitle():
        _legend(figure, {**series, **(remarks or {})}, options, "outside lower center")
    else:
        _legend(figure, series, options, "outside upper center")
        _legend(figure, remarks or {}, options, "outside lower center")


def _legend(
    figure: Figure,
    named: Mapping[str, Any],
    options: Options,
    where: Literal["outside upper center", "outside lower center"],
) -> None:
    """Add a legend in as many columns as fit."""
    if not named:
        return
    letters = int(figure.get_size_inches()[0] / letter(options, "legend.fontsize") - MARK)
    named = {textwrap.fill(name, max(letters, MIN_LETTERS)): of for name, of in named.items()}
    ncols = columns(figure, list(named), options)
    if options.size is None:
        width, height = figure.get_size_inches()
        # The first row has room in figures of the style's size.
        broken = sum(name.count("\n") for name in named)
        more = math.ceil(len(named) / ncols) + broken - (where == "outside upper center")
        row = ROW * setting("legend.fontsize") / 72
        figure.set_size_inches(width, height + more * row)
    # Legends are filled column by column; these are read row by row.
    names = [name for column in range(ncols) for name in list(named)[column::ncols]]
    figure.legend([named[name] for name in names], names, loc=where, ncols=ncols)


def columns(figure: Figure, labels: Sequence[str], options: Options) -> int:
    """Return how many columns a legend has room for, as it is read row by row."""
    for count in range(len(labels), 1, -1):
        lines = [max(map(len, label.split("\n"))) for label in labels]
        widths = (max(lines[column::count]) + MARK for column in range(count))
        if sum(widths) * letter(options, "legend.fontsize") <= figure.get_size_inches()[0]:
            return count
    return 1


def letter(options: Options, size: str) -> float:
    """Return the width of a letter of some size in inches."""
    return STYLES[options.style].letter * setting(size) / 72


def is_wide(values: Sequence[float]) -> bool:
    """Return whether values have different orders of magnitude, and none is 0 or below."""
    return bool(values) and min(values) > 0 and max(values) >= WIDE * min(values)


def logarithmic(axes: Axes, which: Literal["x", "y"], values: Sequence[float]) -> None:
    """Make an axis logarithmic, with plain numbers; the closer its values, the more ticks."""
    from matplotlib.ticker import LogLocator, NullLocator  # noqa: PLC0415  slow to import

    if which == "x":
        axes.set_xscale("log")
    else:
        axes.set_yscale("log")
    axis: Axis = axes.xaxis if which == "x" else axes.yaxis
    few = max(values) < 10**DECADES * min(values)
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,), numticks=TICKS))
    axis.set_major_formatter(lambda x, _: f"{x:,.0f}" if x >= 1 else f"{x:g}")
    axis.set_minor_locator(NullLocator())


def in_time(axes: Axes, latest_s: float) -> float:
    """Name a horizontal axis of time, without margins; return its unit in seconds."""
    factor, unit = scale_of([latest_s], "s")
    axes.set_xlabel(f"time ({unit})")
    axes.margins(x=0.01)
    return factor
