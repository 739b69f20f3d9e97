"""What is drawn of a single run: tables over time, a line for each flow, host or port."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from incastle.analysis import bins
from incastle.plotting.axes import in_time, is_wide, logarithmic
from incastle.plotting.series import nothing
from incastle.plotting.style import GREY, SERIES, THIN, line, look
from incastle.units import scale_of, si

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from matplotlib.axes import Axes

    from incastle.plotting.options import Options
    from incastle.results import Result

MAX_LINES = len(SERIES)
"""More lines than colours cannot be distinguished: the rest is left out, as the legend states."""

MAX_ROWS = 24
"""Rows of modes that still have a name each."""

PAUSE_BINS = 400
"""Parts of a run whose paused shares are drawn: about as many as a panel has columns of pixels."""

ROW_HEIGHT = 0.8
"""The height of the row of a port that is always paused."""

RATES = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))
"""Units of rates, the largest first."""

NOT_YET = "a longer run.duration may give it rows"
REMEDIES = {
    "goodput": "nothing was delivered to a host; a longer run.duration may change that",
    "rounds": "the workloads barrier-incast, query, all-to-all and all-reduce have rounds",
    "cnms": "a congestion point samples with [switch.qcn], once enough packets have passed",
    "pause_record": "nothing was paused: no ingress port reached its threshold ([switch.pfc])",
    "windows": "the recorded flows ([measure] window) had not started at the end of the run",
    "throughput": "no flow delivered anything; a longer run.duration may change that",
}
"""What to do where a table is empty."""


def _from_zero(axes: Axes, label: str) -> None:
    """Label the vertical axis and let it begin at zero, with room above the highest line."""
    axes.set_ylabel(label)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.03)


def _series(frame: pl.DataFrame, by: str) -> Iterator[tuple[str, pl.DataFrame, int]]:
    """Yield (value of `by`, its rows, their place) for as many as can be distinguished."""
    groups = frame.partition_by(by, maintain_order=True)
    for place, rows in enumerate(groups[:MAX_LINES]):
        yield str(rows[by][0]), rows, place


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


def _table(result: Result, name: str, remedy: str) -> pl.DataFrame:
    """Return a table, with zeros for empty bins; it has rows."""
    frame = result.over_time(name)
    if frame.is_empty():
        raise nothing(result, f"its table {name} is empty", remedy)
    return frame


def _lines(
    axes: Axes, frame: pl.DataFrame, by: str, column: str, unit: float, *, style: str = "default"
) -> None:
    factor = in_time(axes, float(frame["time_s"].max()))  # type: ignore[arg-type]
    for name, rows, place in _series(frame, by):
        times, values = rows["time_s"] / factor, rows[column] / unit
        axes.plot(times, values, label=name, drawstyle=style, linewidth=THIN, **line(place))
    _note_left_out(axes, frame, by)


def _by_flow(result: Result, table: str) -> pl.DataFrame:
    """Return a table with `name`, GROUP:INDEX, for each row's flow; the flows in their order."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    name = pl.concat_str(pl.col("group"), pl.lit(":"), pl.col("index"))
    _table(result, table, REMEDIES.get(table, NOT_YET))
    frame = result.with_groups(table)
    return frame.with_columns(name.alias("name")).sort("flow", maintain_order=True)


def window(axes: Axes, result: Result, _: Options) -> str:
    """Draw the congestion window of each flow."""
    frame = _by_flow(result, "windows").drop_nulls("cwnd_bytes")
    if frame.is_empty():
        raise nothing(
            result,
            "no recorded flow has a window",
            'DCUDP has rates: under [measure], write dcudp = { flows = "all" }, and plot '
            "dcudp-rates",
        )
    _lines(axes, frame, "name", "cwnd_bytes", 1000, style="steps-post")
    _from_zero(axes, "congestion window (KB)")
    return "windows.parquet"


def alpha(axes: Axes, result: Result, _: Options) -> str:
    """Draw DCTCP's alpha of each flow."""
    frame = _by_flow(result, "windows")
    if frame["alpha"].drop_nulls().is_empty():
        raise nothing(
            result, "no recorded flow has an alpha", 'DCTCP has one: congestion = "dctcp"'
        )
    _lines(axes, frame, "name", "alpha", 1, style="steps-post")
    axes.set_ylabel("alpha (smoothed share of marked bytes)")
    axes.set_ylim(0, 1.02)
    return "windows.parquet"


def rtt(axes: Axes, result: Result, _: Options) -> str:
    """Draw the smoothed round-trip time of each flow."""
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


def goodput(axes: Axes, result: Result, _: Options) -> str:
    """Draw the goodput of each receiving host."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frame = _table(result, "goodput", REMEDIES["goodput"]).filter(
        pl.col("bytes").sum().over("host") > 0
    )
    if frame.is_empty():
        raise nothing(result, "no receiver got anything", REMEDIES["goodput"])
    frame = frame.with_columns((pl.col("bytes") * 8 / bins.HOST_BIN_S).alias("bit_s"))
    _bit_rates(axes, frame, "host", "goodput per millisecond")
    return "goodput.parquet"


def throughput(axes: Axes, result: Result, _: Options) -> str:
    """Draw what each flow handed over in order."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frame = _by_flow(result, "throughput")
    interval = frame["time_s"].unique().sort().diff().drop_nulls().min()
    if not isinstance(interval, float):
        raise nothing(
            result,
            "its table throughput has a single interval",
            "a longer run.duration, or a shorter `every` in [measure] throughput, has more",
        )
    frame = frame.with_columns((pl.col("bytes") * 8 / interval).alias("bit_s"))
    _bit_rates(axes, frame, "name", "handed over in order")
    return "throughput.parquet"


def limits(axes: Axes, result: Result, _: Options) -> str:
    """Draw the rates of QCN's reaction points."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frame = _by_flow(result, "rates").with_columns(pl.col("current_bit_s").alias("bit_s"))
    size, unit = _unit(frame)
    _lines(axes, frame, "name", "bit_s", size, style="steps-post")
    label = f"rate of the reaction point ({unit})"
    lowest, largest = frame.select(lowest=pl.col("bit_s").min(), largest=pl.col("bit_s").max()).row(
        0
    )
    # The first notifications find the link's whole rate; what follows is far below it.
    if is_wide([lowest, largest]):
        axes.set_ylabel(label)
        logarithmic(axes, "y", [lowest, largest])
    else:
        _from_zero(axes, label)
    return "rates.parquet"


def sending(axes: Axes, result: Result, _: Options) -> str:
    """Draw the sending rates of DCUDP's flows."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frame = _by_flow(result, "dcudp_rates").filter(pl.col("data_packets_s") > 0)
    if frame.is_empty():
        raise nothing(result, "no sender has a rate yet", NOT_YET)
    _lines(axes, frame, "name", "data_packets_s", 1000, style="steps-post")
    label = "sending rate (thousand packets/s)"
    rates = frame["data_packets_s"].to_list()
    if is_wide(rates):
        axes.set_ylabel(label)
        logarithmic(axes, "y", rates)
    else:
        _from_zero(axes, label)
    return "dcudp_rates.parquet"


def modes(axes: Axes, result: Result, _: Options) -> str:
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


def pauses(axes: Axes, result: Result, options: Options) -> str:
    """Draw a row for each paused port: the share of time paused, in the colours of the roots.

    A pause lasts for microseconds of a run of milliseconds, so that filled pauses would hide what
    is between them. Filled areas of a row are its paused times of the table `pauses`.
    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frame = options.of_ports(_table(result, "pause_record", REMEDIES["pause_record"]))
    end = float(result.totals["simulated_s"])
    several = frame["priority"].n_unique() > 1
    row = pl.concat_str("port", pl.lit(", priority "), "priority") if several else pl.col("port")
    frame = frame.with_columns(pl.col("end_s").fill_null(end), row=row)
    frame = frame.with_columns(lasted_s=pl.col("end_s") - pl.col("begin_s"))
    factor, unit = scale_of([end], "s")
    rows, roots = (
        _largest_first(frame, by, "lasted_s")[by].unique(maintain_order=True).to_list()
        for by in ("row", "root_port")
    )
    for place, name in enumerate(rows[:MAX_ROWS]):
        _shares(axes, frame.filter(row=name), roots[:MAX_LINES], place, (end, factor))
    whole = float(frame["lasted_s"].sum()) or 1.0
    for place, root in enumerate(roots[:MAX_LINES]):
        share = float(frame.filter(root_port=root)["lasted_s"].sum()) / whole
        label = f"root {root or 'unknown'}: {100 * share:.1f} %"
        axes.fill_between([], [], color=SERIES[place], label=label)
    _note_left_out(axes, frame, "root_port")
    if len(rows) > MAX_ROWS:
        _remark(axes, f"and {len(rows) - MAX_ROWS} more ports")
    _remark(axes, "%: of all paused time")
    _remark(axes, f"height: share of each {si(end / PAUSE_BINS, 's')}")
    axes.set_yticks(range(len(rows[:MAX_ROWS])), rows[:MAX_ROWS])
    axes.set_ylim(len(rows[:MAX_ROWS]) - 0.5, -0.5)
    axes.set_xlim(0, end / factor)
    axes.set_xlabel(f"time ({unit})")
    return "pause_record.parquet"


def _shares(
    axes: Axes, frame: pl.DataFrame, roots: list[str], place: int, time: tuple[float, float]
) -> None:
    """Draw the paused share of one port over time, the roots on top of each other.

    Args:
        axes: where to.
        frame: the pauses of one port and priority, which do not overlap.
        roots: the order of their colours.
        place: the row.
        time: the end of the run, and the unit in which it is drawn, in seconds.

    """
    import numpy as np  # noqa: PLC0415  slow to import: only where figures are drawn

    end, unit = time
    edges = np.linspace(0, end, PAUSE_BINS + 1)
    bottom = np.full(PAUSE_BINS, place + ROW_HEIGHT / 2)
    axes.axhline(place + ROW_HEIGHT / 2, color=GREY, linewidth=0.3)
    for number, root in enumerate(roots):
        here = frame.filter(root_port=root).sort("begin_s")
        if here.is_empty():
            continue
        # Time paused until each begin and end; between them it grows, or rests.
        until = here["lasted_s"].cum_sum()
        instants = np.column_stack((here["begin_s"], here["end_s"])).ravel()
        sums = np.column_stack((until - here["lasted_s"], until)).ravel()
        shares = np.diff(np.interp(edges, instants, sums)) * PAUSE_BINS / end
        top = bottom - ROW_HEIGHT * shares
        axes.stairs(top, edges / unit, baseline=bottom, fill=True, color=SERIES[number], lw=0)
        bottom = top


def feedback(axes: Axes, result: Result, options: Options) -> str:
    """Draw the feedback of QCN's congestion points."""
    frame = options.of_ports(_table(result, "cnms", REMEDIES["cnms"]))
    _lines(axes, frame, "port", "feedback_bytes", 1000)
    axes.set_ylabel("feedback F_b (KB)")
    return "cnms.parquet"


def rounds(axes: Axes, result: Result, _: Options) -> str:
    """Draw the completion time of each round; unfinished ones are hollow."""
    frame = _table(result, "rounds", REMEDIES["rounds"])
    factor, unit = scale_of([float(frame["started_s"].max())], "s")  # type: ignore[arg-type]
    for group, rows, place in _series(frame, "group"):
        end = rows["completed_s"].fill_null(result.totals["simulated_s"])
        took, done = (end - rows["started_s"]) * 1e3, rows["completed_s"].is_not_null()
        begun = rows["started_s"] / factor
        style: dict[str, Any] = look(place) | {"linestyle": ""}
        axes.plot(begun.filter(done), took.filter(done), markersize=2, label=group, **style)
        if left := len(rows) - done.sum():
            name = f"{group}: {left:,} unfinished, at least"
            lasted = (begun.filter(~done), took.filter(~done))
            hollow = style | {"marker": "^", "markersize": 5, "mfc": "none"}
            axes.plot(*lasted, label=name, **hollow)
    _note_left_out(axes, frame, "group")
    axes.set_xlabel(f"time at which the round begins ({unit})")
    _from_zero(axes, "completion time of the round (ms)")
    return "rounds.parquet"
