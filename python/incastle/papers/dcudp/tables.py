"""Tables as drawings: a row for each system, a column for each number, shaded in its band.

The data of such a table has row, column, value and in_band, which is null where there is no band.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from incastle import figures

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Cell: TypeAlias = tuple[str, str, float, bool | None]
_SCHEMA = {"row": pl.String, "column": pl.String, "value": pl.Float64, "in_band": pl.Boolean}
_WHOLE, _HUGE = 1_000, 10_000


def frame(cells: Iterable[Cell]) -> pl.DataFrame:
    """Give the table of these cells."""
    return pl.DataFrame(list(cells), schema=_SCHEMA, orient="row")


@dataclass(frozen=True)
class DrawTable:
    """The drawing: data alone, so that another process can draw it."""

    width: float = 7.6
    font: float = 8

    def __call__(self, figure: Figure, data: pl.DataFrame) -> None:
        """Draw it."""
        rows = data["row"].unique(maintain_order=True).to_list()
        columns = data["column"].unique(maintain_order=True).to_list()
        figure.set_size_inches(self.width, 1.1 + 0.24 * (len(rows) + 1))
        axes = figure.subplots()
        self._frame(axes, rows, columns)
        for row, column, value, inside in data.iter_rows():
            self._cell(axes, (columns.index(column), rows.index(row)), value, inside=bool(inside))

    def _frame(self, axes: Axes, rows: list[str], columns: list[str]) -> None:
        """Name rows and columns, without lines of their own."""
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_yticks(range(len(rows)), rows, fontsize=self.font)
        labels = [column.replace(", ", "\n") for column in columns]
        axes.set_xticks(range(len(columns)), labels, fontsize=self.font)
        axes.xaxis.tick_top()
        axes.grid(visible=False)
        axes.tick_params(length=0)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        for y in range(len(rows)):
            axes.axhline(y + 0.5, color="#dddddd", lw=0.6)

    def _cell(self, axes: Axes, at: tuple[int, int], value: float, *, inside: bool) -> None:
        box = {"facecolor": figures.GREEN, "alpha": 0.25, "lw": 0, "pad": 2} if inside else None
        axes.text(*at, printed(value), ha="center", va="center", fontsize=self.font, bbox=box)


def printed(value: float | None) -> str:
    """Print a number with three digits, or whole; what was not measured is a dash."""
    if value is None or math.isnan(value):
        return "-"
    if abs(value) >= _HUGE:
        return f"{value:.0e}"
    return f"{value:.0f}" if abs(value) >= _WHOLE else f"{value:.3g}"
