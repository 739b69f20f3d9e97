"""Searches: conditions, bisection, Optuna; what they assume, and that they can be gone on with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import incastle as ic
from conftest import SMALL, Output
from incastle import units
from incastle.analysis.measures import columns_of, find_column
from incastle.sweeps.bisect import NEIGHBOURS, Bisection, max_values
from incastle.sweeps.conditions import parse_condition
from test_sweep import break_runs, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from incastle.scenario import Scenario

    Cli = Callable[..., Output]

COLUMNS = columns_of(["long", "short"])
FULL = "goodput > 0.9 Gbit/s"

INCAST = """\
name = "few"
[run]
duration = "100 ms"
[network]
topology = "star"
senders = 40
rate = "1 Gbit/s"
delay = "25 us"
[switch]
buffer = "64 KiB"
[host]
jitter = "2 us"
[transport]
min_rto = "20 ms"
initial_window = "2 packets"
handshake = false
initial_rto = "20 ms"
[flows.storage]
workload = "barrier-incast"
from = "senders"
to = "receiver"
sru = "4 KiB"
"""
"""Collapses above some number of senders: their first windows overflow the buffer."""


@pytest.mark.parametrize(
    ("text", "row", "holds"),
    [
        ("goodput > 0.9 Gbit/s", {"goodput_bit_s": 0.91e9}, True),
        ("goodput > 900 Mbit/s", {"goodput_bit_s": 0.9e9}, False),
        ("goodput >= 900 Mbit/s", {"goodput_bit_s": 0.9e9}, True),
        ("goodput_bit_s < 1 Gbit/s", {"goodput_bit_s": 0.9e9}, True),
        ("timeouts == 0 and drops <= 5", {"timeouts": 0, "drops": 5}, True),
        ("timeouts == 0 and drops < 5", {"timeouts": 0, "drops": 5}, False),
        ("utilisation >= 99 %", {"utilisation": 0.99}, True),
        ("utilisation >= 0.99", {"utilisation": 0.98}, False),
        ("completion_p99<10ms", {"completion_p99_s": 0.0099}, True),
        ("completion_p99 < 10 ms", {"completion_p99_s": None}, False),
        ("short.completion_median != 1 s", {"short.completion_median_s": 2.0}, True),
        ("queue_p99 <= 20 packets", {"queue_p99_packets": 20}, True),
        ("delivered >= 1 KiB", {"delivered_bytes": 1024}, True),
    ],
)
def test_conditions(text: str, row: dict[str, Any], holds: bool) -> None:
    condition = parse_condition(text, COLUMNS)
    assert condition.holds(row) is holds
    assert (condition.shortfall(row) == 0) is holds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("goodput", "is not MEASURE OPERATOR QUANTITY"),
        ("goodput > ", "is not MEASURE OPERATOR QUANTITY"),
        ("goodput >> 1 Gbit/s", "is not MEASURE OPERATOR QUANTITY"),
        ("goodput <> 1 Gbit/s", "operators are >= <="),
        ("goodput > 3", "compared with a quantity in bit/s, kbit/s"),
        ("goodput > 3 ms", "compared with a quantity in bit/s"),
        ("timeouts < 3 packets", "compared with a number"),
        ("goodputt > 1 Gbit/s", "did you mean goodput"),
        ("goodput > 1 Gbit/s or drops < 3", "joined by and alone, not by or"),
        ("__import__('os').remove('x') > 1", "is not MEASURE"),
        ("", "is not MEASURE"),
    ],
)
def test_conditions_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(ic.IncastleError, match=message):
        parse_condition(text, COLUMNS)


def test_shortfall_grows_with_the_distance() -> None:
    condition = parse_condition("goodput > 1 Gbit/s and timeouts < 10", COLUMNS)
    far = condition.shortfall({"goodput_bit_s": 0.2e9, "timeouts": 0})
    near = condition.shortfall({"goodput_bit_s": 0.9e9, "timeouts": 0})
    assert far == pytest.approx(0.8)
    assert near == pytest.approx(0.1)
    assert condition.shortfall({"goodput_bit_s": 2e9, "timeouts": 10}) > 0


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["10 ms", "1 s"], ([0.01, 1.0], "s")),
        (["64 KiB", "1 MB"], ([65536.0, 1e6], "B")),
        ([2, 0.5], ([2.0, 0.5], "")),
        (["20 packets", "1 packet"], ([20.0, 1.0], "packets")),
        (["10 ms", "3 packets"], None),
        (["dctcp", "cubic"], None),
        ([True, False], None),
    ],
)
def test_quantities(values: list[Any], numbers: Any) -> None:
    assert units.as_numbers(values) == numbers


def test_quantities_keep_the_unit_that_they_are_written_in() -> None:
    assert units.as_written(["64 KiB", "128 KiB"]) == ([64.0, 128.0], "KiB")
    assert units.as_written(["500 us", "1 ms"]) == ([0.5, 1.0], "ms")
    assert units.as_written([1, 2]) == ([1.0, 2.0], "")
    assert units.as_written(["dctcp"]) is None


def test_every_column_is_found_with_and_without_its_unit() -> None:
    assert find_column("goodput", COLUMNS).unit == "bit/s"
    for name in COLUMNS:
        assert find_column(name, COLUMNS).name == name


def bisection(values: Sequence[bool]) -> tuple[Bisection, list[int]]:
    asked: list[int] = []

    def ask(places: Sequence[int]) -> dict[int, bool]:
        asked.extend(places)
        return {place: values[place] for place in places}

    return Bisection(len(values), ask), asked


@given(st.integers(1, 300), st.data())
def test_bisection_finds_the_one_change(count: int, data: st.DataObject) -> None:
    good = data.draw(st.integers(0, count))
    search, asked = bisection([place < good for place in range(count)])
    found = search.last_that_holds()
    assert found == (good - 1 if good else None)
    assert search.contradictions(found) == []
    assert len(asked) == len(set(asked)) <= max_values(count)
    if found is not None:
        near = range(found - NEIGHBOURS, found + NEIGHBOURS + 1)
        assert {place for place in near if 0 <= place < count} <= set(asked)


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_bisection_never_claims_what_it_saw_to_be_wrong(values: list[bool]) -> None:
    search, asked = bisection(values)
    found = search.last_that_holds()
    wrong = search.contradictions(found)
    limit = -1 if found is None else found
    assert wrong == [place for place in sorted(asked) if values[place] != (place <= limit)]
    if found is not None:
        assert values[found]
        assert found + 1 == len(values) or not values[found + 1]


def test_a_gap_far_from_the_answer_is_named() -> None:
    # Bisection asks 0, 196, 98, 49, 24, 36, 30, 27, and nothing between 0 and 24.
    holds = [place <= 27 and not 3 <= place <= 7 for place in range(197)]
    search, asked = bisection(holds)
    found = search.last_that_holds()
    assert found == 27
    assert search.contradictions(found) == [4]
    assert len(asked) <= max_values(197)


def test_a_gap_beside_the_answer_is_named() -> None:
    # Holds at 0 to 5 and again at 7: bisection between 0 and 10 asks 5, 7, 8, and ends at 7.
    search, _ = bisection([True] * 6 + [False, True, False, False, False])
    found = search.last_that_holds()
    assert found == 7
    assert search.contradictions(found) == [6]


def test_largest_number_of_senders_without_collapse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = ic.Scenario.from_text(INCAST)
    where = "timeouts == 0 and goodput > 10 Mbit/s"
    senders = {"network.senders": "2..40"}
    found = ic.find(scenario, where, largest=senders, seeds=2, out=tmp_path / "s")
    assert found.values is not None
    assert found.beyond is not None
    answer = found.values["network.senders"]
    assert found.beyond.value == answer + 1
    every = ic.sweep(scenario, {"network.senders": range(2, 41)}, seeds=2).frame
    ok = {
        senders[0]: bool((rows["timeouts"] == 0).all() and (rows["goodput_bit_s"] > 1e7).all())
        for senders, rows in every.group_by("network.senders", maintain_order=True)
    }
    assert ok[answer]
    assert not ok[answer + 1]
    contradictions = [one.choice.value for one in found.contradictions]
    assert contradictions == [
        one.choice.value
        for one in found.tried
        if ok[one.choice.value] != (one.choice.value <= answer)
    ]
    done = counted(monkeypatch)
    again = ic.find(scenario, where, largest=senders, seeds=2, out=tmp_path / "s", resume=True)
    assert done == []
    assert again.to_json() == found.to_json()
    assert again.sweep.frame.equals(found.sweep.frame)
    assert found.sweep.frame["network.senders"].is_sorted()


def test_smallest_buffer_is_the_same_on_any_threads() -> None:
    scenario = ic.Scenario.from_text(INCAST)
    answers = [
        ic.find(
            scenario,
            "timeouts == 0",
            smallest={"switch.buffer": "16..256 KiB"},
            threads=count,
            seeds=2,
        )
        for count in (1, 2)
    ]
    first, second = answers
    assert first.answer is not None
    assert first.answer == second.answer
    assert first.sweep.frame.equals(second.sweep.frame)
    assert first.values != {"switch.buffer": "16 KiB"}


def test_find_from_the_command_line(cli: Cli, folder: Path) -> None:
    arguments = ("--largest", "network.senders=2..5", "--where", FULL, "--seeds", "2")
    output = cli("find", "small.toml", *arguments, "--set", "run.duration=30 ms")
    assert output.status == 0, output.err
    assert "largest network.senders with goodput > 0.9 Gbit/s in all of 2 seeds: " in output.out
    assert "Assumed: along the values the condition changes once" in output.out + output.err
    place = folder / "results" / "small-find-network.senders"
    assert ic.Sweep.load(place).frame["simulated_s"].unique().to_list() == [0.03]
    output = cli("find", "small.toml", *arguments, "--resume", "--json")
    assert (output.status, "was begun with another scenario" in output.err) == (2, True)


def test_find_says_that_there_is_nothing(cli: Cli) -> None:
    arguments = ("--largest", "network.senders=2..5", "--where", "goodput > 2 Gbit/s")
    output = cli("find", "small.toml", *arguments, "--seeds", "1", "--json")
    assert output.status == 2
    assert json.loads(output.out)["answer"] is None
    assert "does not hold at network.senders=2, the end where it was expected to hold" in output.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "one of --largest"),
        (("--largest", "a=1..2", "--minimize", "drops"), "needed, not --largest and --minimize"),
        (("--largest", "network.senders=2..5"), "needs --where"),
        (("--minimize", "drops"), "needs --over"),
        (("--largest", "network.sendrs=2..5", "--where", "drops == 0"), "did you mean senders"),
        (("--largest", "network.senders=2..5", "--where", "dops == 0"), "did you mean drops"),
        (("--minimize", "dops", "--over", "network.senders=2..5"), "did you mean drops"),
    ],
)
def test_find_tells_mistakes_in_one_message(
    cli: Cli, folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    output = cli("find", "small.toml", *arguments)
    assert (output.status, output.out) == (2, "")
    assert message in output.err
    assert not (folder / "results").exists()


def test_find_says_what_was_not_measured(cli: Cli) -> None:
    arguments = ("--largest", "network.senders=2..3", "--where", "slowdown_p99 < 5", "--seeds", "1")
    output = cli("find", "small.toml", *arguments)
    assert output.status == 2
    assert "slowdown_p99 is not measured: under [measure], write slowdown = true" in output.err
    arguments = (*arguments[:3], "round_p99 < 5 ms", *arguments[4:])
    output = cli("find", "small.toml", *arguments)
    assert output.status == 2
    assert "no run has a value of round_p99_s at network.senders=2" in output.err


def test_nothing_measured_fulfils_nothing_and_is_not_drawn(cli: Cli) -> None:
    late = ("run.stop=when-done", "flows.long.stop=1 ms", "flows.short.stop=1 ms")
    sets = [part for one in (*late, "measure.warmup=9 ms") for part in ("--set", one)]
    arguments = ("--largest", "network.senders=2..3", "--where", "utilisation > 50 %")
    output = cli("find", "small.toml", *arguments, *sets, "--seeds", "1")
    assert (output.status, "no run has a value of utilisation" in output.err) == (2, True), (
        output.err
    )
    axes = (
        "--set",
        "network.senders=2,3",
        "--seeds",
        "1",
        "--plot",
        "x=network.senders y=utilisation",
    )
    output = cli("sweep", "small.toml", *sets, *axes, "--out", "late")
    assert (output.status, "utilisation has no value in any of these runs" in output.err) == (
        2,
        True,
    )


def test_the_best_says_what_was_unfinished(cli: Cli) -> None:
    arguments = ("--over", "network.senders=2,3", "--set", "run.duration=1 ms", "--seeds", "1")
    output = cli("find", "small.toml", "--minimize", "short.completion_median", *arguments)
    assert "transfers and rounds were unfinished at the ends of their runs" in output.err
    assert "its upper end counts" in output.err


def test_find_stops_at_a_run_that_failed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    break_runs(monkeypatch, ic.InternalError)
    arguments = ("--largest", "network.senders=2..4", "--where", FULL, "--seeds", "1")
    output = cli("find", "small.toml", *arguments)
    assert output.status == 3
    assert "network.senders=3, seed 1: small, seed 1: queue below zero" in output.err


def test_optimum_of_few_combinations_is_the_best_of_all(scenario: Scenario) -> None:
    values: dict[str, Any] = {
        "switch.queue.marking_threshold": ["2 packets", "20 packets", "60 packets"],
        "transport.congestion": ["dctcp", "new-reno"],
    }
    found = ic.optimize(scenario, values, minimize="short.completion_median", seeds=3, trials=6)
    medians = (
        ic.sweep(scenario, values, 3)
        .frame.group_by(*values, maintain_order=True)
        .agg(least=ic_median("short.completion_median_s"))
    )
    best = medians.sort("least", maintain_order=True).row(0, named=True)
    assert found.values == {key: best[key] for key in values}
    assert found.best is not None
    assert found.best.objective == best["least"]


def ic_median(column: str) -> Any:
    import polars as pl  # noqa: PLC0415

    return pl.col(column).median()


def test_optuna_proposes_the_same_on_any_threads_and_after_a_stop(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values: dict[str, Any] = {
        "switch.queue.marking_threshold": "1..80 packets",
        "transport.congestion": ["dctcp", "new-reno", "cubic"],
    }
    how: dict[str, Any] = {"maximize": "goodput", "where": "queue_p99 < 60 packets", "seeds": 2}
    first = ic.optimize(scenario, values, trials=14, threads=1, out=tmp_path / "s", **how)
    second = ic.optimize(scenario, values, trials=14, threads=2, **how)
    assert len(first.tried) == 14
    assert first.to_json()["tried"] == second.to_json()["tried"]
    assert first.sweep.frame.equals(second.sweep.frame)
    assert first.best is not None
    assert all(row["queue_p99_packets"] < 60 for row in first.best.rows)
    counting = [one for one in first.tried if one.shortfall == 0]
    assert first.best.objective == max(one.objective or 0.0 for one in counting)

    def stop(state: ic.SweepProgress) -> None:
        if state.finished == 23:
            raise KeyboardInterrupt

    # Stopped in the middle: what was finished is not run again.
    stopped = tmp_path / "stopped"
    with pytest.raises(ic.SweepStopped):
        ic.optimize(scenario, values, trials=14, out=stopped, progress=stop, **how)
    kept = ic.Sweep.load(stopped).frame.height
    done = counted(monkeypatch)
    third = ic.optimize(scenario, values, trials=14, out=stopped, resume=True, **how)
    assert len(done) == 28 - kept <= 5
    assert third.to_json()["tried"] == first.to_json()["tried"]


def test_optimum_that_nothing_fulfils(cli: Cli) -> None:
    goal = ("--maximize", "goodput", "--over", "network.senders=2,3", "--seeds", "1")
    output = cli("find", "small.toml", *goal, "--where", "goodput > 2 Gbit/s")
    assert output.status == 2
    assert "none of the 2 combinations that were tried fulfils goodput > 2 Gbit/s" in output.err


def test_failed_runs_are_not_the_optimum(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    break_runs(monkeypatch, ic.RunError)
    goal = ("--maximize", "goodput", "--over", "network.senders=2,3", "--seeds", "1")
    output = cli("find", "small.toml", *goal)
    assert "maximum goodput of those tried: network.senders = 2" in output.out
    assert (output.status, "1 run failed" in output.err) == (2, True)


def test_one_goal_from_python(scenario: Scenario) -> None:
    with pytest.raises(ValueError, match="one key"):
        ic.find(scenario, FULL)
    with pytest.raises(ValueError, match="one measure"):
        ic.optimize(scenario, {"network.senders": [2]}, maximize="goodput", minimize="drops")
    assert SMALL
