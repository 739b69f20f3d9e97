"""The content of files: a network, and transfers over it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from incastle.importers import quantities

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from incastle.importers.lines import Note
    from incastle.scenario import Value

HOST = "host"
DATA_PRIORITY = 3
"""The priority of data in HPCC's simulator, where a file has none."""


class Node(NamedTuple):
    """A host or a switch: `host:3` is Node("host", 3)."""

    role: str
    number: int


class Link(NamedTuple):
    """A link: its two nodes, its rate in bit/s, its one-way delay in picoseconds.

    `loss` is the probability that it loses a packet, in either direction.
    """

    a: Node
    b: Node
    rate: int
    delay: int
    loss: float = 0.0


@dataclass(frozen=True)
class Network:
    """A network in the terms of a scenario.

    Attributes:
        origin: where it comes from, in words.
        keys: the keys of `[network]`.
        groups: the tables `[network.links.LABEL]`.
        degraded: the tables `[network.degraded.LABEL]`.
        access: the rate of each host's link in bit/s, by the host's number.
        switches: how many there are.
        links: how many there are.
        buffers: bytes of each port of some switches, by their names, where the files have them.
        notes: what was left out.

    """

    origin: str
    keys: dict[str, Value]
    groups: dict[str, dict[str, Value]]
    access: dict[int, int]
    switches: int
    links: int
    buffers: dict[str, int] = field(default_factory=dict)
    degraded: dict[str, dict[str, Value]] = field(default_factory=dict)
    notes: Sequence[Note] = ()


class Tie(NamedTuple):
    """Event counts: the one that a transfer waits for with its value, and those that it advances.

    One when all of it is acknowledged, one when all of it has arrived.
    """

    after: tuple[str, int] | None = None
    acknowledged: str | None = None
    arrived: str | None = None


class Transfer(NamedTuple):
    """A transfer: its start in picoseconds, the numbers of two hosts, bytes, and its line.

    None for the bytes is one that goes on until the end. The start of one that waits for others
    counts from what it waits for. A configuration of HPCC's simulator makes use of the priority.
    """

    start: int
    source: int
    destination: int
    bytes: int | None
    line: int
    tie: Tie | None = None
    priority: int = DATA_PRIORITY


def waits(row: Transfer) -> bool:
    """Return whether a transfer waits for others."""
    return row.tie is not None and row.tie.after is not None


class Failure(NamedTuple):
    """A link of an aggregation switch to a core that is down, and its line."""

    switch: int
    link: int
    line: int


@dataclass(frozen=True)
class Transfers:
    """Data to send.

    Attributes:
        file: the file as it was named.
        origin: where they come from, in words.
        transfers: all of them: in the order of their starts, then those that wait for others.
        hosts: how many hosts the file is for, and the line with that number, if any.
        failures: links that are down.
        notes: what was left out.

    """

    file: str
    origin: str
    transfers: Sequence[Transfer]
    hosts: tuple[int, int] | None = None
    failures: Sequence[Failure] = ()
    notes: Sequence[Note] = ()


def graph(
    origin: str, hosts: Iterable[int], links: Sequence[Link], notes: Sequence[Note] = ()
) -> Network:
    """Return the network of these hosts, and of the switches at the ends of the links."""
    switches = {end for link in links for end in (link.a, link.b) if end.role != HOST}
    access = {
        end.number: link.rate for link in links for end in (link.a, link.b) if end.role == HOST
    }
    keys: dict[str, Value] = {
        "topology": "graph",
        "hosts": _one_or_all(names(Node(HOST, number) for number in hosts)),
        "switches": _one_or_all(names(switches)),
    }
    groups, degraded = _groups(links)
    return Network(
        origin, keys, groups, access, len(switches), len(links), degraded=degraded, notes=notes
    )


def _groups(links: Sequence[Link]) -> tuple[dict[str, dict[str, Value]], ...]:
    """Put links into groups: each node of the first set is linked with each of the second.

    Links between the same two nodes are in different groups, since a set names a node once. The
    second result has the groups that lose packets.
    """
    seen: Counter[tuple[Node, Node]] = Counter()
    stars: defaultdict[_Star, list[Node]] = defaultdict(list)
    for link in links:
        # Hosts are the many ends of a star around their switch.
        centre, leaf = (link.b, link.a) if link.a.role == HOST else (link.a, link.b)
        pair = (min(centre, leaf), max(centre, leaf))
        star = _Star(centre, leaf.role, link.rate, link.delay, link.loss, seen[pair])
        stars[star].append(leaf)
        seen[pair] += 1
    merged: defaultdict[tuple[tuple[Node, ...], _Star], list[Node]] = defaultdict(list)
    for star, leaves in stars.items():
        # Stars with the same leaves become one group of several centres.
        role = Node(star.centre.role, 0)
        merged[tuple(sorted(leaves)), star._replace(centre=role)].append(star.centre)
    groups: dict[str, dict[str, Value]] = {}
    degraded: dict[str, dict[str, Value]] = {}
    numbers: Counter[str] = Counter()
    for (ends, star), centres in merged.items():
        word = "hosts" if star.leaves == HOST else "switches"
        numbers[word] += 1
        group: dict[str, Value] = {
            "between": [_one_or_all(names(ends)), _one_or_all(names(centres))],
            "rate": quantities.rate(star.rate),
            "delay": quantities.time(star.delay),
        }
        if star.copy:
            group["parallel"] = True
        label = f"{word}-{numbers[word]}"
        groups[label] = group
        if star.loss:
            loss: dict[str, Value] = {"between": group["between"]}
            if any(count > 1 for count in seen.values()):
                loss["number"] = star.copy + 1
            degraded[label] = loss | {"loss": f"{100 * star.loss:.12g} %"}
    return groups, degraded


class _Star(NamedTuple):
    """Links of one node to others that are alike; `copy` counts links between the same two."""

    centre: Node
    leaves: str
    rate: int
    delay: int
    loss: float
    copy: int


def _one_or_all(texts: list[str]) -> str | list[str]:
    return texts[0] if len(texts) == 1 else texts


def names(nodes: Iterable[Node]) -> list[str]:
    """Name nodes as a scenario does, neighbours as ranges: ["host:0..3", "host:7"]."""
    ranges: list[tuple[str, int, int]] = []
    for role, number in sorted(set(nodes)):
        if ranges and ranges[-1][0] == role and ranges[-1][2] == number - 1:
            ranges[-1] = (role, ranges[-1][1], number)
        else:
            ranges.append((role, number, number))
    return [
        f"{role}:{first}" if first == last else f"{role}:{first}..{last}"
        for role, first, last in ranges
    ]
