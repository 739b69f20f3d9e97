"""The figures of dctcp: the table of each, and how it is drawn from that table alone.

They have the numbers of the DCTCP paper, which the slides show without numbers except for the last
ones. `measures.py` yields the values; here they become tables and pictures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from incastle import figures
from incastle.papers import FigureSpec

from . import measures, plan
from .plan import ALGORITHMS, SPEEDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incastle.papers import Observation, Observations

SHARES = [share / 100 for share in (*range(0, 90, 2), *range(90, 101))] + [0.995, 0.999]
"""The quantiles of a distribution that is drawn."""


WIDE = 10
"""Times from least to largest: from here on an axis is logarithmic."""
_LIMITED = "TCP, windows of 512 KB"
_LINES: dict[str, dict[str, Any]] = {
    "TCP": {"color": figures.RED},
    "DCTCP": {"color": figures.BLUE},
    _LIMITED: {"color": figures.ORANGE, "ls": "--"},
}


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
                    ("distribution", speed.name, label, seed, share, _quantile(queue, share))
                    for share in sorted(SHARES)
                ]
    begin = plan.evaluated_from(SPEEDS["1G"], runs.length)
    for seed, run in enumerate(runs["why/basic/tcp"], 1):
        queue = measures.samples_from(run, begin)
        rows += [
            ("distribution", SPEEDS["1G"].name, _LIMITED, seed, share, _quantile(queue, share))
            for share in sorted(SHARES)
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


def _quantile(values: pl.Series, share: float) -> float:
    found = values.quantile(share, "linear")
    return float("nan") if found is None else float(found)


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
        _distributions(axes, part, "packets")
        figures.mark(axes, speed.threshold, f"K = {speed.threshold}", y=0.45)
        axes.set_title(speed.name)
        axes.set_xlabel("queue (packets)")
        axes.set_xlim(left=0)
    panels[1].set_ylabel("fraction of samples at or below")
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)


def _distributions(axes: Axes, data: pl.DataFrame, value: str) -> None:
    """Draw each series' quantiles: the median over the seeds, and their range."""
    for label in data["algorithm"].unique(maintain_order=True):
        part = data.filter(pl.col("algorithm") == label)
        points = (
            part.group_by("x")
            .agg(
                pl.col(value).median().alias("median"),
                pl.col(value).min().alias("least"),
                pl.col(value).max().alias("largest"),
            )
            .sort("x")
        )
        style = _LINES[label]
        axes.plot(points["median"], points["x"], label=label, **style)
        axes.fill_betweenx(
            points["x"], points["least"], points["largest"], color=style["color"], alpha=0.2, lw=0
        )
    axes.set_ylim(0, 1.02)


# ---- figure 16: convergence


_CONVERGENCE = {
    "TCP": "convergence/tcp",
    "DCTCP": "convergence/dctcp",
    "TCP, windows without limit": "why/convergence/tcp",
}


def convergence(runs: Observations) -> pl.DataFrame:
    """Give the rates of the first seed: algorithm, flow, time_s, mbit_s."""
    step = plan.EXTENTS[runs.length].phase_s / 30
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

_WINDOW_2 = "DCTCP, RTO_min 10 ms, initial window 2"
_INCAST_STYLES: dict[str, dict[str, Any]] = {
    "TCP, RTO_min 300 ms": {"color": figures.ORANGE, "marker": "D", "ms": 3},
    "TCP, RTO_min 10 ms": {"color": figures.RED, "marker": "s", "ms": 3},
    "DCTCP, RTO_min 300 ms": {"color": figures.SKY, "marker": "^", "ms": 3},
    "DCTCP, RTO_min 10 ms": {"color": figures.BLUE, "marker": "o", "ms": 3},
    _WINDOW_2: {"color": figures.GREEN, "marker": "v", "ms": 3, "ls": "--"},
}


def incast(buffers: str, rtos: Iterable[str]) -> Callable[[Observations], pl.DataFrame]:
    """Give series, n, seed, mean_ms, timeouts_percent."""
    timers = tuple(rtos)

    def data(runs: Observations) -> pl.DataFrame:
        rows = []
        for name, label in ALGORITHMS.items():
            for rto in timers:
                prefix = f"incast/{buffers}/{name}/rto={rto}/"
                series = f"{label}, RTO_min {rto.replace('ms', ' ms')}"
                rows += _points(runs, prefix, series)
        if buffers == "static":
            rows += _points(runs, "why/static/dctcp/rto=10ms/", _WINDOW_2)
        columns = ["series", "n", "seed", "mean_ms", "timeouts_percent"]
        return pl.DataFrame(rows, schema=columns, orient="row")

    return data


def _points(
    runs: Observations, prefix: str, series: str
) -> list[tuple[str, int, int, float, float]]:
    means = measures.over_servers(runs, prefix, measures.mean_completion)
    shares = measures.over_servers(runs, prefix, measures.with_timeouts)
    return [
        (series, n, seed, mean, share)
        for n in means
        for seed, (mean, share) in enumerate(zip(means[n], shares[n], strict=True), 1)
    ]


def draw_incast(figure: Figure, data: pl.DataFrame) -> None:
    """Draw completion time and share of queries with timeouts over the number of servers."""
    figure.set_size_inches(7.2, 3.4)
    left, right = figure.subplots(1, 2)
    for series in data["series"].unique(maintain_order=True):
        part = data.filter(pl.col("series") == series)
        style = _INCAST_STYLES[series]
        figures.spread(left, part, "n", "mean_ms", label=series, **style)
        figures.spread(right, part, "n", "timeouts_percent", label=series, **style)
    if float(data["mean_ms"].max() or 0) > 50:  # type: ignore[arg-type]  # noqa: PLR2004
        left.set_yscale("log")
        left.yaxis.set_major_formatter("{x:g}")
    else:
        left.set_ylim(bottom=0)
    left.set_ylabel("mean completion time (ms)")
    right.set_ylabel("queries with a timeout (%)")
    right.set_ylim(-2, 102)
    for axes in (left, right):
        axes.set_xlabel("servers")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)


# ---- figures 20 and 21: distributions of completion times


def distribution(prefix: str) -> Callable[[Observations], pl.DataFrame]:
    """Give the quantiles of each seed: algorithm, seed, x (share), ms."""

    def data(runs: Observations) -> pl.DataFrame:
        rows = []
        for name, label in ALGORITHMS.items():
            for seed, run in enumerate(runs[f"{prefix}{name}"], 1):
                times = measures.completions(run)
                rows += [(label, seed, share, _quantile(times, share)) for share in sorted(SHARES)]
        return pl.DataFrame(rows, schema=["algorithm", "seed", "x", "ms"], orient="row")

    return data


def draw_distribution(figure: Figure, data: pl.DataFrame) -> None:
    """Draw the distribution of each algorithm."""
    figure.set_size_inches(7.2, 3.0)
    axes = figure.subplots()
    _distributions(axes, data, "ms")
    axes.set_xlabel("completion time (ms)")
    axes.set_ylabel("fraction at or below")
    if float(data["ms"].max() or 0) > WIDE * float(data["ms"].min() or 1):  # type: ignore[arg-type]
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper")


def memories(runs: Observations) -> pl.DataFrame:
    """Give memory, algorithm, seed, p95_ms, timeouts_percent of all-to-all incast."""
    rows = [
        (memory, label, seed, measures.quantile(0.95)(run), measures.with_timeouts(run))
        for key, memory in plan.MEMORIES.items()
        for name, label in ALGORITHMS.items()
        for seed, run in enumerate(
            runs[f"all/{name}" if memory == "4 MB" else f"why/memory/{key}/{name}"], 1
        )
    ]
    columns = ["memory", "algorithm", "seed", "p95_ms", "timeouts_percent"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def draw_memories(figure: Figure, data: pl.DataFrame) -> None:
    """Draw completion and timeouts over the switch's memory."""
    figure.set_size_inches(7.2, 2.8)
    panels = figure.subplots(1, 2)
    places = data["memory"].unique(maintain_order=True).to_list()
    for axes, column in zip(panels, ("p95_ms", "timeouts_percent"), strict=True):
        _dots(axes, data, "memory", places, column)
        axes.set_ylim(bottom=0 if column == "p95_ms" else -3)
        axes.set_xlabel("memory of the switch")
    panels[0].set_ylabel("95th percentile of completion (ms)")
    panels[1].set_ylabel("queries with a timeout (%)")
    panels[1].legend(loc="upper right")


# ---- table 2: buffer pressure

PAPER_PRESSURE = {("TCP", "alone"): 9.87, ("TCP", "beside"): 46.94} | {
    ("DCTCP", "alone"): 9.17,
    ("DCTCP", "beside"): 9.09,
}
_PRESSURE = {"alone": "without background", "beside": "with background"}


def pressure(prefix: str) -> Callable[[Observations], pl.DataFrame]:
    """Give algorithm, background, seed (none for the paper's values), p95_ms, timeouts_percent."""

    def data(runs: Observations) -> pl.DataFrame:
        rows: list[tuple[str, str, int | None, float, float | None]] = []
        for name, label in ALGORITHMS.items():
            for kind, words in _PRESSURE.items():
                rows += [
                    (label, words, seed, measures.quantile(0.95)(run), measures.with_timeouts(run))
                    for seed, run in enumerate(runs[f"{prefix}{kind}/{name}"], 1)
                ]
                rows.append((label, words, None, PAPER_PRESSURE[label, kind], None))
        columns = ["algorithm", "background", "seed", "p95_ms", "timeouts_percent"]
        return pl.DataFrame(rows, schema=columns, orient="row")

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


# ---- figures 22 and 23: the cluster benchmark


def background_times(runs: Observations) -> pl.DataFrame:
    """Give algorithm, size, seed, flows, mean_ms, p95_ms."""
    rows = []
    for name, label in ALGORITHMS.items():
        for seed, run in enumerate(runs[f"cluster/{name}"], 1):
            flows = measures.background(run)
            for size, low, high in measures.size_bins():
                times = flows.filter((pl.col("bytes") >= low) & (pl.col("bytes") < high))["ms"]
                mean = times.mean()
                row = (label, size, seed, len(times), mean, _quantile(times, 0.95))
                rows.append(row)
    columns = ["algorithm", "size", "seed", "flows", "mean_ms", "p95_ms"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def draw_background(figure: Figure, data: pl.DataFrame) -> None:
    """Draw mean and 95th percentile by size, on a logarithmic scale."""
    sizes = data["size"].unique(maintain_order=True).to_list()
    figure.set_size_inches(7.2, 3.4)
    panels = figure.subplots(1, 2, sharey=True)
    titles = {"mean_ms": "mean", "p95_ms": "95th percentile"}
    for axes, (column, title) in zip(panels, titles.items(), strict=True):
        _dots(axes, data, "size", sizes, column)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_title(title)
        axes.tick_params(axis="x", labelrotation=20)
    panels[0].set_ylabel("completion time (ms)")
    panels[0].legend(loc="upper left")


def _dots(axes: Axes, data: pl.DataFrame, x: str, places: Sequence[str], y: str) -> None:
    """Draw each algorithm's median over the seeds and their range, beside each other."""
    for shift, label in zip((-0.12, 0.12), ALGORITHMS.values(), strict=True):
        style = figures.STYLES[label]
        for place, value in enumerate(places):
            part = data.filter((pl.col("algorithm") == label) & (pl.col(x) == value))
            values = part[y].drop_nulls().drop_nans()
            if len(values) == 0:
                continue
            least, middle, most = (_quantile(values, share) for share in (0, 0.5, 1))
            axes.vlines(place + shift, least, most, color=style["color"], lw=1.2)
            shown = label if place == 0 else None
            axes.plot([place + shift], [middle], ls="", label=shown, **style)
    axes.set_xticks(range(len(places)), places)
    axes.grid(visible=False, axis="x")


_QUERY_STATISTICS: dict[str, Callable[[Observation], float]] = {
    "mean": measures.mean_completion,
    "95th": measures.quantile(0.95),
    "99th": measures.quantile(0.99),
    "99.9th": measures.quantile(0.999),
}


def query_times(runs: Observations) -> pl.DataFrame:
    """Give algorithm, statistic, seed, ms."""
    rows = [
        (label, statistic, seed, of(run))
        for name, label in ALGORITHMS.items()
        for seed, run in enumerate(runs[f"cluster/{name}"], 1)
        for statistic, of in _QUERY_STATISTICS.items()
    ]
    return pl.DataFrame(rows, schema=["algorithm", "statistic", "seed", "ms"], orient="row")


def draw_query_times(figure: Figure, data: pl.DataFrame) -> None:
    """Draw mean and percentiles of the queries' completion times."""
    figure.set_size_inches(7.2, 3.0)
    axes = figure.subplots()
    _dots(axes, data, "statistic", list(_QUERY_STATISTICS), "ms")
    axes.set_ylabel("completion time (ms)")
    axes.set_xlabel("mean and percentiles of all queries")
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper left")


# ---- hosts of today


def today(runs: Observations) -> pl.DataFrame:
    """Give experiment, algorithm, seed, p95_ms, timeouts_percent."""
    cases = [
        *((f"incast, n = {n}", f"dynamic/{{}}/rto=10ms/n={n}") for n in plan.SERVERS_TODAY),
        ("all-to-all", "all/{}"),
        ("pressure, without", "pressure/alone/{}"),
        ("pressure, with", "pressure/beside/{}"),
    ]
    rows = [
        (words, label, seed, measures.quantile(0.95)(run), measures.with_timeouts(run))
        for words, pattern in cases
        for name, label in ALGORITHMS.items()
        for seed, run in enumerate(runs[f"today/{pattern.format(name)}"], 1)
    ]
    columns = ["experiment", "algorithm", "seed", "p95_ms", "timeouts_percent"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def draw_today(figure: Figure, data: pl.DataFrame) -> None:
    """Draw completion and timeouts of each experiment."""
    figure.set_size_inches(7.2, 3.4)
    panels = figure.subplots(1, 2)
    places = data["experiment"].unique(maintain_order=True).to_list()
    for axes, column in zip(panels, ("p95_ms", "timeouts_percent"), strict=True):
        _dots(axes, data, "experiment", places, column)
        axes.set_ylim(bottom=0 if column == "p95_ms" else -0.7)
        axes.set_xticks(range(len(places)), places, rotation=35, ha="right", fontsize=8)
    panels[0].set_ylabel("95th percentile of completion (ms)")
    panels[1].set_ylabel("queries with a timeout (%)")
    panels[0].legend(loc="best")


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
        uses=("convergence/", "why/convergence/tcp"),
        claims=("convergence-share", "convergence-jain", "convergence-variance"),
        data=convergence,
        draw=draw_convergence,
    ),
    FigureSpec(
        number="18",
        title="Incast with static buffers of 100 KB per port",
        caption="A client asks n servers for 1 MB / n each: mean completion time, and the share of "
        "queries with a timeout. Median and range of the seeds.",
        uses=("incast/static/", "why/static/"),
        claims=("static-least", "static-tcp", "static-dctcp", "static-join"),
        data=incast("static", plan.RTOS),
        draw=draw_incast,
    ),
    FigureSpec(
        number="19",
        title="Incast with dynamic buffers",
        caption="The same with 4 MB shared by all ports, of which one busy port may hold 694 KB.",
        uses=("incast/dynamic/",),
        claims=("dynamic-dctcp", "dynamic-tcp"),
        data=incast("dynamic", ("10ms",)),
        draw=draw_incast,
    ),
    FigureSpec(
        number="20",
        title="All-to-all incast",
        caption="Each of 41 hosts asks the 40 others for 25 KB at once: distribution of the "
        "response time. Median and range of the seeds.",
        uses=("all/",),
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
        data=memories,
        draw=draw_memories,
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
        uses=("pressure/",),
        claims=("pressure-base", "pressure-dctcp-base", "pressure-tcp", "pressure-dctcp"),
        data=pressure("pressure/"),
        draw=draw_pressure,
        kind="table",
    ),
    FigureSpec(
        number="22",
        title="Cluster benchmark: background flows",
        caption="Completion time by size, on a logarithmic scale. Median and range of the seeds.",
        uses=("cluster/",),
        claims=("cluster-short",),
        data=background_times,
        draw=draw_background,
    ),
    FigureSpec(
        number="23",
        title="Cluster benchmark: queries",
        caption="Completion time of a query to all 44 others. Median and range of the seeds.",
        uses=("cluster/",),
        claims=("cluster-query", "cluster-tcp-timeouts", "cluster-dctcp-timeouts"),
        data=query_times,
        draw=draw_query_times,
    ),
    FigureSpec(
        number="19-today",
        title="Hosts of today",
        caption="Initial window 10, no slow start after idle, no limit of the receive window: "
        "incast with dynamic buffers, all-to-all incast, and buffer pressure without and with "
        "background. Median and range of the seeds.",
        uses=("today/",),
        claims=("today-dynamic", "today-all", "today-pressure-tcp", "today-pressure-dctcp"),
        data=today,
        draw=draw_today,
    ),
)
"""In the order of the report."""
