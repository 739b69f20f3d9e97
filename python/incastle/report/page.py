"""The page: a template filled with tables, figures, and explanations of the slowest flows.

It is about one run, about the runs of one scenario that differ by their seeds, or about a sweep,
whose runs have no flows to explain.
"""

from __future__ import annotations

import base64
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from incastle.analysis.parameters import CONTROLS, algorithms, summary
from incastle.errors import IncastleError
from incastle.explanation import api
from incastle.plotting import kinds
from incastle.plotting.options import Options
from incastle.templates import templates
from incastle.units import as_numbers, si

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.table import Table

    from incastle.explanation.api import Explanation
    from incastle.results import Result
    from incastle.runner import Progress
    from incastle.sweeps.dataset import Header
    from incastle.sweeps.sweep import Sweep

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


@dataclass(frozen=True)
class Page:
    """What the template shows.

    Attributes:
        title: the scenario's name, the algorithms and the network.
        facts: seeds, simulated time, digest, version.
        warnings: those of the scenario.
        scenario: it with every default; empty where it is not known.
        tables: those of the terminal.
        notes: what is to be known of their values.
        figures: those that there are data for.
        explained: the slowest flows; None of a sweep.
        trace: the name of the file of a trace next to the page; empty without one.

    """

    title: str
    facts: list[str]
    warnings: Sequence[str]
    scenario: str
    tables: list[Shown]
    notes: Sequence[str]
    figures: list[Drawn]
    explained: Explained | None = None
    trace: str = ""


def explained_of(
    runs: Sequence[Result], progress: Callable[[Progress], object] | None = None
) -> Explained:
    """Explain the slowest flows of the run with the slowest; or return why that is impossible.

    The scenario is run again with a record, unless the result has one; `progress` is called then.
    """
    run = runs[0]
    try:
        run = max(runs, key=api.longest_s)
        flows = api.slowest_flows(run, FLOWS)
        if not flows:
            return Explained(run, [], "No flow of this run has an end.")
        return Explained(run, api.explain_all(run, flows, progress))
    except IncastleError as error:
        return Explained(run, [], str(error))


def of_runs(
    runs: Sequence[Result],
    tables: Sequence[Table],
    notes: Sequence[str],
    explained: Explained,
    trace: str = "",
) -> str:
    """Return the page of runs.

    Args:
        runs: one, or several of one scenario with different seeds.
        tables: those of the terminal.
        notes: what is to be known of their values.
        explained: the slowest flows.
        trace: the name of the file of a trace next to the page.

    """
    first = runs[0]
    simulated = f"{' to '.join(dict.fromkeys(_simulated(runs)))} simulated"
    which = [f"{len(runs)} seeds", simulated]
    if len(runs) == 1:
        which = [f"Seed {first.seed}", simulated, f"digest {first.digest}"]
    stopped = ["interrupted"] if any(one.interrupted for one in runs) else []
    return _rendered(
        Page(
            title=f"{first.name}: {summary(first.scenario)}",
            facts=[*which, f"Incastle {first.version}", *stopped],
            warnings=first.warnings,
            scenario=first.scenario,
            tables=[_table(one) for one in tables],
            notes=notes,
            figures=list(_figures(runs)),
            explained=explained,
            trace=trace,
        )
    )


def of_sweep(sweep: Sweep, tables: Sequence[tuple[str, Table]], notes: Sequence[str]) -> str:
    """Return the page of a sweep."""
    header = sweep.header
    varied = [key for key, values in header.values.items() if len(values) > 1]
    return _rendered(
        Page(
            title=f"{header.name}, by {' and '.join(varied) or 'seed'}",
            facts=[f"{len(sweep.frame):,} runs", f"Incastle {header.version}"],
            warnings=(),
            scenario="",
            tables=[_table(one, title, _proper(header, varied)) for title, one in tables],
            notes=notes,
            figures=list(_figures_of(sweep, varied)),
        )
    )


def _rendered(page: Page) -> str:
    return templates(Path(__file__).parent).get_template("page.html.jinja").render(page=page)


def _simulated(runs: Sequence[Result]) -> list[str]:
    """Return the shortest and the longest simulated time."""
    ordered = sorted(float(one.totals["simulated_s"]) for one in runs)
    return [si(ordered[0], "s"), si(ordered[-1], "s")]


def _proper(header: Header, varied: Sequence[str]) -> list[dict[str, str]]:
    """Return the names of a table's first columns by value: of algorithms those of figures."""
    return [
        algorithms(map(str, header.values[key])) if key.endswith(CONTROLS) else {} for key in varied
    ]


def _table(table: Table, title: str = "", names: Sequence[dict[str, str]] = ()) -> Shown:
    """Read a table of the terminal, without its markup, with other names in its first columns."""
    columns = [[_plain(cell) for cell in column.cells] for column in table.columns]
    for place, proper in enumerate(names):
        columns[place] = [proper.get(text, text) for text in columns[place]]
    head = [_plain(column.header).replace("\n", " ") for column in table.columns]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Shown(title or _plain(table.title or ""), head, rows)


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else Text.from_markup(str(cell)).plain.strip()


def _figures(runs: Sequence[Result]) -> Iterator[Drawn]:
    """Draw each kind of plot that the runs have data for."""
    for name, kind in kinds.KINDS.items():
        if name == "queue" and "queue_samples" not in runs[0].tables:
            continue  # it would be queue-cdf once more
        found = _drawn(list(runs), name, Options(title=""), DETAILS.split(kind.description)[0])
        if found is not None:
            yield found


def _figures_of(sweep: Sweep, varied: Sequence[str]) -> Iterator[Drawn]:
    """Draw the measures of a sweep over the first of its keys that has numbers."""
    values = sweep.header.values
    numeric = [key for key in varied if as_numbers(values[key]) is not None]
    for key in (numeric or [*varied])[:1]:
        for name in kinds.MEASURES:
            title = f"{name.replace('-', ' ').replace('fct', 'FCT')} by {key}"
            found = _drawn(sweep, name, Options(by=key, title=""), title)
            if found is not None:
                yield found


def _drawn(drawn: Sweep | list[Result], kind: str, options: Options, title: str) -> Drawn | None:
    """Draw a kind; None where there is no such table, or nothing in it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "figure.png"
        try:
            _, source = kinds.draw(drawn, kind, options, out=place)
        except IncastleError:
            return None
        image = base64.b64encode(place.read_bytes()).decode()
    return Drawn(title, f"data:image/png;base64,{image}", source)
