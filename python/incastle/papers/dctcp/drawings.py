"""The figures of dctcp: the table of each, and how it is drawn from that table alone.

They have the numbers of the DCTCP paper, which the slides show without numbers except for the last
ones. `measures.py` yields the values; here they become tables and pictures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from incastle.reproduction import figures, lasting
from incastle.reproduction.papers import FigureSpec

from . import curves, drawings_cluster, drawings_why, measures, plan
from .plan import ALGORITHMS, SPEEDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from matplotlib.figure import Figure

    from incastle.analysis.ends import Value
    from incastle.reproduction.papers import Observations

# ---- figure 13: the queue of two long flows


def long_queue(runs: Observations) -> pl.DataFrame:
    """Give kind (time, distribution), speed, algorithm, seed, x, packets."""
    rows: list[tuple[str, str, str, int, float, float]] = []
    for key, speed in SPEEDS.items():
        for name, label in ALGORITHMS.items():
            if key == "1G":
                rows += _trace(runs, key, name)
            for seed, queue in enumerate(measures.queue(runs, key, name), 1):
                rows += [
                    ("distribution", speed.name, label, seed, *point)
                    for point in curves.quantiles(queue)
                ]
    begin = plan.evaluated_from(SPEEDS["1G"], runs.length)
    for seed, run in enumerate(runs["why/basic/tcp"], 1):
        queue = measures.samples_from(run, begin)
        rows += [
            (
                "distribution",
                SPEEDS["1G"].name,
                curves.LIMITED,
                seed,
                share,
                curves.quantile(queue, share),
            )
            for share in sorted(curves.SHARES)
        ]
    columns = ["kind", "speed", "algorithm", "seed", "x", "packets"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def _trace(
    runs: Observations, key: str, name: str
) -> list[tuple[str, str, str, int, float, float]]:
    """Give the last second of the first seed."""
    samples = runs[f"basic/{key}/{name}"][0]["queue_samples"]
    last = float(samples["time_s"].max() or 0)  # type: ignore[arg-type]
    samples = samples.filter(pl.col("time_s") >= last - 1)
    return [
        ("time", SPEEDS[key].name, ALGORITHMS[name], 1, time, float(packets))
        for time, packets in samples.select("time_s", "packets").iter_rows()
    ]


def draw_long_queue(figure: Figure, data: pl.DataFrame) -> None:
    """Draw the queue over time at 1 Gbit/s, and its distribution at both speeds."""
    figure.set_size_inches(7.2, 3.0)
    panels = figure.subplots(1, 3, width_ratios=(1.5, 1, 1))
    trace = data.filter(pl.col("kind") == "time")
    for label in ALGORITHMS.values():
        one = trace.filter(pl.col("algorithm") == label)
        color = figures.STYLES[label]["color"]
        panels[0].plot(one["x"], one["packets"], color=color, lw=1, label=label)
    panels[0].set_title("1 Gbit/s, seed 1")
    panels[0].set_xlabel("time (s)")
    panels[0].set_ylabel("queue (packets)")
    panels[0].set_ylim(bottom=0)
    for axes, speed in zip(panels[1:], SPEEDS.values(), strict=True):
        part = data.filter((pl.col("kind") == "distribution") & (pl.col("speed") == speed.name))
        curves.distributions(axes, part, "packets")
        figures.mark(axes, speed.threshold, f"K = {speed.threshold}", y=0.45)
        axes.set_title(speed.name)
        axes.set_xlabel("queue (packets)")
        axes.set_xlim(left=0)
    panels[1].set_ylabel("fraction of samples at or below")
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)


# ---- figure 16: convergence


_CONVERGENCE = {
    "TCP": "convergence/tcp",
    "DCTCP": "convergence/dctcp",
    "TCP, windows without limit": "why/convergence/unlimited/tcp",
}


def convergence(runs: Observations) -> pl.DataFrame:
    """Give the rates of the first seed: algorithm, flow, time_s, mbit_s."""
    step = plan.EXTENTS[runs.length].phase_s / plan.RATES
    parts = []
    for label, name in _CONVERGENCE.items():
        rates = runs[name][0]["throughput"]
        parts.append(
            rates.select(
                pl.lit(label).alias("algorithm"),
                "flow",
                "time_s",
                (pl.col("bytes") * 8 / step / 1e6).alias("mbit_s"),
            )
        )
    return pl.concat(parts)


def draw_convergence(figure: Figure, data: pl.DataFrame) -> None:
    """Draw the rates of the five flows, one panel for each algorithm."""
    figure.set_size_inches(7.2, 3.0)
    panels = figure.subplots(1, 3, sharey=True)
    for axes, label in zip(panels, _CONVERGENCE, strict=True):
        part = data.filter(pl.col("algorithm") == label)
        for flow, color in enumerate(figures.SERIES[:5]):
            one = part.filter((pl.col("flow") == flow) & (pl.col("mbit_s") > 0)).sort("time_s")
            axes.plot(one["time_s"], one["mbit_s"], color=color, lw=0.9, label=f"flow {flow + 1}")
        axes.set_title(label)
        axes.set_xlabel("time (s)")
        axes.set_ylim(0, 1000)
    panels[0].set_ylabel("goodput (Mbit/s)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)


# ---- figures 18 and 19: incast


def incast(buffers: str, rtos: Iterable[str]) -> Callable[[Observations], pl.DataFrame]:
    """Give series, n, seed, mean_ms, timeouts_percent."""
    timers = tuple(rtos)

    def data(runs: Observations) -> pl.DataFrame:
        rows = []
        for name, label in ALGORITHMS.items():
            for rto in timers:
                prefix = f"incast/{buffers}/{name}/rto={rto}/"
                series = f"{label}, RTO_min {rto.replace('ms', ' ms')}"
                rows += curves.points(runs, prefix, series)
        if buffers == "static":
            rows += curves.points(runs, "why/static/dctcp/rto=10ms/", curves.WINDOW_2)
        return lasting.table(rows, ["series", "n", "seed", "mean_ms", "timeouts_percent"])

    return data


# ---- figures 20 and 21: distributions of completion times


def distribution(prefix: str) -> Callable[[Observations], pl.DataFrame]:
    """Give the quantiles of each seed: algorithm, seed, x (share), ms."""

    def data(runs: Observations) -> pl.DataFrame:
        rows = []
        for name, label in ALGORITHMS.items():
            for seed, run in enumerate(runs[f"{prefix}{name}"], 1):
                points = curves.quantiles_of(measures.queries(run))
                rows += [(label, seed, *point) for point in points]
        return lasting.table(rows, ["algorithm", "seed", "x", "ms"])

    return data


def draw_distribution(figure: Figure, data: pl.DataFrame) -> None:
    """Draw the distribution of each algorithm."""
    figure.set_size_inches(7.2, 3.0)
    axes = figure.subplots()
    curves.distributions(axes, data, "ms")
    axes.set_xlabel("completion time (ms)")
    axes.set_ylabel("fraction at or below")
    if float(data["ms"].max() or 0) > curves.WIDE * float(data["ms"].min() or 1):  # type: ignore[arg-type]
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper")


# ---- table 2: buffer pressure

PAPER_PRESSURE = {("TCP", "alone"): 9.87, ("TCP", "beside"): 46.94} | {
    ("DCTCP", "alone"): 9.17,
    ("DCTCP", "beside"): 9.09,
}
_PRESSURE = {"alone": "without background", "beside": "with background"}


def pressure(prefix: str) -> Callable[[Observations], pl.DataFrame]:
    """Give algorithm, background, seed (none for the paper's values), p95_ms, timeouts_percent."""

    def data(runs: Observations) -> pl.DataFrame:
        rows: list[tuple[str, str, int | None, Value, float | None]] = []
        for name, label in ALGORITHMS.items():
            for kind, words in _PRESSURE.items():
                rows += [
                    (label, words, seed, measures.quantile(0.95)(run), measures.with_timeouts(run))
                    for seed, run in enumerate(runs[f"{prefix}{kind}/{name}"], 1)
                ]
                rows.append((label, words, None, PAPER_PRESSURE[label, kind], None))
        columns = ["algorithm", "background", "seed", "p95_ms", "timeouts_percent"]
        return lasting.table(rows, columns)

    return data


def draw_pressure(figure: Figure, data: pl.DataFrame) -> None:
    """Draw the 95th percentile of each seed and of the paper, and the share with timeouts."""
    figure.set_size_inches(7.2, 2.8)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.6, 1))
    cases = [(label, words) for label in ALGORITHMS.values() for words in _PRESSURE.values()]
    for place, (label, words) in enumerate(cases):
        part = data.filter((pl.col("algorithm") == label) & (pl.col("background") == words))
        ours, theirs = (
            part.filter(pl.col("seed").is_not_null()),
            part.filter(pl.col("seed").is_null()),
        )
        style = {**figures.STYLES[label], "ls": ""}
        left.plot(ours["p95_ms"], [place] * len(ours), **style)
        places = [place] * len(ours)
        figures.bars(left, ours, "p95_ms", places, style["color"], sideways=True)
        left.plot(theirs["p95_ms"], [place], ls="", marker="o", mfc="none", color=figures.GREY)
        right.plot(ours["timeouts_percent"], [place] * len(ours), **style)
    left.plot([], [], ls="", marker="o", mfc="none", color=figures.GREY, label="paper, table 2")
    left.plot([], [], ls="", marker="o", color=figures.BLACK, label="here, each seed")
    left.set_yticks(range(len(cases)), [f"{label}, {words}" for label, words in cases])
    left.invert_yaxis()
    left.set_xlim(left=0)
    left.set_xlabel("95th percentile of completion (ms)")
    left.legend(loc="center right")
    right.set_xlim(left=-0.5)
    right.set_xlabel("queries with a timeout (%)")


FIGURES = (
    FigureSpec(
        number="13",
        title="Queue of two long flows",
        caption="Packets that wait at the port to the receiver, sampled every millisecond, in the "
        "second half of the run: over time, and as a distribution (median and range of the seeds).",
        uses=("basic/", "why/basic/tcp"),
        claims=(
            "basic-goodput",
            "basic-queue",
            "basic-stable",
            "basic-larger",
            "basic-varies",
            "basic-fast-goodput",
            "basic-fast-queue",
        ),
        data=long_queue,
        draw=draw_long_queue,
    ),
    FigureSpec(
        number="16",
        title="Convergence: five flows come and go",
        caption="Goodput of each flow; one begins at the start of each of five phases, then one "
        "ends at each. 30 values to a phase. Seed 1.",
        uses=("convergence/", "why/convergence/unlimited/tcp"),
        claims=("convergence-share", "convergence-jain", "convergence-variance"),
        data=convergence,
        draw=draw_convergence,
    ),
    FigureSpec(
        number="16-window",
        title="Convergence, and the receive window",
        caption="The same with other limits of the window, over the last two thirds of each phase: "
        "largest deviation of a flow from its fair share, least index of Jain, and standard "
        "deviation of a flow's rate within a phase. Median and range of the seeds.",
        uses=("convergence/", "why/convergence/"),
        claims=(),
        data=drawings_why.long_windows,
        draw=drawings_why.draw_long_windows,
    ),
    FigureSpec(
        number="18",
        title="Incast with static buffers of 100 KB per port",
        caption="A client asks n servers for 1 MB / n each: mean completion time, and the share of "
        "queries with a timeout. Median and range of the seeds.",
        uses=("incast/static/", "why/static/", "why/window/"),
        claims=("static-least", "static-tcp", "static-dctcp", "static-join"),
        data=incast("static", plan.RTOS),
        draw=curves.draw_incast,
    ),
    FigureSpec(
        number="18-window",
        title="Incast with static buffers, and the receive window",
        caption="TCP, RTO_min 10 ms, with smaller receive windows than 64 KiB. Median and range of "
        "the seeds.",
        uses=("incast/static/", "why/window/"),
        claims=(),
        data=drawings_why.windows,
        draw=curves.draw_incast,
    ),
    FigureSpec(
        number="19",
        title="Incast with dynamic buffers",
        caption="The same with 4 MB shared by all ports, of which one busy port may hold 694 KB.",
        uses=("incast/dynamic/",),
        claims=("dynamic-dctcp", "dynamic-tcp"),
        data=incast("dynamic", ("10ms",)),
        draw=curves.draw_incast,
    ),
    FigureSpec(
        number="20",
        title="All-to-all incast",
        caption="Each of 41 hosts asks the 40 others for 25 KB at once: distribution of the "
        "response time. Median and range of the seeds.",
        uses=("all/", "why/memory/", "why/all/"),
        claims=("all-tcp", "all-dctcp"),
        data=distribution("all/"),
        draw=draw_distribution,
    ),
    FigureSpec(
        number="20-memory",
        title="All-to-all incast, and the memory of the switch",
        caption="The same with less memory than the paper's 4 MB. Median and range of the seeds.",
        uses=("all/", "why/memory/"),
        claims=(),
        data=drawings_why.memories,
        draw=drawings_why.draw_memories,
    ),
    FigureSpec(
        number="20-varied",
        title="All-to-all incast of TCP, varied",
        caption="One thing otherwise at a time, at 4 MB. Median and range of the seeds.",
        uses=("all/", "why/all/"),
        claims=(),
        data=drawings_why.all_varied,
        draw=drawings_why.draw_varied("95th percentile of completion (ms)"),
    ),
    FigureSpec(
        number="21",
        title="Queue build-up: 20 KB behind two long flows",
        caption="Distribution of the completion times of transfers on one connection. Median and "
        "range of the seeds.",
        uses=("build-up/",),
        claims=("buildup-dctcp", "buildup-ratio", "buildup-timeouts"),
        data=distribution("build-up/"),
        draw=draw_distribution,
    ),
    FigureSpec(
        number="2",
        title="Buffer pressure",
        caption="10:1 incast of 1 MB, without and with 66 long flows at 33 other ports of the "
        "switch: 95th percentile of completion of each seed, and the share with a timeout.",
        uses=("pressure/", "why/pressure/", "why/stagger/"),
        claims=("pressure-base", "pressure-dctcp-base", "pressure-tcp", "pressure-dctcp"),
        data=pressure("pressure/"),
        draw=draw_pressure,
        kind="table",
    ),
    FigureSpec(
        number="2-varied",
        title="Buffer pressure, varied",
        caption="One thing otherwise at a time: 95th percentile of completion with background / "
        "without, and the share of queries with a timeout beside the background. TCP everywhere, "
        "DCTCP as it is and with the least memory. Median and range of the seeds.",
        uses=("pressure/", "why/pressure/"),
        claims=(),
        data=drawings_why.pressure_varied,
        draw=drawings_why.draw_varied("95th percentile, with / without"),
        kind="table",
    ),
    FigureSpec(
        number="22",
        title="Cluster benchmark: background flows",
        caption="Completion time by size, on a logarithmic scale; on the right the two kinds that "
        "the DCTCP paper finds among them, by size again: short messages of 50 KB to 1 MB and "
        "updates of 1 to 50 MB. Median and range of the seeds.",
        uses=("cluster/",),
        claims=("cluster-short",),
        data=drawings_cluster.background_times,
        draw=drawings_cluster.draw_background,
    ),
    FigureSpec(
        number="23",
        title="Cluster benchmark: queries",
        caption="Completion time of a query to all 44 others. Median and range of the seeds.",
        uses=("cluster/",),
        claims=("cluster-query", "cluster-tcp-timeouts", "cluster-dctcp-timeouts"),
        data=drawings_cluster.query_times,
        draw=drawings_cluster.draw_query_times,
    ),
    FigureSpec(
        number="23-rest",
        title="Cluster benchmark, and the rest of the data center",
        caption="Hosts of background flows drawn evenly, the one at 10 Gbit/s among them, or half "
        "of the flows to or from that one. Median and range of the seeds.",
        uses=("cluster/", "why/rest/"),
        claims=(),
        data=drawings_cluster.rest,
        draw=drawings_cluster.draw_rest,
    ),
    FigureSpec(
        number="19-today",
        title="Hosts of today",
        caption="Initial window 10, no slow start after idle, no limit of the receive window: "
        "incast with dynamic buffers, all-to-all incast, and buffer pressure without and with "
        "background; TCP's also with receive windows of 64 KiB. Median and range of the seeds.",
        uses=("today/", "why/today/"),
        claims=("today-dynamic", "today-all", "today-pressure-tcp", "today-pressure-dctcp"),
        data=drawings_why.today,
        draw=drawings_why.draw_today,
    ),
)
"""In the order of the report."""
