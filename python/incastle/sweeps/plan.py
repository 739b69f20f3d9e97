"""The plan of a sweep: which runs there are, each with the name under which its result is kept.

A run is identified by its swept values, its seed and its complete scenario, defaults and the
content of files included. Two sweeps that have a run in common give it the same
name, so that a sweep with more values or more seeds finds what is there already.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from incastle.errors import Diagnostic, IncastleError, ScenarioError
from incastle.scenario import FOR_SWEEPS, Scenario, Value, read_text, source_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from incastle.controllers.sources import Bound
    from incastle.sweeps.values import Axis, Choice

MAX_MISTAKES = 20
"""Mistakes that are reported: a wrong unit in a long list is understood before that."""

SEED = "run.seed"


@dataclass(frozen=True)
class Source:
    """A scenario before it is checked: it may lack what the sweep gives it."""

    text: str
    file: str
    settings: tuple[tuple[str, str], ...] = ()
    controllers: Mapping[str, Bound] = field(default_factory=dict, hash=False)
    option: str = "--set"
    """The option with the values that are tried."""

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        settings: Sequence[tuple[str, str]] = (),
        option: str = "--set",
    ) -> Source:
        """Read a file; settings are (key, value) as after `--set`."""
        return cls(read_text(path), str(path), tuple(settings), option=option)

    @classmethod
    def of(cls, scenario: Scenario) -> Source:
        """Take a scenario apart again."""
        return cls(*source_of(scenario))

    def first_seed(self, axes: Sequence[Axis]) -> int:
        """Return the scenario's own seed, or 0 where mistakes hide it, which are reported later."""
        try:
            return self.first_scenario(axes).seed
        except ScenarioError:
            return 0

    def first_scenario(self, axes: Sequence[Axis]) -> Scenario:
        """Return the scenario with the first value of each axis."""
        return self.scenario([(axis.key, axis.choices[0].text) for axis in axes])

    def scenario(self, settings: Sequence[tuple[str, str]]) -> Scenario:
        """Check the scenario with more settings, as they are written after `--set`."""
        overrides = (*self.settings, *settings)
        try:
            return Scenario(self.text, self.file, overrides, self.controllers)
        except ScenarioError as broken:
            raise ScenarioError(
                [self._as_typed(one, settings) for one in broken.diagnostics]
            ) from None

    def _as_typed(self, one: Diagnostic, settings: Sequence[tuple[str, str]]) -> Diagnostic:
        """Name the option that a value was given with."""
        if one.file not in [f"--set {key}={value}" for key, value in settings]:
            return one
        help_ = one.help and one.help.replace(FOR_SWEEPS, "several values are written")
        return replace(one, file=one.file.replace("--set", self.option, 1), help=help_)


@dataclass(frozen=True)
class Cell:
    """One combination of values, checked: its runs differ by their seeds alone."""

    choices: tuple[tuple[str, Choice], ...]
    digest: str
    """The hash of the complete scenario and of the values' words."""
    scenario: str
    """The hash of the complete scenario, without the defaults that no group of flows takes."""

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """The arguments of `--set`."""
        return tuple((key, choice.text) for key, choice in self.choices)

    @property
    def words(self) -> str:
        """The combination for messages."""
        return ", ".join(f"{key}={choice.words}" for key, choice in self.choices) or "as it is"


@dataclass(frozen=True)
class Run:
    """One run: a cell and a seed."""

    source: Source
    cell: Cell
    seed: int

    @property
    def name(self) -> str:
        """The name of its files: 20 hexadecimal digits."""
        return _hash(f"{self.cell.digest} {self.seed}")

    @property
    def words(self) -> str:
        """The run for messages."""
        return f"{self.cell.words}, seed {self.seed}"

    @property
    def values(self) -> dict[str, Value]:
        """The swept values by key."""
        return {key: choice.value for key, choice in self.cell.choices}

    def scenario(self) -> Scenario:
        """Return what is to be simulated."""
        return self.source.scenario((*self.cell.settings, (SEED, str(self.seed))))


@dataclass(frozen=True)
class Plan:
    """Every combination of the axes' values, each with every seed."""

    source: Source
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse a key that is given twice, and the seed, which has its own option."""
        keys = [axis.key for axis in self.axes]
        for key in keys:
            if keys.count(key) > 1:
                raise IncastleError(f"{key} is given twice: give all its values in one list")
        if SEED in keys:
            raise IncastleError(f"{SEED}: --seed gives the first seed, --seeds how many there are")

    @property
    def number_of_cells(self) -> int:
        """How many combinations there are."""
        return math.prod(len(axis.choices) for axis in self.axes)

    @property
    def number_of_runs(self) -> int:
        """How many runs there are."""
        return self.number_of_cells * len(self.seeds)

    def combinations(self) -> Iterator[tuple[tuple[str, Choice], ...]]:
        """Yield the combinations, the last key's values changing fastest."""
        keys = [axis.key for axis in self.axes]
        for choices in itertools.product(*(axis.choices for axis in self.axes)):
            yield tuple(zip(keys, choices, strict=True))

    def combination(self, place: int) -> tuple[tuple[str, Choice], ...]:
        """Return one of the combinations, by its place among all."""
        chosen = []
        for axis in reversed(self.axes):
            place, index = divmod(place, len(axis.choices))
            chosen.append((axis.key, axis.choices[index]))
        return tuple(reversed(chosen))

    def check(self, report: Callable[[int], object] | None = None) -> Checked:
        """Check every combination before the first run; `report` is called with the number done.

        Raises:
            ScenarioError: with all mistakes, each once, however many combinations have it.

        """
        checker = Checker(self.source)
        cells = []
        for done, combination in enumerate(self.combinations(), 1):
            cell = checker.cell(combination)
            if cell is not None:
                cells.append(cell)
            if len(checker.mistakes) >= MAX_MISTAKES:
                break
            if report is not None:
                report(done)
        checker.complain()
        self.check_effects(cells)
        return Checked(self.runs(cells), tuple(checker.warnings.values()))

    def check_effects(self, cells: Sequence[Cell]) -> None:
        """Refuse a key whose values all give the same scenario, whatever the others are."""
        for axis in self.axes:
            by_others: dict[tuple[str, ...], set[str]] = {}
            for cell in cells:
                others = tuple(choice.words for key, choice in cell.choices if key != axis.key)
                by_others.setdefault(others, set()).add(cell.scenario)
            if len(axis.choices) > 1 and all(len(those) == 1 for those in by_others.values()):
                own = f"; a group of flows has its own as flows.NAME.{axis.key}"
                remedy = own if axis.key.startswith("transport.") else ""
                raise IncastleError(
                    f"{self.source.option} {axis.key}: it has no effect here, all "
                    f"{len(axis.choices)} values give the same scenario; "
                    f"`incastle check` names the keys that it needs{remedy}"
                )

    def runs(self, cells: Sequence[Cell]) -> tuple[Run, ...]:
        """Return the runs of some cells, cell by cell."""
        return tuple(Run(self.source, cell, seed) for cell in cells for seed in self.seeds)


@dataclass(frozen=True)
class Checked:
    """The runs of a plan without mistakes, and what is probably not as intended in them."""

    runs: tuple[Run, ...]
    warnings: tuple[Diagnostic, ...]


class Checker:
    """Checks combinations and collects mistakes and warnings, each once."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.checked = 0
        self.mistakes: dict[tuple[str, str], Diagnostic] = {}
        self.broken: dict[tuple[str, str], list[tuple[tuple[str, Choice], ...]]] = {}
        self.warnings: dict[tuple[str, str], Diagnostic] = {}

    def cell(self, combination: tuple[tuple[str, Choice], ...]) -> Cell | None:
        """Check one combination; none if it has mistakes."""
        self.checked += 1
        try:
            scenario = self.source.scenario([(key, choice.text) for key, choice in combination])
        except ScenarioError as broken:
            _add(self.mistakes, broken.diagnostics)
            for one in broken.diagnostics:
                self.broken.setdefault(_identity(one), []).append(combination)
            return None
        _add(self.warnings, scenario.warnings)
        # The words, too: two forms of a value may resolve to the same scenario. The order of the
        # keys makes no other combination.
        words = json.dumps(sorted((key, choice.words) for key, choice in combination))
        resolved = scenario.resolved
        return Cell(combination, _hash(f"{words}\n{resolved}"), _hash(_in_effect(resolved)))

    def complain(self) -> None:
        """Raise if there was a mistake."""
        if self.mistakes:
            raise ScenarioError([self._with_combination(one) for one in self.mistakes.values()])

    def _with_combination(self, mistake: Diagnostic) -> Diagnostic:
        """Name the values of the first combination with a mistake, unless its key or all say it."""
        first, *others = self.broken[_identity(mistake)]
        if len(first) == 1 or 1 + len(others) == self.checked:
            return mistake
        if mistake.severity != "error" or mistake.key in dict(first):
            return mistake
        values = ", ".join(f"{key}={choice.words}" for key, choice in first)
        more = f" and {len(others)} more" if others else ""
        return replace(mistake, message=f"{mistake.message} (with {values}{more})")


def _identity(one: Diagnostic) -> tuple[str, str]:
    # An unknown key has one message, however many values it is given.
    return (one.key or one.place, one.message)


def _add(there: dict[tuple[str, str], Diagnostic], found: Sequence[Diagnostic]) -> None:
    for one in found:
        there.setdefault(_identity(one), one)


def _in_effect(resolved: str) -> str:
    """Return a complete scenario without `[transport]`: every group of flows has all its keys."""
    return re.sub(r"(?ms)^\[transport\]\n.*?(?=^\[(?!transport\.)|\Z)", "", resolved)


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()
