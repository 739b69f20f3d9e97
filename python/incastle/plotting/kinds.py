"""The kinds of plots by name, and how one is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from incastle.analysis.completions import ends_of
from incastle.analysis.measures import find_column, groups_of
from incastle.errors import PlotError
from incastle.plotting import distributions, fairness, heat, results, slowdowns, sweeps, timeline
from incastle.plotting.axes import in_line, legend_outside, wrap_name
from incastle.plotting.options import Options, matching
from incastle.plotting.series import Cells, check, series_of
from incastle.plotting.style import STYLES, canvas, form_of, save, unknown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incastle.plotting.series import Drawn, Series
    from incastle.results import Result
    from incastle.sweeps.sweep import Sweep

SIZE = "size"
MEASURES = {
    "slowdown": ("slowdown_median", "slowdown_p99"),
    "fct": ("completion_median", "completion_p99"),
    "rounds": ("round_median", "round_p99"),
    "queue": ("queue_mean", "queue_p99"),
    "total-goodput": ("goodput",),
}
"""What kinds draw over a key of a sweep: measures of its summary. Other names are measures."""
FORMER = {"completion": "fct"}
"""Names that kinds had, each with its new one."""


@dataclass(frozen=True)
class Kind:
    """A kind of plot.

    Attributes:
        description: what it shows, for `incastle list plots`.
        tables: those that it is drawn from; a sweep must have kept one.
        draw: draws series into the figure and returns what it drew from, in words.

    """

    description: str
    tables: tuple[str, ...]
    draw: Callable[[Figure, Sequence[Series], Options], str]


def _of_runs(
    draw: Callable[[Axes, Result, Options], str], *, is_wide: bool = False
) -> Callable[..., str]:
    """Draw a panel for the first run of each series, all with the same axes.

    If `is_wide`, its time needs the whole width: see `_name`.
    """

    def draw_all(figure: Figure, series: Sequence[Series], options: Options) -> str:
        grid = in_line(figure, options, len(series), stacked=True)
        sources = []
        for axes, one in zip(grid, series, strict=True):
            sources.append(draw(axes, one.first, options))
            axes.label_outer()
            wrap_name(axes, options)
        _alike(grid)
        titles = [one.label for one in series]
        _name(figure, grid, titles, options, is_wide=is_wide)
        several = any(len(one.runs) > 1 for one in series)
        return sources[0] + (", of each series the first seed" if several else "")

    return draw_all


def _alike(grid: Sequence[Axes]) -> None:
    """Give panels with the same scale the same vertical axis, once all are drawn."""
    if len({axes.get_yscale() for axes in grid}) == 1 and not grid[0].yaxis_inverted():
        limits = [axes.get_ylim() for axes in grid]
        for axes in grid:
            axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _name(
    figure: Figure,
    grid: Sequence[Axes],
    titles: Sequence[str],
    options: Options,
    *,
    is_wide: bool = False,
) -> None:
    """Name panels and their lines: one legend for all, where all have the same lines.

    A single line is named by the title of its panel. In columns of papers legends that differ are
    within the panels, elsewhere beside them; so is a common one there, unless panels are wide.
    """
    is_column = STYLES[options.style].is_column
    found = [axes.get_legend_handles_labels()[1] for axes in grid]
    for axes, labels, title in zip(grid, found, titles, strict=True):
        alone = labels[0] if len(labels) == 1 else ""
        axes.set_title(": ".join(filter(None, (title, alone))))
    if (is_column or is_wide) and all(labels == found[0] for labels in found):
        legend_outside(figure, grid[0], options)
    elif not is_column:
        beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        for axes, labels in zip(grid, found, strict=True):
            if len(labels) > 1:
                axes.legend(**beside)
    else:
        for axes in grid:
            axes.legend()


def _run(description: str, table: str, draw: Callable[[Axes, Result, Options], str]) -> Kind:
    return Kind(description, (table,), _of_runs(draw))


KINDS = {
    "slowdown": Kind(
        "slowdowns by flow size: median, 95th, 99th percentile ([measure] slowdown)",
        ("transfers",),
        slowdowns.draw,
    ),
    "fct": Kind(
        "distribution of completion times of flows and rounds; --ccdf for its tail",
        ("transfers",),
        distributions.fct,
    ),
    "queue": Kind(
        "queue of each switch port over time: samples where they exist, else queue-cdf",
        ("queue_samples", "queues"),
        distributions.queue,
    ),
    "queue-cdf": Kind(
        "distribution of the queue of each switch port, weighted by time; --ccdf for its tail",
        ("queues",),
        distributions.queue_cdf,
    ),
    "total-goodput": Kind(
        "goodput of all receiving hosts together, per millisecond",
        ("goodput",),
        distributions.total_goodput,
    ),
    "fairness": Kind(
        "Jain's index of the flows' throughput over time ([measure] throughput)",
        ("throughput",),
        fairness.draw,
    ),
    "utilisation": Kind("utilisation of each link, as a heat map by tiers", ("links",), heat.draw),
    "timeline": Kind(
        "a bar for each flow or response, from its beginning to its end",
        ("transfers",),
        _of_runs(timeline.draw, is_wide=True),
    ),
    "goodput": _run("goodput of each receiving host, per millisecond", "goodput", results.goodput),
    "window": _run("congestion windows over time ([measure] window)", "windows", results.window),
    "alpha": _run("DCTCP's alpha over time ([measure] window)", "windows", results.alpha),
    "rtt": _run("smoothed round-trip times ([measure] window)", "windows", results.rtt),
    "throughput": _run(
        "bytes handed over in order, per flow and interval ([measure] throughput)",
        "throughput",
        results.throughput,
    ),
    "rates": _run(
        "rates of QCN's reaction points over time ([measure] qcn)", "rates", results.limits
    ),
    "dcudp-rates": _run(
        "sending rates of DCUDP's flows over time ([measure] dcudp)", "dcudp_rates", results.sending
    ),
    "dcudp-modes": _run(
        "when DCUDP's flows are in congestion mode ([measure] dcudp)", "dcudp_modes", results.modes
    ),
    "feedback": _run(
        "feedback of QCN's congestion points over time ([measure] qcn)", "cnms", results.feedback
    ),
    "pauses": Kind(
        "share of time that PFC pauses each port, and because of which ([measure] pauses)",
        ("pause_record",),
        _of_runs(results.pauses, is_wide=True),
    ),
    "rounds": _run(
        "completion time of each round (all responses to one request)", "rounds", results.rounds
    ),
}


BY_GROUP = ("slowdown", "fct")
BY_SIZE = ("slowdown",)
TAKEN_BY = {
    "percentiles": BY_SIZE,
    "bins": BY_SIZE,
    "ccdf": ("fct", "queue-cdf"),
    "groups": BY_GROUP,
    "pool": BY_GROUP,
    "ports": ("queue", "queue-cdf", "feedback", "pauses"),
}
"""Choices that not all kinds take, and the kinds."""


def kinds() -> Sequence[tuple[str, str]]:
    """Return each kind and what it shows."""
    return [(name, kind.description) for name, kind in KINDS.items()]


def kind_of(name: str) -> Kind:
    """Return a kind by its name.

    Raises:
        PlotError: there is none; the message has the nearest ones.

    """
    if name in FORMER:
        raise PlotError(f"no plot {name!r}: it is {FORMER[name]!r} now")
    if name not in KINDS:
        raise PlotError(unknown(f"no plot {name!r}", name, KINDS))
    return KINDS[name]


def draw(
    drawn: Drawn,
    kind: str,
    options: Options | None = None,
    *,
    labels: Sequence[str] | None = None,
    out: Path | None = None,
) -> tuple[Figure, str]:
    """Draw, and write a file if there is a path.

    Returns:
        The figure, and what it was drawn from, in words.

    Raises:
        PlotError: no such kind or format, or a result has nothing of the kind.
        TableMissing: a result lacks the table.
        OSError: the file cannot be written.

    """
    options = options or Options()
    _check_effect(kind, options)
    if out is not None:
        form_of(out)  # refused before it is drawn
    check(drawn)
    if options.where:
        drawn = _at_values(drawn, options)
    if options.by not in {None, SIZE}:
        figure = _over_key(drawn, kind, options, labels, out)
        return figure, "the summary of each run (mean of the seeds, 95 % interval, range)"
    chosen = kind_of(kind)
    series = series_of(drawn, labels, chosen.tables)
    with canvas(options.style, options.size) as figure:
        _title(figure, series, options, _point(drawn, options))
        source = chosen.draw(figure, series, options)
        if out is not None:
            save(figure, out)
    return figure, source


def _at_values(drawn: Drawn, options: Options) -> Drawn:
    """Return the sweeps of what is drawn at the chosen values of their keys."""
    if isinstance(drawn, Cells):
        return sweeps.at_values(cast("Sweep", drawn), options.where)
    if (
        isinstance(drawn, Mapping)
        or not isinstance(drawn, Sequence)
        or not all(isinstance(one, Cells) for one in drawn)
    ):
        raise PlotError(
            f"{options.name('where')} chooses points of a sweep: of results, name those to draw"
        )
    return [sweeps.at_values(cast("Sweep", one), options.where) for one in drawn]


def _check_effect(kind: str, options: Options) -> None:
    """Refuse choices that change nothing in this figure."""
    over_key = options.by not in {None, SIZE}
    if over_key and "percentiles" in options.given:
        others = [one for one in MEASURES.get(kind, ()) if "_p99" in one] or ["slowdown_p99"]
        raise PlotError(
            f"{options.name('percentiles')} is of slowdown by size: over a key there are medians "
            f"and 99th percentiles, one alone as `{others[0]}` in place of {kind!r}"
        )
    for choice, kinds in TAKEN_BY.items():
        has_default = choice in {"percentiles", "bins"}
        if not (choice in options.given if has_default else getattr(options, choice)):
            continue
        name = options.name(choice)
        if over_key and choice in {"groups", "pool"} and _statistics(kind):
            continue
        if over_key:
            raise PlotError(f"{name} has no effect over a key ({options.by}): leave it out")
        if kind not in kinds:
            raise PlotError(f"{name} is for {' and '.join(kinds)}, not for {kind}: leave it out")


def _statistics(kind: str) -> bool:
    """Return whether a kind's measures are of the flows of one group."""
    return all(measure.startswith(sweeps.POOLED) for measure in MEASURES.get(kind, (kind,)))


def _over_key(
    drawn: Drawn,
    kind: str,
    options: Options,
    labels: Sequence[str] | None,
    out: Path | None,
) -> Figure:
    """Draw measures of a sweep over one of its keys, a curve per value of the other one.

    Raises:
        PlotError: it is no sweep, or has no such key or measure, or more than two keys.

    """
    one = drawn[0] if isinstance(drawn, list | tuple) and len(drawn) == 1 else drawn
    if not isinstance(one, Cells):
        raise PlotError(
            f"{options.name('by')} {options.by} draws over a key of one sweep, and these are "
            f"results: `incastle sweep` with --set {options.by}=VALUES makes one"
        )
    sweep = cast("Sweep", one)
    key = sweeps.whole_key(str(options.by), sweep.header.keys)
    others = [name for name, of in sweep.header.values.items() if len(of) > 1 and name != key]
    if key in sweep.header.keys and len(others) > 1:
        first = sweep.header.values[others[0]][0]
        raise PlotError(
            f"{' and '.join(others)} have several values as well, and one makes the curves: choose "
            f"a value of the others, as {others[0]}={first} after the kind (in Python where=)"
        )
    hue = others[0] if others else None
    measures = MEASURES.get(kind, (kind,))
    groups = _groups(sweep, measures, options) if _statistics(kind) else [""]
    rows = [[sweeps.Axes(key, of + one, hue, {}) for of in groups] for one in measures]
    return sweeps.draw_panels(sweep, rows, options, out, labels)


def _groups(sweep: Sweep, measures: Sequence[str], options: Options) -> list[str]:
    """Return what precedes the names of measures for each group of flows that has values."""
    columns = sweep.frame.columns
    there = [
        group
        for group in groups_of(columns)
        if any(sweep.frame[end].count() for one in measures for end in _ends(one, group, columns))
    ]
    if options.pool or not there:
        return [""]
    return [f"{group}." for group in matching("group", options.groups, there)]


def _ends(measure: str, group: str, columns: Sequence[str]) -> tuple[str, str]:
    """Return the columns of the bounds of a group's measure."""
    return ends_of(find_column(f"{group}.{measure}", columns).name)


def _point(drawn: Drawn, options: Options) -> list[str]:
    """Name the point of a sweep that is chosen."""
    sweep = drawn[0] if isinstance(drawn, Sequence) else drawn
    return (
        sweeps.point_words(options.where, cast("Sweep", sweep).header.keys) if options.where else []
    )


def _title(
    figure: Figure, series: Sequence[Series], options: Options, point: Sequence[str]
) -> None:
    """Name the figure: as it is wanted, else by scenario, point and seeds where no caption does."""
    title = options.title
    if title is None and not STYLES[options.style].is_column:
        names = dict.fromkeys(one.first.name for one in series)
        title = ", ".join([*names, *point, series[0].seeds])
    if title:
        figure.suptitle(title, x=0.01, ha="left")
