"""The figures of dcudp: the table of each, and how it is drawn from that table alone."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from textwrap import fill
from typing import TYPE_CHECKING, Any

import polars as pl

from incastle.reproduction import figures
from incastle.reproduction.papers import FigureSpec

from . import measures, plan
from .answer import FIGURES as ANSWERS
from .plan import MANY, PORT
from .readings import BASE, DCTCP, DCTCP_50, DCTCP_ONE, SHOWN, TCP, TCP_ECN, UDT
from .runs import (
    MSS,
    PACKET,
    PAYLOAD,
    loss,
    mean_queue,
    number,
    of,
    packets_per_ack,
    timeouts_per_flow,
)
from .tables import DrawTable, frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from matplotlib.figure import Figure

    from incastle.reproduction.papers import Observation, Observations

    from .measures import Measured
    from .readings import System
    from .tables import Cell

OTHERS: dict[str, dict[str, Any]] = {
    TCP.label: {"color": figures.RED, "marker": "s", "ms": 2.5},
    DCTCP.label: {"color": figures.BLUE, "marker": "o", "ms": 2.5},
}
_CURVES = ("series", "n", "seed", "gbit_s")
_LINES = ("panel", "series", "x", "y")


# ---- figure 6: over the number of senders


@dataclass(frozen=True)
class Throughputs:
    """The data of figure 6: of the whole run, or until so many milliseconds."""

    milliseconds: int = 0

    def __call__(self, runs: Observations) -> pl.DataFrame:
        """Give the table."""
        return pl.DataFrame(list(self._points(runs)), schema=list(_CURVES), orient="row")

    def _points(self, runs: Observations) -> Iterator[tuple[str, int, int, float]]:
        until = self.milliseconds / 1e3 if self.milliseconds else None
        for system in (TCP, DCTCP, *SHOWN):
            for n, values in measures.over_senders(runs, system, until).items():
                for seed, value in enumerate(values, 1):
                    yield system.label, n, seed, value


def draw_throughputs(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a panel for each reading of DCUDP, TCP and DCTCP in all of them."""
    labels = [one for one in data["series"].unique(maintain_order=True) if one not in OTHERS]
    rows = -(-len(labels) // 5)
    figure.set_size_inches(7.6, 0.9 + 1.45 * rows)
    grid = figure.subplots(rows, 5, squeeze=False, sharex=True, sharey=True)
    ours = {"color": figures.GREEN, "marker": "^", "ms": 2.5}
    for axes, label in zip(grid.flat, labels, strict=False):
        for series, style in (*OTHERS.items(), (label, ours)):
            part = data.filter(pl.col("series") == series)
            figures.spread(axes, part, "n", "gbit_s", label=series, **style)
        axes.set_title(label, fontsize=8)
        axes.set_xticks([1, 10, 20])
        axes.set_ylim(0, 1.05)
    for axes in list(grid.flat)[len(labels) :]:
        axes.set_visible(False)
    figure.supxlabel("senders", fontsize=9)
    figure.supylabel("throughput (Gbit/s)", fontsize=9)
    lines = grid.flat[0].lines
    figure.legend(lines, [*OTHERS, "DCUDP"], loc="outside upper right", ncols=3)


# ---- figures 7 to 9: over time, seed 1, a panel for each system


@dataclass(frozen=True)
class Lines:
    """The drawing of lines in small panels: data alone, so that another process can draw it."""

    x_label: str
    y_label: str
    columns: int = 4
    logarithmic: bool = False
    line: float | None = None

    def __call__(self, figure: Figure, data: pl.DataFrame) -> None:
        """Draw it."""
        names = data["panel"].unique(maintain_order=True).to_list()
        height = -(-len(names) // self.columns)
        figure.set_size_inches(7.6, 0.7 + 1.7 * height)
        grid = figure.subplots(height, self.columns, squeeze=False, sharex=True, sharey=True)
        shown: dict[str, Any] = {}
        for axes, name in zip(grid.flat, names, strict=False):
            here = data.filter(pl.col("panel") == name)
            for place, series in enumerate(here["series"].unique(maintain_order=True)):
                part = here.filter(pl.col("series") == series)
                (shown[series],) = axes.plot(
                    part["x"], part["y"], lw=0.9, color=figures.SERIES[place]
                )
            if self.line is not None:
                axes.axvline(self.line, color=figures.GREY, lw=0.9, ls=(0, (4, 3)))
            # A long name has a second line, where it is cut in words.
            axes.set_title(fill(name, round(88 / self.columns)), fontsize=9)
            if self.logarithmic:
                axes.set_yscale("symlog", linthresh=1)
        above = 2.0 if self.logarithmic else 1.05
        grid.flat[0].set_ylim(0, above * number(data["y"].max()))
        for axes in list(grid.flat)[len(names) :]:
            axes.set_visible(False)
        figure.supxlabel(self.x_label, fontsize=9)
        figure.supylabel(self.y_label, fontsize=9)
        if len(shown) > 1:
            figure.legend(shown.values(), shown.keys(), loc="outside upper right", ncols=2)


@dataclass(frozen=True)
class Queues:
    """The data of figure 7: the longest queue of each millisecond, for these systems."""

    systems: tuple[System, ...]

    def __call__(self, runs: Observations) -> pl.DataFrame:
        """Give the table."""
        parts = [
            _per_millisecond(runs[f"long/{system.key}/n={MANY}"][0]).select(
                pl.lit(system.label if system is not BASE else "DCUDP, default").alias("panel"),
                pl.lit("queue").alias("series"),
                "x",
                "y",
            )
            for system in self.systems
        ]
        return pl.concat(parts)


def _per_millisecond(run: Observation) -> pl.DataFrame:
    here = run["queue_samples"].filter(pl.col("port") == PORT)
    whole = ((pl.col("time_s") * 1e3 + 1e-6).floor()).alias("x")
    return here.group_by(whole).agg(pl.col("packets").max().cast(pl.Float64).alias("y")).sort("x")


def after(runs: Observations) -> pl.DataFrame:
    """Give what both flows of figure 8 take over time, in Mbit/s with headers."""
    rows = []
    for system in (TCP, DCTCP, DCTCP_50, *SHOWN):
        run = runs[f"after/{system.key}"][0]
        scale = 8 * PACKET / PAYLOAD[system.scenarios] / 0.01 / 1e6
        groups = dict(run["flows"].select("flow", "group").iter_rows())
        for time, flow, came in run["throughput"].select("time_s", "flow", "bytes").iter_rows():
            rows.append((_panel(system), groups[flow], time, came * scale))
    names = {"cbr": "constant rate", "ftp": "bulk transfer"}
    table = pl.DataFrame(rows, schema=list(_LINES), orient="row")
    return table.with_columns(pl.col("series").replace(names))


def _panel(system: System) -> str:
    return "DCTCP, K = 10" if system is DCTCP else system.label


def windows(runs: Observations) -> pl.DataFrame:
    """Give DCTCP's windows around the end of the other flow, in segments, over the time from it."""
    ended = plan.ended(runs.length)
    rows = []
    for system, label in ((DCTCP, "K = 10"), (DCTCP_50, "K = 50")):
        samples = runs[f"after/{system.key}"][0]["windows"].sort("time_s")
        near = samples.filter((pl.col("time_s") - ended).abs() <= plan.BURST_S)
        for time, window in near.select("time_s", "cwnd_bytes").iter_rows():
            rows.append((label, "window", 1e3 * (time - ended), window / MSS))
    return pl.DataFrame(rows, schema=list(_LINES), orient="row")


# ---- tables of what only the text says


def _row(
    runs: Observations, name: str, row: str, columns: dict[str, Callable[[Observation], float]]
) -> Iterator[Cell]:
    for column, what in columns.items():
        yield row, column, fmean(of(runs, name, what)), None


def losses(runs: Observations) -> pl.DataFrame:
    """Give loss, timeouts, the mean queue and the packets per ACK of UDT and every reading."""
    seconds = plan.seconds(runs.length)
    columns: dict[str, Callable[[Observation], float]] = {
        "loss, (%)": loss,
        "timeouts, per flow and s": lambda run: timeouts_per_flow(run) / seconds,
        "mean queue, (packets)": mean_queue,
        "data packets, for each ACK": packets_per_ack,
    }
    cells: list[Cell] = []
    for n in plan.UDT_SENDERS:
        cells += _row(runs, f"long/{UDT.key}/n={n}", f"UDT, n = {n}", columns)
    for system in SHOWN:
        cells += _row(runs, f"long/{system.key}/n={MANY}", system.label, columns)
    return frame(cells)


def shares(runs: Observations) -> pl.DataFrame:
    """Give what every system does in the bursts, and for a newcomer."""
    cells: list[Cell] = []
    systems: Sequence[System] = (TCP, TCP_ECN, DCTCP, DCTCP_ONE, *SHOWN)
    columns: dict[str, Measured] = {
        "Jain's, index": measures.fairness,
        "Jain's index, last 25 ms": measures.converged,
        "short over, long RTT": measures.round_trips,
        "newcomer, (bytes in 10 ms)": measures.newcomers,
    }
    for system in systems:
        for column, what in columns.items():
            cells.append((system.label, column, fmean(what(runs, system)), None))
    return frame(cells)


_PAPERS = (
    FigureSpec(
        number="6-a",
        title="Throughput of long flows",
        caption="Senders of 1.6 Gbit/s each, IP bytes to the receiver over the whole run; median "
        "over the seeds and their range.",
        uses=("long/",),
        claims=("fig6a-dcudp", "fig6a-dctcp", "fig6a-tcp", "fig6a-timeouts"),
        data=Throughputs(),
        draw=draw_throughputs,
    ),
    FigureSpec(
        number="6-b",
        title="Throughput of short flows",
        caption="The same after 10 ms.",
        uses=("long/", "start/"),
        claims=(
            "fig6b-dcudp-tcp",
            "fig6b-dcudp-dctcp",
            "fig6b-tcp-dctcp",
            "fig6b-slow-start",
            "fig6b-overreacting",
        ),
        data=Throughputs(plan.SHORT_MS),
        draw=draw_throughputs,
    ),
    FigureSpec(
        number="7-a",
        title="The queue of 20 senders",
        caption="The longest of each millisecond, seed 1.",
        uses=("long/",),
        claims=("fig7-tcp-worst", "fig7-dctcp-least", "fig7-throughput"),
        data=Queues((TCP, TCP_ECN, DCTCP, BASE)),
        draw=Lines("time (ms)", "queue (packets)", logarithmic=True),
    ),
    FigureSpec(
        number="7-b",
        title="The queue of 20 senders under every reading",
        caption="The longest of each millisecond, seed 1.",
        uses=("long/",),
        claims=("fig7-burst", "fig7-quickly", "fig7-small", "fig7-stable"),
        data=Queues(SHOWN),
        draw=Lines("time (ms)", "queue (packets)", logarithmic=True),
    ),
    FigureSpec(
        number="8",
        title="Bandwidth that becomes free",
        caption="A sender of 1 Gbit/s beside a bulk transfer that ends in the middle; intervals of "
        "10 ms, seed 1.",
        uses=("after/",),
        claims=("fig8-dcudp", "fig8-dctcp-50", "fig8-tcp", "fig8-linear", "fig8-mode"),
        data=after,
        draw=Lines("time (s)", "throughput (Mbit/s)"),
    ),
    FigureSpec(
        number="9",
        title="DCTCP's window when bandwidth becomes free",
        caption="The constant sender's window around the other's end, seed 1.",
        uses=("after/",),
        claims=("fig9-50", "fig9-10", "fig9-contrast"),
        data=windows,
        draw=Lines("time from the other's end (ms)", "window (segments)", columns=2, line=0.0),
    ),
)
_TEXTS = (
    FigureSpec(
        number="loss",
        kind="table",
        title="What UDT and DCUDP lose",
        caption="Readings with 20 senders; mean over the seeds.",
        uses=("long/",),
        claims=("text-udt-loss", "text-dcudp-loss", "text-faster", "text-packets"),
        data=losses,
        draw=DrawTable(),
    ),
    FigureSpec(
        number="fairness",
        kind="table",
        title="Fairness under periodic congestion, and to a newcomer",
        caption="20 senders with round trips of 100 to 300 µs, on for 100 ms and off for 150 ms; a "
        "tenth sender that starts 100 ms after nine others, whose fair share is 125 KB in 10 ms. "
        "Mean over the seeds.",
        uses=("bursts/", "newcomer/"),
        claims=(
            "abstract-fair",
            "abstract-fairer-dctcp",
            "abstract-fairer-tcp",
            "abstract-converges",
            "abstract-converges-dctcp",
            "abstract-throughput",
            "text-dctcp-unfair",
            "text-rtt-dctcp",
            "text-rtt-dcudp",
            "text-newcomer-dctcp",
            "text-newcomer-dcudp",
        ),
        data=shares,
        draw=DrawTable(),
    ),
)
FIGURES = (*ANSWERS, *_PAPERS, *_TEXTS)
