"""Axes and legends that figures share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from incastle.plotting.style import STYLES
from incastle.units import scale_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from incastle.plotting.options import Options

WIDE = 10
"""Values whose maximum is n times the minimum are drawn on a logarithmic axis."""
DECADES = 2
"""A logarithmic axis of fewer has ticks between powers of ten."""
LETTER = 0.5
"""Width of a letter, as a share of the font's size."""
ROW = 1.6
"""Height of a row of a legend, as a multiple of the font's size."""
MORE = 0.55
"""Height of a further panel, as a share of the first."""


def panels(figure: Figure, count: int, options: Options, *, stacked: bool = False) -> list[Axes]:
    """Divide a figure: panels side by side, in the column of a paper above each other."""
    stacked = stacked or STYLES[options.style].is_column
    if options.size is not None:
        stacked = stacked or options.size[0] < options.size[1]
    elif stacked:
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height * (1 + MORE * (count - 1)))
    rows, columns = (count, 1) if stacked else (1, count)
    grid: Any = figure.subplots(rows, columns, squeeze=False, sharex=True)
    return list(grid.flat)


def name_once(figure: Figure, grid: Sequence[Axes], x: str, y: str) -> None:
    """Name the axes that panels share: once, in the middle."""
    first = grid[0].get_subplotspec()
    side_by_side = first is not None and first.get_gridspec().ncols == len(grid)
    middle = grid if len(grid) % 2 == 0 else grid[len(grid) // 2 :][:1]
    for axes in middle if side_by_side else grid[-1:]:
        axes.set_xlabel(x)
    if side_by_side:
        grid[0].set_ylabel(y)
    else:
        figure.supylabel(y)


def legend_outside(
    figure: Figure, axes: Axes, options: Options, remarks: Mapping[str, Artist] | None = None
) -> None:
    """Name the series, and what else is drawn, in as many columns as fit.

    It is above the panels, or below if there is a title. A single series has no entry. Further
    rows make the figure higher, unless its size is chosen.
    """
    import matplotlib as mpl  # noqa: PLC0415  slow to import: only where figures are drawn

    found = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    named = {**(found if len(found) > 1 else {}), **(remarks or {})}
    if named:
        above: Literal["outside upper center"] = "outside upper center"
        below: Literal["outside lower center"] = "outside lower center"
        where = below if figure.get_suptitle() else above
        ncols = columns(figure, list(named))
        if options.size is None:
            width, height = figure.get_size_inches()
            more = math.ceil(len(named) / ncols) - 1
            row = ROW * float(mpl.rcParams["legend.fontsize"]) / 72
            figure.set_size_inches(width, height + more * row)
        # Legends are filled column by column; these are read row by row.
        names = [name for column in range(ncols) for name in list(named)[column::ncols]]
        figure.legend([named[name] for name in names], names, loc=where, ncols=ncols)


def columns(figure: Figure, labels: Sequence[str]) -> int:
    """Return how many columns a legend has room for."""
    import matplotlib as mpl  # noqa: PLC0415  slow to import: only where figures are drawn

    letter = LETTER * float(mpl.rcParams["legend.fontsize"]) / 72
    widest = (max(map(len, labels)) + 6) * letter
    return max(1, min(len(labels), int(figure.get_size_inches()[0] / widest)))


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
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axis.set_major_formatter("{x:,g}")
    axis.set_minor_locator(NullLocator())


def in_time(axes: Axes, latest_s: float) -> float:
    """Name a horizontal axis of time, without margins; return its unit in seconds."""
    factor, unit = scale_of([latest_s], "s")
    axes.set_xlabel(f"time ({unit})")
    axes.margins(x=0.01)
    return factor
