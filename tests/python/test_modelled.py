"""docs/modelled.md: how a model is found in tests, and that no model is without a page."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/modelled.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("new-reno", "Algorithm::NewReno", True),
        ("reno", "Algorithm::NewReno", False),
        ("reno", "congestion = 'reno'", True),
        ("dctcp", "fn test_dctcp_marks", True),
        ("dctcp", "congestion = 'dt-dctcp'", False),
        ("tree", "a fat tree", False),
        ("threshold", "DoubleThreshold::new(3)", False),
        ("threshold", "Threshold::new(3)", True),
        ("qcn-I", "QcnCongestionPoint", True),
    ],
)
def test_a_model_is_found_by_its_name_alone(
    script: dict[str, Any], name: str, text: str, found: bool
) -> None:
    assert bool(script["pattern"](name).search(script["words"](text))) == found


def test_a_model_without_a_page_is_an_error(script: dict[str, Any]) -> None:
    with pytest.raises(SystemExit, match="swift of algorithms: no page"):
        script["page_of"]("algorithms", "swift")
