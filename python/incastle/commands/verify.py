"""`incastle verify`: whether an artifact is as it was packed, and gives the same again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incastle import terminal
from incastle.commands.options import Threads, option
from incastle.errors import IncastleError
from incastle.interrupts import INTERRUPTED
from incastle.runner import cores

if TYPE_CHECKING:
    from incastle.artifact.verify import Verification

EXAMPLES = (
    "incastle verify artifact",
    "incastle verify artifact --no-run",
    "incastle verify . --out again",
)
DIFFERENT = 1
"""The exit status where a second run gave something else."""


def verify(
    crate: Annotated[
        Path, typer.Argument(metavar="ARTIFACT", help="Directory that `incastle pack` made.")
    ],
    no_run: Annotated[
        bool, typer.Option("--no-run", help="Check the hashes of the files alone.")
    ] = False,
    out: Annotated[
        Path | None,
        option("Keep the second report here; an interrupted one goes on there.", metavar="DIR"),
    ] = None,
    threads: Threads = None,
) -> None:
    """Verify an artifact: its files, and that a second run gives the same.

    The verdicts and values of claims, the digests of runs and the data of figures are compared; of
    results the digests and tables. Controllers that came with a result are run as well. Exit
    status: 0 all is the same, 1 something differs, 2 a file was changed, or the artifact is of
    another version.
    """
    from incastle.artifact import verify as module  # noqa: PLC0415  slow to import

    if no_run and out is not None:
        raise IncastleError("--out keeps the second run, and --no-run has none: leave one out")
    declared = module.check_files(crate)
    print(f"{declared['files']:,} files are as they were packed")
    if no_run:
        return
    try:
        with tempfile.TemporaryDirectory(prefix="incastle-verify-") as folder:
            place = Path(folder, "report") if out is None else out
            found = module.run_again(crate, declared["kind"], place, threads or cores())
            _show(found)
    except KeyboardInterrupt:
        kept = "; finished runs are kept, and the same command goes on from there" if out else ""
        terminal.error(f"interrupted before all was run again{kept}")
        raise typer.Exit(INTERRUPTED) from None
    if not found.is_same:
        raise typer.Exit(DIFFERENT)


def _show(found: Verification) -> None:
    from incastle.commands import diff  # noqa: PLC0415  slow to import

    if found.reports is not None and not found.is_same:
        diff.show(found.reports, everything=False)
    for line in found.lines:
        print(line)
    print("verified" if found.is_same else "not verified: a second run gave something else")
