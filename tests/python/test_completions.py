"""Completion times by size class, against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from incastle import terminal
from incastle.completions import SIZE_CLASSES, by_size, class_name, quantile, quantile_of
from incastle.difference.results import ResultDiff
from incastle.sweeps import measures

if TYPE_CHECKING:
    from pathlib import Path

    import incastle as ic


def _transfers(**more: list[float | None]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "group": ["b", "b", "b", "b", "a"],
            "kind": ["flow"] * 5,
            "started_s": [1.0, 1.0, 2.0, 2.0, 0.0],
            "completed_s": [1.5, 1.25, None, 2.75, 3.0],
            "bytes": pl.Series([9_999, 10_000, 99_999, 50_000, 20_000_000], dtype=pl.UInt64),
            **more,
        }
    )


def test_classes_have_their_times() -> None:
    frame = by_size(_transfers())
    assert frame["group"].to_list() == ["b", "b", "a"]
    assert frame["least_bytes"].to_list() == [0, 10_000, 10_000_000]
    assert frame["begun"].to_list() == [1, 3, 1]
    assert frame["completed"].to_list() == [1, 2, 1]
    assert frame["mean_s"].to_list() == pytest.approx([0.5, 0.5, 3.0])
    # Linear between 0.25 and 0.75.
    assert frame["p95_s"][1] == pytest.approx(0.25 + 0.95 * 0.5)
    assert frame["p99_9_s"][1] == pytest.approx(0.25 + 0.999 * 0.5)
    assert "slowdown_mean" not in frame.columns


def test_slowdowns_are_summarised_where_they_are_known() -> None:
    frame = by_size(_transfers(slowdown=[1.0, 2.0, None, 4.0, 1.5]), sizes=[])
    assert frame["least_bytes"].to_list() == [0, 0]
    assert frame["slowdown_median"].to_list() == pytest.approx([2.0, 1.5])
    assert frame["slowdown_mean"].to_list() == pytest.approx([7 / 3, 1.5])


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
        ideal_s=pl.Series([0.5, 0.25]),
        slowdown=pl.Series([2.0, 12.0]),
    )
    two = replace(result, tables={**result.tables, "transfers": rows})
    bare = replace(result, tables={**result.tables, "transfers": rows.select(columns).clear()})

    terminal.result(two)
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


def test_a_run_without_slowdowns_shows_none(
    result: ic.Result, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.result(result)
    assert "Slowdowns" not in capsys.readouterr().out


def test_a_result_gives_them(result: ic.Result) -> None:
    frame = result.completions()
    assert frame["begun"].sum() == len(result.transfers)
    assert set(frame["group"]) == set(result.transfers["group"])
