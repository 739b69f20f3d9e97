"""From files to a directory with a scenario, in one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from incastle.errors import IncastleError
from incastle.importers import (
    hpcc_case,
    hpcc_flows,
    hpcc_topology,
    htsim_fabric,
    htsim_matrix,
    htsim_topology,
    write,
)
from incastle.importers.lines import BrokenFile, Lines, Note
from incastle.importers.recognise import Kind, recognise
from incastle.storage.files import scratch_folder
from incastle.storage.places import SUMMARY
from incastle.storage.results import file_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from incastle.errors import Diagnostic
    from incastle.importers.htsim_fabric import Fabric
    from incastle.importers.model import Network, Transfers

    Report = Callable[[int], None]
    Counting = Callable[[str, int], AbstractContextManager[Report | None]]

Found = tuple[Kind, Lines]


@dataclass(frozen=True)
class Imported:
    """The outcome of an import.

    Attributes:
        scenario: the file that was written.
        network: the network.
        transfers: the transfers; None where no file had any.
        notes: what the files have and the scenario has not.
        warnings: of `incastle check` about the scenario.

    """

    scenario: Path
    network: Network
    transfers: Transfers | None
    notes: Sequence[Note]
    warnings: Sequence[Diagnostic]


@dataclass(frozen=True)
class Sources:
    """The files: those whose role their content determines, and those whose role is given."""

    files: Sequence[Path] = ()
    topology: Path | None = None
    flows: Path | None = None
    system: str | None = None

    def read(self) -> dict[str, Found]:
        """Read the topology, the flows and the configuration, whichever there are, by their role.

        Raises:
            OSError: a file cannot be read.
            IncastleError: a file is not recognised, or there are two of a kind.

        """
        given: list[tuple[Path, str | None]] = [(path, None) for path in self.files]
        given += [(self.topology, "topology")] if self.topology else []
        given += [(self.flows, "flows")] if self.flows else []
        if not given:
            raise IncastleError("no files: name a topology, flows, or both")
        found: dict[str, Found] = {}
        for path, role in given:
            lines = Lines.read(path)
            kind = recognise(lines, self.system, role)
            name = kind.value.role
            if name in found:
                raise IncastleError(
                    f"{found[name][1].file} and {path}: one file can have the {name}, not two"
                )
            found[name] = (kind, lines)
        return found


def import_files(
    sources: Sources, out: Path, choices: write.Choices, counting: Counting, *, force: bool
) -> Imported:
    """Read the files and write a directory with scenario.toml and flows.csv.

    `counting` gives a progress bar. Nothing is written unless everything is right.

    Raises:
        OSError: a file cannot be read, or the directory not be written.
        IncastleError: a file is broken, or the directory has a scenario already.

    """
    there = _existing(out, force=force)
    choices.checked()
    made = _made(sources.read(), choices, counting)
    if made.transfers:
        _check_hosts(made.network, made.transfers)
    name = file_name(out.resolve().name)
    with scratch_folder(there / name) as scratch:
        made.write(scratch, name)
        warnings = [write.moved(one, out) for one in write.check(scratch, out).warnings]
        out.mkdir(parents=True, exist_ok=True)
        (out / write.FLOWS).unlink(missing_ok=True)
        for path in sorted(scratch.iterdir()):
            path.replace(out / path.name)
    notes = [*made.notes, *made.network.notes, *(made.transfers.notes if made.transfers else ())]
    unique = list(dict.fromkeys(notes))
    return Imported(out / write.SCENARIO, made.network, made.transfers, unique, warnings)


class _Made(NamedTuple):
    """The content of the files, and the function that writes it into a directory."""

    network: Network
    transfers: Transfers | None
    write: Callable[[Path, str], None]
    notes: Sequence[Note] = ()


def _made(found: dict[str, Found], choices: write.Choices, counting: Counting) -> _Made:
    """Return what the files have."""
    topology, flows = found.get("topology"), found.get("flows")
    if "configuration" in found:
        return _configured(found, choices, counting)
    transfers = _transfers(*flows, counting) if flows else None
    network = _network(topology, flows, transfers)

    def write_both(directory: Path, name: str) -> None:
        write.write(directory, name, network, transfers, choices)

    return _Made(network, transfers, write_both)


def _configured(found: dict[str, Found], choices: write.Choices, counting: Counting) -> _Made:
    """Return a simulation from its configuration; files that are given replace those it names."""
    lines = found["configuration"][1]
    choices.refuse_with(lines.file)
    others: dict[str, Lines | None] = {"topology": None, "flows": None}
    for role in others.keys() & found.keys():
        kind, other = found[role]
        if kind.value.system != "hpcc":
            raise IncastleError(f"{other.file}: {kind.value.words} does not fit {lines.file}")
        others[role] = other
    case = hpcc_case.read(lines, **others, counting=counting)

    def write_all(directory: Path, name: str) -> None:
        write.write_configured(directory, name, case, choices)

    return _Made(case.network, case.transfers, write_all, case.config.notes)


def _existing(out: Path, *, force: bool) -> Path:
    """Return the directory, or the nearest one above it that is there.

    What is written is put together in it, so that a scenario that is refused leaves nothing behind.
    """
    nearest = next(path for path in (out.absolute(), *out.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise IncastleError(f"--out {out}: {nearest.name} is not a directory")
    if (out / SUMMARY).exists():
        raise IncastleError(f"--out {out}: is a result of a run; choose another --out")
    taken = [name for name in (write.SCENARIO, write.FLOWS) if (out / name).exists()]
    if taken and not force:
        raise IncastleError(f"--out {out}: has a {taken[0]} already; --force replaces it")
    return nearest


def _transfers(kind: Kind, lines: Lines, counting: Counting) -> Transfers:
    read = hpcc_flows.read if kind is Kind.HPCC_FLOWS else htsim_matrix.read
    with counting(f"reading {lines.file}", len(lines.lines)) as report:
        return read(lines, report)


def _network(topology: Found | None, flows: Found | None, transfers: Transfers | None) -> Network:
    failures = transfers.failures if transfers else ()
    file = transfers.file if transfers else ""
    if topology and topology[0] is Kind.HPCC_TOPOLOGY:
        if failures:
            raise BrokenFile(
                file, failures[0].line, "failures are for a network of htsim: --topology FILE.topo"
            )
        return hpcc_topology.read(topology[1])
    return _fabric(topology, flows, transfers).network(failures, file)


def _fabric(topology: Found | None, flows: Found | None, transfers: Transfers | None) -> Fabric:
    if topology:
        return htsim_topology.read(topology[1])
    if flows and transfers and transfers.hosts:
        return htsim_fabric.default_fat_tree(flows[1], *transfers.hosts)
    name = flows[1].file if flows else ""
    raise IncastleError(f"{name}: flows without a network: name one with --topology FILE")


def _check_hosts(network: Network, transfers: Transfers) -> None:
    """Refuse transfers between hosts that are not there."""
    if transfers.hosts and transfers.hosts[0] != len(network.access):
        count, line = transfers.hosts
        raise BrokenFile(
            transfers.file, line, f"Nodes {count}: the network has {len(network.access)} hosts"
        )
    for row in transfers.transfers:
        for host in (row.source, row.destination):
            if host not in network.access:
                hosts = f"{min(network.access)} to {max(network.access)}"
                raise BrokenFile(
                    transfers.file,
                    row.line,
                    f"{host} is no host of {network.origin}; its hosts are numbered {hosts}",
                )
        if row.source == row.destination:
            raise BrokenFile(transfers.file, row.line, f"host {row.source} sends to itself")
