"""The shortest text of a scenario is that of the same scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conftest import SMALL
from incastle import Scenario
from incastle.browser.shortest import shortest
from incastle.reproduction.papers import discover

if TYPE_CHECKING:
    from pathlib import Path

SHIPPED = [
    pytest.param(path, id=f"{paper.name}-{path.stem}")
    for paper in discover().values()
    for path in sorted((paper.folder / "scenarios").glob("*.toml"))
]


@pytest.mark.parametrize("path", SHIPPED[::4])
def test_a_shipped_scenario_is_the_same_in_a_third(path: Path) -> None:
    resolved = Scenario.from_file(path).resolved
    text = shortest(resolved)
    assert Scenario.from_text(text).resolved == resolved
    assert len(text) < len(resolved) / 2


def test_no_line_could_be_left_out() -> None:
    resolved = Scenario.from_text(SMALL).resolved
    lines = shortest(resolved).splitlines()
    for place, line in enumerate(lines):
        if line and not line.startswith("["):
            less = "\n".join(lines[:place] + lines[place + 1 :])
            try:
                assert Scenario.from_text(less).resolved != resolved, line
            except ValueError:  # a scenario that is none without it
                continue


def test_what_a_preset_sets_is_left_out() -> None:
    preset = SMALL.replace("[transport]", '[transport]\npreset = "ns-2-2010"')
    text = shortest(Scenario.from_text(preset).resolved)
    assert 'preset = "ns-2-2010"' in text
    assert "limited_transmit" not in text
