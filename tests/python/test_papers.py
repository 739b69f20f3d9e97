"""The shipped papers: that their parts fit together, and the arithmetic of dctcp-ns2's measures."""

from __future__ import annotations

import math
import pickle
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl
import pytest

from conftest import LENGTHS
from incastle.analysis import confidence
from incastle.analysis.ends import apart, ends
from incastle.papers import dctcp_ns2
from incastle.papers.dctcp_ns2 import runs as statistics
from incastle.papers.dctcp_ns2 import theory
from incastle.papers.dctcp_ns2.cycles import cycles
from incastle.papers.dctcp_ns2.facts import cycle
from incastle.plotting.style import canvas
from incastle.reproduction import claims, papers
from incastle.reproduction.figures import UNFINISHED
from incastle.reproduction.papers import Length, Observation, Observations, selected
from incastle.scenario import load
from synthetic import observation, observations
from synthetic_papers import MADE_UP, dctcp_ns2_made_up

if TYPE_CHECKING:
    from incastle.reproduction.papers import Paper

SHIPPED = list(papers.discover().values())
PAPER = dctcp_ns2.PAPER
JUDGED = [paper for paper in SHIPPED if paper.measures]


def of_each(papers: list[Paper]) -> pytest.MarkDecorator:
    """Run a test for each paper, all tests of one paper by the same worker: they share its runs."""
    parameters = [
        pytest.param(paper, id=paper.name, marks=pytest.mark.xdist_group(paper.name))
        for paper in papers
    ]
    return pytest.mark.parametrize("paper", parameters)


every = of_each(SHIPPED)
every_judged = of_each(JUDGED)


@every
def test_every_paper_has_a_measure_for_each_claim_and_no_other(paper: Paper) -> None:
    known = [claim.id for claim in claims.load(paper.folder / "claims.toml")]
    assert sorted(paper.measures) == sorted(known)


@every
def test_every_paper_measures_each_base_that_a_claim_rests_on(paper: Paper) -> None:
    known = claims.load(paper.folder / "claims.toml")
    assert sorted(paper.bases) == sorted(one.id for one in known if one.base is not None)


@every_judged
def test_every_case_depends_on_the_experiments_that_it_reads(paper: Paper) -> None:
    made = observations(paper, Length.DEFAULT, MADE_UP[paper.name])
    for claim in claims.load(paper.folder / "claims.toml"):
        read = paper.reads(claim.id, Length.DEFAULT)
        assert read.keys() == set(claim.cases)
        measures = [paper.measures[claim.id], *filter(None, [paper.bases.get(claim.id)])]
        of_all = [measure(made) for measure in measures]
        for case in (claim.cases[0], claim.cases[-1]):
            runs = {name: made[name] for name in made.runs if name in read[case]}
            assert runs
            for measure, values in zip(measures, of_all, strict=True):
                alone = measure(Observations(Length.DEFAULT, runs))[case]
                assert alone == pytest.approx(values[case], rel=0, abs=0, nan_ok=True), claim.id


@every_judged
def test_every_paper_has_medians_of_its_own_claims_only(paper: Paper) -> None:
    assert paper.medians <= paper.measures.keys()


@every_judged
def test_every_paper_names_itself_in_its_claims(paper: Paper) -> None:
    assert {claim.paper for claim in claims.load(paper.folder / "claims.toml")} == {paper.name}


@every
def test_every_paper_shows_each_claim_beside_one_figure(paper: Paper) -> None:
    shown = [name for figure in paper.figures for name in figure.claims]
    assert sorted(shown) == sorted(paper.measures)


@pytest.mark.parametrize("length", Length)
@every
def test_every_paper_plans_each_experiment_once_with_a_scenario_that_is_there(
    paper: Paper, length: Length
) -> None:
    experiments = paper.plan(length)
    names = [one.name for one in experiments]
    assert len(set(names)) == len(names)
    assert all(paper.scenario(one).is_file() for one in experiments)
    assert all(one.seeds >= 1 and one.cost > 0 for one in experiments)


@pytest.mark.parametrize("length", LENGTHS)
@every
def test_every_paper_uses_each_experiment_in_a_figure(paper: Paper, length: Length) -> None:
    everything = selected(paper.plan(length), paper.figures)
    assert everything == paper.plan(length)
    assert all(selected(paper.plan(length), [figure]) for figure in paper.figures)


@pytest.mark.parametrize("length", LENGTHS)
@every
def test_every_paper_judges_a_figure_by_its_own_experiments(paper: Paper, length: Length) -> None:
    made = observations(paper, length, MADE_UP[paper.name])
    for figure in paper.figures:
        names = {one.name for one in selected(paper.plan(length), [figure])}
        alone = Observations(length, {name: made[name] for name in made.runs if name in names})
        for claim in figure.claims:
            for measure in (paper.measures[claim], *filter(None, [paper.bases.get(claim)])):
                cases, of_all = measure(alone), measure(made)
                assert cases.keys() == of_all.keys(), claim
                for case, values in cases.items():
                    same = pytest.approx(of_all[case], rel=0, abs=0, nan_ok=True)
                    assert values == same, claim


def ended(run: Observation, *, all_of_it: bool) -> Observation:
    """Leave out what a run did not complete; but for all of it leave the last unfinished."""
    tables = dict(run.tables)
    for name in {"rounds", "transfers"} & tables.keys():
        last = pl.lit(not all_of_it) & (pl.int_range(pl.len()) == pl.len() - 1)
        completed = pl.when(~last).then(pl.col("completed_s"))
        tables[name] = tables[name].drop_nulls("completed_s").with_columns(completed_s=completed)
    return Observation(tables, run.digest, run.resolved)


OPEN = {
    "comparison": ("workloads", "coexistence", "rdma-incast", "rdma-search"),
    "dctcp": (
        *("18", "18-window", "19", "20", "20-memory", "20-varied", "21", "2", "2-varied"),
        *("22", "23", "23-rest", "19-today"),
    ),
    "dctcp-ns2": (),
    "dcudp": (),
    "dt-cwa": ("answer", "answer-open", "6-queries", "7", "8", "reason-alpha"),
    "qcn-incast": ("beyond-completion", "beyond-desync", "beyond-remedies"),
}
"""The figures that show what transfers lasted."""


@every
def test_every_paper_counts_what_did_not_end(paper: Paper) -> None:
    runs = observations(paper, Length.DEFAULT, MADE_UP[paper.name]).runs
    whole, made = (
        Observations(
            Length.DEFAULT,
            {name: [ended(found[0], all_of_it=closed)] for name, found in runs.items()},
        )
        for closed in (True, False)
    )
    for claim in claims.load(paper.folder / "claims.toml"):
        before, after = paper.measures[claim.id](whole), paper.measures[claim.id](made)
        for case, values in after.items():
            for value, closed in zip(map(ends, values), map(ends, before[case]), strict=True):
                assert closed.low == closed.high or math.isnan(closed.low)
                assert value.low <= value.high or math.isnan(value.low)
        base = paper.bases.get(claim.id)
        claims.judge(claim, after, base=base and base(made))
    tables = {figure.number: figure.data(made) for figure in paper.figures}
    shown = {
        number: [name for name in table.columns if name.endswith(UNFINISHED)]
        for number, table in tables.items()
    }
    assert tuple(number for number, columns in shown.items() if columns) == OPEN[paper.name]
    for figure in paper.figures:
        assert not any(name.endswith(UNFINISHED) for name in figure.data(whole).columns)
        if shown[figure.number]:
            with canvas() as drawn:
                figure.draw(drawn, tables[figure.number])
        if figure.number in paper.facts:
            paper.facts[figure.number](made)


TEXTS = {"name", "what", "place", "taken", "why", "shown"}
"""What `[[open]]` says of each point."""


@every
def test_every_paper_answers_what_it_finds_open(paper: Paper) -> None:
    stems = {figure.stem for figure in paper.figures}
    for one in paper.about().get("open", []):
        assert one.keys() - {"values", "where", "with"} == TEXTS
        assert one["shown"] in stems | {""}


# An experiment that does one of these on purpose is told what it may lead to.
ON_PURPOSE = {
    "host.jitter": "lock the others out",
    "transport.delayed_ack_timeout": "sent again for nothing",
    "switch.pfc": "RDMA in a lossy class",
}
# Scenarios whose constant-rate senders offer more than a link carries, as their papers have it.
OVERLOADED = {
    *("cbr-dcudp", "cbr-tcp", "cbr-udt", "after-dcudp", "after-tcp", "after-udt"),
    *("newcomer-dcudp", "newcomer-tcp", "newcomer-udt", "baseline-capacity", "baseline-input"),
}


@every
def test_every_paper_has_drawings_that_another_process_can_draw(paper: Paper) -> None:
    for figure in paper.figures:
        pickle.dumps(figure.draw)


@pytest.mark.parametrize("length", Length)
@every
def test_every_paper_runs_only_scenarios_that_are_right(paper: Paper, length: Length) -> None:
    for experiment in paper.plan(length):
        settings = tuple(experiment.overrides.items())
        scenario = load(paper.scenario(experiment), settings)
        told = [words for key, words in ON_PURPOSE.items() if key in experiment.overrides]
        told += ["this group offers"] if paper.scenario(experiment).stem in OVERLOADED else []
        # The scenarios of papers are shortened for --quick, where the largest sizes do not fit.
        told += ["no round can be complete"] if length is Length.QUICK else []
        unasked = [one for one in scenario.warnings if not any(w in one.message for w in told)]
        assert not unasked, experiment.name


@every
def test_every_paper_has_the_texts_that_the_report_shows(paper: Paper) -> None:
    about = paper.about()
    assert {"title", "source", "summary", "parameter", "deviations", "lengths"} <= about.keys()
    assert set(Length) == set(about["lengths"])
    assert set(about.get("notes", {})) <= {figure.number for figure in paper.figures}


@every
def test_every_paper_has_reasons_for_its_own_claims_only(paper: Paper) -> None:
    known = claims.load(paper.folder / "claims.toml")
    claims.load_reasons(paper.folder / "reasons.toml", known)


@every
def test_every_paper_has_the_facts_that_its_reasons_name(paper: Paper) -> None:
    known = claims.load(paper.folder / "claims.toml")
    made = observations(paper, Length.DEFAULT, MADE_UP[paper.name])
    for (name, _), text in claims.load_reasons(paper.folder / "reasons.toml", known).items():
        facts = paper.facts[name](made) if name in paper.facts else {}
        assert "{" not in text.format_map(facts)
    for number, text in paper.about().get("notes", {}).items():
        facts = paper.facts[number](made) if number in paper.facts else {}
        assert "{" not in text.format_map(facts)


@every
def test_every_paper_concludes_from_facts_and_verdicts(paper: Paper) -> None:
    made = observations(paper, Length.DEFAULT, MADE_UP[paper.name])
    facts = paper.facts["conclusion"](made)
    known = {claim.id for claim in claims.load(paper.folder / "claims.toml")}
    sentences = paper.about()["conclusion"]
    assert len(sentences) == 3
    for one in sentences:
        assert one.keys() <= {"text", "holds", "fails"}
        assert "{" not in one["text"].format_map(facts)
        assert known.issuperset([*one.get("holds", ()), *one.get("fails", ())])


@every
def test_every_paper_has_facts_for_its_claims_and_figures_only(paper: Paper) -> None:
    shown = {figure.number for figure in paper.figures} | set(paper.measures)
    assert paper.facts.keys() <= shown | {"conclusion"}


@every
def test_every_paper_numbers_its_figures(paper: Paper) -> None:
    numbers = [figure.number for figure in paper.figures]
    assert len(set(numbers)) == len(numbers)


# ---- dctcp-ns2: the plan


def names(length: Length, prefix: str) -> list[str]:
    return [one.name for one in PAPER.plan(length) if one.name.startswith(prefix)]


def test_the_plan_has_the_experiments_of_the_paper() -> None:
    seeds = {one.name: one.seeds for one in PAPER.plan(Length.DEFAULT)}
    assert len(names(Length.DEFAULT, "threshold/dctcp/")) == 10 + 4 + 7
    assert seeds["queue/100M/tcp/n=20"] == 5
    assert seeds["steady/dctcp/n=48/k=60"] == 2
    assert {one.seeds for one in PAPER.plan(Length.FULL)} == {20}


def test_the_quick_plan_is_short() -> None:
    experiments = PAPER.plan(Length.QUICK)
    assert {one.seeds for one in experiments} == {1}
    assert len(names(Length.QUICK, "threshold/dctcp/")) == 6
    assert dctcp_ns2.DECLARED.names(Length.QUICK)["windows"][0].of["duration"] == 3


@pytest.mark.parametrize("length", Length)
def test_each_plan_has_the_k_that_the_claims_name(length: Length) -> None:
    planned = set(names(length, ""))
    assert {"threshold/dctcp/k=1", "steady/dctcp/n=2/k=1", "steady/dctcp/n=2/k=20"} <= planned
    assert {"steady/dctcp/n=48/k=60", "burst/dctcp/b=1/k=20", "burst/dctcp/b=32/k=65"} <= planned


# Every number of the experiments' description; what is not here is in the resolved scenario.
PARAMETERS = {
    "run.duration": "10 s",
    "network.topology": "star",
    "network.senders": 2,
    "network.rate": "100 Mbit/s",
    "switch.buffer": "200 packets",
    "host.queue": "200 packets",
    "host.tso_burst": 1,
    "transport.recovery": "sack",
    "transport.initial_window": "2 packets",
    "transport.delayed_ack_count": 1,
    "transport.handshake": False,
    "transport.min_rto": "200 ms",
    "flows.long.workload": "bulk",
    "flows.long.stop": "9500 ms",
    "measure.warmup": "4 s",
    "measure.until": "9 s",
}


@pytest.mark.parametrize("name", ["tcp", "dctcp"])
def test_the_scenarios_say_what_the_paper_says(name: str) -> None:
    scenario = load(PAPER.folder / "scenarios" / f"{name}.toml")
    assert {key: scenario[key] for key in PARAMETERS} == PARAMETERS
    assert scenario["transport.congestion"] == {"tcp": "new-reno", "dctcp": "dctcp"}[name]
    assert scenario["switch.queue.kind"] == {"tcp": "drop-tail", "dctcp": "threshold"}[name]
    if name == "dctcp":
        assert scenario["switch.queue.marking_threshold"] == "20 packets"
        assert (scenario["transport.g"], scenario["transport.initial_alpha"]) == (0.0625, 0.0)
        assert scenario["transport.min_cwnd"] == "1 packet"


# ---- dctcp-ns2: the measures, by hand


@pytest.fixture(scope="module")
def runs() -> Observations:
    return observations(PAPER, Length.DEFAULT, dctcp_ns2_made_up)


def measured(runs: Observations, name: str) -> dict[str, list[float]]:
    """Give the values of a measure: here no transfer could be unfinished."""
    return {case: apart(values)[0] for case, values in PAPER.measures[name](runs).items()}


def test_every_measure_gives_the_cases_of_its_claim_for_every_seed(runs: Observations) -> None:
    for claim in claims.load(PAPER.folder / "claims.toml"):
        cases = measured(runs, claim.id)
        assert set(cases) == set(claim.cases), claim.id
        assert {len(values) for values in cases.values()} <= {2, 5}, claim.id
        claims.judge(claim, cases)


def test_the_queue_is_evaluated_between_its_times() -> None:
    run = observation(list(range(1000)), 1.0)
    window = dctcp_ns2.DECLARED.names(Length.DEFAULT)["windows"][0]
    queue = statistics.samples(run, window.of["begin"], window.of["end"])["packets"]
    assert (queue.min(), queue.max()) == (400, 900)


def test_queues_are_compared(runs: Observations) -> None:
    # DCTCP cycles through 15 ... 24 and TCP through 100 ... 199, over 501 samples.
    mean = (50 * sum(range(15, 25)) + 15) / 501
    assert measured(runs, "fig2-dctcp-queue")["n = 2"] == pytest.approx([mean] * 5)
    assert measured(runs, "fig3-dctcp-bound") == {"n = 2": [2.0] * 5, "n = 20": [-16.0] * 5}
    assert measured(runs, "fig2-buffer")["n = 2"] == pytest.approx([100 * 24 / 198] * 5)
    assert measured(runs, "fig3-tcp-median")["n = 2"] == pytest.approx([149 / 19] * 5)
    assert measured(runs, "fig3-gradual")["n = 20"] == [1.0] * 5


def test_throughput_is_a_share_of_the_link(runs: Observations) -> None:
    both = measured(runs, "fig2-throughput")
    assert both == {"TCP": [96.0] * 5, "DCTCP": pytest.approx([94.0] * 5)}


def test_curves_over_k(runs: Observations) -> None:
    # Throughput is 90 + 0.2 K percent, at most 100, so it is full from K = 50 on.
    assert measured(runs, "fig4-flat")["n = 2"] == pytest.approx([0.0] * 5)
    assert measured(runs, "fig4-tcp")["n = 2"] == pytest.approx([4.0] * 5)
    assert measured(runs, "fig4-dip")["n = 2"] == pytest.approx([90.2] * 5)
    assert measured(runs, "steady-start")["n = 2"] == pytest.approx([1.0] * 2)
    assert measured(runs, "k65-theory")["bursts of 1"] == pytest.approx([94.0] * 5)
    assert measured(runs, "steady-full")["n = 2"] == pytest.approx([94.0] * 2)


def test_the_knee_is_found_between_the_thresholds() -> None:
    # From 99.8 at 10 to 100 at 20: 99.9 lies half way.
    assert statistics.knee({1: 98.0, 10: 99.8, 20: 100.0, 50: 100.0}.items()) == pytest.approx(15)
    assert statistics.knee({1: 99.0, 10: 99.95, 20: 99.0, 50: 100.0}.items()) == pytest.approx(47)
    assert statistics.knee({1: 100.0, 10: 100.0}.items()) == 1
    assert statistics.knee({1: 98.0, 10: 99.0}.items()) == 10


def test_division_by_an_empty_queue() -> None:
    empty = Observations(
        Length.QUICK,
        {
            "queue/100M/tcp/n=2": [observation([7] * 300, 1.0)],
            "queue/100M/dctcp/n=2": [observation([0] * 300, 1.0)],
            "queue/100M/tcp/n=20": [observation([0] * 300, 1.0)],
            "queue/100M/dctcp/n=20": [observation([0] * 300, 1.0)],
        },
    )
    cases = PAPER.measures["fig3-tcp-median"](empty)
    assert cases["n = 2"] == [float("inf")]
    assert math.isnan(ends(cases["n = 20"][0]).low)


# ---- dctcp-ns2: from runs to an interval, every step by hand


def test_a_comparison_is_paired_by_seed_before_its_interval() -> None:
    # Five seeds; the links differ much between seeds and little between TCP and DCTCP.
    tcp = [0.97, 1.00, 0.98, 0.99, 0.96]
    low = [0.98, 1.00, 0.985, 0.995, 0.97]  # DCTCP at K = 50, its least above 45
    runs = Observations(
        Length.DEFAULT,
        {
            "threshold/tcp": [observation([], share) for share in tcp],
            "threshold/dctcp/k=1": [observation([], 0.5) for _ in low],
            "threshold/dctcp/k=50": [observation([], share) for share in low],
            "threshold/dctcp/k=100": [observation([], 1.0) for _ in low],
        },
    )
    # Differences in % of the link: 1, 0, 0.5, 0.5, 1. Mean 0.6; squared deviations 0.16, 0.36,
    # 0.01, 0.01, 0.16, sum 0.70; s = sqrt(0.70 / 4) = 0.41833; t(4) = 2.77645 of the tables;
    # half the interval 2.77645 * 0.41833 / sqrt(5) = 0.51943. Unpaired it would be above 1.8.
    differences = measured(runs, "fig4-tcp")["n = 2"]
    assert differences == pytest.approx([1, 0, 0.5, 0.5, 1])
    low_edge, high_edge = confidence.interval(differences) or (0, 0)
    assert low_edge == pytest.approx(0.6 - 0.51943, abs=2e-5)
    assert high_edge == pytest.approx(0.6 + 0.51943, abs=2e-5)
    (claim,) = (one for one in claims.load(PAPER.folder / "claims.toml") if one.id == "fig4-tcp")
    assert claims.judge(claim, {"n = 2": differences}).verdict is claims.Verdict.HOLDS


def test_two_seeds_that_both_lie_in_the_band_can_be_unclear() -> None:
    # The loss at K = 1: early 16 and 6 %, late 1.6 and 1.8 %, so 0.1 and 0.3 times. Mean 0.2,
    # s = 0.2 / sqrt(2) = 0.141421, t(1) = 12.7062: half is 12.7062 * 0.1 = 1.27062, over 1.
    runs = Observations(
        Length.DEFAULT,
        {
            "steady/dctcp/n=2/k=1": [observation([], share) for share in (0.984, 0.982)],
            "threshold/dctcp/k=1": [observation([], share) for share in (0.84, 0.94, 0.7)],
        },
    )
    values = measured(runs, "steady-start")["n = 2"]
    assert values == pytest.approx([0.1, 0.3])
    assert confidence.interval(values) == pytest.approx((0.2 - 1.27062, 0.2 + 1.27062), abs=1e-5)
    (claim,) = (
        one for one in claims.load(PAPER.folder / "claims.toml") if one.id == "steady-start"
    )
    assert claims.judge(claim, {"n = 2": values}).verdict is claims.Verdict.UNCLEAR


# ---- dctcp-ns2: cycles and further facts


def test_cycles_of_a_saw() -> None:
    # Peaks of 10 and troughs of 2, eight samples apart; a ripple of 1 is no cycle.
    saw = [2, 4, 6, 8, 10, 8, 6, 4] * 5 + [2]
    rippled = [value + (1 if at % 2 else 0) for at, value in enumerate(saw)]
    found = cycles(saw, 3)
    assert found is not None
    assert (found.swing, found.period) == (8, 8)
    again = cycles(rippled, 3)
    assert again is not None
    assert again.period == 8
    assert cycles([5] * 100, 3) is None
    assert cycles([], 3) is None
    assert cycles(list(range(100)), 3) is None


def test_the_facts_of_a_swing() -> None:
    # 48 flows at K = 100: a saw of 120 packets, 100 samples of 2 ms = 200 ms, mean 90 packets:
    # a round trip is (335.4 + 90) * 0.12 ms = 51.05 ms, so a period is 3.9 of them.
    saw = [30 + abs(120 - round(2.4 * (at % 100))) for at in range(10_000)]
    samples = observation(saw, 1.0).tables["queue_samples"]
    samples = samples.with_columns(time_s=20 + 0.002 * pl.int_range(pl.len()))
    run = Observation({"queue_samples": samples}, "", "")
    swing, period = cycle(run, dctcp_ns2.DECLARED.names(Length.DEFAULT)["windows"][2], 112)
    assert swing == 120
    assert period == pytest.approx(200 / ((theory.PIPE + fmean(saw)) * 0.12), rel=1e-3)


def test_the_facts_of_lockouts() -> None:
    def run(*delivered: int) -> Observation:
        timeouts = [1] + [4] * (len(delivered) - 1)
        flows = {"delivered_bytes": delivered, "timeouts": timeouts, "drops": timeouts}
        made = observation([7] * 1000, 1.0)
        return Observation({**made.tables, "flows": pl.DataFrame(flows)}, made.digest, "")

    pairs = {"queue/100M/tcp/n=2": [run(95, 5), run(60, 40)]}
    facts = PAPER.facts["2"](Observations(Length.DEFAULT, pairs))
    assert facts == {
        "locked": "1",
        "shared": "1",
        "seeds": "2",
        "shared_mean": "7",
        "drops": "5",
    }
    many = {
        "queue/100M/tcp/n=20": [run(30, 30, 40)],
        "queue/100M/tcp/n=20/jitter=0": [run(80, 10, 10)],
    }
    facts = PAPER.facts["3"](Observations(Length.DEFAULT, many))
    # The largest flow's timeouts are left out: of 1, 4, 4 the mean of 1, 4 and of 4, 4.
    assert (facts["largest_jitter"], facts["timeouts_jitter"]) == ("40", "2.5")
    assert (facts["largest_none"], facts["timeouts_none"]) == ("80", "4.0")


# ---- dctcp-ns2: the fluid model


def test_the_knees_of_the_fluid_model() -> None:
    # C RTT = 100 Mbit/s * 40 ms / 12000 bit = 333.3 packets; C RTT / 7 = 47.6.
    pipe = 100e6 * 0.040 / 12_000
    assert theory.knee(2, pipe, exact=True) == pytest.approx(17.00, abs=0.005)
    assert theory.knee(2, pipe, exact=False) == pytest.approx(16.71, abs=0.005)
    assert theory.knee(48, pipe, exact=False) == pytest.approx(pipe / 7, abs=1e-3)
    assert theory.knee(48, pipe, exact=True) == pytest.approx(58.57, abs=0.005)
    # The short form is worst at N = (C RTT + K) / 8, and gives C RTT / 7 there.
    worst = max(theory.knee(n, pipe, exact=False) for n in range(1, 120))
    assert worst == pytest.approx(pipe / 7, abs=1e-3)


def test_alpha_solves_its_equation() -> None:
    for window in (2.0, 10.0, 175.0):
        alpha = theory.alpha_exact(window)
        right = (2 * window + 1) / (window + 1) ** 2
        assert alpha**2 * (1 - alpha / 4) == pytest.approx(right)
    assert theory.alpha_exact(1e4) == pytest.approx((2 / 1e4) ** 0.5, rel=0.002)


def test_the_fluid_model_fills_the_link_above_its_knee() -> None:
    pipe = theory.PIPE
    for flows in (2, 48):
        knee = theory.knee(flows, pipe, exact=True)
        assert theory.throughput(flows, pipe, knee + 0.1) == 1
        below = [theory.throughput(flows, pipe, knee * share) for share in (0.2, 0.5, 0.8)]
        assert below == sorted(below)
        assert below[-1] < 1


# ---- dctcp-ns2: the figures' tables


def test_each_figure_has_a_table(runs: Observations) -> None:
    tables = {figure.number: figure.data(runs) for figure in PAPER.figures}
    assert tables["2"].columns == ["speed", "algorithm", "seed", "time_s", "packets"]
    assert tables["4"].filter(pl.col("series") == "TCP")["k"].is_null().all()
    assert tables["4"]["k"].n_unique() == 21 + 1
    fractions = tables["3"].filter(pl.col("packets") == 200)["fraction"]
    assert (fractions == 1.0).all()


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("3", ["3", "3-speed"]),
        ("13", ["3"]),
        ("4-steady", ["4-steady"]),
        ("1", ["2"]),
        ("9", []),
        ("", []),
    ],
)
def test_figures_answer_to_either_number(asked: str, found: list[str]) -> None:
    assert [figure.number for figure in PAPER.figures if figure.answers_to(asked)] == found
