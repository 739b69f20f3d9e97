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
    from incastle.results import Result

EXAMPLES = (
    "incastle report results/incast-20-1a2b3c4d",
    "incastle report results/incast-20-1a2b3c4d --out incast.html",
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


def report(result: Place, out: Out = None, unverified: Unverified = False) -> None:
    """Write one HTML page about a run: scenario, figures, tables, its slowest flows.

    The page needs neither network nor scripts. It explains the five slowest flows as
    `incastle explain` does: the scenario is run again with a record, unless the result has one.
    The results of several seeds are one page, with figures over the seeds, and so is a sweep,
    with its table and its measures over a key.
    """
    from incastle.storage.files import scratch_file  # noqa: PLC0415  slow to import

    place = result / "report.html" if out is None else out
    if place.suffix.lower() not in {".html", ".htm"}:
        raise IncastleError(f"--out {place}: must end in .html")
    if (result / HEADER).is_file():
        text = _of_sweep(result, verify=not unverified)
    else:
        text = _of_runs(_loaded(result, verify=not unverified))
    with scratch_file(place) as scratch:
        scratch.write_text(text, encoding="utf-8")
    print(place)


def _of_sweep(directory: Path, *, verify: bool) -> str:
    from incastle.commands.sweep import combinations  # noqa: PLC0415  slow to import
    from incastle.report import page  # noqa: PLC0415
    from incastle.sweeps.sweep import Sweep  # noqa: PLC0415

    sweep = Sweep.load(directory, verify=verify)
    shown = combinations(sweep)
    notes = [shown.coverage, *([shown.unfinished] if shown.unfinished else [])]
    return page.of_sweep(sweep, shown.tables, notes)


def _of_runs(runs: list[Result]) -> str:
    from incastle.commands import run  # noqa: PLC0415  slow to import
    from incastle.report import page  # noqa: PLC0415

    tables = run.tables_of(runs[0]) if len(runs) == 1 else run.tables_of_seeds(runs)
    try:
        with terminal.progress_bar(f"{runs[0].name}, again") as progress:
            return page.of_runs(runs, tables, run.notes_of(runs), progress)
    except Interrupted:
        terminal.error("interrupted while it was run again with a record; no page is written")
        raise typer.Exit(INTERRUPTED) from None


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
