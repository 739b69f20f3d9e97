"""`incastle report`: one HTML page about a run, or about the runs of several seeds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incastle import terminal
from incastle.commands.options import Unverified, option
from incastle.errors import IncastleError, Interrupted
from incastle.interrupts import INTERRUPTED

if TYPE_CHECKING:
    from incastle.results import Result

EXAMPLES = (
    "incastle report results/incast-20-1a2b3c4d",
    "incastle report results/incast-20-1a2b3c4d --out incast.html",
    "incastle run my.toml --seeds 5 --out five && incastle report five",
)

Place = Annotated[
    Path,
    typer.Argument(metavar="RESULT", help="A result directory, or one of `run --seeds --out`."),
]
Out = Annotated[
    Path | None, option("File of the page.", metavar="FILE", default="RESULT/report.html")
]


def report(result: Place, out: Out = None, unverified: Unverified = False) -> None:
    """Write one HTML page about a run: scenario, figures, tables, its slowest flows.

    The page needs neither network nor scripts. It explains the five slowest flows as
    `incastle explain` does: the scenario is run again with a record, unless the result has one.
    The results of several seeds are one page, with figures over the seeds.
    """
    from incastle.commands import run  # noqa: PLC0415  slow to import
    from incastle.report import page  # noqa: PLC0415
    from incastle.storage.files import scratch_file  # noqa: PLC0415

    place = result / "report.html" if out is None else out
    if place.suffix.lower() not in {".html", ".htm"}:
        raise IncastleError(f"--out {place}: must end in .html")
    runs = _loaded(result, verify=not unverified)
    tables = run.tables_of(runs[0]) if len(runs) == 1 else run.tables_of_seeds(runs)
    try:
        with terminal.progress_bar(f"{runs[0].name}, again") as progress:
            text = page.write(runs, tables, run.notes_of(runs), progress)
    except Interrupted:
        terminal.error("interrupted while it was run again with a record; no page is written")
        raise typer.Exit(INTERRUPTED) from None
    with scratch_file(place) as scratch:
        scratch.write_text(text, encoding="utf-8")
    print(place)


def _loaded(directory: Path, *, verify: bool) -> list[Result]:
    """Read a result, or those of several seeds in their order.

    Raises:
        IncastleError: it is something else, or they are of different scenarios.

    """
    from incastle.analysis.parameters import of_series  # noqa: PLC0415  only here
    from incastle.results import Result  # noqa: PLC0415  slow to import
    from incastle.storage.places import SUMMARY  # noqa: PLC0415

    inside = [one.parent for one in directory.glob(f"seed-*/{SUMMARY}")]
    if (directory / SUMMARY).is_file() or not inside:
        return [Result.load(directory, verify=verify)]
    runs = sorted((Result.load(one, verify=verify) for one in inside), key=lambda one: one.seed)
    if any(of_series(one.scenario) != of_series(runs[0].scenario) for one in runs):
        raise IncastleError(f"{directory} holds results of different scenarios: name one of them")
    return runs
