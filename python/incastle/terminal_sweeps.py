"""What the command line shows of sweeps and searches, as `terminal` does of runs."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from incastle.analysis.completions import HOW_TO_LET_THEM_END, ends_of
from incastle.analysis.measures import ends_in, shortened, unit_of
from incastle.analysis.seeds import over_seeds
from incastle.terminal import aligned, bars, errors, note, output
from incastle.units import scale_of, si

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import polars as pl
    from rich.table import Table

    from incastle.sweeps.bisect import SearchResult
    from incastle.sweeps.forecast import Forecast
    from incastle.sweeps.optimize import Optimum
    from incastle.sweeps.progress import SweepProgress
    from incastle.sweeps.sweep import Sweep

MOST_ROWS = 40
"""Rows of the table of combinations."""

MOST_FAILURES = 10

UNFINISHED = ("unfinished", "rounds_unfinished")
"""Columns of the summary that are one in the table."""

DIGITS = 4
"""Of a mean that has an interval."""

BEST = 10
"""Combinations of an optimisation that are shown."""

SLOW_CHECKS = 500
"""Combinations whose check takes long enough for a bar."""

SHOWN = {
    "goodput_bit_s": "goodput",
    "completion_median_s": "FCT\nmedian",
    "completion_p99_s": "FCT\n99th",
    "slowdown_median": "slowdown\nmedian",
    "slowdown_p99": "slowdown\n99th",
    "round_median_s": "round\nmedian",
    "round_p99_s": "round\n99th",
    "unfinished": "unfinished",
    "queue_mean_packets": "packets\nwaiting",
    "timeouts": "timeouts",
    "drops": "drops",
}
"""Columns of the table: those that have a value in any run, of unfinished transfers one above 0."""


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


LONG = ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))


def long_time(seconds: float) -> str:
    """Write a time that somebody waits."""
    size, unit = next((one for one in LONG if seconds >= 2 * one[0]), LONG[-1])
    return f"{seconds / size:,.3g} {unit}"


def cost(expected: Forecast | None, cores: int | None) -> str:
    """Say what a sweep will cost, and from what that is known; without cores of a cluster."""
    if expected is None:
        return "what they take is not known, as the first, middle and last one give no result"
    if cores is None:
        time_ = f"about {long_time(expected.seconds)} of processor time"
    else:
        here = f"{cores} core{'s' if cores > 1 else ''}"
        time_ = f"about {long_time(expected.seconds / cores)} on {here}"
    samples = expected.samples
    least, most = (si(end(one.seconds for one in samples), "s") for end in (min, max))
    each = least if least == most else f"{least} to {most}"
    known = f"from {len(samples)} of them, {each} each" if len(samples) > 1 else f"from one, {each}"
    if not all(one.whole for one in samples):
        known += ", those that took long not to their end"
    return f"{time_} and at most {si(expected.bytes, 'B')} of disk ({known})"


def sweep(outcome: Sweep) -> None:
    """Show one row per combination: what comes of the seeds, and where the dataset is."""
    frame = outcome.frame
    if not frame.is_empty():
        _combinations(frame, outcome)
    held = f"{len(frame):,} run{'s' if len(frame) != 1 else ''} in {outcome.directory}"
    found = f", {outcome.found:,} of them from before" if outcome.found else ""
    note(held + found)
    repaired(outcome)


def repaired(outcome: Sweep) -> None:
    """Name the files of an earlier call that were lost or changed."""
    if outcome.damaged:
        several = len(outcome.damaged) > 1
        names = ", ".join(str(path) for path in outcome.damaged[:MOST_FAILURES])
        note(
            f"{names}: lost or changed since {'they were' if several else 'it was'} written, and "
            "made again"
        )


def _titled(title: str, table: Table) -> None:
    """Print a title that may be wider than its table."""
    console = output()
    console.print(f"\n[bold]{escape(title)}[/]", soft_wrap=True)
    console.print(table)


def _combinations(frame: pl.DataFrame, outcome: Sweep) -> None:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frame = frame.with_columns(unfinished=pl.sum_horizontal(UNFINISHED))
    measures = [one for one in SHOWN if one in frame.columns and _has_values(frame, one)]
    values = outcome.header.values
    fixed = [key for key in values if len(values[key]) == 1]
    keys = [key for key in values if key not in fixed]
    cells = frame.select(keys).unique(maintain_order=True) if keys else frame.select().head(1)
    by_measure = {one: _by_cell(over_seeds(frame, keys, one), keys) for one in measures}
    held = (f"{key} = {_plain(values[key][0])}" for key in fixed)
    title = ", ".join([outcome.header.name, *held])
    if frame["seed"].n_unique() > 1:
        title += ": mean of the seeds ± its 95 % interval; min\u2013max"
    rows = [tuple(row) for row in cells.iter_rows()] or [()]
    if len(rows) > MOST_ROWS:
        title += f"; {MOST_ROWS:,} of {len(rows):,} combinations"
    runs = dict(_runs(frame, keys))
    scales = {one: _scale(one, by_measure[one].values()) for one in measures}
    names = ("\n".join(filter(None, (SHOWN[one], scales[one][1]))) for one in measures)
    table = aligned(None, *headings(keys), "runs", *names)
    for row in rows[:MOST_ROWS]:
        words = [escape(_plain(value)) for value in row]
        numbers = (_of_seeds(by_measure[one].get(row), scales[one][0]) for one in measures)
        table.add_row(*words, str(runs[row]), *numbers)
    _titled(title, table)
    _unfinished(outcome.frame, "its lower end is shown (\u2265)")


def _unfinished(frame: pl.DataFrame, consequence: str) -> None:
    """Say how many transfers were unfinished, and what that means for values they could change."""
    count = int(sum(frame[one].sum() for one in UNFINISHED))
    if count:
        note(
            f"{count:,} transfers and rounds were unfinished at the ends of their runs: where "
            f"they could change a value {consequence}; {HOW_TO_LET_THEM_END}"
        )


def _has_values(frame: pl.DataFrame, column: str) -> bool:
    if column == "unfinished":
        return bool(frame[column].sum())
    ends = [one for one in (column, *ends_of(column)) if one in frame.columns]
    return any(frame[one].count() for one in ends)


def _runs(frame: pl.DataFrame, keys: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Give the number of runs of each combination."""
    if not keys:
        yield (), len(frame)
        return
    for *cell, count in frame.group_by(keys).len().iter_rows():
        yield tuple(cell), count


def _by_cell(
    frame: pl.DataFrame, keys: Sequence[str]
) -> dict[tuple[Any, ...], dict[str, float | None]]:
    """Give the statistics over the seeds by combination."""
    rows = frame.iter_rows(named=True)
    return {tuple(row[key] for key in keys): row for row in rows}


def _scale(column: str, rows: Iterable[Mapping[str, Any]]) -> tuple[float, str]:
    """Give the unit in which the middle one of a column's means is written best."""
    means = [row["low"] for row in rows]
    factor, unit = scale_of([median(means)] if means else [], unit_of(column))
    return factor, "" if unit == "packets" else unit  # the heading says so


def _of_seeds(row: Mapping[str, Any] | None, factor: float) -> str:
    """Write a measure over the seeds: mean and half of its interval, below them min to max."""
    if row is None:
        return "-"
    low, high, end = row["low"], row["high"], row["mean_to"]
    mean = _ends(low / factor, high / factor)
    if end is None or row["min"] == row["max"]:
        return mean
    if low == high:
        mean = _with_half(low / factor, (end - low) / factor)
    return f"{mean}\n[dim]{_ends(row['min'] / factor, row['max'] / factor)}[/]"


def _with_half(mean: float, half: float) -> str:
    """Write `9.41\u00b10.02`: two digits of the half are enough, and `DIGITS` of the mean."""
    digits = DIGITS - 1 - math.floor(math.log10(abs(mean))) if mean else 0
    if half:
        digits = min(digits, 1 - math.floor(math.log10(half)))
    digits = max(0, digits)
    return f"{mean:,.{digits}f}\u00b1{half:,.{digits}f}"


def _ends(low: float, high: float) -> str:
    """Write one number, a range, or a lower end."""
    if math.isinf(high):
        return f"\u2265 {_number(low)}"
    least, most = _number(low), _number(high)
    return least if least == most else f"{least}\u2013{most}"


def _number(value: float) -> str:
    """Write three digits, and all of those before the point."""
    if float(value).is_integer():
        return f"{value:,.10g}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"  # noqa: PLR2004


def headings(keys: Sequence[str]) -> list[str]:
    """Give keys as narrow headings: the last part alone where that says which key it is."""
    last = [key.rpartition(".")[2] for key in keys]
    return [
        short if last.count(short) == 1 else key.replace(".", ".\n")
        for key, short in zip(keys, last, strict=True)
    ]


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
    return f"{_number(value)} {unit}".rstrip()


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


def answer(found: SearchResult | Optimum) -> None:
    """Show what a search tried, and what it found."""
    from incastle.sweeps.bisect import SearchResult  # noqa: PLC0415  slow to import

    if isinstance(found, SearchResult):
        _bisection(found)
    else:
        _optimum(found)
    note(f"{len(found.sweep.frame):,} runs in {found.sweep.directory}")
    repaired(found.sweep)


def _bisection(found: SearchResult) -> None:
    columns = found.condition.columns
    names = [f"{name}\nmin to max" for name in map(shortened, columns)]
    table = aligned(None, *headings([found.key]), "fulfilled", *names)
    for one in found.tried:
        here = found.answer is not None and one.choice == found.answer
        ranges = (_spread(column, one.rows) for column in columns)
        fulfilled = f"{one.holds} of {len(one.rows)}"
        words = escape(one.choice.words)
        table.add_row(words, fulfilled, *ranges, style="bold" if here else "")
    _titled(f"{found.condition.text}, by {found.key}", table)
    _undecided(found)
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


def _undecided(found: SearchResult) -> None:
    """Name the values at which unfinished transfers keep the condition from holding."""
    if found.undecided:
        those = ", ".join(escape(one.choice.words) for one in found.undecided)
        errors().print(
            f"[yellow]warning:[/] undecided at {those}, and counted as not fulfilled: transfers "
            f"were unfinished; {escape(HOW_TO_LET_THEM_END)}"
        )


def _assumption(found: SearchResult) -> None:
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


def _spread(column: str, rows: Sequence[Mapping[str, Any]]) -> str:
    known = [ends for row in rows if (ends := ends_in(row, column)) is not None]
    if not known:
        return "-"
    least, greatest = min(low for low, _ in known), max(high for _, high in known)
    if math.isinf(greatest):
        return f"\u2265 {quantity(column, least)}"
    low, high = quantity(column, least), quantity(column, greatest)
    return low if low == high else f"{low} to {high}"


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
    table = aligned(None, *headings(keys), f"{name}\nmedian", "min to max", *more)
    for one in ranked[:BEST]:
        words = (escape(choice.words) for _, choice in one.cell.choices)
        fulfils = [] if found.condition is None else ["yes" if one.shortfall == 0 else "no"]
        middle = quantity(found.column, one.objective)
        table.add_row(*words, middle, _spread(found.column, one.rows), *fulfils)
    _titled(title, table)
    if found.best is not None:
        best = ", ".join(f"{key} = {choice.words}" for key, choice in found.best.cell.choices)
        figure = quantity(found.column, found.best.objective)
        line = f"\n{word} {name} of those tried: [bold]{escape(best)}[/], {figure}"
        output().print(line, soft_wrap=True)
    end = "lower" if found.maximise else "upper"
    _unfinished(found.sweep.frame, f"its {end} end counts, and none that is infinite")
