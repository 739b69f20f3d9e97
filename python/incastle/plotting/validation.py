"""The figure of a validation: each flow's FCT here over that of the other simulator."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from incastle.errors import PlotError
from incastle.plotting.axes import logarithmic
from incastle.plotting.style import GREY, MARKERS, SERIES, canvas, form_of, save
from incastle.units import scale_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from incastle.validation.verdicts import Row

NS_PER_S = 1e9
SIZE = (4.6, 4.4)
"""Inches; the axes have the same length."""
POINT = 8
"""Area of a marker in square points."""
MARGIN = 1.2
"""Beyond the least and the largest FCT, as a ratio."""


def draw(rows: Sequence[Row], place: Path) -> None:
    """Draw the flows of all cases, with their first seed, a colour and a marker per control.

    Raises:
        PlotError: the file's name does not end in a format, or no flow is finished by both.
        OSError: it cannot be written.

    """
    form_of(place)  # refused before it is drawn
    points = {control: _points(rows, control) for control in dict.fromkeys(_controls(rows))}
    found = [value for pairs in points.values() for pair in pairs for value in pair]
    if not found:
        raise PlotError("no flow was finished by both simulators, so there is nothing to draw")
    factor, unit = scale_of(found, "s")
    ends = (min(found) / factor / MARGIN, max(found) / factor * MARGIN)
    with canvas(size=SIZE) as figure:
        axes = figure.add_subplot()
        axes.plot(ends, ends, color=GREY, linewidth=0.8, zorder=1)
        for number, (control, pairs) in enumerate(points.items()):
            theirs, ours = ([pair[side] / factor for pair in pairs] for side in (1, 0))
            axes.scatter(
                theirs,
                ours,
                s=POINT,
                marker=MARKERS[number],
                facecolors="none",
                edgecolors=SERIES[number],
                linewidths=0.6,
                label=control,
                # Thousands of markers would be slow as vectors.
                rasterized=True,
            )
        logarithmic(axes, "x", ends)
        logarithmic(axes, "y", ends)
        axes.set(
            xlim=ends,
            ylim=ends,
            xlabel=f"FCT of the other simulator ({unit})",
            ylabel=f"FCT here ({unit})",
            aspect="equal",
        )
        axes.legend()
        save(figure, place)


def _controls(rows: Sequence[Row]) -> list[str]:
    return [str(row.control) for row in rows]


def _points(rows: Sequence[Row], control: str) -> list[tuple[float, float]]:
    """Return the FCTs in seconds, here and there, of flows that both finish."""
    return [
        (ours / NS_PER_S, theirs / NS_PER_S)
        for row in rows
        if row.control == control
        for one in row.comparisons
        for ours, theirs in one.pairs(one.outcomes[0])
        if math.isfinite(ours) and math.isfinite(theirs)
    ]
