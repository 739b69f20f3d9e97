"""DCUDP and UDT with bad input.

One message with its place, the same from the command line and from Python, and no traceback.
"""

from __future__ import annotations

import copy
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

import incastle as ic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Output

    Cli = Callable[..., Output]

DCUDP = """\
name = "dcudp"

[run]
duration = "5 ms"

[network]
topology = "dumbbell"
senders = 2
rate = "1 Gbit/s"

[switch.queue]
kind = "threshold"
marking_threshold = "20 packets"

[transport]
kind = "dcudp"

[flows.bulk]
workload = "bulk"
from = "senders"
to = "receiver"
"""

# Of each: keys and their values, what the message says, and what it says would be right.
WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    # C
    "C of 0": ({"transport.capacity": "0 Gbit/s"}, "capacity must be", 'at least "1 kbit/s"'),
    "negative C": ({"transport.capacity": "-1 Gbit/s"}, "capacity", "1 Gbit/s"),
    "C beyond all links": ({"transport.capacity": "200 Tbit/s"}, "capacity", '"100 Tbit/s"'),
    "C without a unit": ({"transport.capacity": 1_000_000_000}, "capacity", '"10 Gbit/s"'),
    "C in bytes": ({"transport.capacity": "125 MB"}, "capacity", "bit/s"),
    "C misspelt": ({"transport.capacity": "interfaces"}, "capacity", '"interface"'),
    # K
    "K of 0": ({"transport.exit_window": 0}, "exit_window must be", "at least 2 and at most 1024"),
    "K of 1": ({"transport.exit_window": 1}, "found 1", "at least 2 and at most 1024"),
    "negative K": ({"transport.exit_window": -8}, "exit_window", "at least 2 and at most 1024"),
    "K too large": ({"transport.exit_window": 1025}, "1025", "at least 2 and at most 1024"),
    "half a K": ({"transport.exit_window": 2.5}, "exit_window", "a whole number"),
    "K in packets": ({"transport.exit_window": "8 packets"}, "exit_window", "a whole number"),
    # Packets
    "packet above the link's": (
        {"network.mtu": "1400 B"},
        "a packet of 1500 B is above the mtu of 1400 B of the link",
        'packet_size = "1400 B" at most',
    ),
    "packet above one link's": (
        {"transport.packet_size": "9000 B", "network.links.bottleneck.mtu": "1500 B"},
        'a packet of 9 KB is above the mtu of 1500 B of the link between "left" and "right"',
        'packet_size = "1500 B" at most',
    ),
    "UDT's packet above the link's": (
        {"transport.kind": "udt", "network.mtu": "1400 B"},
        "above the mtu",
        'packet_size = "1400 B" at most',
    ),
    "segment above the link's": (
        {"transport.kind": "tcp", "network.mtu": "1400 B"},
        "above the mtu",
        'mss = "1360 B" at most',
    ),
    "datagram above the link's": (
        {"transport.kind": "udp", "network.mtu": "1400 B", "flows.bulk.size": "1 MB"},
        "above the mtu",
        'payload = "1372 B" at most',
    ),
    "packet of nothing": ({"transport.packet_size": "0 B"}, "packet_size", 'at least "128 B"'),
    "packet beyond IP": ({"transport.packet_size": "66 KB"}, "packet_size", 'at most "65 KB"'),
    "packet in packets": ({"transport.packet_size": "1 packet"}, "packet_size", "64 KiB"),
    "packet above the buffer": (
        {"transport.packet_size": "9000 B", "switch.buffer": "4 KB"},
        "does not fit the buffer",
        "a smaller packet_size",
    ),
    "link that carries nothing": ({"network.mtu": "0 B"}, "mtu", 'at least "128 B"'),
    "link beyond IP": ({"network.mtu": "64 KiB"}, "mtu", 'at most "65535 B"'),
    "mtu of a wrong type": ({"network.links.bottleneck.mtu": 1500}, "mtu", "64 KiB"),
    # Windows, times
    "window of 0": ({"transport.flow_window": "0 packets"}, "flow_window", '"2 packets"'),
    "window in bytes": ({"transport.flow_window": "1 MB"}, "flow_window", "20 packets"),
    "negative window": ({"transport.flow_window": "-5 packets"}, "flow_window", "packets"),
    "buffer of 1": ({"transport.receive_buffer": "1 packet"}, "receive_buffer", '"2 packets"'),
    "buffer misspelt": (
        {"transport.receive_buffer": "flow-windows"},
        "receive_buffer",
        '"flow-window"',
    ),
    "no SYN": ({"transport.syn": "0 s"}, "syn", 'above "0 s"'),
    "SYN as a number": ({"transport.syn": 0.01}, "syn", '"25 us"'),
    "endless EXP": ({"transport.exp_floor": "61 s"}, "exp_floor", 'at most "60 s"'),
    "no silence": ({"transport.silent_rtts": 0}, "silent_rtts", "at least 1"),
    "negative buffer": ({"transport.send_buffer": "-1 B"}, "send_buffer", "never below zero"),
    # Readings
    "unknown law": (
        {"transport.readings.control_law": "print"},
        'unknown control_law "print"',
        '"printed"',
    ),
    "law as a number": ({"transport.readings.control_law": 1}, "law", '"default" or "printed"'),
    "unknown growth": ({"transport.readings.growth": "per-round"}, "growth", '"per-rtt"'),
    "unknown floor": ({"transport.readings.floor": "none"}, "floor", '"latest" or "idle"'),
    "unknown round trip": ({"transport.rtt": "least"}, "rtt", '"latest" or "smoothed"'),
    "unknown entry": ({"transport.readings.entry": "C"}, "entry", '"measured" or "interface"'),
    "unknown exit": ({"transport.readings.exit": "default2"}, "exit", '"default"'),
    "unknown backlog": ({"transport.readings.backlog": "app"}, "backlog", '"app-rate"'),
    "unknown loss": ({"transport.loss_in_udp_mode": True}, "loss_in_udp_mode", '"ignore"'),
    "ECT as a word": ({"transport.ect_on_control": "yes"}, "ect_on_control", "true or false"),
    # Names
    "unknown key": ({"transport.exit_windw": 8}, "exit_windw", "did you mean exit_window?"),
    "unknown protocol": ({"transport.kind": "dcupd"}, 'unknown kind "dcupd"', '"dcudp"'),
    "DCUDP as TCP's": (
        {"transport.kind": "tcp", "transport.congestion": "dcudp"},
        '"dcudp" is not set by congestion',
        '[transport] kind = "dcudp"',
    ),
    "QCN as TCP's": (
        {"transport.kind": "tcp", "transport.congestion": "qcn-V"},
        '"qcn-V" is not set by congestion',
        '[switch.qcn] variant = "V"',
    ),
    "unknown flows of DCUDP": ({"measure.dcudp": "bluk"}, 'no flows "bluk"', '"bulk"'),
    "DCUDP samples of nothing": (
        {"measure.dcudp": {"flows": "bulk", "every": "0 s"}},
        "every",
        'above "0 s"',
    ),
    "a table in its place": ({"transport.capacity": {"rate": "1 Gbit/s"}}, "capacity", "found"),
    "messages by DCUDP": (
        {"flows.bulk.workload": "poisson-datagrams", "flows.bulk.load": 0.5},
        'workload "poisson-datagrams" needs another transport',
        'kind = "udp"',
    ),
}


def changed(keys: dict[str, Any]) -> dict[str, Any]:
    """Give the scenario as a dictionary, with these keys."""
    fields = copy.deepcopy(tomllib.loads(DCUDP))
    for key, value in keys.items():
        *tables, last = key.split(".")
        table = fields
        for name in tables:
            table = table.setdefault(name, {})
        table[last] = value
    return fields


def file_with(keys: dict[str, Any], folder: Path) -> Path:
    """Write the scenario with these keys, each where it belongs."""
    import tomli_w  # noqa: PLC0415  only here

    path = folder / "broken.toml"
    path.write_text(tomli_w.dumps(changed(keys)))
    return path


@pytest.mark.parametrize(("keys", "message", "right"), WRONG.values(), ids=WRONG)
def test_it_is_reported_once_with_its_place(
    cli: Cli, folder: Path, keys: dict[str, Any], message: str, right: str
) -> None:
    path = file_with(keys, folder)
    reason = cli("run", path.name)
    assert (reason.status, reason.out) == (2, "")
    assert "Traceback" not in reason.err
    errors = [line for line in reason.err.splitlines() if ": error: " in line]
    assert len(errors) == 1, reason.err
    assert errors[0].startswith("broken.toml:")
    assert message in errors[0]
    assert right in reason.err
    with pytest.raises(ic.ScenarioError) as found:
        ic.Scenario.from_dict(changed(keys))
    (wrong,) = (one for one in found.value.diagnostics if one.severity == "error")
    assert message in wrong.message
    assert right in f"{wrong.message} {wrong.help}"
    assert wrong.line > 0


def test_without_marks_the_summary_says_so(cli: Cli, folder: Path) -> None:
    nothing = "dcudp over queues that never mark: it cannot react to congestion"
    part = 'dcudp through "right->receiver", which never marks (1 of 2 switch ports on its path)'
    for keys, output in (
        ({"switch.queue": {"kind": "drop-tail"}}, nothing),
        ({"switch.ports": {"receiver": {"queue": {"kind": "drop-tail"}}}}, part),
    ):
        path = file_with(keys, folder)
        reason = cli("run", path.name, "--force")
        assert reason.status == 0
        assert output in reason.err, "before the run"
        assert output in reason.out, "and in its summary"
        assert output in cli("run", path.name, "--force", "--seeds", "2").out
        result = ic.run(ic.load(path))
        assert any(output in warning for warning in result.warnings)
        again = ic.Result.load(result.save(folder / "kept", force=True))
        assert again.warnings == result.warnings
    assert "arning" not in cli("run", file_with({}, folder).name, "--force").out


def test_a_port_off_the_path_may_not_mark(folder: Path) -> None:
    # Towards the senders there are ACKs only.
    keys = {"switch.ports": {"senders": {"queue": {"kind": "drop-tail"}}}}
    assert ic.load(file_with(keys, folder)).warnings == ()


@pytest.mark.parametrize(
    ("keys", "warning"),
    [
        (
            {"transport.kind": "udt", "transport.readings.control_law": "default"},
            "readings has no effect here",
        ),
        ({"transport.mss": "1460 B"}, "mss has no effect here"),
        (
            {"transport.capacity": "10 Gbit/s"},
            "capacity of 10 Gbit/s is above the rate of the link",
        ),
    ],
)
def test_what_changes_nothing_is_a_warning(
    folder: Path, keys: dict[str, Any], warning: str
) -> None:
    (one,) = ic.load(file_with(keys, folder)).warnings
    assert warning in one.message


def test_beside_qcn_it_runs(folder: Path) -> None:
    result = ic.run(ic.load(file_with({"switch.qcn": {"cp_q_eq": "26 KB"}}, folder)))
    assert result.warnings == ()
    assert all(result.flows["delivered_bytes"])
