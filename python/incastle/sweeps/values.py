"""The values that a sweep gives to a key: `2,4,8`, `1..20`, `"10 ms","1 s"`, `[[...], [...]]`.

A string is read as TOML where it is TOML, as `--set` of every command does. In a sweep a list is a
list of values, so that a value which is a list itself stands in a list of lists.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from incastle.errors import IncastleError
from incastle.scenario import Value, plain
from incastle.toml import as_words, one_line_toml
from incastle.units import as_numbers

MAX_IN_A_RANGE = 1_000_000
"""Values of one range: more can only be a slip of the hand."""

RANGE = re.compile(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)(?: +(\S.*))?")
"""`2..10`, `0.1..0.9`, `1..200 ms`."""

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:\.\.-?\d+(?:\.\d+)?)?")
QUANTITY = re.compile(rf"{NUMBER.pattern} *(?P<unit>[A-Za-z%][A-Za-z/]*)")
"""`5 ms`, `1..200 ms`."""

OPENING, CLOSING = "[{", "]}"


@dataclass(frozen=True)
class Choice:
    """One value of a key: as it is written after `--set`, and what that means."""

    text: str
    value: Value

    @property
    def words(self) -> str:
        """The value as a string for tables, messages and columns of strings."""
        return as_words(self.value)


@dataclass(frozen=True)
class Axis:
    """A key and the values that it is given, in their order."""

    key: str
    choices: tuple[Choice, ...]

    @property
    def kind(self) -> str:
        """The type of this key's column: "integer", "number", "boolean" or "text"."""
        return kind_of(choice.value for choice in self.choices)

    @property
    def ascends(self) -> bool:
        """Whether the values are numbers or quantities in ascending order."""
        numbers = as_numbers([choice.value for choice in self.choices])
        return numbers is not None and sorted(numbers[0]) == numbers[0]


def kind_of(values: Iterable[Value]) -> str:
    """Name what a column must hold to take all of these values."""
    types = {type(value) for value in values}
    if types == {int}:
        return "integer"
    if types <= {int, float}:
        return "number"
    return "boolean" if types == {bool} else "text"


def takes(kind: str, other: str) -> bool:
    """Return whether a column of one kind can hold values of another."""
    return kind in {"text", other} or (kind == "number" and other == "integer")


def axis_from_text(key: str, text: str, option: str = "--set") -> Axis:
    """Read what stands after `KEY=` of an option.

    A unit at the end is that of all numbers without one: `10,50,100 KB`.

    Raises:
        IncastleError: a value is missing or given twice, or a range has no end.

    """
    listed = _as_list(text)
    if listed is not None:
        return axis_from_values(key, listed)
    choices: list[Choice] = []
    for part in _with_unit(_split(text)):
        if not part:
            raise IncastleError(f"{option} {key}={text}: a value is missing next to a comma")
        choices += _range(f"{option} {key}", part) or [_choice(part)]
    return _distinct(Axis(key, tuple(choices)))


def _with_unit(parts: list[str]) -> list[str]:
    """Return the values, numbers without a unit with that of the last one."""
    last = QUANTITY.fullmatch(parts[-1])
    if last is None:
        return parts
    return [f"{part} {last['unit']}" if NUMBER.fullmatch(part) else part for part in parts]


def axes_of(values: object) -> tuple[Axis, ...]:
    """Take keys and their values from Python.

    Raises:
        TypeError: it is no mapping.
        IncastleError: a value is missing or given twice.

    """
    if not isinstance(values, Mapping):
        raise TypeError(
            f"keys with their values are expected, found {values!r}: write a dictionary such as "
            '{"network.senders": [2, 4, 8]}, or {"network.senders": "2,4,8"}'
        )
    return tuple(axis_from_values(key, some) for key, some in values.items())


def axis_from_values(key: str, values: Iterable[Value] | str) -> Axis:
    """Take the values of a key from Python; a string is read as after `KEY=`.

    Raises:
        TypeError: they are no list, or one is nothing that TOML can write.
        IncastleError: there are none, or one is given twice.

    """
    if isinstance(values, str):
        return axis_from_text(key, values)
    if not isinstance(values, Iterable) or isinstance(values, Mapping | bytes):
        raise TypeError(f"{key}: a list of values is expected, found {values!r}: [{values!r}]?")
    of_python = [plain(value, key) for value in values]
    return _distinct(Axis(key, tuple(Choice(one_line_toml(one), one) for one in of_python)))


def _distinct(axis: Axis) -> Axis:
    if not axis.choices:
        raise IncastleError(f"{axis.key}: no value to run with")
    seen: set[str] = set()
    for choice in axis.choices:
        if choice.words in seen:
            raise IncastleError(f"{axis.key}: the value {choice.words} is given twice")
        seen.add(choice.words)
    return axis


def _as_list(text: str) -> list[Any] | None:
    """Return the values of a TOML list; none if the text is something else."""
    if not text.startswith("["):
        return None
    try:
        value = tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return None
    return value if isinstance(value, list) else None


def _split(text: str) -> list[str]:
    """Split at the commas that stand in no quotes, brackets or braces."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        else:
            depth += (letter in OPENING) - (letter in CLOSING)
        if letter == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _choice(text: str) -> Choice:
    try:
        value = tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return Choice(text, text)
    simple = isinstance(value, str | int | float | list | dict)
    return Choice(text, value if simple else text)


def _range(whose: str, text: str) -> list[Choice]:
    """Return the values of `FROM..TO [UNIT]`, both ends included; nothing if it is no range.

    They are one unit of the last written digit apart: `0.1..0.9` has nine values.
    """
    found = RANGE.fullmatch(text)
    if found is None:
        return []
    first, last, unit = Decimal(found[1]), Decimal(found[2]), found[3]
    digits = max(len(end.partition(".")[2]) for end in (found[1], found[2]))
    step = Decimal(1).scaleb(-digits)
    count = int((last - first) / step) + 1
    if not 1 <= count <= MAX_IN_A_RANGE:
        raise IncastleError(
            f"{whose}={text}: from {first} to {last} there are {max(count, 0):,} values; "
            f"a range ascends and has at most {MAX_IN_A_RANGE:,}"
        )
    numbers = (first + step * place for place in range(count))
    return [_choice(f"{number:f} {unit}" if unit else f"{number:f}") for number in numbers]
