"""`incastle find`: the value at which a condition begins to fail, or the best for a measure."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from incastle import terminal
from incastle.analysis.measures import ends_in, shortened
from incastle.commands import many_runs
from incastle.commands.many_runs import (
    Force,
    Jobs,
    Resume,
    Seed,
    Seeds,
    default_place,
    headings,
    quantity,
)
from incastle.commands.options import (
    AsJson,
    On,
    ScenarioFile,
    Settings,
    count_option,
    option,
)
from incastle.errors import IncastleError, ScenarioError
from incastle.terminal import aligned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from incastle.sweeps.bisect import SearchResult
    from incastle.sweeps.optimize import Optimum
    from incastle.sweeps.plan import Plan

EXAMPLES = (
    "incastle find my.toml --largest network.senders=2..200 --where 'goodput > 0.9 Gbit/s'",
    "incastle find my.toml --smallest 'switch.buffer=16..512 KiB' --where 'timeouts == 0'",
    "incastle find my.toml --minimize completion_p99 --over network.senders=2,4,8 --trials 20",
)

BEST = 10
"""Combinations of an optimization that are shown."""


def _limit(which: str) -> Any:  # noqa: ANN401  as typer.Option
    return option(f"Find the {which} value for which --where holds.", metavar="KEY=VALUES")


def _goal(verb: str) -> Any:  # noqa: ANN401  as typer.Option
    return option(f"Find the values of --over that {verb} this measure.", metavar="MEASURE")


Largest = Annotated[str | None, _limit("largest")]
Smallest = Annotated[str | None, _limit("smallest")]
Maximize = Annotated[str | None, _goal("maximize")]
Minimize = Annotated[str | None, _goal("minimize")]
Over = Annotated[
    list[str] | None, option("Values of a key to try. Repeatable.", metavar="KEY=VALUES")
]
Where = Annotated[
    str | None,
    option("Such as 'goodput > 0.9 Gbit/s and timeouts == 0'.", metavar="CONDITION"),
]
Trials = Annotated[
    int | None,
    count_option("With --maximize or --minimize: combinations to try.", metavar="N", default="40"),
]
Out = Annotated[Path | None, option("Directory of the dataset.", default="results/NAME-find-KEY")]


def find(
    scenario: ScenarioFile,
    largest: Largest = None,
    smallest: Smallest = None,
    maximize: Maximize = None,
    minimize: Minimize = None,
    over: Over = None,
    where: Where = None,
    trials: Trials = None,
    settings: Settings = None,
    seeds: Seeds = 5,
    seed: Seed = None,
    out: Out = None,
    resume: Resume = False,
    force: Force = False,
    on: On = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Find the limit of a condition along a key, or the best values for a measure.

    --largest and --smallest bisect the values of one key. They assume that the condition changes
    once along these values; they also run some others, and report values that contradict.
    --maximize and --minimize try combinations of one or more keys, chosen by Optuna. Values are
    written as in `incastle sweep`: 2..200, "16..512 KiB", 2,4,8. A condition must hold for every
    seed; a measure counts by its median over the seeds. Runs are saved as in a sweep.
    """
    from incastle.sweeps.bisect import bisect  # noqa: PLC0415  slow to import
    from incastle.sweeps.optimize import TRIALS, Objective, optimize  # noqa: PLC0415
    from incastle.sweeps.work import Execution  # noqa: PLC0415

    goals = {"largest": largest, "smallest": smallest, "maximize": maximize, "minimize": minimize}
    given = {name: text for name, text in goals.items() if text is not None}
    if len(given) != 1:
        all_given = f", not {' and '.join(f'--{name}' for name in given)}" if given else ""
        raise IncastleError(
            "one of --largest, --smallest, --maximize and --minimize is needed" + all_given
        )
    goal, text = next(iter(given.items()))
    bisecting = goal in {"largest", "smallest"}
    if bisecting and (where is None or over):
        raise IncastleError(f"--{goal} KEY=VALUES needs --where CONDITION, and no --over")
    if bisecting and trials is not None:
        raise IncastleError(f"--trials is of --maximize and --minimize: --{goal} bisects")
    if not bisecting and not over:
        raise IncastleError(f"--{goal} MEASURE needs --over KEY=VALUES")
    option = f"--{goal}" if bisecting else "--over"
    lists = [text] if bisecting else over
    plan = many_runs.read_plan(str(scenario), lists, seeds, seed, settings, option)
    place = many_runs.place_of(out or default_place(plan, "find"), resume=resume, force=force)
    _warn(plan)
    saved = many_runs.reporting_kept_runs(place.directory)
    shown = many_runs.sweep_bar(scenario.stem)
    with terminal.json_alone(as_json), saved, shown as progress:
        execution = Execution(on, jobs, progress)
        found: SearchResult | Optimum
        if bisecting:
            found = bisect(plan, where or "", place, execution, largest=goal == "largest")
        else:
            wanted = Objective(text, goal == "maximize", where, trials or TRIALS)
            found = optimize(plan, wanted, place, execution)
    if as_json:
        terminal.print_json(found.to_json())
    else:
        _show(found)
    many_runs.failures(found.sweep)
    if found.values is None:
        terminal.error(found.why_nothing)
        raise typer.Exit(IncastleError.exit_status)
    many_runs.leave(found.sweep)


def _warn(plan: Plan) -> None:
    with suppress(ScenarioError):  # reported later, with those of all other values
        terminal.diagnostics(plan.source.first_scenario(plan.axes).warnings)


def _show(found: SearchResult | Optimum) -> None:
    """Show what a search tried, and what it found."""
    from incastle.sweeps.bisect import SearchResult  # noqa: PLC0415  slow to import

    if isinstance(found, SearchResult):
        _bisection(found)
    else:
        _optimum(found)
    terminal.note(f"{len(found.sweep.frame):,} runs in {found.sweep.directory}")
    many_runs.repaired(found.sweep)


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
    many_runs.titled(f"{found.condition.text}, by {found.key}", table)
    _undecided(found)
    console = terminal.output()
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
        console.print("It is the last of the values: the condition may also hold beyond it.")
    _assumption(found)


def _undecided(found: SearchResult) -> None:
    """Name the values at which unfinished transfers keep the condition from holding."""
    if found.undecided:
        those = ", ".join(escape(one.choice.words) for one in found.undecided)
        terminal.errors().print(
            f"[yellow]warning:[/] undecided at {those}, and counted as not fulfilled: transfers "
            f"were unfinished. {escape(many_runs.remedy(found.sweep.frame))}"
        )


def _assumption(found: SearchResult) -> None:
    """Report the assumption behind the answer, and the values that contradict it."""
    assumed = "Assumed: along the values the condition changes once"
    contradicting, undecided, count = found.contradicting, len(found.undecided), len(found.tried)
    if undecided:
        agree = count - undecided - len(contradicting)
        are = "are" if undecided > 1 else "is"
        text = f"{agree} of {count} values that were run agree; {undecided} {are} undecided"
        terminal.output().print(f"{assumed}. {text}: transfers were unfinished.")
    elif not contradicting:
        terminal.output().print(f"{assumed}. All {count} values that were run agree.")
    if not contradicting:
        return
    those = ", ".join(
        f"{one.choice.words} ({'holds' if one.fulfils else 'fails'})" for one in contradicting
    )
    console = terminal.errors()
    console.print(f"[yellow]warning:[/] {assumed}, but it does not: {escape(those)}")


def _spread(column: str, rows: Sequence[Mapping[str, Any]]) -> str:
    found = [ends for row in rows if (ends := ends_in(row, column)) is not None]
    if not found:
        return "-"
    minimum, maximum = min(low for low, _ in found), max(high for _, high in found)
    if math.isinf(maximum):
        return f"\u2265 {quantity(column, minimum)}"
    low, high = quantity(column, minimum), quantity(column, maximum)
    return low if low == high else f"{low} to {high}"


def _optimum(found: Optimum) -> None:
    keys = list(found.tried[0].values)
    name = shortened(found.column)
    word = "maximum" if found.maximize else "minimum"
    ranked = sorted(
        found.tried,
        key=lambda one: (not one.counts, (-1 if found.maximize else 1) * (one.objective or 0.0)),
    )
    more = [] if found.condition is None else [found.condition.text]
    title = f"{word} {name}: the best of {len(found.tried)} combinations"
    table = aligned(None, *headings(keys), f"{name}\nmedian", "min to max", *more)
    for one in ranked[:BEST]:
        words = (escape(choice.words) for _, choice in one.cell.choices)
        fulfils = [] if found.condition is None else ["yes" if one.shortfall == 0 else "no"]
        middle = quantity(found.column, one.objective)
        table.add_row(*words, middle, _spread(found.column, one.rows), *fulfils)
    many_runs.titled(title, table)
    if found.best is not None:
        best = ", ".join(f"{key} = {choice.words}" for key, choice in found.best.cell.choices)
        figure = quantity(found.column, found.best.objective)
        line = f"\n{word} {name} of those tried: [bold]{escape(best)}[/], {figure}"
        terminal.output().print(line, soft_wrap=True)
    end = "lower" if found.maximize else "upper"
    many_runs.report_unfinished(found.sweep.frame, f"its {end} end counts, if finite")
