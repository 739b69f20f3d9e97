"""Unfinished transfers in papers: ends of intervals, and their tables and figures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incastle.analysis import ends
from incastle.analysis.confidence import interval_of
from incastle.analysis.ends import Ends
from incastle.plotting.style import canvas
from incastle.reproduction import figures, lasting
from incastle.reproduction.papers import Observation
from incastle.storage.compressed import read_csv
from synthetic import scenario

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from incastle.analysis.ends import Value


def rows(*pairs: tuple[float, float | None]) -> pl.DataFrame:
    """Give transfers by their start and end, in s."""
    columns = {"started_s": pl.Float64, "completed_s": pl.Float64}
    return pl.DataFrame(list(pairs), schema=columns, orient="row")


def run(text: str) -> Observation:
    return Observation({}, "", text)


# ---- what transfers lasted


def test_transfers_count_by_their_start() -> None:
    # 5 s long, measured from 1 s on. The first began before; the last has lasted 0.5 s.
    made = rows((0.5, 1.5), (1.0, 1.25), (4.0, 4.125), (4.5, None))
    found = lasting.begun(run(scenario(5, 1)), made)
    assert found["started_s"].to_list() == [1.0, 4.0, 4.5]
    assert found["ms_low"].to_list() == [250, 125, 500]
    assert found["ms_high"].to_list() == [250, 125, math.inf]
    assert found["s_low"].to_list() == [0.25, 0.125, 0.5]


def test_what_begins_after_the_measured_interval_does_not_count() -> None:
    text = scenario(5).replace("until = 'end'", "until = '2500 ms'")
    assert lasting.interval(run(text)) == (0, 2.5, 5)
    found = lasting.begun(run(text), rows((2.0, None), (2.5, 3.0)))
    assert found["ms_low"].to_list() == [3000]


def test_a_duration_without_a_unit_is_refused() -> None:
    with pytest.raises(ValueError, match="times with units, not '5'"):
        lasting.interval(run(scenario(5).replace("'5 s'", "'5'")))


def test_a_statistic_has_its_ends_and_their_count() -> None:
    # 100, 200 and 300 ms, and 400 or more: mean 250 or more; the median half way from 200 to 300
    # at both ends; the 99th percentile at 0.97 between 300 and the last.
    seen = lasting.begun(run(scenario(1)), rows((0.0, 0.1), (0.1, 0.3), (0.2, 0.5), (0.6, None)))
    assert lasting.mean(seen) == pytest.approx((250, math.inf, 1))
    assert lasting.quantile(seen, 0.5) == pytest.approx((250, 250, 1))
    assert lasting.quantile(seen, 0.99) == pytest.approx((397, math.inf, 1))
    # One that began early may be the longest already: 100, 200, and 900 or more.
    early = lasting.begun(run(scenario(1)), rows((0.0, 0.1), (0.1, 0.3), (0.1, None)))
    assert lasting.quantile(early, 0.75) == pytest.approx((550, math.inf, 1))


def test_where_all_completed_a_statistic_is_a_number() -> None:
    seen = lasting.begun(run(scenario(1)), rows((0.0, 0.1), (0.1, 0.3)))
    assert lasting.mean(seen) == pytest.approx(150)
    assert isinstance(lasting.mean(seen), float)
    nothing = lasting.begun(run(scenario(1)), rows())
    assert math.isnan(ends.ends(lasting.quantile(nothing, 0.5)).low)


# ---- what is computed from ends


def test_ends_are_combined_by_hand() -> None:
    assert ends.ratio(Ends(2, 6, 1), Ends(3, 4, 2)) == (0.5, 2, 3)
    assert ends.ratio(1.0, Ends(2, math.inf, 1)) == (0, 0.5, 1)
    assert ends.ratio(Ends(2, math.inf, 1), 4.0) == (0.5, math.inf, 1)
    assert ends.ratio(3.0, 2.0) == 1.5
    assert ends.ratio(3.0, 0.0) == math.inf
    assert math.isnan(ends.ends(ends.ratio(0.0, 0.0)).low)
    assert ends.difference(5.0, Ends(1, 2, 1)) == (3, 4, 1)
    assert ends.difference(5.0, Ends(1, math.inf, 1)) == (-math.inf, 4, 1)
    assert ends.rising(max, [Ends(1, 5, 1), 3.0, Ends(2, 2, 1)]) == (3, 5, 2)
    assert ends.rising(min, [4.0, 3.0]) == 3
    assert ends.size(Ends(-3, 2, 1)) == (0, 3, 1)
    assert ends.size(Ends(-3, -2, 1)) == (2, 3, 1)
    assert ends.size(-3.0) == 3


VALUES = st.tuples(st.floats(0.1, 1e3), st.floats(0, 1e3)).map(lambda p: Ends(p[0], p[0] + p[1], 1))


@given(VALUES, VALUES, st.floats(0, 1), st.floats(0, 1))
def test_no_value_between_the_ends_lies_beyond_the_results(
    one: Ends, other: Ends, share: float, rest: float
) -> None:
    a = min(one.low + share * (one.high - one.low), one.high)
    b = min(other.low + rest * (other.high - other.low), other.high)
    for found, at in (
        (ends.ratio(one, other), a / b),
        (ends.difference(one, other), a - b),
        (ends.size(ends.difference(one, other)), abs(a - b)),
        (ends.rising(sum, [one, other]), a + b),
    ):
        low, high, count = ends.ends(found)
        assert low <= at <= high
        assert count == 2


def write(value: float) -> str:
    return f"{value:.1f}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.14, "3.1"),
        (Ends(3.14, 3.14, 2), "3.1"),
        (Ends(3.14, 3.149, 2), "3.1"),
        (Ends(3.14, 3.16, 2), "3.1 to 3.2"),
        (Ends(3.14, math.inf, 2), "≥ 3.1"),
    ],
)
def test_what_reads_alike_is_one_number(value: Value, text: str) -> None:
    assert ends.shown(value, write) == text


def test_the_interval_of_ends_is_that_of_both() -> None:
    # 10, 12, 14: 12 with 4.9683 (test_claims.py); 12, 14, 16: 14 with the same.
    values = [Ends(10, 12, 1), Ends(12, 14, 1), Ends(14, 16, 1)]
    assert interval_of(values) == pytest.approx((12 - 4.9683, 14 + 4.9683), abs=1e-3)
    assert interval_of([10.0, 12.0, Ends(14, math.inf, 1)]) == pytest.approx(
        (12 - 4.9683, math.inf), abs=1e-3
    )
    assert interval_of([Ends(1, 2, 1)]) is None


# ---- tables and figures


def test_a_table_without_ends_is_the_plain_one() -> None:
    plain = [("a", 1, 2.5), ("b", 2, None)]
    columns = ["name", "seed", "ms"]
    assert lasting.table(plain, columns).equals(pl.DataFrame(plain, schema=columns, orient="row"))


def test_a_table_has_the_ends_that_differ_and_all_counts() -> None:
    made = lasting.table(
        [("a", Ends(1.0, math.inf, 2), Ends(3.0, 3.0, 1)), ("b", 4.0, 5.0)],
        ["name", "mean_ms", "median_ms"],
    )
    assert made.to_dict(as_series=False) == {
        "name": ["a", "b"],
        "mean_ms": [1, 4],
        "median_ms": [3, 5],
        "mean_ms_high": [math.inf, 4],
        "mean_ms_unfinished": [2, 0],
        "median_ms_unfinished": [1, 0],
    }
    first, second = made.iter_rows(named=True)
    assert lasting.read(first, "mean_ms") == Ends(1, math.inf, 2)
    assert lasting.read(first, "median_ms") == Ends(3, 3, 1)
    assert lasting.read(second, "mean_ms") == 4


def curve(*values: Value) -> pl.DataFrame:
    """Give a value for each n, one seed."""
    return lasting.table([(n, value) for n, value in enumerate(values)], ["n", "ms"])


def test_a_curve_reaches_to_the_upper_ends() -> None:
    made = curve(1.0, Ends(2.0, 5.0, 1), Ends(3.0, math.inf, 4))
    with canvas() as figure:
        axes: Any = figure.subplots()
        figures.spread(axes, made, "n", "ms", color=figures.RED)
        assert list(axes.lines[0].get_ydata()) == [1, 2, 3]
        corners = axes.collections[0].get_paths()[0].vertices
        assert max(y for x, y in corners if x == 1) == 5
        # An arrow at the last point alone; its band is no wider than what is known.
        assert max(y for x, y in corners if x == 2) == 3
        assert [text.xy for text in axes.texts] == [(2, 3)]


def test_a_row_of_points_has_bars_and_arrows() -> None:
    made = curve(1.0, Ends(2.0, 5.0, 1), Ends(3.0, math.inf, 4))
    with canvas() as figure:
        axes: Any = figure.subplots()
        figures.bars(axes, made, "ms", [7, 8, 9], figures.RED, sideways=True)
        segments = [[tuple(end) for end in one] for one in axes.collections[0].get_segments()]
        assert segments == [[(1, 7), (1, 7)], [(2, 8), (5, 8)], [(3, 9), (3, 9)]]
        assert [text.xy for text in axes.texts] == [(3, 9)]


def draw(figure: Figure, data: pl.DataFrame) -> None:
    figures.spread(figure.subplots(), data, "n", "ms", color=figures.RED)


def test_a_figure_says_what_was_unfinished_and_only_then(tmp_path: Path) -> None:
    figures.render(figures.Drawing(tmp_path / "a", curve(Ends(1.0, 2.0, 3), 4.0), draw))
    figures.render(figures.Drawing(tmp_path / "b", curve(1.0, 4.0), draw))
    assert ">up to 3 unfinished at the end of a run" in (tmp_path / "a.svg").read_text()
    assert "unfinished" not in (tmp_path / "b.svg").read_text()
    assert (
        read_csv(tmp_path / "a.csv.gz") == "n,ms,ms_high,ms_unfinished\n0,1.0,2.0,3\n1,4.0,4.0,0\n"
    )
    assert read_csv(tmp_path / "b.csv.gz") == "n,ms\n0,1.0\n1,4.0\n"
