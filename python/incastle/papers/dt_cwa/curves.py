"""Curves of all readings: a column of panels for each pair of thresholds, a row for each number.

The table of such a figure has row, marker, series, x, seed and value. What does not depend on the
thresholds, DCTCP, is in every column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from incastle.reproduction import figures, lasting

from .readings import DCTCP, MARKERS, REACTIONS, SWITCH_ALONE, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incastle.ends import Value
    from incastle.reproduction.papers import Observations

    from .readings import System
    from .runs import Values

SENDER = "DCTCP's sender"
STYLES: dict[str, dict[str, Any]] = {
    "DCTCP": {"color": figures.BLUE, "marker": "o"},
    "subtract": {"color": figures.RED, "marker": "s"},
    "subtract, notification": {"color": figures.ORANGE, "marker": "D"},
    "subtract, loss": {"color": figures.PURPLE, "marker": "^"},
    "absolute": {"color": figures.GREEN, "marker": "x", "ls": "--"},
    "printed": {"color": figures.BLACK, "marker": "v", "ls": ":"},
    SENDER: {"color": figures.SKY, "marker": "+", "ls": "-."},
}
THRESHOLDS = {
    "as-printed": "as-printed (35, 30)",
    "dt-dctcp": "dt-dctcp (30, 35)",
    "around-k": "around-k (15, 25)",
}
_SCHEMA = {
    "row": pl.String,
    "marker": pl.String,
    "series": pl.String,
    "x": pl.Float64,
    "seed": pl.Int64,
    "value": pl.Float64,
}


@dataclass(frozen=True)
class Panel:
    """How a row of panels looks: its axis, a dashed line, where the axis ends."""

    label: str
    line: float | None = None
    top: float | None = None


@dataclass(frozen=True)
class Row:
    """A row of panels, what it shows of a system at x, and at which x."""

    panel: Panel
    values: Callable[[Observations, System, int], Values]
    xs: Callable[[Observations], Sequence[int]]


@dataclass(frozen=True)
class Curves:
    """The data of a figure. `scale` turns the number in a name into x."""

    rows: Sequence[Row]
    with_dctcp: bool = True
    with_switch_alone: bool = False
    scale: float = 1

    def __call__(self, runs: Observations) -> pl.DataFrame:
        """Give the table."""
        return lasting.table(list(self._points(runs)), _SCHEMA)

    def _points(self, runs: Observations) -> Iterator[tuple[str, str, str, float, int, Value]]:
        for row in self.rows:
            for marker, switch_alone in zip(MARKERS, SWITCH_ALONE, strict=True):
                for series, system in self._systems(marker, switch_alone).items():
                    for x in row.xs(runs):
                        for seed, value in enumerate(row.values(runs, system, x), 1):
                            yield row.panel.label, marker, series, x * self.scale, seed, value

    def _systems(self, marker: str, switch_alone: System) -> dict[str, System]:
        found = {"DCTCP": DCTCP} if self.with_dctcp else {}
        found |= {reaction: reading(marker, reaction) for reaction in REACTIONS}
        return found | ({SENDER: switch_alone} if self.with_switch_alone else {})


@dataclass(frozen=True)
class Draw:
    """The drawing of such a table: data alone, so that another process can draw it."""

    panels: tuple[Panel, ...]
    x_label: str = "flows"

    def __call__(self, figure: Figure, data: pl.DataFrame) -> None:
        """Draw it."""
        figure.set_size_inches(7.6, 0.9 + 2.3 * len(self.panels))
        grid = figure.subplots(len(self.panels), len(MARKERS), squeeze=False, sharey="row")
        shown: dict[str, Any] = {}
        for line, panel in zip(grid, self.panels, strict=True):
            for axes, marker in zip(line, MARKERS, strict=True):
                here = (pl.col("row") == panel.label) & (pl.col("marker") == marker)
                shown |= _draw(axes, panel, data.filter(here))
            line[0].set_ylabel(panel.label)
        for axes, marker in zip(grid[0], MARKERS, strict=True):
            axes.set_title(THRESHOLDS[marker], fontsize=9)
        for axes in grid[-1]:
            axes.set_xlabel(self.x_label)
        figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=4)


def _draw(axes: Axes, panel: Panel, data: pl.DataFrame) -> Mapping[str, Any]:
    shown = {}
    for series in data["series"].unique(maintain_order=True):
        part = data.filter(pl.col("series") == series)
        figures.spread(axes, part, "x", "value", label=series, **STYLES[series])
        shown[series] = axes.lines[-1]
    if panel.line is not None:
        axes.axhline(panel.line, color=figures.GREY, lw=0.9, ls=(0, (4, 3)))
    axes.set_ylim(bottom=0, top=panel.top)
    return shown
