"""`incastle import` of broken files: one message with the file, the line, and what was expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test_import import FLOWS, MATRIX, THREE_TIERS, TOPOLOGY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Output

    Cli = Callable[..., Output]

SIMULATOR = {"topology.txt": TOPOLOGY, "flow.txt": FLOWS}
HTSIM = {"t.topo": THREE_TIERS, "m.cm": MATRIX}

BROKEN = [
    ("topology.txt", "5 2 5", "5 2", "topology.txt:1: not recognised; expected one of"),
    (
        "topology.txt",
        "5 2 5",
        "5 2 9",
        'topology.txt:9: a node must be a whole number, found "What"',
    ),
    ("topology.txt", "5 2 5", "10000000 2 5", "topology.txt:1: 10000000 nodes: at most 1000000"),
    ("topology.txt", "5 2 5", "5 3 5", "topology.txt:4: switch 2 is given twice"),
    ("topology.txt", "5 2 5", "5 1 5", "topology.txt:3: expected a link"),
    ("topology.txt", "4\n2\n", "4 4\n", "topology.txt:2: switch 4 is given twice"),
    (
        "topology.txt",
        "4\n2\n",
        "4 7\n",
        "topology.txt:2: switch 7: the first line has nodes 0 to 4",
    ),
    ("topology.txt", "0 2 10Gbps", "0 9 10Gbps", "topology.txt:4: node 9: the first line has"),
    ("topology.txt", "0 2 10Gbps", "0 2 10Gb", 'topology.txt:4: expected a rate such as "100Gbps"'),
    ("topology.txt", "1us 0", "1us -1", "topology.txt:4: expected an error rate from 0 to below 1"),
    ("topology.txt", "1us 0", "1us 1", "topology.txt:4: expected an error rate from 0 to below 1"),
    ("topology.txt", "1us", "1parsec", 'topology.txt:4: expected a delay such as "1000ns"'),
    ("topology.txt", "0 2 10", "1 2 10", "topology.txt:5: host 1 has a second link (the first: l"),
    ("topology.txt", "0 2 10", "0 1 10", "topology.txt:4: hosts 0 and 1 are linked without a sw"),
    ("topology.txt", "0 2 10", "2 2 10", "topology.txt:4: node 2 is linked with itself"),
    ("topology.txt", "2 4 40", "2 0 40", "topology.txt:6: host 0 has a second link"),
    ("flow.txt", "3\n0", "4\n0", "flow.txt:4: expected 4 flows as in line 1, found 3"),
    ("flow.txt", "3\n0", "0\n0", "flow.txt:1: the number of flows must be a whole number from 1"),
    ("flow.txt", "1 3 3 100 1000", "1 3 3 100 1e3", "flow.txt:3: the bytes must be a whole number"),
    ("flow.txt", "1 3 3 100 1000", "1 3 3 1000", "flow.txt:3: expected as many columns as above"),
    ("flow.txt", "1 3 3 100 1000", "1 3 3", "flow.txt:3: expected a flow: [flow] source"),
    ("flow.txt", "1 3 3 100 1000", "1 3 3 100 0", "flow.txt:3: a flow has at least 1 byte"),
    ("flow.txt", "2.1", "soon", "flow.txt:4: expected a start in seconds"),
    ("flow.txt", "2.1", "1e9", "flow.txt:4: expected a start in seconds, whole picoseconds up to"),
    ("flow.txt", "1 3 3", "2 3 3", "flow.txt:3: 2 is no host of HPCC's topology topology.txt"),
    ("flow.txt", "1 3 3", "3 3 3", "flow.txt:3: host 3 sends to itself"),
    ("m.cm", "Nodes 8", "Nodes 16", "m.cm:1: Nodes 16: the network has 8 hosts"),
    ("m.cm", "Nodes 8\n", "", "m.cm:8: expected Nodes and a number at the top of the file"),
    ("m.cm", "Connections 4", "Connections 5", "m.cm:2: Connections 5: the file has 4"),
    ("m.cm", "Triggers 1", "Triggers 2", "m.cm:3: Triggers 2: the file has 1"),
    ("m.cm", "Triggers 1", "Failures 1", "m.cm:9: Triggers 0: the file has 1"),
    ("m.cm", "start 2000", "start 1 trigger 1", "m.cm:4: 0->5 has both a start and a trigger"),
    ("m.cm", "start 2000", "trigger 0", 'm.cm:4: trigger must be a whole number from 1, found "0"'),
    ("m.cm", "start 2000", "trigger 9", "m.cm:4: no line describes trigger 9"),
    ("m.cm", "_trigger 1", "_trigger 2", "m.cm:4: no line describes trigger 2"),
    ("m.cm", "id 1 start 2000", "trigger 1", "m.cm:4: expected id N in 0->5, which a trigger"),
    ("m.cm", "id 2", "id 1", "m.cm:6: id 1 is given twice (the first: line 4)"),
    ("m.cm", "id 2", "id 0", 'm.cm:6: id must be a whole number from 1, found "0"'),
    ("m.cm", "id 3 start 0", "id 3 trigger 1", "m.cm:7: 2->5 waits for trigger 1 and has no end"),
    ("m.cm", "oneshot", "barrier", "m.cm:9: trigger 1: a barrier needs count N"),
    ("m.cm", "oneshot", "barrier count 0", "m.cm:9: count must be a whole number from 1"),
    ("m.cm", "oneshot", "oneshot barrier", "m.cm:9: expected trigger id N and one of oneshot"),
    ("m.cm", "prio 2", "recv_done_trigger 1", "m.cm:6: 7->5 fires trigger 1, a oneshot (line 9)"),
    ("m.cm", "start 2000", "", "m.cm:4: expected start or trigger in 0->5"),
    ("m.cm", "start 2000", "start soon", "m.cm:4: expected a start in picoseconds, up to"),
    ("m.cm", "start 2000", "begin 2000", 'm.cm:4: unknown word "begin"; known are start, size'),
    ("m.cm", "size 4000 prio 2", "size", "m.cm:6: expected a number after size"),
    ("m.cm", "size 4000", "size 4KB", 'm.cm:6: size must be a whole number, found "4KB"'),
    ("m.cm", "7->5", "x->5", 'm.cm:6: the source must be a whole number, found "x"'),
    ("m.cm", "7->5", "8->5", "m.cm:6: 8 is no host of htsim's topology t.topo"),
    ("m.cm", "oneshot", "twice", 'm.cm:9: unknown word "twice"; known are id, count, oneshot'),
    ("m.cm", "trigger id", "bang id", "m.cm:9: expected Nodes, Connections, Triggers, Failures"),
    ("t.topo", "tiers 3\n", "", "t.topo:4: expected Tiers before the first tier"),
    ("t.topo", "tiers 3", "tiers 4", "t.topo:3: Tiers must be 2 or 3, found 4"),
    ("t.topo", "tiers 3", "tiers 2", "t.topo:21: tier 2: Tiers is 2 (line 3)"),
    ("t.topo", "tier 2", "tier 3", "t.topo:21: tier 3: tiers are 0"),
    ("t.topo", "tier 2", "tier 1", "t.topo:21: tier 1 is given twice (the first: line 13)"),
    ("t.topo", "podsize 4", "podsize 3", "t.topo:4: Podsize 3: Nodes 8 is no multiple of it"),
    ("t.topo", "podsize 4", "podsize 1", "t.topo:4: Podsize 1: no multiple of Radix_Down 2"),
    ("t.topo", "radix_up 4", "radix_up 2", "t.topo:13: tier 1: 8 links downwards of 200 Gbit/s"),
    (
        "t.topo",
        "bps 100\n",
        "bps 999999\n",
        "t.topo:22: Downlink_speed_Gbps 999999: at most 100000",
    ),
    ("t.topo", "bundle 2", "bundle 3", "t.topo:21: tier 2: Bundle 3; Radix_Up 4 of tier 1 is no"),
    ("t.topo", "bundle 2", "bundle x", "t.topo:26: Bundle must be a whole number from 1, found"),
    ("t.topo", "bundle 2", "radix_up 2", "t.topo:26: Radix_Up in tier 2: no links lead up"),
    ("t.topo", "bundle 2", "nodes 8", "t.topo:26: Nodes does not belong in a tier"),
    ("t.topo", "bundle 2", "bundle 2 2", "t.topo:26: expected a key and a value"),
    ("t.topo", "radix_up 2\n", "radix_up 1\n", "t.topo:5: tier 0: Oversubscribed 1; Radix_Down 2"),
]


def refused(cli: Cli, folder: Path, *arguments: str) -> str:
    """Import what must be refused; return the message."""
    output = cli("import", *arguments, "--out", "made")
    assert (output.status, output.out) == (2, "")
    assert not (folder / "made").exists()
    assert output.err.startswith("error: ")
    return output.err.removeprefix("error: ")


@pytest.mark.parametrize(("file", "good", "bad", "message"), BROKEN)
def test_each_mistake_has_its_place(
    cli: Cli, folder: Path, file: str, good: str, bad: str, message: str
) -> None:
    files = SIMULATOR if file in SIMULATOR else HTSIM
    for name, text in files.items():
        assert name != file or good in text
        (folder / name).write_text(text.replace(good, bad, 1) if name == file else text)
    assert refused(cli, folder, *files).startswith(message)


@pytest.mark.parametrize(
    ("switch", "link", "message"),
    [
        (4, 0, "aggregation switch 4: the network has 4 that have links to cores"),
        (
            1,
            0,
            "link 0: htsim takes it for one to core 2; links of aggregation switch 1 that can fail",
        ),
        (
            0,
            4,
            "link 4: htsim takes it for one to core 4; links of aggregation switch 0 that can fail",
        ),
        (0, 9, "link 9: htsim takes it for one to core 9"),
    ],
)
def test_links_that_cannot_fail(
    cli: Cli, folder: Path, switch: int, link: int, message: str
) -> None:
    failure = f"failure switch_type AGG switch_id {switch} link_id {link}"
    matrix = f"Nodes 8\nConnections 1\nFailures 1\n0->5 start 0 size 3000\n{failure}\n"
    (folder / "t.topo").write_text(THREE_TIERS)
    (folder / "m.cm").write_text(matrix)
    assert refused(cli, folder, "t.topo", "m.cm").startswith(f"m.cm:5: {message}")
    (folder / "m.cm").write_text(matrix.replace("AGG", "TOR"))
    assert "expected switch_type AGG" in refused(cli, folder, "t.topo", "m.cm")


def test_files_that_are_not_the_right_ones(cli: Cli, folder: Path) -> None:
    for name, text in (SIMULATOR | HTSIM).items():
        (folder / name).write_text(text)
    (folder / "binary").write_bytes(b"\xff\xfe\x00")
    (folder / "empty").write_text("\n")
    (folder / "config.txt").write_text("TOPOLOGY_FILE mix/topology.txt RP_TIMER 9\n")
    for arguments, message in {
        (): "no files: name a topology, flows, or both",
        ("absent",): "absent: No such file or directory",
        ("binary",): "binary: not a UTF-8 file",
        ("empty",): "empty: an empty file; expected one of: a topology of HPCC's simulator",
        ("config.txt",): "config.txt: RATE_AI is missing: the simulator has no default for it",
        ("config.txt", "--format", "htsim"): "config.txt: looks like a configuration of HPCC's",
        ("flow.txt",): "flow.txt: flows without a network: name one with --topology FILE",
        ("t.topo", "topology.txt"): "t.topo and topology.txt: one file can have the topology",
        ("--topology", "flow.txt"): "flow.txt: looks like flows of HPCC's simulator, not like",
        ("m.cm", "--format", "hpcc"): "m.cm: looks like a connection matrix of htsim (.cm), not",
        ("t.topo", "--congestion", "cubicc"): "--congestion cubicc: ",
        ("t.topo", "--marking-threshold", "65"): "--marking-threshold 65: ",
        ("t.topo", "--duration", "5"): "--duration 5: ",
    }.items():
        assert refused(cli, folder, *arguments).startswith(message)


@pytest.mark.parametrize("congestion", ["delay.py:Delay", "custom"])
def test_a_controller_of_ones_own_comes_after_the_import(
    cli: Cli, folder: Path, congestion: str
) -> None:
    (folder / "t.topo").write_text(THREE_TIERS)
    output = cli("import", "t.topo", "--out", "out", "--congestion", congestion)
    assert output.status == 2
    assert "--set transport.congestion=FILE.py:CLASS" in output.err
    assert not (folder / "out").exists()


def test_failures_need_a_network_of_htsim(cli: Cli, folder: Path) -> None:
    failure = "failure switch_type AGG switch_id 0 link_id 0"
    (folder / "m.cm").write_text(
        f"Nodes 3\nConnections 1\nFailures 1\n0->1 start 0 size 1\n{failure}\n"
    )
    (folder / "topology.txt").write_text(TOPOLOGY)
    message = refused(cli, folder, "topology.txt", "m.cm")
    assert message.startswith("m.cm:5: failures are for a network of htsim")


def test_a_network_in_parts_is_reported_as_check_tells_it(cli: Cli, folder: Path) -> None:
    (folder / "topology.txt").write_text("4 2 2\n2 3\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n")
    before = sorted(folder.iterdir())
    output = cli("import", "topology.txt", "--out", "new/made")
    assert output.status == 2
    assert output.err.startswith("new/made/scenario.toml:")
    assert '"host:1" cannot be reached from "host:0"' in output.err
    assert sorted(folder.iterdir()) == before


def test_what_is_there_is_not_replaced_unless_forced(cli: Cli, folder: Path) -> None:
    (folder / "t.topo").write_text(THREE_TIERS)
    (folder / "made").mkdir()
    (folder / "made" / "other").write_text("mine")
    (folder / "made" / "scenario.toml").write_text("mine")
    output = cli("import", "t.topo", "--out", "made")
    assert output.status == 2
    assert "--out made: has a scenario.toml already; --force replaces it" in output.err
    assert (folder / "made" / "scenario.toml").read_text() == "mine"
    assert cli("import", "t.topo", "--out", "made", "--force").status == 0
    assert (folder / "made" / "scenario.toml").read_text().startswith("# Made by")
    assert (folder / "made" / "other").read_text() == "mine"
    assert sorted(path.name for path in (folder / "made").iterdir()) == ["other", "scenario.toml"]
    for place in ("t.topo", "t.topo/made"):
        output = cli("import", "t.topo", "--out", place)
        assert (output.status, output.err) == (
            2,
            f"error: --out {place}: t.topo is not a directory\n",
        )


TWO = "trigger id 1 oneshot\n"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "0->5 id 1 trigger 1 size 3000 send_done_trigger 1\n",
            "m.cm:5: no connection begins: none has a start",
        ),
        (
            f"0->5 id 1 start 0 size 3000\n{TWO}",
            "m.cm:6: trigger 1 is given twice (the first: line 5)",
        ),
        (
            "".join(f"{host}->5 start 0 size 1 recv_done_trigger 2\n" for host in range(3))
            + "trigger id 2 barrier count 2\n",
            "m.cm:6: 2->5 fires trigger 2, a barrier (line 7), which has fired 2 times before",
        ),
    ],
)
def test_triggers_that_cannot_be(cli: Cli, folder: Path, lines: str, message: str) -> None:
    lines += TWO
    head = f"Nodes 8\nConnections {lines.count('->')}\nTriggers {lines.count('trigger id')}\n"
    (folder / "t.topo").write_text(THREE_TIERS)
    (folder / "m.cm").write_text(head + lines)
    assert refused(cli, folder, "t.topo", "m.cm").startswith(message)
