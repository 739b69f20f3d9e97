"""The command line.

Exit status: 0 done; 2 bad input or a place that cannot be written, told in one message; 3 a defect
of Incastle; 130 interrupted, with what was finished kept. A traceback never reaches the user,
unless INCASTLE_TRACEBACK is set.
"""

from __future__ import annotations

import os
import sys
import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from incastle import (
    __version__,
    _engine,
    cli_bench,
    cli_diff,
    cli_estimate,
    cli_explain,
    cli_import,
    cli_sweeps,
    interrupts,
    terminal,
    terminal_load,
)
from incastle.errors import IncastleError, InternalError, Interrupted, ScenarioError
from incastle.files import recover
from incastle.interrupts import INTERRUPTED
from incastle.options import (
    MAX_SEED,
    AsJson,
    ScenarioFile,
    Settings,
    Threads,
    Unverified,
    examples,
    setting,
)
from incastle.results import Result
from incastle.runner import cores, run_many, why_alone
from incastle.scenario import Scenario, load
from incastle.store import CAPTURES, check_folder_of_seeds, holds, may_hold, prepare_place
from incastle.units import si

RESULTS = Path("results")
"""Where results go without --out."""


class _Commands(TyperGroup):
    """The commands; what one does not say of a Ctrl-C itself is said here: Typer says nothing."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  the contexts and results of Typer's core
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            terminal.error("interrupted")
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    name="incastle",
    cls=_Commands,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"incastle {__version__}")
        raise typer.Exit


@app.callback(
    epilog=examples(
        "incastle run examples/incast.toml",
        "incastle reproduce --quick",
        "incastle run --help",
    )
)
def incastle(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Congestion control in data centers, simulated packet by packet."""
    del version
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command(
    epilog=examples(
        "incastle run examples/incast.toml",
        "incastle run my.toml --set transport.congestion=new-reno --set 'run.duration=100 ms'",
        "incastle run my.toml --seeds 10 --out results/ten",
        "incastle run my.toml --json --out results/one > summary.json",
    )
)
def run(
    scenario: ScenarioFile,
    settings: Settings = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, max=MAX_SEED, help="Seed of the (first) run.", show_default="scenario's"
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Run N seeds in a row, in parallel."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Directory of the result; with --seeds, of one result per seed.",
            show_default="results/NAME-DIGEST",
        ),
    ] = None,
    as_json: AsJson = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier result.")] = False,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Runs at the same time; of one run, parts of its network.",
            show_default="all cores; 1",
        ),
    ] = None,
) -> None:
    """Simulate a scenario and write what was measured.

    The result is a directory with scenario.toml (complete, every default written out), summary.json
    and one Parquet file per table. An existing directory is an error unless it holds this very
    result already, or --force is given. With --seeds this goes for each seed's; the folder around
    them may exist if it has nothing but such results in it. With --json, standard output has the
    summary: an object, or with --seeds a list of them.
    """
    first = _load(scenario, settings, seed)
    runs = [first.with_seed(first.seed + index) for index in range(seeds)] if seeds else [first]
    keeper = _Keeper(out, several=seeds is not None, force=force)
    keeper.check(runs)
    what = f"{first.name}, {len(runs)} seeds" if seeds else first.name
    each = threads or 1 if len(runs) == 1 else 1
    if why := why_alone(first, each):
        terminal.note(why)
    try:
        with terminal.json_alone(as_json), terminal.progress_bar(what) as progress:
            run_many(runs, threads, progress, lambda _, result: keeper.keep(result), each)
    except Interrupted as stop:
        _stopped(stop, keeper)
    finally:
        keeper.show(as_json=as_json)
        keeper.tidy()


class _Keeper:
    """Saves each result as soon as it is there, and shows all in the order of their seeds.

    A result that cannot be saved is shown all the same: the run was not for nothing.
    """

    def __init__(self, out: Path | None, *, several: bool, force: bool) -> None:
        self.out = out
        self.several = several
        self.force = force
        self.kept: list[tuple[Result, Path | None]] = []
        self.there_already = 0
        self.made: list[Path] = []

    def check(self, runs: list[Scenario]) -> None:
        """Refuse, before anything is run, places that are taken or cannot be written."""
        if self.out is None:
            places = {RESULTS / "NAME-DIGEST": runs[0]}
        else:
            places = {self._place(self.out, one.seed): one for one in runs}
            if self.several:
                check_folder_of_seeds(self.out)
        first = next(iter(places))
        self.made = [folder for folder in first.parents if not folder.exists()]
        for place, scenario in places.items():
            recover(place)
            if self.force or not may_hold(place, scenario):
                prepare_place(place, force=self.force)

    def tidy(self) -> None:
        """Remove the folders that were made for results if none came."""
        for folder in self.made:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def _place(self, out: Path, seed: int) -> Path:
        return out / f"seed-{seed}" if self.several else out

    def _default_place(self, result: Result) -> Path:
        # Without anything random in the scenario, two seeds have the same digest.
        name = result.directory_name
        return RESULTS / (f"{name}-seed-{result.seed}" if self.several else name)

    def keep(self, result: Result, suffix: str = "") -> None:
        """Save a result."""
        place = self._place(self.out, result.seed) if self.out else self._default_place(result)
        place = place.with_name(place.name + suffix)
        self.kept.append((result, None))
        if not self.force and holds(place, result):
            self.there_already += 1
            self.kept[-1] = (result, place)
            return
        self.kept[-1] = (result, result.save(place, force=self.force))

    def show(self, *, as_json: bool) -> None:
        """Print what there is."""
        self.kept.sort(key=lambda pair: pair[0].seed)
        if as_json:
            summaries = [_summary(result, place) for result, place in self.kept]
            if self.several or summaries:
                terminal.print_json(summaries if self.several else summaries[0])
        elif self.several and self.kept:
            terminal.seeds([result for result, _ in self.kept])
        else:
            for result, _ in self.kept:
                terminal.result(result)
        self._say_where()

    def _say_where(self) -> None:
        places = [place for _, place in self.kept if place is not None]
        if not places:
            return
        where = places[0].parent if self.several else places[0]
        written = len(places) - self.there_already
        if written:
            number = f"{written} result{'s' if written > 1 else ''} " if self.several else ""
            terminal.note(f"{number}written to {where}")
            captures = [name for result, _ in self.kept[:1] for name in result.captures]
            if captures:
                files = f"{len(captures)} file{'s' if len(captures) > 1 else ''}"
                folder = (where / "seed-N" if self.several else where) / CAPTURES
                terminal.note(f"captures: {files} for Wireshark in {folder}")
        if self.there_already:
            number = f"{self.there_already} of them: " if self.several else ""
            terminal.note(f"{number}the same result is already in {where}, nothing is replaced")


def _summary(result: Result, place: Path | None) -> dict[str, Any]:
    return {**result.to_summary(), "directory": None if place is None else str(place)}


def _stopped(stop: Interrupted, keeper: _Keeper) -> NoReturn:
    """After Ctrl-C: finished runs are already kept; a single run is kept as far as it went."""
    if len(stop.results) == 1 and stop.partial:
        keeper.keep(stop.partial[0], suffix="-interrupted")
        reached = stop.partial[0].totals["simulated_s"]
        terminal.error(f"interrupted after {si(reached, 's')} of simulated time")
    else:
        terminal.error(str(stop))
    raise typer.Exit(INTERRUPTED)


def _load(path: Path, settings: list[str] | None, seed: int | None) -> Scenario:
    """Read, override and check; warnings are shown."""
    overrides = [setting(text) for text in settings or []]
    if seed is not None:
        overrides.append(("run.seed", str(seed)))
    scenario = load(path, overrides)
    terminal.diagnostics(scenario.warnings)
    return scenario


@app.command(
    epilog=examples(
        "incastle check my.toml",
        "incastle check my.toml --resolved > complete.toml",
        "incastle check my.toml --set flows.storage.count=40",
    )
)
def check(
    scenarios: Annotated[list[Path], typer.Argument(metavar="SCENARIO...", help="Files.")],
    settings: Settings = None,
    resolved: Annotated[
        bool,
        typer.Option("--resolved", help="Print the complete scenario, every default included."),
    ] = False,
) -> None:
    """Check scenarios: mistakes with their places, the valid choices, and "did you mean".

    For groups that send whatever the network does (poisson, random incasts, cbr, on-off, queries
    with a rate, datagrams, lists) it shows the load that they offer on average to each tier of
    links (hosts, uplinks, core), without simulating anything, and warns where that is above 100 %.
    docs/models/workloads.md says what is counted.
    """
    broken = 0
    for path in scenarios:
        try:
            scenario = _load(path, settings, None)
        except ScenarioError as found:
            terminal.scenario_error(found)
            broken += 1
            continue
        if resolved:
            print(scenario.resolved, end="")
        else:
            print(f"{path}: correct")
            terminal_load.show(scenario.offered_load, terminal.output())
    if broken:
        raise typer.Exit(IncastleError.exit_status)


class Listing(StrEnum):
    """What `incastle list` can list."""

    ALGORITHMS = "algorithms"
    QUEUES = "queues"
    SAMPLING = "sampling"
    TOPOLOGIES = "topologies"
    TRANSPORTS = "transports"
    WORKLOADS = "workloads"
    SIZES = "sizes"
    MEASURES = "measures"
    PAPERS = "papers"
    PLOTS = "plots"


@app.command("list", epilog=examples("incastle list algorithms", "incastle list papers"))
def list_(
    what: Annotated[
        Listing | None, typer.Argument(help="What to list.", show_default="everything")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what a scenario can name, the papers that can be reproduced, or the kinds of plots."""
    lists = {one.value: _listing(one) for one in ([what] if what else Listing)}
    if as_json:
        named = {
            name: [{"name": entry, "description": text} for entry, text in entries]
            for name, entries in lists.items()
        }
        terminal.print_json(named[what.value] if what else named)
        return
    for name, entries in lists.items():
        terminal.catalogue(entries, title=None if what else name)


def _listing(what: Listing) -> list[tuple[str, str]]:
    if what is Listing.PAPERS:
        from incastle.reproduction import papers as module  # noqa: PLC0415  only here

        return [(name, paper.listed()) for name, paper in module.discover().items()]
    if what is Listing.MEASURES:
        from incastle.sweeps import measures  # noqa: PLC0415  only here

        return list(measures.listed())
    if what is Listing.PLOTS:
        from incastle import plots  # noqa: PLC0415  only here

        return list(plots.kinds())
    return dict(_engine.catalog())[what.value]


@app.command(
    epilog=examples(
        "incastle plot results/incast-20-1a2b3c4d queue",
        "incastle plot results/incast-20-1a2b3c4d window --out windows.pdf",
    )
)
def plot(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="A result directory.")],
    kind: Annotated[
        str | None, typer.Argument(metavar="KIND", help="See `incastle list plots`.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A .png, .svg or .pdf file.", show_default="RESULT/KIND.png"),
    ] = None,
    unverified: Unverified = False,
) -> None:
    """Draw one picture of a result; `incastle list plots` has the kinds.

    The queue is drawn from samples where the scenario asked for them, else from the time-weighted
    histogram; the command says which.
    """
    from incastle import plots  # noqa: PLC0415  only here

    if kind is None:
        raise IncastleError(f"incastle plot {result} KIND: the kinds are {', '.join(plots.KINDS)}")
    place = out or result / f"{kind}.png"
    source = plots.plot(Result.load(result, verify=not unverified), kind, place)
    print(f"{place}, drawn from {source}")


@app.command(
    epilog=examples(
        "incastle reproduce",
        "incastle reproduce --quick",
        "incastle reproduce dctcp-ns2 --figure 3 --full",
        "incastle reproduce qcn-incast",
    )
)
def reproduce(
    papers: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PAPER]...", help="All if none; see `incastle list papers`."),
    ] = None,
    figure: Annotated[str | None, typer.Option(metavar="N", help="Only this figure.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Shortest runs, one seed: for a first look.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="More seeds, the longest runs.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Directory of the report.", show_default="report, report-quick, report-full"
        ),
    ] = None,
    threads: Threads = None,
) -> None:
    """Reproduce papers: their figures, and claim by claim whether it holds here.

    Writes a report: each figure as PNG, SVG, PDF and CSV, claims.json, and index.html, one page
    with everything. Finished runs are reused.
    """
    from incastle.reproduction import main as module  # noqa: PLC0415  slow to import

    if quick and full:
        raise IncastleError("--quick and --full exclude each other")
    length = "quick" if quick else "full" if full else "default"
    try:
        module.main(papers or [], figure=figure, length=length, out=out, threads=threads or cores())
    except KeyboardInterrupt:
        terminal.error(
            "interrupted; finished runs are kept, and the same command goes on from there"
        )
        raise typer.Exit(INTERRUPTED) from None


@app.command(epilog=examples("incastle schema > incastle.schema.json"))
def schema() -> None:
    """Print the JSON Schema of the scenario language, for editors."""
    print(_engine.schema())


app.command(epilog=examples(*cli_bench.BENCH_EXAMPLES))(cli_bench.bench)
app.command(epilog=examples(*cli_diff.DIFF_EXAMPLES))(cli_diff.diff)
app.command(epilog=examples(*cli_estimate.ESTIMATE_EXAMPLES))(cli_estimate.estimate)
app.command(epilog=examples(*cli_explain.EXPLAIN_EXAMPLES))(cli_explain.explain)
app.command("import", epilog=examples(*cli_import.IMPORT_EXAMPLES))(cli_import.import_)
app.command(epilog=examples(*cli_sweeps.SWEEP_EXAMPLES))(cli_sweeps.sweep)
app.command(epilog=examples(*cli_sweeps.FIND_EXAMPLES))(cli_sweeps.find)


def main() -> NoReturn:
    """Run the command line; every exception becomes one message and an exit status."""
    warnings.showwarning = terminal.show_warning
    if os.environ.get("INCASTLE_TRACEBACK"):
        sys.exit(_run_app())
    try:
        sys.exit(_run_app())
    except TyperException as error:
        _explain_usage(error)
    except ScenarioError as error:
        terminal.scenario_error(error)
        sys.exit(error.exit_status)
    except InternalError as error:
        _report_defect(str(error))
    except IncastleError as error:
        terminal.error(str(error))
        sys.exit(error.exit_status)
    except OSError as error:
        terminal.error(_os_error(error))
        _abandon_output()
        sys.exit(IncastleError.exit_status)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001  the last resort: no traceback for users
        _report_defect(f"{type(error).__name__}: {error}")


def _run_app() -> int | None:
    interrupts.raise_again()
    try:
        status: int | None = app(prog_name="incastle", standalone_mode=False)
        # A full disk behind a redirection shows itself here, while it can still be told.
        sys.stdout.flush()
    except OSError as error:
        # Whatever else is written knows its name.
        error.filename = error.filename or "standard output"
        raise
    return status


def _abandon_output() -> None:
    """Keep the interpreter from failing once more on what standard output could not take."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain_usage(error: TyperException) -> NoReturn:
    context = getattr(error, "ctx", None)
    command = "incastle" if context is None else context.command_path
    terminal.error(error.format_message().replace("Value error, ", ""))
    terminal.note(f"  {command} --help shows what is right")
    sys.exit(IncastleError.exit_status)


def _os_error(error: OSError) -> str:
    """Say which file and why, in the system's words."""
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _report_defect(message: str) -> NoReturn:
    terminal.error(f"internal error: {message}")
    terminal.note(
        f"This is a defect of Incastle {__version__}, not of your input. Please report it, "
        "with the scenario, the seed and the line above."
    )
    sys.exit(InternalError.exit_status)
