"""docs/modelled.md: what a page declares of a model is checked."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import incastle as ic

ROOT = Path(__file__).resolve().parents[2]
RED = "crates/queueing/tests/it/red.rs"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts/modelled.py"))


@pytest.mark.parametrize(
    ("tests", "sections", "why"),
    [
        ((), ("random-networks",), "red: no file of tests"),
        (("crates/queueing/tests/it/green.rs",), (), "green.rs has no tests"),
        (("crates/queueing/Cargo.toml",), (), "Cargo.toml has no tests"),
        ((RED,), ("against-ns-4",), "validation.md has no section #against-ns-4"),
    ],
)
def test_evidence_that_does_not_exist_is_an_error(
    script: dict[str, Any], tests: tuple[str, ...], sections: tuple[str, ...], why: str
) -> None:
    with pytest.raises(SystemExit, match=re.escape(why)):
        script["check"]("red", tests, sections)


def test_a_declaration_has_files_and_sections(script: dict[str, Any]) -> None:
    red = script["evidence"]()["red"]
    assert (red.page, red.tests) == ("red", (RED,))
    assert "against-ns-3" in red.sections
    assert script["named"](RED) == "queueing: red"


def test_a_model_without_evidence_is_an_error(script: dict[str, Any]) -> None:
    with pytest.raises(SystemExit, match="vegas of algorithms: no page of docs/models/ declares"):
        script["row"]("algorithms", "vegas", "")


def test_the_models_of_a_scenario(script: dict[str, Any]) -> None:
    scenario = ic.load(ROOT / "examples/incast.toml")
    models = set(script["models"](scenario.to_dict()))
    assert models == {"star", "threshold", "barrier-incast", "tcp", "dctcp"}
    sack = scenario.with_overrides({"transport.congestion": "new-reno", "transport.ecn": "classic"})
    sack = sack.with_overrides({"switch.qcn": {}, "transport.recovery": "sack"})
    assert {"new-reno", "sack-ecn", "qcn-I"} <= set(script["models"](sack.to_dict()))
