"""Looks: how often a case errs over all of them, by simulation of experiments of known truth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from incastle.analysis import confidence, looks
from incastle.analysis.confidence import Method
from incastle.analysis.looks import LOOKS, Look

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Draw = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Draw normal values: mean and median 0."""
    return rng.normal(size=shape)


def exponential(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Draw exponential values: median ln 2."""
    return rng.exponential(size=shape) - math.log(2)


def lognormal(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Draw log-normal values: median 1."""
    return rng.lognormal(size=shape) - 1


def two_peaked(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Draw seven values of ten near 0, and three near 10.

    Half of all values are below the 5/7 quantile of the peak near 0: 0.565949.
    """
    return rng.normal(size=shape) + 10.0 * (rng.random(shape) < 0.3) - 0.565949


def error(draw: Draw, method: Method, first: int, samples: int) -> float:
    """Give the share of experiments in which the interval of any look misses the truth, 0."""
    counts = [looks.seeds_at(look, first, method) for look in range(1, LOOKS + 1)]
    values = draw(np.random.default_rng(first), (samples, counts[-1]))
    missed = np.zeros(samples, dtype=bool)
    for count in counts:
        seen = values[:, :count]
        low, high = vectorized(method, seen)
        missed |= (low > 0) | (high < 0)
    return float(missed.mean())


def vectorized(method: Method, seen: NDArray[np.float64]) -> tuple[Any, Any]:
    """Give the interval of each row, as `Look.interval` has it (checked below for one row)."""
    count = seen.shape[1]
    if method is Method.MEAN:
        t = confidence.student_t(count - 1, looks.CONFIDENCE)
        half = t * seen.std(axis=1, ddof=1) / math.sqrt(count)
        return seen.mean(axis=1) - half, seen.mean(axis=1) + half
    rank = confidence.median_rank(count, looks.CONFIDENCE)
    edge = np.full((len(seen), 1), np.inf)
    ordered = np.hstack([-edge, np.sort(seen, axis=1), edge])
    return ordered[:, rank], ordered[:, -1 - rank]


def allowed(share: float, samples: int) -> float:
    """Give what a share may be in so many samples: three standard errors above it."""
    return share + 3 * math.sqrt(share * (1 - share) / samples)


CASES = [
    (normal, Method.MEAN, 0.055),
    (normal, Method.MEDIAN, 0.055),
    (exponential, Method.MEDIAN, 0.07),
    (lognormal, Method.MEDIAN, 0.07),
    (two_peaked, Method.MEDIAN, 0.07),
]


@pytest.mark.parametrize("first", [2, 3, 5])
@pytest.mark.parametrize(("draw", "method", "most"), CASES)
def test_the_error_over_all_looks(draw: Draw, method: Method, most: float, first: int) -> None:
    assert error(draw, method, first, 500) <= allowed(most, 500)


@pytest.mark.slow
@pytest.mark.parametrize("first", [2, 3, 5, 20])
@pytest.mark.parametrize(("draw", "method", "most"), CASES)
def test_the_error_over_all_looks_of_10_000_experiments(
    draw: Draw, method: Method, most: float, first: int
) -> None:
    assert error(draw, method, first, 10_000) <= most


@pytest.mark.parametrize("draw", [exponential, lognormal, two_peaked])
def test_students_t_would_err_often_where_values_are_not_normal(draw: Draw) -> None:
    # Why such cases are judged by their median: here the error is that of the mean.
    truth = float(draw(np.random.default_rng(0), (1, 1_000_000)).mean())

    def of_mean(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        return np.subtract(draw(rng, shape), truth)

    assert error(of_mean, Method.MEAN, 3, 2000) > 0.1


@pytest.mark.parametrize("first", [2, 5])
@pytest.mark.parametrize(("draw", "method"), [(normal, Method.MEAN), (two_peaked, Method.MEDIAN)])
def test_futility_lowers_the_error_over_all_looks(draw: Draw, method: Method, first: int) -> None:
    # The truth lies on the edge: whatever is decided is an error.
    samples = 300
    counts = [looks.seeds_at(look, first, method) for look in range(1, LOOKS + 1)]
    values = draw(np.random.default_rng(first), (samples, counts[-1]))

    def wrong(row: list[float], futile: float) -> bool:
        for look, count in enumerate(counts, 1):
            at = Look(look, looks.CONFIDENCE, method)
            around = at.interval(row[:count])
            assert around is not None
            if around[0] > 0 or around[1] < 0:
                return True
            needs = at.seeds_needed(row[:count], 0.0)
            if needs is None or needs > futile * counts[-1]:
                return False
        return False

    stopped, never = (
        sum(wrong(row, futile) for row in values.tolist()) / samples for futile in (2, math.inf)
    )
    assert stopped <= never
    assert stopped <= allowed(0.05, samples)


def test_the_seeds_of_the_looks() -> None:
    seeds = {
        method: [looks.seeds_at(look, 3, method) for look in range(1, LOOKS + 1)]
        for method in Method
    }
    # The interval of a median needs eight.
    assert seeds == {Method.MEAN: [3, 6, 12, 24, 48], Method.MEDIAN: [3, 8, 16, 32, 64]}
    assert looks.seeds_at(2, 5, Method.MEDIAN) == 10
    assert confidence.median_rank(looks.MEDIAN_SEEDS, looks.CONFIDENCE) == 1
    assert confidence.median_rank(looks.MEDIAN_SEEDS - 1, looks.CONFIDENCE) == 0


def test_looks_at_95_percent_each_would_err_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "CONFIDENCE", 0.95)
    assert error(normal, Method.MEAN, 3, 4000) > 0.12


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("count", [8, 9, 20, 33])
def test_the_simulation_has_the_intervals_of_a_look(method: Method, count: int) -> None:
    row = normal(np.random.default_rng(1), (1, count))
    low, high = vectorized(method, row)
    found = Look(1, looks.CONFIDENCE, method).interval(row[0].tolist())
    assert found == pytest.approx((low[0], high[0]))


@pytest.mark.parametrize(
    # Tables of the sign test: n, confidence, and the rank of the interval's ends.
    ("count", "confident", "rank"),
    [(5, 0.95, 0), (6, 0.95, 1), (10, 0.95, 2), (20, 0.95, 6), (7, 0.99, 0), (8, 0.99, 1)],
)
def test_the_median_lies_between_ranks(count: int, confident: float, rank: int) -> None:
    assert confidence.median_rank(count, confident) == rank


def test_the_interval_of_a_median() -> None:
    values = [5.0, 1, 4, 2, 3, 9, 7, 8, 6, 100]
    assert confidence.median_interval(values) == (2, 9)
    # Too few for 99 %, one value, and one that is no number.
    assert confidence.median_interval(values[:5], 0.99) == (-math.inf, math.inf)
    assert confidence.median_interval([1.0]) is None
    assert confidence.median_interval([1.0, math.nan]) is None
    # What has no end keeps its place in the order.
    assert confidence.median_interval([1.0] * 8 + [math.inf] * 2) == (1, math.inf)


def test_how_many_seeds_a_mean_needs() -> None:
    # s = 1, 0.5 from the edge: t s / sqrt(n) < 0.5. At 99 %, t(29) = 2.756 (tables):
    # 0.503 for n = 30, and t(31) = 2.744: 0.485 for n = 32.
    values = [-1.0, 0.0, 1.0]
    at = Look(2, 0.99)
    needed = at.seeds_needed(values, 0.5)
    assert needed is not None
    assert 31 <= needed <= 34
    assert at.seeds_needed(values, 0.0) is None
    assert at.seeds_needed(values, 100.0) == 3


def test_how_many_seeds_a_median_needs() -> None:
    # A quarter lies beyond the edge: of n the k-th least must be more than n / 4.
    at = Look(2, 0.99, Method.MEDIAN)
    needed = at.seeds_needed([0.0, 0, 0, 5], 3.0)
    assert needed is not None
    assert confidence.median_rank(needed, 0.99) > needed / 4
    assert at.seeds_needed([0.0, 5], 3.0) is None
