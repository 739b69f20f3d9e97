"""Fairness over time: Jain's index of what flows delivered, per interval of their throughput.

The index of n values x is (sum of x)^2 / (n * sum of x^2): 1 where all are equal, 1/n where one has
everything (Jain, Chiu and Hawe, DEC-TR-301, 1984). A flow counts in the intervals that lie between
its beginning and its end; an interval needs two of them, and something delivered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from incastle.analysis import bins
from incastle.analysis.seeds import over_seeds
from incastle.plotting import intervals
from incastle.plotting.axes import in_time, legend_outside
from incastle.plotting.series import nothing
from incastle.plotting.style import line
from incastle.units import si

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from incastle.plotting.options import Options
    from incastle.plotting.series import Series
    from incastle.results import Result

TABLE = "throughput"
ROUNDING = 1e-9
"""Of an instant in intervals: those of seconds are no binary fractions."""


def draw(figure: Figure, series: Sequence[Series], options: Options) -> str:
    """Draw the index of each series: the mean of its seeds, and the 95 % interval as a band."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    axes = figure.subplots()
    curves = [_over_seeds(one) for one in series]
    second = in_time(axes, max(float(frame["time_s"].max()) for frame in curves))  # type: ignore[arg-type]
    for place, (one, frame) in enumerate(zip(series, curves, strict=True)):
        times = frame["time_s"] / second
        axes.plot(times, frame["low"], label=one.label or "_", **line(place))
        if len(one.runs) > 1:
            ends = frame.select(pl.col("mean_from", "mean_to").clip(0, 1))
            shade = {"color": line(place)["color"], "alpha": 0.18, "lw": 0}
            axes.fill_between(times, ends["mean_from"], ends["mean_to"], **shade)
    width = si(bins.width_s(TABLE, series[0].first.scenario), "s")
    axes.set_ylabel(f"Jain's index of throughput, per {width}")
    axes.set_ylim(0, 1.03)
    seeds = max(len(one.runs) for one in series)
    words = intervals.shade(intervals.of_seeds(seeds)) if seeds > 1 else None
    legend_outside(figure, axes, options, words)
    return "throughput.parquet"


def _over_seeds(series: Series) -> pl.DataFrame:
    """Return the mean over the seeds by interval."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frames = [index(run) for run in series.runs]
    found = pl.concat(frames)
    if found.is_empty():
        raise nothing(
            series.first,
            "no interval has two flows of which one delivered something",
            "under [measure], throughput with more flows, or a longer run.duration, has some",
        )
    width = bins.width_s(TABLE, series.first.scenario)
    return over_seeds(found, ["bin"], "jain").sort("bin").with_columns(time_s=pl.col("bin") * width)


def index(run: Result) -> pl.DataFrame:
    """Return Jain's index of a run by interval: bin, jain."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    table = run.table(TABLE)
    width = bins.width_s(TABLE, run.scenario)
    delivered = table.select("flow", "bytes", bin=(pl.col("time_s") / width).round().cast(pl.Int64))
    end = pl.col("completed_s").fill_null(float(run.totals["simulated_s"]))
    first = (pl.col("started_s") / width - ROUNDING).ceil().cast(pl.Int64)
    last = (end / width + ROUNDING).floor().cast(pl.Int64)
    flows = run.flows.join(delivered, on="flow", how="semi").filter(first < last)
    active = flows.select("flow", bin=pl.int_ranges(first, last)).explode("bin")
    every = active.join(delivered, on=["flow", "bin"], how="left").with_columns(
        pl.col("bytes").fill_null(0).cast(pl.Float64)
    )
    sums = every.group_by("bin").agg(
        count=pl.len(), total=pl.col("bytes").sum(), squares=(pl.col("bytes") ** 2).sum()
    )
    known = sums.filter((pl.col("count") > 1) & (pl.col("squares") > 0)).sort("bin")
    jain = pl.col("total") ** 2 / (pl.col("count") * pl.col("squares"))
    return known.select("bin", jain=jain)
