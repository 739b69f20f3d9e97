"""The figures of dctcp-ns2: the table of each, and how it is drawn from that table alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from incastle.reproduction import figures
from incastle.reproduction.papers import FigureSpec

from . import measures, plan, theory
from .plan import SPEEDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incastle.reproduction.papers import Observations


def _label(algorithm: str) -> str:
    return algorithm.upper()


# ---- figure 2: the queue over time


def queue_over_time(*speeds: str) -> Callable[[Observations], pl.DataFrame]:
    """Give the samples with 2 flows: speed, algorithm, seed, time_s, packets."""

    def data(runs: Observations) -> pl.DataFrame:
        parts = []
        for speed in speeds:
            window = plan.queue_window(speed, runs.length)
            for name in plan.ALGORITHMS:
                for seed, run in enumerate(runs[f"queue/{speed}/{name}/n=2"], 1):
                    samples = measures.evaluated(run, window)
                    head = [
                        pl.lit(SPEEDS[speed].name).alias("speed"),
                        pl.lit(_label(name)).alias("algorithm"),
                        pl.lit(seed).alias("seed"),
                    ]
                    parts.append(samples.select(*head, "time_s", "packets"))
        return pl.concat(parts)

    return data


def draw_queue_over_time(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a row for each speed: one seed over time, and beside it the spread over all seeds."""
    speeds = data["speed"].unique(maintain_order=True).to_list()
    figure.set_size_inches(7.2, 0.4 + 2.6 * len(speeds))
    grid = figure.subplots(len(speeds), 2, squeeze=False, width_ratios=(3, 1), sharey="row")
    for (left, right), speed in zip(grid, speeds, strict=True):
        part = data.filter(pl.col("speed") == speed)
        for place, name in enumerate(("TCP", "DCTCP")):
            _draw_series(left, part.filter(pl.col("algorithm") == name), name)
            _draw_whiskers(right, part.filter(pl.col("algorithm") == name), name, place)
        left.set_ylabel("queue (packets)")
        left.set_ylim(bottom=0)
        left.set_title(f"{speed}, 2 flows, seed 1")
        right.set_title("all seeds")
        right.set_xticks([0, 1], ["TCP", "DCTCP"])
        right.set_xlim(-0.6, 1.6)
        right.grid(visible=False, axis="x")
    grid[-1][0].set_xlabel("time (s)")
    grid[-1][1].set_xlabel("median, 1 to 99 %")
    grid[0][0].legend(loc="center", bbox_to_anchor=(0.5, 0.28), ncols=2)


def _draw_series(axes: Axes, data: pl.DataFrame, name: str) -> None:
    one = data.filter(pl.col("seed") == 1)
    axes.plot(one["time_s"], one["packets"], color=figures.STYLES[name]["color"], lw=1, label=name)


def _draw_whiskers(axes: Axes, data: pl.DataFrame, name: str, place: int) -> None:
    """Draw, for each seed, the median and the range from the 1st to the 99th percentile."""
    seeds = data.group_by("seed").agg(
        pl.col("packets").quantile(0.01).alias("low"),
        pl.col("packets").median().alias("median"),
        pl.col("packets").quantile(0.99).alias("high"),
    )
    seeds = seeds.sort("seed")
    count = len(seeds)
    x = [place + (i - (count - 1) / 2) * 0.7 / max(count, 4) for i in range(count)]
    style = figures.STYLES[name]
    axes.vlines(
        x, seeds["low"], seeds["high"], color=style["color"], lw=min(1.0, 12 / max(count, 1))
    )
    size = min(3.0, 24 / max(count, 1))  # 20 markers beside each other still stay apart
    axes.plot(x, seeds["median"], ls="", color=style["color"], marker=style["marker"], ms=size)


# ---- figure 3: the distribution of the queue


def distribution(
    speeds: Sequence[str], variants: Sequence[tuple[str, str]]
) -> Callable[[Observations], pl.DataFrame]:
    """Give P(queue <= packets) of each seed: speed, series, seed, packets, fraction."""

    def data(runs: Observations) -> pl.DataFrame:
        parts = []
        for speed in speeds:
            window = plan.queue_window(speed, runs.length)
            step = SPEEDS[speed].buffer // 200
            grid = pl.Series("packets", range(0, SPEEDS[speed].buffer + 1, step), pl.Int64)
            for series, case in variants:
                for seed, run in enumerate(runs[f"queue/{speed}/{case}"], 1):
                    queue = measures.samples(run, window).cast(pl.Int64).sort()
                    below = queue.search_sorted(grid, side="right")
                    parts.append(
                        pl.DataFrame(
                            {
                                "speed": SPEEDS[speed].name,
                                "series": series,
                                "seed": seed,
                                "packets": grid,
                                "fraction": [count / max(len(queue), 1) for count in below],
                            }
                        )
                    )
        return pl.concat(parts)

    return data


DISTRIBUTIONS = tuple(
    (f"{_label(name)}, n = {flows}", f"{name}/n={flows}")
    for name in plan.ALGORITHMS
    for flows in plan.FLOWS
)
WITHOUT_JITTER = (
    ("TCP, n = 20, no jitter", "tcp/n=20/jitter=0"),
    ("TCP, n = 20, no jitter, one start", "tcp/n=20/together"),
)
_SERIES = {
    "TCP, n = 2": {"color": figures.RED, "ls": "-"},
    "TCP, n = 20": {"color": figures.ORANGE, "ls": "-"},
    "DCTCP, n = 2": {"color": figures.BLUE, "ls": "-"},
    "DCTCP, n = 20": {"color": figures.SKY, "ls": "-"},
    WITHOUT_JITTER[0][0]: {"color": figures.PURPLE, "ls": "--"},
    WITHOUT_JITTER[1][0]: {"color": figures.BLACK, "ls": ":"},
}


def draw_distribution(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a panel for each speed with a curve for each series, and one legend beside them."""
    speeds = data["speed"].unique(maintain_order=True).to_list()
    figure.set_size_inches(7.2, 3.2)
    panels = figure.subplots(1, len(speeds), squeeze=False, sharey=True)[0]
    for axes, speed in zip(panels, speeds, strict=True):
        part = data.filter(pl.col("speed") == speed)
        for series in part["series"].unique(maintain_order=True):
            one = part.filter(pl.col("series") == series)
            figures.spread(axes, one, "packets", "fraction", label=series, **_SERIES[series])
        axes.set_title(speed)
        axes.set_xlabel("queue (packets)")
        axes.set_xlim(left=0)
        axes.set_ylim(0, 1.02)
    panels[0].set_ylabel("fraction of samples at or below")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper")


# ---- figure 4: throughput over K


def throughput_over_threshold(runs: Observations) -> pl.DataFrame:
    """Give series, k (none for TCP), seed, throughput_percent."""
    return pl.concat(
        [
            _throughputs(runs, "TCP", None, "threshold/tcp"),
            *_curve(runs, "DCTCP", "threshold/dctcp/"),
        ]
    )


def draw_throughput(figure: Figure, data: pl.DataFrame) -> None:
    """Draw DCTCP's curve over K and TCP's level."""
    figure.set_size_inches(7.2, 3.2)
    axes = figure.subplots()
    tcp = data.filter(pl.col("series") == "TCP")["throughput_percent"]
    figures.level(axes, tcp, color=figures.RED, ls="--", label="TCP (drop-tail, no K)")
    dctcp = data.filter(pl.col("series") == "DCTCP")
    figures.spread(axes, dctcp, "k", "throughput_percent", label="DCTCP", **figures.STYLES["DCTCP"])
    figures.mark(axes, 1 / 7 * 0.040 * 100e6 / plan.PACKET_BITS, "C·RTT/7 = 47.6")
    axes.set_xlabel("marking threshold K (packets)")
    axes.set_ylabel("throughput (% of the link)")
    axes.set_title("100 Mbit/s, RTT 40 ms, 2 flows")
    axes.legend(loc="lower right")


_GROWING = "DCTCP, marked ACKs grow the window"


def steady_throughput(runs: Observations) -> pl.DataFrame:
    """Give series, k, seed, throughput_percent; the fluid model as a series without seeds."""
    parts = []
    for flows in plan.STEADY_FLOWS:
        parts += _curve(runs, f"DCTCP, n = {flows}", f"steady/dctcp/n={flows}/")
        parts.append(_throughputs(runs, f"TCP, n = {flows}", None, f"steady/tcp/n={flows}"))
        growing = f"steady/dctcp/n={flows}/{plan.GROWING}"
        parts += _curve(runs, f"{_GROWING}, n = {flows}", growing)
        grid = list(range(1, 101))
        model = [100 * theory.throughput(flows, theory.PIPE, k) for k in grid]
        parts.append(_rows(f"fluid model, n = {flows}", grid, [None] * len(grid), model))
    return pl.concat(parts)


def draw_steady(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a panel for each number of flows: measured, the fluid model, its knees, TCP."""
    figure.set_size_inches(7.2, 3.4)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, flows in zip(panels, plan.STEADY_FLOWS, strict=True):
        y = "throughput_percent"
        part = {
            name: data.filter(pl.col("series") == f"{name}, n = {flows}")
            for name in ("DCTCP", _GROWING, "TCP", "fluid model")
        }
        figures.level(axes, part["TCP"][y], color=figures.RED, ls="--", label="TCP")
        model = part["fluid model"]
        axes.plot(model["k"], model[y], color=figures.BLACK, ls=":", label="fluid model (exact)")
        style = figures.STYLES["DCTCP"]
        figures.spread(axes, part["DCTCP"], "k", y, label="DCTCP", **style)
        if not part[_GROWING].is_empty():
            style = {"color": figures.GREEN, "marker": "^", "ls": "--", "label": _GROWING}
            figures.spread(axes, part[_GROWING], "k", y, **style)
        short, exact = (theory.knee(flows, theory.PIPE, exact=form) for form in (False, True))
        if round(short) == round(exact):
            figures.mark(axes, exact, f"knee {exact:.0f}")
        else:
            figures.mark(axes, short, f"short {short:.1f}", side="right")
            figures.mark(axes, exact, f"exact {exact:.1f}")
        axes.set_title(f"n = {flows}")
        axes.set_xlabel("marking threshold K (packets)")
    panels[0].set_ylabel("throughput (% of the link)")
    handles, labels = panels[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=2)


def burst_throughput(runs: Observations) -> pl.DataFrame:
    """Give series (host bursts), k, seed, throughput_percent."""
    return pl.concat(
        part
        for burst in plan.BURSTS
        for part in _curve(runs, f"bursts of {burst}", f"burst/dctcp/b={burst}/")
    )


def draw_bursts(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a curve over K for each size of host bursts."""
    figure.set_size_inches(7.2, 3.2)
    axes = figure.subplots()
    styles = (
        {"color": figures.BLUE, "marker": "o"},
        {"color": figures.GREEN, "marker": "D", "ls": "--"},
    )
    for burst, style in zip(plan.BURSTS, styles, strict=True):
        part = data.filter(pl.col("series") == f"bursts of {burst}")
        label = f"host bursts of {burst}"
        figures.spread(axes, part, "k", "throughput_percent", label=label, **style)
    figures.mark(axes, 20, "K = 20")
    figures.mark(axes, 65, "K = 65 (recommended)")
    axes.set_xlabel("marking threshold K (packets)")
    axes.set_ylabel("throughput (% of the link)")
    axes.set_title("DCTCP, 10 Gbit/s, RTT 100 µs, 2 flows")
    axes.legend(loc="center right")


def _curve(runs: Observations, series: str, prefix: str) -> list[pl.DataFrame]:
    return [
        _throughputs(runs, series, k, f"{prefix}k={k}")
        for k in sorted(measures.curve(runs, prefix))
    ]


def _throughputs(runs: Observations, series: str, k: int | None, name: str) -> pl.DataFrame:
    values = measures.throughputs(runs, name)
    return _rows(series, [k] * len(values), list(range(1, len(values) + 1)), values)


def _rows(
    series: str, k: Sequence[int | None], seeds: Sequence[int | None], values: Sequence[float]
) -> pl.DataFrame:
    return pl.DataFrame(
        {"series": series, "k": k, "seed": seeds, "throughput_percent": values},
        schema={
            "series": pl.String,
            "k": pl.Int64,
            "seed": pl.Int64,
            "throughput_percent": pl.Float64,
        },
    )


FIGURES = (
    FigureSpec(
        number="2",
        original="1",
        title="Queue over time",
        caption="The queue at the switch's port to the receiver, sampled every 10 ms. TCP fills "
        "the buffer of 200 packets until it overflows; DCTCP is marked above K = 20.",
        uses=("queue/100M/tcp/n=2", "queue/100M/dctcp/n=2"),
        claims=("fig2-tcp-queue", "fig2-dctcp-queue", "fig2-buffer", "fig2-throughput"),
        data=queue_over_time("100M"),
        draw=draw_queue_over_time,
    ),
    FigureSpec(
        number="3",
        original="13",
        title="Distribution of the queue",
        caption="The fraction of samples in which the queue is at most so long; lines are the "
        "median over the seeds, bands their range. Sender jitter is up to 10 µs where no other "
        "is named.",
        uses=(
            *(f"queue/100M/{case}" for _, case in DISTRIBUTIONS),
            *(f"queue/100M/{case}" for _, case in WITHOUT_JITTER),
        ),
        claims=("fig3-dctcp-bound", "fig3-tcp-median", "fig3-gradual", "fig3-together"),
        data=distribution(("100M",), (*DISTRIBUTIONS, *WITHOUT_JITTER)),
        draw=draw_distribution,
    ),
    FigureSpec(
        number="4",
        original="14",
        title="Throughput over the marking threshold",
        caption="IP bytes received per second on the receiver's link of 100 Mbit/s, 10 ms per "
        "link; median over the seeds and their range.",
        uses=("threshold/",),
        claims=("fig4-flat", "fig4-tcp", "fig4-dip"),
        data=throughput_over_threshold,
        draw=draw_throughput,
    ),
    FigureSpec(
        number="4-steady",
        title="Throughput over the marking threshold in the steady state",
        caption="As figure 4, but long after slow start, with 2 and with 48 flows. The fluid "
        "model is that of section 3.3 of the DCTCP paper with the exact alpha; its C RTT of 335.4 "
        "packets includes the sending times, which moves 47.6 to 47.9 and 58.6 to 58.8.",
        uses=("steady/", "threshold/dctcp/k=1"),
        claims=(
            *("steady-flat", "steady-full", "steady-knee-2", "steady-knee-48"),
            "steady-start",
        ),
        data=steady_throughput,
        draw=draw_steady,
    ),
    FigureSpec(
        number="2-speed",
        title="Queue over time at 1 and 10 Gbit/s",
        caption="Figure 2 again, RTT 100 µs: 1 Gbit/s with K = 20 and 200 packets, 10 Gbit/s "
        "with K = 65 and 2000 packets; sampled every millisecond.",
        uses=tuple(
            f"queue/{speed}/{name}/n=2" for speed in measures.FAST for name in plan.ALGORITHMS
        ),
        claims=("speed-tcp-queue", "speed-dctcp-queue", "speed-buffer", "speed-throughput"),
        data=queue_over_time(*measures.FAST),
        draw=draw_queue_over_time,
    ),
    FigureSpec(
        number="3-speed",
        title="Distribution of the queue at 1 and 10 Gbit/s",
        caption="Figure 3 again, with the settings of figure 2-speed.",
        uses=tuple(f"queue/{speed}/{case}" for speed in measures.FAST for _, case in DISTRIBUTIONS),
        claims=("speed-dctcp-bound", "speed-tcp-median"),
        data=distribution(measures.FAST, DISTRIBUTIONS),
        draw=draw_distribution,
    ),
    FigureSpec(
        number="4-burst",
        title="Throughput over the marking threshold at 10 Gbit/s, with host bursts",
        caption="RTT 100 µs, 2 flows, 0.2 s of which the second half is evaluated. Bursts are "
        "those of segmentation offload: the sender holds permitted packets until so many can "
        "leave together, the receiver hands on so many at once.",
        uses=("burst/",),
        claims=("k65-enough", "k65-theory", "k65-bursts"),
        data=burst_throughput,
        draw=draw_bursts,
    ),
)
