"""What the command line shows of sweeps and searches, as `terminal` does of runs."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.markup import escape

from incastle.sweeps.measures import shortened, unit_of
from incastle.terminal import aligned, bars, errors, note, output
from incastle.units import si

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl
    from rich.table import Table

    from incastle.sweeps.bisect import Found
    from incastle.sweeps.optimise import Optimum
    from incastle.sweeps.progress import SweepProgress
    from incastle.sweeps.sweep import Sweep

MOST_ROWS = 40
"""Rows of the table of combinations."""

MOST_FAILURES = 10

BEST = 10
"""Combinations of an optimisation that are shown."""

SLOW_CHECKS = 500
"""Combinations whose check takes long enough for a bar."""

SHOWN = {
    "goodput_bit_s": "goodput",
    "completion_median_s": "completion\nmedian",
    "completion_p99_s": "completion\n99th",
    "round_median_s": "round\nmedian",
    "round_p99_s": "round\n99th",
    "queue_mean_packets": "packets\nwaiting",
    "timeouts": "timeouts",
    "drops": "drops",
}
"""Columns of the table: those that have a value in any run."""


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """Give a callable that draws a bar of things done, or None where nobody would see it."""
    with bars() as shown:
        if shown is None or total < SLOW_CHECKS:
            yield None
            return
        task = shown.add_task(what, total=total, runs="")
        yield lambda done: shown.update(task, completed=done)


@contextmanager
def sweep_bar(name: str) -> Iterator[Callable[[SweepProgress], None]]:
    """Give a callable that draws a bar with failures, the rate and the time left."""
    with bars() as shown:
        if shown is None:
            yield _only_what_a_log_needs()
            return
        task = shown.add_task(escape(name), total=1.0, runs="")
        started = time.monotonic()

        def show(state: SweepProgress) -> None:
            seconds = time.monotonic() - started
            done = state.finished - state.found + state.under_way
            rate = done / seconds if seconds > 0 else 0.0
            shown.update(task, completed=state.fraction, runs=_state(state, rate))

        yield show


def _only_what_a_log_needs() -> Callable[[SweepProgress], None]:
    """Say, where there is no terminal for a bar, why nothing happens on a cluster."""
    said = False

    def show(state: SweepProgress) -> None:
        nonlocal said
        if state.workers == 0 and not said:
            note("no worker is connected to the scheduler yet: waiting for one")
            said = True

    return show


def _state(state: SweepProgress, rate: float) -> str:
    parts = [f"{state.finished:,} of {state.total:,} runs"]
    if state.found:
        parts.append(f"{state.found:,} found")
    if state.failed:
        parts.append(f"[red]{state.failed:,} failed[/]")
    if rate > 0:
        parts.append(f"{rate:.3g} runs/s" if rate >= 1 else f"{60 * rate:.3g} runs/min")
    if state.workers is not None:
        parts.append(f"{state.workers:,} threads" if state.workers else "no worker yet")
    return ", ".join(parts)


def sweep(outcome: Sweep) -> None:
    """Show one row per combination: medians over the seeds, and where the dataset is."""
    frame = outcome.frame
    if not frame.is_empty():
        _combinations(frame, outcome)
    held = f"{len(frame):,} run{'s' if len(frame) != 1 else ''} in {outcome.directory}"
    found = f", {outcome.found:,} of them from before" if outcome.found else ""
    note(held + found)


def _titled(title: str, table: Table) -> None:
    """Print a title that may be wider than its table."""
    console = output()
    console.print(f"\n[bold]{escape(title)}[/]", soft_wrap=True)
    console.print(table)


def _combinations(frame: pl.DataFrame, outcome: Sweep) -> None:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    measures = [one for one in SHOWN if one in frame.columns and frame[one].drop_nulls().len()]
    medians = [pl.col(one).median() for one in measures]
    counted = [pl.len().alias("runs"), *medians]
    values = outcome.header.values
    fixed = [key for key in values if len(values[key]) == 1]
    keys = [key for key in values if key not in fixed]
    rows = (
        frame.group_by(*keys, maintain_order=True).agg(*counted) if keys else frame.select(*counted)
    )
    shown = rows.head(MOST_ROWS)
    held = (f"{key} = {_plain(values[key][0])}" for key in fixed)
    title = ", ".join([outcome.header.name, *held]) + ": medians over the seeds"
    if len(shown) < len(rows):
        title += f", {len(shown):,} of {len(rows):,} combinations"
    table = aligned(None, *headings(keys), "runs", *(SHOWN[one] for one in measures))
    for row in shown.iter_rows(named=True):
        cells = [escape(_plain(row[key])) for key in keys]
        numbers = (_in_table(one, row[one]) for one in measures)
        table.add_row(*cells, str(row["runs"]), *numbers)
    _titled(title, table)


def headings(keys: Sequence[str]) -> list[str]:
    """Give keys as narrow headings: the last part alone where that says which key it is."""
    last = [key.rpartition(".")[2] for key in keys]
    return [
        short if last.count(short) == 1 else key.replace(".", ".\n")
        for key, short in zip(keys, last, strict=True)
    ]


def _in_table(column: str, value: float | None) -> str:
    return quantity(column, value).removesuffix(" packets")


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def quantity(column: str, value: float | None) -> str:
    """Write the value of a column with its unit."""
    if value is None:
        return "-"
    unit = unit_of(column)
    if unit in {"bit/s", "s", "B"}:
        return si(value, unit)
    if float(value).is_integer():
        text = f"{value:,.10g}"
    else:  # three digits, and all of those before the point
        text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"  # noqa: PLR2004
    return f"{text} {unit}".rstrip()


def failures(outcome: Sweep) -> None:
    """Name the runs that gave no result."""
    failed = outcome.failures
    if not failed:
        return
    console = errors()
    many = f"{len(failed):,} runs" if len(failed) > 1 else "1 run"
    console.print(f"[bold red]error:[/] {many} failed:")
    for run, failure in failed[:MOST_FAILURES]:
        console.print(f"    {escape(run.words)}: {escape(failure.message)}")
    if len(failed) > MOST_FAILURES:
        console.print(f"    and {len(failed) - MOST_FAILURES:,} more: failures.json has all")
    if any(failure.internal for _, failure in failed):
        note("This is a defect of Incastle, not of your input. Please report it.")


def answer(found: Found | Optimum) -> None:
    """Show what a search tried, and what it found."""
    from incastle.sweeps.bisect import Found  # noqa: PLC0415  slow to import

    if isinstance(found, Found):
        _bisection(found)
    else:
        _optimum(found)
    note(f"{len(found.sweep.frame):,} runs in {found.sweep.directory}")


def _bisection(found: Found) -> None:
    columns = list(dict.fromkeys(one.column for one in found.condition.comparisons))
    names = [f"{name}\nleast to greatest" for name in map(shortened, columns)]
    table = aligned(None, *headings([found.key]), "fulfilled", *names)
    for one in found.tried:
        here = found.answer is not None and one.choice == found.answer
        ranges = (_spread(column, [row[column] for row in one.rows]) for column in columns)
        fulfilled = f"{one.holds} of {len(one.rows)}"
        words = escape(one.choice.words)
        table.add_row(words, fulfilled, *ranges, style="bold" if here else "")
    _titled(f"{found.condition.text}, by {found.key}", table)
    console = output()
    if found.answer is None:
        return
    word = "largest" if found.largest else "smallest"
    seeds = len(found.tried[0].rows)
    console.print(
        f"\n{word} {escape(found.key)} with {escape(found.condition.text)} in all of {seeds} "
        f"seed{'s' if seeds > 1 else ''}: [bold]{escape(found.answer.words)}[/]",
        soft_wrap=True,
    )
    if found.beyond is None:
        console.print("It is the last of the values: the condition may hold beyond it, too.")
    _assumption(found)


def _assumption(found: Found) -> None:
    """Say what the answer rests on, and whether the values that were run agree."""
    assumed = "Assumed: along the values the condition changes once"
    if not found.contradictions:
        output().print(f"{assumed}. All {len(found.tried)} values that were run agree.")
        return
    those = ", ".join(
        f"{one.choice.words} ({'holds' if one.fulfils else 'fails'})"
        for one in found.contradictions
    )
    console = errors()
    console.print(f"[yellow]warning:[/] {assumed}, but it does not: {escape(those)}")


def _spread(column: str, values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    least, greatest = quantity(column, min(known)), quantity(column, max(known))
    return least if least == greatest else f"{least} to {greatest}"


def _optimum(found: Optimum) -> None:
    keys = list(found.tried[0].values)
    name = shortened(found.column)
    word = "greatest" if found.maximise else "least"
    ranked = sorted(
        found.tried,
        key=lambda one: (not one.counts, (-1 if found.maximise else 1) * (one.objective or 0.0)),
    )
    more = [] if found.condition is None else [found.condition.text]
    title = f"{word} {name}: the best of {len(found.tried)} combinations"
    table = aligned(None, *headings(keys), f"{name}\nmedian", "least to greatest", *more)
    for one in ranked[:BEST]:
        words = (escape(choice.words) for _, choice in one.cell.choices)
        values = [row[found.column] for row in one.rows]
        fulfils = [] if found.condition is None else ["yes" if one.shortfall == 0 else "no"]
        middle = quantity(found.column, one.objective)
        table.add_row(*words, middle, _spread(found.column, values), *fulfils)
    _titled(title, table)
    if found.best is not None:
        best = ", ".join(f"{key} = {choice.words}" for key, choice in found.best.cell.choices)
        figure = quantity(found.column, found.best.objective)
        line = f"\n{word} {name} of those tried: [bold]{escape(best)}[/], {figure}"
        output().print(line, soft_wrap=True)
