"""Lists of transfers that both simulators replay: a slice of the cluster benchmark, and long flows.

The benchmark itself has persistent connections for requests and responses. Both simulators have
one-way transfers, so each request and each response becomes one, with a separate connection. A
response begins a fixed time after its request began: about an idle round trip.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

import incastle as ic

if TYPE_CHECKING:
    from pathlib import Path

    from incastle.scenario import Value

HEADER = "start_s,source,destination,bytes"
ANSWER_AFTER_S = 150e-6
REQUEST_BYTES = 1600
"""Size of a request of the cluster benchmark's queries, as in its scenario."""
ENDLESS_BYTES = 10**14
"""More than any of these links carries in a run."""


@dataclass(frozen=True, order=True)
class Arrival:
    """One line of a list."""

    start_s: float
    source: str
    destination: str
    bytes: int

    def __str__(self) -> str:
        """Return the line; every instant of the engine has 12 decimals."""
        return f"{self.start_s:.12f},{self.source},{self.destination},{self.bytes}"


def write(path: Path, arrivals: list[Arrival]) -> None:
    """Write a list, ordered by start."""
    path.write_text("\n".join([HEADER, *map(str, sorted(arrivals))]) + "\n", encoding="ascii")


def read(path: Path) -> list[Arrival]:
    """Read what `write` wrote; Incastle has checked the file before."""
    lines = path.read_text(encoding="ascii").splitlines()[1:]
    fields = (line.split(",") for line in lines)
    return [
        Arrival(float(start), source, destination, int(size))
        for start, source, destination, size in fields
    ]


def of_cluster(scenario: Path, seconds: float) -> list[Arrival]:
    """Run the cluster benchmark and list what began in it."""
    short: dict[str, Value] = {
        "run.duration": f"{seconds:g} s",
        "measure.goodput": False,
        "measure.timeouts": False,
        "measure.responses": True,
        "flows.query.request": f"{REQUEST_BYTES} B",
    }
    result = ic.run(ic.load(scenario), overrides=short)
    hosts = result.flows.select("flow", "from", "to")
    rows = result.transfers.filter(pl.col("kind") != "round").join(hosts, on="flow")
    found: list[Arrival] = []
    columns = ("kind", "started_s", "from", "to", "bytes")
    for kind, start, source, destination, size in rows.select(columns).iter_rows():
        if kind == "flow":
            found.append(Arrival(start, source, destination, size))
            continue
        found.append(Arrival(start, destination, source, REQUEST_BYTES))
        found.append(Arrival(start + ANSWER_AFTER_S, source, destination, size))
    return [one for one in found if one.start_s < seconds]


def of_star(senders: int) -> list[Arrival]:
    """List flows that outlast any run, whose starts are spread over one idle round trip."""
    return [
        Arrival(number * 100e-6 / senders, f"sender:{number}", "receiver", ENDLESS_BYTES)
        for number in range(senders)
    ]
