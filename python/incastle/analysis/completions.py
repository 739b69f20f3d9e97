"""Flow completion times and slowdowns of transfers, with those that were unfinished.

Transfers count by their start: those that began in the measured interval, from the end of the
warm-up on. One that was unfinished when the run ended has an FCT of at least the time that it had
lasted; no more can be derived. A mean or percentile is therefore an interval: its lower end
has each unfinished transfer at the FCT, or slowdown, that it had reached, its upper end has it at
infinity. It is one number only where both ends agree.

The size classes are those of the evaluation of DCTCP (Alizadeh et al., SIGCOMM 2010, figure 22),
unless the caller passes others. Quantiles interpolate linearly between the two sorted values
around the share (definition 7 of Hyndman and Fan, "Sample quantiles in statistical packages", The
American Statistician 50(4), 1996).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from incastle.units import between, si

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

SIZE_CLASSES = (10_000, 100_000, 1_000_000, 10_000_000)
"""Bytes at which one class ends and the next begins: below 10 KB, 10 to 100 KB, and so on."""

QUANTILES = {"median": 0.5, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}

ENDINGS = ("_bit_s", "_bytes", "_packets", "_s")
"""The units that a column's name may end in."""

HOW_TO_COMPLETE = (
    "To complete them, {}, or a longer run.duration; "
    'finite work also ends with [run] stop = "when-done"'
)


def ends_of(column: str) -> tuple[str, str]:
    """Name the columns of a statistic's lower and upper end: `p99_low_s`, `p99_high_s`."""
    unit = next((ending for ending in ENDINGS if column.endswith(ending)), "")
    stem = column.removesuffix(unit)
    return f"{stem}_low{unit}", f"{stem}_high{unit}"


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Interpolate linearly between the two values around the share; None if there are none."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    if place == low or math.isinf(ordered[low]):
        return ordered[low]
    return ordered[low] + (ordered[low + 1] - ordered[low]) * (place - low)


def quantile_of(value: pl.Expr, share: float) -> pl.Expr:
    """Return the quantile of a column."""
    # Between infinity and infinity polars has no number.
    return value.quantile(share, interpolation="linear").fill_nan(math.inf)


def observed(transfers: pl.DataFrame, totals: Mapping[str, float]) -> pl.DataFrame:
    """Return the transfers that began in the measured interval, with the ends of what they come to.

    `fct_low_s` and `fct_high_s` are added and, where slowdowns were measured, `slowdown_low` and
    `slowdown_high`, null where a transfer has no ideal FCT by its kind (a round).
    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    begun = (pl.col("started_s") >= totals["measured_from_s"]) & (
        pl.col("started_s") < totals["measured_to_s"]
    )
    lasted = totals["simulated_s"] - pl.col("started_s")
    frame = transfers.filter(begun).with_columns(
        fct_low_s=pl.col("fct_s").fill_null(lasted),
        fct_high_s=pl.col("fct_s").fill_null(math.inf),
    )
    if "slowdown" not in frame.columns:
        return frame
    # Without an ideal FCT that it should have, a transfer's slowdown can be anything.
    reached = (pl.col("fct_low_s") / pl.col("ideal_fct_s")).fill_null(0.0)
    single = pl.col("kind") != "round"
    return frame.with_columns(
        slowdown_low=pl.when(single).then(pl.col("slowdown").fill_null(reached)),
        slowdown_high=pl.when(single).then(pl.col("slowdown").fill_null(math.inf)),
    )


def statistics_of(value: str, names: Sequence[str], prefix: str, unit: str = "") -> list[pl.Expr]:
    """Return columns of the mean and of quantiles of `value`, each with its ends.

    Args:
        value: a column of `observed` that has ends.
        names: `mean`, or names of `QUANTILES`.
        prefix: what the names of the new columns begin with.
        unit: what they end in.

    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    columns = []
    for name in names:
        low, high = (
            pl.col(end).mean() if name == "mean" else quantile_of(pl.col(end), QUANTILES[name])
            for end in ends_of(value)
        )
        column = f"{prefix}{name}{unit}"
        of_low, of_high = ends_of(column)
        agreed = pl.when(low == high).then(low).alias(column)
        columns += [agreed, low.alias(of_low), high.alias(of_high)]
    return columns


def counts() -> list[pl.Expr]:
    """Return the columns begun, completed and unfinished."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    done = pl.col("fct_s").is_not_null()
    return [
        pl.len().alias("begun"),
        done.sum().alias("completed"),
        done.not_().sum().alias("unfinished"),
    ]


def class_name(start: int) -> str:
    """Name the class of `SIZE_CLASSES` that begins at n bytes, such as "10 to 100 KB"."""
    if start == SIZE_CLASSES[-1]:
        return f"from {si(start, 'B')}"
    end = next(size for size in SIZE_CLASSES if size > start)
    return f"below {si(end, 'B')}" if start == 0 else between(start, end, "B")


def by_size(transfers: pl.DataFrame, sizes: Sequence[int] = SIZE_CLASSES) -> pl.DataFrame:
    """Return one row per group, kind and size class of `observed`, smallest sizes first.

    Raises:
        ValueError: the sizes do not ascend from above 0.

    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    if any(low >= high for low, high in pairwise((0, *sizes))):
        raise ValueError(f"size classes ascend from above 0, not {list(sizes)}")
    start = pl.lit(0, pl.UInt64)
    for size in sizes:
        start = pl.when(pl.col("bytes") >= size).then(pl.lit(size, pl.UInt64)).otherwise(start)
    groups = transfers.with_columns(min_bytes=start).group_by(
        "group", "kind", "min_bytes", maintain_order=True
    )
    names = ("mean", *QUANTILES)
    columns = statistics_of("fct_s", names, "", "_s")
    if "slowdown" in transfers.columns:
        columns += statistics_of("slowdown", names, "slowdown_")
    frame = groups.agg(*counts(), *columns)
    order = {group: place for place, group in enumerate(frame["group"].unique(maintain_order=True))}
    place = pl.col("group").replace_strict(order, return_dtype=pl.Int64)
    return frame.sort(place, "kind", "min_bytes")


def shown(low: float | None, high: float | None, unit: str) -> str:
    """Write an interval: one quantity where both ends read alike, else `>= 3 ms` or `3 to 4 ms`."""
    if low is None or high is None:
        return "-"
    if math.isinf(high):
        return f"\u2265 {si(low, unit).rstrip()}"
    ends = {si(low, unit), si(high, unit)}
    return (ends.pop() if len(ends) == 1 else between(low, high, unit)).rstrip()


def how_to_complete(measured_to_s: float, simulated_s: float) -> str:
    """Return the remedy for unfinished transfers, unless a warning says that they cannot complete.

    Where the measured interval ends before the run already, it is not to be set, but to be shorter.
    """
    is_set = measured_to_s < simulated_s
    return HOW_TO_COMPLETE.format(
        "set an earlier [measure] until"
        if is_set
        else "set [measure] until before the end of the run"
    )


def unfinished_note(begun: pl.DataFrame, remedy: str) -> str | None:
    """Describe how many of `observed` are unfinished, the consequence and the remedy."""
    unfinished = begun["fct_s"].null_count()
    if not unfinished:
        return None
    were = "was" if unfinished == 1 else "were"
    return (
        f"{unfinished:,} of {len(begun):,} transfers that began in the measured interval {were} "
        "unfinished at the end of the run: means and percentiles that depend on them are ranges or "
        f"lower bounds (\u2265). {remedy}"
    )
