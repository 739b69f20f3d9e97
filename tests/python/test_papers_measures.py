"""On made-up runs no measure of a paper changes unnoticed: no two of these runs are alike."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from incastle.analysis.ends import ends
from incastle.reproduction.papers import Length, Observation, Observations
from synthetic import observations
from synthetic_papers import MADE_UP
from test_papers import JUDGED, of_each

if TYPE_CHECKING:
    from incastle.reproduction.papers import Paper

EXPECTED = Path(__file__).parent / "expected"


def varied(run: Observation, name: str) -> Observation:
    """Change what a run measured by up to a half, each row otherwise, by the experiment's name.

    A timeout comes in some of its rows, so that no two experiments have the same share.
    """
    tables = {}
    for table, frame in run.tables.items():
        salt = zlib.crc32(f"{name}/{table}".encode())
        turn = (pl.int_range(pl.len()) * 7919 + salt) % 1009
        share = 0.5 + turn / 1009
        changed = []
        for column, kind in frame.schema.items():
            value = pl.col(column)
            if column == "timeouts":
                value = (turn % (2 + salt % 8) == 0).cast(kind)
            elif column == "completed_s":
                value = pl.col("started_s") + (value - pl.col("started_s")) * share
            elif column not in GIVEN and kind.is_numeric():
                value = (value * share).round(0 if kind.is_integer() else 9).cast(kind)
            changed.append(value.alias(column))
        tables[table] = frame.with_columns(changed)
    return Observation(tables, run.digest, run.resolved)


GIVEN = {"time_s", "started_s", "deadline_s", "flow", "round", "index", "simulated_s", "seconds"}
"""Columns that say of what or when a row is."""


@of_each(JUDGED)
def test_no_measure_changes_unnoticed(paper: Paper) -> None:
    path = EXPECTED / f"{paper.name}-made-up.json"
    expected = json.loads(path.read_text(encoding="utf-8"))
    found = of_made_up(paper)
    assert found.keys() == expected.keys()
    for name, was in expected.items():
        assert found[name] == pytest.approx(was, rel=1e-9), name


def of_made_up(paper: Paper) -> dict[str, dict[str, float]]:
    """Give each case of each claim, and of what claims rest on, for one varied run of each kind."""
    of_paper = observations(paper, Length.DEFAULT, MADE_UP[paper.name]).runs
    made = {name: [varied(found[0], name)] for name, found in of_paper.items()}
    runs = Observations(Length.DEFAULT, made)
    measures = {**paper.measures, **{f"base of {key}": of for key, of in paper.bases.items()}}
    return {
        name: {case: ends(value).low for case, (value,) in measure(runs).items()}
        for name, measure in measures.items()
    }


def update() -> None:
    """Write the expected values anew; then read the diff."""
    for paper in JUDGED:
        text = json.dumps(of_made_up(paper), indent=2, ensure_ascii=False)
        (EXPECTED / f"{paper.name}-made-up.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    update()
