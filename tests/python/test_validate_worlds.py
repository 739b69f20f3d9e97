"""`incastle validate-worlds`: what it runs, keeps, judges and prints; worlds are stand-ins here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from incastle import runner
from incastle.worlds.comparison import campaign, cases
from incastle.worlds.counterpart import WorldError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Output
    from incastle.results import Result
    from incastle.scenario import Scenario

    Cli = Callable[..., Output]
    World = Callable[[Scenario], Result]
    UseWorld = Callable[[World], list[str]]

ON_TIME = {
    "kernel": "6.18",
    "dilation": 1,
    "comparable": True,
    "lateness": {"p99_us": 9.0},
    "endpoint_lateness": {"p99_us": 20.0},
    "base_rtt_s": 1e-3,
    "stalled_share": 0.001,
    "stolen_s": 0.0,
}
LATE = ON_TIME | {"comparable": False, "dilation_needed": 5, "lateness": {"p99_us": 400.0}}
LONG, INCAST = "quick-long-cubic-drop-tail-2-flows-1ms", "quick-incast-reno-4-servers"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> UseWorld:
    """Return a function that replaces the real worlds; it gives the list of runs there."""
    began: list[str] = []

    def use(world: World) -> list[str]:
        def run(scenario: Scenario, _dilation: int, _show: object) -> Result:
            began.append(scenario.name)
            return world(scenario)

        for name in campaign.RUNS:
            monkeypatch.setitem(campaign.RUNS, name, run)
        return began

    return use


def same(scenario: Scenario) -> Result:
    """Return what the simulator returns: both worlds agree up to their seeds."""
    return replace(runner.run(scenario), world=ON_TIME)


def quick(cli: Cli, *words: str) -> Output:
    """Run one short case of long flows."""
    return cli("validate-worlds", "--quick", "--only", LONG, *words)


def test_worlds_that_agree_meet_all_goals(cli: Cli, world: UseWorld) -> None:
    world(same)
    output = quick(cli)
    assert output.status == 0, output.err
    assert "2 of 2 goals met" in output.out
    assert "missed" not in output.out
    assert "p99 lateness 9.0 us in the median" in output.out


def test_a_difference_beyond_its_goal_is_a_miss(cli: Cli, world: UseWorld) -> None:
    def slower(scenario: Scenario) -> Result:
        return same(scenario.with_overrides({"network.links.receiver.rate": "95 Mbit/s"}))

    world(slower)
    output = quick(cli, "--json")
    assert output.status == 1
    found = json.loads(output.out)
    by_name = {one["measure"]: one for one in found["cases"][0]["measures"]}
    assert not by_name["goodput_bit_s"]["met"]
    assert by_name["goodput_bit_s"]["ratio"] == pytest.approx(0.95, abs=0.01)
    assert by_name["mean_queue_packets"]["met"]
    assert found["met"] is False


def test_a_late_run_is_no_comparison(cli: Cli, world: UseWorld) -> None:
    world(lambda scenario: replace(same(scenario), world=LATE))
    output = quick(cli, "--figure", "ratios.png")
    assert output.status == 0
    assert "0 of 0 goals met" in output.out
    assert "1 not comparable" in output.out
    assert "99 % of packets were up to 400 us late" in output.out
    assert "--dilate 5 would do" in output.out
    assert not Path("ratios.png").exists()


def test_a_case_that_cannot_run_is_skipped_with_the_reason(cli: Cli, world: UseWorld) -> None:
    def refuse(_scenario: Scenario) -> Result:
        raise WorldError("needs root")

    world(refuse)
    output = cli("validate-worlds", "--quick")
    assert output.status == 0
    assert "skipped: needs root" in output.out
    assert "5 cases, 0 runs made now, 5 skipped: 0 of 0 goals met" in output.out
    names = [one.name for one in cases.all_cases() if one.world == cases.SOCKETS]
    output = cli("validate-worlds", "--only", "sockets-*")
    assert f"{len(names)} cases, 0 runs made now, {len(names)} skipped" in output.out


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(
    cli: Cli, world: UseWorld
) -> None:
    def interrupted(scenario: Scenario) -> Result:
        if scenario.name == INCAST.removeprefix(cases.QUICK):
            raise KeyboardInterrupt
        return same(scenario)

    began = world(interrupted)
    words = ("validate-worlds", "--quick", "--only", LONG, "--only", INCAST)
    output = cli(*words)
    assert output.status == 130
    assert "1 of 2 cases are finished; finished runs are kept in validate-worlds" in output.err
    assert "2 of 2 goals met" in output.out
    world(same)
    output = cli(*words)
    assert output.status in {0, 1}
    assert "2 cases, 1 runs made now" in output.out
    assert began.count(LONG.removeprefix(cases.QUICK)) == 1
    # More runs of each, and another setting, are new ones.
    assert "2 runs made now" in cli(*words, "--repeat", "2").out
    assert "1 runs made now" in quick(cli, "--set", "transport.timestamps=false").out
    assert "0 runs made now" in quick(cli, "--set-simulated", "transport.timestamps=false").out


def test_a_damaged_file_is_no_finished_run(cli: Cli, world: UseWorld) -> None:
    world(same)
    quick(cli)
    for file in Path("validate-worlds").iterdir():
        file.write_text(file.read_text()[:20])
    assert "1 runs made now" in quick(cli).out


def test_table_and_figure(cli: Cli, world: UseWorld) -> None:
    world(same)
    output = cli("validate-worlds", "--quick", "--figure", "ratios.svg", "--table", "table.md")
    assert Path("ratios.svg").stat().st_size > 1000
    text = Path("table.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("| quick-")]
    assert len(lines) == 5
    assert all(line.count("|") == 7 for line in lines), lines
    assert text.splitlines()[-1] == output.out.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--only", "no-such"], "--only no-such: no case has such a name; there are long-reno-"),
        (["--figure", "ratios.txt"], "must end in one of .png, .svg, .pdf"),
        (["--set", "transport.no_such=1"], "unknown key"),
        (["--set-simulated", "oops"], "--set-simulated oops: expected KEY=VALUE"),
        (["--repeat", "0"], "--repeat"),
    ],
)
def test_mistakes_are_named_before_the_first_run(
    cli: Cli, world: UseWorld, words: list[str], complaint: str
) -> None:
    began = world(same)
    output = cli("validate-worlds", *words)
    assert output.status == 2
    assert complaint in output.err
    assert not began


def test_the_cases_are_those_of_the_page() -> None:
    names = [one.name for one in cases.all_cases()]
    assert len(names) == len(set(names))
    for control, queues in (("reno", 4), ("cubic", 4), ("dctcp", 3)):
        assert sum(name.startswith(f"long-{control}-") for name in names) == queues * 2 * 2
        assert sum(name.startswith(f"incast-{control}-") for name in names) == 5
        assert sum(name.startswith(f"poisson-{control}-") for name in names) == 2
    for one in cases.all_cases():
        result_ports: Any = runner.run(
            one.scenario.with_overrides({"run.duration": "1 ms", "measure.warmup": "0 s"})
        ).links["port"]
        assert one.port in result_ports
