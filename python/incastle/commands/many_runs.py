"""Options, plans, places and parts of tables that `incastle sweep` and `incastle find` share."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from incastle import terminal
from incastle.analysis.completions import how_to_complete
from incastle.analysis.failed_pairs import advice
from incastle.analysis.measures import FAILED_UNFINISHED, unit_of
from incastle.commands.options import MAX_SEED, RESULTS, count_option, option, seed_option, setting
from incastle.errors import ClusterError, IncastleError, InternalError, RunError
from incastle.interrupts import INTERRUPTED
from incastle.storage.results import file_name
from incastle.units import si

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import polars as pl
    from rich.table import Table

    from incastle.sweeps.plan import Plan
    from incastle.sweeps.progress import SweepProgress
    from incastle.sweeps.sweep import Sweep
    from incastle.sweeps.work import Place

MAX_NAME = 100

MAX_FAILURES = 10

MAX_WIDTH = 10_000
"""Columns of a table where there is no terminal."""

UNFINISHED = ("unfinished", "rounds_unfinished")
"""Columns of the summary that are one in the table."""

Seed = Annotated[int | None, seed_option("First seed.")]
Seeds = Annotated[int, count_option("Number of seeds per combination.", metavar="N")]
Jobs = Annotated[
    int | None,
    count_option(
        "Number of concurrent runs on this machine.", "--jobs", "--threads", default="all cores"
    ),
]
Resume = Annotated[bool, option("Run what is missing in the directory.", "--resume")]
Force = Annotated[bool, option("Replace an existing dataset.", "--force")]


def read_plan(
    file: str,
    lists: list[str] | None,
    seeds: int,
    seed: int | None,
    fixed: list[str] | None = None,
    option: str = "--set",
) -> Plan:
    """Read a scenario, what is set in it, and the lists of values."""
    from incastle.sweeps import plan as module  # noqa: PLC0415  slow to import
    from incastle.sweeps.values import axis_from_text  # noqa: PLC0415

    axes = tuple(axis_from_text(*setting(text, option), option) for text in lists or [])
    settings = [setting(text) for text in fixed or []]
    for key, _ in settings:
        if any(key == axis.key for axis in axes):
            raise IncastleError(f"{key} is given by {option} and by --set: leave one out")
    source = module.Source.read(file, settings, option)
    first = source.first_seed(axes) if seed is None else seed
    if first + seeds - 1 > MAX_SEED:
        raise IncastleError(f"--seeds {seeds}: the last seed would be above {MAX_SEED}")
    return module.Plan(source, axes, tuple(range(first, first + seeds)))


def default_place(plan: Plan, word: str) -> Path:
    """Name the directory that a sweep gets without --out."""
    keys = [axis.key for axis in plan.axes if len(axis.choices) > 1]
    name = plan.source.first_scenario(plan.axes).name
    return RESULTS / file_name(f"{name}-{word}-{'-'.join(keys) or 'seed'}")[:MAX_NAME]


def place_of(directory: Path, *, resume: bool, force: bool) -> Place:
    """Return the place of a dataset."""
    from incastle.sweeps.work import Place  # noqa: PLC0415  slow to import

    return Place(directory, resume=resume, force=force)


@contextmanager
def reporting_kept_runs(directory: Path | None) -> Iterator[None]:
    """Report the runs that are kept after Ctrl-C, a lost cluster or a full disk."""
    from incastle.sweeps.sweep import SweepStopped  # noqa: PLC0415  slow to import

    try:
        yield
    except SweepStopped as stop:
        terminal.error(f"{stop}; --resume does the rest")
        raise typer.Exit(INTERRUPTED) from None
    except (RunError, ClusterError, OSError):
        if directory is not None and directory.is_dir():
            terminal.note(f"What is finished stays in {directory}: --resume goes on from there.")
        raise


def leave(outcome: Sweep) -> None:
    """Leave with the status of the worst failure."""
    if outcome.failures:
        internal = any(failure.internal for _, failure in outcome.failures)
        kind = InternalError if internal else IncastleError
        raise typer.Exit(kind.exit_status)


@contextmanager
def sweep_bar(name: str) -> Iterator[Callable[[SweepProgress], None]]:
    """Yield a callable that draws a bar with failures, the rate and the time left."""
    with terminal.bars() as shown:
        if shown is None:
            yield _without_terminal(name)
            return
        task = shown.add_task(escape(name), total=1.0, runs="")
        started = time.monotonic()

        def show(state: SweepProgress) -> None:
            seconds = time.monotonic() - started
            done = state.finished - state.found + state.under_way
            rate = done / seconds if seconds > 0 else 0.0
            shown.update(task, completed=state.fraction, runs=_state(state, rate))

        yield show


def _without_terminal(name: str) -> Callable[[SweepProgress], None]:
    """Return a callable that prints a line now and then, and once that a cluster has no worker."""
    reported = False
    started = printed = time.monotonic()

    def show(state: SweepProgress) -> None:
        nonlocal reported, printed
        now = time.monotonic()
        if state.workers == 0 and not reported:
            terminal.note("no worker is connected to the scheduler yet: waiting for one")
            reported = True
        elif now - printed >= terminal.EVERY_S and state.finished < state.total:
            printed = now
            done = state.finished - state.found + state.under_way
            words = _state(state, done / (now - started))
            terminal.errors().print(f"{escape(name)}: {state.fraction:.0%}, {words}")

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


def repaired(outcome: Sweep) -> None:
    """Name the files of an earlier call that were lost or changed."""
    if outcome.damaged:
        several = len(outcome.damaged) > 1
        names = ", ".join(str(path) for path in outcome.damaged[:MAX_FAILURES])
        terminal.note(
            f"{names}: lost or changed since {'they were' if several else 'it was'} written, and "
            "made again"
        )


def titled(title: str, table: Table) -> None:
    """Print a title that may be wider than its table; without a terminal nothing is wrapped."""
    console = terminal.output()
    if not console.is_terminal:
        whole = console.options.update(max_width=MAX_WIDTH)
        console.width = max(console.width, console.measure(table, options=whole).maximum)
    console.print(f"\n[bold]{escape(title)}[/]", soft_wrap=True)
    console.print(table)


def report_unfinished(frame: pl.DataFrame, consequence: str) -> None:
    """Report the number of unfinished transfers, and the consequence for their values."""
    if (note := unfinished_note(frame, consequence)) is not None:
        terminal.note(note)


def unfinished_note(frame: pl.DataFrame, consequence: str) -> str | None:
    """Describe the number of unfinished transfers, and the consequence for their values."""
    count = int(sum(frame[one].sum() for one in UNFINISHED))
    if not count:
        return None
    return (
        f"{count:,} transfers and rounds were unfinished at the ends of their runs: where "
        f"a value depends on them, {consequence}. {remedy(frame)}"
    )


def remedy(frame: pl.DataFrame) -> str:
    """Return how the unfinished transfers of runs can be completed."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    longer = how_to_complete(*frame.select(pl.col("measured_to_s", "simulated_s").min()).row(0))
    if FAILED_UNFINISHED not in frame.columns:  # a sweep of an earlier version
        return longer
    dead = int(frame[FAILED_UNFINISHED].sum())
    found = advice(dead, int(frame["unfinished"].sum()), longer)
    return f"{found}. `incastle run` of such a run has the cause" if dead else found


def number(value: float) -> str:
    """Write three digits, and all of those before the point."""
    if float(value).is_integer():
        return f"{value:,.10g}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"  # noqa: PLR2004


def headings(keys: Sequence[str]) -> list[str]:
    """Return keys as narrow headings: the last part alone where it is unique."""
    last = [key.rpartition(".")[2] for key in keys]
    return [
        short if last.count(short) == 1 else key.replace(".", ".\n")
        for key, short in zip(keys, last, strict=True)
    ]


def quantity(column: str, value: float | None) -> str:
    """Write the value of a column with its unit."""
    if value is None:
        return "-"
    unit = unit_of(column)
    if unit in {"bit/s", "s", "B"}:
        return si(value, unit)
    return f"{number(value)} {unit}".rstrip()


def failures(outcome: Sweep) -> None:
    """Name the runs that gave no result."""
    failed = outcome.failures
    if not failed:
        return
    console = terminal.errors()
    many = f"{len(failed):,} runs" if len(failed) > 1 else "1 run"
    console.print(f"[bold red]error:[/] {many} failed:")
    for run, failure in failed[:MAX_FAILURES]:
        console.print(f"    {escape(run.words)}: {escape(failure.message)}")
    if len(failed) > MAX_FAILURES:
        console.print(f"    and {len(failed) - MAX_FAILURES:,} more: failures.json has all")
    if any(failure.internal for _, failure in failed):
        terminal.note("This is a defect of Incastle, not of your input. Please report it.")
