"""`incastle report`: one HTML page about a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incastle import terminal
from incastle.commands.options import Unverified, option
from incastle.errors import IncastleError, Interrupted
from incastle.interrupts import INTERRUPTED

EXAMPLES = (
    "incastle report results/incast-20-1a2b3c4d",
    "incastle report results/incast-20-1a2b3c4d --out incast.html",
)

Place = Annotated[Path, typer.Argument(metavar="RESULT", help="A result directory.")]
Out = Annotated[
    Path | None, option("File of the page.", metavar="FILE", default="RESULT/report.html")
]


def report(result: Place, out: Out = None, unverified: Unverified = False) -> None:
    """Write one HTML page about a run: scenario, figures, tables, its slowest flows.

    The page needs neither network nor scripts. It explains the five slowest flows as
    `incastle explain` does: the scenario is run again with a record, unless the result has one.
    """
    from incastle.commands import run  # noqa: PLC0415  slow to import
    from incastle.report import page  # noqa: PLC0415
    from incastle.results import Result  # noqa: PLC0415
    from incastle.storage.files import scratch_file  # noqa: PLC0415

    place = result / "report.html" if out is None else out
    if place.suffix.lower() not in {".html", ".htm"}:
        raise IncastleError(f"--out {place}: must end in .html")
    loaded = Result.load(result, verify=not unverified)
    try:
        with terminal.progress_bar(f"{loaded.name}, again") as progress:
            text = page.write(loaded, run.tables_of(loaded), progress)
    except Interrupted:
        terminal.error("interrupted while it was run again with a record; no page is written")
        raise typer.Exit(INTERRUPTED) from None
    with scratch_file(place) as scratch:
        scratch.write_text(text, encoding="utf-8")
    print(place)
