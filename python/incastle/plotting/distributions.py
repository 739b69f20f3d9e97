"""Distributions and queues of several series in one picture: FCTs, queue lengths, total goodput.

Unfinished flows leave a distribution open: the share of flows within a time lies between those that
were completed in it and those that had not lasted longer. The range is a band; the curve ends where
it would be a guess.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incastle.analysis import bins, queues
from incastle.analysis.seeds import over_seeds
from incastle.errors import PlotError
from incastle.plotting import intervals
from incastle.plotting.axes import (
    in_line,
    in_time,
    is_stacked,
    is_wide,
    legend_outside,
    logarithmic,
    name_once,
)
from incastle.plotting.options import matching
from incastle.plotting.series import MAX_SERIES, nothing
from incastle.plotting.style import THIN, line
from incastle.units import scale_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incastle.plotting.options import Options
    from incastle.plotting.series import Series

OF_KINDS = {
    "flow": "flow completion time",
    "response": "response completion time",
    "round": "request completion time",
}
"""What is measured of each kind of transfers, in the words of an axis."""
NEARLY_ALL = 0.999
"""The share of time at which the axis of queues may end."""
RAREST = 1e-5
"""The lowest share of time above a length on a logarithmic axis."""
HALF = 0.5
"""Where all distributions begin above it, so does their axis."""
FLOWS_BEGIN = "a longer run.duration or an earlier [measure] warmup has some"
MAX_BANDS = 2
"""Series whose bands over time can be told apart."""
NO_QUEUE = "a higher load, or more senders, lets packets wait"


def fct(figure: Figure, series: Sequence[Series], options: Options) -> str:
    """Draw the share of flows completed within a time, or with `ccdf` of those not completed.

    Flows, responses and rounds of each group have a panel of their own.
    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    every = _transfers(series, options)
    parts = [of for group in every for of in group.partition_by("kind", maintain_order=True)]
    grid = in_line(figure, options, len(parts))
    times = pl.concat([part["fct_low_s"] for part in parts])
    factor, unit = scale_of(times.to_list(), "s")
    for axes, part in zip(grid, parts, strict=True):
        _fct_panel(axes, part, series, factor, ccdf=options.ccdf)
        if len(parts) > 1:
            axes.set_title(_name(part, options))
    values = [value / factor for value in times if value > 0]
    if is_wide(values):
        for axes in grid:
            logarithmic(axes, "x", values)
    ends = [axes.get_xlim() for axes in grid]
    for axes in grid:  # alike, so that panels can be compared
        axes.set_xlim(min(low for low, _ in ends), max(high for _, high in ends))
    kinds = {part["kind"][0] for part in parts}
    what = OF_KINDS.get(kinds.pop(), "completion time") if len(kinds) == 1 else "completion time"
    rows = [[axes] for axes in grid] if is_stacked(options) else [grid]
    beyond = "share above" if options.ccdf else "share at or below"
    name_once(figure, rows, f"{what} ({unit})", beyond)
    left = any(part["fct_s"].null_count() for part in parts)
    names = " and ".join(dict.fromkeys(f"{part['kind'][0]}s" for part in parts))
    open_ = (
        intervals.shade(f"left open by unfinished {names}; n of m: unfinished of all")
        if left
        else None
    )
    legend_outside(figure, grid[0], options, open_)
    return f"transfers.parquet, {len(times):,} {names}"


def _name(part: pl.DataFrame, options: Options) -> str:
    """Name a panel: its group of flows, and what is measured."""
    kind = f"{part['kind'][0]}s"
    return kind if options.pool else f"{part['group'][0]}: {kind}"


def _fct_panel(
    axes: Axes, part: pl.DataFrame, series: Sequence[Series], factor: float, *, ccdf: bool
) -> None:
    """Draw a curve per series, and how many were unfinished in a corner that curves avoid."""
    most = max(part.group_by("series").len()["len"])
    floor = 0.5 / most if ccdf else 0.0
    counts = []
    for place, one in enumerate(series):
        frame = part.filter(series=place)
        if not frame["fct_s"].count():  # no curve, but an entry of the legend
            axes.plot([], [], label=one.label or "_", **line(place))
        if frame.is_empty():
            continue
        low, high = (frame[column] / factor for column in ("fct_low_s", "fct_high_s"))
        share(axes, low, high, floor=floor, label=one.label or "_", **line(place))
        if left := frame["fct_s"].null_count():
            counts.append((f"{left:,} of {len(frame):,}", line(place)["color"]))
    for row, (text, color) in enumerate(reversed(counts)):  # from below, as the legend is read
        intervals.in_corner(axes, text, row, color, left=ccdf)
    if ccdf:
        axes.set_yscale("log")
        axes.set_ylim(floor, 1.2)
    else:
        axes.set_ylim(0, 1.02)


def _transfers(series: Sequence[Series], options: Options) -> list[pl.DataFrame]:
    """Return the transfers of all seeds and series together, those of each group of flows."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frames = []
    for number, one in enumerate(series):
        for run in one.runs:
            run.table("transfers")
        frame = pl.concat([run.observed for run in one.runs], how="diagonal")
        if frame.is_empty():
            raise nothing(
                one.first, "no finite flow or response began in the measured interval", FLOWS_BEGIN
            )
        frames.append(frame.with_columns(series=pl.lit(number)))
    return options.by_group(pl.concat(frames, how="diagonal"))


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
    """Draw the share of time at or below each queue length, of all seeds together.

    The ports that a pattern names are one curve: their time together.
    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    axes = figure.subplots()
    frames = [_histogram(one) for one in series]
    drawn = _chosen(series, frames, options)
    if options.ports:
        drawn = _Ports(dict(_together(pattern, drawn.names) for pattern in options.ports))
    curves = []
    for name, rows in _curves(series, frames, drawn, options):
        by_length = rows.group_by("packets").agg(pl.col("seconds").sum(), pl.col("last").max())
        curves.append((name, shares_of_time(by_length.sort("packets"))))
    floor = _rarest([shares for _, shares in curves]) if options.ccdf else 0.0
    for place, (name, shares) in enumerate(curves):
        draw_shares(axes, shares, floor, label=name or "_", **line(place))
    _axes_of_shares(axes, [shares for _, shares in curves], drawn.axis, floor)
    _more(axes, drawn)
    wide = any(shares["last"].gt(shares["packets"]).any() for _, shares in curves)
    words = intervals.shade("left open: lengths that share a bin") if wide else None
    legend_outside(figure, axes, options, words)
    ends = any("links" not in run.tables for one in series for run in one.runs)
    known = (
        "; the table links has the longest queues, where bands would end" if wide and ends else ""
    )
    return f"the time-weighted histogram (queues.parquet){drawn.words}{known}"


def _axes_of_shares(axes: Axes, curves: Sequence[pl.DataFrame], name: str, floor: float) -> None:
    """Name and limit the axes of distributions of queues; with a floor, of the shares above."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    end = 1 - floor if floor else NEARLY_ALL
    nearly = max(shares.filter(pl.col("share") >= end)["last"][0] for shares in curves)
    longest = max(shares["last"][-1] for shares in curves)
    axes.set_xlim(left=0)
    if 0 < nearly < longest / 2:
        # A rare long queue would leave the rest of all curves at the axis.
        axes.set_xlim(0, nearly)
        name = name.replace("(packets)", f"(packets, at most {longest:,})")
    axes.set_xlabel(name)
    if floor:
        axes.set(yscale="log", ylim=(floor, 1.2), ylabel="share of time above")
        return
    least = min(shares["share"][0] for shares in curves)
    bottom = min(math.floor(20 * least) / 20, 0.95) if least > HALF else 0.0
    above = f"\n(axis from {bottom:g})" if bottom else ""
    axes.set_ylabel(f"share of time at or below{above}")
    axes.set_ylim(bottom, 1 + 0.02 * (1 - bottom))


def _rarest(curves: Sequence[pl.DataFrame]) -> float:
    """Return the lower end of an axis of shares above: below every one that is drawn."""
    above = [1 - share for shares in curves for share in shares["share"] if share < 1 - RAREST]
    return max(0.5 * min(above, default=1.0), RAREST)


def queue(figure: Figure, series: Sequence[Series], options: Options) -> str:
    """Draw queues over time from samples; from the histogram where there are none."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    samples = [one.first.tables.get("queue_samples", pl.DataFrame()) for one in series]
    if any(frame.is_empty() for frame in samples):
        return f"{queue_cdf(figure, series, options)}, as the scenario requests no samples"
    if not any(frame["packets"].max() for frame in samples):
        return f"{queue_cdf(figure, series, options)}, as every sample met an empty queue"
    axes = figure.subplots()
    frames = [frame.with_columns(seconds=pl.lit(1.0)) for frame in samples]
    drawn = _chosen(series, frames, options)
    factor = in_time(axes, max(float(frame["time_s"].max() or 0) for frame in samples))  # type: ignore[arg-type]
    for place, (name, rows) in enumerate(_curves(series, frames, drawn, options)):
        times = rows["time_s"] / factor
        axes.plot(times, rows["packets"], label=name or "_", linewidth=THIN, **line(place))
    axes.set_ylabel(drawn.axis)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.03)
    _more(axes, drawn)
    legend_outside(figure, axes, options)
    return f"samples (queue_samples.parquet){_one_seed(series)}{drawn.words}"


@dataclass(frozen=True)
class _Ports:
    """The ports that are drawn.

    Attributes:
        names: the ports of each curve by its name.
        words: about their choice.
        more: ports with queues that are not drawn.

    """

    names: dict[str, list[str]]
    words: str = ""
    more: int = 0

    @property
    def axis(self) -> str:
        """What the axis of queues is named: a port that all curves share stands there."""
        if len(self.names) > 1:
            return "queue (packets)"
        name, ports = next(iter(self.names.items()))
        return f"queue{' at' if len(ports) == 1 else ','} {name} (packets)"


def _chosen(series: Sequence[Series], frames: Sequence[pl.DataFrame], options: Options) -> _Ports:
    """Choose the ports that patterns name, else the busiest ones.

    The busiest port has the longest mean queue over all that is drawn: of several series it is
    drawn alone, the same for all.
    """
    there = frames[0]["port"].unique(maintain_order=True).to_list()
    if options.ports:
        return _Ports({port: [port] for port in matching("port", options.ports, there)})
    busy = _busiest_first(series, frames)
    if not busy:
        if not set(there).intersection(*(frame["port"] for frame in frames)):
            raise PlotError(
                f"{series[0].first.name} and the other results share no port of a switch: draw "
                f"each alone, where {options.name('ports')} chooses among its ports"
            )
        raise nothing(series[0].first, "no packet ever waited at a switch", NO_QUEUE)
    if len(series) > 1:
        return _Ports({busy[0]: busy[:1]}, f"; {busy[0]} has the longest mean queue of all of them")
    words = ""
    if len(busy) > MAX_SERIES:
        words += f"; {MAX_SERIES} of {len(busy)} ports with queues, those with the longest mean: "
        words += f"{options.name('ports')} chooses others"
    if idle := len(there) - len(busy):
        words += f"; {idle} idle port{'s are' if idle > 1 else ' is'} not drawn"
    more = max(0, len(busy) - MAX_SERIES)
    return _Ports({port: [port] for port in busy[:MAX_SERIES]}, words, more)


def _busiest_first(series: Sequence[Series], frames: Sequence[pl.DataFrame]) -> list[str]:
    """Return the ports that all series have and where packets waited, by their mean queues.

    Means are those of the histograms of all seeds, where these were kept.
    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    sampled = set(frames[0]["port"])
    if all("queues" in run.tables for one in series for run in one.runs):
        frames = [_histogram(one) for one in series]
    mean = (pl.col("packets") * pl.col("seconds")).sum() / pl.col("seconds").sum()
    of_each = pl.concat(frame.group_by("port").agg(mean.alias("mean")) for frame in frames)
    of_all = of_each.group_by("port").agg(pl.col("mean").mean(), pl.len())
    busy = of_all.filter(pl.col("len") == len(frames), pl.col("mean") > 0)
    ordered = busy.sort("mean", "port", descending=[True, False])["port"]
    return [port for port in ordered if port in sampled]


def _histogram(series: Series) -> pl.DataFrame:
    """Return the histograms of a series' ports, of all its seeds together."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    found = series.table("queues", "only switches have queues")
    frames = [queues.with_last(frame, run.tables.get("links")) for run, frame in found]
    sums = pl.concat(frames).group_by("port", "packets", maintain_order=True)
    return sums.agg(pl.col("seconds").sum(), pl.col("last").max())


def _together(pattern: str, there: Iterable[str]) -> tuple[str, list[str]]:
    """Return the name and the ports of the curve that a pattern has."""
    ports = matching("port", (pattern,), [*there])
    if len(ports) == 1:
        return ports[0], ports
    return f"{len(ports)} ports {pattern.replace(':*', '').replace('->', ' to ')}", ports


def _curves(
    series: Sequence[Series], frames: Sequence[pl.DataFrame], drawn: _Ports, options: Options
) -> list[tuple[str, pl.DataFrame]]:
    """Return the name and rows of each curve.

    Raises:
        PlotError: they are more than can be told apart, or a series lacks a port.

    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    count = len(series) * len(drawn.names)
    if count > MAX_SERIES:
        raise PlotError(
            f"{len(series)} series of {len(drawn.names)} ports are {count} curves, and "
            f"{MAX_SERIES} can be told apart: name fewer ports with {options.name('ports')}; "
            "queue-cdf draws the ports of a pattern as one curve"
        )
    curves = []
    for one, frame in zip(series, frames, strict=True):
        for name, ports in drawn.names.items():
            rows = frame.filter(pl.col("port").is_in(ports))
            if rows.is_empty():
                lacking = name if name in ports else " or ".join(options.ports)
                why = f"it shares no port {lacking} with {series[0].first.name}"
                raise nothing(one.first, why, "draw it alone")
            label = one.label if len(drawn.names) == 1 else one.named(name)
            curves.append((label, rows))
    return curves


def shares_of_time(queue: pl.DataFrame) -> pl.DataFrame:
    """Add the `share` of time at or below the last length of each bin of one histogram."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    return queue.with_columns(share=(pl.col("seconds").cum_sum() / pl.col("seconds").sum()))


def draw_shares(axes: Axes, shares: pl.DataFrame, floor: float = 0.0, **style: Any) -> None:  # noqa: ANN401
    """Draw the share of time at or below each length; with a floor above 0 the share above.

    Within a bin of several lengths only the shares at its ends are known: the range between them
    is a band.
    """
    at: list[float] = []
    heights: list[float] = []
    before = 0.0
    shade: dict[str, Any] = {"color": style["color"], "alpha": 0.25, "lw": 0}

    def height(share: float) -> float:
        return max(1 - share, floor) if floor else share

    for first, last, share in shares.select("packets", "last", "share").rows():
        if last > first:
            axes.fill_between([first, last], height(before), height(share), **shade)
            at += [first, math.nan]
            heights += [height(before), math.nan]
        at.append(last)
        heights.append(height(share))
        before = share
    axes.step(at, heights, where="post", **style)


def total_goodput(figure: Figure, series: Sequence[Series], options: Options) -> str:
    """Draw what all receivers together got per millisecond: the mean of the seeds."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    axes = figure.subplots()
    curves = [_total(one) for one in series]
    seeds = max(len(one.runs) for one in series)
    with_bands = seeds > 1 and len(series) <= MAX_BANDS
    peak = max(float(frame["low"].max()) for frame in curves)  # type: ignore[arg-type]
    factor, unit = scale_of([peak], "bit/s")
    second = in_time(axes, max(float(frame["time_s"].max()) for frame in curves))  # type: ignore[arg-type]
    for place, (one, frame) in enumerate(zip(series, curves, strict=True)):
        scaled = frame.with_columns(
            pl.col("low", "mean_from", "mean_to") / factor, pl.col("time_s") / second
        )
        axes.plot(scaled["time_s"], scaled["low"], label=one.label or "_", **line(place))
        if with_bands and len(one.runs) > 1:
            band = (scaled["mean_from"].clip(0), scaled["mean_to"])
            shade = {"color": line(place)["color"], "alpha": 0.18, "lw": 0}
            axes.fill_between(scaled["time_s"], *band, **shade)
    axes.set_ylabel(f"total goodput ({unit})")
    axes.set_ylim(0, axes.get_ylim()[1])
    words = intervals.shade(intervals.of_seeds(seeds)) if with_bands else None
    if seeds > 1 and not with_bands:
        words = {f"{intervals.of_seeds(seeds)}: {_widths(curves, unit, factor)}": _no_picture()}
    legend_outside(figure, axes, options, words)
    return "goodput.parquet"


def _widths(curves: Sequence[pl.DataFrame], unit: str, factor: float) -> str:
    """Write the middle half of intervals of the series, from the narrowest to the widest."""
    halves = []
    for frame in curves:
        half = (frame["mean_to"] - frame["mean_from"]).median()
        if half is not None:
            halves.append(float(half) / 2 / factor)  # type: ignore[arg-type]
    low, high = f"{min(halves):.2g}", f"{max(halves):.2g}"
    ends = low if low == high else f"{low} to {high}"
    return f"\u00b1{ends} {unit} (median)"


def _no_picture() -> Artist:
    from matplotlib.lines import Line2D  # noqa: PLC0415  slow to import

    return Line2D([], [], linestyle="")


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


def _more(axes: Axes, drawn: _Ports) -> None:
    if drawn.more:
        axes.plot([], [], " ", label=f"and {drawn.more} more ports")


def _one_seed(series: Sequence[Series]) -> str:
    return f", of {len(series[0].runs)} seeds the first" if len(series[0].runs) > 1 else ""
