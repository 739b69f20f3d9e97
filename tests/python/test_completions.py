"""Completion times by size class, against numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from incastle.analysis import measures
from incastle.analysis.completions import (
    SIZE_CLASSES,
    by_size,
    class_name,
    observed,
    quantile,
    quantile_of,
    shown,
)
from incastle.commands import diff as diff_command
from incastle.commands import run as run_command
from incastle.difference.results import ResultDiff

if TYPE_CHECKING:
    from pathlib import Path

    import incastle as ic


def _transfers(**more: list[float | None]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "group": ["b", "b", "b", "b", "a"],
            "kind": ["flow"] * 5,
            "started_s": [1.0, 1.0, 2.0, 2.0, 0.0],
            "fct_s": [0.5, 0.25, None, 0.75, 3.0],
            "bytes": pl.Series([9_999, 10_000, 99_999, 50_000, 20_000_000], dtype=pl.UInt64),
            **more,
        }
    )


TOTALS = {"simulated_s": 4.0, "measured_from_s": 0.0, "measured_to_s": 4.0}
KNOWN: dict[str, list[float | None]] = {
    "ideal_fct_s": [0.5, 0.125, 0.5, 0.25, 2.0],
    "slowdown": [1.0, 2.0, None, 3.0, 1.5],
}


def test_classes_have_their_times() -> None:
    frame = by_size(observed(_transfers(), TOTALS))
    assert frame["group"].to_list() == ["b", "b", "a"]
    assert frame["min_bytes"].to_list() == [0, 10_000, 10_000_000]
    assert frame["begun"].to_list() == [1, 3, 1]
    assert frame["completed"].to_list() == [1, 2, 1]
    assert frame["unfinished"].to_list() == [0, 1, 0]
    assert frame["mean_s"].to_list() == [0.5, None, 3.0]
    assert "slowdown_mean" not in frame.columns


def test_what_is_unfinished_makes_an_interval() -> None:
    # From 2 s to the end at 4 s it had lasted 2 s: 0.25, 0.75 and at least 2 s, at most for ever.
    row = by_size(observed(_transfers(), TOTALS)).row(1, named=True)
    assert row["median_s"] == row["median_low_s"] == row["median_high_s"] == 0.75
    assert (row["p95_s"], row["p95_high_s"]) == (None, math.inf)
    assert row["p95_low_s"] == pytest.approx(0.75 + 0.9 * (2 - 0.75))
    assert (row["mean_low_s"], row["mean_high_s"]) == (1.0, math.inf)


def test_an_interval_may_have_two_finite_ends() -> None:
    # Four transfers of 1, 2, 3 and 4 s, one unfinished after 1 s: the median of five is the third.
    times = [1.0, 2.0, 3.0, 4.0, None]
    frame = pl.DataFrame(
        {"group": "a", "kind": "flow", "started_s": 9.0, "fct_s": times, "bytes": 1}
    )
    totals = {"simulated_s": 10.0, "measured_from_s": 0.0, "measured_to_s": 10.0}
    (row,) = by_size(observed(frame, totals), []).to_dicts()
    assert (row["median_s"], row["median_low_s"], row["median_high_s"]) == (None, 2.0, 3.0)


def test_slowdowns_are_summarised_where_they_are_known() -> None:
    frame = by_size(observed(_transfers(**KNOWN), TOTALS), sizes=[])
    # Of group b 1, 2, 3 and one that had reached 2 s / 0.5 s = 4.
    assert frame["slowdown_median"].to_list() == [2.5, 1.5]
    assert frame["slowdown_mean"].to_list() == [None, 1.5]
    assert frame["slowdown_mean_low"][0] == pytest.approx(10 / 4)
    assert frame["slowdown_p99_high"][0] == math.inf


def test_a_slowdown_without_an_ideal_can_be_anything() -> None:
    known: dict[str, list[float | None]] = {
        "ideal_fct_s": [0.5, None, 0.5, 0.25, 2.0],
        "slowdown": [1.0, None, None, 3.0, 1.5],
    }
    frame = observed(_transfers(**known), TOTALS)
    assert frame["slowdown_low"].to_list() == [1.0, 0.0, 4.0, 3.0, 1.5]
    assert frame["slowdown_high"].to_list() == [1.0, math.inf, math.inf, 3.0, 1.5]


def test_rounds_have_no_slowdown() -> None:
    rounds = _transfers(**KNOWN).with_columns(kind=pl.lit("round"), slowdown=None, ideal_fct_s=None)
    assert observed(rounds, TOTALS)["slowdown_high"].to_list() == [None] * 5


def test_transfers_count_by_their_start() -> None:
    totals = {"simulated_s": 4.0, "measured_from_s": 1.0, "measured_to_s": 2.0}
    assert observed(_transfers(), totals)["started_s"].to_list() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((None, None), "-"),
        ((0.0123, 0.0123), "12.3 ms"),
        ((0.01231, 0.01232), "12.3 ms"),
        ((0.012, 0.013), "12 to 13 ms"),
        ((0.0009, 0.013), "900 us to 13 ms"),
        ((0.012, math.inf), "\u2265 12 ms"),
    ],
)
def test_intervals_are_written(ends: tuple[float | None, float | None], words: str) -> None:
    assert shown(*ends, "s") == words


def test_classes_must_ascend() -> None:
    with pytest.raises(ValueError, match="ascend"):
        by_size(_transfers(), sizes=[1_000, 1_000])


def test_quantiles_are_those_of_numpy() -> None:
    values = sorted([3.0, 1.0, 4.0, 1.5, 9.0, 2.6])
    frame = pl.DataFrame({"value": values})
    for share in (0.0, 0.5, 0.99, 1.0):
        assert quantile(values, share) == pytest.approx(np.quantile(values, share))
        of_column = frame.select(quantile_of(pl.col("value"), share)).item()
        assert of_column == pytest.approx(np.quantile(values, share))
    assert quantile([], 0.5) is None


def test_quantiles_reach_infinity() -> None:
    values = [1.0, 2.0, math.inf, math.inf]
    frame = pl.DataFrame({"value": values})
    for share, expected in ((1 / 3, 2.0), (0.4, math.inf), (0.9, math.inf), (1.0, math.inf)):
        assert quantile(values, share) == pytest.approx(expected)
        assert frame.select(quantile_of(pl.col("value"), share)).item() == pytest.approx(expected)


def test_classes_are_named() -> None:
    names = [class_name(least) for least in (0, *SIZE_CLASSES)]
    assert names == ["below 10 KB", "10 to 100 KB", "100 KB to 1 MB", "1 to 10 MB", "from 10 MB"]


def test_everything_says_the_same_99th_percentile(
    result: ic.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Of 1 and 3 s: 1 + 0.99 x 2; of slowdowns of 2 and 12: 2 + 0.99 x 10. Nearest: 3 and 12.
    columns = result.transfers.columns
    row = result.transfers.filter(pl.col("completed_s").is_not_null()).head(1)
    rows = pl.concat([row, row]).with_columns(
        started_s=pl.Series([0.0, 0.0]),
        completed_s=pl.Series([1.0, 3.0]),
        fct_s=pl.Series([1.0, 3.0]),
        ideal_fct_s=pl.Series([0.5, 0.25]),
        slowdown=pl.Series([2.0, 12.0]),
    )
    two = replace(result, tables={**result.tables, "transfers": rows})
    bare = replace(result, tables={**result.tables, "transfers": rows.select(columns).clear()})

    run_command.show_run(two)
    shown = capsys.readouterr().out
    assert "2.98 s" in shown
    assert "11.9" in shown
    assert "Slowdowns" in shown
    [classes] = two.completions().to_dicts()
    assert (classes["p99_s"], classes["slowdown_p99"]) == pytest.approx((2.98, 11.9))
    swept = measures.measure(two)
    assert swept["completion_p99_s"] == pytest.approx(2.98)
    assert swept["slowdown_p99"] == pytest.approx(11.9)
    groups = ResultDiff(two, bare, (tmp_path, tmp_path)).groups
    found = dict(groups.select("measure", "a").iter_rows())
    assert found["flow p99_s"] == pytest.approx(2.98)
    assert found["flow slowdown_median"] == pytest.approx(7)
    assert found["flow slowdown_p99"] == pytest.approx(11.9)


@pytest.mark.parametrize(
    ("count", "has_slowdowns", "noted"),
    [(99, False, True), (100, False, False), (999, True, True), (1000, True, False)],
)
def test_percentiles_of_few_transfers_have_a_note(
    result: ic.Result, count: int, *, has_slowdowns: bool, noted: bool
) -> None:
    row = result.transfers.filter(pl.col("completed_s").is_not_null()).head(1)
    rows = pl.concat([row] * count).with_columns(started_s=0.0, completed_s=0.5, fct_s=0.5)
    if has_slowdowns:
        rows = rows.with_columns(ideal_fct_s=0.25, slowdown=2.0)
    notes = run_command.notes_of([replace(result, tables={**result.tables, "transfers": rows})])
    assert any("about their maximum" in note for note in notes) is noted


def test_no_transfer_in_the_measured_interval_is_said(
    result: ic.Result, capsys: pytest.CaptureFixture[str]
) -> None:
    late = {"measured_from_s": 0.9999, "measured_to_s": 0.99995, "simulated_s": 1.0}
    run_command.show_run(replace(result, totals={**result.totals, **late}))
    shown = capsys.readouterr().out
    words = f"none of {len(result.transfers)} transfers began in the measured interval, 999.9 to "
    assert words + "999.95 ms" in shown


def test_a_comparison_has_both_ends(
    result: ic.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = result.transfers.filter(pl.col("completed_s").is_not_null()).head(1)
    times = pl.Series("fct_s", [0.001, 0.002])
    done = pl.concat([row, row]).with_columns(times, started_s=pl.Series([0.0, 0.0]))
    never = done.with_columns(fct_s=pl.Series([0.001, None]), completed_s=None)
    sides = [replace(result, tables={**result.tables, "transfers": one}) for one in (done, never)]
    totals = {**result.totals, "simulated_s": 0.004, "measured_to_s": 0.004}
    a, b = (replace(one, totals=totals) for one in sides)
    found = ResultDiff(a, b, (tmp_path, tmp_path))
    rows = {one["measure"]: one for one in found.groups.to_dicts()}
    mean = rows["flow mean_s"]
    assert (mean["a"], mean["a_high"]) == pytest.approx((0.0015, 0.0015))
    assert (mean["b"], mean["b_high"]) == (pytest.approx(0.0025), math.inf)
    assert mean["relative"] is None
    assert rows["flow unfinished"]["b"] == 1
    diff_command.show(found, everything=True)
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if "flow mean" in line]
    assert lines == [[row["group"][0], "flow", "mean", "1.5", "ms", "\u2265", "2.5", "ms"]]


def test_a_run_without_slowdowns_shows_none(
    result: ic.Result, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command.show_run(result)
    assert "Slowdowns" not in capsys.readouterr().out


def test_a_result_gives_them(result: ic.Result) -> None:
    frame = result.completions()
    assert frame["begun"].sum() == len(result.transfers)
    assert frame["unfinished"].sum() == result.transfers["fct_s"].null_count()
    assert set(frame["group"]) == set(result.transfers["group"])
