"""Robustness: what is tried, in which order, what is told of it, and Sobol indices."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from incastle.plotting.style import canvas
from incastle.reproduction.changes import open_points
from incastle.reproduction.claims import Verdict
from incastle.reproduction.papers import Length, discover
from incastle.reproduction.run_cache import RunCache
from incastle.variation import robust_study, sobol, verdict_map
from incastle.variation.robustness import (
    SEEDS,
    TAKEN,
    Robustness,
    Variant,
    explore,
    parameters_of,
    variants,
)
from incastle.variation.trials import Budget, Stop, Trials
from made_up_paper import OPEN, Scenario, paper, trials

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Output
    from incastle.reproduction.papers import Paper

DELAYS = """
[[open]]
name = "RTO_min"
[open.values]
"200 ms" = {}
"1 ms" = { "transport.min_rto" = "1 ms" }
"10 ms" = { "transport.min_rto" = "10 ms" }
"5 ms" = { "transport.min_rto" = "5 ms" }
"""


@pytest.fixture
def made(tmp_path: Path) -> Paper:
    of = paper(tmp_path / "paper")
    (of.folder / "open.toml").write_text(OPEN + DELAYS)
    return of


def milliseconds(scenario: Scenario) -> float:
    return float(scenario["transport"]["min_rto"].removesuffix(" ms"))


def value(scenario: Scenario, claim: int) -> float:
    """Let the first claim hold from 10 ms on, and the second but with seed 3."""
    return float((milliseconds(scenario) >= 10, scenario["run"]["seed"] != 3)[claim])


def explored(made: Paper, budget: Budget | None = None) -> Robustness:
    of = trials(made, value, budget)
    return explore(of, parameters_of(made), lambda _done, _all: None)


# ---- variants


def test_every_parameter_has_one_value_before_any_has_two(made: Paper) -> None:
    parameters = parameters_of(made)
    names = [one.parameter for one in variants(parameters)]
    first = names[: len(parameters) + 1]
    assert first == ["seed", *(one.name for one in parameters)]
    assert names.count("seed") == len(SEEDS) - 1


def test_what_turns_is_told_with_its_edge(made: Paper) -> None:
    found = explored(made)
    assert found.verdict("c0-0") is Verdict.HOLDS
    assert found.same("c0-0") == len(found.tried) - 2
    assert found.turns("c0-0") == ["RTO_min below 10 ms"]
    assert found.turns("c0-1") == ["1 of 7 other seeds"]
    rows = robust_study.study(found).tables[0].rows
    count = len(found.tried)
    assert rows[0] == ("c0-0", f"holds in {count - 2} of {count}", "RTO_min below 10 ms")


def test_what_turns_on_both_sides_is_listed(made: Paper) -> None:
    def only(scenario: Scenario, _claim: int) -> float:
        return float(milliseconds(scenario) in {200, 5})

    found = explore(trials(made, only), parameters_of(made), lambda _done, _all: None)
    assert found.turns("c0-0") == ["RTO_min 1 ms, 10 ms"]


def test_a_parameter_that_changes_no_run_is_named(made: Paper) -> None:
    text = OPEN.replace('["dctcp"]', '["cubic"]')
    (made.folder / "open.toml").write_text(text)
    open_points.cache_clear()
    found = explored(made)
    assert found.idle == ("packet size", "window")
    words = " ".join(robust_study.study(found).words)
    assert "No run of the claims depends on packet size, window." in words


def test_a_variant_that_cannot_run_is_named(made: Paper) -> None:
    (made.folder / "open.toml").write_text(DELAYS.replace('= "5 ms"', '= "soon"'))
    open_points.cache_clear()
    found = explored(made)
    assert [str(one) for one in found.refused] == ["RTO_min: 5 ms"]
    assert "Cannot run: RTO_min: 5 ms (e0: " in " ".join(robust_study.study(found).words)


def test_a_small_budget_says_what_it_did_not_try(made: Paper) -> None:
    found = explored(made, Budget(1.0, work=1.0, spent=1.0))
    assert list(found.tried) == [TAKEN]
    words = robust_study.study(found).words
    first = "No variant was tried. It ended early, as the budget was spent."
    assert words[0] == f"{first} A variant takes about 600 s here."
    assert words[1].startswith("Not tried: seed, jitter")
    assert len(words) == 3  # and one on what no run depends on, but none on what turned


def test_an_interruption_keeps_what_is_finished(
    made: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = Trials.judge

    def until(self: Trials, settings: Any, seeds: Any) -> Any:
        if settings and settings[0].parameter == "RTT":
            raise KeyboardInterrupt
        return judge(self, settings, seeds)

    monkeypatch.setattr(Trials, "judge", until)
    found = explored(made)
    assert found.stopped is Stop.INTERRUPTED
    assert [one.parameter for one in found.tried] == ["", "seed", "jitter"]


# ---- Sobol indices


def margins_of(samples: int, function: Callable[[Any], Any], width: int = 3) -> list[float]:
    a, b, mixed = sobol.matrices(samples, width)
    return [float(one) for part in (a, b, *mixed) for one in function(part)]


def test_indices_are_those_of_theory() -> None:
    # x + y / 2: variances of 1/12 and 1/48, so that four fifths are of x; z has nothing.
    margins = margins_of(512, lambda part: part[0] + part[1] / 2)
    found = {(one.parameter, one.kind): one for one in sobol._of_claim("c", margins, "xyz")}
    for kind in ("first", "total"):
        assert found["x", kind].value == pytest.approx(0.8, abs=0.05)
        assert found["y", kind].value == pytest.approx(0.2, abs=0.05)
        assert ("z", kind) not in found
        assert found["x", kind].low < 0.8 < found["x", kind].high


def test_an_index_that_is_not_known_is_not_shown() -> None:
    draw = np.random.default_rng(3)
    margins = margins_of(8, lambda part: draw.normal(size=part.shape[1]))
    of = sobol.Indices(8, 40, tuple(sobol._of_claim("c", margins, "xyz")))
    assert of.found
    assert not any(one.high - one.low > sobol.WIDEST for one in of.shown)
    assert len(of.shown) < len(of.found)


def test_what_is_not_finite_or_never_changes_has_no_index() -> None:
    assert sobol._of_claim("c", margins_of(8, lambda part: 0 * part[0]), "xyz") == []
    assert sobol._of_claim("c", margins_of(8, lambda part: np.inf + part[0]), "xyz") == []


def test_all_parameters_vary_at_once(made: Paper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sobol, "MOST", 16)
    of = trials(made, lambda scenario, _claim: milliseconds(scenario))
    parameters = open_points(made.folder).parameters
    found = sobol.indices(of, parameters, lambda _done, _all: None)
    assert found.samples == 16
    assert found.trials <= 16 * (len(parameters) + 3)
    by_name = {one.parameter: one.value for one in found.found if one.claim == "c0-0"}
    assert max(by_name, key=lambda name: by_name[name]) == "RTO_min"


def test_a_budget_without_room_for_indices_says_so(made: Paper) -> None:
    of = trials(made, value, Budget(1.0, work=1.0, spent=1.0))
    found = sobol.indices(of, open_points(made.folder).parameters, lambda _done, _all: None)
    assert found.why == "8 samples need 72 trials, more than the budget allows"


# ---- the figure, the command


def test_the_map_has_a_cell_for_each_claim_and_variant_and_marks_what_turns(made: Paper) -> None:
    found = explored(made)
    data = robust_study.table(found)
    assert len(data) == len(found.trials.claims) * len(found.tried)
    assert data.filter("turned")["value"].unique().sort().to_list() == ["1 ms", "3", "5 ms"]
    with canvas() as figure:
        verdict_map.draw(figure, data)
        (axes,) = figure.axes
        assert [one.get_text() for one in axes.get_yticklabels()] == list(found.trials.claims)
        (dots,) = axes.collections
        assert len(dots.get_offsets()) == data["turned"].sum()  # type: ignore[arg-type]


JUDGED = [one for one in discover().values() if one.measures]


@pytest.mark.parametrize("of", JUDGED, ids=lambda of: of.name)
def test_every_paper_varies_jitter_round_trip_and_packet_size(of: Paper, tmp_path: Path) -> None:
    made = Trials(of, Length.QUICK, RunCache(tmp_path))
    for parameter in parameters_of(of)[:3]:
        assert made.touches((parameter.others[0],)), parameter.name


def test_the_command_tries_prints_draws_and_keeps(cli: Callable[..., Output], folder: Path) -> None:
    arguments = ("robust", "dt-cwa", "--length", "quick", "--budget", "1s", "--out", "kept")
    output = cli(*arguments, "--full")
    assert output.status == 0, output.err
    assert "in 1 of 1" in output.out or "Variants of" in output.out
    assert "Sobol indices: none" in output.out
    place = folder / "kept" / "studies" / "dt-cwa"
    assert {one.suffix for one in place.iterdir()} == {
        *(".html", ".json", ".svg", ".png", ".pdf", ".gz")
    }
    data = json.loads((place / "robust.json").read_text(encoding="utf-8"))
    table = pl.read_csv(place / "robust.csv.gz")
    assert len(table) == len(data["claims"]) * len(data["variants"])
    assert 'src="robust.svg"' in (place / "robust.html").read_text(encoding="utf-8")


def test_a_variant_has_a_name() -> None:
    assert str(Variant("seed", "2", (), 2)) == "seed: 2"
