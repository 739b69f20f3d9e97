"""Figures 6 to 8 and table I of qcn-incast: rates over time, and rounds drawn from a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from incastle.reproduction import figures
from incastle.reproduction.papers import FigureSpec

from . import rates
from .curves import PAPER, in_decades, legend_columns, over_servers
from .plan import TRACED, TRACED_SERVERS
from .points import SERVERS, point
from .runs import LINK, goodput, seconds, timeouts_per_flow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from incastle.reproduction.papers import Observation, Observations

_POINT = point("I", "200ms", TRACED, TRACED_SERVERS)
_SHOWN_FLOWS = 3
_STRETCH = 2.0
"""Figure 7 shows so many seconds of a run, its second half if it is shorter."""
_ROUNDS = 4
"""So many rounds in figure 8."""
_GRID = 400
"""Figure 6 shows so many instants of a run."""


def _sampled(run: Observation, begin: float, end: float, points: int) -> pl.DataFrame:
    """Give the rates at equal steps of time: time_s and a column for each flow."""
    times = [begin + (end - begin) * i / (points - 1) for i in range(points)]
    grid = pl.DataFrame({"time_s": times}).sort("time_s")
    return grid.join_asof(rates.steps(run).drop("until_s"), on="time_s")


# ---- figure 6


def statistics(runs: Observations) -> pl.DataFrame:
    """Give time_s and least, mean and greatest rate over the flows, in Mbit/s."""
    run = runs[_POINT][0]
    table = _sampled(run, 0.0, seconds(run), _GRID)
    flows = pl.exclude("time_s")
    return table.select(
        "time_s",
        pl.min_horizontal(flows).alias("least"),
        pl.mean_horizontal(flows).alias("mean"),
        pl.max_horizontal(flows).alias("greatest"),
    )


def draw_statistics(figure: Figure, data: pl.DataFrame) -> None:
    """Draw the three over time."""
    figure.set_size_inches(7.2, 3.0)
    axes = figure.subplots()
    styles = (("greatest", figures.RED), ("mean", figures.GREEN), ("least", figures.BLUE))
    for name, colour in styles:
        axes.plot(data["time_s"], data[name], color=colour, lw=0.9, label=name)
    axes.axhline(rates.LOW, color=figures.GREY, lw=0.9, ls=(0, (4, 3)))
    axes.set_yscale("log")
    axes.set_yticks(
        [5, 10, 20, 50, 80, 200, 500, 1000], map(str, (5, 10, 20, 50, 80, 200, 500, 1000))
    )
    axes.minorticks_off()
    axes.set_xlabel("time (s)")
    axes.set_ylabel("rate of a flow (Mbit/s)")
    axes.set_title("8 servers, 128 KiB, seed 1")
    figure.legend(loc="outside upper right", ncols=3)


# ---- figure 7


def three_flows(runs: Observations) -> pl.DataFrame:
    """Give time_s, flow, rate in Mbit/s of three flows over a stretch of the run."""
    run = runs[_POINT][0]
    length = min(_STRETCH, seconds(run) / 2)
    table = _sampled(run, seconds(run) / 2, seconds(run) / 2 + length, _GRID)
    names = table.columns[1 : 1 + _SHOWN_FLOWS]
    long = table.select("time_s", *names).unpivot(
        index="time_s", variable_name="flow", value_name="rate_mbit_s"
    )
    return long.with_columns(pl.col("flow").cast(pl.Int64))


def draw_three_flows(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a step line for each flow."""
    figure.set_size_inches(7.2, 3.0)
    axes = figure.subplots()
    for place, flow in enumerate(data["flow"].unique(maintain_order=True)):
        one = data.filter(pl.col("flow") == flow)
        axes.step(
            one["time_s"],
            one["rate_mbit_s"],
            where="post",
            color=figures.SERIES[place],
            lw=1.1,
            label=f"server {flow}",
        )
    axes.set_ylim(bottom=0)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("rate of the flow (Mbit/s)")
    axes.set_title("8 servers, 128 KiB, seed 1")
    figure.legend(loc="outside upper right", ncols=_SHOWN_FLOWS)


# ---- figure 8


def rounds(runs: Observations) -> pl.DataFrame:
    """Give the answers of consecutive rounds in mid-run: round, flow, times, mean rate."""
    run = runs[_POINT][0]
    table = rates.answers(run)
    middle = table.filter(pl.col("over_s") >= seconds(run) / 2)
    first = int((middle if len(middle) else table)["round"].min() or 0)  # type: ignore[arg-type]
    chosen = table.filter(pl.col("round").is_between(first, first + _ROUNDS - 1))
    size = run["transfers"].filter(pl.col("kind") == "response")["bytes"].max()
    mbit = 8 * float(size) / 1e6  # type: ignore[arg-type]
    taken = pl.col("answered_s") - pl.col("asked_s")
    return chosen.with_columns((mbit / taken).alias("answered_mbit_s"))


def draw_rounds(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a bar for each answer, in colour while it comes and grey while its server waits."""
    figure.set_size_inches(7.2, 3.2)
    axes = figure.subplots()
    origin = float(data["asked_s"].min() or 0)  # type: ignore[arg-type]
    last = pl.col("answered_s") == pl.col("over_s")
    for part, colour in ((data.filter(~last), figures.SKY), (data.filter(last), figures.RED)):
        taken = (part["answered_s"] - part["asked_s"]) * 1e3
        begin = (part["asked_s"] - origin) * 1e3
        axes.barh(part["flow"], taken, left=begin, color=colour, height=0.7)
    waited = (data["over_s"] - data["answered_s"]) * 1e3
    begin = (data["answered_s"] - origin) * 1e3
    axes.barh(data["flow"], waited, left=begin, color="#e4e4e4", height=0.7)
    for over in data["over_s"].unique():
        axes.axvline((over - origin) * 1e3, color=figures.GREY, lw=0.9, ls=(0, (4, 3)))
    axes.set_yticks(data["flow"].unique().sort().to_list())
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("time (ms)")
    axes.set_ylabel("server")
    axes.set_title("answering (red: the slowest), then waiting (grey)")


# ---- table I

_TABLE_1: Mapping[int, tuple[float, float, float]] = {
    2: (512.19, 966.61, 0),
    4: (208.74, 835.29, 0),
    8: (59.31, 484.77, 0),
    16: (36.21, 613.37, 0.063),
    32: (29.4, 325.01, 8.94),
    64: (32.03, 408.4, 22.75),
}
_COLUMNS = ("n", "seed", "mean_least_mbit_s", "product_mbit_s", "goodput_mbit_s", "timeouts")


def least_rates(runs: Observations) -> pl.DataFrame:
    """Give table I: the paper's rows without a seed, then ours."""
    rows: list[tuple[object, ...]] = [
        (n, None, least, n * least, goodput_, timeouts)
        for n, (least, goodput_, timeouts) in _TABLE_1.items()
    ]
    for n in SERVERS:
        name = point("I", "200ms", TRACED, n)
        for seed, run in enumerate(runs[name] if name in runs.runs else (), 1):
            least = rates.mean_least(run)
            rows.append((n, seed, least, n * least, goodput(run), timeouts_per_flow(run)))
    return pl.DataFrame(rows, schema=list(_COLUMNS), orient="row")


def draw_least_rates(figure: Figure, data: pl.DataFrame) -> None:
    """Draw goodput and product over n on the left, timeouts on the right."""
    figure.set_size_inches(7.2, 3.4)
    left, right = figure.subplots(1, 2, width_ratios=(1.4, 1))
    paper, ours = data.filter(pl.col("seed").is_null()), data.filter(pl.col("seed").is_not_null())
    columns = (
        ("goodput_mbit_s", "goodput", figures.BLUE, "o", left),
        ("product_mbit_s", "n x mean least rate", figures.RED, "s", left),
        ("timeouts", "timeouts per flow in 20 s", figures.BLACK, "^", right),
    )
    for column, label, colour, marker, axes in columns:
        style: dict[str, Any] = {"color": colour, "marker": marker, "clip_on": False}
        figures.spread(axes, ours, "n", column, label=label, **style)
        style |= {"mfc": "none", "ls": ":"}
        axes.plot(paper["n"], paper[column], label=f"{label}, {PAPER}", **style)
    left.axhline(LINK, color=figures.GREY, lw=0.9, ls=(0, (4, 3)))
    left.set_ylabel("Mbit/s")
    left.set_ylim(bottom=0)
    in_decades(right, "symlog")
    right.set_ylim(bottom=0)
    right.set_ylabel("timeouts per flow")
    for axes in (left, right):
        over_servers(axes, SERVERS)
        axes.set_xlabel("servers")
    labels = [label for axes in (left, right) for label in axes.get_legend_handles_labels()[1]]
    figure.legend(loc="outside lower center", ncols=legend_columns(labels))


FIGURES = (
    FigureSpec(
        number="6",
        title="Least, mean and greatest rate over the flows",
        caption="The rates that QCN's reaction points allow, unmodified QCN, at 400 instants. The "
        "dashed line is 80 Mbit/s.",
        uses=(_POINT,),
        claims=("fig6-least",),
        data=statistics,
        draw=draw_statistics,
    ),
    FigureSpec(
        number="7",
        title="Rates of three flows",
        caption="As figure 6: three of the eight flows, 2 s from the middle of the run, or to its "
        "end if that is sooner.",
        uses=(_POINT,),
        claims=("fig7-changes",),
        data=three_flows,
        draw=draw_three_flows,
    ),
    FigureSpec(
        number="8",
        title="What the slowest flow does to a round",
        caption="Four rounds from the middle of the same run: each bar is a server's answer, "
        "then its wait for the slowest. The paper draws this by hand; here it is a trace.",
        uses=(_POINT,),
        claims=("fig8-wait",),
        data=rounds,
        draw=draw_rounds,
    ),
    FigureSpec(
        number="I",
        kind="table",
        title="Mean of the least rate, and goodput",
        caption="Unmodified QCN, 128 KiB, RTO_min 200 ms. The least rate is the time-weighted mean "
        "of the least of all flows' rates; hollow markers are the paper's values.",
        uses=(f"I/rto=200ms/b={TRACED}/",),
        claims=("table1-before", "table1-after"),
        data=least_rates,
        draw=draw_least_rates,
    ),
)
