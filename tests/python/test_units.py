"""Quantities as text: their units are those of the scenario language, so that they can be typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import incastle as ic
from conftest import SMALL
from incastle.units import PREFIXED, SCALES, between, parse, si

KEYS = {"s": "run.duration", "bit/s": "network.rate", "B": "switch.buffer"}
"""A key of each kind of quantity."""


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (8.77e-5, "s", "87.7 us"),
        (5e-10, "s", "500 ps"),
        (0.0, "s", "0 s"),
        (1500.0, "s", "1500 s"),
        (-3e-6, "s", "-3 us"),
        (29_000, "B", "29 KB"),
        # Not 1000 KB.
        (999_960, "B", "1 MB"),
        (1.5e15, "B", "1500 TB"),
        (9.414e9, "bit/s", "9.41 Gbit/s"),
        (0.4, "bit/s", "0.4 bit/s"),
        (float("nan"), "s", "nan s"),
        (None, "s", "-"),
    ],
)
def test_three_digits_and_a_prefix(value: float | None, unit: str, text: str) -> None:
    assert si(value, unit) == text


def test_as_many_digits_as_are_wanted() -> None:
    assert si(0.00298867227, "s", 9) == "2.98867227 ms"
    assert si(1.0000004, "s", 9) == "1.0000004 s"


def test_a_range_has_its_unit_once_where_both_ends_share_it() -> None:
    assert between(1e9, 2.5e9, "bit/s") == "1 to 2.5 Gbit/s"
    assert between(1e6, 2.5e9, "bit/s") == "1 Mbit/s to 2.5 Gbit/s"


@given(
    unit=st.sampled_from(sorted(PREFIXED)),
    power=st.floats(0, 14),
    digits=st.integers(3, 9),
)
def test_what_is_printed_is_read_back(unit: str, power: float, digits: int) -> None:
    value = 10**power * (1e-12 if unit == "s" else 1)
    read = parse(si(value, unit, digits))
    assert read is not None
    assert read[1] == unit
    assert read[0] == pytest.approx(value, rel=0.5 * 10.0 ** (1 - digits))


@pytest.mark.parametrize("unit", sorted(PREFIXED))
def test_a_scenario_takes_every_unit(unit: str) -> None:
    scenario = ic.Scenario.from_text(SMALL)
    about = {"s": 10.0, "bit/s": 1e6, "B": 1e6}[unit]
    smallest, least = next(iter(SCALES[unit].items()))
    for name, factor in SCALES[unit].items():
        number = max(1, round(about / factor))
        same = f"{round(number * factor / least)} {smallest}"
        one, other = (
            scenario.with_overrides({KEYS[unit]: text}) for text in (f"{number} {name}", same)
        )
        assert one == other, name


@pytest.mark.parametrize("unit", ["us", "\u00b5s", "\u03bcs"])
def test_micro_has_three_spellings_everywhere(unit: str) -> None:
    text = SMALL.replace('duration = "', f'duration = "25000 {unit}"  # "', 1)
    assert ic.Scenario.from_text(text).duration_s == pytest.approx(0.025)
    number, base = parse(f"25 {unit}") or (0.0, "")
    assert number == pytest.approx(25e-6)
    assert base == "s"
