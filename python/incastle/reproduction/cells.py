"""Tables as drawings, which declarations name: a row for each system, a column for each number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from incastle.reproduction import figures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LARGE = 10_000


@dataclass(frozen=True)
class Cells:
    """A table as a drawing: a row for each system, a column for each number.

    The data has row, column, value and in_band, which is null where there is no band: bold, and
    shaded unless `shaded` says otherwise. `text` is what a cell shows in the place of its value,
    `faint` whether it is grey.
    """

    width: float = 7.6
    font: float = figures.SMALL
    height: float = 0.24
    """Of a row, in inches."""
    grouped: bool = False
    """Columns with the same text before the first ", " are a group, and so are rows before ": "."""

    def __call__(self, figure: Figure, data: pl.DataFrame) -> None:
        """Draw it."""
        rows, columns = (
            data[name].unique(maintain_order=True).to_list() for name in ("row", "column")
        )
        figure.set_size_inches(self.width, 1.1 + self.height * (len(rows) + 1))
        axes = figure.subplots()
        self._frame(axes, rows, columns)
        for cell in data.iter_rows(named=True):
            at = (columns.index(cell["column"]), rows.index(cell["row"]))
            self._cell(axes, at, cell)

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
        style: dict[str, Any] = {
            "textcoords": "offset points",
            "weight": "bold",
            "fontsize": self.font + 1,
        }
        lines = max(name.count("\n") for name in self._names(columns, ", "))
        above = 18 + 1.2 * self.font * lines
        for first, last, name in _groups(columns, ", "):
            axes.axvline(last + 0.5, color="black", lw=0.8)
            place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "xytext": (0, above)}
            place["ha"] = "center"
            axes.annotate(name, ((first + last) / 2, 1), **place, **style)
        grouped = [row for row in rows if ": " in row]
        for first, last, name in _groups(grouped, ": "):
            axes.axhline(last + 0.5, color="black", lw=0.8)
            place = {"xycoords": ("axes fraction", "data"), "xytext": (-105, 0), "ha": "right"}
            words = name.replace(", ", "\n")
            axes.annotate(words, (0, (first + last) / 2), va="center", **place, **style)

    def _cell(self, axes: Axes, at: tuple[int, int], cell: Mapping[str, Any]) -> None:
        inside = bool(cell["in_band"])
        if cell.get("shaded", inside):
            sides = (at[0] - 0.5, at[0] + 0.5)
            style: dict[str, Any] = {"color": figures.GREEN, "alpha": 0.35, "lw": 0}
            axes.fill_between(sides, at[1] - 0.5, at[1] + 0.5, **style)
        axes.text(
            *at,
            cell.get("text") or printed(cell["value"]),
            ha="center",
            va="center",
            fontsize=self.font,
            weight="bold" if inside else "normal",
            color=figures.GREY if cell.get("faint", self.grouped and not inside) else "black",
        )


def _groups(labels: Iterable[str], separator: str) -> Iterator[tuple[int, int, str]]:
    """Give the first and last place of each group of labels, and its name."""
    places = groupby(enumerate(labels), key=lambda one: one[1].partition(separator)[0])
    for name, group in places:
        members = [place for place, _ in group]
        yield members[0], members[-1], name


def printed(value: float | None) -> str:
    """Print a number with three digits, or whole; what was not measured is a dash."""
    if value is None or math.isnan(value):
        return "-"
    if abs(value) >= _LARGE:
        return f"{value:.0e}"
    return f"{value:.0f}" if abs(value) >= 1_000 else f"{value:.3g}"  # noqa: PLR2004
