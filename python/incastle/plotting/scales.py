"""Vertical axes of measures: one unit and one kind of scale per row, ticks around what is drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from incastle.plotting.axes import height_of, is_wide
from incastle.plotting.style import setting
from incastle.units import scale_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.axes import Axes

POINTS, INTERVALS = ("low", "high", "min", "max"), ("mean_from", "mean_to")
CUT = 1000
"""On a logarithmic axis, ends of intervals below the n-th part of all else are cut, as 0 is."""
STEPS = (1, 2, 5)
"""Ticks of a logarithmic axis, in powers of ten."""
EDGE = 1.12
"""What is free beyond the ticks at the ends of a logarithmic axis, as a ratio."""
ROOM = 1.05
"""The end of an axis that begins at 0, in largest values: curves do not touch the frame."""
LINE = 1.15
"""From the middle of a tick's label to that of the next, in the font's size."""
MAX_PLAIN = 10**7
"""Larger numbers are written by matplotlib, with an exponent."""


def unit_of_row(row: Sequence[pl.DataFrame], base: str) -> tuple[float, str]:
    """Return the unit that all panels of a row share: they have one label."""
    return scale_of([float(value) for data in row for value in data["low"]], base)


def is_logarithmic(row: Sequence[pl.DataFrame]) -> bool:
    """Return whether the panels of a row are logarithmic: in one, values span a decade."""
    found = [_finite(data, ("low", "high")) for data in row]
    return all(min(values) > 0 for values in found) and any(is_wide(values) for values in found)


def _finite(data: pl.DataFrame, columns: Sequence[str]) -> list[float]:
    return [float(v) for one in columns for v in data[one].drop_nulls() if math.isfinite(v)]


def limit(axes: Axes, data: pl.DataFrame, share: float, *, is_log: bool) -> float:
    """Limit an axis to what is drawn, with a share free at the top; return its lower end.

    A logarithmic axis has a tick below and one above all that is drawn; others begin at 0.
    """
    if is_log:
        return _limit_logarithmic(axes, data, share)
    lows: list[float] = data["low"].to_list()
    # The room above is a share of the axis, not of the curves' own range: they may lie together,
    # far from 0. No measure is below 0, whatever the interval of its mean.
    top = ROOM * max(_finite(data, (*POINTS, *INTERVALS))) / (1 - share)
    if min(lows) >= 0:
        axes.set_ylim(0, top or None)
    if top < MAX_PLAIN:
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.10g}")
    return min(0.0, *lows)


def _limit_logarithmic(axes: Axes, data: pl.DataFrame, share: float) -> float:
    from matplotlib.ticker import FixedLocator, NullLocator  # noqa: PLC0415  slow to import

    points = [value for value in _finite(data, POINTS) if value > 0]
    lowest = min(points) / CUT
    drawn = points + [value for value in _finite(data, INTERVALS) if value >= lowest]
    room = 72 * height_of(axes) * (1 - share)
    ticks = ticks_around(min(drawn), max(drawn), room / (LINE * setting("font.size")))
    bottom, top = ticks[0] / EDGE, ticks[-1] * EDGE
    axes.set_yscale("log")
    axes.set_ylim(bottom, max(top, bottom * (max(drawn) / bottom) ** (1 / (1 - share))))
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.0f}" if y >= 1 else f"{y:g}")
    axes.yaxis.set_minor_locator(NullLocator())
    return bottom


def ticks_around(low: float, high: float, labels: float) -> list[float]:
    """Return ticks from one at or below the lowest value to one at or above the highest.

    Args:
        low: the lowest value.
        high: the highest one.
        labels: for how many labels there is room. Where it is little, there are those at both ends
            and the powers of ten between them that do not meet others.

    """
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    steps = [float(f"{step}e{decade}") for decade in decades for step in STEPS]
    first = max(step for step in steps if step <= low)
    last = min(step for step in steps if step >= high and step > first)
    apart = (last / first) ** (1 / max(labels, 1))
    between = [step for step in steps if first < step < last]
    if apart <= 2:  # noqa: PLR2004  the least ratio of neighbours
        return [first, *between, last]
    ticks = [first]
    for step in between:
        is_power = math.log10(step).is_integer()
        if is_power and step >= apart * ticks[-1] and last >= apart * step:
            ticks.append(step)
    return [*ticks, last]
