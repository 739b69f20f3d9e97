"""Cases of HPCC's ns-3 simulator: a folder of them, in one of two layouts.

    shardN.conf, shardN.csv                                 `shards`: one switch and three hosts
    NAME/config.txt, topology.txt, flows.txt, fct.csv       `paths`: any topology
    spread-dcqcn.csv                                        next to the folders NAME

The topology of the shards is that of m3's data, which no file of a shard has.

Leaves out: peaks of queues and pauses (queue-peaks.csv, pfc-per-port.csv), which may be there.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from incastle.errors import IncastleError
from incastle.importers import hpcc_case, hpcc_config, hpcc_faults, hpcc_flows, hpcc_topology
from incastle.importers.hpcc_results import Flow, Spread, read_flows, read_spread
from incastle.importers.hpcc_topology import SHARD, Topology
from incastle.importers.lines import BrokenFile, Lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from incastle.importers.hpcc_config import HpccConfig
    from incastle.importers.hpcc_keys import Control
    from incastle.importers.model import Transfers

CONFIG, FCTS, SPREAD = "config.txt", "fct.csv", "spread-dcqcn.csv"
GOALS = "goals.toml"
NAMED = 5
"""Cases that a message names."""
PS_PER_NS = 1000
ROUNDING_NS = 1
"""A start in seconds goes through a double there, and its fraction of a nanosecond is cut."""


class Layout(StrEnum):
    """How the files of a case are laid out."""

    SHARDS = "shards"
    PATHS = "paths"


@dataclass(frozen=True)
class Case:
    """A scenario of the other simulator, and its result.

    Attributes:
        name: that of its files.
        layout: how they are laid out.
        config: the other simulator's settings.
        topology: hosts and links.
        flows: in the order in which the other simulator reads them.
        spread: FCTs over random runs there, where they are known.
        spreads_known: whether those of cases with random runs are known.

    """

    name: str
    layout: Layout
    config: HpccConfig
    topology: Topology
    flows: tuple[Flow, ...]
    spread: Spread | None = None
    spreads_known: bool = False

    @property
    def control(self) -> Control:
        """The congestion control."""
        return self.config.control

    @property
    def loses_packets(self) -> bool:
        """Whether packets are lost there.

        Links may lose them at random. Without PFC the switches drop what is above their ingress
        threshold and headroom. A shard never drops: the headroom of its link of 100 Tbit/s makes
        the threshold wrap around.
        """
        return self.loses_at_random or (self.layout is Layout.PATHS and not self.config.pfc)

    @property
    def loses_at_random(self) -> bool:
        """Whether links lose packets."""
        return any(link.loss for link in self.topology.links)


class _Place(NamedTuple):
    """The place of a case."""

    layout: Layout
    path: Path

    @property
    def name(self) -> str:
        return self.path.stem if self.layout is Layout.SHARDS else self.path.name


def read_cases(
    folder: Path,
    patterns: Sequence[str] = (),
    report: Callable[[int, int], object] | None = None,
) -> list[Case]:
    """Read the cases of a folder: shards, then paths.

    Args:
        folder: of cases, of folders of cases, or of one case in the layout `paths`.
        patterns: names, with `*` and `?`; without any all cases are read.
        report: called with the number of cases that are read, and of all.

    Raises:
        OSError: a file cannot be read.
        IncastleError: a file is broken, or there are no such cases.

    """
    places = _places(folder)
    if not places:
        raise IncastleError(
            f"{folder}: no cases; expected NAME.conf with NAME.csv, or folders with "
            f"{CONFIG}, {hpcc_case.TOPOLOGY}, {hpcc_case.FLOWS}, {FCTS}"
        )
    chosen = [
        place
        for place in places
        if not patterns or any(fnmatchcase(place.name, pattern) for pattern in patterns)
    ]
    if not chosen:
        examples = ", ".join(place.name for place in places[:NAMED])
        if len(places) > NAMED:
            examples += f" and {len(places) - NAMED} others"
        raise IncastleError(
            f"{folder}: no case is named {' or '.join(patterns)}; there are {examples}"
        )
    spreads: dict[Path, dict[str, Spread] | None] = {}
    cases = []
    for count, place in enumerate(chosen, 1):
        cases.append(_read(place, spreads))
        if report is not None:
            report(count, len(chosen))
    return cases


def _places(folder: Path) -> list[_Place]:
    if not folder.is_dir():
        what = "not a directory" if folder.exists() else "no such directory"
        raise IncastleError(f"{folder}: {what}; expected one with cases")
    if (folder / CONFIG).exists():
        return [_Place(Layout.PATHS, folder.resolve())]
    below = sorted((one for one in folder.iterdir() if one.is_dir()), key=_natural)
    return _within(folder) or [place for one in below for place in _within(one)]


def _within(folder: Path) -> list[_Place]:
    files = sorted(folder.iterdir(), key=_natural)
    shards = [one for one in files if hpcc_case.is_shard(one) and one.is_file()]
    paths = [one for one in files if (one / CONFIG).is_file()]
    return [_Place(Layout.SHARDS, one) for one in shards] + [
        _Place(Layout.PATHS, one) for one in paths
    ]


def _natural(path: Path) -> list[tuple[int, str]]:
    """Order numbers in names by their values."""
    parts = re.split(r"(\d+)", path.name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _read(place: _Place, spreads: dict[Path, dict[str, Spread] | None]) -> Case:
    if place.layout is Layout.SHARDS:
        return _read_shard(place)
    file = place.path.parent / SPREAD
    if file not in spreads:
        spreads[file] = read_spread(file) if file.exists() else None
    return _read_paths(place, spreads[file])


def _read_shard(place: _Place) -> Case:
    table = hpcc_case.table_of(place.path)
    config = hpcc_config.read(Lines.read(place.path))
    flows = read_flows(table)
    _check_hosts(flows, SHARD, table)
    flows.sort(key=lambda flow: flow.start_ns)
    topology = hpcc_faults.with_losses(config, SHARD)
    return Case(place.name, place.layout, config, topology, tuple(flows))


def _read_paths(place: _Place, spreads: dict[str, Spread] | None) -> Case:
    config = hpcc_config.read(Lines.read(place.path / CONFIG))
    topology_file = hpcc_case.topology_of(place.path, config)
    flow_file = hpcc_case.flows_of(place.path, config)
    table = hpcc_case.file_of(place.path, FCTS, FCTS)
    topology = hpcc_topology.read_links(Lines.read(topology_file))
    topology = hpcc_faults.with_losses(config, topology)
    flows = read_flows(table)
    _check_hosts(flows, topology, table)
    transfers = hpcc_flows.read(Lines.read(flow_file), with_priorities=True)
    ordered = _in_order(flows, transfers, table)
    spread = spreads.get(place.name) if spreads else None
    known = spreads is not None
    return Case(place.name, place.layout, config, topology, ordered, spread, known)


def _check_hosts(flows: Sequence[Flow], topology: Topology, table: Path) -> None:
    hosts = set(topology.hosts)
    for flow in flows:
        for host in (flow.source, flow.destination):
            if host not in hosts:
                raise BrokenFile(
                    str(table),
                    flow.line,
                    f"{host} is no host; hosts are numbered {min(hosts)} to {max(hosts)}",
                )


def _in_order(flows: Sequence[Flow], transfers: Transfers, table: Path) -> tuple[Flow, ...]:
    """Return the flows with FCTs in the order in which the simulator starts them.

    Raises:
        BrokenFile: the two files do not have the same flows.

    """
    known: defaultdict[tuple[int, int, int], deque[Flow]] = defaultdict(deque)
    for flow in sorted(flows, key=lambda flow: flow.start_ns):
        known[flow.source, flow.destination, flow.bytes].append(flow)
    ordered = []
    for row in transfers.transfers:
        same = known[row.source, row.destination, row.bytes or 0]
        start_ns = row.start // PS_PER_NS
        if not same or abs(same[0].start_ns - start_ns) > ROUNDING_NS:
            what = f"{row.bytes} B from {row.source} to {row.destination} at {start_ns} ns"
            raise BrokenFile(transfers.file, row.line, f"{what}: no such flow in {table.name}")
        ordered.append(same.popleft()._replace(start_ns=start_ns, priority=row.priority))
    left = [flow for same in known.values() for flow in same]
    if left:
        first = min(left, key=lambda flow: flow.line)
        raise BrokenFile(str(table), first.line, f"no such flow in {transfers.file}")
    return tuple(ordered)
