"""The interval that a run measures, read out of its complete scenario."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import NamedTuple

from incastle.units import parse

_TABLES = re.compile(r"^\[(?:run|measure)\]\n(?:[^\[\n].*\n|\n)*", flags=re.MULTILINE)
"""Two of the tables of a complete scenario: to parse all of them takes milliseconds."""


class Interval(NamedTuple):
    """When a run measures, and when it ends, in seconds."""

    measured_from: float
    measured_to: float
    end: float


@cache
def interval_of(resolved: str) -> Interval:
    """Give the interval of a complete scenario."""
    scenario = tomllib.loads("".join(_TABLES.findall(resolved)))
    end = _seconds(scenario["run"]["duration"])
    until = scenario["measure"]["until"]
    return Interval(
        _seconds(scenario["measure"]["warmup"]), end if until == "end" else _seconds(until), end
    )


def _seconds(text: str) -> float:
    parsed = parse(text)
    if parsed is None or parsed[1] != "s":
        raise ValueError(f"a complete scenario has times with units, not {text!r}")
    return parsed[0]
