"""Two peaks: they are found where there are two, and seldom where there is one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from incastle.analysis.peaks import LEAST, two_peaks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Draw = Callable[[np.random.Generator], NDArray[np.float64]]

SEEDS = 20
ONE: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng: rng.normal(size=SEEDS), 0.01),
    "uniform": (lambda rng: rng.random(SEEDS), 0.01),
    "exponential": (lambda rng: rng.exponential(size=SEEDS), 0.02),
    "log-normal": (lambda rng: np.exp(rng.normal(size=SEEDS)), 0.05),
}


@pytest.mark.parametrize("name", ONE)
def test_one_peak_is_seldom_taken_for_two(name: str) -> None:
    draw, most = ONE[name]
    rng = np.random.default_rng(3)
    found = sum(two_peaks(draw(rng).tolist()) is not None for _ in range(500))
    assert found / 500 <= most


def test_two_peaks_are_found() -> None:
    rng = np.random.default_rng(4)
    low, high = rng.normal(10, 1, 14), rng.normal(60, 2, 6)
    found = two_peaks(rng.permutation([*low, *high]).tolist())
    assert found is not None
    assert found.few == 6
    assert found.mean_of_few == pytest.approx(high.mean())
    assert found.mean_of_many == pytest.approx(low.mean())


def test_values_of_two_kinds_alone_have_two_peaks() -> None:
    assert two_peaks([8.0] * 12 + [16.0] * 6) == (6, 16, 8)
    assert two_peaks([8.0] * 18) is None
    # A single one that is apart is an outlier.
    assert two_peaks([8.0 + i / 100 for i in range(17)] + [16.0]) is None


def test_few_values_and_infinite_ones_have_none() -> None:
    assert two_peaks([0.0, 1.0] * (LEAST // 2 - 1)) is None
    assert two_peaks([0.0, math.inf] * LEAST) is None
