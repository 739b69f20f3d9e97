"""Conditions on the measures of a run: `goodput > 0.9 Gbit/s and timeouts == 0`.

The language is this and nothing more: comparisons of a measure with a quantity, joined by `and`.
A measure that a run does not have (a completion time where nothing completed) fulfils nothing.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incastle.errors import IncastleError
from incastle.sweeps.measures import find_column
from incastle.sweeps.quantities import parse
from incastle.units import SCALES

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
JOINED = re.compile(r"\s+and\s+")


@dataclass(frozen=True)
class Comparison:
    """A measure, an operator, a bound in the measure's base unit."""

    column: str
    sign: str
    bound: float

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Tell whether a run, a row of the summary, fulfils it."""
        value = row.get(self.column)
        return value is not None and OPERATORS[self.sign](value, self.bound)

    def shortfall(self, row: Mapping[str, Any]) -> float:
        """Say how far a run is from fulfilling it, as a share of the bound; 0 if it does."""
        if self.holds(row):
            return 0.0
        value = row.get(self.column)
        if value is None:
            return 1.0
        size = max(abs(self.bound), abs(value))
        # At the bound of a strict comparison the distance is nothing, and yet it does not hold.
        return max(abs(value - self.bound) / size if size else 0.0, 1e-9)


@dataclass(frozen=True)
class Condition:
    """Comparisons that must all hold."""

    text: str
    comparisons: tuple[Comparison, ...]

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Tell whether a run, a row of the summary, fulfils all."""
        return all(one.holds(row) for one in self.comparisons)

    def shortfall(self, row: Mapping[str, Any]) -> float:
        """Say how far a run is from fulfilling all; 0 if it does."""
        return max(one.shortfall(row) for one in self.comparisons)


def parse_condition(text: str, columns: Sequence[str]) -> Condition:
    """Read a condition on these columns of the summary.

    Raises:
        IncastleError: says what is wrong, and what would be right.

    """
    comparisons = tuple(_comparison(part, text, columns) for part in JOINED.split(text.strip()))
    return Condition(text.strip(), comparisons)


def _comparison(part: str, whole: str, columns: Sequence[str]) -> Comparison:
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
    return Comparison(column.name, found[2], quantity[0])
