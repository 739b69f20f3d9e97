"""Slowdowns by flow size: percentiles of each bin of sizes, a curve per series, a panel for each.

A percentile is that of each seed, then the mean over the seeds with its 95 % interval. Several
groups of flows have a column of panels each. Bins have equal counts of the flows of all series
together, or begin at given sizes. Rounds have no ideal FCT and are left out.
"""

from __future__ import annotations

import math
import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from incastle.analysis.completions import QUANTILES, class_name, counts, statistics_of
from incastle.analysis.completions import SIZE_CLASSES as CLASSES
from incastle.analysis.seeds import least_of, over_seeds
from incastle.plotting import intervals
from incastle.plotting.axes import (
    in_line,
    is_stacked,
    legend_outside,
    letter,
    logarithmic,
    name_once,
    panels,
)
from incastle.plotting.series import nothing
from incastle.plotting.style import look
from incastle.units import between, si

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import Container
    from matplotlib.figure import Figure

    from incastle.plotting.options import Options
    from incastle.plotting.series import Series

WORDS = {"median": "median", "p95": "95th percentile", "p99": "99th percentile"}
WORDS["p99_9"] = "99.9th percentile"
SLOWDOWN = "slowdown (FCT / ideal FCT)"
LEAST = least_of("slowdown")
BELOW, ROOM = 0.9, 1.2
"""The ends of an axis, in values."""
MARGIN = 1.5
"""Of a column of panels, in bins."""
NO_BREAK = "\N{NO-BREAK SPACE}"
PANEL, LINES = 0.75, 2
"""The width of a lone panel, as a share of the figure; lines of the name of a bin below it."""
EVEN = 1.2
"""Bins whose largest has at most this multiple of the smallest's flows have equal counts."""
FEW = 100
"""Flows in a bin below which a 99th percentile is about their maximum."""


def draw(figure: Figure, series: Sequence[Series], options: Options) -> str:
    """Draw a panel for each percentile, and group of flows; return what it was drawn from."""
    parts = [_Part.of(flows, options) for flows in options.by_group(flows_of(series))]
    names = options.percentiles
    several = len(parts) > 1
    if several:
        grid = panels(figure, options, len(names), len(parts), [_width(part) for part in parts])
        columns = [[row[place] for row in grid] for place in range(len(parts))]
    else:
        columns = [in_line(figure, options, len(names))]
        grid = [[axes] for axes in columns[0]] if is_stacked(options) else [columns[0]]
    in_rows = len(grid) > 1
    words: dict[str, Artist | Container] = {}
    for part, column in zip(parts, columns, strict=True):
        for axes, name in zip(column, names, strict=True):
            points = part.points(name)
            words |= intervals.remarks(points, bottom=LEAST)
            _panel(axes, points, series)
            _name_sizes(figure, axes, part.axis.texts, options, alone=not several and in_rows)
            if not in_rows:
                axes.set_title(part.flows["group"][0] if several else WORDS[name])
    if in_rows or several:
        _name_grid(figure, grid, parts, [WORDS[name] for name in names])
    if not several:
        name_once(figure, grid, parts[0].axis.name, SLOWDOWN)
    legend_outside(figure, grid[0][0], options, words)
    return _source([part.flows for part in parts], series, options) + _fewer(parts, options)


def _width(part: _Part) -> float:
    """Return the relative width of a column of panels: that of its bins and their margins."""
    return len(part.axis.texts) + MARGIN


def _name_sizes(
    figure: Figure, axes: Axes, texts: Sequence[str], options: Options, *, alone: bool
) -> None:
    """Write the sizes of bins below their ticks: in two lines where they fit, else at an angle."""
    axes.tick_params(axis="x", pad=1)
    width = PANEL * float(figure.get_size_inches()[0]) / (len(texts) + MARGIN)
    letters = int(width / letter(options, "font.size"))
    whole = [re.sub(r"(?<=\d) (?=\w?B)", NO_BREAK, text) for text in texts]
    wrapped = [textwrap.wrap(text, max(1, letters), break_long_words=False) for text in whole]
    lines = [line for of_one in wrapped for line in of_one]
    if alone and max(map(len, wrapped)) <= LINES and max(map(len, lines)) <= letters:
        axes.set_xticks(range(len(texts)), ["\n".join(of_one) for of_one in wrapped], linespacing=1)
    else:
        axes.set_xticks(range(len(texts)), texts, rotation=45, ha="right")


def _name_grid(
    figure: Figure, grid: Sequence[Sequence[Axes]], parts: Sequence[_Part], rows: Sequence[str]
) -> None:
    """Name the columns by groups and the rows by percentiles; a row has one vertical axis."""
    for axes, part in zip(grid[0], parts, strict=True):
        if len(parts) > 1:
            axes.set_title(part.flows["group"][0])
    for axes, part in zip(grid[-1], parts, strict=True):
        axes.set_xlabel("flow size, at most" if len(part.axis.texts) > 1 else "flow size")
    for row, words in zip(grid, rows, strict=True):
        row[0].set_ylabel(words.replace(" ", "\n"), linespacing=1.0)
        ends = [axes.get_ylim() for axes in row]
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        for axes in row:
            logarithmic(axes, "y", [low, high])
            axes.set_ylim(low, high)
            axes.label_outer()
    figure.supylabel(SLOWDOWN)
    figure.align_ylabels([row[0] for row in grid])


@dataclass(frozen=True)
class _Part:
    """What has an axis of sizes: the flows of a group, or of all together.

    Attributes:
        flows: the flows with their bins.
        cells: a row per series, seed and bin: counts, and each percentile with its ends.
        axis: the axis of the bins.

    """

    flows: pl.DataFrame
    cells: pl.DataFrame
    axis: _Axis

    @classmethod
    def of(cls, flows: pl.DataFrame, options: Options) -> _Part:
        """Sort flows into bins."""
        starts = _starts(flows["bytes"], options.bins)
        binned = flows.with_columns(bin=_bin(starts)).sort("bin", maintain_order=True)
        cells = _by_bin(binned, options.percentiles)
        return cls(binned, cells, _axis(binned, options.bins))

    def points(self, percentile: str) -> pl.DataFrame:
        """Return a percentile over the seeds, by series and bin."""
        import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

        keys = ["series", "bin"]
        unfinished = self.cells.group_by(keys).agg(pl.col("unfinished").sum())
        points = over_seeds(self.cells, keys, f"slowdown_{percentile}")
        return points.join(unfinished, on=keys, maintain_order="left").with_columns(
            x=pl.col("bin").replace_strict(self.axis.places)
        )


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
        intervals.curve(axes, mine, bottom, LEAST, **style)
        intervals.count_unfinished(axes, mine, number, style["color"])
    ends = ("low", "high", "mean_to")
    finite = [v for end in ends for v in points[end].drop_nulls() if bottom < v < math.inf]
    top = max(bottom, *finite, 1.0) * ROOM
    share = intervals.headroom(axes, points, len(series))
    top *= (top / bottom) ** (share / (1 - share))
    logarithmic(axes, "y", [bottom, top])
    axes.set_ylim(bottom, top)
    axes.set_xlim(-0.6, float(points["x"].max()) + 0.6)  # type: ignore[arg-type]


def _fewer(parts: Sequence[_Part], options: Options) -> str:
    """Describe where bins are fewer because many flows have one size."""
    if not isinstance(options.bins, int):
        return ""
    return "".join(
        f"; {part.flows['group'][0]}: {len(part.axis.places)} bins instead of {options.bins}, "
        f"because many flows have one size: {options.name('bins')} takes sizes, too"
        for part in parts
        if 1 < len(part.axis.places) < options.bins
    )


def _source(parts: Sequence[pl.DataFrame], series: Sequence[Series], options: Options) -> str:
    """Describe the flows, and where a percentile is of few."""
    unfinished = sum(flows["fct_s"].null_count() for flows in parts)
    count = sum(map(len, parts))
    text = f"transfers.parquet, {count:,} flows of {len(series)} series"
    if unfinished:
        text += f", {unfinished:,} of them unfinished"
    groups = ("series", "seed", "bin")
    least = min(size for flows in parts for size in flows.group_by(groups).len()["len"])
    high = [name for name in options.percentiles if QUANTILES[name] >= 1 - 1 / FEW]
    if high and least < FEW:
        text += (
            f"; as few as {least} flows of a seed are in a bin, so that the "
            f"{WORDS[high[0]]} is about their maximum: fewer bins, or longer runs, have more"
        )
    return text
