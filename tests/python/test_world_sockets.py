"""`incastle run --world sockets`: our transport on UDP sockets, the tables, and what is left."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import incastle as ic
from incastle.errors import ControllerError
from incastle.worlds import api, counterpart, sockets
from incastle.worlds.counterpart import WorldError
from real_worlds import BETWEEN_TWO, STAR, TWO_FLOWS, end_at_random

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Output

SHORT = {"run.duration": "200 ms", "flows.second.start": "20 ms", "flows.second.stop": "150 ms"}
DILATION = 10
DATAGRAMS: dict[str, Any] = {
    "workload": "cbr",
    "from": "sender:0",
    "to": "receiver:0",
    "rate": "1 Mbit/s",
}
DATAGRAMS |= {"transport": {"kind": "udp"}}
pytestmark = pytest.mark.skipif(not counterpart.AVAILABLE.exists(), reason="needs Linux")


def real(scenario: ic.Scenario, dilation: int = DILATION) -> Any:
    """Run a scenario over sockets, or skip the test where the machine does not permit that."""
    try:
        return api.run_sockets(scenario, dilation=dilation)
    except WorldError as why:
        if "needs root" in str(why) or "iproute2" in str(why):
            pytest.skip(str(why))
        raise


def two_flows(**changes: Any) -> ic.Scenario:
    """Return the example, shorter."""
    return ic.load(TWO_FLOWS, {**SHORT, **changes})


@pytest.mark.alone
def test_the_tables_are_those_of_a_simulation(tmp_path: Path, cli: Callable[..., Output]) -> None:
    scenario = two_flows(**{"transport.kind": "udt"})
    result = real(scenario)
    simulated: Any = ic.run(scenario)
    left_out = {"summary", "udt"}
    assert result.tables.keys() | left_out == simulated.tables.keys() | left_out
    for name in result.tables.keys() - left_out:
        assert result.tables[name].schema == simulated.tables[name].schema, name
    assert result.flows["delivered_bytes"].min() > 0
    assert result.throughput["bytes"].sum() == result.totals["delivered_bytes"]
    assert result.goodput["bytes"].sum() == result.totals["delivered_bytes"]
    # DCTCP's own state, in bytes of UDT's payload.
    assert result.windows["cwnd_bytes"].min() >= 1456
    assert result.windows["alpha"].is_between(0, 1).all()
    # 10 Gbit/s or 1 Gbit/s: the smoothed RTT is in the scenario's time, whatever the dilation.
    longest = simulated.windows["rtt_s"].max()
    assert result.windows["rtt_s"].min() < 3 * longest
    assert result.totals["marks"] > 0
    assert result.flows["marks"].sum() > 0
    assert result.flows["ecn_reductions"].min() > 0
    assert result.world["name"] == "sockets"
    assert result.world["dilation"] == DILATION
    place = result.save(tmp_path / "sockets")
    output = cli("explain", str(place), "--flow", "second:0")
    assert output.status == 0, output.err
    assert "the world sockets gives no record of packets" in output.out


@pytest.mark.alone
def test_flows_of_tcp_run_over_udt_and_a_warning_says_so() -> None:
    result = real(two_flows())
    assert result.flows["delivered_bytes"].min() > 0
    told = [one for one in result.warnings if "dctcp runs over UDT with accurate ACKs" in one]
    assert len(told) == 2


@pytest.mark.alone
def test_dcudp_and_udt_run_as_they_are() -> None:
    for kind in ("dcudp", "udt"):
        flows = {"steady": {"workload": "cbr", **BETWEEN_TWO}}
        fields = {**STAR, "transport": {"kind": kind}, "flows": flows}
        result = real(ic.Scenario.from_dict(fields), dilation=1)
        # 8 Mbit/s for a second; at the end some are on their way.
        assert 900_000 <= result.totals["delivered_bytes"] <= 1_000_000
        assert result.totals["drops"] == 0


@pytest.mark.alone
def test_requests_and_finite_flows_have_their_times() -> None:
    storage = {"workload": "barrier-incast", "from": ["sender:1", "sender:2"], "to": "sender:0"}
    files = {"workload": "bulk", "from": "sender:1", "to": "sender:2", "size": "100 KB"}
    flows = {"storage": storage | {"sru": "64 KiB", "rounds": 3}, "files": files}
    fields = {**STAR, "transport": {"kind": "udt", "congestion": "cubic"}, "flows": flows}
    scenario = ic.Scenario.from_dict(fields)
    result, simulated = real(scenario, dilation=1), ic.run(scenario)
    keys = ["group", "index", "round", "bytes"]
    assert result.rounds.select(keys).sort(keys).equals(simulated.rounds.select(keys).sort(keys))
    assert result.rounds["completed_s"].null_count() == 0
    [fct] = result.transfers.filter(result.transfers["kind"] == "flow")["fct_s"]
    # 100 KB at 100 Mbit/s are 8 ms.
    assert fct > 0.008


CONTROLLER = """
from incastle import Controller


class Fixed(Controller):
    def on_ack(self, ack):
        self.cwnd_bytes = 20 * self.mss_bytes


class Broken(Controller):
    def on_ack(self, ack):
        raise ValueError("no such luck")
"""


@pytest.mark.alone
def test_a_class_of_python_is_a_control_on_sockets(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(CONTROLLER, encoding="utf-8")
    file = tmp_path / "scenario.toml"
    file.write_text(TWO_FLOWS.read_text(encoding="utf-8"), encoding="utf-8")
    own = {**SHORT, "transport.congestion": "own.py:Fixed"}
    result = real(ic.load(file, own))
    assert result.flows["delivered_bytes"].min() > 0
    # 1500 bytes without 44 of headers; ten packets before the first ACK.
    assert set(result.windows["cwnd_bytes"]) <= {10 * 1456, 20 * 1456}
    assert 20 * 1456 in set(result.windows["cwnd_bytes"])
    with pytest.raises(ControllerError, match="no such luck") as raised:
        real(ic.load(file, own | {"transport.congestion": "own.py:Broken"}))
    assert "raised in on_ack at" in str(raised.value)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"transport": {"kind": "rdma"}}, 'our sockets are "udt" and "dcudp"'),
        ({"flows.first": DATAGRAMS}, "flows of .tcp. run over UDT"),
        ({"flows.first.transport": {"framing": "ethernet"}}, "transport.framing=ethernet"),
        ({"switch.queue": {"kind": "drr"}}, "no counterpart in the world sockets: queues"),
        ({"network.senders": 50}, "at most 40"),
    ],
)
def test_what_has_no_counterpart_is_named(changes: dict[str, Any], complaint: str) -> None:
    scenario = two_flows(**changes)
    with pytest.raises(WorldError, match=complaint) as raised:
        api.run_sockets(scenario)
    assert "\n" not in str(raised.value)
    assert raised.value.exit_status == 2


def test_the_control_of_tcp_keeps_its_parameters_over_udt() -> None:
    changes = {
        "transport.g": 0.25,
        "transport.initial_window": "4 packets",
        "transport.mss": "960 B",
    }
    found = sockets.of(two_flows(**changes))
    # Both groups have the same: one transport.
    [one] = found.transports.values()
    [transport] = [flows["transport"] for flows in one.to_dict()["flows"].values()]
    assert (transport["kind"], transport["congestion"]) == ("udt", "dctcp")
    assert (transport["g"], transport["initial_window"]) == (0.25, "4 packets")
    # Packets of the same size on the wire.
    assert transport["packet_size"] == "1 KB"
    plain = sockets.of(two_flows(**{"transport.congestion": "reno"}))
    [one] = plain.transports.values()
    assert one.to_dict()["transport"]["congestion"] == "new-reno"


@pytest.mark.alone
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_whenever_it_ends(tmp_path: Path, how: signal.Signals) -> None:
    real(two_flows())
    end_at_random(tmp_path, how, 2, "sockets")


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_after_twenty_moments(tmp_path: Path, how: signal.Signals) -> None:
    real(two_flows())
    end_at_random(tmp_path, how, 20, "sockets")


def test_without_root_there_is_one_message(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "incastle", "run", str(TWO_FLOWS), "--world", "sockets"]
    # Without rights in the namespaces of the machine, whoever runs the test.
    command = ["unshare", "--user", "--", *command, "--out", str(tmp_path / "result")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if "unshare" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 2, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert len(errors) == 1
    assert "--world sockets needs root (sudo) and /dev/net/tun" in errors[0]
    assert not (tmp_path / "result").exists()
