"""The figure of a comparison: what users look at first, both sides over each other.

Of two results: completion times (or goodput), the longest queue, and totals that moved. Of two
reports: the measured values of claims that moved most.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from incastle.difference.results import ResultDiff
from incastle.errors import PlotError
from incastle.plotting import style
from incastle.plotting.style import BLUE, GREY, RED, canvas

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incastle.difference.reports import ReportDiff
    from incastle.results import Result

MAX_BARS = 25
WIDE = 10
"""Values whose maximum is n times the minimum are drawn on a logarithmic axis."""
SIDES = (("A", BLUE, "-"), ("B", RED, "--"))


def save(diff: ResultDiff | ReportDiff, path: Path) -> None:
    """Draw a comparison into a file whose suffix, png, svg or pdf, gives the format.

    Raises:
        PlotError: no such format, or nothing is different.
        OSError: the file cannot be written.

    """
    with canvas() as figure:
        if isinstance(diff, ResultDiff):
            _results(figure, diff)
        else:
            _claims(figure, diff)
        style.save(figure, path)


def _results(figure: Figure, diff: ResultDiff) -> None:
    figure.set_size_inches(11.0, 3.6)
    times, queues, totals = figure.subplots(1, 3)
    _distribution(times, diff)
    _queue(queues, diff)
    moves = [(one.name, one.relative) for one in diff.totals]
    _bars(totals, [(name, move, BLUE) for name, move in moves if move is not None])
    totals.set_title("totals: B against A")
    names = [
        f"{side}: {one.name}, seed {one.seed}"
        for (side, _, _), one in zip(SIDES, (diff.a, diff.b), strict=True)
    ]
    figure.suptitle("      ".join(names), x=0.01, ha="left", fontsize=10)


def _distribution(axes: Axes, diff: ResultDiff) -> None:
    """Draw the shares of transfers, or where there are none of flows, below a value."""
    both = (diff.a, diff.b)
    values, title, label = [_times(one) for one in both], "flow completion times", "ms"
    if any(len(one) == 0 for one in values):
        values, title, label = [_goodputs(one) for one in both], "goodput of flows", "Mbit/s"
    for one, (side, colour, line) in zip(values, SIDES, strict=True):
        # What was unfinished has no FCT: its share is missing at the top.
        shares = [(place + 1) / len(one) for place in range(len(one))]
        finite = [value for value in one if math.isfinite(value)]
        unfinished = len(one) - len(finite)
        name = f"{side} ({unfinished:,} of {len(one):,} unfinished)" if unfinished else side
        axes.step(finite, shares[: len(finite)], line, where="post", color=colour, label=name)
    axes.set_title(f"{title}: share at or below")
    axes.set_xlabel(label)
    axes.set_ylim(0, 1.02)
    _widen(axes, [value for one in values for value in one if math.isfinite(value)])
    axes.legend()


def _widen(axes: Axes, values: Sequence[float]) -> None:
    """Make the axis of values logarithmic where they have different orders of magnitude."""
    from matplotlib.ticker import LogLocator  # noqa: PLC0415  slow to import: only to draw

    if not values or min(values) <= 0 or max(values) < WIDE * min(values):
        axes.set_xlim(left=0)
        return
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.minorticks_off()


def _times(result: Result) -> pl.Series:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    if "transfers" not in result.tables:
        return pl.Series(dtype=pl.Float64)
    return result.observed.select(pl.col("fct_high_s") * 1e3).to_series().sort()


def _goodputs(result: Result) -> pl.Series:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    if "flows" not in result.tables:
        return pl.Series(dtype=pl.Float64)
    return (result.flows["goodput_bit_s"].drop_nulls() / 1e6).sort()


def _queue(axes: Axes, diff: ResultDiff) -> None:
    """Draw the longest mean queue of A, or else of B, by its shares of time."""
    port = _longest(diff)
    axes.set_title("queue: share of time at or below")
    axes.set_xlabel("packets that wait" if port is None else f"packets that wait at {port}")
    axes.set_ylim(0, 1.02)
    for one, (side, colour, line) in zip((diff.a, diff.b), SIDES, strict=True):
        if port is None or "queues" not in one.tables:
            continue
        rows = one.queues.filter(one.queues["port"] == port)
        if len(rows):
            share = rows["seconds"].cum_sum() / rows["seconds"].sum()
            axes.step(rows["packets"], share, line, where="post", color=colour, label=side)
    if axes.get_legend_handles_labels()[0]:
        axes.legend()
    axes.set_xlim(left=0)


def _longest(diff: ResultDiff) -> str | None:
    for one in (diff.a, diff.b):
        if "links" in one.tables and "queues" in one.tables:
            ports = one.switch_ports
            if len(ports):
                return str(ports.sort("mean_queue_packets", descending=True)["port"][0])
    return None


def _claims(figure: Figure, diff: ReportDiff) -> None:
    moves = [
        (f"{one.paper}: {one.id}", one.relative, RED if one.verdict_changed else BLUE)
        for one in diff.claims
        if one.relative is not None
    ]
    if not moves:
        raise PlotError("there is nothing to draw: no measured value of a claim is different")
    figure.set_size_inches(8.0, 1.2 + 0.22 * min(len(moves), MAX_BARS))
    axes = figure.subplots()
    _bars(axes, moves)
    axes.set_title("measured values of claims: B against A (red: another verdict)")


def _bars(axes: Axes, moves: Sequence[tuple[str, float, str]]) -> None:
    """Draw changes as bars, the largest first."""
    largest = sorted(moves, key=lambda move: -abs(move[1]))
    shown = largest[:MAX_BARS][::-1]
    axes.barh(
        [name for name, _, _ in shown],
        [100 * move for _, move, _ in shown],
        color=[colour for _, _, colour in shown],
        height=0.6,
    )
    axes.axvline(0, color=GREY, lw=0.8)
    more = len(moves) - len(shown)
    axes.set_xlabel("change (%)" + (f"; {more} smaller ones are left out" if more else ""))
    axes.tick_params(axis="y", labelsize=7)
    if not shown:
        axes.text(0.5, 0.5, "none is different", transform=axes.transAxes, ha="center")
        axes.set_yticks([])
