"""Statistics of a run that several papers take: by name in the expressions of declarations.

Transfers and rounds count if they began in the measured interval (`incastle.reproduction.lasting`).
Leaves out what is a paper's own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from incastle.reproduction import lasting

if TYPE_CHECKING:
    from incastle.analysis.ends import Value
    from incastle.reproduction.papers import Observation

_EDGE = 1e-9
"""Seconds: times of intervals are sums of their lengths."""


def number(value: object) -> float:
    """Take a number of polars; what has no value (no rows) is not a number."""
    return float(value) if isinstance(value, int | float) else math.nan


# ---- flows and links


def of_group(table: pl.DataFrame, group: str) -> pl.DataFrame:
    """Give the rows of a group of flows; of every group if none is named."""
    return table.filter(pl.col("group") == group) if group else table


def flow_sum(run: Observation, column: str, group: str = "") -> float:
    """Give the sum of a column of `flows`."""
    return float(of_group(run["flows"], group)[column].sum())


def flow_mean(run: Observation, column: str, group: str = "") -> float:
    """Give the mean of a column of `flows`."""
    return number(of_group(run["flows"], group)[column].mean())


def link(run: Observation, port: str, column: str) -> float:
    """Give a column of `links` for a port."""
    return float(run["links"].filter(pl.col("port") == port)[column].item())


def summary(run: Observation, column: str) -> float:
    """Give a column of `summary`."""
    return float(run["summary"][column].item())


# ---- over time


def between(table: pl.DataFrame, begin: float, end: float = math.inf) -> pl.DataFrame:
    """Give the rows from one instant on and before another, in seconds."""
    time = pl.col("time_s")
    return table.filter((time >= begin - _EDGE) & (time < end - _EDGE))


def jain(shares: list[float]) -> float:
    """Give Jain's index: 1 where all are equal, 1 / n where one has everything."""
    squares = len(shares) * sum(share**2 for share in shares)
    return sum(shares) ** 2 / squares if squares else math.nan


# ---- queries: rounds, from the request to the last response


def queries(run: Observation, group: str = "") -> pl.DataFrame:
    """Give the queries, of a group if one is named, with what they lasted."""
    return lasting.begun(run, of_group(run["rounds"], group))


def query_mean(run: Observation, group: str = "") -> Value:
    """Give the mean QCT in ms."""
    return lasting.mean(queries(run, group))


def query_quantile(run: Observation, share: float, group: str = "") -> Value:
    """Give a quantile of the query completion time (QCT) in ms."""
    return lasting.quantile(queries(run, group), share)


def with_timeouts(run: Observation) -> float:
    """Give the share of queries with a timeout in %."""
    return 100 * number((run["rounds"]["timeouts"] > 0).mean())


def transfer_quantile(
    run: Observation, share: float, low: float, high: float, group: str = ""
) -> Value:
    """Give a quantile of the FCT in ms of transfers of `low` bytes to below `high`."""
    found = lasting.begun(run, of_group(run["transfers"], group))
    sized = found.filter((pl.col("bytes") >= low) & (pl.col("bytes") < high))
    return lasting.quantile(sized, share)
