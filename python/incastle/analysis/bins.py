"""Bytes per bin of time: tables have the bins in which something arrived, figures and means all.

A table of bins grows with what happens, not with time: silence has no rows. Here the others are put
back, with zero bytes, from time zero to the last bin of each host or flow.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from incastle.errors import ResultError
from incastle.units import PS_PER_S, TIMES

if TYPE_CHECKING:
    import polars as pl

OWNERS = {"goodput": "host", "throughput": "flow"}
"""The tables of bins, with the column of their owner."""

HOST_BIN_S = 1e-3
"""The width of the bins of `goodput`."""

MAX_ROWS = 50_000_000
"""Maximum rows of a filled table: some gigabytes."""


def filled(name: str, table: pl.DataFrame, scenario: str) -> pl.DataFrame:
    """Return a table of bins with the bins in which nothing arrived.

    Args:
        name: which table: `goodput` or `throughput`.
        table: its rows; where none is missing, it comes back as it is.
        scenario: the complete scenario as TOML, which has the width of the bins.

    Raises:
        ResultError: there are too many.

    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are made

    owner, width = OWNERS[name], width_s(name, scenario)
    numbers = table.with_columns((pl.col("time_s") / width).round().cast(pl.UInt64).alias("bin"))
    counts = numbers.group_by(owner, maintain_order=True).agg(pl.col("bin").max() + 1)
    total = int(counts["bin"].sum())
    if total == len(table):
        return table
    if total > MAX_ROWS:
        raise ResultError(
            f"{name} has {total:,} bins, nearly all of them empty: table({name!r}) has the "
            f"{len(table):,} in which something arrived"
        )
    ranges = pl.int_ranges(0, pl.col("bin"), dtype=pl.UInt64).alias("bin")
    every = counts.with_columns(ranges).explode("bin")
    whole = every.join(numbers, on=[owner, "bin"], how="left", maintain_order="left")
    times = (pl.col("bin").cast(pl.Float64) * width).alias("time_s")
    bytes_ = [column for column in table.columns if column not in ("time_s", owner)]
    return whole.with_columns(times, pl.col(bytes_).fill_null(0)).select(table.columns)


def width_s(name: str, scenario: str) -> float:
    """Return the width of a table's bins, to the last bit as the engine has it."""
    from decimal import Decimal  # noqa: PLC0415  slow to import

    if name == "goodput":
        return HOST_BIN_S
    every: str = tomllib.loads(scenario)["measure"][name]["every"]
    number, unit = every.split()
    return int(Decimal(number) * TIMES[unit]) / PS_PER_S
