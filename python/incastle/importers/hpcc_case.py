"""The files of a simulation with HPCC's ns-3 simulator, from its configuration.

    config.txt    names a topology and flows: TOPOLOGY_FILE, FLOW_FILE
    NAME.conf     has its flows in NAME.csv, over the topology of m3's data

The simulator is started in another folder, so a name counts without its folders, next to the
configuration.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from incastle.errors import IncastleError
from incastle.importers import hpcc_config, hpcc_faults, hpcc_flows, hpcc_topology
from incastle.importers.hpcc_results import read_flows
from incastle.importers.lines import Lines
from incastle.importers.model import Network, Transfer, Transfers, graph

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from incastle.importers.hpcc_config import HpccConfig
    from incastle.importers.hpcc_topology import Topology

    Counting = Callable[[str, int], AbstractContextManager[Callable[[int], None] | None]]

SHARD = ".conf"
"""The ending of a configuration whose flows are in a table of the same name."""
TOPOLOGY, FLOWS = "topology.txt", "flows.txt"
"""The names of these where a configuration names none."""
PS_PER_NS = 1000


def is_shard(config: Path) -> bool:
    """Return whether a configuration has its flows in a table with FCTs."""
    return config.suffix == SHARD


def table_of(config: Path) -> Path:
    """Return the table of a shard.

    Raises:
        IncastleError: it is not there.

    """
    table = config.with_suffix(".csv")
    if not table.exists():
        raise IncastleError(f"{config}: its FCTs, {table.name}, are not there")
    return table


def topology_of(folder: Path, config: HpccConfig) -> Path:
    """Return the file of the topology.

    Raises:
        IncastleError: it is not there.

    """
    return file_of(folder, config.topology_file, TOPOLOGY)


def flows_of(folder: Path, config: HpccConfig) -> Path:
    """Return the file of the flows.

    Raises:
        IncastleError: it is not there.

    """
    return file_of(folder, config.flow_file, FLOWS)


def file_of(folder: Path, named: str, usual: str) -> Path:
    """Return a file next to a configuration.

    Raises:
        IncastleError: it is not there.

    """
    path = folder / (named or usual).rpartition("/")[2]
    if not path.exists():
        raise IncastleError(f"{folder}: {path.name} is not there")
    return path


class HpccCase(NamedTuple):
    """A simulation: hosts and links, the network that they are, flows, and the configuration."""

    topology: Topology
    network: Network
    transfers: Transfers
    config: HpccConfig


def read(
    lines: Lines, *, topology: Lines | None, flows: Lines | None, counting: Counting
) -> HpccCase:
    """Read a configuration; topology and flows that are given replace those that it names.

    Raises:
        OSError: a file cannot be read.
        IncastleError: a file is broken or missing.

    """
    place, config = Path(lines.file), hpcc_config.read(lines)
    nodes = hpcc_topology.SHARD
    if topology is None and not is_shard(place):
        topology = Lines.read(topology_of(place.parent, config))
    if topology is not None:
        nodes = hpcc_topology.read_links(topology)
    nodes = hpcc_faults.with_losses(config, nodes)
    origin = f"HPCC's configuration {lines.file}"
    network = graph(origin, nodes.hosts, nodes.links, topology.notes if topology else ())
    if flows is None and is_shard(place):
        return HpccCase(nodes, network, _shard_transfers(table_of(place)), config)
    rows = flows or Lines.read(flows_of(place.parent, config))
    with counting(f"reading {rows.file}", len(rows.lines)) as report:
        transfers = hpcc_flows.read(rows, report, with_priorities=True)
    return HpccCase(nodes, network, transfers, config)


def _shard_transfers(table: Path) -> Transfers:
    """Return the flows of a table with FCTs."""
    rows = [
        Transfer(PS_PER_NS * flow.start_ns, flow.source, flow.destination, flow.bytes, flow.line)
        for flow in read_flows(table)
    ]
    rows.sort(key=lambda row: row.start)
    return Transfers(str(table), f"the flows of {table}", rows)
