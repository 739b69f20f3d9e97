"""Measures over the seeds, and what unfinished transfers make of them: numbers by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import incastle as ic
from conftest import SMALL, Output
from incastle.analysis import confidence
from incastle.analysis.seeds import over_seeds
from incastle.commands.find import _assumption
from incastle.commands.sweep import of_seeds
from incastle.sweeps.conditions import parse_condition

if TYPE_CHECKING:
    from collections.abc import Callable


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
            "x_s": [1.0, None, 25.0, None],
            "x_low_s": [1.0, 3.0, 25.0, 27.0],
            "x_high_s": [1.0, math.inf, 25.0, 29.0],
        }
    )
    one, two = over_seeds(frame, ["n"], "x_s").to_dicts()
    assert (one["low"], one["high"], one["mean_to"]) == (2.0, math.inf, math.inf)
    assert (one["min"], one["max"]) == (1.0, math.inf)
    # A time is never negative.
    assert one["mean_from"] == 0
    # Student's t with one degree of freedom: 12.7062.
    assert (two["low"], two["high"]) == (26.0, 27.0)
    assert two["mean_from"] == pytest.approx(26 - 12.7062 * 1, abs=1e-4)
    assert two["mean_to"] == pytest.approx(27 + 12.7062 * 2, abs=1e-4)


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


UNFINISHED = {"network.senders": [2, 3]}


def test_a_table_of_a_sweep_shows_the_whole_interval() -> None:
    row = {"low": 27.3, "high": 31.4, "mean_from": 22.5, "mean_to": 39.8, "min": 23.0, "max": 35.0}
    assert of_seeds(row, 1.0) == "22.5 to 39.8\n[dim]23\u201335[/]"
    endless = {**row, "mean_from": 270.8, "low": 406.0} | dict.fromkeys(
        ("high", "mean_to", "max"), math.inf
    )
    assert of_seeds(endless, 1.0) == "\u2265 406\n[dim]\u2265 23[/]"
    one_seed = {**row, "mean_from": None, "mean_to": None}
    assert of_seeds(one_seed, 1.0) == "27.3 to 31.4"


def test_a_table_of_a_sweep_names_what_its_columns_cover(cli: Callable[..., Output]) -> None:
    setting = ("--set", "measure.warmup=5 ms", "--set", "network.senders=2,3")
    output = cli("sweep", "small.toml", *setting)
    assert "longest mean queue, in the measured interval, 5 to 20 ms" in output.out
    assert "goodput (sum of all hosts), timeouts, drops: the whole run" in output.out


def test_a_figure_has_no_marker_at_a_lower_bound() -> None:
    scenario = ic.Scenario.from_text(SMALL).with_overrides({"run.duration": "500 us"})
    swept = ic.sweep(scenario, UNFINISHED, seeds=2)
    figure = swept.plot("network.senders", "short.completion_p99")
    (axes,), (legend,) = figure.axes, figure.legends
    assert np.isnan(np.asarray(axes.get_lines()[0].get_ydata(), float)).all()
    assert "no upper bound" in [text.get_text() for text in legend.get_texts()]


def test_a_find_counts_undecided_values_apart(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = ic.Scenario.from_text(SMALL)
    found = ic.find(scenario, "goodput > 1 Mbit/s", largest=UNFINISHED, seeds=1)
    condition = parse_condition("completion_p99 < 1 s", ["completion_p99_s"])
    unknown = {"completion_p99_low_s": 0.01, "completion_p99_high_s": math.inf}
    tried = (found.tried[0], replace(found.tried[1], rows=(unknown,), holds=0))
    _assumption(replace(found, condition=condition, tried=tried))
    text = " ".join(capsys.readouterr().out.split())
    assert "1 of 2 values that were run agree; 1 is undecided: transfers were unfinished" in text
