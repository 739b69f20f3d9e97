"""`incastle explain`: why a flow took its time."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  typer looks at it
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from incastle import terminal
from incastle.commands.options import AsJson, Size, Style, Unverified  # noqa: TC001  typer looks at it
from incastle.errors import IncastleError, Interrupted
from incastle.interrupts import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from incastle.explanation.api import Explanation
    from incastle.explanation.parts import Step
    from incastle.plotting.options import Options
    from incastle.results import Result

EXAMPLES = (
    "incastle explain results/incast-20-1a2b3c4d",
    "incastle explain results/incast-20-1a2b3c4d --flow storage:3 --plot why.png",
    "incastle explain results/incast-20-1a2b3c4d --timeouts --json",
)

MAX_FLOWS = 5
"""Flows that --timeouts explains without --all."""


def explain(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="A result directory.")],
    flow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N",
            help="The flow to explain: its number, GROUP:INDEX, or GROUP for its slowest. "
            "Repeatable.",
        ),
    ] = None,
    slowest: Annotated[
        bool, typer.Option("--slowest", help="Explain the slowest transfer (the default).")
    ] = False,
    timeouts: Annotated[
        bool, typer.Option("--timeouts", help="Explain the flows with retransmission timeouts.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the flow into this .png, .svg or .pdf file."),
    ] = None,
    style: Style = "screen",
    size: Size = None,
    as_json: AsJson = False,
    everything: Annotated[
        bool,
        typer.Option("--all", help=f"With --timeouts: all flows, not only the first {MAX_FLOWS}."),
    ] = False,
    unverified: Unverified = False,
) -> None:
    """Explain why a flow was slow: what it waited for, and the cause of each timeout.

    Reads the flow's trace events, if the scenario records them ([measure] events). Otherwise the
    scenario is run again with a record; equal digests show that both runs are the same.
    """
    from incastle.explanation import api  # noqa: PLC0415
    from incastle.explanation import drawing as draw  # noqa: PLC0415
    from incastle.results import Result  # noqa: PLC0415

    look = _look(plot, style, size)  # refused before the run, not after it
    if bool(flow) + slowest + timeouts > 1:
        raise IncastleError("only one of --flow, --slowest and --timeouts can be given")
    if everything and not timeouts:
        raise IncastleError("--all is of --timeouts: give both, or name flows with --flow")
    if plot is not None and (timeouts or len(flow or ()) > 1):
        raise IncastleError("--plot draws one flow: name it with --flow")
    loaded = Result.load(result, verify=not unverified)
    flows = api.timed_out(loaded) if timeouts else _named(loaded, flow or [])
    left_out = max(0, len(flows) - MAX_FLOWS) if timeouts and not everything else 0
    flows = flows[: len(flows) - left_out]
    if not flows:
        terminal.note(f"no flow of {loaded.name} had a retransmission timeout{_pending(loaded)}")
    if _shows_facts(loaded, flows, plot, as_json=as_json):
        return
    again = f"{loaded.name}, again"
    try:
        with terminal.json_alone(as_json), terminal.progress_bar(again) as progress:
            found = api.explain_all(loaded, flows, progress, all_timeouts=timeouts) if flows else []
    except Interrupted:
        terminal.error("interrupted while it was run again with a record; nothing is explained")
        raise typer.Exit(INTERRUPTED) from None

    def print_it() -> None:
        if as_json:
            _print_json(found, several=timeouts or len(flow or ()) > 1)
        else:
            _show(found, only_timeouts=timeouts)

    terminal.figure_first(plot, lambda path: draw.save(found[0], path, look), print_it)
    if left_out:
        terminal.note(f"{left_out} more flows had timeouts (--all explains them, too)")


def _shows_facts(result: Result, flows: list[int], plot: Path | None, *, as_json: bool) -> bool:
    """Show what there is of a run in real time; return whether it is one."""
    from incastle.worlds import facts  # noqa: PLC0415  only here

    if not result.world:
        return False
    if plot is not None:
        raise IncastleError(f"--plot: {facts.no_record(result.world['name'])}")
    found = facts.of(result, flows)
    if as_json:
        terminal.print_json(found)
    else:
        for line in facts.sentences(found, result.world["name"]) if found else ():
            terminal.output().print(escape(line), soft_wrap=True)
    return True


def _look(plot: Path | None, style: str, size: str | None) -> Options:
    """Return how the figure looks; refuse what is of no figure."""
    from incastle.plotting import options  # noqa: PLC0415  only here
    from incastle.plotting.style import form_of  # noqa: PLC0415

    if plot is not None:
        form_of(plot)
    elif style != "screen" or size is not None:
        raise IncastleError("--style and --size are of --plot: name its file")
    return options.Options(style=style, size=None if size is None else options.inches(size))


def _named(result: Result, names: Sequence[str]) -> list[int]:
    """Return the flows that were named, each once, or the slowest one."""
    from incastle.explanation import api  # noqa: PLC0415  only here

    found = [api.numbered(result, name) for name in names]
    return list(dict.fromkeys(found)) or [api.slowest(result)]


def _pending(result: Result) -> str:
    """Describe that flows without a timeout may wait for one at the end of the run."""
    from incastle.explanation import api  # noqa: PLC0415  only here

    if not (count := api.without_end(result)):
        return ""
    flows = (
        "1 unfinished flow that lost packets"
        if count == 1
        else (f"{count:,} unfinished flows that lost packets")
    )
    return f" before the run ended; {flows} may wait for one (--slowest names a pending timer)"


def _print_json(explanations: Sequence[Explanation], *, several: bool) -> None:
    of_all = [one.as_json() for one in explanations]
    terminal.print_json(of_all if several else of_all[0])


def _show(explanations: Sequence[Explanation], *, only_timeouts: bool) -> None:
    """Show explanations one after the other, or only their timeouts."""
    console = terminal.output()
    for number, one in enumerate(explanations):
        if number:
            console.print()
        _head(console, one)
        if not only_timeouts:
            _parts(console, one)
        for chain in one.chains:
            kind = f" ({chain.timer.cause})" if chain.timer.cause else ""
            console.print(f"\n[bold]{chain.title}[/]{kind}")
            _steps(console, chain.steps)
        if not only_timeouts:
            console.print("\n[bold]In order[/]")
            _steps(console, one.story)
    if explanations:
        terminal.note(explanations[0].source.description)


def _head(console: Console, one: Explanation) -> None:
    what = f"{escape(one.name)} (flow {one.flow}), {escape(one.hosts[0])} to {escape(one.hosts[1])}"
    console.print(f"[bold]{what}[/]: {one.extent}", soft_wrap=True)
    console.print(f"[bold]{escape(one.headline)}[/]", soft_wrap=True)


def _parts(console: Console, one: Explanation) -> None:
    if not one.path.rows:
        return
    table = terminal.aligned(None, "on its critical path", "time", "share", "most of it at")
    table.columns[-1].justify = "left"
    for *words, port in one.path.rows:
        table.add_row(*words, escape(port))
    console.print()
    console.print(table)


def _steps(console: Console, steps: Sequence[Step]) -> None:
    for step in steps:
        console.print(f"  {step.when:>18}  {escape(step.text)}", soft_wrap=True)
