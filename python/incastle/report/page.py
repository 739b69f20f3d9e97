"""The page: a template filled with the tables of `run`, all plots, and explanations of flows."""

from __future__ import annotations

import base64
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from incastle.errors import IncastleError
from incastle.explanation import api, words
from incastle.explanation.path import PARTS
from incastle.explanation.record import picoseconds
from incastle.plotting import kinds
from incastle.plotting.options import Options
from incastle.templates import templates
from incastle.units import si

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.table import Table

    from incastle.explanation.api import Explanation
    from incastle.results import Result
    from incastle.runner import Progress

FLOWS = 5
"""Flows that are explained."""


@dataclass(frozen=True)
class Shown:
    """A table of the page: title, head, rows."""

    title: str
    head: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Drawn:
    """A figure of the page: title, address of the image, and its source in words."""

    title: str
    image: str
    source: str


def write(
    result: Result,
    tables: Sequence[Table],
    progress: Callable[[Progress], object] | None = None,
) -> str:
    """Return the page of a result; its scenario may be run again for the explanations."""
    explained, unexplained = _explained(result, progress)
    return (
        templates(Path(__file__).parent)
        .get_template("page.html.jinja")
        .render(
            result=result,
            simulated=si(float(result.totals["simulated_s"]), "s"),
            tables=[_table(one) for one in tables],
            figures=list(_figures(result)),
            explained=explained,
            unexplained=unexplained,
            parts=_parts,
            began=lambda one: words.instant(picoseconds(one.began_s)),
            at=lambda step: words.instant(step.at),
        )
    )


def _table(table: Table) -> Shown:
    """Read a table of the terminal, without its markup."""
    columns = [[_plain(cell) for cell in column.cells] for column in table.columns]
    head = [_plain(column.header).replace("\n", " ") for column in table.columns]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Shown(_plain(table.title or ""), head, rows)


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else Text.from_markup(str(cell)).plain.strip()


def _figures(result: Result) -> Iterator[Drawn]:
    """Draw each kind of plot that the result has data for."""
    with tempfile.TemporaryDirectory() as folder:
        for name, kind in kinds.KINDS.items():
            place = Path(folder) / f"{name}.png"
            try:
                _, source = kinds.draw([result], name, Options(title=""), out=place)
            except IncastleError:  # no such table, or nothing in it
                continue
            image = base64.b64encode(place.read_bytes()).decode()
            title = kind.description.partition(" ([")[0].partition("; ")[0]
            yield Drawn(title, f"data:image/png;base64,{image}", source)


def _explained(
    result: Result, progress: Callable[[Progress], object] | None
) -> tuple[list[Explanation], str]:
    """Explain the slowest flows; where that is impossible, return the reason."""
    try:
        flows = api.slowest_flows(result, FLOWS)
        if not flows:
            return [], "No flow of this run has an end."
        return api.explain_all(result, flows, progress), ""
    except IncastleError as error:
        return [], str(error)


def _parts(one: Explanation) -> list[list[str]]:
    """Return the rows of an explanation: part, time, share, the port with most of it."""
    return [
        [
            PARTS[kind],
            words.span(span),
            f"{100 * span / one.path.span:.1f} %",
            next(iter(one.path.by_port(kind))),
        ]
        for kind, span in one.path.by_kind().items()
    ]
