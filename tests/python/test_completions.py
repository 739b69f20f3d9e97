"""Completion times by size class, against numbers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from incastle.completions import by_size

if TYPE_CHECKING:
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


def test_a_result_gives_them(result: ic.Result) -> None:
    frame = result.completions()
    assert frame["begun"].sum() == len(result.transfers)
    assert set(frame["group"]) == set(result.transfers["group"])
