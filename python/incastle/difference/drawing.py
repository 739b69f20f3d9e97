"""The figure of a comparison: what users look at first, both sides over each other.

Of two results: completion times (or goodput), the longest queue, and totals that moved. Of two
reports: the measured values of claims that moved most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from incastle.analysis import queues
from incastle.analysis.parameters import of_series, told_apart
from incastle.difference.results import ResultDiff
from incastle.errors import PlotError
from incastle.plotting import style
from incastle.plotting.axes import is_wide, logarithmic
from incastle.plotting.distributions import draw_shares, share, shares_of_time
from incastle.plotting.style import BLUE, GREY, RED, canvas, line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incastle.difference.reports import ReportDiff
    from incastle.results import Result

MAX_BARS = 25


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
    names = _names(diff)
    _distribution(times, diff, names)
    _queue(queues, diff, names)
    moves = [(one.name.replace("_", " "), one.relative) for one in diff.totals]
    _bars(totals, [(name, move, BLUE) for name, move in moves if move is not None])
    totals.set_title("totals: B against A")
    runs = dict.fromkeys(f"{one.name}, seed {one.seed}" for one in (diff.a, diff.b))
    figure.suptitle(" and ".join(runs), x=0.01, ha="left")
    # Below all panels: inside it would hide a curve.
    figure.legend(*times.get_legend_handles_labels(), loc="outside lower left", ncols=2)


def _names(diff: ResultDiff) -> list[str]:
    """Return the letter of each side, with what differs in the scenarios."""
    apart = told_apart([of_series(one.scenario) for one in (diff.a, diff.b)])
    return [f"A: {apart[0]}", f"B: {apart[1]}"] if apart else ["A", "B"]


def _distribution(axes: Axes, diff: ResultDiff, names: Sequence[str]) -> None:
    """Draw the shares of transfers, or where there are none of flows, below a value."""
    both = (diff.a, diff.b)
    ends, label = [_times(one) for one in both], "flow completion time (ms)"
    if any(len(low) == 0 for low, _ in ends):
        ends, label = [(of, of) for of in map(_goodputs, both)], "goodput of a flow (Mbit/s)"
    for (low, high), name, place in zip(ends, names, range(2), strict=True):
        if len(low):
            unfinished = high.is_infinite().sum()
            more = f" ({unfinished:,} of {len(high):,} unfinished)" if unfinished else ""
            share(axes, low, high, label=name + more, **line(place))
    axes.set(xlabel=label, ylabel="share of flows at or below", ylim=(0, 1.02))
    values = [value for low, _ in ends for value in low if value > 0]
    if is_wide(values):
        logarithmic(axes, "x", values)
    else:
        axes.set_xlim(left=0)


def _times(result: Result) -> tuple[pl.Series, pl.Series]:
    """Return the lower and the upper ends of FCTs."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    if "transfers" not in result.tables:
        return pl.Series(dtype=pl.Float64), pl.Series(dtype=pl.Float64)
    observed = result.observed
    return observed["fct_low_s"] * 1e3, observed["fct_high_s"] * 1e3


def _goodputs(result: Result) -> pl.Series:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    if "flows" not in result.tables:
        return pl.Series(dtype=pl.Float64)
    return result.flows["goodput_bit_s"].drop_nulls() / 1e6


def _queue(axes: Axes, diff: ResultDiff, names: Sequence[str]) -> None:
    """Draw the longest mean queue of A, or else of B, by its shares of time."""
    port = _longest(diff)
    axes.set_xlabel("queue (packets)" if port is None else f"queue at {port} (packets)")
    axes.set(ylabel="share of time at or below", ylim=(0, 1.02))
    for one, name, place in zip((diff.a, diff.b), names, range(2), strict=True):
        if port is None or "queues" not in one.tables:
            continue
        rows = one.queues.filter(one.queues["port"] == port)
        if len(rows):
            shares = shares_of_time(queues.with_last(rows, one.tables.get("links")))
            draw_shares(axes, shares, label=name, **line(place))
            if (shares["last"] > shares["packets"]).any():
                label = axes.get_xlabel().partition("\n")[0]
                axes.set_xlabel(f"{label}\nbands: lengths that share a bin")
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
        if one.relative
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
    axes.tick_params(axis="y", labelsize="small")
    if not shown:
        axes.text(0.5, 0.5, "none is different", transform=axes.transAxes, ha="center")
        axes.set_yticks([])
