"""Points with their intervals and bounds, as they are drawn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from incastle.analysis.seeds import over_seeds
from incastle.display.tables import known
from incastle.plotting import intervals, scales, style


def test_bounds_look_different_from_intervals() -> None:
    points = pl.DataFrame(
        [
            {"low": 4.0, "high": 4.0, "mean_from": 3.0, "mean_to": 5.0, "unfinished": 0},
            {"low": 4.0, "high": 6.0, "mean_from": 3.0, "mean_to": 7.0, "unfinished": 1},
            {"low": 4.0, "high": math.inf, "mean_from": 3.0, "mean_to": math.inf, "unfinished": 2},
        ]
    ).with_columns(x=pl.int_range(3).cast(pl.Float64), runs=pl.lit(3))
    with style.canvas() as figure:
        axes = figure.subplots()
        intervals.curve(axes, points, **style.look(0))
        words = {*intervals.remarks(points)}
    collections: list[Any] = list(axes.collections)
    thin, wide = ([bar[:, 1].tolist() for bar in of.get_segments()] for of in collections)
    assert thin == [[3, 5], [3, 7], [3, 4]]
    assert wide == [[4, 6]]
    assert collections[1].get_linewidths()[0] == pytest.approx(
        4 * collections[0].get_linewidths()[0]
    )
    (arrow,) = (line for line in axes.lines if line.get_label() == "_endless")
    assert np.asarray(arrow.get_xydata()).tolist() == [[2, 4]]
    bounds = intervals.BOUNDS.format("flows")
    assert {"95 % interval over 3 seeds", bounds, intervals.ENDLESS} <= words


@pytest.mark.parametrize(
    ("bottom", "least", "begins"),
    [(2.0, 0.0, 0.0), (0.5, 1.0, 1.0), (0.0, 0.0, 0.0)],
    ids=["axis", "least slowdown", "zero"],
)
def test_intervals_that_are_cut_have_one_sign(bottom: float, least: float, begins: float) -> None:
    point = {"x": 1.0, "low": 4.0, "high": 4.0, "mean_from": begins, "mean_to": 9.0, "runs": 3}
    points = pl.DataFrame([point])
    with style.canvas() as figure:
        axes = figure.subplots()
        intervals.curve(axes, points, bottom, least, **style.look(0))
        words = {*intervals.remarks(points, bottom=max(bottom, least))}
        assert intervals.CUT not in intervals.remarks(points, bottom=-1.0)
    (sign,) = (line for line in axes.lines if line.get_label() == "_cut")
    assert np.asarray(sign.get_xydata()).tolist() == [[1, max(bottom, least)]]
    assert intervals.CUT in words


@pytest.mark.parametrize(
    ("low", "high", "labels", "ticks"),
    [
        (0.06, 2.4, 9, [0.05, 0.1, 0.2, 0.5, 1, 2, 5]),
        (0.06, 2.4, 4, [0.05, 1, 5]),
        (13, 1457, 5, [10, 100, 2000]),
        (1, 1, 9, [1, 2]),
    ],
)
def test_ticks_are_around_all_values(
    low: float, high: float, labels: float, ticks: list[float]
) -> None:
    assert scales.ticks_around(low, high, labels) == ticks


def test_intervals_of_slowdowns_end_at_1() -> None:
    frame = pl.DataFrame(
        {
            "slowdown_p99": [2.0, 30.0, None],
            "slowdown_p99_low": [2.0, 30.0, 0.5],
            "slowdown_p99_high": [2.0, 30.0, math.inf],
            "seed": [1, 2, 3],
            "point": ["known", "known", "open"],
        }
    )
    known, open_ = over_seeds(frame, ["point"], "slowdown_p99").iter_rows(named=True)
    assert (known["low"], known["mean_from"], known["min"]) == (16, 1, 2)
    assert (open_["low"], open_["high"], open_["min"]) == (1, math.inf, 1)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(0.0, math.inf, "-"), (None, None, "-"), (0.001, math.inf, "\u2265 1 ms"), (0.0, 0.0, "0 s")],
)
def test_an_interval_without_ends_is_not_written(
    low: float | None, high: float | None, text: str
) -> None:
    assert known(low, high, "s") == text
