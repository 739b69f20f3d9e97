"""Comparison with another simulator: the measures by hand, the goals, and who meets them."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hpcc_files import changed, oracle
from incastle.errors import PlotError
from incastle.importers import hpcc_config
from incastle.importers.hpcc_keys import Control
from incastle.importers.hpcc_results import Flow, Spread
from incastle.importers.hpcc_topology import SHARD
from incastle.importers.lines import BrokenFile, Lines
from incastle.plotting import validation as picture
from incastle.validation import goals as reader
from incastle.validation import verdicts
from incastle.validation.cases import Case, Layout, read_cases
from incastle.validation.compare import (
    Comparison,
    Measure,
    Outcome,
    interpolated,
    measure_of,
    percentile,
    seeds_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

MODES = {"dcqcn": 1, "hpcc": 3, "timely": 7, "rate-dctcp": 8}
IDEAL_NS = 1000


def case(
    fcts_ns: Sequence[int | None],
    control: str = "hpcc",
    layout: Layout = Layout.PATHS,
    spread: Spread | None = None,
    *,
    pfc: bool = True,
    together: bool = False,
) -> Case:
    """Make a case of flows of these FCTs, with separate starts unless `together`."""
    text = changed(("CC_MODE 1", f"CC_MODE {MODES[control]}"))
    config = hpcc_config.read(Lines("config.txt", text.split("\n")))
    flows = tuple(
        Flow(number, 0, 2, 1000, 0 if together else number, fct, IDEAL_NS)
        for number, fct in enumerate(fcts_ns)
    )
    name = f"{layout}-{control}"
    return Case(name, layout, replace(config, pfc=pfc), SHARD, flows, spread)


def simulated(
    one: Case, change: Callable[[int, float | None], float | None] = lambda _, fct: fct
) -> Comparison:
    """Compare a case with its FCTs after a change that is a function of the seed and the FCT."""
    outcomes = (
        Outcome(tuple(change(seed, flow.fct_ns) for flow in one.flows)) for seed in seeds_of(one)
    )
    return Comparison(one, tuple(outcomes))


def judged(*comparisons: Comparison, goals: Sequence[reader.Goal] | None = None) -> verdicts.Row:
    (row,) = verdicts.rows(comparisons, built_in() if goals is None else goals)
    return row


def built_in() -> list[reader.Goal]:
    return reader.read_file(reader.BUILT_IN)


def scaled(by: float) -> Callable[[int, float | None], float | None]:
    return lambda _, fct: None if fct is None else fct * by


def test_each_case_has_its_measure_and_its_seeds() -> None:
    spread = Spread((1,), (1,))
    for one, measure, seeds in (
        (case([1], "hpcc"), Measure.PER_FLOW, 1),
        (case([1], "timely", Layout.SHARDS), Measure.PER_FLOW, 1),
        (case([1], "dcqcn", Layout.SHARDS), Measure.SEEDS, 20),
        (case([1], "dcqcn", spread=spread), Measure.SPREAD, 5),
        (case([1], "dcqcn"), Measure.PER_FLOW, 1),
        (case([1, 2], "dcqcn"), Measure.SEEDS, 20),
        (replace(case([1, 2], "dcqcn"), spreads_known=True), Measure.PER_FLOW, 1),
        (case([1], "hpcc", pfc=False), Measure.DROPS, 1),
        (case([1], "dcqcn", pfc=False), Measure.DROPS, 5),
        (case([1], "hpcc", Layout.SHARDS, pfc=False), Measure.PER_FLOW, 1),
    ):
        assert (measure_of(one), len(seeds_of(one))) == (measure, seeds)


def test_percentiles_are_elements_of_the_sorted_list() -> None:
    assert percentile([1, 2, 3, 4], 50) == 3
    assert percentile(range(200), 99) == 198
    assert percentile([7], 99) == 7
    assert math.isinf(percentile([], 50))
    # The place of 2.5 % in twenty values is 0.025 x 19 = 0.475.
    assert interpolated(range(1, 21), 2.5) == pytest.approx(1.475)
    assert interpolated(range(1, 21), 97.5) == pytest.approx(19.525)
    assert interpolated([1, math.inf], 0) == 1


def test_percentiles_are_those_that_the_oracle_publishes() -> None:
    folder = oracle() / "ns3-rdma"
    summary = folder / "summary.csv"
    if not summary.exists():
        pytest.skip("no summary.csv of the oracle here")
    with summary.open() as file:
        published = {row["shard"]: row for row in csv.DictReader(file)}
    for one in read_cases(folder):
        slowdowns = Comparison(one, ()).their_slowdowns
        for column, percent in {"slowdown_p50": 50, "p90": 90, "p99": 99, "max": 100}.items():
            found = f"{percentile(slowdowns, percent):.3f}"
            assert found == published[one.name][column], (one.name, column)


def test_equal_fcts_differ_by_nothing_and_meet_every_goal() -> None:
    for one in (
        case([1000, 2000]),
        case([1000, 2000], "dcqcn", Layout.SHARDS),
        case([1000, 2000], "dcqcn", spread=Spread((2000, 2100), (2000, 2200))),
        case([1000, 2000], pfc=False),
    ):
        row = judged(simulated(one))
        assert (row.met, set(row.differences)) == (True, {0.0})
        assert row.slowdown(99) == (2.0, 2.0)


def test_the_median_difference_is_below_its_limit() -> None:
    one = case([1_000_000, 2_000_000, 3_000_000])
    assert judged(simulated(one, scaled(1.0009))).met
    row = judged(simulated(one, scaled(1.0011)))
    assert [(finding.name, finding.met) for finding in row.findings] == [
        ("median difference", False),
        ("flows within 1 %", True),
    ]
    assert row.findings[0].value == pytest.approx(0.0011)
    assert not judged(simulated(one, scaled(0.9989))).met


def test_a_share_of_the_flows_is_near() -> None:
    def outcome(far: int) -> Comparison:
        fcts = tuple(1020 if number < far else 1000 for number in range(100))
        return Comparison(case([1000] * 100), (Outcome(fcts),))

    assert [finding.met for finding in judged(outcome(5)).findings] == [True, True]
    assert [finding.met for finding in judged(outcome(6)).findings] == [True, False]
    assert judged(outcome(6)).findings[1].value == 0.94


def test_flows_of_all_cases_of_a_control_count_together() -> None:
    near, far = simulated(case([1000] * 95)), simulated(case([1000] * 5), scaled(2))
    row = judged(near, far)
    assert (row.met, row.flows, len(row.comparisons)) == (True, 100, 2)
    assert [row.meets_alone(one) for one in (near, far)] == [True, False]


def test_flows_that_start_together_are_compared_sorted() -> None:
    swapped = (Outcome((2000, 1000)),)
    assert Comparison(case([1000, 2000], together=True), swapped).differences == (0.0, 0.0)
    assert Comparison(case([1000, 2000]), swapped).differences == (0.5, 1.0)
    one = case([1000, 2000], together=True)
    sizes = replace(one, flows=(one.flows[0], one.flows[1]._replace(bytes=999)))
    assert Comparison(sizes, swapped).differences == (0.5, 1.0)


def test_a_flow_that_one_side_does_not_finish_is_far() -> None:
    missing = Comparison(case([1000, 2000]), (Outcome((1000, None)),))
    assert missing.differences == (0.0, math.inf)
    assert missing.unfinished == (1, 0)
    there = Comparison(case([1000, None]), (Outcome((1000, 2000)),))
    assert there.differences == (0.0, math.inf)
    neither = Comparison(case([1000, None]), (Outcome((1000, None)),))
    assert neither.differences == (0.0,)


@pytest.mark.parametrize(
    ("medians", "lasts", "met"),
    [
        ((1900, 1904), (2900, 3000), False),
        ((1900, 1905), (2900, 3000), True),
        ((2105, 2200), (2900, 3000), True),
        ((2106, 2200), (2900, 3000), False),
        ((2000, 2000), (3158, 3200), False),
        ((2000, 2000), (2800, 2857), False),
    ],
)
def test_median_and_last_fct_are_in_the_range_of_random_runs(
    medians: tuple[int, ...], lasts: tuple[int, ...], met: bool
) -> None:
    """The ends are moved outwards by 5 %.

    The median of our FCTs is 2000: 1.05 x 1904 = 1999.2, 1.05 x 1905 = 2000.25, 0.95 x 2105 =
    1999.75 and 0.95 x 2106 = 2000.7. The last is 3000: 0.95 x 3158 = 3000.1, 1.05 x 2857 = 2999.85.
    """
    one = case([1000, 2000, 3000], "dcqcn", spread=Spread(medians, lasts))
    assert judged(simulated(one)).met is met


def test_median_and_last_fct_are_medians_over_the_seeds() -> None:
    one = case([1000, 2000, 3000], "dcqcn", spread=Spread((2000,), (3000,)))
    # Two of five seeds are far away.
    assert judged(simulated(one, lambda seed, fct: fct and fct * (9 if seed > 3 else 1))).met
    row = judged(simulated(one, lambda seed, fct: fct and fct * (9 if seed > 2 else 1)))
    assert (row.met, row.findings[0].value) == (False, 0.0)


def test_percentiles_there_are_in_the_range_of_our_seeds() -> None:
    one = case([1000] * 10, "dcqcn", Layout.SHARDS)

    def between(low: float, high: float) -> verdicts.Row:
        # The ends of the range are 2.5 % of the way from the ends.
        step = (high - low) / 19
        return judged(simulated(one, lambda seed, fct: fct and fct * (low + (seed - 1) * step)))

    assert between(0.98, 1.02).met
    # 0.99 x (1.005 + 0.025 x 0.04) = 0.996; 0.99 x (1.0095 + 0.001) = 1.0004
    assert between(1.005, 1.045).findings[0].met
    assert not between(1.0095, 1.0495).findings[0].met
    # 1.01 x (0.995 - 0.001) = 1.0039; 1.01 x (0.9905 - 0.001) = 0.9994
    assert between(0.955, 0.995).findings[0].met
    assert not between(0.9505, 0.9905).findings[0].met


def test_nine_of_ten_scenarios_are_inside_and_their_mean_ratio_is_near() -> None:
    def scenarios(far: int, by: float) -> list[bool]:
        one = case([1000] * 10, "dcqcn", Layout.SHARDS)
        every = [simulated(one, scaled(by if n < far else 1)) for n in range(10)]
        return [finding.met for finding in judged(*every).findings]

    assert scenarios(1, 1.2) == [True, True, True]
    assert scenarios(2, 1.1) == [False, True, True]
    assert scenarios(1, 1.31) == [True, False, False]
    assert scenarios(1, 0.69) == [True, False, False]


def test_a_slow_flow_of_a_seed_is_in_the_99th_percentile_alone() -> None:
    one = case([1000] * 20, "dcqcn", Layout.SHARDS)
    slow = Comparison(one, (Outcome((2000, *[1000] * 19)),) * 20)
    row = judged(slow)
    assert [finding.met for finding in row.findings] == [False, True, False]
    assert row.meets_alone(slow) is False


def test_cases_with_losses_are_compared_by_flows_that_both_finish() -> None:
    one = case([1000, 2000, 3000], pfc=False)
    assert judged(simulated(one, scaled(1.05))).met
    assert not judged(simulated(one, scaled(1.06))).met
    # 1000 and 2000 are compared; what is not finished here is not.
    assert judged(Comparison(one, (Outcome((1000, 2000, None), drops=9),))).met
    assert not judged(Comparison(one, (Outcome((None, None, None), drops=9),))).met


def test_where_flows_never_finish_only_losses_are_demanded() -> None:
    one = case([1000, None], pfc=False)
    assert judged(Comparison(one, (Outcome((5000, 6000), drops=1),))).met
    assert not judged(Comparison(one, (Outcome((1000, None)),))).met


def test_rows_are_by_layout_control_and_measure() -> None:
    spread = Spread((1000,), (1000,))
    every = [
        simulated(case([1000], "hpcc", Layout.SHARDS)),
        simulated(case([1000], "timely")),
        simulated(case([1000], "dcqcn", spread=spread)),
        simulated(case([1000], "dcqcn")),
        simulated(case([1000], "hpcc", Layout.SHARDS)),
        simulated(case([1000], "timely", pfc=False)),
    ]
    found = verdicts.rows(every, [])
    assert [(row.layout, row.control, row.measure, len(row.comparisons)) for row in found] == [
        ("shards", "hpcc", "per-flow", 2),
        ("paths", "timely", "per-flow", 1),
        ("paths", "dcqcn", "spread", 1),
        ("paths", "dcqcn", "per-flow", 1),
        ("paths", "timely", "drops", 1),
    ]
    assert {(row.met, len(row.findings)) for row in found} == {(None, 0)}


def test_rows_and_cases_become_json() -> None:
    comparison = Comparison(case([1000, 2000]), (Outcome((1000, None), drops=3),))
    row = judged(comparison)
    assert row.to_dict() | {"findings": None} == {
        "layout": "paths",
        "control": "hpcc",
        "measure": "per-flow",
        "cases": 1,
        "flows": 2,
        "difference_median": math.inf,
        "difference_p95": math.inf,
        "within_1_percent": 0.5,
        "slowdown_p50": math.inf,
        "slowdown_p50_theirs": 2.0,
        "slowdown_p99": math.inf,
        "slowdown_p99_theirs": 2.0,
        "findings": None,
        "met": False,
    }
    one = verdicts.case_to_dict(row, comparison)
    shown = {key: one[key] for key in ("case", "seeds", "unfinished", "drops", "met")}
    assert shown == {"case": "paths-hpcc", "seeds": 1, "unfinished": 1, "drops": 3, "met": False}


def test_the_built_in_goals_are_for_every_case() -> None:
    for layout in Layout:
        for control in Control:
            for measure in Measure:
                assert sum(goal.fits(layout, control, measure) for goal in built_in()) == 1


OWN = """\
[[goal]]
measure = "per-flow"
controls = ["hpcc"]
median = 0.5
within = "10 %"
share = "50 %"

[[goal]]
measure = "per-flow"
layouts = ["paths"]
median = "1 %"
within = "1 %"
share = "100 %"
"""


def test_a_folder_may_have_its_own_goals(tmp_path: Path) -> None:
    assert reader.read_goals(tmp_path) == built_in()
    (tmp_path / "goals.toml").write_text(OWN)
    goals = reader.read_goals(tmp_path)
    far = scaled(1.09)
    assert judged(simulated(case([1000]), far), goals=goals).met is True
    assert judged(simulated(case([1000], "timely"), far), goals=goals).met is False
    there = case([1000], "timely", Layout.SHARDS)
    assert judged(simulated(there, far), goals=goals).met is None


BROKEN = [
    ("[[goal]]\nmeasure", "[goal\nmeasure", ":1: no TOML: "),
    ("[[goal]]", "[[goals]]", ":1: expected tables [[goal]] alone, found goals"),
    ("per-flow", "per-flo", ":2: measure: no 'per-flo': did you mean per-flow?"),
    ('measure = "per-flow"\ncon', "con", ":1: a goal needs a measure: per-flow, spread, seeds, "),
    ('["hpcc"]', '["hpccc"]', ":3: controls: no 'hpccc': did you mean hpcc?"),
    ('["hpcc"]', '"hpcc"', ':3: controls must be a list of names such as ["dcqcn"]'),
    ('["paths"]', '["shard"]', ":10: layouts: no 'shard': did you mean shards?"),
    ("median = 0.5", "medians = 0.5", ":4: no key medians in a goal of per-flow: did you mean med"),
    ("median = 0.5\n", "", ":1: a goal of per-flow needs median"),
    ("median = 0.5", "median = 0", ":4: median 0: above 0 % to 100 % is allowed"),
    ('"10 %"', '"10 us"', """:5: within must be a share such as "5 %", found '10 us'"""),
    ('"50 %"', "50", ":6: share 50: 0 % to 100 % is allowed"),
    ('"100 %"', "true", """:13: share must be a share such as "5 %", found True"""),
]


@pytest.mark.parametrize(("good", "bad", "message"), BROKEN)
def test_mistakes_in_goals_have_their_place(
    tmp_path: Path, good: str, bad: str, message: str
) -> None:
    assert good in OWN
    file = tmp_path / "goals.toml"
    file.write_text(OWN.replace(good, bad, 1))
    with pytest.raises(BrokenFile) as refused:
        reader.read_goals(tmp_path)
    assert str(refused.value).startswith(f"{file}{message}")


def test_the_figure_has_a_point_for_each_flow_that_both_finish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: dict[str, list[Any]] = {}

    def look(figure: Any, _place: Path) -> None:
        (axes,) = figure.axes
        for points in axes.collections:
            drawn[points.get_label()] = points.get_offsets().tolist()
        assert axes.get_xscale() == axes.get_yscale() == "log"
        assert axes.get_xlabel() == "FCT of the other simulator (us)"

    monkeypatch.setattr(picture, "save", look)
    both = Comparison(case([1000, 2000, None]), (Outcome((1100, None, 5)),))
    rows = verdicts.rows([both, simulated(case([3000], "timely"), scaled(2))], [])
    picture.draw(rows, tmp_path / "fcts.png")
    assert drawn == {"hpcc": [[1.0, pytest.approx(1.1)]], "timely": [[3.0, 6.0]]}
    with pytest.raises(PlotError, match="nothing to draw"):
        picture.draw(
            verdicts.rows([Comparison(case([None]), (Outcome((5,)),))], []), tmp_path / "x.png"
        )
    with pytest.raises(PlotError, match=r"must end in one of"):
        picture.draw(rows, tmp_path / "fcts.txt")


def test_the_figure_is_the_same_each_time(tmp_path: Path) -> None:
    rows = verdicts.rows([simulated(case([1000, 2000]))], [])
    first, second = tmp_path / "first.png", tmp_path / "second.png"
    for place in (first, second):
        picture.draw(rows, place)
    assert first.read_bytes() == second.read_bytes()


def test_all_cases_of_the_oracle_compared_with_themselves_meet_the_goals() -> None:
    rows = verdicts.rows([simulated(one) for one in read_cases(oracle())], built_in())
    assert {row.met for row in rows} == {True}
    assert all(set(row.differences) <= {0.0} for row in rows)
