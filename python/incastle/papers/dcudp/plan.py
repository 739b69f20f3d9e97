"""What dcudp runs: every experiment as a scenario file with its overrides.

Names say what differs: `long/SYSTEM/n=SENDERS` (figures 6 and 7: the first 10 ms of a run are
figure 6b), `start/dctcp-unmarked/n=SENDERS` (why DCTCP is slow in them), `after/SYSTEM` (figures 8
and 9), `newcomer/SYSTEM`, `bursts/SYSTEM` (the abstract); `map/READING/long/n=SENDERS` and
`map/READING/after` (every combination of readings), `open/PLACE/long/SYSTEM/n=SENDERS` and
`open/PLACE/after/SYSTEM` (other values of what is open).

A system is a reading of DCUDP by its key, or another protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from incastle.reproduction.papers import Experiment, Length

from .readings import (
    BASE,
    DCTCP,
    DCTCP_50,
    DCTCP_ONE,
    DCTCP_UNMARKED,
    FLOORS,
    SHOWN,
    TCP,
    TCP_ECN,
    UDT,
    combinations,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .readings import System

PORT = "switch->receiver"
LINK = 1e9
"""Of the receiver, in bit/s."""
MANY = 20
"""Senders of figure 7, and of the bursts."""
BURST_S, PERIOD_S = 0.1, 0.25
EARLY_MS, SHORT_MS = 1, 10
"""Of the runs of figure 6: what slow start decides, and the document's short flows."""
NEWCOMER_S = 0.1
MAP_SENDERS = (1, 4, MANY)
UDT_SENDERS = (2, 5, 10, MANY)

# Packet-hops per second of a run. A full link is 83,333 packets, each over two links. TCP's ACKs
# are as many; DCUDP sends an ACK and an ACK2
# per flow and round trip, which the queue at the threshold makes 280 us for few flows and the floor
# 240 us for twenty.
_DATA = 2 * LINK / 12_000
_ACKED = 2 * _DATA
_ACKS_PER_FLOW = 4 / 260e-6
_FLOODED = 2e6
"""UDT's twenty senders, of which the switch drops much."""
_STORMS = 1.4
"""What DCUDP's losses, NAKs and repetitions make of it."""
_WRITES = 0.3 * LINK / 11_648
"""Of each Gbit/s that applications write to TCP: a message is as much work as 0.3 packet-hops. To a
sender of UDT or DCUDP, which is paced, they cost nothing while it waits."""


@dataclass(frozen=True)
class Extent:
    """How much a length runs."""

    seeds: int
    long_s: float
    senders: tuple[int, ...]
    after_s: float
    bursts: int
    map_seeds: int
    map_s: float
    map_floors: tuple[str, ...]
    open_seeds: int


_SENDERS = (1, 2, 4, 10, 20)
"""About twice as many each time: work grows with n, and every n is run in full."""
EXTENTS = {
    Length.QUICK: Extent(1, 0.2, (1, 4, 20), 0.4, 1, 1, 0.2, ("latest",), 1),
    Length.DEFAULT: Extent(3, 1.0, _SENDERS, 1.0, 4, 1, 0.3, FLOORS, 1),
    Length.FULL: Extent(6, 1.0, tuple(range(1, 21)), 1.0, 12, 3, 1.0, FLOORS, 3),
}
"""Expected, in millions of packet-hops: 39 by `--quick`, 271 by default (`long/` 128, `map/` 58,
`open/` 35, `bursts/` 29, `after/` 16, the rest 5), 2000 in full."""

# Other values of what is open: which systems they are run with, and the keys.
_DCUDP, _TCP = (BASE,), (TCP, DCTCP)
VARIANTS: dict[str, tuple[tuple[System, ...], dict[str, str]]] = {
    "the law's round trip smoothed": (_DCUDP, {"transport.rtt": "smoothed"}),
    "congestion mode begins at the interface's rate": (
        _DCUDP,
        {"transport.readings.entry": "interface"},
    ),
    "the backlog leaves at the application's rate": (
        _DCUDP,
        {"transport.readings.backlog": "app-rate"},
    ),
    "a NAK begins congestion mode": (_DCUDP, {"transport.loss_in_udp_mode": "congestion-mode"}),
    "EXP's floor as UDT's, 300 ms": (_DCUDP, {"transport.exp_floor": "300 ms"}),
    "new data stop after 8 round trips without an ACK": (_DCUDP, {"transport.silent_rtts": "8"}),
    "an idle round trip of 100 us for each link": ((*_DCUDP, *_TCP), {"network.delay": "50 us"}),
    "connections begin with a handshake": ((*_DCUDP, *_TCP), {"transport.handshake": "true"}),
    "4 MB shared by all ports, alpha 0.21": (
        (*_DCUDP, *_TCP),
        {"switch.buffer": "{ shared = '4 MB', alpha = 0.21 }"},
    ),
    "TCP's first window 10": (_TCP, {"transport.initial_window": "10 packets"}),
    "NewReno with SACK": (
        (TCP,),
        {"transport.congestion": "new-reno", "transport.recovery": "sack"},
    ),
}


def experiments(length: Length) -> list[Experiment]:
    """List every experiment of the paper at this length."""
    extent = EXTENTS[length]
    return [
        *_long(extent),
        *_after(extent),
        *_newcomer(extent),
        *_bursts(extent),
        *_map(extent),
        *_open(extent),
    ]


def senders(length: Length) -> tuple[int, ...]:
    """Give the numbers of senders of figure 6."""
    return EXTENTS[length].senders


def floors(length: Length) -> tuple[str, ...]:
    """Give the floors of the map."""
    return EXTENTS[length].map_floors


def seconds(length: Length) -> float:
    """Give how long the runs of figures 6 and 7 last."""
    return EXTENTS[length].long_s


def ended(length: Length) -> float:
    """Give the second in which figure 8's bulk transfer ends."""
    return EXTENTS[length].after_s / 2


def bursts(length: Length) -> int:
    """Give the number of bursts."""
    return EXTENTS[length].bursts


def _long(extent: Extent) -> Iterator[Experiment]:
    for system in (*SHOWN, TCP, DCTCP):
        for n in extent.senders:
            yield _cbr(f"long/{system.key}/n={n}", system, n, extent.long_s, extent.seeds)
    yield _cbr(f"long/{TCP_ECN.key}/n={MANY}", TCP_ECN, MANY, extent.long_s, extent.seeds)
    for n in UDT_SENDERS:
        yield _cbr(f"long/{UDT.key}/n={n}", UDT, n, extent.long_s, extent.seeds)
    for n in extent.senders:
        name = f"start/{DCTCP_UNMARKED.key}/n={n}"
        yield _cbr(name, DCTCP_UNMARKED, n, SHORT_MS / 1e3, extent.seeds)


def _cbr(
    name: str,
    system: System,
    n: int,
    lasts: float,
    seeds: int,
    extra: Mapping[str, str] | None = None,
) -> Experiment:
    """One point of figure 6; with as many senders as figure 7 also the queue."""
    # What waits at the end is neither lost nor received, where losses are told by that.
    sampled = (n == MANY and not name.startswith("start/")) or system is UDT
    overrides = {
        **system.overrides,
        "network.senders": str(n),
        "run.duration": f"{lasts:g} s",
        **({} if sampled else {"measure.queue": "off"}),
        **(extra or {}),
    }
    queue = ("queue_samples",) if sampled else ()
    counters = () if system.scenarios == "tcp" else ("udt",)
    tables = ("goodput", *queue, *counters)
    cost = _cost(system, n, 1.6 * n) * lasts
    return Experiment(name, f"cbr-{system.scenarios}.toml", overrides, seeds, cost, tables)


def _cost(system: System, n: int, gbit: float) -> float:
    """Give the packet-hops of a second with n flows to which so many Gbit/s are written."""
    hops = {
        "udt": _FLOODED * n / MANY,
        "tcp": _ACKED + gbit * _WRITES,
        "dcudp": _STORMS * (_DATA + n * _ACKS_PER_FLOW),
    }
    return hops[system.scenarios]


def _after(extent: Extent) -> Iterator[Experiment]:
    for system in (*SHOWN, TCP, DCTCP, DCTCP_50):
        yield _left(f"after/{system.key}", system, extent.after_s, extent.seeds)


def _left(
    name: str,
    system: System,
    lasts: float,
    seeds: int,
    extra: Mapping[str, str] | None = None,
) -> Experiment:
    overrides = {
        **system.overrides,
        "run.duration": f"{lasts:g} s",
        "flows.ftp.stop": f"{1e3 * lasts / 2:g} ms",
        **(extra or {}),
    }
    watched = "windows" if system.scenarios == "tcp" else "dcudp_modes"
    cost = _cost(system, 2, 1.0) * lasts
    scenario = f"after-{system.scenarios}.toml"
    return Experiment(name, scenario, overrides, seeds, cost, ("throughput", watched))


def _newcomer(extent: Extent) -> Iterator[Experiment]:
    for system in (*SHOWN, DCTCP, DCTCP_ONE, TCP, TCP_ECN):
        yield Experiment(
            f"newcomer/{system.key}",
            f"newcomer-{system.scenarios}.toml",
            system.overrides,
            extent.seeds,
            _cost(system, 10, 16.0) * 0.15,
            ("throughput",),
        )


def _bursts(extent: Extent) -> Iterator[Experiment]:
    lasts = {"run.duration": f"{extent.bursts * PERIOD_S:g} s"}
    for system in (*SHOWN, DCTCP, DCTCP_ONE, TCP, TCP_ECN):
        yield Experiment(
            f"bursts/{system.key}",
            f"bursts-{system.scenarios}.toml",
            {**system.overrides, **lasts},
            extent.seeds,
            0.8 * _cost(system, MANY, 1.0) * extent.bursts * PERIOD_S,
            ("throughput",),
        )


def _map(extent: Extent) -> Iterator[Experiment]:
    for reading in combinations(extent.map_floors):
        system = reading.system(reading.key)
        for n in MAP_SENDERS:
            name = f"map/{reading.key}/long/n={n}"
            yield _cbr(name, system, n, extent.map_s, extent.map_seeds)
        yield _left(f"map/{reading.key}/after", system, 2 * extent.map_s, extent.map_seeds)


def _open(extent: Extent) -> Iterator[Experiment]:
    for place, (systems, keys) in enumerate(VARIANTS.values()):
        for system in systems:
            base = f"open/{place}"
            for n in MAP_SENDERS:
                name = f"{base}/long/{system.key}/n={n}"
                yield _cbr(name, system, n, extent.long_s, extent.open_seeds, keys)
            name = f"{base}/after/{system.key}"
            yield _left(name, system, extent.after_s, extent.open_seeds, keys)
