"""Figures 6 to 8 of qcn-incast: the rates over time of a run, and its rounds, from a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from incastle.reproduction import figures

from . import rates
from .runs import seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from incastle.reproduction.papers import Observation

_STRETCH = 2.0
"""Seconds of a run in figure 7, its second half if that is shorter."""
_SHOWN_FLOWS = 3
_ROUNDS = 4
_INSTANTS = 400


def _sampled(run: Observation, begin: float, end: float) -> pl.DataFrame:
    """Give the rates at equal steps of time: time_s and a column for each flow."""
    times = [begin + (end - begin) * i / (_INSTANTS - 1) for i in range(_INSTANTS)]
    grid = pl.DataFrame({"time_s": times}).sort("time_s")
    return grid.join_asof(rates.steps(run).drop("until_s"), on="time_s")


def rates_of_all(run: Observation) -> pl.DataFrame:
    """Give time_s and minimum, mean and maximum rate over the flows, in Mbit/s."""
    flows = pl.exclude("time_s")
    return _sampled(run, 0.0, seconds(run)).select(
        "time_s",
        pl.min_horizontal(flows).alias("min"),
        pl.mean_horizontal(flows).alias("mean"),
        pl.max_horizontal(flows).alias("max"),
    )


def rates_of_three(run: Observation) -> pl.DataFrame:
    """Give time_s, flow, rate in Mbit/s of three flows over a stretch of the run."""
    length = min(_STRETCH, seconds(run) / 2)
    table = _sampled(run, seconds(run) / 2, seconds(run) / 2 + length)
    names = table.columns[1 : 1 + _SHOWN_FLOWS]
    long = table.select("time_s", *names).unpivot(
        index="time_s", variable_name="flow", value_name="rate_mbit_s"
    )
    return long.with_columns(pl.col("flow").cast(pl.Int64))


def rounds(run: Observation) -> pl.DataFrame:
    """Give the responses of consecutive rounds in mid-run: round, flow, times, mean rate."""
    table = rates.responses(run)
    middle = table.filter(pl.col("over_s") >= seconds(run) / 2)
    first = int((middle if len(middle) else table)["round"].min() or 0)  # type: ignore[arg-type]
    shown = table.filter(pl.col("round").is_between(first, first + _ROUNDS - 1))
    size = run["transfers"].filter(pl.col("kind") == "response")["bytes"].max()
    mbit = 8 * float(size) / 1e6  # type: ignore[arg-type]
    taken = pl.col("answered_s") - pl.col("asked_s")
    return shown.with_columns((mbit / taken).alias("answered_mbit_s"))


def draw_rounds(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a bar for each response, in colour while it comes and grey while its server waits."""
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
    axes.set_title("responding (red: the slowest), then waiting (grey)")
