"""Measures over the seeds, and what unfinished transfers make of them: numbers by hand."""

from __future__ import annotations

import math
from statistics import fmean

import polars as pl
import pytest

import incastle as ic
from conftest import SMALL
from incastle.analysis import confidence
from incastle.analysis.seeds import over_seeds
from incastle.sweeps.conditions import parse_condition


def test_a_measure_over_the_seeds_has_its_interval() -> None:
    swept = ic.sweep(ic.Scenario.from_text(SMALL), {"network.senders": [2, 3]}, seeds=3)
    row = swept.over_seeds("goodput").row(0, named=True)
    of_cell = swept.frame.filter(pl.col("network.senders") == 2)["goodput_bit_s"].to_list()
    assert row["runs"] == len(of_cell)
    assert (row["min"], row["max"]) == (min(of_cell), max(of_cell))
    assert row["low"] == row["high"] == pytest.approx(fmean(of_cell))
    assert (row["mean_from"], row["mean_to"]) == pytest.approx(confidence.interval(of_cell))


def test_a_measure_that_unfinished_transfers_could_change_has_two_ends() -> None:
    frame = pl.DataFrame(
        {
            "n": [1, 1, 2, 2],
            "x_s": [1.0, None, 5.0, None],
            "x_low_s": [1.0, 3.0, 5.0, 7.0],
            "x_high_s": [1.0, math.inf, 5.0, 9.0],
        }
    )
    one, two = over_seeds(frame, ["n"], "x_s").to_dicts()
    assert (one["low"], one["high"], one["mean_to"]) == (2.0, math.inf, math.inf)
    assert (one["min"], one["max"]) == (1.0, math.inf)
    # Student's t with one degree of freedom: 12.7062.
    assert (two["low"], two["high"]) == (6.0, 7.0)
    assert two["mean_from"] == pytest.approx(6 - 12.7062 * 1, abs=1e-4)
    assert two["mean_to"] == pytest.approx(7 + 12.7062 * 2, abs=1e-4)


def test_conditions_hold_for_all_of_an_interval() -> None:
    columns = ["completion_p99_s", "completion_p99_low_s", "completion_p99_high_s"]
    row = dict(zip(columns, (None, 0.010, math.inf), strict=True))
    output = {text: parse_condition(text, columns) for text in (
        "completion_p99 < 20 ms", "completion_p99 < 5 ms", "completion_p99 > 5 ms",
        "completion_p99 > 20 ms", "completion_p99 == 20 ms", "completion_p99 != 5 ms",
    )}  # fmt: skip
    assert [one.holds(row) for one in output.values()] == [False, False, True, False, False, True]
    assert [one.is_open(row) for one in output.values()] == [True, False, False, True, True, False]
    assert output["completion_p99 < 5 ms"].shortfall(row) == 1.0
    assert output["completion_p99 > 20 ms"].shortfall(row) == 1.0


def test_a_find_names_what_unfinished_transfers_leave_open() -> None:
    # Half a millisecond is too short for 64 KB at 1 Gbit/s: how long they take is not known.
    scenario = ic.Scenario.from_text(SMALL).with_overrides({"run.duration": "500 us"})
    where = "short.completion_p99 < 1 s"
    found = ic.find(scenario, where, largest={"network.senders": [2, 3]}, seeds=1)
    assert found.answer is None
    assert [one.choice.value for one in found.undecided] == [2, 3]
    assert found.to_json()["undecided"] == [2, 3]
    assert "is undecided at network.senders=2" in found.why_nothing
