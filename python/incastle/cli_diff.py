"""`incastle diff`: what differs between two results, or two reports."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  typer looks at it
from typing import Annotated

import typer

from incastle import terminal
from incastle.options import AsJson, Unverified  # noqa: TC001  typer looks at it

DIFF_EXAMPLES = (
    "incastle diff results/dctcp-12ab34cd results/dctcp-56ef78ab",
    "incastle diff results/one results/two --figure diff.png",
    "incastle diff report-of-0.1 report",
)


def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="A result, or a report.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another one of the same kind.")],
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw both into this file: .png, .svg or .pdf."),
    ] = None,
    as_json: AsJson = False,
    everything: Annotated[bool, typer.Option("--all", help="All rows of long tables.")] = False,
    unverified: Unverified = False,
) -> None:
    """Show what differs between two results, or between two reports.

    Of results: parameters, totals, groups of flows, switch ports, curves. Of reports: runs by their
    digests, claims with measured values and verdicts, data of figures; this is how two versions of
    Incastle are compared. Changes are those from A to B.
    """
    from incastle import terminal_diff  # noqa: PLC0415  only here
    from incastle.difference import api, draw  # noqa: PLC0415
    from incastle.reproduction import figures  # noqa: PLC0415  only here

    if figure is not None:
        figures.form_of(figure)  # told before the tables, not after them
    compared = api.diff(a, b, verify=not unverified)
    if as_json:
        terminal.print_json(compared.as_json())
    else:
        terminal_diff.show(compared, everything=everything)
    if figure is not None:
        draw.save(compared, figure)
        terminal.note(f"drawn: {figure}")
