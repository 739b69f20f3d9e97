"""Changes to the experiments of a paper: other values of what it leaves open, or of anything else.

A paper's `open.toml` declares what its document leaves open: `[[open]]` with the value taken, the
reason, the place, and other values as overrides of scenario keys. `cases` there has the readings
for which claims have cases already, in groups: the first of each is the one that was taken.

A value's overrides reach the experiments whose scenario has what `where` asks for: for each key
one of some values. They may compute with the experiment's own numbers: `with` names them, in
seconds, bytes, bits per second or packets, and expressions stand in braces. With `written` each key
reaches only scenarios that have it.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from incastle.analysis.expressions import Scope
from incastle.errors import IncastleError
from incastle.reproduction.papers import OPEN, Length, Observations
from incastle.units import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path


class ChangeError(IncastleError):
    """An open.toml that cannot be read, or a paper that declares nothing."""


@dataclass(frozen=True)
class Setting:
    """A value of a parameter: its name, and the keys that set it; none for the one taken."""

    parameter: str
    name: str
    keys: Mapping[str, str] = field(hash=False)
    where: Mapping[str, Sequence[str]] = field(hash=False)
    numbers: Mapping[str, str] = field(hash=False)
    place: str = field(default="", hash=False)
    written: bool = field(default=False, hash=False)
    """Whether each key reaches only scenarios that have it."""

    def __str__(self) -> str:
        """Name it with its parameter."""
        return f"{self.parameter}: {self.name}"

    def overrides(self, scenario: Path, own: Mapping[str, str]) -> dict[str, str]:
        """Give what it sets in an experiment with these overrides; nothing where it is not meant.

        Args:
            scenario: the experiment's scenario.
            own: the experiment's overrides.

        """
        if not all(_at(scenario, own, key) in values for key, values in self.where.items()):
            return {}
        names = {name: _number(_at(scenario, own, key)) for name, key in self.numbers.items()}
        if None in names.values():
            return {}
        scope = Scope(Observations(Length.DEFAULT), names, {})
        return {
            key: scope.fill(text)
            for key, text in self.keys.items()
            if not self.written or _at(scenario, own, key) is not None
        }


@dataclass(frozen=True)
class Parameter:
    """A parameter with its values, the one taken first."""

    name: str
    values: tuple[Setting, ...]
    place: str

    @property
    def taken(self) -> Setting:
        """The value of the paper's own experiments."""
        return self.values[0]

    @property
    def others(self) -> tuple[Setting, ...]:
        """The other values."""
        return self.values[1:]

    @classmethod
    def of(cls, table: Mapping[str, Any], path: Path) -> Parameter:
        """Read it from a table with name, values, and perhaps place, where and with."""
        name, place, values = table["name"], table.get("place", ""), table["values"]
        where = {key: tuple(of) for key, of in table.get("where", {}).items()}
        if not values or next(iter(values.values())):
            raise ChangeError(f"{path}: {name}: the first value is the one taken, and sets no key")
        more = (where, table.get("with", {}), place, table.get("written", False))
        found = (Setting(name, one, keys, *more) for one, keys in values.items())
        return cls(name, tuple(found), place)


@dataclass(frozen=True)
class OpenPoints:
    """What a paper leaves open, as far as other values can be run."""

    parameters: tuple[Parameter, ...]
    cases: tuple[tuple[str, ...], ...]
    """Cases of claims that are readings, in groups; the first of each group is the one taken."""
    nearest: tuple[Setting, ...]
    """The reading that comes nearest to the paper, where its report runs one."""


@cache
def open_points(folder: Path) -> OpenPoints:
    """Read what the paper in a folder leaves open; nothing where it declares none."""
    path = folder / OPEN
    if not path.exists():
        return OpenPoints((), (), ())
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    of = tuple(Parameter.of(one, path) for one in found["open"] if "values" in one)
    asked = found.get("nearest", {})
    nearest = tuple(
        one for point in of for one in point.values if asked.get(point.name) == one.name
    )
    if len(nearest) < len(asked):
        raise ChangeError(f"{path}: [nearest] names a point or a value that is not declared")
    cases = tuple(tuple(group) for group in found.get("cases", ()))
    return OpenPoints(of, cases, nearest)


def other_cases(groups: Sequence[Sequence[str]]) -> set[str]:
    """Give the cases of readings that were not taken."""
    return {case for group in groups for case in group[1:]}


def changed(
    scenario: Path, overrides: Mapping[str, str], settings: Iterable[Setting]
) -> dict[str, str]:
    """Give the overrides of an experiment with some settings, in their order."""
    found = dict(overrides)
    for one in settings:
        found |= one.overrides(scenario, overrides)
    return found


def _at(scenario: Path, own: Mapping[str, str], key: str) -> str | None:
    """Give the text of a key: the experiment's override, else what the scenario has."""
    if key in own:
        return own[key]
    found: Any = _scenario(scenario)
    for part in key.split("."):
        if not isinstance(found, dict) or part not in found:
            return None
        found = found[part]
    return str(found)


@cache
def _scenario(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _number(text: str | None) -> float | None:
    parsed = None if text is None else parse(text)
    return None if parsed is None else parsed[0]
