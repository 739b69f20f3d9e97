"""Slowdowns by flow size: percentiles of each bin of sizes, a curve per series, a panel for each.

A percentile is that of each seed, then the mean over the seeds with its 95 % interval. Bins have
equal counts of the flows of all series together, or begin at given sizes. Rounds have no ideal FCT
and are left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from incastle.analysis.completions import QUANTILES, class_name, counts, statistics_of
from incastle.analysis.completions import SIZE_CLASSES as CLASSES
from incastle.analysis.seeds import over_seeds
from incastle.plotting import intervals
from incastle.plotting.axes import legend_outside, logarithmic, name_once, panels
from incastle.plotting.series import nothing
from incastle.plotting.style import look
from incastle.units import between, si

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incastle.plotting.options import Options
    from incastle.plotting.series import Series

WORDS = {"median": "median", "p95": "95th percentile", "p99": "99th percentile"}
WORDS["p99_9"] = "99.9th percentile"
BELOW = 0.9
EVEN = 1.2
"""Bins whose largest has at most this multiple of the smallest's flows have equal counts."""
FEW = 100
"""Flows in a bin below which a 99th percentile is about their maximum."""


def draw(figure: Figure, series: Sequence[Series], options: Options) -> str:
    """Draw a panel for each percentile; return what it was drawn from."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    flows = options.of_groups(flows_of(series))
    starts = _starts(flows["bytes"], options.bins)
    binned = flows.with_columns(bin=_bin(starts)).sort("bin", maintain_order=True)
    cells = _by_bin(binned, options.percentiles)
    axis = _axis(binned, options.bins)
    grid = panels(figure, len(options.percentiles), options)
    words: dict[str, Artist] = {}
    for axes, name in zip(grid, options.percentiles, strict=True):
        column = f"slowdown_{name}"
        points = over_seeds(cells, ["series", "bin"], column).join(
            cells.group_by("series", "bin").agg(pl.col("unfinished").sum()),
            on=["series", "bin"],
            maintain_order="left",
        )
        points = points.with_columns(x=pl.col("bin").replace_strict(axis.places))
        _panel(axes, points, series)
        words |= intervals.remarks(points)
        axes.set_xticks(range(len(axis.texts)), axis.texts, rotation=45, ha="right")
        axes.tick_params(axis="x", pad=1)
        axes.set_title(WORDS[name])
    name_once(figure, grid, axis.name, "slowdown (FCT / ideal FCT)")
    legend_outside(figure, grid[0], options, words)
    return _source(binned, series, options) + _pooled(flows, axis, options)


def flows_of(series: Sequence[Series]) -> pl.DataFrame:
    """Return the transfers of all runs that have an ideal FCT: series, seed, and as observed.

    Raises:
        PlotError: there is none.

    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frames = []
    for number, one in enumerate(series):
        for run in one.runs:
            if "slowdown" not in run.table("transfers").columns:
                raise nothing(
                    run,
                    "it has no slowdowns, which its scenario did not ask for",
                    "under [measure], write slowdown = true, and run it again",
                )
            frame = run.observed.filter(pl.col("kind") != "round")
            names = (pl.lit(number).alias("series"), pl.lit(run.seed).alias("seed"))
            frames.append(frame.with_columns(*names))
    flows = pl.concat(frames)
    if flows.is_empty():
        raise nothing(
            series[0].first,
            "no finite flow or single response began in the measured interval",
            "a longer run.duration or an earlier [measure] warmup has some",
        )
    return flows


def _starts(sizes: pl.Series, bins: int | tuple[int, ...]) -> list[int]:
    """Return the size at which each bin begins, ascending."""
    if isinstance(bins, tuple):
        return [0, *bins]
    ordered = sizes.sort()
    return sorted({ordered[place * len(ordered) // bins] for place in range(bins)})


def _bin(starts: Sequence[int]) -> pl.Expr:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    bin_ = pl.lit(starts[0], pl.UInt64)
    for start in starts[1:]:
        bin_ = pl.when(pl.col("bytes") >= start).then(pl.lit(start, pl.UInt64)).otherwise(bin_)
    return bin_


def _by_bin(flows: pl.DataFrame, percentiles: Sequence[str]) -> pl.DataFrame:
    """Return one row per series, seed and bin: counts, and each percentile with its ends."""
    grouped = flows.group_by("series", "seed", "bin", maintain_order=True)
    return grouped.agg(*counts(), *statistics_of("slowdown", percentiles, "slowdown_"))


class _Axis(NamedTuple):
    """The axis of sizes: the place of each bin, the text there, its name."""

    places: dict[int, int]
    texts: list[str]
    name: str


def _axis(flows: pl.DataFrame, bins: int | tuple[int, ...]) -> _Axis:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    found = flows.group_by("bin").agg(pl.col("bytes").max(), pl.len()).sort("bin")
    places = {start: number for number, start in enumerate(found["bin"])}
    if isinstance(bins, tuple):
        return _Axis(places, [_name(start, bins) for start in places], "flow size")
    even = found["len"].max() <= EVEN * found["len"].min()  # type: ignore[operator]
    of_each = f"bins of {100 / len(found):.3g} % of the flows" if even else "bins"
    texts = [si(size, "B", 2) for size in found["bytes"]]
    return _Axis(places, texts, f"flow size, at most ({of_each})")


def _name(start: int, sizes: tuple[int, ...]) -> str:
    if sizes == CLASSES:
        return class_name(start)
    if start == sizes[-1]:
        return f"from {si(start, 'B')}"
    end = next(size for size in sizes if size > start)
    return f"below {si(end, 'B')}" if start == 0 else between(start, end, "B")


def _panel(axes: Axes, points: pl.DataFrame, series: Sequence[Series]) -> None:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    known = points.filter(pl.col("low") == pl.col("high"))["low"]
    # No flow is faster than the ideal one: what is below, of an unfinished one, bounds nothing.
    bottom = BELOW * min(1.0, *known) if len(known) else BELOW
    for number, one in enumerate(series):
        mine = points.filter(pl.col("series") == number).sort("x")
        aside = intervals.shifted(axes, number, len(series))
        style = look(number) | {"transform": aside, "label": one.label or "_"}
        intervals.curve(axes, mine, None, bottom, **style)
        intervals.count_unfinished(axes, mine, number, style["color"])
    ends = ("low", "high", "mean_to")
    finite = [v for end in ends for v in points[end].drop_nulls() if bottom < v < math.inf]
    logarithmic(axes, "y", [bottom, *finite])
    # Room for an arrow, and for a row of numbers of each series.
    room = intervals.STRETCH ** (2 + len(series))
    axes.set_ylim(bottom, max(bottom, *finite, 1.0) * room)
    axes.set_xlim(-0.6, float(points["x"].max()) + 0.6)  # type: ignore[arg-type]


def _pooled(flows: pl.DataFrame, axis: _Axis, options: Options) -> str:
    """Describe what the bins do not tell apart: groups, and sizes that many flows have."""
    groups = flows["group"].unique(maintain_order=True).to_list()
    text = ""
    if len(groups) > 1:
        text += f"; the groups {', '.join(groups)} together: --group NAME draws one"
    if isinstance(options.bins, int) and len(axis.places) < options.bins:
        text += (
            f"; {len(axis.places)} bins instead of {options.bins}, because many flows have the "
            "same size: --bins SIZE,... says where bins begin"
        )
    return text


def _source(flows: pl.DataFrame, series: Sequence[Series], options: Options) -> str:
    """Describe the flows, and where a percentile is of few."""
    unfinished = flows["fct_s"].null_count()
    text = f"transfers.parquet, {len(flows):,} flows of {len(series)} series"
    if unfinished:
        text += f", {unfinished:,} of them unfinished"
    least = flows.group_by("series", "seed", "bin").len()["len"].min()
    high = [name for name in options.percentiles if QUANTILES[name] >= 1 - 1 / FEW]
    if high and isinstance(least, int) and least < FEW:
        text += (
            f"; as few as {least} flows of a seed are in a bin, so that the "
            f"{WORDS[high[0]]} is about their maximum: fewer bins, or longer runs, have more"
        )
    return text
