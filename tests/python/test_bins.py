"""Tables of bins: saved without the empty ones, shown with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import incastle as ic
from incastle.analysis import bins
from incastle.difference.results import ResultDiff
from incastle.plotting import results as plots

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from incastle.scenario import Value

SCENARIO = """\
name = "bins"
network = { topology = "star", senders = 3, rate = "1 Gbit/s", delay = "25 us" }
transport = { handshake = false }
run = { duration = "1 s" }

[flows.early]
workload = "bulk"
from = "sender:0"
to = "receiver"
size = "200 KB"

[flows.again]
workload = "barrier-incast"
from = "senders"
to = "receiver"
sru = "2 KB"
think_time = "30 ms"

[flows.late]
workload = "bulk"
from = "sender:1"
to = "sender:2"
size = "100 KB"
start = "700 ms"

[measure]
throughput = { every = "0.3 ms" }
"""


@pytest.fixture(scope="module")
def result() -> ic.Result:
    return ic.run(ic.Scenario.from_text(SCENARIO))


def with_zeros(table: pl.DataFrame, owner: str, width_s: float) -> list[tuple[float, ...]]:
    """Give the rows as a table had them that kept every bin, put together by hand."""
    rows = []
    for part in table.partition_by(owner, maintain_order=True):
        found = {round(row["time_s"] / width_s): row for row in part.iter_rows(named=True)}
        empty = dict.fromkeys(part.columns, 0) | {owner: part[owner][0]}
        for number in range(max(found) + 1):
            row = found.get(number, empty) | {"time_s": number * width_s}
            rows.append(tuple(row[column] for column in part.columns))
    return rows


@pytest.mark.parametrize(("name", "width_s"), [("goodput", 1e-3), ("throughput", 3e-4)])
def test_empty_bins_are_saved_nowhere_and_shown_as_zeros(
    result: ic.Result, name: str, width_s: float
) -> None:
    saved, shown = result.table(name), getattr(result, name)
    kept = [column for column in saved.columns if column.endswith("bytes")]
    assert saved.select(pl.sum_horizontal(kept).min()).item() > 0
    assert shown.schema == saved.schema
    assert shown.rows() == with_zeros(saved, bins.OWNERS[name], width_s)
    assert 2 * len(saved) < len(shown)
    assert shown[kept].sum().equals(saved[kept].sum())


def test_a_mean_counts_the_time_in_which_nothing_arrived(result: ic.Result) -> None:
    late = result.with_groups("throughput").filter(pl.col("group") == "late")
    assert late["bytes"].sum() == 100_000
    # Nothing for 0.7 s, in bins of 0.3 ms, and then it takes about a millisecond.
    assert len(late) == pytest.approx(0.7 / 3e-4, abs=8)
    assert late["bytes"].mean() == pytest.approx(100_000 / len(late))


def test_a_table_with_every_bin_stays_as_it_is(result: ic.Result) -> None:
    shown = result.goodput
    assert bins.filled("goodput", shown, result.scenario) is shown
    nothing = shown.clear()
    assert bins.filled("goodput", nothing, result.scenario) is nothing


def test_flows_keep_their_names(result: ic.Result) -> None:
    named = result.with_groups("throughput")
    assert named.drop("group", "index").equals(result.throughput)
    assert set(named["group"]) == {"early", "again", "late"}


def test_a_figure_draws_the_silence(
    result: ic.Result, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drawn: list[pl.DataFrame] = []
    rates = plots._bit_rates

    def watched(axes: Axes, frame: pl.DataFrame, by: str, label: str) -> None:
        drawn.append(frame)
        rates(axes, frame, by, label)

    monkeypatch.setattr(plots, "_bit_rates", watched)
    result.plot("throughput", out=tmp_path / "a.png")
    (frame,) = drawn
    assert len(frame) == len(result.throughput)
    # The interval is the scenario's, not the shortest between two rows.
    peak = frame.select(pl.col("bytes").max() * 8 / 3e-4).item()
    assert frame["bit_s"].max() == pytest.approx(peak)


def test_bins_without_end_are_refused_and_the_others_there(tmp_path: Path) -> None:
    changes: dict[str, Value] = {
        "run.duration": "100000 s",
        "flows.late.start": "99999 s",
        "measure.throughput": "off",
    }
    endless = ic.run(
        ic.Scenario.from_text(SCENARIO).with_overrides({**changes, "flows.again.rounds": 1})
    )
    assert len(endless.table("goodput")) < 20
    with pytest.raises(ic.ResultError, match=r"goodput has 199,9\d\d,\d\d\d bins.*table"):
        _ = endless.goodput
    other = ic.run(
        ic.Scenario.from_text(SCENARIO).with_overrides({**changes, "flows.again.rounds": 2})
    )
    compared = ResultDiff(endless, other, (tmp_path, tmp_path)).curves
    assert "goodput" in set(compared["table"])
