"""The search of readings: what it finds where there is something, and where there is nothing."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from incastle.build import engine_build
from incastle.reproduction import report, studies
from incastle.reproduction.changes import ChangeError, OpenPoints, changed, open_points
from incastle.reproduction.papers import Length, discover
from incastle.reproduction.run_cache import RunCache
from incastle.reproduction.scores import share
from incastle.variation import readings_study
from incastle.variation.readings import DEFAULT, Findings, groups, in_turn, search
from incastle.variation.trials import Budget, CannotRun, Stop, Trials
from made_up_paper import GROUPS, OPEN, Scenario, paper, trials

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Output
    from incastle.reproduction.papers import Paper


@pytest.fixture
def made(tmp_path: Path) -> Paper:
    return paper(tmp_path / "paper")


def truth(scenario: Scenario, claim: int) -> float:
    """Let the first claim of each experiment need one value, and the second another."""
    jitter = scenario["host"]["jitter"] == "3 us"
    window = scenario["transport"]["min_cwnd"] == "1 packet"
    return 1.0 if (jitter, window)[claim] else 0.0


def noise(salt: int) -> Callable[[Scenario, int], float]:
    """Let every run and claim have a value of its own, evenly from 0 to 1.

    It follows from the keys that the made-up paper varies alone: another key of the language, which
    every scenario has by default, changes no draw.
    """

    def value(scenario: Scenario, claim: int) -> float:
        varied = (scenario["run"], scenario["network"], scenario["host"]["jitter"])
        text = f"{salt} {claim} {varied} {scenario['transport']['min_cwnd']}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest()) / 2**32

    return value


def found(made: Paper, value: Callable[[Scenario, int], float], budget: Any = None) -> Findings:
    of = trials(made, value, budget)
    return search(of, open_points(made.folder).parameters, lambda _done, _all: None)


# ---- finding


def test_the_truth_is_found_and_is_better_on_what_was_held_out(made: Paper) -> None:
    result = found(made, truth)
    assert [str(one) for one in result.nearest] == ["jitter: 3 us", "window: 1 packet"]
    assert (result.score(DEFAULT), result.score(result.nearest)) == (0, 2 * GROUPS)
    assert [split.chosen for split in result.splits] == [result.nearest] * GROUPS
    assert result.gains == [2.0] * GROUPS
    assert result.is_better
    assert result.never() == []
    words = " ".join(readings_study.study(result).words)
    assert "gain +12.0 claims against the default in 6 groups" in words


def test_noise_does_not_fool_the_search(made: Paper) -> None:
    results = [found(made, noise(salt)) for salt in range(12)]
    fitted = [one.score(one.nearest) - one.score(DEFAULT) for one in results]
    assert sum(fitted) / len(fitted) > 1  # the fit alone would be believed
    held_out = [sum(one.gains) for one in results]
    assert sum(held_out) / len(held_out) < sum(fitted) / len(fitted) / 4
    assert sum(one.is_better for one in results) <= 1  # one in forty by chance
    fooled = next(one for one in results if not one.is_better)
    assert fooled.interval is not None
    assert fooled.interval[0] <= 0
    assert "no reading is shown to be better" in " ".join(readings_study.study(fooled).words)


def test_a_choice_sees_only_its_own_claims(made: Paper) -> None:
    def value(scenario: Scenario, claim: int) -> float:
        jitter, place = scenario["host"]["jitter"], scenario["network"]["senders"]
        return float(jitter == "1 us" if place == 1 else jitter == "3 us" and place + claim == 2)

    result = found(made, value)  # the first group gains two claims by 1 us, the second one by 3 us
    assert [str(one) for one in result.nearest] == ["jitter: 1 us"]
    first, second = result.splits[:2]
    assert [str(one) for one in first.chosen] == ["jitter: 3 us"]
    assert [str(one) for one in second.chosen] == ["jitter: 1 us"]
    assert (first.gain, second.gain) == (0, 0)  # and not the fitted 2


def test_what_no_reading_changes_says_nothing(made: Paper) -> None:
    def value(scenario: Scenario, claim: int) -> float:
        return truth(scenario, claim) if scenario["network"]["senders"] == 1 else 1.0

    result = found(made, value)
    assert [split.counts for split in result.splits] == [True] + [False] * (GROUPS - 1)
    assert result.interval is None
    assert "there is 1. Nothing is shown" in " ".join(readings_study.study(result).words)


def test_claims_that_read_a_common_run_stay_together() -> None:
    reads = {"a": ["x"], "b": ["y"], "c": ["z"], "d": ["x", "y"], "e": []}
    assert groups(reads) == [("a", "b", "d"), ("c",), ("e",)]


# ---- changes


def test_values_come_in_turn_of_each_parameter_first_the_first(made: Paper) -> None:
    names = [str(one) for one in in_turn(open_points(made.folder).parameters)]
    first = ["jitter: 1 us", "delay: doubled", "window: 1 packet", "g: 1/8", "buffer: 64 KiB"]
    assert names[:5] == first
    assert names[5] == "jitter: 3 us"


def test_values_reach_the_scenarios_that_are_meant_and_compute_with_them(made: Paper) -> None:
    of = {str(one): one for one in in_turn(open_points(made.folder).parameters)}
    path = made.folder / "scenarios" / "small.toml"
    own = {"network.delay": "10 us", "transport.congestion": "new-reno"}
    assert changed(path, own, [of["delay: doubled"]])["network.delay"] == "20 us"
    assert changed(path, {}, [of["delay: halved"]]) == {"network.delay": "12500 ns"}
    assert changed(path, {}, [of["window: 1 packet"]]) == {"transport.min_cwnd": "1 packet"}
    assert changed(path, own, [of["window: 1 packet"]]) == own


def test_a_nearest_reading_that_is_not_declared_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open.toml").write_text(f'[nearest]\njitter = "7 us"\n{OPEN}')
    with pytest.raises(ChangeError, match="names a point or a value"):
        open_points(tmp_path)


def test_the_value_taken_sets_nothing(tmp_path: Path) -> None:
    (tmp_path / "open.toml").write_text(OPEN.replace('"1/16" = {}\n', ""))
    with pytest.raises(ChangeError, match="g: the first value is the one taken"):
        open_points(tmp_path)


# ---- stopping


def test_a_budget_ends_the_search_and_is_named(made: Paper) -> None:
    budget = Budget(1.0, work=1.0, spent=1.0)  # a packet-hop takes a second
    result = found(made, truth, budget)
    assert list(result.tried) == [DEFAULT]
    assert "ended early, as the budget was spent" in readings_study.study(result).words[0]


def test_a_budget_pays_for_the_cheapest_and_leaves_out_what_is_too_dear(
    made: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    dear = {"jitter": 1e6, "delay": 3.0, "window": 1.0, "g": 2.0, "buffer": 1e6}
    order: list[Any] = []

    def work(_: Trials, settings: Any = (), __: Any = None) -> float:
        return sum(dear[one.parameter] for one in settings)

    judge = Trials.judge

    def judged(self: Trials, settings: Any = (), seeds: Any = None) -> Any:
        order.append(settings)
        return judge(self, settings, seeds)

    monkeypatch.setattr(Trials, "work", work)
    monkeypatch.setattr(Trials, "judge", judged)
    result = found(made, truth, Budget(1e5, work=1.0, spent=1.0))
    assert result.stopped is Stop.BUDGET
    names = [one.parameter for settings in order if len(settings) == 1 for one in settings]
    assert names == ["window", "window", "g", "g", "delay", "delay"]
    words = readings_study.study(result).words[0]
    assert "; 6 of the values alone: the search ended early, as the budget was spent." in words
    # The values that fit are still combined.
    assert max(map(len, order)) > 1


def test_an_interrupted_search_keeps_what_it_has(
    made: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, calls = Trials.judge, 0

    def until(self: Trials, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return judge(self, *arguments)

    monkeypatch.setattr(Trials, "judge", until)
    result = found(made, truth)
    assert len(result.tried) == 3
    assert result.stopped is Stop.INTERRUPTED


def test_a_reading_that_cannot_run_is_named(made: Paper) -> None:
    text = OPEN.replace('"host.jitter" = "1 us"', '"host.jitter" = "fast"')
    (made.folder / "open.toml").write_text(text)
    open_points.cache_clear()
    result = found(made, truth)
    ((refused, why),) = result.refused.items()
    assert str(refused[0]) == "jitter: 1 us"
    assert why.startswith("e0: ")
    assert "1 cannot run" in readings_study.study(result).words[0]


# ---- shipped papers


SEARCHED = [paper for paper in discover().values() if open_points(paper.folder).parameters]


@pytest.mark.parametrize("of", SEARCHED, ids=lambda of: of.name)
def test_every_value_that_a_paper_leaves_open_changes_its_runs(of: Paper, tmp_path: Path) -> None:
    made = Trials(of, Length.QUICK, RunCache(tmp_path))
    for one in in_turn(open_points(of.folder).parameters):
        assert made.touches((one,)), one


@pytest.mark.parametrize("of", SEARCHED, ids=lambda of: of.name)
def test_cases_of_readings_are_those_of_the_claims(of: Paper, tmp_path: Path) -> None:
    made = Trials(of, Length.QUICK, RunCache(tmp_path))
    known = {case for claim in made.claims.values() for case in claim.cases}
    for group in open_points(of.folder).cases:
        assert group[0] in known
    assert all(claim.cases for claim in made.claims.values())


# ---- the command, the page


def test_the_command_searches_prints_and_keeps(cli: Callable[..., Output], folder: Path) -> None:
    arguments = ("readings", "dt-cwa", "--length", "quick", "--budget", "1s", "--out", "kept")
    output = cli(*arguments)
    assert output.status == 0, output.err
    assert "The default holds" in output.out
    page = folder / "kept" / "studies" / "dt-cwa" / "readings.html"
    assert "What is open" in page.read_text(encoding="utf-8")
    again = json.loads(cli(*arguments, "--json").out)
    assert again["paper"] == "dt-cwa"
    assert again["tried"][0]["reading"] == {}
    (shown,) = studies.kept(folder / "kept", "dt-cwa")
    assert shown.words == tuple(again["words"])
    assert report.prepare_folder(folder / "kept").is_dir()


@pytest.mark.parametrize("command", ["readings", "robust"])
def test_an_interrupted_command_shows_what_is_finished(
    cli: Callable[..., Output], folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    judge = Trials.judge

    def until(self: Trials, settings: Any = (), seeds: Any = None) -> Any:
        if settings:
            raise KeyboardInterrupt
        return judge(self, settings, seeds)

    monkeypatch.setattr(Trials, "judge", until)
    output = cli(command, "dt-cwa", "--length", "quick", "--out", "kept")
    assert output.status == 130
    assert "finished runs are kept" in output.err
    assert "ended early, as it was interrupted" in output.out
    assert (folder / "kept" / "studies" / "dt-cwa" / f"{command}.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("dt-cwb",), "did you mean 'dt-cwa'"),
        (("comparison",), "has no claims"),
        (("dt-cwa", "--budget", "soon"), "expected a time such as 90s, 5m or 1h"),
        (("dt-cwa", "--length", "short"), "expected quick, default, full"),
    ],
)
def test_bad_input_is_one_message(
    cli: Callable[..., Output], arguments: tuple[str, ...], message: str
) -> None:
    output = cli("readings", *arguments)
    assert output.status == 2
    assert message in output.err


def test_a_paper_without_open_points_is_refused(
    cli: Callable[..., Output], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings_study, "open_points", lambda _folder: OpenPoints((), (), ()))
    output = cli("readings", "dctcp", "--length", "quick")
    assert output.status == 2
    assert "declares no open point" in output.err


def test_studies_of_another_engine_are_not_shown(tmp_path: Path) -> None:
    folder = tmp_path / studies.FOLDER / "p"
    folder.mkdir(parents=True)
    for name, engine in (("readings", engine_build()), ("robust", "another")):
        data = {"engine": engine, "kind": name, "title": "T", "words": ["So it is."]}
        (folder / f"{name}.json").write_text(json.dumps(data))
    (folder / "broken.json").write_text("{")
    assert [one.kind for one in studies.kept(tmp_path, "p")] == ["readings"]


def test_a_failing_default_is_the_users_to_know(made: Paper) -> None:
    (made.folder / "scenarios" / "small.toml").write_text("name = 'broken'")
    with pytest.raises(CannotRun, match="e0: "):
        found(made, truth)


def test_a_share_counts_a_case_without_a_value_as_outside(made: Paper) -> None:
    of = trials(made, lambda _scenario, claim: float("nan") if claim else 1.0).judge()
    assert share(of["c0-0"]) == 1
    assert share(of["c0-1"]) == 0


def test_a_gain_that_rounds_to_zero_has_no_minus() -> None:
    assert [readings_study._gain(one) for one in (-0.04, 0.0, -0.06)] == ["+0.0", "+0.0", "-0.1"]
