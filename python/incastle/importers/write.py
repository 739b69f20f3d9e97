"""A scenario and its list of transfers, from what was read.

Everything that the files do not have is written out with Incastle's default or with what was
chosen, so that it can be seen and changed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from incastle.errors import IncastleError, ScenarioError
from incastle.importers import hpcc_scenario, quantities
from incastle.importers.dependences import begins
from incastle.importers.model import HOST, Network, Node, Tie, Transfer, Transfers, names
from incastle.scenario import Scenario
from incastle.toml import one_line_toml
from incastle.units import PS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from incastle.errors import Diagnostic
    from incastle.importers.hpcc_case import HpccCase
    from incastle.scenario import Value

SCENARIO = "scenario.toml"
FLOWS = "flows.csv"
HEADER = "start_s,source,destination,bytes"
DEPENDENT = HEADER + ",after,acknowledged,arrived"

SMALLEST = """\
[run]
duration = "1 s"
[network]
topology = "star"
senders = 1
[flows.one]
workload = "bulk"
from = "senders"
to = "receiver"
"""
"""The shortest scenario: the rest are the defaults."""

CUSTOM = "custom"
"""The `congestion` of a user's controllers."""
RDMA = frozenset({"dcqcn", "timely", "hpcc", "rate-dctcp"})
"""Controls of queue pairs: the transport is RDMA."""

MS = 10**9
SPARE = 1000 * MS
"""Added to a run's length, for a few retransmission timeouts."""
SPARE_ENDLESS = 10 * MS
"""The same where transfers go on until the end: each millisecond takes its time to simulate."""


PERMUTATION = 10**6
"""Bytes of each flow where no file has flows."""


@dataclass(frozen=True)
class Choices:
    """Settings that the files lack. None is Incastle's default; the length is then computed."""

    congestion: str | None = None
    marking_threshold: str | None = None
    buffer: str | None = None
    duration: str | None = None

    def refuse_with(self, config: str) -> None:
        """Refuse what a configuration sets.

        Raises:
            IncastleError: a choice that it sets was made.

        """
        chosen = {
            "--congestion": self.congestion,
            "--marking-threshold": self.marking_threshold,
            "--buffer": self.buffer,
        }
        for option, value in chosen.items():
            if value is not None:
                raise IncastleError(f"{option}: {config} sets it; change the scenario instead")

    def checked(self) -> Scenario:
        """Return the smallest scenario with these choices.

        Raises:
            IncastleError: a choice is not valid.

        """
        if self.congestion is not None and (self.congestion == CUSTOM or ".py:" in self.congestion):
            raise IncastleError(
                f"--congestion {self.congestion}: a controller of your own comes after the import: "
                "put its file into the folder of the scenario, and run that with "
                "--set transport.congestion=FILE.py:CLASS"
            )
        options = {
            "--congestion": ("transport.congestion", self.congestion),
            "--marking-threshold": ("switch.queue.marking_threshold", self.marking_threshold),
            "--buffer": ("switch.buffer", self.buffer),
            "--duration": ("run.duration", self.duration),
        }
        settings: list[tuple[str, str]] = []
        scenario = Scenario.from_text(SMALLEST)
        for option, (key, value) in options.items():
            if value is None:
                continue
            if option == "--marking-threshold":
                settings.append(("switch.queue.kind", "threshold"))
            if key == "transport.congestion" and value in RDMA:
                settings.append(("transport.kind", "rdma"))
            settings.append((key, value))
            try:
                scenario = Scenario(SMALLEST, overrides=tuple(settings))
            except ScenarioError as error:
                first = error.diagnostics[0]
                hint = f"; {first.help}" if first.help else ""
                raise IncastleError(f"{option} {value}: {first.message}{hint}") from None
        return scenario


def write(
    directory: Path, name: str, network: Network, transfers: Transfers | None, choices: Choices
) -> None:
    """Write scenario.toml, and flows.csv where there are transfers that end."""
    finite = [row for row in transfers.transfers if row.bytes] if transfers else []
    if finite:
        _write_list(directory / FLOWS, finite)
    text = "\n".join(_lines(name, network, transfers, choices)) + "\n"
    (directory / SCENARIO).write_text(text, encoding="utf-8")


def write_configured(directory: Path, name: str, case: HpccCase, choices: Choices) -> None:
    """Write scenario.toml of a configuration, and a list of flows for each priority."""
    groups = hpcc_scenario.groups(case.transfers.transfers)
    lists: dict[str, Value] = {}
    for label, rows in groups.items():
        file = FLOWS if len(groups) == 1 else f"flows-{label}.csv"
        _write_list(directory / file, rows)
        lists[label] = file
    run = hpcc_scenario.run(case.config)
    if choices.duration is not None:
        run["duration"] = choices.checked()["run.duration"]
    tables = hpcc_scenario.tables(case.config, case.topology.links, groups)
    lines = hpcc_scenario.lines(name, case.network, {"run": run} | tables, lists)
    text = "\n".join((f"# Made by `incastle import` from {case.network.origin}.", *lines)) + "\n"
    (directory / SCENARIO).write_text(text, encoding="utf-8")


def _write_list(path: Path, rows: Sequence[Transfer]) -> None:
    """Write transfers for the workload `flow-list`."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        tied = any(row.tie for row in rows)
        file.write((DEPENDENT if tied else HEADER) + "\n")
        for row in rows:
            start = quantities.in_seconds(row.start)
            fields = f"{start},{HOST}:{row.source},{HOST}:{row.destination},{row.bytes}"
            file.write(f"{fields},{_tie(row.tie)}\n" if tied else f"{fields}\n")


def _tie(tie: Tie | None) -> str:
    """Return the columns of what a transfer waits for and what waits for it."""
    after, acknowledged, arrived = tie or Tie()
    name, value = after or ("", 1)
    waits = name if value == 1 else f"{name}:{value}"
    return f"{waits},{acknowledged or ''},{arrived or ''}"


def check(directory: Path, named: Path) -> Scenario:
    """Check what was written; messages name the place that it is to have.

    Raises:
        ScenarioError: it is not right: for example, the network is in parts.

    """
    try:
        return Scenario.from_file(directory / SCENARIO)
    except ScenarioError as error:
        raise ScenarioError([moved(one, named) for one in error.diagnostics]) from None


def moved(one: Diagnostic, directory: Path) -> Diagnostic:
    """Return a message about the scenario in another directory."""
    return replace(one, file=str(directory / SCENARIO))


def _lines(
    name: str, network: Network, transfers: Transfers | None, choices: Choices
) -> Iterator[str]:
    defaults = choices.checked()
    origins = [network.origin] + ([transfers.origin] if transfers else [])
    yield f"# Made by `incastle import` from {' and '.join(origins)}."
    yield from _pair("name", name)
    yield from ("", "[run]")
    if choices.duration is None:
        length, why = _length(network, transfers)
        yield f"# Not in the files: {why}."
        yield from _pair("duration", quantities.time(length))
    else:
        yield from _pair("duration", defaults["run.duration"])
    yield from ("", "[network]")
    for key, value in network.keys.items():
        yield from _pair(key, value)
    for label, keys in network.groups.items():
        yield from ("", f"[network.links.{label}]")
        for key, value in keys.items():
            yield from _pair(key, value)
    for label, keys in network.degraded.items():
        yield from ("", f"[network.degraded.{label}]")
        for key, value in keys.items():
            yield from _pair(key, value)
    yield from _from_defaults(network, choices, defaults)
    yield from _flows(transfers)


def _pair(key: str, value: Value) -> Iterator[str]:
    yield f"{key} = {one_line_toml(value)}"


def _from_defaults(network: Network, choices: Choices, defaults: Scenario) -> Iterator[str]:
    """Yield what the files do not have: buffers, marking, transport."""
    yield from ("", f"# Not in the files, here and below: {_whose(choices)}.", "[switch]")
    yield from _pair("buffer", defaults["switch.buffer"])
    yield from ("", "[switch.queue]")
    for key in ("kind", "marking_threshold") if choices.marking_threshold else ("kind",):
        yield from _pair(key, defaults[f"switch.queue.{key}"])
    if network.buffers and choices.buffer is None:
        yield from ("", f"# From {network.origin}.")
        for switches, count in network.buffers.items():
            yield f"[switches.{switches.partition(':')[0]}]"
            yield from _pair("of", switches)
            yield from _pair("buffer", quantities.size(count))
    yield from ("", "[transport]")
    of_rdma, of_tcp = ("kind", "congestion", "mtu"), ("preset", "congestion", "mss", "min_rto")
    for key in of_rdma if choices.congestion in RDMA else of_tcp:
        yield from _pair(key, defaults[f"transport.{key}"])


def _whose(choices: Choices) -> str:
    given = {
        "--congestion": choices.congestion,
        "--marking-threshold": choices.marking_threshold,
        "--buffer": choices.buffer,
    }
    chosen = ", ".join(option for option, value in given.items() if value is not None)
    return f"{chosen} as chosen, the rest Incastle's defaults" if chosen else "Incastle's defaults"


def _flows(transfers: Transfers | None) -> Iterator[str]:
    if transfers is None:
        yield from ("", "# Not in the files: each host sends to another one.")
        yield from ("[flows.permutation]", 'workload = "permutation"', 'from = "all"', 'to = "all"')
        yield from _pair("size", quantities.size(PERMUTATION))
        return
    if any(row.bytes for row in transfers.transfers):
        yield from ("", "[flows.imported]", 'workload = "flow-list"', 'from = "all"', 'to = "all"')
        yield from _pair("transfers", FLOWS)
    endless = [row for row in transfers.transfers if row.bytes is None]
    for number, (start, destination, sources) in enumerate(_together(endless), 1):
        yield from ("", f"[flows.endless-{number}]", 'workload = "bulk"')
        yield from _pair("from", names(Node(HOST, source) for source in sources))
        yield from _pair("to", f"{HOST}:{destination}")
        yield from _pair("start", quantities.time(start))
        yield from _pair("start_spread", "0 s")


def _together(endless: Sequence[Transfer]) -> Iterator[tuple[int, int, list[int]]]:
    """Group transfers without end by start and destination, each source once in a group."""
    copies: Counter[tuple[int, int, int]] = Counter()
    groups: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
    for row in endless:
        place = (row.start, row.source, row.destination)
        groups[row.start, row.destination, copies[place]].append(row.source)
        copies[place] += 1
    for (start, destination, _), sources in groups.items():
        yield start, destination, sources


def _last_start(network: Network, transfers: Transfers) -> int:
    """Return when the last transfer begins if none meets another; exact where none waits."""

    def takes(row: Transfer) -> int:
        rate = min(network.access[row.source], network.access[row.destination])
        return 8 * (row.bytes or 0) * PS_PER_S // rate

    begun = begins(transfers.transfers, takes)
    return max(begin for begin in begun if begin is not None)


def _length(network: Network, transfers: Transfers | None) -> tuple[int, str]:
    """Return a length in which the hosts' links can carry every transfer, and why."""
    if transfers is None:
        return SPARE, "a second"
    bits: Counter[tuple[str, int]] = Counter()
    for row in transfers.transfers:
        bits["sent", row.source] += 8 * (row.bytes or 0)
        bits["received", row.destination] += 8 * (row.bytes or 0)
    busiest = max(count * PS_PER_S // network.access[host] for (_, host), count in bits.items())
    endless = any(row.bytes is None for row in transfers.transfers)
    length = _last_start(network, transfers) + 2 * busiest + (SPARE_ENDLESS if endless else SPARE)
    spare = quantities.time(SPARE_ENDLESS if endless else SPARE)
    why = f"the last start, twice what the busiest host's link needs, and {spare}"
    return -(-length // MS) * MS, why
