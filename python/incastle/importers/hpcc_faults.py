"""Links that lose packets or fail, in a configuration of HPCC's ns-3 simulator.

    ERROR_RATE_PER_LINK 0.001    probability of a loss, on links that have no other one
    LINK_DOWN 50 8 9             the link of two nodes fails 50 us after 2 s; 0 0 0 for none

Source: kwzhao/High-Precision-Congestion-Control, branch m3: simulation/scratch/third.cc
(TakeDownLink), src/point-to-point/model/qbb-net-device.cc (Receive, TakeDown), rdma-hw.cc
(GetNicIdxOfQp).

Leaves out: a failure after which hosts have no path to each other. The simulator asserts that there
is none.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from incastle.importers import quantities
from incastle.importers.lines import BrokenFile
from incastle.importers.model import HOST, names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from incastle.importers.hpcc_config import HpccConfig, LinkDown
    from incastle.importers.hpcc_topology import Topology
    from incastle.importers.model import Link, Node
    from incastle.scenario import Value


def with_losses(config: HpccConfig, topology: Topology) -> Topology:
    """Return a topology whose links have the losses of the configuration, too."""
    links = [link._replace(loss=link.loss or config.error_rate) for link in topology.links]
    return topology._replace(links=links)


def failures(config: HpccConfig, links: Iterable[Link]) -> dict[str, dict[str, Value]]:
    """Return the tables of links that fail, by the name of the table.

    Raises:
        BrokenFile: there is no such link, or hosts would have no path to each other.

    """
    down = config.link_down
    if down is None:
        return {}
    pairs = {(link.a, link.b) for link in links}
    hosts = sorted(end for pair in pairs for end in pair if end.role == HOST)
    failing = {pair for pair in pairs if {end.number for end in pair} == {down.a, down.b}}
    if not failing:
        raise _refusal(config, down, f"no link between nodes {down.a} and {down.b}")
    reached = _reached(hosts[0], pairs - failing)
    cut = next((host for host in hosts if host not in reached), None)
    if cut is not None:
        alone = f"hosts {hosts[0].number} and {cut.number} have no other path"
        raise _refusal(config, down, f"{alone}; the simulator needs one")
    between: list[Value] = [names([end])[0] for end in min(failing)]
    # Links side by side fail together: the simulator uses only one of them.
    return {"network.failures.down": {"between": between, "down": quantities.time(down.at_ps)}}


def _refusal(config: HpccConfig, down: LinkDown, why: str) -> BrokenFile:
    return BrokenFile(config.file, 0, f"LINK_DOWN {down.a} {down.b}: {why}")


def _reached(start: Node, pairs: Iterable[tuple[Node, Node]]) -> set[Node]:
    """Return the nodes with a path from one of them."""
    neighbors: defaultdict[Node, set[Node]] = defaultdict(set)
    for a, b in pairs:
        neighbors[a].add(b)
        neighbors[b].add(a)
    found, new = {start}, [start]
    while new:
        fresh = neighbors[new.pop()] - found
        found |= fresh
        new += fresh
    return found
