"""`incastle report`: one HTML page about a run, the runs of several seeds, or a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incastle import terminal
from incastle.commands.options import Unverified, option
from incastle.errors import IncastleError, Interrupted
from incastle.interrupts import INTERRUPTED
from incastle.storage.places import HEADER, SUMMARY

if TYPE_CHECKING:
    from incastle.report.page import Explained
    from incastle.results import Result

EXAMPLES = (
    "incastle report results/incast-20-1a2b3c4d",
    "incastle report results/incast-20-1a2b3c4d --out incast.html --trace",
    "incastle run my.toml --seeds 5 --out five && incastle report five",
)

Place = Annotated[
    Path,
    typer.Argument(
        metavar="RESULT", help="Directory of a result, of `run --seeds --out`, or of a sweep."
    ),
]
Out = Annotated[
    Path | None, option("File of the page.", metavar="FILE", default="RESULT/report.html")
]


def report(
    result: Place,
    out: Out = None,
    trace: Annotated[
        bool,
        option("Write a trace of the run next to the page, for ui.perfetto.dev.", "--trace"),
    ] = False,
    unverified: Unverified = False,
) -> None:
    """Write one HTML page about a run: scenario, figures, tables, its slowest flows.

    The page needs neither network nor scripts. It explains the five slowest flows as
    `incastle explain` does: the scenario is run again with a record, unless the result has one.
    The results of several seeds are one page, with figures over the seeds, and so is a sweep,
    with its table and its measures over a key. --trace writes PAGE.pftrace, a Perfetto trace of
    one run: tracks of ports and flows, with queues, windows, drops, timeouts, and arrows from
    packet to packet.
    """
    from incastle.storage.files import scratch_file  # noqa: PLC0415  slow to import

    place = result / "report.html" if out is None else out
    if place.suffix.lower() not in {".html", ".htm"}:
        raise IncastleError(f"--out {place}: must end in .html")
    of_trace = place.with_suffix(".pftrace") if trace else None
    if (result / HEADER).is_file():
        if trace:
            raise IncastleError(f"--trace is of one run, and {result} is a sweep")
        text = _of_sweep(result, verify=not unverified)
    else:
        text = _of_runs(_loaded(result, verify=not unverified), of_trace)
    with scratch_file(place) as scratch:
        scratch.write_text(text, encoding="utf-8")
    print(place)
    if of_trace is not None:
        print(of_trace)


def _of_sweep(directory: Path, *, verify: bool) -> str:
    from incastle.commands.sweep import combinations  # noqa: PLC0415  slow to import
    from incastle.report import page  # noqa: PLC0415
    from incastle.sweeps.sweep import Sweep  # noqa: PLC0415

    sweep = Sweep.load(directory, verify=verify)
    shown = combinations(sweep)
    notes = [shown.coverage, *([shown.unfinished] if shown.unfinished else [])]
    return page.of_sweep(sweep, shown.tables, notes)


def _of_runs(runs: list[Result], trace: Path | None) -> str:
    from incastle.commands import run  # noqa: PLC0415  slow to import
    from incastle.report import page  # noqa: PLC0415

    if trace is not None and len(runs) > 1:
        raise IncastleError(
            f"--trace is of one run, and these are {len(runs)} seeds: name one of them, "
            f"as seed-{runs[0].seed} in their folder"
        )
    tables = run.tables_of(runs[0]) if len(runs) == 1 else run.tables_of_seeds(runs)
    try:
        with terminal.progress_bar(f"{runs[0].name}, again") as progress:
            explained = page.explained_of(runs, progress)
    except Interrupted:
        terminal.error("interrupted while it was run again with a record; no page is written")
        raise typer.Exit(INTERRUPTED) from None
    name = "" if trace is None else _trace(runs[0], trace, explained)
    return page.of_runs(runs, tables, run.notes_of(runs), explained, name)


def _trace(run: Result, place: Path, explained: Explained) -> str:
    """Write the trace of a run, report what it lacks, and return the name of its file."""
    from incastle.report import trace  # noqa: PLC0415  slow to import

    terminal.note(f"writing {place}")
    record = explained.flows[0].source.events if explained.flows else None
    for lack in trace.write(run, place, record):
        terminal.note(f"the trace lacks {lack}")
    return place.name


def _loaded(directory: Path, *, verify: bool) -> list[Result]:
    """Read a result, or those of several seeds in their order.

    Raises:
        IncastleError: it is something else, or they are of different scenarios.

    """
    from incastle.analysis.parameters import of_series  # noqa: PLC0415  only here
    from incastle.results import Result  # noqa: PLC0415  slow to import

    inside = [one.parent for one in directory.glob(f"seed-*/{SUMMARY}")]
    if (directory / SUMMARY).is_file() or not inside:
        return [Result.load(directory, verify=verify)]
    runs = sorted((Result.load(one, verify=verify) for one in inside), key=lambda one: one.seed)
    if any(of_series(one.scenario) != of_series(runs[0].scenario) for one in runs):
        raise IncastleError(f"{directory} holds results of different scenarios: name one of them")
    return runs
