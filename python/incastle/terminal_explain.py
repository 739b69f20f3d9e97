"""What `incastle explain` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from incastle import terminal
from incastle.explanation import words
from incastle.explanation.api import PARTS
from incastle.explanation.record import picoseconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from incastle.explanation.api import Explanation
    from incastle.explanation.timeouts import Step

WHAT = {"flow": "all of it", "response": "its slowest response", "step": "its slowest step"}


def show(explanations: Sequence[Explanation], *, only_timeouts: bool) -> None:
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
            whose = "" if chain.timer.end == "sender" else " of the receiver"
            console.print(f"\n[bold]Timeout{whose} at {words.instant(chain.timer.at)}[/]{kind}")
            _steps(console, chain.steps)
        if not only_timeouts:
            console.print("\n[bold]In order[/]")
            _steps(console, one.story)
    if explanations:
        terminal.note(explanations[0].source.told)


def _head(console: Console, one: Explanation) -> None:
    size = "" if one.bytes is None else f", {one.bytes:,} B"
    began = words.instant(picoseconds(one.began_s))
    ended = one.ended_s
    until = "" if ended is None else f" to {words.instant(picoseconds(ended))}"
    state = "" if one.complete or one.kind == "open" else ", not complete when the run ended"
    what = f"{escape(one.name)} (flow {one.flow}), {escape(one.hosts[0])} to {escape(one.hosts[1])}"
    kind = WHAT.get(one.kind, "it has no end")
    text = f"[bold]{what}[/]: {kind}{size}, from {began}{until}{state}"
    console.print(text, soft_wrap=True)
    console.print(f"[bold]{escape(one.headline)}[/]", soft_wrap=True)


def _parts(console: Console, one: Explanation) -> None:
    by_kind = one.path.by_kind()
    if not by_kind:
        return
    table = terminal.aligned(None, "its time was spent", "time", "share", "most of it at")
    table.columns[-1].justify = "left"
    for kind, span in by_kind.items():
        port = next(iter(one.path.by_port(kind)))
        share = f"{100 * span / one.path.span:.1f} %"
        table.add_row(PARTS[kind], words.span(span), share, escape(port))
    console.print()
    console.print(table)


def _steps(console: Console, steps: Sequence[Step]) -> None:
    for step in steps:
        console.print(f"  {words.instant(step.at):>18}  {escape(step.text)}", soft_wrap=True)
