"""`incastle plot`: one picture of one result.

Each kind draws one table against time, or its distribution, in the style of `style`. What this
leaves out: comparing results; see `Result` and polars.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incastle.analysis import bins
from incastle.errors import PlotError
from incastle.plotting.style import SERIES, canvas, form_of, save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import polars as pl
    from matplotlib.axes import Axes

    from incastle.results import Result

MAX_LINES = len(SERIES)
"""More lines than colours cannot be distinguished: the rest is left out, as the legend states."""

MAX_ROWS = 24
"""Rows of modes that still have a name each."""

WIDE = 10
"""Rates whose maximum is n times the minimum are drawn on a logarithmic axis."""

RATES = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))
"""Units of rates, the largest first."""


@dataclass(frozen=True)
class Kind:
    """A kind of plot.

    Attributes:
        description: what it shows, for `--help`.
        draw: draws into the axes and returns what it drew from, in words.

    """

    description: str
    draw: Callable[[Axes, Result], str]


def plot(result: Result, kind: str, path: Path) -> str:
    """Draw into a file whose suffix, png, svg or pdf, gives the format.

    Returns:
        What the picture was drawn from, in words.

    Raises:
        PlotError: no such kind or format, or the result lacks the table.
        OSError: the file cannot be written.

    """
    if kind not in KINDS:
        raise PlotError(f"no plot {kind!r}: there are {', '.join(KINDS)}")
    form_of(path)  # refused before it is drawn
    with canvas() as figure:
        figure.set_size_inches(7.2, 4.0)
        axes = figure.subplots()
        source = KINDS[kind].draw(axes, result)
        _name(axes, f"{result.name}, seed {result.seed}")
        save(figure, path)
    return source


def _name(axes: Axes, title: str) -> None:
    """Name the picture and its lines; a single line is named by the title."""
    handles, labels = axes.get_legend_handles_labels()
    if len(handles) == 1:
        title = f"{title}: {labels[0]}"
    else:
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes.set_title(title)


def _from_zero(axes: Axes, label: str) -> None:
    """Label the vertical axis and let it begin at zero, with room above the highest line."""
    axes.set_ylabel(label)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.03)


def _logarithmic(axes: Axes, label: str) -> None:
    """Label the vertical axis and make it logarithmic, with plain numbers."""
    from matplotlib.ticker import LogLocator  # noqa: PLC0415  slow to import: only to draw

    axes.set_ylabel(label)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.minorticks_off()


def _series(frame: pl.DataFrame, by: str) -> Iterator[tuple[str, pl.DataFrame, str]]:
    """Yield (value of `by`, its rows, a colour) for as many as can be distinguished."""
    groups = frame.partition_by(by, maintain_order=True)
    for rows, colour in zip(groups, SERIES, strict=False):
        yield str(rows[by][0]), rows, colour


def _largest_first(frame: pl.DataFrame, by: str, column: str) -> pl.DataFrame:
    """Put the series with the largest total first, among equals the one with the highest peak."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    total, peak = (pl.col(column).sum().over(by), pl.col(column).max().over(by))
    return frame.sort(total, peak, descending=True, maintain_order=True)


def _note_left_out(axes: Axes, frame: pl.DataFrame, by: str) -> None:
    left_out = frame[by].n_unique() - MAX_LINES
    if left_out > 0:
        _remark(axes, f"and {left_out} more")


def _remark(axes: Axes, text: str) -> None:
    """Add a line of words to the legend."""
    axes.plot([], [], " ", label=text)


def _filled(frame: pl.DataFrame, what: str) -> pl.DataFrame:
    if frame.is_empty():
        raise PlotError(f"there is nothing to draw: {what} is empty")
    return frame


def _lines(
    axes: Axes, frame: pl.DataFrame, by: str, column: str, unit: float, *, style: str = "default"
) -> None:
    for name, rows, colour in _series(frame, by):
        values = rows[column] / unit
        axes.plot(rows["time_s"], values, color=colour, linewidth=1.0, label=name, drawstyle=style)
    _note_left_out(axes, frame, by)
    axes.set_xlabel("time (s)")


def _queue(axes: Axes, result: Result) -> str:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    samples = result.tables.get("queue_samples")
    if samples is None or samples.is_empty():
        _histogram(axes, _busy(result))
        return "the time-weighted histogram (queues.parquet), as the scenario requests no samples"
    busy = samples.filter(pl.col("packets").max().over("port") > 0)
    if busy.is_empty():
        _histogram(axes, _busy(result))
        return "the time-weighted histogram (queues.parquet), as every sample met an empty queue"
    _lines(axes, _largest_first(busy, "port", "packets"), "port", "packets", 1)
    idle = samples["port"].n_unique() - busy["port"].n_unique()
    if idle:
        _remark(axes, f"and {idle} idle port{'s' if idle > 1 else ''}")
    _from_zero(axes, "queue (packets that wait)")
    return "samples (queue_samples.parquet)"


def _busy(result: Result) -> pl.DataFrame:
    """Return the histograms of ports whose queue was not always empty, the longest first."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    busy = _filled(result.queues, "the table of queues").filter(
        pl.col("seconds").filter(pl.col("packets") > 0).sum().over("port") > 0
    )
    if busy.is_empty():
        raise PlotError("there is nothing to draw: no packet ever waited at a switch")
    mean = (pl.col("packets") * pl.col("seconds")).sum().over("port")
    return busy.with_columns(mean.alias("weight")).sort(
        "weight", "port", "packets", descending=[True, False, False]
    )


def _histogram(axes: Axes, queues: pl.DataFrame) -> None:
    """Draw the share of time by queue length, cumulated."""
    for port, rows, colour in _series(queues, "port"):
        share = rows["seconds"].cum_sum() / rows["seconds"].sum()
        axes.step(rows["packets"], share, where="post", color=colour, label=port)
    _note_left_out(axes, queues, "port")
    axes.set_xlabel("queue (packets that wait)")
    axes.set_ylabel("share of time at or below")
    axes.set_ylim(0, 1.02)
    axes.set_xlim(left=0)


def _by_flow(result: Result, table: str) -> pl.DataFrame:
    """Return a table with `name`, GROUP:INDEX, for each row's flow; the flows in their order."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    name = pl.concat_str(pl.col("group"), pl.lit(":"), pl.col("index"))
    frame = _filled(result.with_groups(table), f"the table of {table}")
    return frame.with_columns(name.alias("name")).sort("flow", maintain_order=True)


def _window(axes: Axes, result: Result) -> str:
    frame = _by_flow(result, "windows").drop_nulls("cwnd_bytes")
    if frame.is_empty():
        raise PlotError(
            "there is nothing to draw: no recorded flow has a window (DCUDP has rates: under "
            '[measure], write dcudp = { flows = "all" }, and plot dcudp-rates)'
        )
    _lines(axes, frame, "name", "cwnd_bytes", 1000)
    _from_zero(axes, "congestion window (KB)")
    return "windows.parquet"


def _alpha(axes: Axes, result: Result) -> str:
    frame = _by_flow(result, "windows")
    if frame["alpha"].drop_nulls().is_empty():
        raise PlotError("there is nothing to draw: no recorded flow has an alpha (DCTCP has one)")
    _lines(axes, frame, "name", "alpha", 1)
    axes.set_ylabel("alpha (smoothed share of marked bytes)")
    axes.set_ylim(0, 1.02)
    return "windows.parquet"


def _rtt(axes: Axes, result: Result) -> str:
    frame = _by_flow(result, "windows")
    _lines(axes, frame, "name", "rtt_s", 1e-6)
    _from_zero(axes, "smoothed round-trip time (us)")
    return "windows.parquet"


def _bit_rates(axes: Axes, frame: pl.DataFrame, by: str, label: str) -> None:
    """Draw the column `bit_s`, the largest series first, in the unit that fits its peak."""
    size, unit = _unit(frame)
    _lines(axes, _largest_first(frame, by, "bit_s"), by, "bit_s", size)
    _from_zero(axes, f"{label} ({unit})")


def _unit(frame: pl.DataFrame) -> tuple[float, str]:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    peak = frame.select(pl.col("bit_s").max()).item()
    return next((one for one in RATES if peak >= one[0]), RATES[-1])


def _goodput(axes: Axes, result: Result) -> str:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frame = _filled(result.goodput, "the table of goodput").filter(
        pl.col("bytes").sum().over("host") > 0
    )
    _filled(frame, "every receiver's goodput")
    frame = frame.with_columns((pl.col("bytes") * 8 / bins.HOST_BIN_S).alias("bit_s"))
    _bit_rates(axes, frame, "host", "goodput per millisecond")
    return "goodput.parquet"


def _throughput(axes: Axes, result: Result) -> str:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frame = _by_flow(result, "throughput")
    interval = frame["time_s"].unique().sort().diff().drop_nulls().min()
    if not isinstance(interval, float):
        raise PlotError("there is nothing to draw: throughput has a single interval")
    frame = frame.with_columns((pl.col("bytes") * 8 / interval).alias("bit_s"))
    _bit_rates(axes, frame, "name", "handed over in order")
    return "throughput.parquet"


def _limits(axes: Axes, result: Result) -> str:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frame = _by_flow(result, "rates").with_columns(pl.col("current_bit_s").alias("bit_s"))
    size, unit = _unit(frame)
    _lines(axes, frame, "name", "bit_s", size, style="steps-post")
    label = f"rate of the reaction point ({unit})"
    lowest, largest = frame.select(lowest=pl.col("bit_s").min(), largest=pl.col("bit_s").max()).row(
        0
    )
    # The first notifications find the link's whole rate; what follows is far below it.
    if largest > WIDE * lowest:
        _logarithmic(axes, label)
    else:
        _from_zero(axes, label)
    return "rates.parquet"


def _sending(axes: Axes, result: Result) -> str:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frame = _by_flow(result, "dcudp_rates").filter(pl.col("data_packets_s") > 0)
    _filled(frame, "no sender has a rate yet, so the table of rates")
    _lines(axes, frame, "name", "data_packets_s", 1000, style="steps-post")
    label = "sending rate (thousand packets/s)"
    rates = frame["data_packets_s"]
    if rates.max() > WIDE * rates.min():  # type: ignore[operator]
        _logarithmic(axes, label)
    else:
        _from_zero(axes, label)
    return "dcudp_rates.parquet"


def _modes(axes: Axes, result: Result) -> str:
    """Draw a row for each flow, filled while it is in congestion mode."""
    frame = _by_flow(result, "dcudp_modes")
    names = frame["name"].unique(maintain_order=True).to_list()[:MAX_ROWS]
    end = float(result.totals["simulated_s"])
    for row, name in enumerate(names):
        here = frame.filter(name=name).sort("time_s", maintain_order=True)
        times = here["time_s"].to_list()
        changes = zip(times, [*times[1:], end], here["mode"], strict=True)
        spans = [(begin, until - begin) for begin, until, mode in changes if mode == "congestion"]
        axes.broken_barh(spans, (row - 0.4, 0.8), color=SERIES[0])
    _remark(axes, "filled: congestion mode")
    left_out = frame["name"].n_unique() - len(names)
    if left_out > 0:
        _remark(axes, f"and {left_out} more")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, end)
    axes.set_xlabel("time (s)")
    return "dcudp_modes.parquet"


def _feedback(axes: Axes, result: Result) -> str:
    frame = _filled(result.cnms, "the table of samplings (cnms)")
    _lines(axes, frame, "port", "feedback_bytes", 1000)
    axes.set_ylabel("feedback F_b (KB)")
    return "cnms.parquet"


def _rounds(axes: Axes, result: Result) -> str:
    frame = _filled(result.rounds, "the table of rounds")
    for group, rows, colour in _series(frame, "group"):
        end = rows["completed_s"].fill_null(result.totals["simulated_s"])
        took, done = (end - rows["started_s"]) * 1e3, rows["completed_s"].is_not_null()
        begun = rows["started_s"]
        style: dict[str, Any] = {"color": colour, "ls": ""}
        axes.plot(
            begun.filter(done), took.filter(done), marker=".", markersize=3, label=group, **style
        )
        if left := len(rows) - done.sum():
            name = f"{group}: {left:,} unfinished, at least"
            lasted = (begun.filter(~done), took.filter(~done))
            axes.plot(*lasted, marker="^", markersize=5, mfc="none", label=name, **style)
    _note_left_out(axes, frame, "group")
    axes.set_xlabel("begin of the round (s)")
    _from_zero(axes, "completion time of the round (ms)")
    return "rounds.parquet"


def _completion(axes: Axes, result: Result) -> str:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    _filled(result.transfers, "the table of transfers")
    frame = result.observed
    _filled(frame, "the table of transfers that began in the measured interval")
    _filled(frame.drop_nulls("fct_s"), "the table of completed transfers")
    done = frame.filter(pl.col("fct_s").count().over("group") > 0)
    for group, rows, colour in _series(done, "group"):
        times = (rows["fct_s"].drop_nulls().sort() * 1e3).to_list()
        # Of all that began: what was unfinished is missing at the top.
        share = [rank / len(rows) for rank in range(len(times) + 1)]
        left = len(rows) - len(times)
        name = f"{group} ({left:,} of {len(rows):,} unfinished)" if left else group
        axes.step([times[0], *times], share, where="post", color=colour, label=name)
    _note_left_out(axes, done, "group")
    axes.set_xlabel("flow completion time (ms)")
    axes.set_ylabel("share completed within it")
    axes.set_ylim(0, 1.02)
    axes.set_xscale("log")
    return "transfers.parquet"


KINDS = {
    "queue": Kind(
        "queue of each switch port: samples where they exist, else its distribution", _queue
    ),
    "window": Kind("congestion windows over time ([measure] window)", _window),
    "alpha": Kind("DCTCP's alpha over time ([measure] window)", _alpha),
    "rtt": Kind("smoothed round-trip times ([measure] window)", _rtt),
    "goodput": Kind("goodput of each receiving host, per millisecond", _goodput),
    "throughput": Kind(
        "bytes handed over in order, per flow and interval ([measure] throughput)", _throughput
    ),
    "rates": Kind("rates of QCN's reaction points over time ([measure] qcn)", _limits),
    "dcudp-rates": Kind("sending rates of DCUDP's flows over time ([measure] dcudp)", _sending),
    "dcudp-modes": Kind("when DCUDP's flows are in congestion mode ([measure] dcudp)", _modes),
    "feedback": Kind("feedback of QCN's congestion points over time ([measure] qcn)", _feedback),
    "rounds": Kind("completion time of each round of a barrier", _rounds),
    "completion": Kind("distribution of completion times of transfers", _completion),
}


def kinds() -> Sequence[tuple[str, str]]:
    """Return each kind and what it shows."""
    return [(name, kind.description) for name, kind in KINDS.items()]
