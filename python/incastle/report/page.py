"""The page: a template filled with tables, figures, and explanations of the slowest flows.

It is about one run, or about the runs of one scenario that differ by their seeds.
"""

from __future__ import annotations

import base64
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from incastle.analysis.parameters import summary
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
DETAILS = re.compile(r"; | \(\[|: samples ")
"""What begins the part of a kind's description that is not about its picture."""


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


@dataclass(frozen=True)
class Explained:
    """The slowest flows: of which run, their explanations, or why there are none."""

    run: Result
    flows: list[Explanation]
    why_none: str = ""


def write(
    runs: Sequence[Result],
    tables: Sequence[Table],
    notes: Sequence[str],
    progress: Callable[[Progress], object] | None = None,
) -> str:
    """Return the page of runs; the scenario may be run again for the explanations.

    Args:
        runs: one, or several of one scenario with different seeds.
        tables: those of the terminal.
        notes: what is to be known of their values.
        progress: called while it is run again.

    """
    return (
        templates(Path(__file__).parent)
        .get_template("page.html.jinja")
        .render(
            first=runs[0],
            runs=runs,
            what=summary(runs[0].scenario),
            simulated=" to ".join(dict.fromkeys(_simulated(runs))),
            notes=notes,
            tables=[_table(one) for one in tables],
            figures=list(_figures(runs)),
            explained=_explained(runs, progress),
            parts=_parts,
            began=lambda one: words.instant(picoseconds(one.began_s)),
            at=lambda step: words.instant(step.at),
        )
    )


def _simulated(runs: Sequence[Result]) -> list[str]:
    """Return the shortest and the longest simulated time."""
    ordered = sorted(float(one.totals["simulated_s"]) for one in runs)
    return [si(ordered[0], "s"), si(ordered[-1], "s")]


def _table(table: Table) -> Shown:
    """Read a table of the terminal, without its markup."""
    columns = [[_plain(cell) for cell in column.cells] for column in table.columns]
    head = [_plain(column.header).replace("\n", " ") for column in table.columns]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Shown(_plain(table.title or ""), head, rows)


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else Text.from_markup(str(cell)).plain.strip()


def _figures(runs: Sequence[Result]) -> Iterator[Drawn]:
    """Draw each kind of plot that the runs have data for."""
    without = set() if "queue_samples" in runs[0].tables else {"queue"}  # it would be queue-cdf
    with tempfile.TemporaryDirectory() as folder:
        for name, kind in kinds.KINDS.items():
            if name in without:
                continue
            place = Path(folder) / f"{name}.png"
            try:
                _, source = kinds.draw(list(runs), name, Options(title=""), out=place)
            except IncastleError:  # no such table, or nothing in it
                continue
            image = base64.b64encode(place.read_bytes()).decode()
            title = DETAILS.split(kind.description)[0]
            yield Drawn(title, f"data:image/png;base64,{image}", source)


def _explained(runs: Sequence[Result], progress: Callable[[Progress], object] | None) -> Explained:
    """Explain the slowest flows of the run with the slowest; or return why that is impossible."""
    run = max(runs, key=api.longest_s)
    try:
        flows = api.slowest_flows(run, FLOWS)
        if not flows:
            return Explained(run, [], "No flow of this run has an end.")
        return Explained(run, api.explain_all(run, flows, progress))
    except IncastleError as error:
        return Explained(run, [], str(error))


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
