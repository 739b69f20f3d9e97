"""The values that a sweep gives to a key: `2,4,8`, `1..20`, `"10 ms","1 s"`, `[[...], [...]]`.

A string is read as TOML where it is TOML, as `--set` of every command does. In a sweep a list is a
list of values, so that a value which is a list itself stands in a list of lists.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from incastle.errors import IncastleError
from incastle.scenario import Value, as_words, one_line_toml

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def axis_from_text(key: str, text: str) -> Axis:
    """Read what stands after `KEY=`.

    Raises:
        IncastleError: a value is missing or given twice, or a range has no end.

    """
    listed = _as_list(text)
    if listed is not None:
        return axis_from_values(key, listed)
    choices: list[Choice] = []
    parts = _split(text)
    _check_units(key, text, parts)
    for part in parts:
        if not part:
            raise IncastleError(f"--set {key}={text}: a value is missing next to a comma")
        choices += _range(key, part) or [_choice(part)]
    return _distinct(Axis(key, tuple(choices)))


def _check_units(key: str, text: str, parts: list[str]) -> None:
    """Refuse `1,2,5 ms`: the unit at the end is that of the last value alone."""
    last = QUANTITY.fullmatch(parts[-1])
    bare = [part for part in parts if NUMBER.fullmatch(part)]
    if last is not None and bare:
        meant = ",".join(f"{part} {last['unit']}" if part in bare else part for part in parts)
        raise IncastleError(f"--set {key}={text}: each value needs its unit; did you mean {meant}?")


def axis_from_values(key: str, values: Iterable[Value] | str) -> Axis:
    """Take the values of a key from Python; a string is read as after `KEY=`.

    Raises:
        IncastleError: there are none, or one is given twice, or is nothing that TOML can write.

    """
    if isinstance(values, str):
        return axis_from_text(key, values)
    try:
        choices = tuple(Choice(one_line_toml(value), value) for value in values)
    except TypeError as error:
        raise IncastleError(f"{key}: {error}") from None
    return _distinct(Axis(key, choices))


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


def _range(key: str, text: str) -> list[Choice]:
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
            f"--set {key}={text}: from {first} to {last} there are {max(count, 0):,} values; "
            f"a range ascends and has at most {MAX_IN_A_RANGE:,}"
        )
    numbers = (first + step * place for place in range(count))
    return [_choice(f"{number:f} {unit}" if unit else f"{number:f}") for number in numbers]
