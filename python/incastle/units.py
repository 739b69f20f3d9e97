"""The units of the scenario language, and quantities written in them: what is printed can be typed.

Three digits are for readers; exact quantities have more.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incastle.scenario import Value

PS_PER_S = 10**12

TIMES = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": PS_PER_S}
"""Units of time, in picoseconds; in this and the next tables the smallest unit first."""

RATES = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9, "Tbit/s": 10**12}
"""Units of rates, in bits per second."""

SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
"""Decimal units of sizes, in bytes."""

BINARY_SIZES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

SCALES: dict[str, dict[str, float]] = {
    "s": {name: picoseconds / PS_PER_S for name, picoseconds in TIMES.items()},
    "bit/s": {name: float(bits) for name, bits in RATES.items()},
    "B": {name: float(count) for name, count in (SIZES | BINARY_SIZES).items()},
    "packets": {"packets": 1.0, "packet": 1.0},
    "": {"": 1.0, "%": 0.01},
}
"""The units of each kind of quantity in its base unit, by which the kind is named."""

SYNONYMS = {"\u00b5s": "us", "\u03bcs": "us", "byte": "B", "bytes": "B", "kB": "KB"}
"""Other spellings, as the scenario language reads them: micro is the sign or the Greek letter."""

PREFIXED = {"s", "bit/s", "B"}
"""The kinds whose units differ by decimal prefixes."""

DIGITS = 3

QUANTITY = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?) *([A-Za-z\u00b5\u03bc%/]*)")


def scale_of(numbers: Sequence[float], base: str, digits: int = DIGITS) -> tuple[float, str]:
    """Return the unit in which the largest of these numbers is written best: factor and name."""
    largest = max((abs(number) for number in numbers if math.isfinite(number)), default=0.0)
    chosen = (1.0, base)
    if base in PREFIXED:
        # 1000 of a unit is written as 1 of the next.
        reached = largest * (1 + 0.5 * 10.0**-digits)
        decimal = [pair for pair in SCALES[base].items() if "i" not in pair[0].partition("bit")[0]]
        fitting = [(factor, name) for name, factor in decimal if factor <= reached]
        chosen = max(fitting, default=chosen)
    return chosen


def si(value: float | None, unit: str, digits: int = DIGITS) -> str:
    """Write a quantity with n digits and a decimal prefix: `9.41 Gbit/s`."""
    if value is None:
        return "-"
    factor, name = scale_of([value], unit, digits)
    return f"{_digits(value / factor, digits)} {name}"


def counted(count: int, noun: str, plural: str = "s") -> str:
    """Write a count with its noun: 1 link, 2 links."""
    return f"{count:,} {noun}{plural if count != 1 else ''}"


def between(low: float | None, high: float | None, unit: str, digits: int = DIGITS) -> str:
    """Write a range; the unit once if both ends have the same."""
    first, last = si(low, unit, digits), si(high, unit, digits)
    number, _, first_unit = first.partition(" ")
    return f"{number if first_unit == last.partition(' ')[2] else first} to {last}"


def _digits(size: float, digits: int) -> str:
    before = 1 + math.floor(math.log10(abs(size))) if 1 <= abs(size) < math.inf else 1
    text = f"{size:.{max(0, digits - before)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def parse(text: str) -> tuple[float, str] | None:
    """Return a quantity in its base unit, and that unit; none if the text is no quantity."""
    found = QUANTITY.fullmatch(text.strip())
    if found is None:
        return None
    unit = SYNONYMS.get(found[2], found[2])
    for base, scales in SCALES.items():
        if unit in scales:
            return float(found[1]) * scales[unit], base
    return None


def as_numbers(values: Sequence[Value]) -> tuple[list[float], str] | None:
    """Return values as numbers in their common base unit; none if they have none."""
    parsed = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return None
        parsed.append(parse(value) if isinstance(value, str) else (float(value), ""))
    found = [one for one in parsed if one is not None]
    units = {unit for _, unit in found}
    if len(found) < len(parsed) or len(units) != 1:
        return None
    return [number for number, _ in found], units.pop()


def as_written(values: Sequence[Value]) -> tuple[list[float], str] | None:
    """Return quantities in the unit of all, else in a common one; none as above."""
    common = as_numbers(values)
    if common is None:
        return None
    found = [QUANTITY.fullmatch(value.strip()) for value in values if isinstance(value, str)]
    units = {one[2] for one in found if one is not None}
    if len(found) == len(values) and len(units) == 1:
        return [float(one[1]) for one in found if one is not None], units.pop()
    factor, unit = scale_of(*common)
    return [number / factor for number in common[0]], unit


def exact(value: int, units: dict[str, int]) -> str:
    """Write a whole number of the smallest unit in the largest unit in which it is whole."""
    name = max((one for one in units if value % units[one] == 0), key=lambda one: units[one])
    return f"{value // units[name]} {name}"
