"""What Python answers to wrong arguments: a TypeError that names what is taken."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import incastle as ic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SENDERS = "network.senders"
NOTHING: Any = None
TABLE: Any = {}
THREE: Any = 3
WRONG: list[tuple[Callable[[Any], object], str]] = [
    (lambda one: one.with_overrides({SENDERS: None}), f"{SENDERS}: None is no value of a key"),
    (lambda one: one.with_overrides({SENDERS: {1}}), f"{SENDERS}: {{1}} is no value of a key"),
    (lambda one: one.with_overrides(["network.senders=2"]), "overrides are a dictionary"),
    (lambda one: one.with_controllers(3), "classes by name are expected, found 3"),
    (
        lambda one: ic.sweep(one, {SENDERS: THREE}),
        f"{SENDERS}: a list of values is expected, found 3",
    ),
    (lambda one: ic.sweep(one, {SENDERS: [NOTHING]}), f"{SENDERS}: None is no value of a key"),
    (ic.run_many, "a list of scenarios is expected"),
    (lambda one: ic.diff(one, "a"), "a result or its directory is expected, found <Scenario"),
    (lambda _: ic.load(NOTHING), "the name of a scenario's file is expected, found None"),
    (lambda _: ic.load(TABLE), "Scenario.from_dict takes a dictionary"),
]


@pytest.mark.parametrize(("call", "answer"), WRONG, ids=[answer for _, answer in WRONG])
def test_a_wrong_argument_is_a_type_error(
    scenario: ic.Scenario, call: Callable[[Any], object], answer: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(answer)):
        call(scenario)


def test_text_is_no_name_of_a_file(scenario: ic.Scenario) -> None:
    with pytest.raises(ic.ScenarioError, match=r"Scenario\.from_text takes the text"):
        ic.load(scenario.resolved)


def test_scalars_of_numpy_are_numbers(scenario: ic.Scenario, tmp_path: Path) -> None:
    values: dict[str, Any] = {SENDERS: np.int64(3), "transport.g": np.float32(0.25)}
    one = scenario.with_overrides(values)
    assert (one[SENDERS], one["transport.g"]) == (3, 0.25)
    assert ic.Scenario.from_dict({**scenario.to_dict(), "name": np.str_("other")}).name == "other"
    swept_values: Any = np.arange(2, 4)
    swept = ic.sweep(scenario, {SENDERS: swept_values}, out=tmp_path / "swept")
    assert swept.frame[SENDERS].to_list() == [2, 3]
    assert ic.Sweep.load(tmp_path / "swept").header.values == {SENDERS: [2, 3]}


def test_results_in_memory_are_compared(result: ic.Result, tmp_path: Path) -> None:
    found = ic.diff(result, result.save(tmp_path / "saved"))
    assert found.as_json()["a"]["directory"] is None
    assert found.as_json()["b"]["directory"] == str(tmp_path / "saved")
    with pytest.raises(TypeError, match="found None"):
        ic.diff(result, None)  # type: ignore[arg-type]
