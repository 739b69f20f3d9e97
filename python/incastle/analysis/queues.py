"""Bins of queue histograms: one for each length up to `SINGLE` packets, beyond they double.

A table names a bin by its lowest length. What lies in one of several lengths is known to be between
its ends alone: the upper one is that of the bin, or the port's longest queue where that is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import polars as pl

SINGLE = 1024
"""Packets up to which each length has a bin."""
LONGEST = "queue_max_packets"
"""The measure that bounds the others of the same port."""
QUANTILES = ("queue_median_packets", "queue_p99_packets")
"""Measures that are a length of the histogram, and so may be one of several."""


def last_of(first: pl.Expr) -> pl.Expr:
    """Return the highest length of the bins that begin at these lengths."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    # Bins are 1025 to 2047, 2048 to 4095 and so on.
    wide = pl.when(first == SINGLE + 1).then(2 * SINGLE - 1).otherwise(2 * first - 1)
    return pl.when(first <= SINGLE).then(first).otherwise(wide)


def upper_end(column: str) -> pl.Expr:
    """Return the upper end of one of `QUANTILES`, in frames that have `LONGEST`."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    return pl.min_horizontal(last_of(pl.col(column)), LONGEST)


def ends_in(row: Mapping[str, Any], column: str) -> tuple[float, float]:
    """Return both ends of one of `QUANTILES` in a row that has it."""
    first = row[column]
    if first <= SINGLE:
        return first, first
    last = 2 * SINGLE - 1 if first == SINGLE + 1 else 2 * first - 1
    return first, min(last, row.get(LONGEST) or last)


def with_last(queues: pl.DataFrame, links: pl.DataFrame | None) -> pl.DataFrame:
    """Add `last` to a table of queues: the highest length that each bin can have had."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    last = last_of(pl.col("packets").cast(pl.Int64))
    if links is None:
        return queues.with_columns(last=last)
    longest = links.select("port", pl.col("max_queue_packets").cast(pl.Int64))
    joined = queues.join(longest, on="port", how="left", maintain_order="left")
    return joined.with_columns(last=pl.min_horizontal(last, "max_queue_packets")).drop(
        "max_queue_packets"
    )
