"""`incastle reproduce`: the figures and claims of papers, as a report."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  typer looks at it
from typing import Annotated

import typer

from incastle import terminal
from incastle.commands.options import Threads  # noqa: TC001  typer looks at it
from incastle.errors import IncastleError
from incastle.interrupts import INTERRUPTED
from incastle.runner import cores

EXAMPLES = (
    "incastle reproduce",
    "incastle reproduce --quick",
    "incastle reproduce dctcp-ns2 --figure 3 --full",
    "incastle reproduce qcn-incast",
)


def reproduce(
    papers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAPER]...",
            help="Papers to reproduce, all by default; see `incastle list papers`.",
        ),
    ] = None,
    figure: Annotated[
        str | None, typer.Option(metavar="N", help="Reproduce only this figure.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Shortest runs and one seed, for a first look.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Longest runs and more seeds.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Directory of the report.", show_default="report, report-quick, report-full"
        ),
    ] = None,
    threads: Threads = None,
) -> None:
    """Reproduce the figures of papers, and judge their claims one by one.

    Writes a report: each figure as PNG, SVG, PDF and CSV, claims.json, index.html with conclusions
    and claims, and a page for each paper. Finished runs are reused.
    """
    from incastle.reproduction import main as module  # noqa: PLC0415  slow to import

    if quick and full:
        raise IncastleError("--quick and --full cannot be used together")
    length = "quick" if quick else "full" if full else "default"
    try:
        module.main(papers or [], figure=figure, length=length, out=out, threads=threads or cores())
    except KeyboardInterrupt:
        terminal.error(
            "interrupted; finished runs are kept, and the same command goes on from there"
        )
        raise typer.Exit(INTERRUPTED) from None
