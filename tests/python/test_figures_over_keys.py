"""Figures of a sweep over a key: units, scales, intervals and names of what is drawn."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.collections import PolyCollection

import incastle as ic
from conftest import WEB
from incastle.analysis.completions import ends_of

LOAD, CONTROL = "flows.web.load", "transport.congestion"
MIXED = (
    WEB.replace('"web"', '"mixed"', 1).replace("60 ms", "20 ms")
    + """
[flows.incast]
workload = "random-incast"
from = "senders"
to = "receiver"
count = 3
sru = "20 KB"
load = 0.1
"""
)


@pytest.fixture(scope="module")
def swept() -> ic.Sweep:
    """Return two groups of flows over two loads, with two seeds."""
    return ic.sweep(ic.Scenario.from_text(MIXED), {LOAD: [0.1, 0.2]}, seeds=2)


def with_values(swept: ic.Sweep, column: str, web: list[float], incast: list[float]) -> ic.Sweep:
    """Put values for each load in place of those of a measure; the seeds differ by a share."""
    place, share = pl.int_range(pl.len()) // 2, 1 + 0.02 * pl.col("seed")
    values = [
        (pl.when(place == 0).then(of[0]).otherwise(of[1]) * share).alias(f"{group}.{end}")
        for group, of in (("web", web), ("incast", incast))
        for end in (column, *ends_of(column))
    ]
    return dataclasses.replace(swept, frame=swept.frame.with_columns(values))


def test_panels_of_a_row_have_one_unit_and_one_kind_of_scale(swept: ic.Sweep) -> None:
    """The label stands once per row: a panel in another unit would be wrong by its factor."""
    made_up = with_values(swept, "completion_median_s", [1e-3, 12e-3], [400e-6, 500e-6])
    web, incast = ic.plot.draw(made_up, "completion_median", by=LOAD).axes
    assert web.get_ylabel() == "web: median FCT (ms)"
    assert incast.get_ylabel() == "incast: median FCT (ms)"
    assert np.asarray(incast.lines[0].get_ydata()) == pytest.approx([0.412, 0.515])
    assert {web.get_yscale(), incast.get_yscale()} == {"log"}


def test_logarithmic_axes_have_ticks_around_all_that_is_drawn(swept: ic.Sweep) -> None:
    made_up = with_values(swept, "slowdown_p99", [20, 1400], [1.5, 1.6])
    for axes, lowest, highest in zip(
        ic.plot.draw(made_up, "slowdown_p99", by=LOAD, style="ieee").axes,
        (20.4, 1.53),
        (1456, 1.664),
        strict=True,
    ):
        bars = [bar for of in axes.containers for bar in of[2][0].get_segments()]
        ends = [*(float(end) for bar in bars for end in bar[:, 1]), lowest, highest]
        ticks = axes.get_yticks()
        low, high = axes.get_ylim()
        assert low <= ticks[0] <= min(ends)
        assert max(ends) <= ticks[-1] <= high
        assert min(ends) >= 1
        assert not any(line.get_label() == "_cut" for line in axes.lines)


def test_the_range_of_the_seeds_is_where_the_markers_are() -> None:
    values: Any = {LOAD: [0.1, 0.2], CONTROL: ["dctcp", "new-reno"]}
    swept = ic.sweep(ic.Scenario.from_text(MIXED), values, seeds=2)
    axes = ic.plot.draw(swept, "incast.completion_median", by=LOAD).axes[0]
    bands = [one for one in axes.collections if isinstance(one, PolyCollection)]
    lines = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    assert len(bands) == len(lines) == 2
    for band, line in zip(bands, lines, strict=True):
        at = [one.get_transform().transform((0.1, 0.0))[0] for one in (band, line)]
        assert at[0] == pytest.approx(at[1])


def test_what_is_counted_is_named_and_can_be_read() -> None:
    scenario = ic.Scenario.from_text(MIXED).with_overrides({"run.duration": "3 ms"})
    swept = ic.sweep(scenario, {"flows.incast.load": [0.1, 0.2]}, seeds=2)
    assert swept.frame["incast.rounds_unfinished"].sum() > 0
    figure = ic.plot.draw(swept, "rounds", by="flows.incast.load", style="acm")
    texts = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert "number of unfinished rounds" in texts
    assert not any("unfinished flows" in text for text in texts)
    assert (
        figure.axes[0]
        .get_ylabel()
        .replace("\n", " ")
        .startswith("incast: median completion time of rounds (")
    )
    assert min(float(text.get_fontsize()) for axes in figure.axes for text in axes.texts) >= 6


def test_choices_without_effect_over_a_key_are_refused(swept: ic.Sweep) -> None:
    with pytest.raises(ic.PlotError, match="`slowdown_p99` in place of 'slowdown'"):
        ic.plot.slowdown(swept, by=LOAD, percentiles=["p99"])
    with pytest.raises(ic.PlotError, match="bins has no effect over a key"):
        ic.plot.slowdown(swept, by=LOAD, bins=10)
    with pytest.raises(ic.PlotError, match="percentiles is for slowdown, not for fct"):
        ic.plot.fct(swept, percentiles=["p99"])
    assert len(ic.plot.draw(swept, "slowdown_p99", by=LOAD, groups="web").axes) == 1


def test_titles_on_screens_have_the_chosen_point() -> None:
    values: Any = {LOAD: [0.1, 0.2], CONTROL: ["dctcp", "new-reno"]}
    scenario = ic.Scenario.from_text(MIXED)
    swept = ic.sweep(scenario, values, seeds=2, tables=["transfers"])
    over_key = ic.plot.slowdown(swept, by=LOAD)
    assert over_key.get_suptitle() == "mixed: mean of 2 seeds"
    chosen = ic.plot.slowdown(swept, by=LOAD, where={"congestion": "dctcp"})
    assert chosen.get_suptitle() == "mixed, congestion = DCTCP: mean of 2 seeds"
    point = ic.plot.slowdown(swept, where={LOAD: 0.1})
    assert point.get_suptitle() == "mixed, load = 0.1, 2 seeds"
    several = ic.plot.slowdown(swept, where={LOAD: 0.1, CONTROL: ["dctcp", "new-reno"]})
    assert several.get_suptitle() == "mixed, load = 0.1, 2 seeds"
    assert not ic.plot.slowdown(swept, by=LOAD, style="ieee").get_suptitle()


def test_each_group_has_its_numbers_where_panels_are_above_each_other() -> None:
    scenario = ic.Scenario.from_text(MIXED).with_overrides({"run.duration": "3 ms"})
    swept = ic.sweep(scenario, {LOAD: [0.1, 0.2]}, seeds=2)
    figure = ic.plot.draw(swept, "slowdown_p99", by=LOAD, style="ieee")
    for axes, group in zip(figure.axes, ("web", "incast"), strict=True):
        shown = [int(text.get_text()) for text in axes.texts]
        assert sum(shown) == swept.frame[f"{group}.unfinished"].sum() > 0
