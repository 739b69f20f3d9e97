# ruff: noqa: D102, ARG002  # methods of controllers are what incastle.Controller says
"""Controllers of one's own in Python: exact, known by their source, stopped between two events."""

from __future__ import annotations

import pickle
import signal
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl
import pytest

import incastle as ic
from conftest import SMALL, Output

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Cli = Callable[..., Output]

FIXED = """\
import incastle as ic


class Fixed(ic.Controller):
    def __init__(self, connection, segments=8):
        super().__init__(connection)
        self.cwnd_bytes = segments * self.mss_bytes

    def on_ack(self, ack):
        pass
"""
"""A file with a window that only congestion changes."""

LOSSY = {
    "switch.queue.kind": "drop-tail",
    "switch.buffer": "20 packets",
    "transport.recovery": "new-reno",
    "transport.abc_limit": 2,
    "transport.min_rto": "2 ms",
    "run.duration": "100 ms",
}
MARKED = {
    "transport.ecn": "classic",
    "transport.recovery": "sack",
    "switch.queue.marking_threshold": "8 packets",
}
OWN = {"transport.congestion": "custom", "transport.controller": "own"}


def own(changes: dict[str, Any] | None = None) -> ic.Scenario:
    return ic.Scenario.from_text(SMALL).with_overrides(OWN | (changes or {}))


class Reno:
    """The window rule of crates/congestion/src/reno_window.rs, in whole bytes, step by step."""

    def __init__(self, connection: ic.Connection) -> None:
        self.mss = connection.mss_bytes
        self.initial = connection.initial_window_bytes
        self.floor = connection.min_cwnd_bytes
        self.cwnd = self.initial
        self.ssthresh = 2**64 - 1
        self.counted = self.just_acked = 0
        self.recovering = False
        self.reacted: tuple[str, int, int] | None = None

    def window(self) -> float:
        return self.cwnd

    def on_ack(self, ack: ic.Ack) -> None:
        self.just_acked = ack.acked_bytes
        in_recovery = self.recovering or ack.in_recovery
        self.recovering = ack.in_recovery
        if in_recovery or ack.ecn_echo or not ack.window_limited:
            return
        if self.cwnd < self.ssthresh:
            limit = 1 if ack.after_timeout else 2
            self.cwnd += min(ack.acked_bytes, limit * self.mss)
            return
        self.counted += min(ack.acked_bytes, self.cwnd) * self.mss
        grown, self.counted = divmod(self.counted, self.cwnd)
        self.cwnd += grown

    def on_congestion(self, event: ic.CongestionEvent) -> bool:
        before = self.cwnd
        if event.kind == "ecn":
            return self.on_ecn(event)
        if event.kind == "idle":
            self.cwnd, self.counted = min(self.cwnd, self.initial), 0
            return False
        if event.kind == "loss":
            self.on_loss(event)
            return self.cwnd < before
        self.on_timeout(event)
        return True

    def on_ecn(self, event: ic.CongestionEvent) -> bool:
        if self.reacted and event.snd_una <= self.reacted[1]:
            return False
        flight = min(event.in_flight_bytes + self.just_acked, self.cwnd)
        self.remember("ecn", event, flight)
        target = min(flight // 2, self.cwnd)
        self.ssthresh = max(target, 2 * self.mss)
        self.cwnd = max(target, min(self.cwnd, self.floor))
        return True

    def on_loss(self, event: ic.CongestionEvent) -> None:
        flight = event.in_flight_bytes
        if self.reacted and self.reacted[0] == "ecn" and event.snd_una < self.reacted[1]:
            flight = self.reacted[2]
        self.remember("loss", event, flight)
        self.ssthresh = max(flight // 2, 2 * self.mss)
        self.cwnd = min(self.cwnd, self.ssthresh)

    def on_timeout(self, event: ic.CongestionEvent) -> None:
        flight = event.in_flight_bytes
        if self.reacted and event.snd_una < self.reacted[1]:
            flight = min(flight, self.reacted[2])
        self.remember("loss", event, flight)
        self.recovering = False
        if event.backoff == 0:
            self.ssthresh = max(flight // 2, 2 * self.mss)
        self.cwnd = self.mss

    def remember(self, cause: str, event: ic.CongestionEvent, flight: int) -> None:
        self.counted = 0
        self.reacted = (cause, event.snd_nxt, flight)


class Fixed(ic.Controller):
    """A window of 8 segments that only congestion changes."""

    def __init__(self, connection: ic.Connection) -> None:
        super().__init__(connection)
        self.cwnd_bytes = 8 * self.mss_bytes

    def on_ack(self, ack: ic.Ack) -> None:
        pass


@pytest.mark.parametrize("changes", [LOSSY, MARKED], ids=["losses", "marks"])
def test_a_rule_of_ours_in_python_takes_the_same_course(changes: dict[str, Any]) -> None:
    scenario = ic.Scenario.from_text(SMALL)
    ours = ic.run(scenario.with_overrides({"transport.congestion": "new-reno", **changes}))
    theirs = ic.run(own(changes), controllers={"own": Reno})
    assert theirs.digest == ours.digest
    answered = theirs.flows.select("fast_retransmits", "timeouts", "ecn_reductions").sum()
    assert sum(answered.row(0)) > 20, "congestion was there to be answered"


def test_a_file_beside_the_scenario_and_its_copy_in_the_result(folder: Path, cli: Cli) -> None:
    (folder / "fixed.py").write_text(FIXED)
    setting = ("--set", "transport.congestion=fixed.py:Fixed")
    first = cli("run", "small.toml", *setting, "--out", "first")
    assert first.status == 0, first.err
    result = ic.Result.load("first")
    assert 'controller = "fixed.py:Fixed"' in result.scenario
    assert result.sources == {"fixed.py": FIXED}
    assert cli("run", "first/scenario.toml", "--out", "second").status == 0
    assert ic.Result.load("second").digest == result.digest
    # Another source is another controller.
    (folder / "first" / "fixed.py").write_text(FIXED + "# changed\n")
    refused = cli("run", "first/scenario.toml", "--out", "third")
    assert refused.status == 2
    assert "has the hash" in refused.err
    assert "take controller_source out" in refused.err


def test_a_result_is_explained_with_its_copy_of_the_controller(folder: Path, cli: Cli) -> None:
    (folder / "fixed.py").write_text(FIXED)
    setting = ("--set", "transport.congestion=fixed.py:Fixed")
    assert cli("run", "small.toml", *setting, "--out", "first").status == 0
    (folder / "fixed.py").unlink()
    output = cli("explain", "first")
    assert output.status == 0, output.err
    assert "run again with a record: identical run" in output.err
    bound = ic.run(own(), controllers={"own": Fixed})
    with pytest.raises(ic.ResultError, match=r"cannot be run again: unknown cont"):
        ic.explain(bound)


def test_parameters_are_keyword_arguments(folder: Path) -> None:
    (folder / "fixed.py").write_text(FIXED)
    scenario = ic.load("small.toml").with_overrides({"transport.congestion": "fixed.py:Fixed"})
    one, two = (
        ic.run(scenario, overrides={"transport.parameters.segments": segments}).flows["packets"][0]
        for segments in (1, 2)
    )
    assert one < two


class Traced(Fixed):
    """Has what probes ask for, a pace, and a timer each millisecond."""

    alpha = 0.25
    instants: ClassVar[list[float]] = []

    def __init__(self, connection: ic.Connection) -> None:
        super().__init__(connection)
        self.ssthresh_bytes = 20_000
        self.at_s = 0.001
        self.sent_bytes = 0

    def pacing(self) -> float:
        return 10e6

    def on_sent(self, now: ic.ControllerContext, size_bytes: int) -> None:
        self.sent_bytes += size_bytes
        assert now.snd_nxt == self.sent_bytes

    def next_timer(self) -> float:
        return self.at_s

    def on_timer(self, now: ic.ControllerContext) -> None:
        self.instants.append(now.now_s)
        self.at_s += 0.001


def test_pace_timer_and_what_probes_see() -> None:
    Traced.instants.clear()
    alone = own(
        {
            "measure.window": ["long:0"],
            "flows.long.from": "sender:0",
            "flows.short.start": "19.99 ms",
        }
    )
    result = ic.run(alone, controllers={"own": Traced})
    states = result.windows.select("cwnd_bytes", "ssthresh_bytes", "alpha").unique()
    assert states.rows() == [(8 * 1460, 20_000, 0.25)]
    # 10 Mbit/s for 20 ms are 25,000 bytes: 17 segments, and one at once.
    sent = result.flows.filter(pl.col("group") == "long")["sent_bytes"].item()
    assert sent == 18 * 1460
    assert Traced.instants[0] == pytest.approx(0.001)
    assert len(set(Traced.instants)) >= 19, "each millisecond before the end"


def test_runs_with_and_without_on_any_number_of_threads(folder: Path) -> None:
    (folder / "fixed.py").write_text(FIXED)
    values = {"transport.congestion": ["dctcp", "fixed.py:Fixed", "cubic"]}
    scenario = ic.load("small.toml")
    sweeps = [ic.sweep(scenario, values, 2, threads=threads) for threads in (1, 2)]
    assert sweeps[0].frame.equals(sweeps[1].frame)
    assert sweeps[0].frame["digest"].n_unique() == 6


def test_tcp_tells_nothing_of_switches(folder: Path) -> None:
    seen = "        assert (ack.hops, ack.hop_count, ack.remote_delay_s) == (None, None, None)\n"
    (folder / "fixed.py").write_text(FIXED.replace("        pass\n", seen))
    scenario = ic.load("small.toml").with_overrides({"transport.congestion": "fixed.py:Fixed"})
    assert ic.run(scenario).flows["delivered_bytes"].sum() > 0


def test_a_sweep_goes_on_after_a_controller_that_failed(folder: Path) -> None:
    late = "        assert ack.now_s < 0.01 or self.cwnd_bytes > 20_000\n"
    (folder / "fixed.py").write_text(FIXED.replace("        pass\n", late))
    scenario = ic.load("small.toml").with_overrides(
        {
            "transport.congestion": "fixed.py:Fixed",
            "switch.queue.kind": "drop-tail",
        }
    )
    swept = ic.sweep(scenario, {"transport.parameters.segments": [8, 14]})
    assert swept.frame["transport.parameters.segments"].to_list() == [14]
    ((run, failure),) = swept.failures
    assert run.values == {"transport.parameters.segments": 8}
    assert "assert ack.now_s < 0.01" in failure.message
    assert not failure.internal


def test_other_code_is_another_run(folder: Path) -> None:
    (folder / "fixed.py").write_text(FIXED)
    change = {"transport.congestion": "fixed.py:Fixed"}
    scenario = ic.load("small.toml").with_overrides(change)
    values = {"network.senders": [2]}
    ic.sweep(scenario, values, out=folder / "out")
    assert ic.sweep(scenario, values, out=folder / "out").found == 1
    (folder / "fixed.py").write_text(FIXED.replace("segments=8", "segments=9"))
    changed = ic.load("small.toml").with_overrides(change)
    assert changed != scenario
    with pytest.raises(ic.ResultError, match="controller_source"):
        ic.sweep(changed, values, out=folder / "out", resume=True)


def test_a_scenario_with_classes_pickles() -> None:
    bound = own().with_controllers({"own": Fixed})
    again = pickle.loads(pickle.dumps(bound))
    assert again == bound
    assert "controller_source" in bound.resolved
    assert ic.run(again).digest == ic.run(bound).digest


def test_classes_without_a_file_are_known_by_their_methods() -> None:
    made = [
        type("Typed", (Fixed,), {"on_ack": eval(f"lambda self, ack: {result}")})  # noqa: S307
        for result in ("None", "None", "0")
    ]
    hashes = [own().with_controllers({"own": kind})["transport.controller_source"] for kind in made]
    assert hashes[0] == hashes[1] != hashes[2]


class Interrupting(Fixed):
    """Presses Ctrl-C, once."""

    acks: ClassVar[list[int]] = [0]

    def on_ack(self, ack: ic.Ack) -> None:
        self.acks[0] += 1
        if self.acks[0] == 1000:
            signal.raise_signal(signal.SIGINT)


def test_ctrl_c_ends_the_run_between_two_events_not_within_a_controller() -> None:
    Interrupting.acks[0] = 0
    with pytest.raises(ic.Interrupted) as stopped:
        ic.run(own({"run.duration": "1000 s"}), controllers={"own": Interrupting})
    (partial,) = stopped.value.partial
    assert partial.interrupted
    assert 0 < partial.totals["simulated_s"] < 1000
    assert Interrupting.acks[0] > 1000
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Interrupted(Fixed):
    """Is stopped within a call, as by a handler of Ctrl-C that is not Python's own."""

    def on_ack(self, ack: ic.Ack) -> None:
        raise KeyboardInterrupt


def test_an_interrupt_that_a_controller_raises_is_one() -> None:
    with pytest.raises(ic.Interrupted):
        ic.run(own(), controllers={"own": Interrupted})


def test_an_estimate_knows_no_controllers_of_ones_own() -> None:
    text = SMALL.partition("[flows.long]")[0] + (
        '[flows.web]\nworkload = "poisson"\nfrom = "senders"\nto = "receiver"\n'
        'load = 0.3\nsizes = "websearch"\n'
    )
    scenario = ic.Scenario.from_text(text).with_overrides(OWN)
    with pytest.raises(ic.ScenarioError, match="an estimate supports no custom controllers"):
        ic.estimate(scenario)


class OnlyTwice(ic.Controller):
    """Can be made for both ends of one connection, and never again."""

    made: ClassVar[int] = 0

    def __init__(self, connection: ic.Connection) -> None:
        super().__init__(connection)
        type(self).made += 1
        if type(self).made > 2:
            raise ValueError("no more of me")

    def on_ack(self, ack: ic.Ack) -> None:
        pass


LONE = {"measure.slowdown": True, "measure.ideal": "own-transport", "flows.long.size": "64 KB"}


def test_a_controller_that_raises_alone_costs_the_ideals_only() -> None:
    OnlyTwice.made = 0
    scenario = own({**LONE, "flows.long.count": 1, "flows.short.transport.congestion": "dctcp"})
    result = ic.run(scenario, controllers={"own": OnlyTwice})
    assert OnlyTwice.made > 2, "it was made again, alone"
    assert not result.interrupted
    assert result.transfers["fct_s"].null_count() == 0
    long = result.transfers.filter(pl.col("group") == "long")
    assert long["ideal_fct_s"].to_list() == long["slowdown"].to_list() == [None]
    (output,) = [one for one in result.warnings if "ideal" in one]
    assert output.startswith(
        "no ideal FCTs and slowdowns from transfer 0 of flows.long on: the simulation of it alone "
        "(64000 B, sender:0 -> receiver) was stopped: the controller"
    )
    assert "ValueError: no more of me" in output
    row = result.completions().filter(pl.col("group") == "long").row(0, named=True)
    assert (row["slowdown_p99"], row["slowdown_p99_low"]) == (None, 0.0), "it can be anything"


def test_line_rates_need_no_controller() -> None:
    OnlyTwice.made = 0
    scenario = own({**LONE, "measure.ideal": "line-rate", "flows.long.count": 1})
    scenario = scenario.with_overrides({"flows.short.transport.congestion": "dctcp"})
    result = ic.run(scenario, controllers={"own": OnlyTwice})
    assert result.transfers["slowdown"].min() >= 1  # type: ignore[operator]
    assert not [one for one in result.warnings if "ideal" in one]
