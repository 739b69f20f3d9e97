"""The comparison: its plan, the arithmetic of its numbers, who is best, and what is said of it."""

from __future__ import annotations

import csv
import json
import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from conftest import with_finished_runs
from incastle.analysis.ends import Ends
from incastle.papers import comparison
from incastle.papers.comparison import drawings, facts, standings
from incastle.papers.comparison import runs as statistics
from incastle.papers.comparison.standings import BEST, EQUAL, NOT_RUN, OTHER
from incastle.plotting.style import canvas
from incastle.reproduction import main as reproduce
from incastle.reproduction import report
from incastle.reproduction.papers import Length, Observation, Observations
from incastle.reproduction.report import Shown
from incastle.reproduction.statistics import jain, query_mean, query_quantile
from incastle.scenario import load
from incastle.storage.compressed import read_csv
from synthetic import observations, scenario
from synthetic_comparison import (
    deadlines,
    links,
    made_up,
    messages,
    rdma,
    rounds,
    throughput,
    transfers,
)

if TYPE_CHECKING:
    from incastle.analysis.ends import Value
    from incastle.analysis.expressions import Choice
    from incastle.papers.comparison.standings import Standing

PAPER = comparison.PAPER
PANELS = ("share", "queue", "dctcp_ms", "cubic_ms")
"""The columns of the figure on coexistence."""
# The worker that has this paper's runs.
pytestmark = pytest.mark.xdist_group(PAPER.name)
EXPECTED = Path(__file__).parent / "expected" / "comparison-quick.json"


def run(**tables: pl.DataFrame) -> Observation:
    return Observation(tables, "", scenario(12))


@pytest.fixture(scope="module")
def runs() -> Observations:
    return observations(PAPER, Length.DEFAULT, made_up)


def axis(name: str) -> tuple[Choice, ...]:
    found: tuple[Choice, ...] = comparison.DECLARED.names(Length.QUICK)[name]
    return found


LABELS = [one.of["label"] for one in axis("algorithms")]


# ---- the plan


@pytest.mark.parametrize("length", Length)
def test_every_workload_has_every_algorithm(length: Length) -> None:
    planned = {one.name for one in PAPER.plan(length)}
    for workload in axis("workloads"):
        for algorithm in axis("algorithms"):
            expected = algorithm != "d2tcp" or workload.of["deadlines"]
            assert (f"{workload}/{algorithm}" in planned) == expected
    assert {"coexistence/two/classic/k=20", "coexistence/one/off/k=20"} <= planned


def test_a_deadline_is_where_the_plan_says() -> None:
    for workload in axis("workloads"):
        text = (PAPER.folder / "scenarios" / f"{workload}.toml").read_text(encoding="utf-8")
        assert ("deadline = " in text) == workload.of["deadlines"]


RDMA = sorted((PAPER.folder / "scenarios").glob("rdma-*.toml"))
RDMA_PARAMETERS = {
    "network.rate": "100 Gbit/s",
    "network.delay": "1 us",
    "transport.congestion": "dcqcn",
    "transport.preset": "dcqcn-mellanox",
    "transport.mtu": "4 KiB",
    "transport.framing": "ethernet",
    "transport.ack_timeout": "1 ms",
    "transport.traffic_class": 3,
    "switch.pfc.priorities": 3,
    "switch.pfc.alpha": 0.125,
}


@pytest.mark.parametrize("path", RDMA, ids=str)
def test_networks_of_rdma_have_one_setting(path: Path) -> None:
    scenario = load(path)
    assert {key: scenario[key] for key in RDMA_PARAMETERS} == RDMA_PARAMETERS


def test_every_control_runs_with_pauses_and_without() -> None:
    planned = {one.name: one for one in PAPER.plan(Length.QUICK)}
    for fabric in axis("rdma_fabrics"):
        for control in axis("controls"):
            for pfc in axis("pfc"):
                one = planned[f"rdma-{fabric}/{control}/pfc={pfc}"]
                scenario = load(PAPER.scenario(one), tuple(one.overrides.items()))
                assert scenario["transport.congestion"] == control
                assert (scenario["switch.pfc"] == "off") == (pfc == "off")


def test_numbers_of_rdma() -> None:
    paused, lossy = rdma(3.0, 0), rdma(0.0, 25)
    assert (statistics.paused(paused), statistics.paused(lossy)) == (25.0, 0.0)
    assert (statistics.lost(paused), statistics.lost(lossy)) == (0.0, 25.0)
    assert statistics.slowed(paused, 0, 100e3) == 2.0
    assert statistics.paused(run(pauses=paused["pauses"].clear())) == 0.0


PARAMETERS = {
    "network.rate": "1 Gbit/s",
    "network.delay": "25 us",
    "host.jitter": "10 us",
    "transport.congestion": "new-reno",
    "transport.framing": "ethernet",
    "transport.initial_window": "10 packets",
    "transport.receive_window": "250 KiB",  # 256 KB
    "transport.slow_start_after_idle": False,
    "transport.delayed_ack_count": 2,
    "transport.handshake": False,
    "transport.min_rto": "10 ms",
    "transport.initial_rto": "10 ms",
}


TCP = sorted(set((PAPER.folder / "scenarios").glob("*.toml")) - set(RDMA))


@pytest.mark.parametrize("path", TCP, ids=str)
def test_all_scenarios_have_one_setting(path: Path) -> None:
    scenario = load(path)
    assert {key: scenario[key] for key in PARAMETERS} == PARAMETERS
    alone = path.stem == "coexistence"
    assert scenario["switch.buffer"] == ("350 KB" if alone else {"shared": "2 MB", "alpha": 0.21})


@pytest.mark.parametrize("workload", ["long", "mixed", "build-up", "pressure", "pressure-alone"])
def test_measurements_begin_where_the_scenario_says(workload: str) -> None:
    scenario = load(PAPER.folder / "scenarios" / f"{workload}.toml")
    (begin,) = (one.of["begin"] for one in axis("workloads") if one == workload)
    milliseconds = round(1e3 * begin)
    assert scenario["measure.warmup"] in {f"{milliseconds} ms", f"{milliseconds / 1e3:g} s"}


def test_each_algorithm_has_its_own_switch_and_sender() -> None:
    settings = {
        one.name.removeprefix("incast/"): load(PAPER.scenario(one), tuple(one.overrides.items()))
        for one in PAPER.plan(Length.QUICK)
        if one.name.startswith("incast/")
    }
    found = {
        name: (one["transport.congestion"], one["transport.ecn"], one["switch.queue.kind"])
        for name, one in settings.items()
    }
    assert found == {
        "new-reno": ("new-reno", "off", "drop-tail"),
        "sack-ecn": ("new-reno", "classic", "threshold"),
        "cubic": ("cubic", "off", "drop-tail"),
        "cubic-linux": ("cubic", "off", "drop-tail"),
        "dctcp": ("dctcp", "dctcp", "threshold"),
        "d2tcp": ("d2tcp", "dctcp", "threshold"),
        "dt-dctcp": ("dctcp", "dctcp", "double-threshold"),
        "dt-cwa": ("dt-cwa", "dctcp", "double-threshold"),
        "qcn-vi": ("new-reno", "off", "drop-tail"),
    }
    recovery = {name: one["transport.recovery"] for name, one in settings.items()}
    assert {name for name, how in recovery.items() if how == "rack-tlp"} == {"cubic-linux"}
    assert {name for name, how in recovery.items() if how == "new-reno"} == {"new-reno", "qcn-vi"}
    for name, start, stop in (("dt-dctcp", 15, 25), ("dt-cwa", 35, 30)):
        queue = settings[name]["switch.queue"]
        assert (queue["k1"], queue["k2"]) == (f"{start} packets", f"{stop} packets")
    assert settings["qcn-vi"]["switch.qcn.cp_q_eq"] == "26 KB"


def test_two_queues_are_two_classes() -> None:
    plan = PAPER.plan(Length.QUICK)
    (one,) = (one for one in plan if one.name == "coexistence/two/off/k=20")
    scenario = load(PAPER.scenario(one), tuple(one.overrides.items()))
    assert scenario["switch.queue.classify_by"] == "traffic-class"
    classes = {
        group: scenario[f"flows.{group}.transport.traffic_class"]
        for group in ("dctcp", "dctcp-message", "cubic", "cubic-message")
    }
    assert classes == {"dctcp": 1, "dctcp-message": 1, "cubic": 0, "cubic-message": 0}


# ---- the measures, by hand


def test_an_unfinished_query_has_lasted_until_the_end_or_longer() -> None:
    # It began at 0.2 s of 12. The median of 8, 12 and at least 11,800 is 12 at both ends.
    seen = run(rounds=rounds([8, 12, 0], [0, 1, 0]))
    assert query_quantile(seen, 0.5) == pytest.approx((12, 12, 1))
    assert query_quantile(seen, 1) == pytest.approx((11_800, math.inf, 1))
    assert query_mean(seen) == pytest.approx((11_820 / 3, math.inf, 1))


def test_rates_shares_and_jain() -> None:
    # 2 + 1 + 1 + 0 packets of 1460 B in each 10 ms: 4 x 1.168 Mbit/s in all. The least has nothing.
    table = throughput([2, 1, 1, 0], 2.0)
    seen = run(throughput=table.filter(pl.col("bytes") > 0))
    assert statistics.rates(seen, 1.0) == pytest.approx([2.336, 1.168, 1.168, 0])
    assert statistics.goodput(seen, 1.0) == pytest.approx(4 * 1.168)
    assert statistics.fairness(seen, 1.0) == pytest.approx(16 / (4 * 6))
    assert jain([30, 10]) == pytest.approx(0.8)
    assert statistics.min_share(seen, 1.0) == 0
    half = run(throughput=throughput([3, 1, 3, 1], 2.0))
    assert statistics.min_share(half, 1.0) == pytest.approx(50)


def test_the_queue_is_that_of_the_bottleneck() -> None:
    assert value("long_queue", run(links=links(12.5))) == 12.5


def test_slowdown_is_against_the_link() -> None:
    # 1,460,000 B are 1000 packets of 1538 B: 12.304 ms at 1 Gbit/s, and 0.1 ms.
    seen = run(transfers=transfers([1_460_000], 24.808e-3))
    assert value("cluster_slowdown", seen) == pytest.approx(2.0)
    # Unfinished after 12 s: at least 12 s over 12.404 ms.
    never = transfers([1_460_000], 1.0).with_columns(completed_s=pl.lit(None, pl.Float64))
    found = value("cluster_slowdown", run(transfers=never))
    assert found == pytest.approx((12 / 12.404e-3, math.inf, 1))


def metric(key: str) -> Choice:
    (found,) = (one for one in axis("metrics") if one == key)
    return found


def value(key: str, seen: Observation) -> Value:
    """Give a metric of a run."""
    workload = metric(key).of["workload"]
    (found,) = values(key, {f"{workload}/dctcp": [seen]})
    return found


def values(key: str, made: dict[str, list[Observation]]) -> list[Value]:
    """Give a metric of DCTCP's runs."""
    scope = comparison.DECLARED.scope(Observations(Length.DEFAULT, made)).having(a="dctcp")
    return scope.seeds(metric(key).of["value"])


def test_short_messages_and_deadlines() -> None:
    seen = run(transfers=transfers([50e3, 100e3, 1e6, 5e6], 0.04), summary=deadlines(3, 1))
    assert value("cluster_short", seen) == pytest.approx(40)
    assert value("cluster_deadlines", seen) == 75


def test_who_can_still_meet_his_deadline_may_or_may_not() -> None:
    # 3 of 4 have; with one more that is not decided 3 or 4 of 5.
    seen = run(transfers=transfers([], 0.04, open_deadlines=1), summary=deadlines(3, 1))
    assert value("message_deadlines", seen) == (60, 80, 1)


def test_pressure_is_against_the_same_seed_without_it() -> None:
    made = {
        "pressure/dctcp": [run(rounds=rounds([ms], [0])) for ms in (20.0, 30.0)],
        "pressure-alone/dctcp": [run(rounds=rounds([ms], [0])) for ms in (10.0, 20.0)],
    }
    assert values("pressure_ratio", made) == pytest.approx([2, 1.5])


# ---- who is best


def test_best_equal_and_other() -> None:
    # Means 2, 3 and 9. Half an interval of (1, 2, 3) is 4.30 * 1 / sqrt(3) = 2.48: A has -0.48 to
    # 4.48, B (2.9, 3, 3.1) 2.75 to 3.25, C (8.9, 9, 9.1) 8.75 to 9.25.
    seeds = {"A": [1.0, 2, 3], "B": [2.9, 3, 3.1], "C": [8.9, 9, 9.1]}
    low = standings.standings(seeds, high=False)
    assert {name: one.standing for name, one in low.items()} == {"A": BEST, "B": EQUAL, "C": OTHER}
    assert (low["A"].low, low["A"].high) == pytest.approx((2 - 2.484, 2 + 2.484), abs=1e-3)
    high = standings.standings(seeds, high=True)
    assert {name: one.standing for name, one in high.items()} == {"A": OTHER, "B": OTHER, "C": BEST}


def test_differences_to_the_best_are_paired_by_seed() -> None:
    # Seeds differ by far more than A and B do: apart their intervals overlap. B - A is 1, 1.1, 0.9:
    # mean 1, s = 0.1. For two differences Bonferroni's t(2) at 97.5 % is 6.2053 (tables):
    # half is 6.2053 * 0.1 / sqrt(3) = 0.35826.
    seeds = {"A": [1.0, 5.0, 9.0], "B": [2.0, 6.1, 9.9], "C": [3.0, 7.0, 99.0]}
    found = standings.standings(seeds, high=False)
    assert {name: one.standing for name, one in found.items()} == {
        "A": BEST,
        "B": OTHER,
        "C": EQUAL,
    }
    assert found["B"].low < found["A"].high
    assert found["B"].to_best == pytest.approx((1 - 0.35826, 1 + 0.35826), abs=1e-4)
    assert found["A"].to_best is None


def test_unfinished_queries_leave_the_order_open() -> None:
    # Low is better. A lies between 5 and any number, B is 6, C between 7 and 8: B is best at the
    # worse end, A may be better or not, and C is beaten by B wherever it lies.
    seeds: dict[str, list[Value]] = {
        "A": [Ends(5.0, math.inf, 1)],
        "B": [6.0],
        "C": [Ends(7.0, 8.0, 2)],
    }
    low = standings.standings(seeds, high=False)
    assert {name: one.standing for name, one in low.items()} == {"A": EQUAL, "B": BEST, "C": OTHER}
    assert (low["C"].mean, low["C"].low, low["C"].high) == (Ends(7, 8, 2), 7, 8)
    # High is better: A is at least 5, so C is best at the worse end, and A may be.
    high = standings.standings(seeds, high=True)
    assert {name: one.standing for name, one in high.items()} == {"A": EQUAL, "B": OTHER, "C": BEST}


def test_with_one_seed_only_equal_means_are_best() -> None:
    found = standings.standings({"A": [1.0], "B": [1.0], "C": [1.001]}, high=False)
    assert [one.standing for one in found.values()] == [BEST, BEST, OTHER]


def test_what_has_no_value_ranks_nowhere() -> None:
    nan = float("nan")
    found = standings.standings({"A": [nan, 1.0], "B": [5.0, 6.0]}, high=False)
    assert [one.standing for one in found.values()] == [OTHER, BEST]


def test_d2tcp_without_deadlines_has_no_number(runs: Observations) -> None:
    table = standings.standings_table(comparison.DECLARED, runs)
    assert len(table) == len(axis("metrics")) * len(LABELS)
    none = table.filter(pl.col("standing") == NOT_RUN)
    assert set(none["algorithm"]) == {"D2TCP"}
    assert set(none["workload"]) == {"long flows", "mixed round trips"}
    assert none["mean"].is_null().all()


# ---- what is shown and said


def test_the_page_marks_the_best(runs: Observations) -> None:
    grid = drawings.grid(standings.standings_table(comparison.DECLARED, runs))
    assert grid.head[2:] == tuple(LABELS)
    assert {len(row) for row in grid.rows} == {len(grid.head)}
    row = next(row for row in grid.rows if row[1].text.startswith("mean queue"))
    kinds = {name: cell.kind for name, cell in zip(grid.head, row, strict=True)}
    assert (kinds["DCTCP"], kinds["CUBIC"], kinds["D2TCP"]) == ("best", "", "none")
    figure = next(one for one in PAPER.figures if one.grid is not None)
    content = report.PaperReport(PAPER, (figure,), [], runs, [])
    content = replace(content, paper=replace(PAPER, figures=(figure, figure)))  # no conclusion
    images = {(PAPER.name, figure.number): Shown([""], grid, [])}
    asked = report.Asked([PAPER.name], None, Length.DEFAULT)
    page = report._pages([content], asked, images, {PAPER.name: []}, has_lab=True)[
        "comparison.html"
    ]
    html = page.partition('<table class="grid">')[2].partition("</table>")[0]
    assert '<span class="best">20</span>' in html
    assert html.count("<tr>") == len(grid.rows) + 1
    assert {"mean queue, packets ↓", "timeouts per query ↓"} <= {row[1].text for row in grid.rows}


def test_intervals_are_drawn_within_possible_values(runs: Observations) -> None:
    table = standings.standings_table(comparison.DECLARED, runs)
    wide = table.with_columns(low=pl.lit(-5.0), high=pl.lit(500.0))
    with canvas() as figure:
        drawings.draw_workloads(figure, wide)
        shown = {axes.get_title(loc="left"): axes for axes in figure.axes}
        jain = next(axes for title, axes in shown.items() if "Jain" in title)
        times = next(axes for title, axes in shown.items() if "(ms)" in title)
    assert max(np.max(line.get_xdata(), initial=0) for line in jain.lines) <= 1
    assert min(np.min(line.get_xdata(), initial=1) for line in times.lines) >= 0
    assert (jain.get_xlabel(), times.get_xlabel()) == ("higher is better →", "← lower is better")


def test_a_cell_tells_what_was_unfinished() -> None:
    made = {"incast/cubic": [run(rounds=rounds([8.0, 0], [0, 0]))]}
    made |= {
        f"incast/{key}": [run(rounds=rounds([9.0], [0]))]
        for key in axis("algorithms")
        if key != "cubic"
    }
    scope = comparison.DECLARED.scope(Observations(Length.QUICK, made))
    found = standings.of_metric(scope, metric("incast_mean"))
    # A mean of 8 and at least 11,900 (from 0.1 s to 12 s): at least 5954.
    assert found["CUBIC"].mean == pytest.approx((5954, math.inf, 1))
    assert said_of(found) == (
        "NewReno, SACK + ECN, CUBIC (Linux), DCTCP, D2TCP, DT-DCTCP, DT-CWA and QCN VI with 9 ms; "
        "last CUBIC with ≥ 5954 ms"
    )


def said_of(found: dict[str, Standing]) -> str:
    return facts.verdict(metric("incast_mean"), found)


def said(seeds: dict[str, list[float]], *, high: bool = False) -> str:
    chosen = metric("long_goodput" if high else "incast_mean")
    return facts.verdict(chosen, standings.standings(seeds, high=high))


def test_words_follow_the_numbers() -> None:
    seeds = {"A": [1.0, 1.01], "B": [1.0, 1.02], "C": [5.0, 5.01], "D": [9.0, 9.01]}
    assert said(seeds) == "A with 1.005 ms, not distinguishable from B; last D with 9.005 ms"
    assert said(seeds, high=True) == "D with 9.005 Mbit/s; last A with 1.005 Mbit/s"
    none = "none is distinguishable from the best (1.05 to 1.1 ms)"
    assert said({"A": [1.0, 1.1], "B": [1.0, 1.2]}) == none
    wide = {"A": [1.0, 1.01], "B": [2.0, 2.01], "C": [1.0, 99.0]}
    expected = "A with 1.005 ms, not distinguishable from C; last of the others B with 2.005 ms"
    assert said(wide) == expected


def test_rows_are_counted() -> None:
    def row(**of: str) -> dict[str, Standing]:
        return {
            label: standings.Standing(0, 0, 0, of.get(label, OTHER), 1)
            for label in LABELS
            if of.get(label) != NOT_RUN
        }

    found = facts.tally(LABELS, [row(CUBIC=BEST, D2TCP=NOT_RUN), row(CUBIC=EQUAL, DCTCP=EQUAL)])
    assert list(found.items())[:2] == [("CUBIC", (1, 1)), ("DCTCP", (0, 1))]
    assert found["D2TCP"] == (0, 0)


def test_the_notes_come_from_the_runs(runs: Observations) -> None:
    told = PAPER.facts["workloads"](runs)
    assert "last CUBIC with 20.3 ms" in told["incast_mean"]
    assert "last CUBIC with 80 %" in told["cluster_deadlines"]
    assert told["not_run"] == "5"
    both = PAPER.facts["coexistence"](runs)
    assert (both["one_off_share"], both["two_off_share"]) == ("2.0", "50.0")
    assert (both["one_off_dctcp_ms"], both["two_classic_dctcp_ms"]) == ("20.0", "2.0")


def test_shares_over_round_trips(runs: Observations) -> None:
    (table,) = (one.data(runs) for one in PAPER.figures if one.number == "rtt")
    assert "D2TCP" not in table["algorithm"].to_list()
    cubic = table.filter((pl.col("algorithm") == "CUBIC") & (pl.col("seed") == 1))
    assert cubic["rtt_us"].to_list() == [100, 200, 400, 800]
    assert cubic["share"].to_list() == pytest.approx([160, 80, 80, 80])


def test_coexistence_by_hand() -> None:
    seen = run(
        rounds=pl.concat([messages("dctcp", 3), messages("cubic", 7)]),
        links=links(90.0),
        throughput=throughput([3, 3, 1, 1], 2.0),
        flows=pl.DataFrame({"flow": range(4), "group": ["dctcp", "dctcp", "cubic", "cubic"]}),
    )
    runs = Observations(Length.QUICK, {"coexistence/one/off/k=20": [seen]})
    (table,) = (one.data(runs) for one in PAPER.figures if one.number == "coexistence")
    assert table.select(PANELS).row(0) == pytest.approx((75, 90, 3, 7))


# ---- the whole, at the quick length


def test_it_is_listed_as_what_it_is() -> None:
    title = dict(reproduce.papers())["comparison"]
    assert "comparison" in title
    assert "no document" in title
    assert PAPER.measures == {}


def test_no_number_changes_unnoticed(tmp_path: Path) -> None:
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    found = quick(tmp_path)
    assert found.keys() == expected.keys()
    for name, was in expected.items():
        assert found[name] == pytest.approx(was, rel=1e-9), name
    page = (tmp_path / "report" / "comparison.html").read_text(encoding="utf-8")
    assert '<table class="grid">' in page
    assert "What this leaves out" in page
    assert "first every claim" not in page
    assert "No claims." in page
    assert json.loads((tmp_path / "report" / "claims.json").read_text()) == []


RDMA_PANELS = {
    "rdma-incast": ("incast_ms", "victim_ms", "paused", "dropped"),
    "rdma-search": ("short", "long", "paused", "dropped"),
}


def quick(folder: Path) -> dict[str, float | list[float]]:
    """Reproduce it at the quick length; give the mean of every cell, and every point over K.

    Where unfinished transfers leave it open these are both ends.
    """
    out = with_finished_runs(folder / "report")
    reproduce.main(["comparison"], length="quick", out=out)
    found = {}
    for row in _rows(folder, "workloads"):
        if row["mean"]:
            found[f"{row['key']}/{row['algorithm']}"] = _ends(row, "mean")
    for row in _rows(folder, "coexistence"):
        name = f"coexistence/{row['queues']}/{row['ecn']}/k={row['k']}"
        found |= {f"{name}/{panel}": _ends(row, panel) for panel in PANELS}
    for figure, panels in RDMA_PANELS.items():
        for row in _rows(folder, figure):
            name = f"{figure}/{row['control']}/{row['pfc']}"
            found |= {f"{name}/{panel}": _ends(row, panel) for panel in panels}
    return found


def _ends(row: dict[str, str], column: str) -> float | list[float]:
    low, high = float(row[column]), float(row.get(f"{column}_high") or row[column])
    return low if low == high else [low, high]


def _rows(folder: Path, figure: str) -> list[dict[str, str]]:
    path = folder / "report" / "comparison" / f"figure-{figure}.csv.gz"
    return list(csv.DictReader(read_csv(path).splitlines()))


def update() -> None:
    """Write the expected numbers anew: `python tests/python/test_comparison.py`; read the diff."""
    with tempfile.TemporaryDirectory() as scratch:
        text = json.dumps(quick(Path(scratch)), indent=2)
    EXPECTED.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    update()
