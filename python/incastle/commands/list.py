"""`incastle list`: what a scenario can name, the papers, the kinds of plots."""

from __future__ import annotations

import difflib
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from incastle import _engine, terminal
from incastle.commands.options import AsJson  # noqa: TC001  typer looks at it
from incastle.errors import IncastleError

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = ("incastle list algorithms", "incastle list papers")


class Listing(StrEnum):
    """The lists of `incastle list`."""

    ALGORITHMS = "algorithms"
    PRESETS = "presets"
    QUEUES = "queues"
    SAMPLING = "sampling"
    TOPOLOGIES = "topologies"
    TRANSPORTS = "transports"
    WORKLOADS = "workloads"
    SIZES = "sizes"
    MEASURES = "measures"
    PAPERS = "papers"
    PLOTS = "plots"


def list_(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="LIST",
            help=f"One of {', '.join(Listing)}.",
            show_default="everything",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the names that a scenario can use, the papers, the measures or the kinds of plots."""
    what = None if name is None else _named(name)
    lists = {one.value: _listing(one) for one in ([what] if what else Listing)}
    if as_json:
        named = {
            title: [{"name": entry, "description": text} for entry, text in entries]
            for title, entries in lists.items()
        }
        terminal.print_json(named[what.value] if what else named)
        return
    for title, entries in lists.items():
        _show(entries, title=None if what else title)


def _named(name: str) -> Listing:
    """Return the list of this name; its singular is enough."""
    found = name.lower()
    for one in Listing:
        if found in {one.value, one.value.removesuffix("s"), one.value.removesuffix("ies") + "y"}:
            return one
    near = difflib.get_close_matches(found, list(Listing), 1)
    meant = f"did you mean {near[0]}? " if near else ""
    raise IncastleError(f"no list {name!r}: {meant}there are {', '.join(Listing)}")


def _listing(what: Listing) -> list[tuple[str, str]]:
    if what is Listing.PAPERS:
        from incastle.reproduction import papers as module  # noqa: PLC0415  only here

        return [(name, paper.listed()) for name, paper in module.discover().items()]
    if what is Listing.MEASURES:
        from incastle.analysis import measures  # noqa: PLC0415  only here

        return list(measures.listed())
    if what is Listing.PLOTS:
        from incastle.plotting import kinds as plots  # noqa: PLC0415  only here

        return list(plots.kinds())
    return dict(_engine.catalog())[what.value]


def _show(entries: Sequence[tuple[str, str]], title: str | None) -> None:
    """Show names and what they stand for."""
    if title is not None:
        terminal.output().print(f"[bold underline]{title}[/]")
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for name, description in entries:
        table.add_row(escape(name), escape(description))
    terminal.output().print(table)
    if title is not None:
        terminal.output().print()
