"""Tables as drawings: a row for each system, a column for each number, bold and shaded in its band.

The data of such a table has row, column, value and in_band, which is null where there is no band;
it may have `shaded`, where that is not the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from incastle.reproduction import figures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    height: float = 0.24
    """Of a row, in inches."""
    grouped: bool = False
    """Columns with the same text before the first ", " are a group, and so are rows before ": "."""

    def __call__(self, figure: Figure, data: pl.DataFrame) -> None:
        """Draw it."""
        rows = data["row"].unique(maintain_order=True).to_list()
        columns = data["column"].unique(maintain_order=True).to_list()
        figure.set_size_inches(self.width, 1.1 + self.height * (len(rows) + 1))
        axes = figure.subplots()
        self._frame(axes, rows, columns)
        shaded = data["shaded" if "shaded" in data.columns else "in_band"]
        cells = data.select("row", "column", "value", "in_band").iter_rows()
        for (row, column, value, inside), shade in zip(cells, shaded, strict=True):
            at = (columns.index(column), rows.index(row))
            self._cell(axes, at, value, inside=bool(inside), shaded=bool(shade))

    def _frame(self, axes: Axes, rows: list[str], columns: list[str]) -> None:
        """Name rows and columns, without lines of their own."""
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_yticks(range(len(rows)), self._names(rows, ": "), fontsize=self.font)
        labels = [column.replace(", ", "\n") for column in self._names(columns, ", ")]
        axes.set_xticks(range(len(columns)), labels, fontsize=self.font)
        axes.xaxis.tick_top()
        axes.grid(visible=False)
        axes.tick_params(length=0)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        for y in range(len(rows)):
            axes.axhline(y + 0.5, color="#dddddd", lw=0.6)
        if self.grouped:
            self._groups(axes, rows, columns)

    def _names(self, labels: list[str], separator: str) -> list[str]:
        """Leave out what the group says."""
        return [one.rpartition(separator)[2] for one in labels] if self.grouped else labels

    def _groups(self, axes: Axes, rows: list[str], columns: list[str]) -> None:
        """Divide the groups, and name them."""
        for first, last, name in _runs(columns, ", "):
            axes.axvline(last + 0.5, color="black", lw=0.8)
            style: dict[str, Any] = {"ha": "center", "weight": "bold", "fontsize": self.font + 1}
            axes.annotate(
                name,
                ((first + last) / 2, 1),
                xycoords=("data", "axes fraction"),
                xytext=(0, 18),
                textcoords="offset points",
                **style,
            )
        for first, last, name in _runs(rows, ": "):
            axes.axhline(last + 0.5, color="black", lw=0.8)
            axes.annotate(
                name.replace(", ", "\n"),
                (0, (first + last) / 2),
                xycoords=("axes fraction", "data"),
                xytext=(-105, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                weight="bold",
                fontsize=self.font + 1,
            )

    def _cell(
        self, axes: Axes, at: tuple[int, int], value: float, *, inside: bool, shaded: bool
    ) -> None:
        if shaded:
            sides = (at[0] - 0.5, at[0] + 0.5)
            axes.fill_between(
                sides, at[1] - 0.5, at[1] + 0.5, color=figures.GREEN, alpha=0.35, lw=0
            )
        weight = "bold" if inside else "normal"
        colour = "black" if inside or not self.grouped else figures.GREY
        axes.text(
            *at,
            printed(value),
            ha="center",
            va="center",
            fontsize=self.font,
            weight=weight,
            color=colour,
        )


def _runs(labels: list[str], separator: str) -> Iterator[tuple[int, int, str]]:
    """Give the first and last place of each group of labels, and its name."""
    places = groupby(enumerate(labels), key=lambda one: one[1].partition(separator)[0])
    for name, group in places:
        members = [place for place, _ in group]
        yield members[0], members[-1], name


def printed(value: float | None) -> str:
    """Print a number with three digits, or whole; what was not measured is a dash."""
    if value is None or math.isnan(value):
        return "-"
    if abs(value) >= _HUGE:
        return f"{value:.0e}"
    return f"{value:.0f}" if abs(value) >= _WHOLE else f"{value:.3g}"
