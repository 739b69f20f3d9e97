"""`incastle import`: files of other simulators as a scenario."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incastle import terminal
from incastle.commands.options import option
from incastle.units import counted, si

if TYPE_CHECKING:
    from incastle.importers.api import Imported

EXAMPLES = (
    "incastle import topology.txt flow.txt --out hpcc",
    "incastle import leaf-spine.topo incast.cm --out incast --congestion dctcp",
    "incastle import topology.txt flow.txt --out hpcc --congestion hpcc",
    "incastle import --topology topology.txt --flows flow.txt --format hpcc --out hpcc",
    "incastle import simulation/config.txt --out hpcc",
)


class Simulator(StrEnum):
    """Whose files can be read."""

    HPCC = "hpcc"
    HTSIM = "htsim"


def _file_with(what: str) -> Any:  # noqa: ANN401  as typer.Option
    return option(f"File with the {what}, if its content does not show that.", metavar="FILE")


Out = Annotated[Path, option("Directory of scenario.toml and flows.csv.", metavar="DIR")]
Topology = Annotated[Path | None, _file_with("topology")]
Flows = Annotated[Path | None, _file_with("flows")]
Format = Annotated[
    Simulator | None,
    option("Simulator that the files are for.", "--format", default="by content"),
]
Congestion = Annotated[
    str | None,
    option(
        "Congestion control; with dcqcn, timely, hpcc or rate-dctcp the transport is RDMA. See "
        "`incastle list algorithms`.",
        metavar="NAME",
        default="new-reno",
    ),
]
MarkingThreshold = Annotated[
    str | None,
    option(
        "Mark above this queue, such as '65 packets' or '100 KB'.",
        metavar="K",
        default="no marking",
    ),
]
Buffer = Annotated[
    str | None,
    option("Buffer of each switch port.", metavar="SIZE", default="from the files"),
]
Duration = Annotated[
    str | None, option("Length of the run.", metavar="TIME", default="enough for all flows")
]
Force = Annotated[bool, option("Replace an existing import.", "--force")]


def import_(
    out: Out,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="Topology, flows, or a configuration with both."),
    ] = None,
    topology: Topology = None,
    flows: Flows = None,
    format_: Format = None,
    congestion: Congestion = None,
    marking_threshold: MarkingThreshold = None,
    buffer: Buffer = None,
    duration: Duration = None,
    force: Force = False,
) -> None:
    """Make a scenario from files of other simulators.

    Supported: configurations, topologies and flows of HPCC's ns-3 simulator; `.topo` files and
    connection matrices (`.cm`) of htsim. The kind of a file is recognised by its content. Hosts
    keep their numbers: `host:3` is node 3. A topology without flows gets a permutation; a matrix
    without a topology gets htsim's default fat tree. Connections with a trigger start when the
    connections that they depend on are complete. Lines that cannot be simulated are reported.
    scenario.toml writes out what the files leave open, such as the transport.
    """
    from incastle.importers import api, write  # noqa: PLC0415  only here

    system = format_.value if format_ else None
    imported = api.import_files(
        api.Sources(files or (), topology, flows, system),
        out,
        write.Choices(congestion, marking_threshold, buffer, duration),
        terminal.counting,
        force=force,
    )
    for note in imported.notes:
        terminal.note(str(note))
    terminal.diagnostics(imported.warnings)
    _show(imported)


def _show(imported: Imported) -> None:
    from incastle.importers.model import waits  # noqa: PLC0415  only here

    network = imported.network
    hosts, links = counted(len(network.access), "host"), counted(network.links, "link")
    switches = counted(network.switches, "switch", "es")
    print(f"{imported.scenario}: {network.keys['topology']}, {hosts}, {switches}, {links}")
    if imported.transfers is None:
        print("a permutation: no file had flows")
        return
    rows = imported.transfers.transfers
    starts = [row.start for row in rows if not waits(row)]
    endless = sum(row.bytes is None for row in rows)
    total = si(sum(row.bytes or 0 for row in rows), "B")
    first, last = (si(starts[place] / 1e12, "s") for place in (0, -1))
    when = f"at {first}" if first == last else f"from {first} to {last}"
    without = f", {endless:,} of them without end" if endless else ""
    after = f", {len(rows) - len(starts):,} after others" if len(starts) < len(rows) else ""
    print(f"{counted(len(rows), 'transfer')}{without}, {total}, {when}{after}")
