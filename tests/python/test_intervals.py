"""Points with their intervals and bounds, as they are drawn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from incastle.plotting import intervals, style


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
    assert {"95 % interval over 3 seeds", intervals.BOUNDS, intervals.ENDLESS} <= words
