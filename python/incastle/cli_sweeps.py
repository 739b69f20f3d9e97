"""The commands that do many runs: `incastle sweep` and `incastle find`."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incastle import terminal, terminal_sweeps
from incastle.errors import ClusterError, IncastleError, InternalError, ResultError, RunError
from incastle.interrupts import INTERRUPTED
from incastle.options import MAX_SEED, AsJson, On, ScenarioFile, Settings, Unverified, setting
from incastle.runner import cores
from incastle.store import file_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from incastle.sweeps.bisect import SearchResult
    from incastle.sweeps.optimize import Optimum
    from incastle.sweeps.plan import Checked, Plan
    from incastle.sweeps.sweep import Sweep
    from incastle.sweeps.work import Place

RESULTS = Path("results")
MANY = 10_000
"""More runs than this are begun only after a question, or with --yes."""
LONGEST_NAME = 100

SWEEP_EXAMPLES = (
    "incastle sweep my.toml --set flows.storage.count=2,4,8,16 --seeds 5",
    "incastle sweep my.toml --set transport.congestion=dctcp,cubic --set network.senders=10..20",
    "incastle sweep my.toml --set network.senders=2,4,8 --on tcp://scheduler:8786 --resume",
    'incastle sweep results/DIR --plot "x=network.senders y=goodput hue=transport.congestion"',
)
FIND_EXAMPLES = (
    "incastle find my.toml --largest network.senders=2..200 --where 'goodput > 0.9 Gbit/s'",
    "incastle find my.toml --smallest 'switch.buffer=16..512 KiB' --where 'timeouts == 0'",
    "incastle find my.toml --minimise completion_p99 --over network.senders=2,4,8 --trials 20",
)

Seed = Annotated[
    int | None,
    typer.Option(min=0, max=MAX_SEED, help="First seed.", show_default="scenario's"),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "--threads",
        min=1,
        help="Runs at the same time on this machine.",
        show_default="all cores",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Do what is missing in the directory.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an earlier sweep.")]
Tables = Annotated[
    str | None,
    typer.Option(metavar="NAME,...", help="Keep these tables, too: flows,links."),
]


def sweep(
    place: Annotated[
        list[str],
        typer.Argument(metavar="SCENARIO", help="A scenario, or the directory of a sweep."),
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUES",
            help="Values of a key: 2,4,8 or 1..20 or a TOML list of them. Repeatable.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Seeds per combination.")] = 1,
    seed: Seed = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory of the dataset.", show_default="results/NAME-by-KEYS"),
    ] = None,
    resume: Resume = False,
    force: Force = False,
    tables: Tables = None,
    on: On = None,
    jobs: Jobs = None,
    plot: Annotated[
        str | None,
        typer.Option(metavar="'x=KEY y=MEASURE hue=KEY'", help="Draw a figure of the sweep."),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(help="Its .png, .svg or .pdf file.", show_default="DIR/Y-by-X.png"),
    ] = None,
    as_json: AsJson = False,
    yes: Annotated[
        bool, typer.Option("--yes", help=f"Begin more than {MANY:,} runs without a question.")
    ] = False,
    unverified: Unverified = False,
) -> None:
    """Simulate every combination of values of some keys, each with several seeds.

    Every combination is checked before the first run begins. The dataset is a directory of Parquet
    files; Ctrl-C loses only what is under way, a kill or a power cut a second of finished runs
    besides, and --resume does the rest, as it does what was lost or changed on the disk since. A
    large sweep asks first, with the time and disk that it will take. A run that fails does not end
    the sweep: it is named at the end, and the exit status is not 0. With a directory instead of a
    scenario nothing is run.
    """
    from incastle.reproduction import figures  # noqa: PLC0415  only here
    from incastle.sweeps import picture  # noqa: PLC0415  slow to import
    from incastle.sweeps.sweep import Sweep  # noqa: PLC0415

    axes = None if plot is None else picture.Axes.parse([*_words(plot), *place[1:]])
    if plot is None and len(place) > 1:
        raise IncastleError(f"one scenario, not {len(place)}: {' '.join(place)}")
    if figure is not None:
        figures.form_of(figure)
    if Path(place[0]).is_dir():
        if settings or on or resume or force:
            raise IncastleError(f"{place[0]} is a directory: give the scenario to do more runs")
        outcome = Sweep.load(place[0], verify=not unverified)
        if axes is not None and not outcome.frame.is_empty():
            picture.column_of(outcome, axes)  # told instead of the table, not below it
    else:
        plan = _plan(place[0], settings, seeds, seed)
        if plan.number_of_runs > MANY and not yes:
            _ask(plan, Path(os.devnull) if force else out, _names(tables), on, jobs)
        checked = _checked(plan)
        if axes is not None:
            _check_axes(axes, plan, checked)
        where = _place(out or _default_place(plan, "by"), resume=resume, force=force)
        with terminal.json_alone(as_json):
            outcome = _do(plan, checked, where, _names(tables), on, jobs)
    _show(outcome, as_json=as_json)
    if axes is not None:
        directory = outcome.directory or Path()
        name = file_name(f"{axes.y}-by-{axes.x}") + ".png"
        _draw(outcome, axes, figure or directory / name)
    _leave(outcome)


def _words(text: str) -> list[str]:
    """Take apart what stands after --plot; quotes hold a value with blanks together."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise IncastleError(f"--plot {text}: {error}") from None


def _plan(
    file: str,
    lists: list[str] | None,
    seeds: int,
    seed: int | None,
    fixed: list[str] | None = None,
) -> Plan:
    """Read a scenario, what is set in it, and the lists of values."""
    from incastle.sweeps import plan as module  # noqa: PLC0415  slow to import
    from incastle.sweeps.values import axis_from_text  # noqa: PLC0415

    axes = tuple(axis_from_text(*setting(text)) for text in lists or [])
    source = module.Source.read(file, [setting(text) for text in fixed or []])
    first = source.first_seed(axes) if seed is None else seed
    if first + seeds - 1 > MAX_SEED:
        raise IncastleError(f"--seeds {seeds}: the last seed would be above {MAX_SEED}")
    return module.Plan(source, axes, tuple(range(first, first + seeds)))


def _ask(
    plan: Plan, out: Path | None, tables: Sequence[str], on: str | None, jobs: int | None
) -> None:
    """Ask before a large sweep, with what it will cost; without a terminal there is nobody to ask.

    Raises:
        IncastleError: nobody can be asked.

    """
    from incastle.sweeps.forecast import forecast  # noqa: PLC0415  slow to import
    from incastle.sweeps.work import check_tables  # noqa: PLC0415

    wanted = check_tables(tables)
    missing = plan.number_of_runs - _finished_in(out or _default_place(plan, "by"))
    if missing <= MANY:
        return
    lists = " x ".join(f"{len(axis.choices):,} of {axis.key}" for axis in plan.axes)
    told = f"{plan.number_of_runs:,} runs ({lists or 'one'} x {len(plan.seeds):,} seeds)"
    if missing < plan.number_of_runs:
        told += f", of which {missing:,} are missing"
    cost = terminal_sweeps.cost(forecast(plan, missing, wanted), None if on else jobs or cores())
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise IncastleError(f"{told}: {cost}; --yes begins them")
    terminal.note(f"{told}: {cost}")
    if not typer.confirm("Begin?", err=True):
        terminal.note("nothing was run")
        raise typer.Exit(IncastleError.exit_status)


def _finished_in(directory: Path) -> int:
    """Count the finished runs of a directory, whose runs need not be those of the plan."""
    from incastle.sweeps.dataset import Dataset  # noqa: PLC0415  slow to import

    try:
        return Dataset.load(directory, repair=True).size
    except ResultError:
        return 0  # told when it is opened


def _checked(plan: Plan) -> Checked:
    """Check every combination."""
    with terminal_sweeps.counting("checking", plan.number_of_cells) as tell:
        checked = plan.check(tell)
    terminal.diagnostics(checked.warnings)
    return checked


def _check_axes(axes: Any, plan: Plan, checked: Checked) -> None:  # noqa: ANN401
    """Refuse a figure that cannot be drawn before an hour of runs, not after it."""
    from incastle.sweeps.measures import columns_of  # noqa: PLC0415

    groups = list(checked.runs[0].scenario().to_dict()["flows"])
    words = {axis.key: [choice.words for choice in axis.choices] for axis in plan.axes}
    axes.check(words, columns_of(groups))


def _default_place(plan: Plan, word: str) -> Path:
    keys = [axis.key for axis in plan.axes if len(axis.choices) > 1]
    name = plan.source.first_scenario(plan.axes).name
    return RESULTS / file_name(f"{name}-{word}-{'-'.join(keys) or 'seed'}")[:LONGEST_NAME]


def _place(directory: Path, *, resume: bool, force: bool) -> Place:
    from incastle.sweeps.work import Place  # noqa: PLC0415  slow to import

    return Place(directory, resume=resume, force=force)


@contextmanager
def _told(directory: Path | None) -> Iterator[None]:
    """Say after Ctrl-C, a lost cluster or a full disk what is kept."""
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


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _do(
    plan: Plan,
    checked: Checked,
    place: Place,
    tables: Sequence[str],
    on: str | None,
    jobs: int | None,
) -> Sweep:
    from incastle.sweeps.work import run_plan  # noqa: PLC0415  slow to import

    name = checked.runs[0].scenario().name
    with _told(place.directory), terminal_sweeps.sweep_bar(name) as progress:
        return run_plan(plan, checked.runs, place, tables, on, jobs, progress)


def _show(outcome: Sweep, *, as_json: bool) -> None:
    if as_json:
        terminal.print_json(outcome.to_json())
    else:
        terminal_sweeps.sweep(outcome)
    terminal_sweeps.failures(outcome)


def _draw(outcome: Sweep, axes: Any, path: Path) -> None:  # noqa: ANN401
    from incastle.sweeps import picture  # noqa: PLC0415

    picture.draw(outcome, axes, path)
    terminal.note(f"figure: {path}")


def _leave(outcome: Sweep) -> None:
    """Leave with the status of the worst failure."""
    if outcome.failures:
        internal = any(failure.internal for _, failure in outcome.failures)
        kind = InternalError if internal else IncastleError
        raise typer.Exit(kind.exit_status)


def find(
    scenario: ScenarioFile,
    largest: Annotated[
        str | None,
        typer.Option(metavar="KEY=VALUES", help="Find the largest value for which --where holds."),
    ] = None,
    smallest: Annotated[
        str | None,
        typer.Option(metavar="KEY=VALUES", help="Find the smallest value for which --where holds."),
    ] = None,
    maximise: Annotated[
        str | None,
        typer.Option(metavar="MEASURE", help="Find the values of --over with the most of this."),
    ] = None,
    minimise: Annotated[
        str | None,
        typer.Option(metavar="MEASURE", help="Find the values of --over with the least of this."),
    ] = None,
    over: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUES", help="Values to choose from. Repeatable."),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="CONDITION", help="'goodput > 0.9 Gbit/s and timeouts == 0'"),
    ] = None,
    trials: Annotated[
        int, typer.Option(min=1, metavar="N", help="Combinations to try, with --maximise.")
    ] = 40,
    settings: Settings = None,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Seeds of each value.")] = 5,
    seed: Seed = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory of the dataset.", show_default="results/NAME-find-KEY"),
    ] = None,
    resume: Resume = False,
    force: Force = False,
    on: On = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Find the value of a key at which a condition begins to fail, or the best value for a measure.

    --largest and --smallest bisect one key: they assume that the condition changes once along its
    values, run the neighbours of the answer, and name what contradicts. --maximise and --minimise
    try combinations of one or several keys (Optuna proposes) and name the best. Values are as in
    `incastle sweep`: 2..200, "16..512 KiB", 2,4,8. A condition must hold with every seed; a
    measure is its median. Runs are kept as in a sweep, and --resume goes on with them.
    """
    goals = {"largest": largest, "smallest": smallest, "maximise": maximise, "minimise": minimise}
    given = {name: text for name, text in goals.items() if text is not None}
    if len(given) != 1:
        all_given = f", not {' and '.join(f'--{name}' for name in given)}" if given else ""
        raise IncastleError(
            "one of --largest, --smallest, --maximise and --minimise is needed" + all_given
        )
    goal, text = next(iter(given.items()))
    bisecting = goal in {"largest", "smallest"}
    if bisecting and (where is None or over):
        raise IncastleError(f"--{goal} KEY=VALUES goes with --where CONDITION, and without --over")
    if not bisecting and not over:
        raise IncastleError(f"--{goal} MEASURE goes with --over KEY=VALUES")
    plan = _plan(str(scenario), [text] if bisecting else over, seeds, seed, settings)
    place = _place(out or _default_place(plan, "find"), resume=resume, force=force)
    kept = terminal.json_alone(as_json)
    with kept, _told(place.directory), terminal_sweeps.sweep_bar(scenario.stem) as progress:
        shared: dict[str, Any] = {"on": on, "threads": jobs, "progress": progress}
        found: SearchResult | Optimum
        if bisecting:
            found = _bisect(plan, where or "", place, largest=goal == "largest", **shared)
        else:
            found = _optimize(
                plan, text, place, maximise=goal == "maximise", where=where, trials=trials, **shared
            )
    if as_json:
        terminal.print_json(found.to_json())
    else:
        terminal_sweeps.answer(found)
    terminal_sweeps.failures(found.sweep)
    if found.values is None:
        terminal.error(found.why_nothing)
        raise typer.Exit(IncastleError.exit_status)
    _leave(found.sweep)


def _bisect(plan: Plan, where: str, place: Place, **how: Any) -> SearchResult:  # noqa: ANN401
    from incastle.sweeps.bisect import bisect  # noqa: PLC0415  slow to import

    return bisect(plan.source, plan.axes[0], where, plan.seeds, place, **how)


def _optimize(plan: Plan, measure: str, place: Place, **how: Any) -> Optimum:  # noqa: ANN401
    from incastle.sweeps.optimize import optimize  # noqa: PLC0415  slow to import

    return optimize(plan.source, plan.axes, measure, plan.seeds, place, **how)
