"""The figure of a sweep: a measure over a swept key, one curve per value of another.

Each curve is the mean over the seeds; bars are the 95 % interval of the mean (Student's t), the
band is the seeds' range. Where unfinished transfers could change the mean, the curve has a gap, and
the bar spans the intervals of both bounds, with an arrow where there is no upper one. Every other
swept key must be fixed: different networks have no common mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from incastle.analysis.measures import find_column, measured, shortened, unit_of
from incastle.analysis.outcome import in_column
from incastle.analysis.seeds import over_seeds
from incastle.errors import IncastleError, PlotError
from incastle.plotting.style import SERIES, canvas, form_of, save
from incastle.units import as_written, scale_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl
    from matplotlib import axes as mpl_axes
    from matplotlib.figure import Figure

    from incastle.sweeps.dataset import Header
    from incastle.sweeps.sweep import Sweep

MARKERS = "osD^vP*X"
EVEN = 1.05
"""Ratios of neighbours that differ by no more than this are one ratio: the axis is logarithmic."""
MIN_RATIO = 1.5
ARROW = 0.06
"""The length of an arrow, as a share of the axis."""
ROOM = 1.05
"""The end of an axis that begins at 0, in largest values: curves do not touch the frame."""


@dataclass(frozen=True)
class Axes:
    """What is drawn: names of keys and of a measure, and the values of keys that are fixed."""

    x: str
    y: str
    hue: str | None
    fixed: dict[str, str]

    @classmethod
    def parse(cls, words: Sequence[str]) -> Axes:
        """Read `x=KEY y=MEASURE [hue=KEY] [KEY=VALUE ...]`.

        Raises:
            PlotError: reports what is missing or wrong.

        """
        found: dict[str, str] = {}
        for word in words:
            name, equals, value = word.partition("=")
            if not (equals and name and value):
                raise PlotError(f"--plot: {word!r} is not NAME=VALUE, as x=network.senders")
            if name in found:
                raise PlotError(f"--plot: {name} is given twice")
            found[name] = value
        for name in ("x", "y"):
            if name not in found:
                raise PlotError(f"--plot: {name}=... is missing: x is a key, y a measure")
        x, y, hue = found.pop("x"), found.pop("y"), found.pop("hue", None)
        return cls(x, y, hue, found)

    def check(self, kinds: Mapping[str, Sequence[str]], columns: Sequence[str]) -> str:
        """Check the names against the swept keys, their values and the measures.

        Returns:
            The column of the measure.

        Raises:
            PlotError: reports what is wrong, and what there is.

        """
        for key in (self.x, *([self.hue] if self.hue else []), *self.fixed):
            if key not in kinds:
                there = ", ".join(kinds) or "none"
                raise PlotError(f"{key!r} is not a swept key: there are {there}")
        for key, value in self.fixed.items():
            if value not in kinds[key]:
                there = ", ".join(kinds[key])
                raise PlotError(f"{key} has no value {value!r}: it has {there}")
        for key, values in kinds.items():
            if len(values) > 1 and key not in {self.x, self.hue, *self.fixed}:
                raise PlotError(
                    f"{key} has {len(values)} values: draw it as hue={key}, or fix one as "
                    f"'{key}={values[0]}'"
                )
        try:
            return find_column(self.y, columns).name
        except IncastleError as error:
            raise PlotError(str(error)) from None


def words_of(header: Header) -> dict[str, list[str]]:
    """Return the values of each key as strings."""
    return {
        key: [_word(value) for value in in_column(header.values[key], kind)]
        for key, kind in header.kinds.items()
    }


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def column_of(sweep: Sweep, wanted: Axes) -> str:
    """Return the column of the measure; a `PlotError` names what does not fit the sweep."""
    return wanted.check(words_of(sweep.header), measured(sweep.frame, sweep.header.keys))


def draw(sweep: Sweep, wanted: Axes, path: Path | None = None) -> Figure:
    """Draw, and write a file if there is a path.

    Raises:
        PlotError: the names do not fit the sweep, or the file has none of our suffixes.
        OSError: the file cannot be written.

    """
    if path is not None:
        form_of(path)  # refused before it is drawn
    data = sweep.frame
    if data.is_empty():
        raise PlotError("no run of this sweep is finished: there is nothing to draw")
    column = column_of(sweep, wanted)
    for key, value in wanted.fixed.items():
        data = data.filter(_texts(data, key, sweep.header).is_in([value]))
    data = over_seeds(data, [*sweep.header.keys], column)
    if data.is_empty():
        raise PlotError(f"{wanted.y} has no value in any of these runs")
    if not data["low"].is_finite().any():
        raise PlotError(f"{wanted.y} has no finite value in any of these runs")
    with canvas() as figure:
        figure.set_size_inches(6.4, 4.0)
        hues = None if wanted.hue is None else _texts(data, wanted.hue, sweep.header)
        _curves(figure.subplots(), data, wanted, column, hues)
        figure.axes[0].set_title(_title(sweep, wanted, data), fontsize=9)
        if path is not None:
            save(figure, path)
    return figure


def _texts(data: pl.DataFrame, key: str, header: Header) -> pl.Series:
    """Return the values of a column as the header writes them: 1 in a column of numbers is 1.0."""
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    kind = header.kinds[key]
    written = {value: _word(value) for value in in_column(header.values[key], kind)}
    return pl.Series([written[value] for value in data[key]], dtype=pl.String)


def _title(sweep: Sweep, wanted: Axes, data: pl.DataFrame) -> str:
    seeds = max(data["runs"].to_list())
    fixed = "".join(f", {key} = {value}" for key, value in wanted.fixed.items())
    of_seeds = f"mean of {seeds} seeds (bars: 95 %, band: range)" if seeds != 1 else "one seed"
    open_ends = "\nno marker: between bounds, transfers were unfinished (arrow: no upper bound)"
    open_ends = open_ends if (data["low"] != data["high"]).any() else ""
    return f"{sweep.header.name}{fixed}: {of_seeds}{open_ends}"


def _is_endless(data: pl.DataFrame) -> pl.Series:
    return data["high"].is_infinite()


def _curves(
    axes: mpl_axes.Axes, data: pl.DataFrame, wanted: Axes, column: str, hues: pl.Series | None
) -> None:
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    values = data[wanted.x].to_list()
    positions = _x_axis(axes, wanted.x, values)
    ends = ("low", "high", "mean_from", "mean_to", "min", "max")
    finite = [value for end in ends for value in data[end].drop_nulls() if math.isfinite(value)]
    factor, unit = scale_of([float(value) for value in data["low"]], unit_of(column))
    endless = _is_endless(data)
    room = ROOM + (2 * ARROW if endless.any() else 0)
    top = room * max(finite) / factor
    places = (pl.Series("x", positions, pl.Float64), endless.alias("endless"))
    drawn = data.with_columns(places).with_columns(
        (pl.col(end) / factor).clip(upper_bound=top) for end in ends
    )
    groups = pl.Series([""] * len(data)) if hues is None else hues
    for place, group in enumerate(groups.unique(maintain_order=True)):
        style = {
            "color": SERIES[place % len(SERIES)],
            "marker": MARKERS[place // len(SERIES) % len(MARKERS)],
        }
        mine = drawn.filter(groups == group).sort("x")
        _curve(axes, mine, ARROW * top, label=group, **style)
    name = shortened(column)
    axes.set_ylabel(f"{name} ({unit})" if unit else name)
    if min(finite) >= 0:
        # A share of the axis, not of the curves' own range: they may lie together, far from 0.
        axes.set_ylim(0, top or None)
    if wanted.hue:
        axes.legend(title=wanted.hue, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _curve(axes: mpl_axes.Axes, data: pl.DataFrame, arrow: float, **style: Any) -> None:  # noqa: ANN401
    """Draw the mean, bars for its 95 % interval, a band for the range; arrows without upper end.

    A mean of which only bounds are known has no marker, and the bounds have the bar with one seed.
    """
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    color = style["color"]
    known = pl.col("low") == pl.col("high")
    axes.plot(data["x"], data.select(pl.when(known).then("low").otherwise(math.nan)), **style)
    closed_in = {"where": ~data["endless"], "color": color, "alpha": 0.2, "lw": 0}
    axes.fill_between(data["x"], data["min"], data["max"], **closed_in)
    bars = data.filter(~known | pl.col("mean_from").is_not_null()).with_columns(
        begin=pl.coalesce("mean_from", "low"), end=pl.coalesce("mean_to", "high")
    )
    closed, raised = bars.filter(~bars["endless"]), bars.filter("endless")
    errors = {"fmt": "none", "ecolor": color, "elinewidth": 1.0, "capsize": 3}
    if len(closed):
        height = closed["end"] - closed["begin"]
        axes.errorbar(closed["x"], closed["begin"], yerr=[0 * height, height], **errors)
    if len(raised):
        axes.errorbar(raised["x"], raised["begin"], yerr=arrow, lolims=True, **errors)


def _x_axis(axes: mpl_axes.Axes, key: str, values: Sequence[str | float | bool]) -> list[float]:
    """Return the place of each value: to scale for quantities, else side by side."""
    numbers = as_written(values)
    if numbers is None:
        names = list(dict.fromkeys(_word(value) for value in values))
        axes.set_xticks(range(len(names)), names)
        axes.set_xlabel(key)
        return [float(names.index(_word(value))) for value in values]
    places, unit = numbers
    axes.set_xlabel(f"{key} ({unit})" if unit else key)
    ticks = sorted(set(places))
    if _is_geometric(ticks):
        axes.set_xscale("log")
        axes.set_xticks(ticks, [f"{tick:,g}" for tick in ticks])
        axes.minorticks_off()
    return places


def _is_geometric(ordered: Sequence[float]) -> bool:
    """Return whether each value is about the same multiple of the one before it."""
    if len(ordered) < 3 or ordered[0] <= 0:  # noqa: PLR2004  two values have one ratio only
        return False
    ratios = [after / before for before, after in pairwise(ordered)]
    return min(ratios) >= MIN_RATIO and max(ratios) / min(ratios) <= EVEN ** len(ratios)
