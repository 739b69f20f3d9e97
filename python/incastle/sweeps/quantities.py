"""Quantities as scenarios write them, `"10 ms"`, `"64 KiB"`, as numbers to compare and to draw.

The Rust core reads scenarios; here it is only about conditions (`goodput > 0.9 Gbit/s`) and axes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from incastle.units import SCALES, SYNONYMS, scale_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incastle.scenario import Value

QUANTITY = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?) *([A-Za-z\u00b5\u03bc%/]*)")


def parse(text: str) -> tuple[float, str] | None:
    """Give a quantity in its base unit, and that unit; none if the text is no quantity."""
    found = QUANTITY.fullmatch(text.strip())
    if found is None:
        return None
    unit = SYNONYMS.get(found[2], found[2])
    for base, scales in SCALES.items():
        if unit in scales:
            return float(found[1]) * scales[unit], base
    return None


def as_numbers(values: Sequence[Value]) -> tuple[list[float], str] | None:
    """Give values as numbers in their common base unit; none if they have none."""
    parsed = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return None
        parsed.append(parse(value) if isinstance(value, str) else (float(value), ""))
    known = [one for one in parsed if one is not None]
    units = {unit for _, unit in known}
    if len(known) < len(parsed) or len(units) != 1:
        return None
    return [number for number, _ in known], units.pop()


def as_written(values: Sequence[Value]) -> tuple[list[float], str] | None:
    """Give quantities in the unit that all are written in, else in a common one; none as above."""
    common = as_numbers(values)
    if common is None:
        return None
    found = [QUANTITY.fullmatch(value.strip()) for value in values if isinstance(value, str)]
    units = {one[2] for one in found if one is not None}
    if len(found) == len(values) and len(units) == 1:
        return [float(one[1]) for one in found if one is not None], units.pop()
    factor, unit = scale_of(*common)
    return [number / factor for number in common[0]], unit
