"""`incastle import` of links that lose packets or fail, from configurations of HPCC's simulator.

The FCTs of links that fail are those of a build of the simulator (branch m3) for the same files.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import incastle as ic
from hpcc_files import changed, put_case

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Output

    Cli = Callable[..., Output]

TRIANGLE = """\
6 3 6
3 4 5
0 3 25Gbps 1000ns 0
2 3 25Gbps 1000ns 0
1 4 25Gbps 1000ns 0
3 4 25Gbps 1000ns 0
3 5 25Gbps 1000ns 0
5 4 25Gbps 1000ns 0
"""
TWO_FLOWS = """\
2
0 0 1 3 100 400000 2.000000000
1 2 1 3 100 300000 {}
"""
LATER = ("SIMULATOR_STOP_TIME 1.25", "SIMULATOR_STOP_TIME 2.1")


def fails(folder: Path, *changes: tuple[str, str], second: str = "2.000000000") -> None:
    """Write a case in which the link between the two switches fails under two flows."""
    case = put_case(folder, "case", changed(LATER, *changes) + "LINK_DOWN 40 4 3\n")
    (case / "topology.txt").write_text(TRIANGLE)
    (case / "flows.txt").write_text(TWO_FLOWS.format(second))


def imported(cli: Cli) -> ic.Scenario:
    output = cli("import", "case/config.txt", "--out", "made", "--force")
    assert output.status == 0, output.err
    return ic.load("made/scenario.toml")


@pytest.mark.parametrize(
    ("mode", "fcts_ns"),
    [
        (1, [279_350, 216_453]),
        (3, [416_057, 355_649]),
        (7, [289_328, 221_724]),
        (8, [279_350, 216_453]),
    ],
    ids=["dcqcn", "hpcc", "timely", "dctcp"],
)
def test_flows_go_round_a_link_that_fails_as_in_the_simulator(
    cli: Cli, folder: Path, mode: int, fcts_ns: list[int]
) -> None:
    """HPCC compares telemetry of the new path with that of the old one."""
    fails(folder, ("CC_MODE 1", f"CC_MODE {mode}"))
    scenario = imported(cli)
    failure = scenario["network"]["failures"]["down"]
    assert failure["between"] == ["switch:3", "switch:4"]
    assert failure["down"] == "2000040 us"
    result = ic.run(scenario)
    assert [round(fct * 1e9) for fct in result.transfers["fct_s"]] == fcts_ns
    assert result.totals["failure_drops"] > 0


def test_packets_that_waited_for_a_link_that_fails_keep_their_memory(
    cli: Cli, folder: Path
) -> None:
    """A switch with 400 KiB pauses its hosts only because 95 packets stay in its accounts."""
    fails(
        folder,
        ("CC_MODE 1", "CC_MODE 7"),
        ("BUFFER_SIZE 300", "BUFFER_SIZE 400"),
        ("VAR_WIN 1", "HAS_WIN 0"),
        second="2.000001500",
    )
    result = ic.run(imported(cli))
    assert [round(fct * 1e9) for fct in result.transfers["fct_s"]] == [272_124, 222_933]
    assert result.totals["pauses"] == 15


def test_each_link_has_its_loss_or_that_of_all(cli: Cli, folder: Path) -> None:
    text = changed() + "ERROR_RATE_PER_LINK 0.02\n"
    case = put_case(folder, "case", text)
    topology = (case / "topology.txt").read_text()
    (case / "topology.txt").write_text(
        topology.replace("2 3 25Gbps 1000ns 0", "2 3 25Gbps 1us 1e-3")
    )
    flows = "".join(f"{i} 0 1 3 100 20000 {1 + i / 50_000:.9f}\n" for i in range(1000))
    (case / "flows.txt").write_text(f"1000\n{flows}")
    result = ic.run(imported(cli))
    degraded = tomllib.loads(Path("made/scenario.toml").read_text())["network"]["degraded"]
    losses = {str(keys["between"]): keys["loss"] for keys in degraded.values()}
    assert losses == {
        "['host:0..1', 'switch:3']": "2 %",
        "['host:2', 'switch:3']": "0.1 %",
    }
    # Data packets and ACKs alike: binomial, within four standard deviations.
    links = result.links.rows_by_key("port", named=True, unique=True)
    for port in ("host:0->switch:3", "host:1->switch:3"):
        sent, lost = links[port]["packets"], links[port]["lost_on_wire"]
        assert sent > 15_000
        assert abs(lost - 0.02 * sent) < 4 * (0.02 * 0.98 * sent) ** 0.5
