"""Topologies of HPCC's ns-3 simulator: nodes, switches, and links one by one.

    5 1 4                        nodes, switches, links
    4                            the numbers of the switches; all other nodes are hosts
    0 4 100Gbps 1us 0            node, node, rate, delay, error rate; one line for each link

Source: alibaba-edu/High-Precision-Congestion-Control, simulation/scratch/third.cc and
simulation/mix/topology.txt. Lines after the last link are not read there either.

Leaves out: hosts with several NICs and hosts that are linked without a switch, which are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from incastle.importers import quantities
from incastle.importers.model import HOST, Link, Network, Node, graph
from incastle.units import PS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from incastle.importers.lines import Lines

HEADER = "expected three numbers: nodes, switches, links"
COLUMNS = "node node rate delay error_rate"
LINK_FIELDS = 5
MAX_NODES = 1_000_000
MIN_RATE, MAX_RATE = 1_000, 10**14
PS_PER_US = 10**6
MAX_DELAY = 1_000 * PS_PER_S
"""Keys of links in the scenario language."""


class Topology(NamedTuple):
    """The numbers of the hosts, and the links in the order of the file."""

    hosts: list[int]
    links: list[Link]


_SWITCH = Node("switch", 3)
SHARD = Topology(
    [0, 1, 2],
    [
        Link(Node(HOST, host), _SWITCH, rate, PS_PER_US)
        for host, rate in ((0, 10 * 10**9), (1, 100 * 10**12), (2, 10 * 10**9))
    ],
)
"""That of m3's data, which have no file of it: branch m3 of kwzhao/
High-Precision-Congestion-Control, simulation/mix_m3/topo-pl-3.txt."""


def read(lines: Lines) -> Network:
    """Read a topology as a network of a scenario.

    Raises:
        BrokenFile: it is none, or a network that cannot be had here.

    """
    hosts, links = read_links(lines)
    return graph(f"HPCC's topology {lines.file}", hosts, links, lines.notes)


def read_links(lines: Lines) -> Topology:
    """Read a topology as it is.

    Raises:
        BrokenFile: it is none, or a network that cannot be had here.

    """
    filled = lines.filled()
    top, header = next(filled, (1, ""))
    fields = header.split()
    if len(fields) != len(("nodes", "switches", "links")):
        lines.fail(top, f"{HEADER}, found {len(fields)} fields")
    nodes, switches, count = (
        lines.whole(top, text, what, minimum)
        for text, what, minimum in zip(
            fields, ("nodes", "switches", "links"), (1, 0, 1), strict=True
        )
    )
    if nodes > MAX_NODES:
        lines.fail(top, f"{nodes} nodes: at most {MAX_NODES} here")
    roles = _Roles(lines, nodes, _switches(lines, filled, nodes, switches))
    links = _links(lines, filled, roles, count)
    linked = {end for link in links for end in (link.a, link.b)}
    alone = [node for node in range(nodes) if roles.node(node) not in linked]
    if alone:
        many = f"{len(alone)} nodes have" if len(alone) > 1 else f"node {alone[0]} has"
        lines.note(top, f"{many} no link: left out")
    return Topology(sorted(end.number for end in linked if end.role == HOST), links)


class _Roles:
    """Which nodes are switches."""

    def __init__(self, lines: Lines, nodes: int, switches: set[int]) -> None:
        self.lines = lines
        self.nodes = nodes
        self.switches = switches

    def node(self, number: int) -> Node:
        return Node("switch" if number in self.switches else HOST, number)

    def read(self, line: int, text: str) -> Node:
        """Read the number of a node."""
        number = self.lines.whole(line, text, "a node")
        if number >= self.nodes:
            self.lines.fail(line, f"node {number}: the first line has nodes 0 to {self.nodes - 1}")
        return self.node(number)


def _switches(lines: Lines, filled: Iterator[tuple[int, str]], nodes: int, count: int) -> set[int]:
    """Read the numbers of the switches, on as many lines as they take."""
    found: dict[int, int] = {}
    line = 1
    while len(found) < count:
        line, text = next(filled, (0, ""))
        if not line:
            lines.fail(lines.last, f"expected {count} switches, the file ends after {len(found)}")
        for field in text.split():
            number = lines.whole(line, field, "the number of a switch")
            if number >= nodes:
                lines.fail(line, f"switch {number}: the first line has nodes 0 to {nodes - 1}")
            if number in found:
                lines.fail(line, f"switch {number} is given twice")
            found[number] = line
        if len(found) > count:
            lines.fail(line, f"expected {count} switches as in the first line, found {len(found)}")
    return set(found)


def _links(
    lines: Lines, filled: Iterator[tuple[int, str]], roles: _Roles, count: int
) -> list[Link]:
    """Read the links."""
    links: list[Link] = []
    nics: dict[Node, int] = {}
    for line, text in filled:
        if len(links) == count:
            lines.note(line, f"what follows the {count} links of the first line is not read")
            break
        found = _link(lines, line, text, roles)
        _check_hosts(lines, line, found, nics)
        links.append(found)
    if len(links) < count:
        lines.fail(
            lines.last, f"expected {count} links as in the first line, the file has {len(links)}"
        )
    return links


def _link(lines: Lines, line: int, text: str, roles: _Roles) -> Link:
    fields = text.split()
    if len(fields) != LINK_FIELDS:
        lines.fail(line, f"expected a link: {COLUMNS}, found {len(fields)} fields")
    a, b = (roles.read(line, field) for field in fields[:2])
    if a == b:
        lines.fail(line, f"node {a.number} is linked with itself")
    rate, delay = quantities.ns3_rate(fields[2]), quantities.ns3_time(fields[3])
    if rate is None or not MIN_RATE <= rate <= MAX_RATE:
        lines.fail(
            line, f'expected a rate such as "100Gbps", 1 kbit/s to 100 Tbit/s, found "{fields[2]}"'
        )
    if delay is None or delay > MAX_DELAY:
        lines.fail(
            line,
            'expected a delay such as "1000ns", whole picoseconds up to 1000 s, '
            f'found "{fields[3]}"',
        )
    try:
        errors = float(fields[4])
    except ValueError:
        errors = -1.0
    if not 0 <= errors < 1:
        lines.fail(line, f'expected an error rate from 0 to below 1, found "{fields[4]}"')
    return Link(a, b, rate, delay, errors)


def _check_hosts(lines: Lines, line: int, link: Link, nics: dict[Node, int]) -> None:
    """Refuse what a host cannot have here; `nics` has the line of each host's link."""
    if link.a.role == link.b.role == HOST:
        lines.fail(
            line, f"hosts {link.a.number} and {link.b.number} are linked without a switch between"
        )
    for host in (end for end in (link.a, link.b) if end.role == HOST):
        if host in nics:
            lines.fail(
                line,
                f"host {host.number} has a second link (the first: line {nics[host]}); "
                "a host has one NIC here",
            )
        nics[host] = line
