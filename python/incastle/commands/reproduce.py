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
    "incastle reproduce dctcp-ns2 --figure 3 --full --formats pdf",
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
    formats: Annotated[
        str | None,
        typer.Option(
            metavar="svg,png,pdf",
            help="Formats of figures for other uses than the page.",
            show_default="none",
        ),
    ] = None,
    threads: Threads = None,
) -> None:
    """Reproduce the figures of papers, and judge their claims one by one.

    Writes a report: each figure as a picture and a table, claims.json, index.html with a table of
    all claims, and a page for each paper. Finished runs are reused, so that --formats draws a
    figure again in seconds.
    """
    from incastle.reproduction import main as module  # noqa: PLC0415  slow to import

    if quick and full:
        raise IncastleError("--quick and --full cannot be used together")
    length = "quick" if quick else "full" if full else "default"
    chosen = _formats(formats)
    try:
        module.main(papers or [], figure, length, out, threads or cores(), chosen)
    except KeyboardInterrupt:
        terminal.error(
            "interrupted; finished runs are kept, and the same command goes on from there"
        )
        raise typer.Exit(INTERRUPTED) from None


def _formats(text: str | None) -> list[str]:
    from incastle.plotting.style import FORMATS  # noqa: PLC0415  only here

    names = [name.strip().lower() for name in text.split(",")] if text is not None else []
    if wrong := next((name for name in names if name not in FORMATS), None):
        raise IncastleError(f"--formats {wrong}: there are {', '.join(FORMATS)}")
    return names
