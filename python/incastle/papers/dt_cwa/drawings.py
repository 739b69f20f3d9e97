"""The figures of dt-cwa: the table of each, and how it is drawn from that table alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from incastle.reproduction import figures, lasting
from incastle.reproduction.papers import FigureSpec

from . import measures, plan
from .answer import FIGURES as ANSWERS
from .curves import Curves, Draw, Panel, Row
from .runs import SEGMENT, deviation, drops, mean_queue, of, query_completion, query_throughput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.figure import Figure

    from incastle.reproduction.papers import Observations

    from .readings import System
    from .runs import Statistic, Values


def _flows(runs: Observations) -> Sequence[int]:
    return plan.flows(runs.length)


def _many(runs: Observations) -> Sequence[int]:
    return plan.many(runs.length)


def _betas(runs: Observations) -> Sequence[int]:
    return plan.betas(runs.length)


def _ftp(what: Callable[[Observations, str], Values]) -> Callable[..., Values]:
    return lambda runs, system, n: what(runs, f"ftp/{system.key}/n={n}")


def _beta(what: Callable[[Observations, str], Values]) -> Callable[..., Values]:
    return lambda runs, system, tenths: what(runs, f"beta/{system.key}/b=0.{tenths}")


def _kind(kind: str, what: Statistic) -> Callable[..., Values]:
    def values(runs: Observations, system: System, n: int) -> Values:
        return of(runs, f"{kind}/{system.key}/n={n}", what)

    return values


def _figure(
    number: str,
    title: str,
    caption: str,
    uses: tuple[str, ...],
    claims: tuple[str, ...],
    curves: Curves,
    x_label: str = "flows",
) -> FigureSpec:
    """Give a figure of curves, its panels in columns by the switch's thresholds."""
    return FigureSpec(
        number=number,
        title=title,
        caption=f"{caption} Columns are the pairs of thresholds (start, stop); median over the "
        "seeds and their range.",
        uses=uses,
        claims=claims,
        data=curves,
        draw=Draw(tuple(row.panel for row in curves.rows), x_label),
    )


_TIMEOUTS = "timeouts per flow and s"
_BETA_ROWS = (
    Row(Panel("throughput (Mbit/s)", top=1050), _beta(measures.throughputs), _betas),
    Row(Panel(_TIMEOUTS), _beta(measures.timeouts), _betas),
)
_FTP_ROWS = (
    Row(Panel("throughput (Mbit/s)", 200, 1050), _ftp(measures.throughputs), _flows),
    Row(Panel(_TIMEOUTS), _ftp(measures.timeouts), _flows),
)
_QUERY_ROWS = tuple(
    Row(Panel(f"{plan.KINDS[kind].label} (Mbit/s)", 200), _kind(kind, query_throughput), _many)
    for kind in plan.QUERY_KINDS
)
_COMPLETION_ROWS = tuple(
    Row(Panel(f"{plan.KINDS[kind].label} (ms)", 50), _kind(kind, query_completion), _many)
    for kind in plan.QUERY_KINDS
)
_MESSAGE_ROWS = tuple(
    Row(Panel(f"{plan.KINDS[kind].label} (ms)"), _kind(kind, measures.completion(kind)), _many)
    for kind in ("short20", "short50")
)
_QUEUE_ROWS = (
    Row(Panel("standard deviation (packets)"), _ftp(partial(of, what=deviation)), _flows),
    Row(Panel("mean queue (packets)"), _ftp(partial(of, what=mean_queue)), _flows),
)


# ---- the window of one segment, and alpha


def window_shares(runs: Observations) -> pl.DataFrame:
    """Give the share of samples with a window of at most so many segments: n, segments, seed."""
    rows = []
    for n in plan.FLOOR_FLOWS:
        for seed, run in enumerate(runs[f"floor/dctcp/n={n}"], 1):
            windows = run["windows"]["cwnd_bytes"]
            for segments in range(1, 11):
                share = float((windows <= segments * SEGMENT).mean())  # type: ignore[arg-type]
                rows.append((n, segments, seed, 100 * share))
    return pl.DataFrame(rows, schema=["n", "segments", "seed", "share_percent"], orient="row")


def draw_window_shares(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a curve for each number of flows."""
    figure.set_size_inches(7.2, 3.0)
    axes = figure.subplots()
    colours = (figures.BLUE, figures.GREEN, figures.RED)
    for n, colour, marker in zip(plan.FLOOR_FLOWS, colours, "osD", strict=True):
        part = data.filter(pl.col("n") == n)
        figures.spread(
            axes, part, "segments", "share_percent", label=f"{n} flows", color=colour, marker=marker
        )
    figures.mark(axes, 1, "one segment", y=0.3, side="right")
    axes.set_xlim(-0.4, 10.4)
    axes.set_xticks(range(1, 11))
    axes.axhline(50, color=figures.GREY, lw=0.9, ls=(0, (4, 3)))
    axes.set_xlabel("window (segments)")
    axes.set_ylabel("share of the time at or below (%)")
    axes.set_ylim(0, 102)
    axes.legend(loc="lower right")


_ALPHA_WHAT: dict[str, Statistic] = {
    "completion of a query (ms)": query_completion,
    "packets dropped in a query": lambda run: drops(run) / plan.QUERIES,
}


def alphas(runs: Observations) -> pl.DataFrame:
    """Give what the first alpha changes: what, kind, alpha, seed, value."""
    rows = [
        (label, f"{plan.KINDS[kind].label}, first window {window}", alpha, seed, value)
        for label, what in _ALPHA_WHAT.items()
        for kind in plan.QUERY_KINDS
        for window, part in ((2, ""), (10, "iw=10/"))
        for alpha in (0, 1)
        for seed, value in enumerate(of(runs, f"alpha/{kind}/{part}a={alpha}", what), 1)
    ]
    return lasting.table(rows, ["what", "kind", "alpha", "seed", "value"])


def draw_alphas(figure: Figure, data: pl.DataFrame) -> None:
    """Draw the value of each seed, a panel for each number."""
    figure.set_size_inches(7.2, 2.8)
    panels = figure.subplots(1, len(_ALPHA_WHAT))
    for axes, label in zip(panels, _ALPHA_WHAT, strict=True):
        for place, kind in enumerate(data["kind"].unique(maintain_order=True)):
            part = data.filter((pl.col("what") == label) & (pl.col("kind") == kind))
            x = part["alpha"] + 0.06 * (place - 1.5)  # equal values stay apart
            style = {"color": figures.SERIES[place], "marker": "osD^"[place], "ls": ""}
            axes.plot(x, part["value"], label=kind, **style)
            figures.bars(axes, part, "value", x.to_list(), figures.SERIES[place])
        axes.set_xticks([0, 1])
        axes.set_xlim(-0.5, 1.5)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("alpha at the start")
        axes.set_ylabel(label)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)


_PAPERS = (
    _figure(
        "4",
        "Throughput over beta",
        "10 long flows; beta is the share that equation (2) gives back.",
        ("beta/",),
        ("fig4-falls", "fig4-best", "fig4-timeouts"),
        Curves(_BETA_ROWS, with_dctcp=False, scale=0.1),
        "beta",
    ),
    _figure(
        "6",
        "Throughput of long flows",
        "IP bytes to the aggregator over the whole run; the dashed line is 200 Mbit/s.",
        ("ftp/",),
        ("fig6-never-less", "fig6-30", "fig6-55", "fig6-collapse", "reason-timeouts"),
        Curves(_FTP_ROWS, with_switch_alone=True),
    ),
    _figure(
        "6-queries",
        "Throughput of queries",
        "Figure 6 read otherwise: the bytes of a query over its mean completion; the dashed line "
        "is 200 Mbit/s.",
        ("total/", "unit/"),
        tuple(f"fig6-{kind}-{n}" for kind in plan.QUERY_KINDS for n in plan.ASKED),
        Curves(_QUERY_ROWS, with_switch_alone=True),
    ),
    _figure(
        "7",
        "Mean completion of queries",
        "Both sizes that Sreekumari may mean; the dashed line is 50 ms.",
        ("total/", "unit/"),
        tuple(f"fig7-{kind}-{what}" for kind in plan.QUERY_KINDS for what in ("35", "less")),
        Curves(_COMPLETION_ROWS, with_switch_alone=True),
    ),
    _figure(
        "8",
        "Mean completion of short messages",
        "n messages at once, each over a connection of its own.",
        ("short20/", "short50/", "unit/"),
        ("fig8-short20-less", "fig8-short50-less", "fig8-shorter"),
        Curves(_MESSAGE_ROWS, with_switch_alone=True),
    ),
)
_REASONS = (
    _figure(
        "reason-queue",
        "The queue to the aggregator",
        "Long flows; standard deviation over time, and mean, from a fifth of the run on.",
        ("ftp/",),
        ("reason-queue-10", "reason-queue-30", "reason-marker"),
        Curves(_QUEUE_ROWS, with_switch_alone=True),
    ),
    FigureSpec(
        number="reason-window",
        title="DCTCP's windows",
        caption="Long flows, least window 1 segment; the share of the time over all flows, sampled "
        "every millisecond.",
        uses=("floor/",),
        claims=("reason-one-segment",),
        data=window_shares,
        draw=draw_window_shares,
    ),
    FigureSpec(
        number="reason-alpha",
        title="The first value of alpha",
        caption="DCTCP, queries of 30 flows, each flow on a connection of its own; a mark for each "
        "seed.",
        uses=("alpha/",),
        claims=("reason-alpha-0", "reason-alpha-1"),
        data=alphas,
        draw=draw_alphas,
    ),
)
FIGURES = (*ANSWERS, *_PAPERS, *_REASONS)
