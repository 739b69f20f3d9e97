"""`incastle run --world linux`: what has a counterpart, the tables, and what is left."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import incastle as ic
from incastle.errors import ResultError
from incastle.worlds import api, counterpart
from incastle.worlds.counterpart import WorldError

EXAMPLES = Path(__file__).parents[2] / "examples"
TWO_FLOWS = EXAMPLES / "two-flows.toml"
SHORT = {"transport.congestion": "cubic", "run.duration": "100 ms", "flows.second.stop": "80 ms"}
SHORT |= {"flows.second.start": "20 ms"}
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


def test_a_late_run_is_not_comparable() -> None:
    late = {"mean_us": 10.0, "p50_us": 10.0, "p99_us": 60.0, "max_us": 100.0}
    network = {"lateness": late, "stolen_s": 0.0, "refused": 0}
    outcome = {"network": network, "base_rtt_s": 1e-4, "real_time": True, "missing_settings": []}
    # A tenth of 100 us is 10 us: 60 us need a dilation of 6 or more.
    world = api._world(outcome, 1)
    assert (world["comparable"], world["dilation_needed"]) == (False, 10)
    assert any("--dilate 10 would do" in note for note in api.notes(world))
    assert api._world(outcome, 10)["comparable"]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"transport.congestion": "swift"}, "this kernel has no such control"),
        ({"transport.framing": "ethernet"}, "transport.framing=ip"),
        ({"transport.kind": "udt"}, 'the kernel\'s sockets are "tcp"'),
        ({"flows.first.workload": "cbr", "flows.first.rate": "1 Mbit/s"}, "barrier-incast"),
        ({"switch.queue": {"kind": "drr"}}, 'queues of the kind "drr"'),
        ({"switch.buffer": {"shared": "1 MB"}}, "a buffer that ports share"),
        ({"network.senders": 50}, "at most 40"),
    ],
)
def test_what_has_no_counterpart_is_named(changes: dict[str, Any], complaint: str) -> None:
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


@pytest.mark.alone
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_whenever_it_ends(tmp_path: Path, how: signal.Signals) -> None:
    real()
    command = [sys.executable, "-m", "incastle", "run", str(TWO_FLOWS), "--world", "linux"]
    command += ["--dilate", "100", "--out", str(tmp_path / "result")]
    command += ["--set", "transport.congestion=cubic"]
    draws = random.Random(1)  # noqa: S311  instants, not secrets
    for _ in range(2):
        with subprocess.Popen(command, cwd=tmp_path, start_new_session=True) as process:
            time.sleep(2 + draws.uniform(0, 3))
            process.send_signal(how)
            process.wait(timeout=60)
        assert not (tmp_path / "result").exists()
        assert gone(tmp_path)


def gone(folder: Path) -> bool:
    """Return whether the soft switch of a run in this folder ends within seconds."""
    for _ in range(100):
        if not any(is_switch_of(place, folder) for place in Path("/proc").glob("[0-9]*")):
            return True
        time.sleep(0.1)
    return False


def is_switch_of(place: Path, folder: Path) -> bool:
    """Return whether a process is a soft switch in this folder."""
    try:
        words = (place / "cmdline").read_bytes().split(b"\0")
        return b"incastle.worlds.program" in words and (place / "cwd").readlink() == folder
    except OSError:
        return False


def test_the_summary_has_the_world(tmp_path: Path) -> None:
    simulated = ic.run(ic.load(TWO_FLOWS, SHORT))
    assert "world" not in simulated.to_summary()
    place = simulated.save(tmp_path / "result")
    assert "world" not in json.loads((place / "summary.json").read_text(encoding="utf-8"))
