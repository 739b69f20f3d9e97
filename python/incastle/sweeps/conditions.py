"""Conditions on the measures of a run: `goodput > 0.9 Gbit/s and timeouts == 0`.

The language is this and nothing more: comparisons of a measure with a quantity, joined by `and`.
A measure that a run does not have (an FCT where nothing began) fulfils nothing. One that unfinished
transfers could change is an interval: a comparison holds if it holds for all of it.
"""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incastle.analysis.measures import SHARES, ends_in, find_column, shortened
from incastle.errors import IncastleError
from incastle.units import SCALES, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
COMPARISON = re.compile(r"\s*([\w.-]+)\s*([<>=!]+)\s*(.+?)\s*")
PERCENT = 100
JOINED = re.compile(r"\s+and\s+")
OTHERWISE = re.compile(r"\s+or\s+|\|\||&&|,|\bnot\b")
"""Other ways to join comparisons."""


@dataclass(frozen=True)
class Comparison:
    """A measure, an operator, a bound in the measure's base unit."""

    column: str
    sign: str
    bound: float

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Return whether a run, a row of the summary, fulfils it."""
        ends = ends_in(row, self.column)
        if ends is None:
            return False
        if self.sign == "!=":
            return not ends[0] <= self.bound <= ends[1]
        return all(OPERATORS[self.sign](end, self.bound) for end in ends)

    def is_open(self, row: Mapping[str, Any]) -> bool:
        """Return whether it could hold, had all transfers finished, and could fail."""
        ends = ends_in(row, self.column)
        if ends is None or self.holds(row):
            return False
        inside = ends[0] <= self.bound <= ends[1] and ends[0] != ends[1]
        return (
            inside
            if self.sign == "=="
            else any(OPERATORS[self.sign](end, self.bound) for end in ends)
        )

    def shortfall(self, row: Mapping[str, Any]) -> float:
        """Return how far a run is from fulfilling it, as a share of the bound; 0 if it does."""
        if self.holds(row):
            return 0.0
        distances = [_distance(end, self.bound) for end in ends_in(row, self.column) or (math.inf,)]
        # At the bound of a strict comparison the distance is nothing, and yet it does not hold.
        return max(*distances, 1e-9)


def _distance(value: float, bound: float) -> float:
    """Return the distance between two numbers as a share of the greater one."""
    if math.isinf(value):
        return 1.0
    size = max(abs(bound), abs(value))
    return abs(value - bound) / size if size else 0.0


@dataclass(frozen=True)
class Condition:
    """Comparisons that must all hold."""

    text: str
    comparisons: tuple[Comparison, ...]

    @property
    def columns(self) -> list[str]:
        """The measures that it compares, each once."""
        return list(dict.fromkeys(one.column for one in self.comparisons))

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Return whether a run, a row of the summary, fulfils all."""
        return all(one.holds(row) for one in self.comparisons)

    def is_open(self, row: Mapping[str, Any]) -> bool:
        """Return whether unfinished transfers alone decide whether it holds."""
        undecided = [one.is_open(row) for one in self.comparisons]
        return any(undecided) and all(
            open_ or one.holds(row) for open_, one in zip(undecided, self.comparisons, strict=True)
        )

    def shortfall(self, row: Mapping[str, Any]) -> float:
        """Return how far a run is from fulfilling all; 0 if it does."""
        return max(one.shortfall(row) for one in self.comparisons)


def parse_condition(text: str, columns: Sequence[str]) -> Condition:
    """Read a condition on these columns of the summary.

    Raises:
        IncastleError: reports what is wrong, and the remedy.

    """
    comparisons = tuple(_comparison(part, text, columns) for part in JOINED.split(text.strip()))
    return Condition(text.strip(), comparisons)


def _comparison(part: str, whole: str, columns: Sequence[str]) -> Comparison:
    if (other := OTHERWISE.search(part)) is not None:
        raise IncastleError(
            f"condition {whole!r}: comparisons are joined by and alone, not by {other[0].strip()}"
        )
    found = COMPARISON.fullmatch(part)
    if found is None or found[2] not in OPERATORS:
        raise IncastleError(
            f"condition {whole!r}: {part!r} is not MEASURE OPERATOR QUANTITY, as in "
            f"'goodput > 0.9 Gbit/s'; operators are {' '.join(OPERATORS)}, joined by and"
        )
    try:
        column = find_column(found[1], columns)
    except IncastleError as error:
        raise IncastleError(f"condition {whole!r}: {error}") from None
    quantity = parse(found[3])
    if quantity is None or quantity[1] != column.unit:
        units = ", ".join(name for name in SCALES[column.unit] if name)
        right = f"a quantity in {units}" if column.unit else "a number, or a share in %"
        raise IncastleError(f"condition {whole!r}: {found[1]} is compared with {right}")
    bare = shortened(column.name).rpartition(".")[2]
    if bare in SHARES and not 0 <= quantity[0] <= 1:
        meant = f": did you mean {found[3]} %?" if quantity[0] <= PERCENT else ""
        raise IncastleError(f"condition {whole!r}: {found[1]} is a share from 0 to 1{meant}")
    return Comparison(column.name, found[2], quantity[0])
