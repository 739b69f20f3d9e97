"""`incastle run --world linux`: what has a counterpart, the tables, and what is left."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

import incastle as ic
from incastle.errors import ResultError
from incastle.worlds import api, counterpart, kernel, process
from incastle.worlds.counterpart import WorldError
from real_worlds import BETWEEN_TWO, STAR, TWO_FLOWS, end_at_random

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Output

SHORT = {"transport.congestion": "cubic", "run.duration": "100 ms", "flows.second.stop": "80 ms"}
SHORT |= {"flows.second.start": "20 ms"}
HOSTS = {"from": "sender:0", "to": "receiver:0"}
RANDOM_PERIODS = {
    "workload": "on-off",
    **HOSTS,
    "rate": "1 Mbit/s",
    "on": "1 ms",
    "off": "1 ms",
    "periods": "exponential",
}
pytestmark = pytest.mark.skipif(not counterpart.AVAILABLE.exists(), reason="needs Linux")


def real(**changes: str) -> Any:
    """Run two flows over the kernel's TCP."""
    try:
        return api.run_linux(ic.load(TWO_FLOWS, {**SHORT, **changes}), dilation=10)
    except WorldError as why:
        if "needs root" in str(why) or "iproute2" in str(why):
            pytest.skip(str(why))
        raise


@pytest.mark.alone
def test_the_tables_are_those_of_a_simulation(tmp_path: Path) -> None:
    result = real()
    simulated = ic.run(ic.load(TWO_FLOWS, SHORT))
    assert result.tables.keys() == simulated.tables.keys()
    for name in simulated.tables.keys() - {"summary"}:
        assert result.tables[name].schema == simulated.tables[name].schema, name
    assert list(result.links["port"]) == list(simulated.links["port"])
    assert result.flows["delivered_bytes"].min() > 0
    assert result.throughput["bytes"].sum() == result.totals["delivered_bytes"]
    assert result.goodput["bytes"].sum() == result.totals["delivered_bytes"]
    assert result.windows["time_s"].max() <= 0.1
    result.save(tmp_path / "linux")
    again = ic.Result.load(tmp_path / "linux")
    assert again.world == result.world
    assert again.world["dilation"] == 10
    if again.world["comparable"]:
        assert "totals" in ic.diff(simulated, again).as_json()
    else:
        with pytest.raises(ResultError, match="not comparable"):
            ic.diff(simulated, again)


@pytest.mark.alone
def test_counts_are_of_the_whole_run_and_deadlines_are_judged() -> None:
    sizes = {"flows.first.size": "1 MB", "flows.second.size": "1 MB", "flows.second.stop": "end"}
    deadlines = {"flows.first.deadline": "100 ms", "flows.second.deadline": "1 us"}
    few = {"transport.ecn": "classic", "switch.queue.marking_threshold": "5 packets"}
    result = real(**sizes, **deadlines, **few, **{"measure.warmup": "90 ms"})
    assert result.totals["marks"] == result.flows["marks"].sum() > 0
    assert result.totals["packet_hops"] > 2 * result.totals["delivered_bytes"] / 1460
    assert result.transfers["deadline_s"].null_count() == 0
    assert (result.totals["met_deadlines"], result.totals["missed_deadlines"]) == (1, 1)


def test_deadlines_that_no_control_sees_have_a_warning() -> None:
    sizes = {"transport.congestion": "d2tcp", "flows.first.size": "1 MB"}
    for changes, count in ((sizes, 0), ({**sizes, "flows.first.deadline": "5 ms"}, 1)):
        found = counterpart.common_warnings(ic.load(TWO_FLOWS, changes).to_dict(), "linux")
        assert sum("d2tcp reacts as dctcp" in one for one in found) == count


def test_a_late_run_is_not_comparable() -> None:
    late = {"mean_us": 10.0, "p50_us": 10.0, "p99_us": 60.0, "max_us": 100.0}
    network = {"lateness": late, "stolen_s": 0.0, "refused": 0, "stalled_s": 0.0, "seconds": 1.0}
    outcome: dict[str, Any] = {"network": network, "base_rtt_s": 1e-4, "real_time": True}
    outcome["missing_settings"] = []
    outcome["endpoint_lateness"] = late
    # A tenth of 100 us is 10 us: 60 us need a dilation of 6 or more.
    of_linux = counterpart.Counterpart("linux", {})
    world = api._world(outcome, 1, of_linux)
    assert (world["comparable"], world["dilation_needed"]) == (False, 10)
    assert any("--dilate 10 would do" in note for note in api.notes(world))
    assert api._world(outcome, 10, of_linux)["comparable"]
    # 30 ms of each second are three times the allowed share; few packets are late meanwhile.
    network["stalled_s"] = 0.3
    world = api._world(outcome, 10, of_linux)
    assert (world["comparable"], world["dilation_needed"]) == (False, 50)
    assert any("stood still for 3.0 % of the time" in note for note in api.notes(world))
    # A tenth of the base RTT is 100 us at a dilation of 10: servers wait for one another.
    network["stalled_s"] = 0.0
    outcome["endpoint_lateness"] = late | {"p99_us": 220.0}
    world = api._world(outcome, 10, of_linux)
    assert (world["comparable"], world["dilation_needed"]) == (False, 50)
    assert any("written up to 220 us late, more than a tenth" in note for note in api.notes(world))
    assert api._world(outcome, 50, of_linux)["comparable"]
    # A control over the bridge decides 1 ms late; one without any answer does not count.
    outcome["bridge"] = {
        "control": "incastle_bridge",
        "connections": 2,
        "reports": 100,
        "report_to_answer": {"p50_s": 1e-4, "p99_s": 1e-3},
        "report_to_window": {"p50_s": None, "p99_s": None},
        "reports_after_fallback": 0,
    }
    world = api._world(outcome, 50, of_linux)
    assert (world["comparable"], world["dilation_needed"]) == (False, 100)
    assert any("answers of the control took up to 1 ms" in note for note in api.notes(world))
    outcome["bridge"]["report_to_answer"] = {"p50_s": None, "p99_s": None}
    assert api._world(outcome, 50, of_linux)["comparable"]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"transport.congestion": "swift"}, "this kernel has no such control; `make kernel`"),
        ({"flows.first.transport": {"framing": "ethernet"}}, "transport.framing=ethernet"),
        ({"transport.kind": "udt"}, 'the kernel\'s sockets are "tcp"'),
        ({"flows.first": RANDOM_PERIODS}, "random periods have no counterpart"),
        ({"switch.queue": {"kind": "drr"}}, 'queues of the kind "drr"'),
        ({"switch.buffer": {"shared": "1 MB"}}, "a buffer that ports share"),
        ({"network.senders": 50}, "at most 40"),
    ],
)
def test_what_has_no_counterpart_is_named(
    changes: dict[str, Any], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "is_built", lambda: False)
    scenario = ic.load(TWO_FLOWS, {**SHORT, **changes})
    with pytest.raises(WorldError, match=complaint) as raised:
        api.run_linux(scenario)
    assert "\n" not in str(raised.value)
    assert raised.value.exit_status == 2


@pytest.mark.parametrize(
    "words",
    [["--dilate", "10"], ["--repeat", "2"], ["--world", "linux", "--seeds", "2"]],
)
def test_options_of_the_other_world_are_refused(words: list[str]) -> None:
    command = [sys.executable, "-m", "incastle", "run", str(TWO_FLOWS), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert "is not for --world" in done.stderr


def test_a_soft_switch_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "COMMAND", (sys.executable, "-c", "import time; time.sleep(100)"))
    monkeypatch.setattr(process, "PATIENCE_S", 0.1)
    passed: list[float] = []
    with pytest.raises(WorldError, match=r"has not ended 0\.1 s after the experiment"):
        process.outcome({}, process.Ours(), 0.2, passed.append)
    assert passed[0] < 0.2


@pytest.mark.alone
def test_messages_come_at_their_rate() -> None:
    real()
    flows = {
        "steady": {"workload": "cbr", **BETWEEN_TWO},
        # 400 ms of 1 s: on from 0 to 200 ms and from 500 to 700 ms.
        "pausing": {"workload": "on-off", "on": "200 ms", "off": "300 ms", **BETWEEN_TWO},
    }
    scenario = ic.Scenario.from_dict({**STAR, "flows": flows})
    simulated, result = ic.run(scenario), api.run_linux(scenario)
    # 8 Mbit/s are a message in each millisecond. Those written at the very end have not arrived.
    assert list(simulated.flows["sent_bytes"]) == [1_000_000, 400_000]
    steady, pausing = result.flows["delivered_bytes"]
    assert 900_000 <= steady <= 1_000_000
    assert pausing == 400_000
    assert len(result.transfers) == 0


@pytest.mark.alone
def test_clients_of_all_to_all_begin_each_round_together() -> None:
    real()
    exchange = {"workload": "all-to-all", "from": "senders", "to": "senders", "rounds": 3}
    flows = {"exchange": exchange | {"response_size": "20 KB", "think_time": "5 ms"}}
    scenario = ic.Scenario.from_dict({**STAR, "flows": flows})
    simulated, result = ic.run(scenario), api.run_linux(scenario)
    keys = ["group", "index", "round", "bytes"]
    assert result.rounds.select(keys).sort(keys).equals(simulated.rounds.select(keys).sort(keys))
    assert result.rounds["completed_s"].null_count() == 0
    assert result.rounds["started_s"].n_unique() == 3
    assert len(result.transfers) == len(simulated.transfers)


@pytest.mark.alone
def test_queries_begin_at_the_instants_of_the_simulation_in_frames() -> None:
    real()
    query = {"workload": "query", "from": "senders", "to": "sender:0", "rate": 100}
    flows = {"query": query | {"response_size": "20 KB"}}
    framed = {"congestion": "cubic", "framing": "ethernet"}
    scenario = ic.Scenario.from_dict({**STAR, "transport": framed, "flows": flows})
    simulated, result = ic.run(scenario), api.run_linux(scenario)
    keys = ["group", "index", "round", "bytes"]
    assert len(simulated.rounds) > 3
    assert result.rounds.select(keys).sort(keys).equals(simulated.rounds.select(keys).sort(keys))
    pairs = zip(result.rounds["started_s"], simulated.rounds["started_s"], strict=True)
    assert all(abs(one - other) < 1e-9 for one, other in pairs)
    # Ethernet's minimum is 84 bytes with preamble and gap; the kernel's ACKs have 40 or 52.
    assert (result.links["bytes"] >= 84 * result.links["packets"]).all()


@pytest.mark.alone
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_whenever_it_ends(tmp_path: Path, how: signal.Signals) -> None:
    real()
    end_at_random(tmp_path, how, 2)


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_after_twenty_moments(tmp_path: Path, how: signal.Signals) -> None:
    real()
    end_at_random(tmp_path, how, 20)


@pytest.mark.alone
def test_ctrl_c_keeps_finished_repeats_and_says_so(tmp_path: Path) -> None:
    real()
    command = [sys.executable, "-m", "incastle", "run", str(TWO_FLOWS), "--world", "linux"]
    command += ["--repeat", "50", "--out", str(tmp_path / "kept"), "--set"]
    command += ["transport.congestion=cubic", "--set", "run.duration=2 s"]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        first = tmp_path / "kept-1" / "summary.json"
        for _ in range(600):
            if first.exists() or process.poll() is not None:
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    kept = [one for one in tmp_path.iterdir() if one.name.startswith("kept-")]
    assert f"{len(kept)} of 50 runs are finished and kept" in errors
    assert all(ic.Result.load(one).world for one in kept)


def test_explain_has_the_counters_and_says_what_is_missing(
    tmp_path: Path, cli: Callable[..., Output]
) -> None:
    world = {"name": "linux", "comparable": True}
    result = dataclasses.replace(ic.run(ic.load(TWO_FLOWS, SHORT)), world=world)
    place = str(result.save(tmp_path / "linux"))
    output = cli("explain", place, "--flow", "second:0")
    assert output.status == 0, output.err
    flow = result.flows.row(1, named=True)
    assert f"{flow['packets']:,} packets, {flow['retransmissions']:,} retransmissions" in output.out
    assert "flow 1 (second:0), sender:1 to receiver:1: unfinished" in output.out
    assert "the kernel gives no record of packets" in output.out
    output = cli("explain", place, "--flow", "0", "--json")
    assert json.loads(output.out)[0]["delivered_bytes"] == result.flows["delivered_bytes"][0]
    output = cli("explain", place, "--flow", "0", "--plot", "why.png")
    assert output.status == 2
    assert "--plot: the kernel gives no record" in output.err


def test_the_summary_has_the_world(tmp_path: Path) -> None:
    simulated = ic.run(ic.load(TWO_FLOWS, SHORT))
    assert "world" not in simulated.to_summary()
    place = simulated.save(tmp_path / "result")
    assert "world" not in json.loads((place / "summary.json").read_text(encoding="utf-8"))
