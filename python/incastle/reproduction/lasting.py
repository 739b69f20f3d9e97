"""How long transfers and rounds of a paper's runs lasted, those among them that never completed.

As everywhere in Incastle (`incastle.analysis.completions`): what began in the measured interval
counts. One that was unfinished when the run ended lasted at least until then; the lower end of a
mean or percentile has it at that, the upper end at infinity. Papers take their completion
times from here.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from incastle.analysis.ends import Ends
from incastle.analysis.measured import interval_of
from incastle.reproduction.figures import HIGH, UNFINISHED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from incastle.analysis.ends import Value
    from incastle.analysis.measured import Interval
    from incastle.reproduction.papers import Observation


def interval(run: Observation) -> Interval:
    """Give a run's measured interval, and its end."""
    return interval_of(run.resolved)


def begun(run: Observation, rows: pl.DataFrame) -> pl.DataFrame:
    """Give the rows that began in the measured interval, with the ends of what they lasted.

    These are `s_low` and `s_high` in seconds, `ms_low` and `ms_high` in milliseconds.

    Args:
        run: where the rows are from.
        rows: of `rounds`, `transfers` or `flows`: with started_s and completed_s.

    """
    begin, stop, end = interval(run)
    started, completed = pl.col("started_s"), pl.col("completed_s")
    low, high = (completed.fill_null(open_end) - started for open_end in (end, math.inf))
    counted = rows.filter((started >= begin) & (started < stop))
    return counted.with_columns(s_low=low, s_high=high, ms_low=low * 1e3, ms_high=high * 1e3)


def count_unfinished(rows: pl.DataFrame) -> int:
    """Count those of `begun` that were unfinished at the end of the run."""
    return rows["completed_s"].null_count()


def statistic(rows: pl.DataFrame, of: Callable[[pl.Series], object], column: str = "ms") -> Value:
    """Apply a statistic to both ends of a column of `begun`; without rows it is not a number."""
    low, count = _number(of(rows[f"{column}_low"])), count_unfinished(rows)
    return Ends(low, _number(of(rows[f"{column}_high"])), count) if count else low


def mean(rows: pl.DataFrame, column: str = "ms") -> Value:
    """Give the mean."""
    return statistic(rows, pl.Series.mean, column)


def quantile(rows: pl.DataFrame, share: float, column: str = "ms") -> Value:
    """Give a quantile, between the two values around the share."""
    return statistic(rows, partial(_quantile, share=share), column)


def _quantile(values: pl.Series, share: float) -> float | None:
    found = values.quantile(share, "linear")
    # Between infinity and infinity polars has no number.
    return math.inf if found is not None and math.isnan(found) else found


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


# ---- tables of figures


def table(
    rows: Sequence[Sequence[Any]],
    schema: Any,  # noqa: ANN401  what polars takes
    **options: Any,  # noqa: ANN401
) -> pl.DataFrame:
    """Make a figure's table of rows whose cells may have ends.

    A column holds the lower ends. Where any upper end of it differs, a column NAME_high follows at
    the end; where anything was unfinished, NAME_unfinished, how many. `options` are those of
    `polars.DataFrame`.
    """
    low = [[one.low if isinstance(one, Ends) else one for one in row] for row in rows]
    frame = pl.DataFrame(low, schema=schema, orient="row", **options)
    found = {}
    for place, name in enumerate(frame.columns):
        cells = [row[place] for row in rows]
        if not any(isinstance(cell, Ends) for cell in cells):
            continue
        if any(isinstance(cell, Ends) and cell.low != cell.high for cell in cells):
            high = [cell.high if isinstance(cell, Ends) else cell for cell in cells]
            found[f"{name}{HIGH}"] = pl.Series(high, dtype=pl.Float64)
        counts = [cell.unfinished if isinstance(cell, Ends) else 0 for cell in cells]
        found[f"{name}{UNFINISHED}"] = pl.Series(counts, dtype=pl.Int64)
    return frame.with_columns(**found)


def read(row: dict[str, Any], column: str) -> Value:
    """Take a value out of a row of `table`: with its ends, if it has them."""
    low, count = row[column], row.get(f"{column}{UNFINISHED}", 0)
    high = row.get(f"{column}{HIGH}", low)
    return Ends(low, high, count) if count or high != low else low
