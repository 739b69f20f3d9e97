"""On the quick length no verdict and no value of a paper changes unnoticed."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import with_finished_runs
from incastle.reproduction import main as reproduce
from incastle.reproduction import render_pool
from test_papers import JUDGED, of_each

if TYPE_CHECKING:
    from incastle.reproduction.papers import Paper

EXPECTED = Path(__file__).parent / "expected"
GUARDED = [paper for paper in JUDGED if not paper.draft]


@pytest.mark.slow
def test_the_report_of_all_papers(tmp_path: Path) -> None:
    assert reproduce.main(length="quick", out=with_finished_runs(tmp_path / "report")) == 0


@of_each(GUARDED)
def test_no_verdict_or_value_changes_unnoticed(
    paper: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # test_papers draws every figure from made-up runs; here those of one paper are drawn.
    if paper.name != "dctcp-ns2":
        monkeypatch.setattr(render_pool, "render", lambda drawings: ["<svg/>"] * len(drawings))
    expected = json.loads((EXPECTED / f"{paper.name}-quick.json").read_text(encoding="utf-8"))
    found = quick(paper, tmp_path)
    assert list(found) == list(expected)
    for name, was in expected.items():
        assert found[name]["verdict"] == was["verdict"], name
        for kind in ("cases", "bases"):
            assert found[name][kind] == {
                case: value if value is None else pytest.approx(value, rel=1e-9)
                for case, value in was.get(kind, {}).items()
            }, name


def quick(paper: Paper, folder: Path) -> dict[str, dict[str, Any]]:
    """Reproduce a paper at the quick length; give verdict, values and bases of each claim."""
    out = with_finished_runs(folder / "report")
    reproduce.main([paper.name], length="quick", out=out)
    entries = json.loads((folder / "report" / "claims.json").read_text(encoding="utf-8"))
    return {
        entry["id"]: {
            "verdict": entry["verdict"],
            "cases": {case["case"]: _ends(case) for case in entry["cases"]},
            "bases": {
                case["case"]: _ends(case["base"]) for case in entry["cases"] if "base" in case
            },
        }
        for entry in entries
    }


def _ends(case: dict[str, Any]) -> float | list[float] | None:
    """Give what was measured, with both ends where they differ; infinite is null in claims.json."""
    low: float | None = case["measured"]
    if "upper" not in case or low is None:
        return low
    high: float | None = case["upper"]["measured"]
    return [low, math.inf if high is None else high]


def update() -> None:
    """Write the expected values anew; then read the diff."""
    EXPECTED.mkdir(exist_ok=True)
    for paper in GUARDED:
        with tempfile.TemporaryDirectory() as scratch:
            text = json.dumps(quick(paper, Path(scratch)), indent=2, ensure_ascii=False)
        (EXPECTED / f"{paper.name}-quick.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    update()
