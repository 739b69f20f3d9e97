"""The counters of II, III and IV, from traces of a congestion point and reaction points.

A table `cnms` has each sampling: psi and the interval drawn after it, the standard's for psi times
U(0.85, 1.15) and, with II, divided by 2 to the power of its counter. So the counter can be read
off.
"""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from incastle.reproduction.papers import Observation

_INTERVALS = [150e3, 75e3, 50e3, 37.5e3, 30e3, 25e3, 21.5e3, 18.5e3]
"""Bytes between samples for psi = 0 to 7, 8 to 15 and so on: pseudocode 2.2."""
_NEW_LEVELS = 56
_RAISED = 3
_FAST_RECOVERY = 5
_NEUTRAL = 1


def counter(run: Observation) -> pl.DataFrame:
    """Give II's counter after each sampling: time_s, c."""
    plain = (pl.col("psi") // 8).replace_strict(list(range(8)), _INTERVALS, return_dtype=pl.Float64)
    halvings = (plain / pl.col("interval_bytes")).log(2).round(0).cast(pl.Int64)
    return run["cnms"].select("time_s", halvings.alias("c"))


def _falls(run: Observation) -> list[tuple[float, int]]:
    """Give each fall of II's counter from 3 or more to 0: how long it took, how many samples."""
    found, above = [], None
    for place, (time, c) in enumerate(counter(run).rows()):
        if c >= _RAISED:
            above = (time, place)
        elif c == 0 and above is not None:
            found.append((time - above[0], place - above[1]))
            above = None
    return found


def milliseconds_to_zero(run: Observation) -> float:
    """Give the median time in which II's counter falls from 3 to 0."""
    found = [1e3 * time for time, _ in _falls(run)]
    return median(found) if found else math.nan


def samples_to_zero(run: Observation) -> float:
    """Give the median number of samples in which II's counter falls from 3 to 0."""
    found = [count for _, count in _falls(run)]
    return median(found) if found else math.nan


def beyond_first_table(run: Observation) -> float:
    """Give the share of notifications with a psi at which III samples more, in %."""
    sent = run["cnms"].filter(pl.col("psi") > 0)
    return 100 * len(sent.filter(pl.col("psi") >= _NEW_LEVELS)) / len(sent) if len(sent) else 0.0


def remembering(run: Observation) -> float:
    """Give the share of rate changes past fast recovery at which IV's memory divides, in %."""
    past = run["rates"].filter(
        pl.max_horizontal("byte_stage", "time_stage").cast(pl.Int64) > _FAST_RECOVERY
    )
    return 100 * len(past.filter(pl.col("memory") > _NEUTRAL)) / len(past) if len(past) else 0.0


def max_memory(run: Observation) -> float:
    """Give the greatest memory that IV had."""
    return float(run["rates"]["memory"].max() or 0)  # type: ignore[arg-type]
