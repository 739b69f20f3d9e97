"""Trials of searches: candidates are checked, run with every seed, and their rows read back."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from incastle.analysis.measures import Column, columns_of, find_column
from incastle.errors import IncastleError, InternalError, RunError
from incastle.sweeps.conditions import Condition, parse_condition
from incastle.sweeps.plan import Cell, Checker, Plan, Run
from incastle.sweeps.work import header_of
from incastle.toml import as_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incastle.sweeps.dataset import Header
    from incastle.sweeps.work import Work

CHECKED = 1_000
"""Combinations that are all checked before the first run; of more, the corners."""


@dataclass(frozen=True)
class Measures:
    """The measures that a scenario has."""

    columns: tuple[str, ...]
    slowdowns: bool
    """Whether slowdowns are measured."""

    def condition(self, text: str) -> Condition:
        """Read a condition on them."""
        found = parse_condition(text, self.columns)
        for name in found.columns:
            self._check(name)
        return found

    def column(self, name: str) -> Column:
        """Find one by name."""
        found = find_column(name, self.columns)
        self._check(found.name)
        return found

    def _check(self, column: str) -> None:
        """Refuse, before anything is run, what no run would have."""
        if "slowdown" in column.rpartition(".")[2] and not self.slowdowns:
            raise IncastleError(
                f"{column} is not measured: under [measure], write slowdown = true "
                "(--set measure.slowdown=true)"
            )


def measures_of(run: Run) -> Measures:
    """Return the measures of a scenario, from its groups of flows."""
    fields = run.scenario().to_dict()
    slowdowns = bool(fields.get("measure", {}).get("slowdown"))
    return Measures(tuple(columns_of(list(fields["flows"]))), slowdowns)


def check_candidates(plan: Plan) -> Run:
    """Check all candidates, or of very many the corners, and give the first run.

    Raises:
        ScenarioError: with all mistakes.

    """
    if plan.number_of_cells <= CHECKED:
        return plan.check().runs[0]
    checker = Checker(plan.source)
    ends = [(axis.choices[0], axis.choices[-1]) for axis in plan.axes]
    keys = [axis.key for axis in plan.axes]
    corners = (tuple(zip(keys, some, strict=True)) for some in itertools.product(*ends))
    cells = [checker.cell(corner) for corner in itertools.islice(corners, CHECKED)]
    checker.complain()
    right = [cell for cell in cells if cell is not None]
    if 2 ** len(plan.axes) <= CHECKED:
        plan.check_effects(right)
    return plan.runs(right)[0]


def header_for(plan: Plan, first: Run) -> Header:
    """Return the header of a search: no value is tried yet."""
    header = header_of(plan, first, ())
    return replace(header, values={axis.key: [] for axis in plan.axes})


class Trials:
    """Runs candidates and keeps the header's values those that were run."""

    def __init__(self, work: Work, plan: Plan) -> None:
        self.work = work
        self.plan = plan
        self.places = {
            axis.key: {choice.words: place for place, choice in enumerate(axis.choices)}
            for axis in plan.axes
        }

    def rows(self, cells: Sequence[Cell]) -> list[tuple[dict[str, Any], ...]]:
        """Run candidates that are not there yet; give each one's rows of the summary, by seed.

        Raises:
            RunError: a run failed.

        """
        runs = self.attempt(cells)
        failed = {run.name: failure for run, failure in self.work.failures}
        for run in runs:
            if run.name in failed:
                kind = InternalError if failed[run.name].internal else RunError
                raise kind(f"{run.words}: {failed[run.name].message}")
        return [self.rows_of(cell) for cell in cells]

    def attempt(self, cells: Sequence[Cell]) -> tuple[Run, ...]:
        """Run candidates that are not there yet."""
        self._announce(cells)
        runs = self.plan.runs(cells)
        self.work.do(runs)
        return runs

    def rows_of(self, cell: Cell) -> tuple[dict[str, Any], ...]:
        """Return the rows of a candidate whose runs are all finished."""
        return tuple(self.work.dataset.rows(self.plan.runs([cell])))

    def _announce(self, cells: Sequence[Cell]) -> None:
        """Add the candidates' values to sweep.json, in the order of the plan."""
        values = self.work.dataset.header.values
        for key, places in self.places.items():
            by_words = {as_words(value): value for value in values[key]}
            for cell in cells:
                choice = dict(cell.choices)[key]
                by_words[choice.words] = choice.value
            # Combinations of an earlier search come last.
            last = len(places)
            values[key] = [
                by_words[word] for word in sorted(by_words, key=lambda w: places.get(w, last))
            ]
        self.work.dataset.write_header()
