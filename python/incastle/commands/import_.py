"""`incastle import`: files of other simulators as a scenario."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incastle import terminal
from incastle.units import si

if TYPE_CHECKING:
    from incastle.importers.api import Imported

EXAMPLES = (
    "incastle import topology.txt flow.txt --out hpcc",
    "incastle import leaf-spine.topo incast.cm --out incast --congestion dctcp",
    "incastle import --topology topology.txt --flows flow.txt --format hpcc --out hpcc",
)


class Simulator(StrEnum):
    """Whose files can be read."""

    HPCC = "hpcc"
    HTSIM = "htsim"


Topology = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="File with the topology, if its content does not show that."),
]
Flows = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="File with the flows, if its content does not show that."),
]
Format = Annotated[
    Simulator | None,
    typer.Option("--format", help="Simulator that the files are for.", show_default="by content"),
]
Congestion = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Congestion control; see `incastle list algorithms`.",
        show_default="new-reno",
    ),
]
MarkingThreshold = Annotated[
    str | None,
    typer.Option(
        metavar="K",
        help="Mark above this queue, such as '65 packets' or '100 KB'.",
        show_default="no marking",
    ),
]


def import_(
    out: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Directory of scenario.toml and flows.csv."),
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...", help="A topology, a list of flows, or both, in any order."
        ),
    ] = None,
    topology: Topology = None,
    flows: Flows = None,
    format_: Format = None,
    congestion: Congestion = None,
    marking_threshold: MarkingThreshold = None,
    buffer: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Buffer of each switch port.", show_default="from the files"
        ),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Length of the run.", show_default="enough for all flows"
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing import.")] = False,
) -> None:
    """Make a scenario from files of other simulators.

    Supported: topology and flow files of HPCC's ns-3 simulator; `.topo` files and connection
    matrices (`.cm`) of htsim. The kind of a file is recognised by its content. Hosts keep their
    numbers: `host:3` is node 3. A topology without flows gets a permutation; a connection matrix
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
    print(
        f"{imported.scenario}: {network.keys['topology']}, {len(network.access):,} hosts, "
        f"{network.switches:,} switches, {network.links:,} links"
    )
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
    print(f"{len(rows):,} transfers{without}, {total}, {when}{after}")
