"""A measure over the seeds of each combination: mean, its 95 % interval, minimum and maximum.

A run whose unfinished transfers could change the measure has two ends in place of a value: lower
ends make `low`, `mean_from` and `min`, upper ends `high`, `mean_to` and `max`, so that each range
has what it would be with the transfers finished. So has a percentile of queues that lies in a bin
of several lengths (`queues`). Where every run has a value, `low` is `high`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from incastle.analysis import queues
from incastle.analysis.completions import ends_of
from incastle.analysis.confidence import student_t

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

STATISTICS = ("runs", "low", "high", "mean_from", "mean_to", "min", "max")


def least_of(column: str) -> float:
    """Return the least value that a measure can have."""
    return 1.0 if column.rpartition(".")[2].startswith("slowdown") else 0.0


def over_seeds(frame: pl.DataFrame, keys: Sequence[str], column: str) -> pl.DataFrame:
    """Return one row per combination that has the measure: keys and `STATISTICS`.

    `low` and `high` are the ends of the mean, `mean_from` and `mean_to` those of its 95 % interval,
    null with one seed. No measure is negative: an interval ends at 0 at the latest, that of a
    slowdown at 1.
    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    value = pl.col(column)
    ends = [
        value.fill_null(pl.col(end)) if end in frame.columns else value for end in ends_of(column)
    ]
    if column in queues.QUANTILES and queues.LONGEST in frame.columns:
        ends = [value, queues.upper_end(column)]
    named = [
        end.cast(pl.Float64).alias(name) for end, name in zip(ends, ("lower", "upper"), strict=True)
    ]
    rows = frame.select(*keys, *named).drop_nulls("lower")
    statistics = [
        pl.len().alias("runs"),
        pl.col("lower").mean().alias("low"),
        pl.col("upper").mean().alias("high"),
        _half("lower").alias("below"),
        _half("upper").alias("above"),
        pl.col("lower").min().alias("min"),
        pl.col("upper").max().alias("max"),
    ]
    grouped = (
        rows.group_by(*keys, maintain_order=True).agg(*statistics)
        if keys
        else rows.select(*statistics)
    )
    factor = {runs: student_t(runs - 1) for runs in grouped["runs"].unique() if runs > 1}
    t = pl.col("runs").replace_strict(factor, default=None, return_dtype=pl.Float64)
    least = pl.min_horizontal(pl.lit(least_of(column)), "high")
    # What an unfinished transfer has reached may be below any slowdown, and is no bound of it.
    bounds = [
        pl.when(pl.col("low") < pl.col("high")).then(pl.col(end).clip(least)).otherwise(end)
        for end in ("low", "min")
    ]
    return grouped.with_columns(
        *(bound.alias(end) for bound, end in zip(bounds, ("low", "min"), strict=True)),
        mean_from=(pl.col("low") - t * pl.col("below")).clip(least),
        # The deviation of what has no limit is no number.
        mean_to=(pl.col("high") + t * pl.col("above")).fill_nan(math.inf),
    ).select(*keys, *STATISTICS)


def _half(column: str) -> pl.Expr:
    """Return the standard error of the mean."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    return pl.col(column).std() / pl.len().sqrt()
