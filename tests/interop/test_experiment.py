"""`softswitch --experiment`: workloads over the kernel's TCP, from a file to the tables.

Counts are compared with each other and with the workload; no time is asserted. Skipped without the
rights for namespaces.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from namespaces import are_released, held_namespaces
from programs import our_programs

if TYPE_CHECKING:
    from pathlib import Path

# The switch keeps real time: other busy tests make it late.
pytestmark = pytest.mark.alone

SWITCH = {"rate": "1 Gbit/s", "delay": "20 us"}
BOTTLENECK = {
    "buffer": "30 packets",
    "queue": {"kind": "threshold", "marking_threshold": "5 packets"},
}
SETTINGS = {"tcp_ecn": "1", "tcp_no_metrics_save": "1", "tcp_no_such_setting": "1"}
PLAN: dict[str, Any] = {
    "network": {
        "hosts": ["a", "b", "c"],
        "switches": ["s"],
        "ports": [
            *({"from": host, "to": "s", **SWITCH} for host in "abc"),
            *({"from": "s", "to": host, **SWITCH} for host in "ab"),
            {"from": "s", "to": "c", **SWITCH, **BOTTLENECK},
        ],
        "dilation": 20,
    },
    "kernel": {
        "settings": list(SETTINGS.items()),
        "min_rto": "10 ms",
        "initial_window": 10,
        "gso_max_segs": 1,
    },
    "duration": "60 ms",
    "warmup": "10 ms",
    "until": "50 ms",
    "flows": [
        {"from": "a", "to": "c", "congestion": "reno", "start": "0 s", "data": "unlimited"},
        {
            "from": "b",
            "to": "c",
            "congestion": "cubic",
            "start": "5 ms",
            "data": {"size": "200 KB"},
        },
        {"from": "a", "to": "c", "congestion": "reno", "start": "0 s", "data": "responses"},
        {"from": "b", "to": "c", "congestion": "reno", "start": "0 s", "data": "responses"},
    ],
    "requests": [
        {
            "flows": [2, 3],
            "request": "64 B",
            "responses": ["20 KB", "10 KB"],
            "rounds": 3,
            "think_time": "1 ms",
            "start": "2 ms",
        }
    ],
    "window_every": "1 ms",
    "throughput_every": "10 ms",
    "queue_every": "1 ms",
    "queue_ports": ["s->c"],
}


def start(folder: Path, plan: dict[str, Any]) -> subprocess.Popen[str]:
    """Start an experiment."""
    file = folder / "experiment.json"
    file.write_text(json.dumps(plan), encoding="utf-8")
    pipe = subprocess.PIPE
    command = [our_programs()["softswitch"], "--experiment", str(file)]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def outcome(folder: Path, plan: dict[str, Any]) -> dict[str, Any]:
    """Run an experiment to its end."""
    with start(folder, plan) as process:
        try:
            assert process.stdout
            assert process.stderr
            text, why = process.stdout.read(), process.stderr.read()
        finally:
            process.kill()
    if "ot permitted" in why:
        pytest.skip(f"needs the rights for network namespaces: {why.strip()}")
    assert not why
    found: dict[str, Any] = json.loads(text)
    return found


def test_workloads_give_consistent_tables(tmp_path: Path) -> None:
    found = outcome(tmp_path, PLAN)
    first, second, *servers = found["flows"]
    transfers, rounds = found["transfers"], found["rounds"]
    assert second["delivered_bytes"] == 200_000
    assert second["completed_s"] == next(
        one["completed_s"] for one in transfers if one["flow"] == second["flow"]
    )
    assert [one["bytes"] for one in rounds] == [30_000] * 3
    assert [one["delivered_bytes"] for one in servers] == [60_000, 30_000]
    # A round ends with its last response, and the next begins 1 ms later.
    for earlier, later in itertools.pairwise(rounds):
        assert later["started_s"] == pytest.approx(earlier["completed_s"] + 1e-3, abs=1e-9)
    for one in rounds:
        ends = [two["completed_s"] for two in transfers if two["round"] == one["round"]]
        assert one["completed_s"] == max(ends)
    # Each byte is in the bins of its flow, and in those of its host.
    by_flow = sum(count for _, _, count in found["throughput"])
    by_host = sum(count for _, _, count in found["goodput"])
    assert by_flow == by_host == sum(one["delivered_bytes"] for one in found["flows"])
    assert first["packets"] * 1460 >= first["delivered_bytes"] > 0
    # Marks are those of the one port that marks; ECN was negotiated.
    ports = {port["port"]: port for port in found["network"]["ports"]}
    assert ports["s->c"]["ect"] > 0
    assert sum(one["marks"] for one in found["flows"]) >= ports["s->c"]["marked"] > 0
    assert found["network"]["seconds"] == pytest.approx(0.04)
    assert found["missing_settings"] == ["tcp_no_such_setting"]
    assert {one[1] for one in found["queue_samples"]} == {"s->c"}
    assert len(found["queue_samples"]) == 60
    windows = [one for one in found["windows"] if one["flow"] == 0]
    assert windows
    assert all(one["cwnd_bytes"] > 0 for one in windows)
    # Two ports of 1500 B and 40 B at 1 Gbit/s, and four delays: 24.64 + 80 us.
    assert found["base_rtt_s"] == pytest.approx(104.64e-6)


@pytest.mark.parametrize(
    ("keys", "value", "complaint"),
    [
        (("flows", 0, "congestion"), "vegas-9", "the kernel has no congestion control"),
        (("flows", 0, "from"), "z", "there is no host"),
        (("flows", 0, "to"), "a", "from a host to itself"),
        (("requests", 0, "flows"), [0, 1], "flows and responses"),
        (("warmup",), "55 ms", "warmup must be before until"),
        (("window_every",), "1 us", "window_every must be at least 5 us"),
        (("queue_ports",), ["s->z"], "there is no port"),
        (("duration",), 3, "invalid type"),
        (("network", "dilation"), 0, "must be 1 to 100000"),
    ],
)
def test_bad_input_is_reported(
    tmp_path: Path, keys: tuple[Any, ...], value: object, complaint: str
) -> None:
    plan = copy.deepcopy(PLAN)
    place: Any = plan
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    with start(tmp_path, plan) as process:
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (2, "")
    assert complaint in errors
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize("how", ["kill", "parent"])
def test_nothing_is_left_whenever_it_ends(tmp_path: Path, how: str) -> None:
    outcome(tmp_path, PLAN)
    draws = random.Random(1)  # noqa: S311  instants, not secrets
    seen: set[str] = set()
    for _ in range(6):
        with start(tmp_path, PLAN) as process:
            assert process.stdin
            time.sleep(draws.uniform(0, 1))
            own = held_namespaces(process.pid)
            if how == "kill":
                process.kill()
            else:
                # As when the process that started it is gone.
                process.stdin.close()
            process.wait(timeout=60)
        assert are_released(own)
        seen |= own
    assert seen
