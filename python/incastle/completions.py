"""Completion times and slowdowns by size class: what distributions over flow sizes are compared by.

The classes are those of the evaluation of DCTCP (Alizadeh et al., SIGCOMM 2010, figure 22), unless
the caller says otherwise. Quantiles are those of everything that Incastle says of completion times
and slowdowns: they interpolate linearly between the two sorted values around the share (definition
7 of Hyndman and Fan, "Sample quantiles in statistical packages", The American Statistician 50(4),
1996). Leaves out: transfers that were not completed; they are counted, but have no time, so that
the quantiles of a run with many of them are too low.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from incastle.units import between, si

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

SIZE_CLASSES = (10_000, 100_000, 1_000_000, 10_000_000)
"""Bytes at which one class ends and the next begins: below 10 KB, 10 to 100 KB, and so on."""

QUANTILES = {"median": 0.5, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Interpolate linearly between the two values around the share; None if there are none."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def quantile_of(value: pl.Expr, share: float) -> pl.Expr:
    """Give the same of a column."""
    return value.quantile(share, interpolation="linear")


def class_name(least: int) -> str:
    """Name the class of `SIZE_CLASSES` that begins at so many bytes, such as "10 to 100 KB"."""
    if least == SIZE_CLASSES[-1]:
        return f"from {si(least, 'B')}"
    most = next(size for size in SIZE_CLASSES if size > least)
    return f"below {si(most, 'B')}" if least == 0 else between(least, most, "B")


def by_size(transfers: pl.DataFrame, sizes: Sequence[int] = SIZE_CLASSES) -> pl.DataFrame:
    """Give one row per group, kind and size class that has transfers, smallest sizes first.

    Raises:
        ValueError: the sizes do not ascend from above 0.

    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    if any(low >= high for low, high in pairwise((0, *sizes))):
        raise ValueError(f"size classes ascend from above 0, not {list(sizes)}")
    known = ["completed_s"] + (["slowdown"] if "slowdown" in transfers.columns else [])
    values = {"completed_s": pl.col("completed_s") - pl.col("started_s")}
    least = pl.lit(0, pl.UInt64)
    for size in sizes:
        least = pl.when(pl.col("bytes") >= size).then(pl.lit(size, pl.UInt64)).otherwise(least)
    groups = transfers.with_columns(least_bytes=least).group_by(
        "group", "kind", "least_bytes", maintain_order=True
    )
    frame = groups.agg(
        pl.len().alias("begun"),
        pl.col("completed_s").is_not_null().sum().alias("completed"),
        *(column for name in known for column in _statistics(values.get(name, pl.col(name)), name)),
    )
    order = {group: place for place, group in enumerate(frame["group"].unique(maintain_order=True))}
    place = pl.col("group").replace_strict(order, return_dtype=pl.Int64)
    return frame.sort(place, "kind", "least_bytes")


def _statistics(value: pl.Expr, name: str) -> list[pl.Expr]:
    prefix, suffix = ("slowdown_", "") if name == "slowdown" else ("", "_s")
    statistics = [value.mean().alias(f"{prefix}mean{suffix}")]
    for word, share in QUANTILES.items():
        statistics.append(quantile_of(value, share).alias(f"{prefix}{word}{suffix}"))
    return statistics
