"""`incastle import` of configurations of HPCC's simulator: scenarios, FCTs by hand, refusals."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import incastle as ic
from hpcc_files import CONFIG, FLOWS, TOPOLOGY, changed, put_case, put_shard
from incastle.importers import hpcc_config, hpcc_scenario, hpcc_topology, quantities
from incastle.importers.lines import Lines
from incastle.importers.model import Transfer

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Output

    Cli = Callable[..., Output]

ONE_FLOW = "1\n0 0 1 3 100 5000 1.000000000\n"
"""Five packets, all sent before the first ACK is back."""


def made(cli: Cli, *arguments: str) -> tuple[dict[str, Any], Output]:
    """Import; return the scenario and the output."""
    output = cli("import", *arguments, "--out", "made", "--force")
    assert output.status == 0, output.err
    return tomllib.loads(Path("made/scenario.toml").read_text()), output


def fcts_ns(path: str = "made/scenario.toml") -> list[int]:
    """Run an import; return the FCTs."""
    return [round(fct * 1e9) for fct in ic.run(ic.load(path)).transfers["fct_s"]]


def refused(cli: Cli, *arguments: str) -> str:
    output = cli("import", *arguments, "--out", "refused")
    assert (output.status, output.out) == (2, "")
    assert not Path("refused").exists()
    return output.err.removeprefix("error: ")


@pytest.mark.parametrize(
    ("mode", "wire"),
    [(1, 1048), (3, 1090), (7, 1056), (8, 1048)],
    ids=["dcqcn", "hpcc", "timely", "dctcp"],
)
def test_a_flow_takes_the_time_of_its_packets_under_each_control(
    cli: Cli, folder: Path, mode: int, wire: int
) -> None:
    """Packets take whole nanoseconds at 25 Gbit/s: five on the first link, the last on both."""
    case = put_case(folder, "case", changed(("CC_MODE 1", f"CC_MODE {mode}")))
    (case / "flows.txt").write_text(ONE_FLOW)
    made(cli, "case/config.txt")
    packet = wire * 8 // 25
    assert fcts_ns() == [5 * packet + 1000 + packet + 1000]


def test_packets_of_two_flows_take_turns(cli: Cli, folder: Path) -> None:
    put_case(folder, "case")
    _, output = made(cli, "case/config.txt")
    assert "3 transfers, 13 KB, at 1 s" in output.out
    # Four packets of 335 ns leave the switch without a gap, the first at 1335 ns.
    first, second, alone = fcts_ns()
    assert sorted((first, second)) == [1335 + 3 * 335 + 1000, 1335 + 4 * 335 + 1000]
    assert alone == 9 * 335 + 1000 + 335 + 1000


def test_a_configuration_becomes_keys(cli: Cli, folder: Path) -> None:
    put_case(folder, "case")
    scenario, output = made(cli, "case/config.txt")
    assert scenario["run"] == {"duration": "1250 ms", "stop": "when-done", "compat": "hpcc-ns3"}
    switch = scenario["switch"]
    assert switch["buffer"] == {"shared": "300 KiB", "alpha": 1.0}
    assert switch["queue"]["marks"]["data"] == {
        "priorities": [1, 2, 3, 4, 5, 6, 7],
        "k_min": "100 KB",
        "k_max": "400 KB",
        "p_max": 0.2,
    }
    assert switch["pfc"]["pause_frames"]
    transport = scenario["transport"]
    expected = {
        "congestion": "dcqcn",
        "traffic_class": 3,
        "max_rate": "25 Gbit/s",
        "min_rate": "100 Mbit/s",
        "window": "14800 B",
        "window_follows_rate": True,
        "g": 1 / 256,
        "alpha_timer": "1 us",
        "rpg_time_reset": "300 us",
        "rpg_ai_rate": "5 Mbit/s",
    }
    assert {key: transport[key] for key in expected} == expected
    # ACKs have the priority of data.
    assert "control_class" not in transport
    assert "warning: without effect on any flow: DCTCP_RATE_AI" in output.err


@pytest.mark.parametrize(
    ("change", "table", "key", "value"),
    [
        ("ENABLE_PFC 0", "switch.pfc", "pause_frames", False),
        ("HAS_WIN 0", "transport", "window", "unlimited"),
        ("ACK_HIGH_PRIO 1", "transport", "control_class", 0),
        ("RATE_BOUND 0", "transport", "rate_bound", False),
        ("L2_BACK_TO_ZERO 1 L2_CHUNK_SIZE 4000", "transport", "chunk", "4 packets"),
        ("EWMA_GAIN 0", "transport", "g", 0.0),
        ("CLAMP_TARGET_RATE 1", "transport", "clamp_tgt_rate", True),
        ("CC_MODE 3 SAMPLE_FEEDBACK 1", "transport", "sample_feedback", True),
    ],
)
def test_each_key_has_its_place(
    cli: Cli, folder: Path, change: str, table: str, key: str, value: object
) -> None:
    name = change.split(maxsplit=1)[0]
    kept = "".join(line + "\n" for line in CONFIG.splitlines() if not line.startswith(f"{name} "))
    put_case(folder, "case", kept + change + "\n")
    found, _ = made(cli, "case/config.txt")
    for part in table.split("."):
        found = found[part]
    assert found[key] == value
    assert len(fcts_ns()) == 3


def test_files_that_are_given_replace_those_that_are_named(cli: Cli, folder: Path) -> None:
    put_case(folder, "case")
    (folder / "one.txt").write_text(ONE_FLOW)
    (folder / "slow.txt").write_text(TOPOLOGY.replace("25Gbps", "10Gbps"))
    scenario, _ = made(cli, "case/config.txt", "one.txt", "--topology", "slow.txt")
    assert scenario["network"]["links"]["hosts-1"]["rate"] == "10 Gbit/s"
    # 838.4 ns; nothing is configured for the marks of this rate, so what waits is marked.
    assert fcts_ns() == [5 * 838 + 838 + 2000]
    assert scenario["switch"]["queue"]["marks"]["data"]["marking_threshold"] == "0 KB"


def test_a_shard_has_its_flows_in_its_table_and_a_fixed_topology(cli: Cli, folder: Path) -> None:
    put_shard(folder, "shard1", CONFIG.replace("100000000000", "10000000000"))
    scenario, _ = made(cli, "shard1.conf")
    assert scenario["network"]["hosts"] == "host:0..2"
    ports = scenario["switches"]["switch-3"]["ports"]
    assert ports["10-Gbit-per-s"]["to"] == ["host:0", "host:2"]
    # 58 + 48 B over 10 Gbit/s take 84.8 ns, and no time at 100 Tbit/s.
    assert fcts_ns()[-1] == 2000 + 84


def test_flows_of_several_priorities_are_groups(cli: Cli, folder: Path) -> None:
    case = put_case(folder, "case")
    (case / "flows.txt").write_text(FLOWS.replace("1 1 2 3", "1 1 2 5"))
    scenario, output = made(cli, "case/config.txt")
    assert "traffic class" not in output.err
    assert scenario["transport"]["traffic_class"] == 3
    assert scenario["flows"]["priority-5"]["transport"] == {"traffic_class": 5}
    result = ic.run(ic.load("made/scenario.toml"))
    assert sorted(result.transfers["group"]) == ["priority-3", "priority-3", "priority-5"]
    # Round robin between the queues, as between the packets of one.
    ends = sorted(round(fct * 1e9) for fct in result.transfers["fct_s"])
    assert ends == [1335 + 3 * 335 + 1000, 1335 + 4 * 335 + 1000, 5350]


def test_thresholds_grow_with_the_rate_or_are_those_of_ports() -> None:
    rates = TOPOLOGY.replace("2 3 25Gbps", "2 3 100Gbps")
    links = hpcc_topology.read_links(Lines("topology.txt", rates.split("\n"))).links

    def tables(text: str) -> hpcc_scenario.Tables:
        config = hpcc_config.read(Lines("config.txt", text.split("\n")))
        return hpcc_scenario.tables(config, links, {"imported": [Transfer(0, 0, 1, 1, 1)]})

    same = tables(changed(("100000000000 0.5", "100000000000 0.2")))
    marks = same["switch.queue.marks.data"]
    assert (marks["k_min"], marks["k_max"]) == ("100 KB per 25 Gbit/s", "400 KB per 25 Gbit/s")
    assert not any(name.startswith("switches.") for name in same)
    other = tables(CONFIG)
    fast = other["switches.switch-3.ports.100-Gbit-per-s"]
    assert fast["to"] == ["host:2"]
    assert fast["queue"] == {
        "marks": {"data": marks | {"k_min": "400 KB", "k_max": "1600 KB", "p_max": 0.5}}
    }


@pytest.mark.parametrize(
    ("text", "ns"),
    [("1.0", 10**9), ("1.000001", 1_000_000_999), ("2.00004", 2_000_039_999), ("3.3e-9", 3)],
)
def test_seconds_are_cut_as_in_ns3(text: str, ns: int) -> None:
    """The values are those of ns-3's own code, as in the tests of the engine's units."""
    seconds = quantities.seconds(text)
    assert seconds is not None
    assert quantities.ns3_instant(seconds) == 1000 * ns


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("LINK_DOWN 5 0 3", "LINK_DOWN 0 3: hosts 0 and 1 have no other path"),
        ("LINK_DOWN 5 0 2", "LINK_DOWN 0 2: no link between nodes 0 and 2"),
        ("L2_BACK_TO_ZERO 1 L2_CHUNK_SIZE 1500", "L2_CHUNK_SIZE 1500: chunks are whole packets"),
    ],
)
def test_what_is_not_simulated_is_refused(
    cli: Cli, folder: Path, change: str, message: str
) -> None:
    put_case(folder, "case", CONFIG + change + "\n")
    assert refused(cli, "case/config.txt").startswith(f"case/config.txt: {message}")


def test_files_and_options_that_do_not_fit(cli: Cli, folder: Path) -> None:
    case = put_case(folder, "case")
    sets = "--buffer: case/config.txt sets it; change the scenario instead"
    assert refused(cli, "case/config.txt", "--buffer", "1 MB").startswith(sets)
    (folder / "m.cm").write_text("Nodes 2\nConnections 1\n0->1 start 0 size 1\n")
    other = "m.cm: a connection matrix of htsim (.cm) does not fit case/config.txt"
    assert refused(cli, "case/config.txt", "m.cm").startswith(other)
    (case / "flows.txt").write_text("1\n0 0 1 8 100 5000 1.0\n")
    eight = "case/flows.txt:2: priority 8: there are 0 to 7"
    assert refused(cli, "case/config.txt").startswith(eight)
    (case / "flows.txt").unlink()
    assert refused(cli, "case/config.txt").startswith("case: flows.txt is not there")
    (folder / "lone.conf").write_text(CONFIG)
    assert refused(cli, "lone.conf").startswith("lone.conf: its FCTs, lone.csv, are not there")


def test_the_length_may_be_chosen(cli: Cli, folder: Path) -> None:
    put_case(folder, "case")
    scenario, _ = made(cli, "case/config.txt", "--duration", "1 s")
    assert scenario["run"]["duration"] == "1 s"
