"""`incastle explain`: why a flow took its time."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  typer looks at it
from typing import Annotated

import typer

from incastle import terminal
from incastle.errors import IncastleError, Interrupted
from incastle.interrupts import INTERRUPTED
from incastle.options import AsJson, Unverified  # noqa: TC001  typer looks at it

EXPLAIN_EXAMPLES = (
    "incastle explain results/incast-20-1a2b3c4d",
    "incastle explain results/incast-20-1a2b3c4d --flow storage:3 --plot why.png",
    "incastle explain results/incast-20-1a2b3c4d --timeouts --json",
)
MOST_FLOWS = 5
"""Flows that --timeouts explains without --all."""


def explain(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="A result directory.")],
    flow: Annotated[
        str | None,
        typer.Option(metavar="N", help="A flow: its number, or GROUP:INDEX."),
    ] = None,
    slowest: Annotated[
        bool, typer.Option("--slowest", help="The slowest transfer; so without an option, too.")
    ] = False,
    timeouts: Annotated[
        bool, typer.Option("--timeouts", help="The flows with retransmission timeouts.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw it into this file: .png, .svg or .pdf."),
    ] = None,
    as_json: AsJson = False,
    everything: Annotated[
        bool, typer.Option("--all", help=f"With --timeouts more than {MOST_FLOWS} flows.")
    ] = False,
    unverified: Unverified = False,
) -> None:
    """Explain why a flow took its time: what it waited for, and the chain behind each timeout.

    From the record of events that the scenario asked for ([measure] events). Where there is none,
    the scenario is run again with a record, and the digests tell that it took the same course.
    """
    from incastle import terminal_explain  # noqa: PLC0415  only here
    from incastle.explanation import api, draw  # noqa: PLC0415
    from incastle.reproduction import figures  # noqa: PLC0415  only here
    from incastle.results import Result  # noqa: PLC0415

    if (flow is not None) + slowest + timeouts > 1:
        raise IncastleError("--flow, --slowest and --timeouts exclude each other")
    if plot is not None:
        figures.form_of(plot)  # told before the run, not after it
    if plot is not None and timeouts:
        raise IncastleError("--plot draws one flow: name it with --flow")
    loaded = Result.load(result, verify=not unverified)
    if timeouts:
        flows = api.timed_out(loaded)
        left_out = 0 if everything else max(0, len(flows) - MOST_FLOWS)
        flows = flows if everything else flows[:MOST_FLOWS]
    else:
        flows = [api.slowest(loaded) if flow is None else api.numbered(loaded, flow)]
        left_out = 0
    if not flows:
        terminal.note(f"no flow of {loaded.name} had a retransmission timeout")
    again = f"{loaded.name}, again"
    try:
        with terminal.json_alone(as_json), terminal.progress_bar(again) as progress:
            found = api.explain_all(loaded, flows, progress, all_timeouts=timeouts) if flows else []
    except Interrupted:
        terminal.error("interrupted while it was run again with a record; nothing is explained")
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        terminal.print_json([one.as_json() for one in found] if timeouts else found[0].as_json())
    else:
        terminal_explain.show(found, only_timeouts=timeouts)
    if left_out:
        terminal.note(f"{left_out} more flows had timeouts (--all explains them, too)")
    if plot is not None:
        draw.save(found[0], plot)
        terminal.note(f"drawn: {plot}")
