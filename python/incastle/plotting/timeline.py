"""The timeline of flows: a bar for each transfer from its beginning to its end.

Bars are in the order of their beginnings. An unfinished transfer lasts until the end of the run and
ends in an arrow. Crosses are retransmission timeouts, where the run recorded them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from incastle.plotting.axes import height_of
from incastle.plotting.series import nothing
from incastle.plotting.style import BLACK, SERIES
from incastle.units import scale_of

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from incastle.plotting.options import Options
    from incastle.results import Result

POINTS_PER_INCH = 72
THICKEST, THINNEST = 5.0, 0.4
"""Of a bar, in points."""


def draw(axes: Axes, result: Result, _: Options) -> str:
    """Draw the transfers of a run."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    bars = transfers(result)
    end = float(result.totals["simulated_s"])
    factor, unit = scale_of([end], "s")
    room = POINTS_PER_INCH * height_of(axes) / len(bars)
    width = min(THICKEST, max(THINNEST, 0.7 * room))
    for place, rows in enumerate(bars.partition_by("group", maintain_order=True)):
        color, group = SERIES[place % len(SERIES)], rows["group"][0]
        left = rows.filter(pl.col("completed_s").is_null())
        label = f"{group}: {len(rows):,}" + (f", {len(left):,} unfinished" if len(left) else "")
        ends = rows["completed_s"].fill_null(end)
        begins = rows["started_s"] / factor
        axes.hlines(rows["row"], begins, ends / factor, color, lw=width, label=label)
        axes.plot([end / factor] * len(left), left["row"], ">", color=color, ms=4, clip_on=False)
    crosses = _timeouts(result, bars)
    if crosses is not None and len(crosses):
        times = crosses["time_s"] / factor
        axes.plot(times, crosses["row"], "x", color=BLACK, ms=4, label="timeout")
    axes.set_xlim(0, end / factor)
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_xlabel(f"time ({unit})")
    axes.set_ylabel("transfers, by their beginning")
    return "transfers.parquet" + (" and timeouts.parquet" if crosses is not None else "")


def transfers(result: Result) -> pl.DataFrame:
    """Return the transfers with their rows.

    Raises:
        PlotError: there is none.

    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    found = result.transfers.filter(pl.col("kind") != "round")
    if found.is_empty():
        raise nothing(
            result,
            "no transfer has an end",
            'a `size` for the flows, or another workload, has; "throughput" draws the others',
        )
    return found.sort("started_s", maintain_order=True).with_row_index("row")


def _timeouts(result: Result, bars: pl.DataFrame) -> pl.DataFrame | None:
    """Return the timeouts with the row of the transfer that they fall into."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frame = result.tables.get("timeouts")
    if frame is None:
        return None
    spans = bars.select("flow", "row", "started_s", pl.col("completed_s").fill_null(float("inf")))
    within = pl.col("time_s").is_between("started_s", "completed_s")
    return frame.select("flow", "time_s").join(spans, on="flow").filter(within)
