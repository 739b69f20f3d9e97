"""The paper dt-cwa: what its numbers are where queries do not end before their run does."""

from __future__ import annotations

import math

import polars as pl
import pytest

from incastle.papers import dt_cwa
from incastle.papers.dt_cwa import answer, runs
from incastle.papers.dt_cwa.readings import DCTCP, READINGS
from incastle.plotting.style import canvas
from incastle.reproduction.papers import Length, Observation, Observations
from synthetic import scenario
from synthetic_dt_cwa import transfers

PAPER = dt_cwa.PAPER
# The worker that has this paper's runs.
pytestmark = pytest.mark.xdist_group(PAPER.name)


def run(share: float, *, cut: bool) -> Observation:
    """Give six queries of two flows, the slower of 20 ms; if cut, the last never ends."""
    made = transfers(2, share)
    last = (pl.col("group") == "query5") & (pl.col("completed_s") > 2.015)
    completed = pl.when(last & cut).then(None).otherwise(pl.col("completed_s"))
    table = made.with_columns(completed_s=completed)
    return Observation({"transfers": table}, "", scenario(2.4))


def test_a_query_that_did_not_end_has_lasted_until_the_end() -> None:
    # Five of 20 ms and one from 2.0 s to 2.4 or later: (5 x 20 + 400) / 6 = 83.33 ms or more. Each
    # asks for 1 MB: 8 Mbit / 83.33 ms = 96 Mbit/s or less.
    assert runs.query_completion(run(1, cut=True)) == pytest.approx((500 / 6, math.inf, 1))
    assert runs.query_throughput(run(1, cut=True)) == pytest.approx((0, 96, 1))
    assert runs.query_completion(run(1, cut=False)) == pytest.approx(20)
    assert runs.query_throughput(run(1, cut=False)) == pytest.approx(400)
    # Of twelve messages one has no end: (6 x 10 + 5 x 20 + 400) / 12.
    assert runs.message_completion(run(1, cut=True)) == pytest.approx((560 / 12, math.inf, 1))


def made(*, cut: bool) -> Observations:
    """Give the queries under every reading; those of DT-CWA are cut or not, DCTCP's take 24 ms."""
    found = {}
    for kind in ("total", "unit"):
        for n in dt_cwa.DECLARED.names(Length.QUICK)["many"]:
            found[f"{kind}/{DCTCP}/n={n}"] = [run(1.2, cut=False)]
            found |= {f"{kind}/{one}/n={n}": [run(1, cut=cut)] for one in READINGS}
    return Observations(Length.QUICK, found)


def test_comparisons_with_what_did_not_end_are_open_upwards_or_downwards() -> None:
    # 83.33 or more over 24 ms, for each of three n; in throughput 96 of 333.3 Mbit/s or less.
    label = READINGS[0].of["label"]
    (less,) = PAPER.measures["fig7-total-less"](made(cut=True))[label]
    assert less == pytest.approx((500 / 6 / 24, math.inf, 3))
    (changed,) = PAPER.measures["fig6-total-30"](made(cut=True))[label]
    assert changed == pytest.approx((-100, 100 * (96 / (1000 / 3) - 1), 1))
    (closed,) = PAPER.measures["fig6-total-30"](made(cut=False))[label]
    assert closed == pytest.approx(20)


def test_the_answer_has_both_ends_in_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "WHATS", {"total": answer.WHATS["total"]})
    data = answer.as_taken(dt_cwa.DECLARED, made(cut=True))
    asked = data.filter(pl.col("n") == 30).row(0, named=True)
    assert (asked["change_percent"], asked["change_percent_high"]) == pytest.approx((-100, -71.2))
    assert asked["change_percent_unfinished"] == 1
    assert not asked["in_band"]
    with canvas() as figure:
        answer.draw_as_taken(figure, data)
        assert "-100.0 to -71.2" in {text.get_text() for text in figure.axes[0].texts}
