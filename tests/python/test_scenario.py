"""Scenarios in Python: every way to make one, overrides, diagnostics, pickling."""

from __future__ import annotations

import pickle
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import incastle as ic
from conftest import SMALL
from incastle.toml import one_line_toml

if TYPE_CHECKING:
    from pathlib import Path


def test_from_file_text_and_dictionary_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    from_text = ic.Scenario.from_text(SMALL)
    assert ic.load(path) == from_text
    assert ic.load(str(path)) == from_text
    assert ic.Scenario.from_dict(tomllib.loads(SMALL)) == from_text
    assert hash(ic.load(path)) == hash(from_text)


def test_has_name_seed_and_duration(scenario: ic.Scenario) -> None:
    assert (scenario.name, scenario.seed, scenario.duration_s) == ("small", 1, 0.02)


def test_resolved_text_is_complete_and_gives_the_same_scenario(scenario: ic.Scenario) -> None:
    assert "max_rto" not in SMALL
    assert scenario["transport.max_rto"] == "120 s"
    again = ic.Scenario.from_text(scenario.resolved)
    assert again == scenario
    assert again.resolved == scenario.resolved


def test_unknown_key_of_the_complete_scenario(scenario: ic.Scenario) -> None:
    with pytest.raises(KeyError, match=r"transport\.nothing"):
        scenario["transport.nothing"]


@pytest.mark.parametrize(
    ("key", "value", "resolved"),
    [
        ("network.senders", 7, 7),
        ("transport.g", 0.25, 0.25),
        ("transport.timestamps", False, False),
        ("run.duration", "3 ms", "3 ms"),
        ("transport.congestion", "new-reno", "new-reno"),
    ],
)
def test_overrides_of_every_type(
    scenario: ic.Scenario, key: str, value: Any, resolved: Any
) -> None:
    changed = scenario.with_overrides(**{key: value})
    assert changed[key] == resolved
    assert scenario.with_overrides({key: value}) == changed
    assert scenario == ic.Scenario.from_text(SMALL), "the original stays as it was"


def test_overrides_that_are_lists_and_tables(scenario: ic.Scenario) -> None:
    changed = scenario.with_overrides(
        {
            "measure": {"queue": {"every": "1 ms"}, "window": ["long:0", "long:2"]},
        }
    )
    assert changed["measure.queue.every"] == "1 ms"
    assert changed["measure.window.flows"] == ["long:0", "long:2"]


def test_overrides_add_up(scenario: ic.Scenario) -> None:
    changed = (
        scenario.with_overrides({"run.seed": 3})
        .with_overrides({"run.duration": "5 ms"})
        .with_seed(4)
    )
    assert (changed.seed, changed.duration_s) == (4, 0.005)


def test_every_mistake_is_reported_with_its_place() -> None:
    text = SMALL.replace("senders = 4", 'sendres = 4\nrate = "fast"', 1).replace(
        'rate = "1 Gbit/s"\n', "", 1
    )
    with pytest.raises(ic.ScenarioError) as broken:
        ic.Scenario.from_text(text, "my.toml")
    found = {diagnostic.key: diagnostic for diagnostic in broken.value.diagnostics}
    misspelt, unit = found["network.sendres"], found["network.rate"]
    assert (misspelt.file, misspelt.line) == (
        "my.toml",
        1 + text[: text.index("sendres")].count("\n"),
    )
    assert "senders" in str(misspelt)
    assert "fast" in str(unit)
    assert str(broken.value).startswith("my.toml:")


def test_mistake_in_an_override_names_it(scenario: ic.Scenario) -> None:
    with pytest.raises(ic.ScenarioError, match=r"network\.senders"):
        scenario.with_overrides({"network.senders": 0})


def test_scenario_error_is_a_value_error_and_pickles(scenario: ic.Scenario) -> None:
    with pytest.raises(ValueError, match="nonsense") as broken:
        scenario.with_overrides({"nonsense": 1})
    again = pickle.loads(pickle.dumps(broken.value))
    assert isinstance(again, ic.ScenarioError)
    assert str(again) == str(broken.value)
    assert again.diagnostics == broken.value.diagnostics  # type: ignore[attr-defined]


def test_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "latin.toml"
    path.write_bytes(b'name = "caf\xe9"')
    with pytest.raises(ic.ScenarioError, match="UTF-8"):
        ic.load(path)


def test_not_a_toml_value() -> None:
    with pytest.raises(ic.ScenarioError, match="built in code"):
        ic.Scenario.from_dict({"name": object()})


def test_pickles_with_its_overrides(scenario: ic.Scenario) -> None:
    changed = scenario.with_overrides({"network.senders": 3})
    assert pickle.loads(pickle.dumps(changed)) == changed


VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_every_value_survives_as_one_line_of_toml(value: Any) -> None:
    line = one_line_toml(value)
    assert "\n" not in line
    assert tomllib.loads(f"value = {line}")["value"] == value
