"""Fairness over time, the heat map of links and the timeline of flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import incastle as ic
from conftest import SMALL
from incastle.plotting import fairness, heat, kinds, timeline
from incastle.plotting.series import Series

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SCENARIO = '[measure]\nthroughput = { every = "10 ms" }\n'


def made(**tables: pl.DataFrame) -> ic.Result:
    """Return a result of 50 ms with these tables."""
    totals: dict[str, Any] = {"simulated_s": 0.05}
    fields = ("made", 1, "0123456789abcdef", "0", 0.1, False, totals, SCENARIO)
    return ic.Result(*fields, tables=tables)


def flows(*spans: tuple[float, float | None]) -> pl.DataFrame:
    numbers = range(len(spans))
    schema = {"flow": pl.UInt64, "started_s": pl.Float64, "completed_s": pl.Float64}
    rows = [(number, *span) for number, span in zip(numbers, spans, strict=True)]
    return pl.DataFrame(rows, schema=schema, orient="row")


def throughput(rows: Sequence[tuple[float, int, int]]) -> pl.DataFrame:
    schema = {"time_s": pl.Float64, "flow": pl.UInt64, "bytes": pl.UInt64}
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def test_the_index_is_of_the_flows_that_are_there_in_the_whole_interval() -> None:
    result = made(
        # The third begins within the second interval and ends within the fourth.
        flows=flows((0.0, None), (0.0, None), (0.015, 0.038)),
        throughput=throughput(
            [
                *((0.0, 0, 100), (0.0, 1, 100)),
                *((0.01, 0, 300), (0.01, 1, 100), (0.01, 2, 900)),
                *((0.02, 0, 100), (0.02, 2, 100)),
                (0.03, 2, 500),
                (0.04, 1, 70),
            ]
        ),
    )
    found = dict(fairness.index(result).iter_rows())
    # Equal: 1. 400^2 / (2 * (90,000 + 10,000)) = 0.8. Of three flows one has nothing:
    # 200^2 / (3 * 20,000) = 2/3. Nothing of the two that are there: none. One has all: 1/2.
    assert found == pytest.approx({0: 1.0, 1: 0.8, 2: 2 / 3, 4: 0.5})


def test_fairness_needs_two_flows() -> None:
    result = made(flows=flows((0.0, None)), throughput=throughput([(0.0, 0, 100)]))
    with pytest.raises(ic.PlotError, match="no interval has two flows"):
        kinds.draw(result, "fairness")
    plain = ic.run(ic.Scenario.from_text(SMALL))
    with pytest.raises(ic.TableMissing, match="under \\[measure\\], write throughput"):
        kinds.draw(plain, "fairness")


def test_fairness_of_several_seeds_is_a_curve_with_a_band() -> None:
    scenario = ic.Scenario.from_text(
        '[run]\nduration = "30 ms"\n[network]\ntopology = "star"\nsenders = 3\n'
        '[flows.long]\nworkload = "bulk"\nfrom = "senders"\nto = "receiver"\n'
        '[measure]\nthroughput = { every = "1 ms" }\n'
    )
    results = [ic.run(scenario, seed) for seed in (1, 2)]
    figure, source = kinds.draw(results, "fairness")
    (axes,) = figure.axes
    assert source == "throughput.parquet"
    assert axes.get_ylabel() == "Jain's index of throughput, per 1 ms"
    assert len(axes.lines) == len(axes.collections) == 1
    values = np.asarray(axes.lines[0].get_ydata())
    assert 0 < values.min() <= values.max() <= 1


PORTS = {
    "host:0->leaf:0": 0.1,
    "leaf:0->host:0": 0.2,
    "host:1->leaf:0": 0.3,
    "leaf:0->host:1": 0.4,
    "host:2->leaf:1": 0.5,
    "leaf:1->host:2": 0.6,
    "leaf:0->spine:0": 0.7,
    "spine:0->leaf:0": 0.8,
    "leaf:1->spine:0": 0.9,
    "spine:0->leaf:1": 1.0,
}


def links(factor: float = 1.0) -> pl.DataFrame:
    shares = [factor * share for share in PORTS.values()]
    return pl.DataFrame({"port": list(PORTS), "utilisation": shares})


def test_a_map_has_the_links_of_each_node_by_tiers() -> None:
    found = heat.maps(Series("", (made(links=links()),)))
    assert [(one.title, one.rows) for one in found] == [
        ("host to leaf", ["leaf:0", "leaf:1"]),
        ("leaf to host", ["leaf:0", "leaf:1"]),
        ("leaf to spine", ["spine:0"]),
        ("spine to leaf", ["spine:0"]),
    ]
    assert found[0].cells == [pytest.approx([10, 30]), pytest.approx([50])]
    assert found[3].cells == [pytest.approx([80, 100])]
    both = heat.maps(Series("", (made(links=links()), made(links=links(0.5)))))
    assert both[3].cells == [pytest.approx([60, 75])], "the mean of the seeds"


def test_the_maps_of_two_results_are_next_to_each_other() -> None:
    results = {"A": made(links=links()), "B": made(links=links(0.5))}
    figure, source = kinds.draw(results, "utilisation")
    assert source == "links.parquet"
    *panels, bar = figure.axes
    assert [one.get_title("left") for one in panels[:2]] == ["A: host to leaf", "B: host to leaf"]
    assert len(panels) == 8
    assert bar.get_ylabel() == "utilisation (%)"
    with pytest.raises(ic.PlotError, match="its ports have no names of two nodes"):
        kinds.draw(made(links=pl.DataFrame({"port": ["a"], "utilisation": [0.5]})), "utilisation")


def transfers() -> pl.DataFrame:
    columns = ("group", "kind", "flow", "started_s", "completed_s")
    rows = [
        ("web", "flow", 0, 0.02, 0.03),
        ("web", "flow", 1, 0.0, None),
        ("store", "response", 2, 0.01, 0.015),
        ("store", "response", 2, 0.03, 0.045),
        ("store", "round", 0, 0.01, 0.015),
    ]
    return pl.DataFrame(rows, schema=list(columns), orient="row")


def test_bars_are_the_transfers_in_the_order_of_their_beginnings() -> None:
    timeouts = pl.DataFrame({"flow": [2, 2], "time_s": [0.04, 0.02]})
    figure, source = kinds.draw(made(transfers=transfers(), timeouts=timeouts), "timeline")
    (axes,) = figure.axes
    assert source == "transfers.parquet and timeouts.parquet"
    bars = {
        str(group.get_label()): [segment.ravel().tolist() for segment in group.get_segments()]  # type: ignore[attr-defined]
        for group in axes.collections
    }
    assert bars == {
        "web: 2, 1 unfinished": [pytest.approx([0, 0, 50, 0]), pytest.approx([20, 2, 30, 2])],
        "store: 2": [pytest.approx([10, 1, 15, 1]), pytest.approx([30, 3, 45, 3])],
    }
    (cross,) = [one for one in axes.lines if one.get_label() == "timeout"]
    # That at 20 ms is between two responses of its flow.
    assert [list(one) for one in (cross.get_xdata(), cross.get_ydata())] == [  # type: ignore[arg-type]
        pytest.approx([40.0]),
        [3],
    ]


def test_flows_without_an_end_have_no_timeline(tmp_path: Path) -> None:
    empty = made(transfers=transfers().filter(pl.col("kind") == "round"))
    with pytest.raises(ic.PlotError, match="no transfer has an end"):
        timeline.transfers(empty)
    ic.plot.timeline(made(transfers=transfers()), style="ieee", out=tmp_path / "a.pdf")
    ic.plot.utilisation(made(links=links()), style="acm", out=tmp_path / "b.pdf")
    ic.plot.fairness(
        made(flows=flows((0, None), (0, None)), throughput=throughput([(0.0, 0, 1), (0.0, 1, 1)])),
        out=tmp_path / "c.png",
    )
    assert len(list(tmp_path.iterdir())) == 3
