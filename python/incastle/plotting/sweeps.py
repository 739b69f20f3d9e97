"""The figure of a sweep: a measure over a swept key, one curve per value of another.

Each curve is the mean over the seeds; bars are the 95 % interval of the mean (Student's t), the
band is the seeds' range. Where unfinished transfers could change the mean, the curve has a gap, and
the bar spans the intervals of both bounds, with an arrow where there is no upper one. Every other
swept key must be fixed: different networks have no common mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from incastle.analysis.completions import ends_of
from incastle.analysis.measures import find_column, groups_of, measured, shortened, unit_of
from incastle.analysis.outcome import in_column
from incastle.analysis.parameters import CONTROLS, algorithm, algorithms, last, words
from incastle.analysis.seeds import least_of, over_seeds
from incastle.errors import IncastleError, PlotError
from incastle.plotting import intervals, scales
from incastle.plotting.axes import in_line, legend_outside, panels, wrap_name
from incastle.plotting.options import Options
from incastle.plotting.series import check_number
from incastle.plotting.style import STYLES, canvas, form_of, look, save
from incastle.units import as_written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl
    from matplotlib import axes as mpl_axes
    from matplotlib.artist import Artist
    from matplotlib.container import Container
    from matplotlib.figure import Figure

    from incastle.sweeps.dataset import Header
    from incastle.sweeps.sweep import Sweep

KEYS = {
    "senders": "number of senders",
    "load": "offered load",
    "congestion": "congestion control",
}
"""Ends of keys that have longer names on an axis."""
HUES = ("color", "colour", "c", "group", "line", "series", "z")
"""Words for `hue` elsewhere."""
MEASURES = {
    "flow_goodput_mean": "mean goodput of a flow",
    "flow_goodput_min": "goodput of the slowest flow",
    "fairness": "Jain's fairness index",
    "utilisation": "utilisation of the port with the longest mean queue",
    "queue_mean": "mean queue of the port where it is longest",
    "queue_median": "median queue of the port with the longest mean queue",
    "queue_p99": "99th percentile of the port with the longest mean queue",
    "queue_max": "longest queue of the port with the longest mean queue",
    "paused_share": "share of time that PFC pauses a port, mean of all ports",
    "failed_queue_pairs": "failed queue pairs",
    "failed_unfinished": "unfinished transfers of failed queue pairs",
    **{
        f"{measure}_{name}": text.format(of)
        for measure, of in (
            ("completion", "FCT"),
            ("round", "completion time of rounds"),
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
POOLED = ("completion_", "round_", "slowdown_")
"""What measures begin with that mix the flows of several groups."""
LOGARITHMIC = {
    f"{what}_{name}"
    for what in ("completion", "round", "slowdown")
    for name in ("mean", "median", "p99")
}
"""Measures whose axis may be logarithmic."""
FEW = 4
"""Values of a key that have a tick each."""


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
        for key in (self.x, *([self.hue] if self.hue else [])):
            _check_key(key, kinds)
        for key, value in self.fixed.items():
            check_values(key, [value], kinds)
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


def _check_key(key: str, kinds: Mapping[str, Sequence[str]]) -> None:
    if key in HUES and key not in kinds:
        raise PlotError(f"{key}=... is none of x, y and hue: hue=KEY has a curve for each value")
    if key not in kinds:
        there = ", ".join(kinds) or "none"
        raise PlotError(f"{key!r} is not a swept key: there are {there}")


def check_values(key: str, wanted: Sequence[str], kinds: Mapping[str, Sequence[str]]) -> None:
    """Check values of a swept key.

    Raises:
        PlotError: there is no such key, or it has no such value.

    """
    _check_key(key, kinds)
    for value in wanted:
        if value not in kinds[key]:
            raise PlotError(f"{key} has no value {value!r}: it has {', '.join(kinds[key])}")


def whole_key(name: str, keys: Sequence[str]) -> str:
    """Return the swept key that ends so, if it is the only one: `load` is `flows.web.load`."""
    fitting = [key for key in keys if key == name or key.endswith(f".{name}")]
    return fitting[0] if len(fitting) == 1 else name


def at_values(sweep: Sweep, where: Mapping[str, Sequence[str]]) -> Sweep:
    """Return a sweep's runs at some values of its keys.

    Raises:
        PlotError: no such key or value; the message has those that there are.

    """
    header, frame = sweep.header, sweep.frame
    there = words_of(header)
    for name, wanted in where.items():
        key = whole_key(name, header.keys)
        check_values(key, wanted, there)
        frame = frame.filter(_texts(frame, key, header).is_in([*wanted]))
        pairs = zip(header.values[key], there[key], strict=True)
        values = {**header.values, key: [value for value, word in pairs if word in wanted]}
        header, there = replace(header, values=values), {**there, key: list(wanted)}
    return replace(sweep, frame=frame, header=header)


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
    return draw_panels(sweep, [[wanted]], Options(), path)


def draw_panels(
    sweep: Sweep,
    rows: Sequence[Sequence[Axes]],
    options: Options,
    path: Path | None = None,
    labels: Sequence[str] | None = None,
) -> Figure:
    """Draw a panel for each measure, and write a file if there is a path.

    Rows are measures, columns groups of flows; a single row or column is laid out as fits.

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
    with canvas(options.style, options.size) as figure:
        measures = [one for row in rows for one in _row(sweep, row, is_own=len(rows) == 1)]
        is_grid = len(rows) > 1 and len(rows[0]) > 1
        if is_grid:
            places = panels(figure, options, len(rows), len(rows[0]))
            grid = [axes for row in places for axes in row]
        else:
            grid = in_line(figure, options, len(measures))
        remarks: dict[str, Artist | Container] = {}
        for axes, measure in zip(grid, measures, strict=True):
            remarks |= _panel(axes, sweep, measure, labels)
            _shorten(axes, options, names_group=is_grid)
        title = _title(sweep, rows[0][0], options)
        if len(grid) == 1 and not STYLES[options.style].is_column:
            grid[0].set_title(title)
        elif title:
            figure.suptitle(title, x=0.01, ha="left")
        legend_outside(figure, grid[0], options, remarks)
        if path is not None:
            save(figure, path)
    return figure


@dataclass(frozen=True)
class _Measure:
    """What a panel shows: the names of its axes, the values in the unit of its row, its scale."""

    wanted: Axes
    column: str
    data: pl.DataFrame
    unit: str
    is_log: bool
    is_own: bool
    """Whether no panel above it is of the same flows."""

    @property
    def counted(self) -> str:
        """What may be unfinished."""
        return "rounds" if _is_of_rounds(self.column) else "flows"


def _row(sweep: Sweep, row: Sequence[Axes], *, is_own: bool) -> list[_Measure]:
    """Return the panels of a row, which share one unit and one kind of scale."""
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    columns = [column_of(sweep, wanted) for wanted in row]
    data = [_values(sweep, *one) for one in zip(row, columns, strict=True)]
    factor, unit = scales.unit_of_row(data, unit_of(columns[0]))
    data = [one.with_columns(pl.col(scales.POINTS + scales.INTERVALS) / factor) for one in data]
    is_wide = shortened(columns[0]).rpartition(".")[2] in LOGARITHMIC
    is_log = is_wide and scales.is_logarithmic(data)
    measures = zip(row, columns, data, strict=True)
    return [_Measure(wanted, column, of, unit, is_log, is_own) for wanted, column, of in measures]


def _panel(
    axes: mpl_axes.Axes, sweep: Sweep, measure: _Measure, labels: Sequence[str] | None
) -> dict[str, Artist | Container]:
    """Draw a measure; return what the legend has to say of it."""
    data = measure.data
    bottom = _curves(axes, measure, sweep, labels)
    remarks = intervals.remarks(data, measure.counted, bottom)
    known = data.filter(data["runs"] > 1).filter(intervals.is_known())
    if as_written(known[measure.wanted.x].to_list()) is not None and len(known):
        remarks |= intervals.shade("range of the seeds")
    return remarks


def _shorten(axes: mpl_axes.Axes, options: Options, *, names_group: bool) -> None:
    """Wrap the name of a measure to its panel; in a grid the first row has titles with groups."""
    place = axes.get_subplotspec()
    if place is None:
        return
    words = axes.get_ylabel()
    group, colon, measure = words.partition(": ")
    if names_group and colon:
        words = measure
        if place.is_first_row():
            axes.set_title(group)
    if not place.is_last_row():
        axes.set_xlabel("")
    if names_group and not place.is_first_col():
        words = ""
    axes.set_ylabel(words)
    wrap_name(axes, options)


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

    of_group, dot, _ = column.rpartition(".")
    name = "rounds_unfinished" if _is_of_rounds(column) else "unfinished"
    counted = f"{of_group}{dot}{name}"
    if not {ends_of(column)[0], counted} <= {*runs.columns}:
        return data
    keys = [key for key in data.columns if key in runs.columns]
    found = runs.group_by(keys).agg(unfinished=pl.col(counted).sum().cast(pl.Int64))
    return data.join(found, on=keys, nulls_equal=True, maintain_order="left")


def _is_of_rounds(column: str) -> bool:
    return column.rpartition(".")[2].startswith("round_")


def _texts(data: pl.DataFrame, key: str, header: Header) -> pl.Series:
    """Return the values of a column as the header writes them: 1 in a column of numbers is 1.0."""
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    kind = header.kinds[key]
    written = {value: _word(value) for value in in_column(header.values[key], kind)}
    return pl.Series([written[value] for value in data[key]], dtype=pl.String)


def _title(sweep: Sweep, wanted: Axes, options: Options) -> str:
    """Return the title as it is wanted, else scenario, point and seeds; none in columns."""
    if options.title is not None or STYLES[options.style].is_column:
        return options.title or ""
    fixed = {key: (value,) for key, value in wanted.fixed.items()}
    point = point_words({**fixed, **options.where}, sweep.header.keys)
    seeds = sweep.frame["seed"].n_unique()
    count = f"mean of {seeds} seeds" if seeds > 1 else "one seed"
    return f"{', '.join([sweep.header.name, *point])}: {count}"


def point_words(where: Mapping[str, Sequence[str]], keys: Sequence[str]) -> list[str]:
    """Name the keys of which one value is chosen: `load = 0.5`; others are curves."""
    chosen = {whole_key(key, keys): values[0] for key, values in where.items() if len(values) == 1}
    ends = [last(key) for key in keys]
    return [
        f"{last(key) if ends.count(last(key)) == 1 else key} = "
        f"{algorithm(value) if key.endswith(CONTROLS) else value}"
        for key, value in chosen.items()
    ]


def _curves(
    axes: mpl_axes.Axes, measure: _Measure, sweep: Sweep, labels: Sequence[str] | None
) -> float:
    """Draw the curves of a measure; return the lower end of its intervals."""
    import polars as pl  # noqa: PLC0415  slow to import: only where figures are drawn

    wanted, data, header = measure.wanted, measure.data, sweep.header
    of_flows = groups_of(sweep.frame.columns)
    hues = None if wanted.hue is None else _texts(data, wanted.hue, header)
    x_name = _key_words(wanted.x, header.keys, of_flows)
    positions, is_scale = _x_axis(axes, wanted.x, data[wanted.x].to_list(), x_name)
    drawn = data.with_columns(pl.Series("x", positions, pl.Float64))
    groups = pl.Series([""] * len(data)) if hues is None else hues
    values = groups.unique(maintain_order=True).to_list()
    cells = [{str(wanted.hue): value} for value in values]
    check_number(len(values), f"values of {wanted.hue}", cells)
    names = _names(wanted.hue, values)
    share = intervals.headroom(axes, drawn, len(values), own=measure.is_own)
    bottom = scales.limit(axes, drawn, share, is_log=measure.is_log)
    least = least_of(measure.column)
    for place, group in enumerate(values):
        mine = drawn.filter(groups == group).sort("x")
        style = look(place)
        style["transform"] = intervals.shifted(axes, place, len(values))
        shade: dict[str, Any] = {"color": style["color"], "alpha": 0.15, "lw": 0}
        closed = mine.select(intervals.is_known()).to_series() & is_scale
        style["linestyle"] = style["linestyle"] if is_scale else ""
        shade |= {"where": closed, "transform": style["transform"]}
        axes.fill_between(mine["x"], mine["min"], mine["max"], **shade)
        style["label"] = labels[place] if labels else names[group]
        intervals.curve(axes, mine, bottom, least, **style)
        intervals.count_unfinished(axes, mine, place, style["color"], own=measure.is_own)
    axes.set_ylabel(_measure_words(measure.column, measure.unit, of_flows))
    return max(bottom, least)


def _names(key: str | None, values: Sequence[str]) -> dict[str, str]:
    """Return the names of curves: algorithms have proper names, others the key's last word."""
    if key is None:
        return dict.fromkeys(values, "_")
    if key.endswith(CONTROLS):
        return algorithms(values)
    return {value: f"{words(key)} {value}" for value in values}


def _key_words(key: str, keys: Sequence[str], groups: Sequence[str]) -> str:
    """Return a key as words; in full where another ends alike, with its group of several."""
    if [last(one) for one in keys].count(last(key)) > 1:
        return key
    name = KEYS.get(last(key), words(key))
    of = key.split(".")[1] if key.startswith("flows.") and len(groups) > 1 else ""
    return f"{name} of {of}" if of else name


def _measure_words(column: str, unit: str, groups: Sequence[str]) -> str:
    """Return a measure as words with its unit, and whose it is where there are several groups."""
    group, _, name = shortened(column).rpartition(".")
    named = MEASURES.get(name, name.replace("_", " "))
    whose = group or ("all groups" if groups and name.startswith(POOLED) else "")
    return (f"{whose}: " if whose else "") + named + (f" ({unit})" if unit else "")


def _x_axis(
    axes: mpl_axes.Axes, key: str, values: Sequence[str | float | bool], name: str
) -> tuple[list[float], bool]:
    """Return the place of each value, and whether to scale, as quantities are, or side by side."""
    numbers = as_written(values)
    if numbers is None:
        names = list(dict.fromkeys(_word(value) for value in values))
        proper = algorithms(names) if key.endswith(CONTROLS) else {}
        axes.set_xticks(range(len(names)), [proper.get(one, one) for one in names])
        axes.set_xlim(-0.5, len(names) - 0.5)
        axes.set_xlabel(name)
        return [float(names.index(_word(value))) for value in values], False
    places, unit = numbers
    axes.set_xlabel(f"{name} ({unit})" if unit else name)
    ticks = sorted(set(places))
    axes.margins(x=0.1)
    if _is_geometric(ticks):
        axes.set_xscale("log")
        axes.set_xticks(ticks, [f"{tick:,g}" for tick in ticks])
        axes.minorticks_off()
    elif len(ticks) <= FEW:
        axes.set_xticks(ticks)
    return places, True


def _is_geometric(ordered: Sequence[float]) -> bool:
    """Return whether each value is about the same multiple of the one before it."""
    if len(ordered) < 3 or ordered[0] <= 0:  # noqa: PLR2004  two values have one ratio only
        return False
    ratios = [after / before for before, after in pairwise(ordered)]
    return min(ratios) >= MIN_RATIO and max(ratios) / min(ratios) <= EVEN ** len(ratios)
