"""Distributions and queues of several series in one picture: FCTs, queue lengths, total goodput.

Unfinished flows leave a distribution open: the share of flows within a time lies between those that
were completed in it and those that had not lasted longer. The range is a band; the curve ends where
it would be a guess.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from incastle.analysis import bins
from incastle.analysis.seeds import over_seeds
from incastle.plotting import intervals
from incastle.plotting.axes import in_time, is_wide, legend_outside, logarithmic
from incastle.plotting.series import nothing
from incastle.plotting.style import SERIES, THIN, line
from incastle.units import scale_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incastle.plotting.options import Options
    from incastle.plotting.series import Series

MAX_LINES = len(SERIES)
SINGLE = 1024
"""Packets up to which the histogram has a bin for each length; then they are powers of two."""
FLOWS_BEGIN = "a longer run.duration or an earlier [measure] warmup has some"
NO_QUEUE = "a higher load, or more senders, lets packets wait"


def fct(figure: Figure, series: Sequence[Series], options: Options) -> str:
    """Draw the share of flows completed within a time, or with `ccdf` of those not completed."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    axes = figure.subplots()
    samples = [(name, frame) for one in series for name, frame in _transfers(one, options)]
    times = pl.concat([frame["fct_low_s"] for _, frame in samples])
    factor, unit = scale_of(times.to_list(), "s")
    floor = 0.5 / max(len(frame) for _, frame in samples) if options.ccdf else 0.0
    for place, (name, frame) in enumerate(samples[:MAX_LINES]):
        left = frame["fct_s"].null_count()
        label = f"{name} ({left:,} of {len(frame):,} unfinished)" if left else name
        low, high = (frame[column] / factor for column in ("fct_low_s", "fct_high_s"))
        share(axes, low, high, floor=floor, label=label or "_", **line(place))
    _left_out(axes, len(samples))
    axes.set_xlabel(f"flow completion time ({unit})")
    axes.set_ylabel("share of flows above" if options.ccdf else "share of flows at or below")
    values = [value / factor for value in times if value > 0]
    if is_wide(values):
        logarithmic(axes, "x", values)
    if options.ccdf:
        axes.set_yscale("log")
        axes.set_ylim(floor, 1.2)
    else:
        axes.set_ylim(0, 1.02)
    band = any(frame["fct_s"].null_count() for _, frame in samples)
    legend_outside(
        figure, axes, options, intervals.shade("left open by unfinished flows") if band else None
    )
    return f"transfers.parquet, {sum(len(frame) for _, frame in samples):,} flows"


def _transfers(series: Series, options: Options) -> list[tuple[str, pl.DataFrame]]:
    """Return the transfers of all seeds together, by group if there are several."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    for run in series.runs:
        run.table("transfers")
    frame = options.of_groups(pl.concat([run.observed for run in series.runs]))
    if frame.is_empty():
        raise nothing(
            series.first, "no finite flow or response began in the measured interval", FLOWS_BEGIN
        )
    kinds = frame.partition_by("group", "kind", maintain_order=True)
    if len(kinds) == 1:
        return [(series.label, frame)]
    several = frame["kind"].n_unique() > frame["group"].n_unique()
    return [
        (series.named(f"{one['group'][0]} {one['kind'][0]}s" if several else one["group"][0]), one)
        for one in kinds
    ]


def share(axes: Axes, low: pl.Series, high: pl.Series, floor: float = 0.0, **style: Any) -> None:  # noqa: ANN401
    """Draw the share at or below, and the band that values without an upper end leave open.

    With a floor above 0, the lowest share that is drawn, it is the share above.
    """
    import numpy as np  # noqa: PLC0415  slow to import: only to draw

    def shares(values: pl.Series, at: Any) -> Any:  # noqa: ANN401  arrays
        within = np.searchsorted(np.sort(values.to_numpy()), at, side="right") / len(values)
        return np.maximum(1 - within, floor) if floor else within

    done = np.unique(high.filter(high.is_finite()).to_numpy())
    if len(done):
        # It ends at the last value that has an upper end: what is beyond is not known.
        start = 1.0 if floor else 0.0
        axes.step([done[0], *done], [start, *shares(high, done)], where="post", **style)
    if len(done) == 0 or high.is_infinite().any():
        at = np.unique(np.concatenate([low.to_numpy(), done]))
        shade: dict[str, Any] = {"color": style["color"], "alpha": 0.18, "lw": 0}
        axes.fill_between(at, shares(high, at), shares(low, at), step="post", **shade)


def queue_cdf(figure: Figure, series: Sequence[Series], options: Options) -> str:
    """Draw the share of time at or below each queue length, of all seeds together."""
    axes = figure.subplots()
    curves, where = _by_port(series, [_busy(one, options) for one in series], options)
    for place, (name, rows) in enumerate(curves[:MAX_LINES]):
        axes.step(*shares_of_time(rows), where="post", label=name or "_", **line(place))
    _left_out(axes, len(curves))
    axes.set(xlabel=where, ylabel="share of time at or below", ylim=(0, 1.02))
    axes.set_xlim(left=0)
    legend_outside(figure, axes, options)
    return "the time-weighted histogram (queues.parquet)"


def queue(figure: Figure, series: Sequence[Series], options: Options) -> str:
    """Draw queues over time from samples; from the histogram where there are none."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    samples = [one.first.tables.get("queue_samples", pl.DataFrame()) for one in series]
    if any(frame.is_empty() for frame in samples):
        return f"{queue_cdf(figure, series, options)}, as the scenario requests no samples"
    axes = figure.subplots()
    busy = [
        options.of_ports(frame).filter(pl.col("packets").max().over("port") > 0)
        for frame in samples
    ]
    if all(frame.is_empty() for frame in busy):
        axes.remove()
        return f"{queue_cdf(figure, series, options)}, as every sample met an empty queue"
    ordered = [largest_first(frame, "port", "packets") for frame in busy]
    curves, where = _by_port(series, ordered, options)
    factor = in_time(axes, max(float(frame["time_s"].max() or 0) for frame in samples))  # type: ignore[arg-type]
    for place, (name, rows) in enumerate(curves[:MAX_LINES]):
        times = rows["time_s"] / factor
        axes.plot(times, rows["packets"], label=name or "_", linewidth=THIN, **line(place))
    _left_out(axes, len(curves))
    axes.set_ylabel(where)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.03)
    legend_outside(figure, axes, options)
    idle = samples[0]["port"].n_unique() - busy[0]["port"].n_unique()
    others = f"; {idle} idle ports are not drawn" if idle and not options.ports else ""
    return f"samples (queue_samples.parquet){_one_seed(series)}{others}"


def shares_of_time(queue: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Return lengths and the share of time at or below each, of one port's histogram.

    A bin of several lengths counts at its largest: below it the share is not known.
    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    length = pl.col("packets")
    upper = pl.when(length < SINGLE).then(length).otherwise(2 * length - 1)
    return (
        queue.select(upper.cast(pl.Int64)).to_series(),
        queue["seconds"].cum_sum() / queue["seconds"].sum(),
    )


def _busy(series: Series, options: Options) -> pl.DataFrame:
    """Return the histograms of ports whose queue was not always empty, the longest first."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frames = [frame for _, frame in series.table("queues", "only switches have queues")]
    every = pl.concat(options.of_ports(frame) for frame in frames)
    sums = every.group_by("port", "packets", maintain_order=True).agg(pl.col("seconds").sum())
    busy = sums.filter(pl.col("seconds").filter(pl.col("packets") > 0).sum().over("port") > 0)
    if busy.is_empty():
        raise nothing(series.first, "no packet ever waited at a switch", NO_QUEUE)
    mean = (pl.col("packets") * pl.col("seconds")).sum().over("port")
    return busy.with_columns(mean.alias("weight")).sort(
        "weight", "port", "packets", descending=[True, False, False]
    )


def _by_port(
    series: Sequence[Series], frames: Sequence[pl.DataFrame], options: Options
) -> tuple[list[tuple[str, pl.DataFrame]], str]:
    """Return the name and rows of each curve, and what the axis of queues is named.

    Of several series only the busiest port is drawn, or as many as can be told apart. A port that
    all curves share is not named in the legend, but by the axis.
    """
    ports = [frame["port"].unique(maintain_order=True).to_list() for frame in frames]
    if len(series) > 1:
        most = MAX_LINES // len(series) if options.ports else 1
        ports = [of[: max(1, most)] for of in ports]
    shared = {port for of in ports for port in of}
    alone = f" at {shared.pop()}" if len(shared) == 1 else ""
    curves = [
        (one.label if alone else one.named(port), frame.filter(port=port))
        for one, frame, of in zip(series, frames, ports, strict=True)
        for port in of
    ]
    return curves, f"queue{alone} (packets)"


def total_goodput(figure: Figure, series: Sequence[Series], options: Options) -> str:
    """Draw what all receivers together got per millisecond: the mean of the seeds."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    axes = figure.subplots()
    curves = [_total(one) for one in series]
    peak = max(float(frame["low"].max()) for frame in curves)  # type: ignore[arg-type]
    factor, unit = scale_of([peak], "bit/s")
    second = in_time(axes, max(float(frame["time_s"].max()) for frame in curves))  # type: ignore[arg-type]
    for place, (one, frame) in enumerate(zip(series, curves, strict=True)):
        scaled = frame.with_columns(
            pl.col("low", "mean_from", "mean_to") / factor, pl.col("time_s") / second
        )
        axes.plot(scaled["time_s"], scaled["low"], label=one.label or "_", **line(place))
        if len(one.runs) > 1:
            band = (scaled["mean_from"].clip(0), scaled["mean_to"])
            shade = {"color": line(place)["color"], "alpha": 0.18, "lw": 0}
            axes.fill_between(scaled["time_s"], *band, **shade)
    axes.set_ylabel(f"total goodput ({unit})")
    axes.set_ylim(0, axes.get_ylim()[1])
    seeds = any(len(one.runs) > 1 for one in series)
    legend_outside(
        figure, axes, options, intervals.shade("95 % interval of the mean") if seeds else None
    )
    return "goodput.parquet"


def _total(series: Series) -> pl.DataFrame:
    """Return the mean over the seeds of what all hosts got, by bin of time."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    remedy = "nothing was delivered to a host; a longer run.duration may change that"
    frames = []
    for run, frame in series.table("goodput", remedy):
        number = (pl.col("time_s") / bins.HOST_BIN_S).round().cast(pl.Int64)
        sums = frame.group_by(number.alias("bin")).agg(pl.col("bytes").sum())
        # A host's bins end with its last byte; the run goes on.
        end = math.floor(float(run.totals["simulated_s"]) / bins.HOST_BIN_S + 1e-9)
        every = pl.DataFrame({"bin": range(max(end, 1))}, schema={"bin": pl.Int64})
        whole = every.join(sums, on="bin", how="left").with_columns(pl.col("bytes").fill_null(0))
        frames.append(whole.with_columns(bit_s=pl.col("bytes") * 8 / bins.HOST_BIN_S))
    found = over_seeds(pl.concat(frames), ["bin"], "bit_s").sort("bin")
    return found.with_columns(time_s=pl.col("bin") * bins.HOST_BIN_S)


def largest_first(frame: pl.DataFrame, by: str, column: str) -> pl.DataFrame:
    """Put the series with the largest total first, among equals the one with the highest peak."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    total, peak = (pl.col(column).sum().over(by), pl.col(column).max().over(by))
    return frame.sort(total, peak, descending=True, maintain_order=True)


def _left_out(axes: Axes, count: int) -> None:
    if count > MAX_LINES:
        axes.plot([], [], " ", label=f"and {count - MAX_LINES} more")


def _one_seed(series: Sequence[Series]) -> str:
    return f", of {len(series[0].runs)} seeds the first" if len(series[0].runs) > 1 else ""
