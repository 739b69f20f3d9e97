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

from incastle.analysis.completions import ends_of
from incastle.analysis.measures import find_column, measured, shortened, unit_of
from incastle.analysis.outcome import in_column
from incastle.analysis.parameters import CONTROLS, algorithm, last, words
from incastle.analysis.seeds import over_seeds
from incastle.errors import IncastleError, PlotError
from incastle.plotting import intervals
from incastle.plotting.axes import is_wide, legend_outside, logarithmic, panels
from incastle.plotting.options import Options
from incastle.plotting.style import STYLES, canvas, form_of, look, save
from incastle.units import as_written, scale_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl
    from matplotlib import axes as mpl_axes
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

    from incastle.sweeps.dataset import Header
    from incastle.sweeps.sweep import Sweep

KEYS = {
    "senders": "number of senders",
    "load": "offered load",
    "congestion": "congestion control",
}
"""Ends of keys that have longer names on an axis."""
MEASURES = {
    "flow_goodput_mean": "mean goodput of a flow",
    "flow_goodput_min": "goodput of the slowest flow",
    "fairness": "Jain's fairness index",
    "queue_mean": "mean queue",
    "queue_median": "median queue",
    "queue_p99": "99th percentile of the queue",
    "queue_max": "longest queue",
    **{
        f"{measure}_{name}": text.format(of)
        for measure, of in (
            ("completion", "FCT"),
            ("round", "request completion time"),
            ("slowdown", "slowdown"),
        )
        for name, text in (
            ("mean", "mean {}"),
            ("median", "median {}"),
            ("p99", "99th percentile of {}"),
        )
    },
}
"""Measures in the words of an axis."""
EVEN = 1.05
"""Ratios of neighbours that differ by no more than this are one ratio: the axis is logarithmic."""
MIN_RATIO = 1.5
ARROW = 0.06
"""The length of an arrow, as a share of the axis."""
ENDS = ("low", "high", "mean_from", "mean_to", "min", "max")
LOGARITHMIC = {
    f"{what}_{name}"
    for what in ("completion", "round", "slowdown")
    for name in ("mean", "median", "p99")
}
"""Measures whose axis may be logarithmic."""
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
    """Draw one measure, and write a file if there is a path.

    Raises:
        PlotError: the names do not fit the sweep, or the file has none of our suffixes.
        OSError: the file cannot be written.

    """
    return draw_panels(sweep, [wanted], Options(), path)


def draw_panels(
    sweep: Sweep,
    measures: Sequence[Axes],
    options: Options,
    path: Path | None = None,
    labels: Sequence[str] | None = None,
) -> Figure:
    """Draw a panel for each measure, and write a file if there is a path.

    Raises:
        PlotError: the names do not fit the sweep, or the file has none of our suffixes.
        OSError: the file cannot be written.

    """
    if path is not None:
        form_of(path)  # refused before it is drawn
    if sweep.frame.is_empty():
        raise PlotError(
            f"no run of the sweep {sweep.place or sweep.header.name} is finished: there is nothing "
            "to draw; the same command with --resume runs what is missing"
        )
    with canvas(options.style) as figure:
        grid = panels(figure, len(measures), options)
        remarks: dict[str, Artist] = {}
        for axes, wanted in zip(grid, measures, strict=True):
            column = column_of(sweep, wanted)
            data = _values(sweep, wanted, column)
            _curves(axes, data, wanted, column, sweep.header, labels)
            remarks |= intervals.remarks(data)
            known = data.filter(data["runs"] > 1).filter(intervals.is_known())
            if as_written(known[wanted.x].to_list()) is not None and len(known):
                remarks |= intervals.shade("range of the seeds")
            if len(grid) == 1 and not STYLES[options.style].is_column:
                axes.set_title(_title(sweep, wanted, data, options.title))
            elif options.title and axes is grid[0]:
                axes.set_title(options.title)
        for above in grid[:-1]:
            above.label_outer()
        legend_outside(figure, grid[0], options, remarks)
        if path is not None:
            save(figure, path)
    return figure


def _values(sweep: Sweep, wanted: Axes, column: str) -> pl.DataFrame:
    """Return the measure over the seeds of the combinations that are drawn."""
    data = sweep.frame
    for key, value in wanted.fixed.items():
        data = data.filter(_texts(data, key, sweep.header).is_in([value]))
    data = _with_unfinished(over_seeds(data, [*sweep.header.keys], column), data, column)
    if data.is_empty():
        raise PlotError(f"{wanted.y} has no value in any of these runs")
    if not data["low"].is_finite().any():
        raise PlotError(f"{wanted.y} has no finite value in any of these runs")
    return data


def _with_unfinished(data: pl.DataFrame, runs: pl.DataFrame, column: str) -> pl.DataFrame:
    """Add how many transfers were unfinished, to a measure that they could change."""
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    of_group, dot, measure = column.rpartition(".")
    name = "rounds_unfinished" if measure.startswith("round_") else "unfinished"
    counted = f"{of_group}{dot}{name}"
    if not {ends_of(column)[0], counted} <= {*runs.columns}:
        return data
    keys = [key for key in data.columns if key in runs.columns]
    found = runs.group_by(keys).agg(unfinished=pl.col(counted).sum().cast(pl.Int64))
    return data.join(found, on=keys, nulls_equal=True, maintain_order="left")


def _texts(data: pl.DataFrame, key: str, header: Header) -> pl.Series:
    """Return the values of a column as the header writes them: 1 in a column of numbers is 1.0."""
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    kind = header.kinds[key]
    written = {value: _word(value) for value in in_column(header.values[key], kind)}
    return pl.Series([written[value] for value in data[key]], dtype=pl.String)


def _title(sweep: Sweep, wanted: Axes, data: pl.DataFrame, title: str | None) -> str:
    if title is not None:
        return title
    seeds = max(data["runs"].to_list())
    fixed = "".join(f", {key} = {value}" for key, value in wanted.fixed.items())
    of_seeds = f"mean of {seeds} seeds, bars: 95 % interval" if seeds != 1 else "one seed"
    return f"{sweep.header.name}{fixed}: {of_seeds}"


def _curves(
    axes: mpl_axes.Axes,
    data: pl.DataFrame,
    wanted: Axes,
    column: str,
    header: Header,
    labels: Sequence[str] | None,
) -> None:
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    hues = None if wanted.hue is None else _texts(data, wanted.hue, header)
    positions, is_scale = _x_axis(axes, wanted.x, data[wanted.x].to_list(), header.keys)
    factor, unit = scale_of([float(value) for value in data["low"]], unit_of(column))
    places = pl.Series("x", positions, pl.Float64)
    drawn = data.with_columns(places, *(pl.col(end) / factor for end in ENDS))
    bottom, arrow = _y_axis(
        axes, drawn, is_time=shortened(column).rpartition(".")[2] in LOGARITHMIC
    )
    groups = pl.Series([""] * len(data)) if hues is None else hues
    values = groups.unique(maintain_order=True).to_list()
    for place, group in enumerate(values):
        mine = drawn.filter(groups == group).sort("x")
        style = look(place)
        shade: dict[str, Any] = {"color": style["color"], "alpha": 0.15, "lw": 0}
        closed = mine.select(intervals.is_known()).to_series() & is_scale
        style["linestyle"] = style["linestyle"] if is_scale else ""
        axes.fill_between(mine["x"], mine["min"], mine["max"], where=closed, **shade)
        style["label"] = labels[place] if labels else _named(wanted.hue, group)
        style["transform"] = intervals.shifted(axes, place, len(values))
        intervals.curve(axes, mine, arrow, bottom, **style)
        intervals.count_unfinished(axes, mine, place, style["color"])
    axes.set_ylabel(_measure_words(column, unit))


def _y_axis(
    axes: mpl_axes.Axes, data: pl.DataFrame, *, is_time: bool
) -> tuple[float, float | None]:
    """Limit the axis of the measure; return its lower end, and the length of an arrow.

    Times and slowdowns of different orders of magnitude have a logarithmic axis, without arrows of
    one length; other measures begin at 0.
    """
    finite = [v for end in ENDS for v in data[end].drop_nulls() if math.isfinite(v)]
    lows = data["low"].to_list()
    if is_time and is_wide([*lows, *(v for v in data["high"] if math.isfinite(v))]):
        bottom = min(lows) / intervals.STRETCH
        logarithmic(axes, "y", [bottom, max(finite)])
        axes.set_ylim(bottom, max(finite) * intervals.STRETCH**2)
        return bottom, None
    # The room above is a share of the axis, not of the curves' own range: they may lie together,
    # far from 0. No measure is below 0, whatever the interval of its mean.
    room = ROOM + (2 * ARROW if data["high"].is_infinite().any() else 0)
    room += ARROW if "unfinished" in data.columns else 0  # for the rows of numbers
    top = room * max(finite)
    if min(lows) >= 0:
        axes.set_ylim(0, top or None)
    return min(0.0, *lows), ARROW * top


def _named(key: str | None, value: str) -> str:
    """Return the name of a curve: algorithms have proper names, others the key's last word."""
    if key is None:
        return "_"
    return algorithm(value) if key.endswith(CONTROLS) else f"{words(key)} {value}"


def _key_words(key: str, keys: Sequence[str]) -> str:
    """Return a key as words, in full where another one ends alike."""
    alike = [one for one in keys if last(one) == last(key)]
    return KEYS.get(last(key), words(key)) if len(alike) == 1 else key


def _measure_words(column: str, unit: str) -> str:
    """Return a measure as words with its unit."""
    group, _, name = shortened(column).rpartition(".")
    named = MEASURES.get(name, name.replace("_", " "))
    return (f"{group}: " if group else "") + named + (f" ({unit})" if unit else "")


def _x_axis(
    axes: mpl_axes.Axes, key: str, values: Sequence[str | float | bool], keys: Sequence[str]
) -> tuple[list[float], bool]:
    """Return the place of each value, and whether to scale, as quantities are, or side by side."""
    numbers = as_written(values)
    if numbers is None:
        names = list(dict.fromkeys(_word(value) for value in values))
        shown = map(algorithm, names) if key.endswith(CONTROLS) else names
        axes.set_xticks(range(len(names)), list(shown))
        axes.set_xlim(-0.5, len(names) - 0.5)
        axes.set_xlabel(_key_words(key, keys))
        return [float(names.index(_word(value))) for value in values], False
    places, unit = numbers
    name = _key_words(key, keys)
    axes.set_xlabel(f"{name} ({unit})" if unit else name)
    ticks = sorted(set(places))
    if _is_geometric(ticks):
        axes.set_xscale("log")
        axes.set_xticks(ticks, [f"{tick:,g}" for tick in ticks])
        axes.minorticks_off()
    return places, True


def _is_geometric(ordered: Sequence[float]) -> bool:
    """Return whether each value is about the same multiple of the one before it."""
    if len(ordered) < 3 or ordered[0] <= 0:  # noqa: PLR2004  two values have one ratio only
        return False
    ratios = [after / before for before, after in pairwise(ordered)]
    return min(ratios) >= MIN_RATIO and max(ratios) / min(ratios) <= EVEN ** len(ratios)
