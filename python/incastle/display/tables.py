"""Tables that several commands print: flow completion times, slowdowns, what was unfinished.

They count the transfers that began in the measured interval, of one run or of several together.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from incastle.analysis import completions, failed_pairs
from incastle.analysis.completions import class_name, ends_of
from incastle.analysis.seeds import over_seeds
from incastle.terminal import aligned
from incastle.units import DIGITS, between, si

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from rich.table import Table

    from incastle.results import Result

PER_RUN = (
    ("fct_mean_s", "mean FCT", "s"),
    ("fct_p99_s", "99th percentile of FCT", "s"),
    ("slowdown_p99", "99th percentile of slowdown", ""),
)
"""Statistics of single runs: column, name, unit."""

FEW, VERY_FEW = 100, 1000
"""Fewer transfers than these have none beyond their 99th and their 99.9th percentile."""
CLOSE_DIGITS = 9
"""Of the ends of a measured interval that are the same in fewer."""


def transfers(*outcomes: Result) -> Table | None:
    """Show the FCTs of one run, or of several together."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frame = _observed(outcomes)
    if frame is None:
        return None
    in_time = pl.col("completed_s") <= pl.col("deadline_s")
    # Deadlines of unfinished transfers after the end are neither met nor missed.
    decided = pl.col("completed_s").is_not_null() | (pl.col("deadline_s") <= pl.col("end_s"))
    names = ("mean", "median", "p99")
    groups = frame.group_by("group", "kind", maintain_order=True).agg(
        *completions.counts(),
        *completions.statistics_of("fct_s", names, "", "_s"),
        (pl.col("deadline_s").is_not_null() & decided).sum().alias("wanted"),
        in_time.sum().alias("in_time"),
    )
    has_deadlines = groups["wanted"].sum() > 0
    columns = ("group", "kind", "begun", "unfinished", "mean", "median", "99th")
    deadlines = ["in time"] if has_deadlines else []
    title = f"Flow completion times, {_begun(outcomes)}{_together(outcomes)}"
    table = aligned(title, *columns, *deadlines)
    for row in groups.iter_rows(named=True):
        cells = [escape(row["group"]), escape(row["kind"]), *_counts(row)]
        cells += (_bounded(row, f"{name}_s", "s") for name in names)
        if has_deadlines:
            cells.append(f"{row['in_time']:,} of {row['wanted']:,}" if row["wanted"] else "")
        table.add_row(*cells)
    return table


def slowdowns(*outcomes: Result) -> Table | None:
    """Show those of all transfers with an ideal FCT, with `[measure] slowdown`."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frame = _observed(outcomes)
    if frame is None or "slowdown" not in frame.columns:
        return None
    # A round has no ideal FCT: it is many transfers.
    classes = completions.by_size(frame.filter(pl.col("kind") != "round"))
    if classes.is_empty():
        return None
    columns = ("group", "kind", "size", "begun", "unfinished", "median", "95th", "99th", "99.9th")
    title = f"Slowdowns (FCT / ideal FCT), {_begun(outcomes)}{_together(outcomes)}"
    table = aligned(title, *columns)
    for row in classes.iter_rows(named=True):
        names = ("median", "p95", "p99", "p99_9")
        table.add_row(
            *(escape(row["group"]), escape(row["kind"]), class_name(row["min_bytes"])),
            *_counts(row),
            *(_bounded(row, f"slowdown_{name}", "") for name in names),
        )
    return table


def by_seed(results: Sequence[Result]) -> Table | None:
    """Show how the FCTs and slowdowns of single runs spread over their seeds."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frames = [frame for one in results if (frame := _statistics(one)) is not None]
    if len(frames) < 2:  # noqa: PLR2004
        return None
    frame = pl.concat(frames, how="diagonal")
    columns = ("group", "kind", "of each run", "runs", "mean", "95 % interval", "min to max")
    table = aligned("Flow completion times over the seeds", *columns)
    for column, name, unit in PER_RUN:
        if ends_of(column)[0] not in frame.columns:
            continue
        for row in over_seeds(frame, ("group", "kind"), column).iter_rows(named=True):
            ends = (("low", "high"), ("mean_from", "mean_to"), ("min", "max"))
            table.add_row(
                *(escape(row["group"]), escape(row["kind"]), name, f"{row['runs']}"),
                *(known(row[low], row[high], unit) for low, high in ends),
            )
    return table


def known(low: float | None, high: float | None, unit: str) -> str:
    """Write an interval; one from 0 without an upper end has nothing to say."""
    is_open = not low and high is not None and math.isinf(high)
    return "-" if is_open else completions.shown(low, high, unit)


def _statistics(outcome: Result) -> pl.DataFrame | None:
    """Return those of `PER_RUN`, by group and kind."""
    frame = _observed([outcome])
    if frame is None:
        return None
    statistics = completions.statistics_of("fct_s", ("mean", "p99"), "fct_", "_s")
    if "slowdown" in frame.columns:
        statistics += completions.statistics_of("slowdown", ("p99",), "slowdown_")
    return frame.group_by("group", "kind", maintain_order=True).agg(*statistics)


def _observed(outcomes: Sequence[Result]) -> pl.DataFrame | None:
    """Return the transfers that count, of all runs together, with the end of each one's run."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frames = [
        one.observed.with_columns(pl.lit(one.totals["simulated_s"]).alias("end_s"))
        for one in outcomes
        if "transfers" in one.tables
    ]
    whole = pl.concat(frames) if frames else pl.DataFrame()
    return None if whole.is_empty() else whole


def _begun(outcomes: Sequence[Result]) -> str:
    """Describe the transfers that count."""
    if all(is_whole(one) for one in outcomes):
        return "all transfers"
    return f"transfers that began from {measured(*outcomes)}"


def is_whole(outcome: Result) -> bool:
    """Return whether the measured interval is the whole run."""
    totals = outcome.totals
    return not totals["measured_from_s"] and totals["measured_to_s"] == totals["simulated_s"]


def _counts(row: dict[str, Any]) -> list[str]:
    return [f"{row['begun']:,}", f"{row['unfinished']:,}" if row["unfinished"] else "-"]


def _bounded(row: dict[str, Any], column: str, unit: str) -> str:
    low, high = (row[end] for end in ends_of(column))
    return completions.shown(low, high, unit)


def unfinished_note(outcomes: Sequence[Result]) -> str | None:
    """Describe how many transfers are unfinished, or that none counts, with the remedy."""
    frame = _observed(outcomes)
    if frame is None:
        return _none_began(outcomes)
    ends = (min(one.totals[end] for one in outcomes) for end in ("measured_to_s", "simulated_s"))
    longer = completions.how_to_complete(*ends)
    return completions.unfinished_note(frame, failed_pairs.remedy(outcomes, longer))


def few_note(outcomes: Sequence[Result]) -> str | None:
    """Describe that percentiles of few transfers are near their maximum, where there are such."""
    frame = _observed(outcomes)
    if frame is None:
        return None
    groups = frame.group_by("group", "kind").len()["len"]
    few = [count < FEW for count in groups]
    if "slowdown" in frame.columns:
        sizes = completions.by_size(frame.filter(frame["kind"] != "round"))
        few += [count < VERY_FEW for count in sizes["begun"]]
    if not any(few):
        return None
    return (
        f"the 99th percentile of fewer than {FEW} transfers, and the 99.9th of fewer than "
        f"{VERY_FEW:,}, are about their maximum: longer runs and more seeds have more"
    )


def _none_began(outcomes: Sequence[Result]) -> str | None:
    """Describe why there are no FCTs, where there are transfers."""
    count = sum(len(one.tables.get("transfers", ())) for one in outcomes)
    if not count:
        return None
    return (
        f"no flow completion times: none of {count:,} transfers began in the measured interval, "
        f"{measured(*outcomes)} ([measure] warmup to until)"
    )


def _together(outcomes: Sequence[Result]) -> str:
    return f", {len(outcomes)} runs together" if len(outcomes) > 1 else ""


def measured(*outcomes: Result) -> str:
    """Name the time that means and shares cover; of several runs the latest end."""
    totals = max((one.totals for one in outcomes), key=lambda one: one["measured_to_s"])
    begin, end = totals["measured_from_s"], totals["measured_to_s"]
    alike = si(begin, "s") == si(end, "s")
    return between(begin, end, "s", CLOSE_DIGITS if alike else DIGITS)
