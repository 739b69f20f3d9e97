"""The rates of QCN's reaction points over time, and what the slowest flow does to a round.

A flow's rate is a step function: the line rate until its limiter first acts, then as the table
`rates` has it. Means over time are weighted by the steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from incastle.analysis.ends import Ends
from incastle.reproduction import lasting

from .runs import seconds

if TYPE_CHECKING:
    from incastle.analysis.ends import Value
    from incastle.reproduction.papers import Observation

LINK = 1000.0
"""Mbit/s."""
LOW = 80.0
"""Mbit/s: figure 6 says that the least rate is always below."""


def steps(run: Observation) -> pl.DataFrame:
    """Give the rates in Mbit/s after each change: time_s, until_s, and a column for each flow."""
    flows = run["flows"].filter(pl.col("group") == "storage")["flow"].to_list()
    changes = run["rates"].filter(pl.col("flow").is_in(flows))
    start = pl.DataFrame({"time_s": [0.0] * len(flows), "flow": flows, "rate": [LINK] * len(flows)})
    start = start.with_columns(pl.col("flow").cast(changes["flow"].dtype))
    rate = (pl.col("current_bit_s") / 1e6).alias("rate")
    table = pl.concat([start, changes.select("time_s", "flow", rate)])
    wide = table.pivot(on="flow", index="time_s", values="rate", aggregate_function="last")
    names = [str(flow) for flow in flows]
    end = pl.col("time_s").shift(-1).fill_null(seconds(run)).alias("until_s")
    return (
        wide.sort("time_s").with_columns(pl.col(names).forward_fill()).select("time_s", end, *names)
    )


def _weighted(run: Observation, value: pl.Expr) -> float:
    """Give the time-weighted mean of a number of the flows' rates."""
    table = steps(run)
    width = pl.col("until_s") - pl.col("time_s")
    total = table.select((value * width).sum() / width.sum())
    return float(total.item())


def _min() -> pl.Expr:
    return pl.min_horizontal(pl.exclude("time_s", "until_s"))


def mean_min(run: Observation) -> float:
    """Give the time-weighted mean of the least rate in Mbit/s."""
    return _weighted(run, _min())


def share_below(run: Observation) -> float:
    """Give the share of the time in which the least rate is below 80 Mbit/s, in %."""
    return 100 * _weighted(run, (_min() < LOW).cast(pl.Float64))


def longest_slowest(run: Observation) -> float:
    """Give the largest share of the time in which one flow has the least rate, in %."""
    table = steps(run)
    names = table.columns[2:]
    width = pl.col("until_s") - pl.col("time_s")
    least = pl.min_horizontal(names)
    shares = table.select(
        (pl.when(pl.col(name) == least).then(width).otherwise(0).sum() / width.sum()).alias(name)
        for name in names
    )
    return 100 * max(float(share) for share in shares.row(0))


def _asked(run: Observation) -> pl.DataFrame:
    """Give each response with its round, also those that did not come before the end of the run.

    The responses to one request follow each other in `transfers`. When the slowest of a round has
    come, over_s, the round ends; it has none as long as there are fewer responses than flows.
    """
    flows = run["flows"].filter(pl.col("group") == "storage")
    of_servers = (pl.col("group") == "storage") & (pl.col("kind") == "response")
    counted = lasting.begun(run, run["transfers"].filter(of_servers)).sort("flow", "started_s")
    counted = counted.with_columns(pl.int_range(pl.len()).over("flow").alias("round"))
    whole = pl.col("completed_s").count().over("round") == len(flows)
    return counted.select(
        "round",
        "flow",
        pl.col("started_s").alias("asked_s"),
        pl.col("completed_s").alias("answered_s"),
        pl.when(whole).then(pl.col("completed_s").max().over("round")).alias("over_s"),
    ).sort("round", "flow")


def responses(run: Observation) -> pl.DataFrame:
    """Give each response of the rounds that ended: round, flow, asked_s, answered_s, over_s."""
    return _asked(run).drop_nulls("over_s")


def waiting(run: Observation) -> Value:
    """Give the mean share of a round in which a server has finished and waits, in %.

    Rounds weigh as much as they last: it is a share of the run's time, of which everything is
    known. The round that the end of the run cuts off counts with the time that it had.
    """
    table, end = _asked(run), lasting.interval(run).end
    over = pl.col("over_s").fill_null(end)
    waited = (over - pl.col("answered_s").fill_null(end)).sum()
    lasted = (over - pl.col("asked_s")).sum()
    share = 100 * float(table.select(waited / lasted).item())
    unfinished = table.filter(pl.col("over_s").is_null())["round"].n_unique()
    return Ends(share, share, unfinished) if unfinished else share
