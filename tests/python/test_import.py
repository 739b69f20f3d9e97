"""`incastle import`: files of HPCC's simulator and of htsim, the networks and flows they give."""

from __future__ import annotations

import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import incastle as ic
from incastle.importers import quantities

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Output

    Cli = Callable[..., Output]

EXAMPLES = Path(__file__).parents[2] / "examples" / "import"

# Hosts 0, 1 and 3; switches 2 and 4, with two links between them.
TOPOLOGY = """\
5 2 5
4
2
0 2 10Gbps 1us 0
1 2 10Gbps 0.0015ms 0.000000
2 4 40Gbps 500ns 0
2 4 40Gbps 500ns 0.01
4 3 1250MBps 0.000002 0
What follows is not read.
"""
FLOWS = """\
3
0 3 3 100 2000 2.000001
1 3 3 100 1000 2.0000005
3 0 3 100 500 2.1
"""
MATRIX = """\
Nodes 8
Connections 4
Triggers 1
0->5 id 1 start 2000 size 3000 send_done_trigger 1
# told nowhere
7->5 id 2 start 1000.9 size 4000 prio 2
2->5 id 3 start 0 size 0
3->5 id 4 start 0 size 0
trigger id 1 oneshot
"""
THREE_TIERS = """\
# two pods
nodes 8
tiers 3
podsize 4
tier 0
downlink_speed_gbps 200
radix_down 2
radix_up 2
downlink_latency_ns 1000
switch_latency_ns 100
queue_down 100000
queue_up 100000
tier 1
downlink_speed_gbps 200
radix_down 2
radix_up 4
downlink_latency_ns 1000
switch_latency_ns 200
queue_down 200000
queue_up 50000
tier 2
downlink_speed_gbps 100
radix_down 4
downlink_latency_ns 1000
switch_latency_ns 400
bundle 2
"""


def made(folder: Path, cli: Cli, *arguments: str) -> tuple[dict[str, Any], Output]:
    """Import; return the scenario and the output."""
    reason = cli("import", *arguments, "--out", "made")
    assert reason.status == 0, reason.err
    assert cli("check", "made/scenario.toml").status == 0
    return tomllib.loads((folder / "made" / "scenario.toml").read_text()), reason


def run(**overrides: Any) -> ic.Result:
    scenario = ic.load("made/scenario.toml")
    return ic.run(
        scenario.with_overrides({key.replace("__", "."): v for key, v in overrides.items()})
    )


def links(result: ic.Result) -> Counter[str]:
    """Count the links of a network by their ends; parallel ones are numbered."""
    ports = (port.partition("#")[0] for port in result.links["port"])
    return Counter(port for port in ports if "->" in port)


def put(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)


def test_hpcc_files_become_a_graph_and_a_list(cli: Cli, folder: Path) -> None:
    put(folder, topology_txt=TOPOLOGY, flow_txt=FLOWS)
    scenario, reason = made(folder, cli, "flow.txt", "topology.txt")
    assert scenario["network"]["hosts"] == ["host:0..1", "host:3"]
    assert scenario["network"]["switches"] == ["switch:2", "switch:4"]
    groups = list(scenario["network"]["links"].values())
    bundle = {"between": ["switch:4", "switch:2"]}
    assert groups == [
        {"between": ["host:0", "switch:2"], "rate": "10 Gbit/s", "delay": "1 us"},
        {"between": ["host:1", "switch:2"], "rate": "10 Gbit/s", "delay": "1500 ns"},
        {**bundle, "rate": "40 Gbit/s", "delay": "500 ns"},
        {**bundle, "rate": "40 Gbit/s", "delay": "500 ns", "parallel": True},
        {"between": ["host:3", "switch:4"], "rate": "10 Gbit/s", "delay": "2 us"},
    ]
    (lossy,) = scenario["network"]["degraded"].values()
    assert lossy == {**bundle, "number": 2, "loss": "1 %"}
    assert (folder / "made" / "flows.csv").read_text().splitlines() == [
        "start_s,source,destination,bytes",
        "2.0000005,host:1,host:3,1000",
        "2.000001,host:0,host:3,2000",
        "2.1,host:3,host:0,500",
    ]
    assert "graph, 3 hosts, 2 switches, 5 links" in reason.out
    for output in (
        "topology.txt:9: warning: what follows the 5 links of the first line is not read",
        "flow.txt:3: warning: starts before the flow above it: sorted by start",
    ):
        assert output in reason.err
    result = run()
    assert result.transfers["completed_s"].null_count() == 0
    both = links(result)
    assert both["switch:2->switch:4"] == both["switch:4->switch:2"] == 2
    assert both["host:3->switch:4"] == 1


def test_flows_without_ports_and_an_unlinked_node(cli: Cli, folder: Path) -> None:
    flows = "2\n0 3 3 2000 0\n1 3 1 1000 1e-6\n"
    put(folder, topology_txt=TOPOLOGY.replace("5 2 5", "7 2 5"), flow_txt=flows)
    scenario, reason = made(folder, cli, "topology.txt", "flow.txt")
    assert scenario["run"]["duration"] == "1001 ms"
    assert "0.000001,host:1,host:3,1000" in (folder / "made" / "flows.csv").read_text()
    assert "topology.txt:1: warning: 2 nodes have no link: left out" in reason.err
    assert (
        "flow.txt:3: warning: priorities 3 and 1: all flows are of one traffic class" in reason.err
    )


def test_flows_that_begin_with_their_numbers(cli: Cli, folder: Path) -> None:
    flows = "2\n7 0 3 3 100 2000 0\n8 1 3 3 100 1000 1e-6\n"
    put(folder, topology_txt=TOPOLOGY, flow_txt=flows)
    made(folder, cli, "topology.txt", "flow.txt")
    assert (folder / "made" / "flows.csv").read_text().splitlines()[1:] == [
        "0,host:0,host:3,2000",
        "0.000001,host:1,host:3,1000",
    ]


def test_transfers_that_begin_together_are_reported_at_one_time(cli: Cli, folder: Path) -> None:
    put(folder, topology_txt=TOPOLOGY, flow_txt="2\n0 3 3 2000 2\n1 3 3 1000 2\n")
    _, reason = made(folder, cli, "topology.txt", "flow.txt")
    assert "2 transfers, 3 KB, at 2 s\n" in reason.out


def test_a_matrix_alone_gets_the_fat_tree_of_htsim(cli: Cli, folder: Path) -> None:
    put(folder, m_cm=MATRIX.replace("Nodes 8", "Nodes 16"))
    scenario, reason = made(folder, cli, "m.cm")
    assert (scenario["network"]["topology"], scenario["network"]["k"]) == ("fat-tree", 4)
    for group in scenario["network"]["links"].values():
        assert group == {"rate": "100 Gbit/s", "delay": "1 us"}
    assert (folder / "made" / "flows.csv").read_text().splitlines()[1:] == [
        "0.000000001,host:7,host:5,4000",
        "0.000000002,host:0,host:5,3000",
    ]
    assert scenario["flows"]["endless-1"]["from"] == ["host:2..3"]
    assert scenario["run"]["duration"] == "11 ms"
    assert "m.cm:1: warning: no topology: a fat tree of k = 4" in reason.err
    assert "m.cm:6: warning: prio: all flows are of one traffic class" in reason.err
    assert "4 transfers, 2 of them without end" in reason.out
    result = run(run__duration="100 us")
    assert result.transfers.filter(group="imported")["completed_s"].null_count() == 0
    assert result.flows.filter(group="endless-1")["completed_s"].null_count() == 2


TRIGGERS = """\
Nodes 8
Connections 9
Triggers 4
6->7 id 9 trigger 4 size 7000
0->1 id 1 start 1000 size 1000 send_done_trigger 1 recv_done_trigger 2
1->2 id 2 trigger 1 size 2000 recv_done_trigger 2
3->4 id 3 trigger 1 size 3000 recv_done_trigger 3
4->5 id 4 trigger 2 size 4000
trigger id 1 oneshot
trigger id 2 barrier count 2
5->6 id 5 trigger 3 size 5000 recv_done_trigger 3
6->5 id 6 trigger 3 size 6000
7->0 id 7 trigger 3 size 7000
2->0 id 8 start 500 size 8000 prio 0
trigger id 3 multishot
trigger id 4 oneshot
"""


def test_connections_begin_at_triggers(cli: Cli, folder: Path) -> None:
    put(folder, t_topo=THREE_TIERS, m_cm=TRIGGERS)
    scenario, reason = made(folder, cli, "t.topo", "m.cm")
    assert (folder / "made" / "flows.csv").read_text().splitlines() == [
        "start_s,source,destination,bytes,after,acknowledged,arrived",
        "0.0000000005,host:2,host:0,8000,,,",
        "0.000000001,host:0,host:1,1000,,1,2",
        "0,host:1,host:2,2000,1,,2",
        "0,host:3,host:4,3000,1,,3",
        "0,host:4,host:5,4000,2:2,,",
        "0,host:5,host:6,5000,3,,3",
        "0,host:6,host:5,6000,3:2,,",
    ]
    # The last of the multishot has no third shot, and nothing fires trigger 4.
    for output in (
        "m.cm:4: warning: 6->7 never begins: trigger 4 (line 16) fires 0 times; left out",
        "m.cm:13: warning: 7->0 never begins: trigger 3 (line 15) fires 2 times; left out",
    ):
        assert output in reason.err
    assert "7 transfers, 29 KB, from 500 ps to 1 ns, 5 after others" in reason.out
    assert scenario["run"]["duration"] == "1001 ms"
    transfers = run(transport__delayed_ack_count=1).transfers.sort("index")
    started, over = (transfers[name].to_list() for name in ("started_s", "completed_s"))
    # Trigger 1 waits for the ACK, the others for the arrival.
    assert started[2] == started[3] > over[1]
    assert started[4] == max(over[1], over[2]) == over[2]
    assert (started[5], started[6]) == (over[3], over[5])


def test_a_file_with_triggers_is_the_same_as_the_one_by_hand(cli: Cli, folder: Path) -> None:
    files = (str(EXAMPLES / name) for name in ("leaf-spine.topo", "ring.cm"))
    made(folder, cli, *files)
    by_hand = """\
start_s,source,destination,bytes,after,acknowledged,arrived
0,host:0,host:8,500000,,,a
0,host:8,host:16,500000,,,b
0,host:16,host:24,500000,,,c
0,host:24,host:0,500000,,,d
0,host:8,host:16,500000,a,,all
0,host:16,host:24,500000,b,,all
0,host:24,host:0,500000,c,,all
0,host:0,host:8,500000,d,,all
0,host:1,host:9,100000,all:4,next,
0,host:2,host:9,200000,all:4,next,
0,host:3,host:9,10000,next:1,,
0,host:4,host:9,10000,next:2,,
"""
    imported = run()
    (folder / "made" / "flows.csv").write_text(by_hand)
    again = run()
    assert imported.digest == again.digest
    assert imported.transfers.equals(again.transfers)
    assert imported.transfers["completed_s"].null_count() == 0


def test_leaf_spine_by_its_numbers(cli: Cli, folder: Path) -> None:
    files = (str(EXAMPLES / name) for name in ("leaf-spine.topo", "incast.cm"))
    scenario, _ = made(
        folder, cli, *files, "--congestion", "dctcp", "--marking-threshold", "65 packets"
    )
    assert scenario["network"] == {
        "topology": "leaf-spine",
        "leaves": 4,
        "spines": 4,
        "hosts_per_leaf": 8,
        "links": {
            "hosts": {"rate": "100 Gbit/s", "delay": "650 ns"},
            "leaf-spine": {"rate": "100 Gbit/s", "delay": "800 ns"},
        },
    }
    assert scenario["transport"]["congestion"] == "dctcp"
    assert scenario["switch"]["queue"] == {"kind": "threshold", "marking_threshold": "65 packets"}
    assert run().transfers["completed_s"].null_count() == 0


def test_controls_of_queue_pairs_have_their_transport(cli: Cli, folder: Path) -> None:
    files = (str(EXAMPLES / name) for name in ("hpcc-topology.txt", "hpcc-flows.txt"))
    scenario, _ = made(folder, cli, *files, "--congestion", "hpcc")
    assert scenario["transport"] == {"kind": "rdma", "congestion": "hpcc", "mtu": "4 KiB"}
    assert run().transfers["completed_s"].null_count() == 0


def test_latency_of_switches_is_in_every_path_between_hosts(cli: Cli, folder: Path) -> None:
    one = "Nodes 32\nConnections 1\n31->0 start 0 size 1\n"
    put(folder, m_cm=one)
    made(folder, cli, str(EXAMPLES / "leaf-spine.topo"), "m.cm")
    (took,) = run(transport__handshake=False).transfers["completed_s"]
    # Four links of 500 ns, three switches of 300 ns, 41 bytes sent four times at 100 Gbit/s;
    # timestamps are not on the wire.
    assert took == pytest.approx(4 * 500e-9 + 3 * 300e-9 + 4 * 41 * 8 / 100e9, abs=1e-13)


def test_three_tiers_with_bundles_become_a_graph(cli: Cli, folder: Path) -> None:
    put(folder, t_topo=THREE_TIERS)
    scenario, reason = made(folder, cli, "t.topo")
    assert "graph, 8 hosts, 12 switches, 32 links" in reason.out
    assert scenario["flows"]["permutation"]["workload"] == "permutation"
    assert scenario["switches"] == {
        "edge": {"of": "edge:0..3", "buffer": "100 KB"},
        "aggregation": {"of": "aggregation:0..3", "buffer": "200 KB"},
    }
    assert "Queue_Up 50000 and Queue_Down 200000" in reason.err
    delays = {group["delay"] for group in scenario["network"]["links"].values()}
    assert delays == {"1050 ns", "1150 ns", "1300 ns"}
    found = links(run())
    # init_network: aggregation i of a pod has cores i, i + 2, ... of two links each.
    wanted = Counter(f"aggregation:{a}->core:{c}" for a in range(4) for c in (a % 2, a % 2 + 2))
    assert {port: found[port] for port in found if "->core" in port} == dict.fromkeys(wanted, 2)
    assert found["edge:1->aggregation:1"] == found["edge:2->aggregation:3"] == 1
    assert found["edge:1->aggregation:2"] == 0
    assert found["host:5->edge:2"] == 1


def test_without_bundles_the_same_numbers_are_a_clos(cli: Cli, folder: Path) -> None:
    plain = THREE_TIERS.replace("bundle 2", "bundle 1").replace("radix_down 4", "radix_down 2")
    put(folder, t_topo=plain)
    scenario, _ = made(folder, cli, "t.topo", "--buffer", "1 MB", "--duration", "5 ms")
    network = scenario["network"]
    assert network.pop("links")["aggregation-core"] == {"rate": "100 Gbit/s", "delay": "1300 ns"}
    assert network == {
        "topology": "clos",
        "pods": 2,
        "edges_per_pod": 2,
        "aggregations_per_pod": 2,
        "cores": 8,
        "hosts_per_edge": 2,
    }
    assert (scenario["switch"]["buffer"], "switches" in scenario) == ("1 MB", False)
    assert scenario["run"]["duration"] == "5 ms"


def test_flows_of_one_family_over_a_network_of_the_other(cli: Cli, folder: Path) -> None:
    text = (EXAMPLES / "leaf-spine.topo").read_text()
    bundled = text.replace("Radix_Down 4", "Radix_Down 8") + "Bundle 2\n"
    put(folder, t_topo=bundled, flow_txt="1\n31 2 3 100 5000 0.25\n")
    scenario, _ = made(folder, cli, "flow.txt", "t.topo")
    assert scenario["network"]["switches"] == ["leaf:0..3", "spine:0..1"]
    result = run()
    found = links(result)
    assert {found[f"leaf:{leaf}->spine:{spine}"] for leaf in range(4) for spine in (0, 1)} == {2}
    assert result.transfers["completed_s"].null_count() == 0


def test_a_radix_that_passes_in_htsim_is_reported_where_the_wiring_has_another(
    cli: Cli, folder: Path
) -> None:
    text = (EXAMPLES / "leaf-spine.topo").read_text()
    for old, new in {
        "Radix_Up 4\nOversubscribed 2": "Radix_Up 2\nOversubscribed 4",
        "Tier 1\nDownlink_speed_Gbps 100": "Tier 1\nDownlink_speed_Gbps 400",
        "Radix_Down 4": "Radix_Down 1",
    }.items():
        assert old in text
        text = text.replace(old, new)
    put(folder, t_topo=text)
    scenario, reason = made(folder, cli, "t.topo")
    # 32 x 100 / (400 x 4) = 2 links upwards, of which a spine with one link takes one.
    assert (scenario["network"]["leaves"], scenario["network"]["spines"]) == (4, 2)
    assert (
        "t.topo:14: warning: tier 1: Radix_Down 1; htsim gives each of its switches 4" in reason.err
    )


def test_a_failed_link_is_not_there(cli: Cli, folder: Path) -> None:
    failure = "failure switch_type AGG switch_id 3 link_id 1\n"
    matrix = "Nodes 8\nConnections 1\nFailures 1\n0->5 start 0 size 3000\n" + failure
    put(folder, t_topo=THREE_TIERS, m_cm=matrix)
    made(folder, cli, "t.topo", "m.cm")
    result = run()
    found = links(result)
    # Place 1 in its pod: core 1 x 2 + 1, the first link of the bundle.
    assert (found["aggregation:3->core:3"], found["aggregation:3->core:1"]) == (1, 2)
    assert (found["core:3->aggregation:3"], found["aggregation:1->core:3"]) == (1, 2)
    assert result.transfers["completed_s"].null_count() == 0


def test_every_way_to_name_the_files_gives_the_same(cli: Cli, folder: Path) -> None:
    put(folder, topology_txt=TOPOLOGY, flow_txt=FLOWS)
    ways = (
        ("topology.txt", "flow.txt"),
        ("--format", "hpcc", "flow.txt", "--topology", "topology.txt"),
        ("--flows", "flow.txt", "--topology", "topology.txt", "--format", "hpcc"),
    )
    texts = [made(folder, cli, *way, "--force")[0] for way in ways]
    assert all(a == b for a, b in pairwise(texts))


@pytest.mark.parametrize(
    ("text", "ps"),
    [
        ("2", 2 * 10**12),
        ("0.000000000001", 1),
        ("2.123456789", 2_123_456_789_000),
        ("1.5e-9", 1500),
        ("0.0000000000001", None),
        ("1e-13", None),
        ("1.0000000000000", 10**12),
    ],
)
def test_seconds_are_exact(text: str, ps: int | None) -> None:
    assert quantities.seconds(text) == ps
    if ps is not None:
        assert quantities.seconds(quantities.in_seconds(ps)) == ps


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("100Gbps", 10**11),
        ("0.5Gb/s", 5 * 10**8),
        ("12.5GBps", 10**11),
        ("1KiB/s", 8192),
        ("1000", 1000),
        ("1.5bps", None),
        ("10Gb", None),
        ("-1Gbps", None),
    ],
)
def test_rates_of_ns3(text: str, bits: int | None) -> None:
    assert quantities.ns3_rate(text) == bits
