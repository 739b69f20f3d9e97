"""The figure of comparisons with other worlds: the ratio of each measure to the simulation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from incastle.errors import PlotError
from incastle.plotting.style import BLUE, GREY, RED, canvas, form_of, save
from incastle.worlds.comparison.tables import LABELS
from incastle.worlds.comparison.verdicts import GOALS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from incastle.worlds.comparison.verdicts import Row

WIDTH, ROW_HEIGHT, MARGIN = 8.0, 0.16, 0.9
"""Inches."""
FARTHEST = 2.0
"""Ratios beyond this, or its inverse, are drawn at the edge."""
POINT = 14


def draw(rows: Sequence[Row], place: Path) -> None:
    """Draw a panel per measure, a row per case; the shade is the goal.

    Raises:
        PlotError: the file's name does not end in a format, or no case can be compared.
        OSError: it cannot be written.

    """
    form_of(place)  # refused before it is drawn
    shown = [row for row in rows if any(one.met is not None for one in row.findings)]
    if not shown:
        raise PlotError("no case can be compared, so there is nothing to draw")
    size = (WIDTH, MARGIN + ROW_HEIGHT * len(shown))
    with canvas(size=size) as figure:
        panels = figure.subplots(1, len(GOALS), sharey=True)
        for axes, (measure, goal) in zip(panels, GOALS.items(), strict=True):
            axes.axvspan(1 - goal, 1 + goal, color=GREY, alpha=0.2, linewidth=0)
            axes.axvline(1, color=GREY, linewidth=0.8)
            for met, colour, marker in ((True, BLUE, "o"), (False, RED, "X")):
                points = [
                    (_shown(one.ratio), number)
                    for number, row in enumerate(shown)
                    for one in row.findings
                    if one.measure == measure and one.met is met
                ]
                xs, ys = zip(*points, strict=True) if points else ((), ())
                axes.scatter(xs, ys, s=POINT, color=colour, marker=marker, zorder=2)
            reach = max(2 * goal, *(abs(x - 1) for x in _ratios(shown, measure)), 0.0) * 1.1
            axes.set(title=LABELS[measure], xlim=(1 - reach, 1 + reach), ylim=(len(shown), -1))
        panels[0].set_yticks(range(len(shown)), [row.name for row in shown])
        figure.supxlabel("real world / simulation")
        save(figure, place)


def _ratios(rows: Sequence[Row], measure: str) -> list[float]:
    found = [one for row in rows for one in row.findings if one.measure == measure]
    return [_shown(one.ratio) for one in found if one.met is not None] or [1.0]


def _shown(ratio: float) -> float:
    return min(FARTHEST, max(0.0, ratio)) if math.isfinite(ratio) else FARTHEST
