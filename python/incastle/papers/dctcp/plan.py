"""What dctcp runs: every experiment as a scenario file with its overrides.

Names say what differs: `basic/SPEED/ALGORITHM`, `convergence/ALGORITHM`,
`incast/BUFFERS/ALGORITHM/rto=RTO/n=SERVERS`, `all/ALGORITHM`, `build-up/ALGORITHM`,
`pressure/alone/ALGORITHM` and `pressure/beside/ALGORITHM`, `cluster/ALGORITHM`. `today/...` are the
same with hosts of today instead of 2010's, `why/...` what is varied to find a reason.

The scenario files are TCP's; DCTCP is another congestion control and a marker at the switch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from incastle.papers import Experiment, Length

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ALGORITHMS = {"tcp": "TCP", "dctcp": "DCTCP"}
PHASES = 9
"""Of the convergence: one to five flows, and down to one again."""
HOSTS_ALL = 41
HOPS_PER_SECOND = 330e3
"""Packet-hops of a full link at 1 Gbit/s: packets and every second's ACK, over two links."""
HOPS_PER_QUERY = 2500
"""Of 1 MB in answers."""
HOPS_CLUSTER = 1.4e6
"""Per second of the cluster benchmark."""


@dataclass(frozen=True)
class Speed:
    """A link speed: its name, its marking threshold in packets, its share of the run's length."""

    name: str
    threshold: int
    share: float


SPEEDS = {"1G": Speed("1 Gbit/s", 20, 1), "10G": Speed("10 Gbit/s", 65, 0.1)}


@dataclass(frozen=True)
class Extent:
    """How much a length runs: seeds, and seconds, rounds or numbers of servers of each part."""

    seeds: int
    basic_s: float
    phase_s: float
    phase_seeds: int
    incast_rounds: int
    servers: tuple[int, ...]
    all_rounds: int
    transfers: int
    pressure_s: float
    cluster_s: float


_SERVERS = (1, 2, 4, 6, 8, 9, 10, 11, 12, 14, 16, 20, 25, 29, 30, 32, 34, 35, 36, 38, 40)
_SERVERS_QUICK = (1, 8, 10, 20, 29, 35, 40)
SERVERS_TODAY = (10, 20, 30, 40)
WINDOW_SERVERS = 20
"""From so many on, three packets of each do not fit into a static buffer."""

EXTENTS = {
    Length.QUICK: Extent(1, 1, 3, 1, 40, _SERVERS_QUICK, 4, 200, 0.8, 2),
    Length.DEFAULT: Extent(5, 6, 15, 3, 300, _SERVERS, 50, 1000, 3, 20),
    Length.FULL: Extent(5, 30, 30, 5, 1000, tuple(range(1, 41)), 1000, 1000, 150, 600),
}

MEMORIES = {"1MB": "1 MB", "1.5MB": "1500 KB", "2MB": "2 MB", "4MB": "4 MB"}
"""Of the switch, in all-to-all incast; 4 MB is the paper's."""
STATIC = {"switch.buffer": "100 KB"}
_RTO_300 = {"transport.min_rto": "300 ms", "transport.initial_rto": "300 ms"}
RTOS: dict[str, dict[str, str]] = {"300ms": _RTO_300, "10ms": {}}
TODAY = {"transport.initial_window": "10 packets", "transport.idle_restart": "false"}
"""With the limit of the receive window taken away where the queries are."""


def experiments(length: Length) -> list[Experiment]:
    """List every experiment of the paper at this length."""
    extent = EXTENTS[length]
    return [
        *_basic(extent),
        *_convergence(extent),
        *_incast(extent),
        *_all(extent, "all/"),
        *_build_up(extent),
        *_pressure(extent, "pressure/"),
        *_cluster(extent),
        *_today(extent),
        *_why(extent),
    ]


def algorithm(name: str, threshold: int = 20) -> dict[str, str]:
    """Give an algorithm as a scenario's keys."""
    if name == "tcp":
        return {}
    return {
        "transport.congestion": "dctcp",
        "switch.queue.kind": "threshold",
        "switch.queue.mark_above": f"{threshold} packets",
    }


def evaluated_from(speed: Speed, length: Length) -> float:
    """Give the second from which two long flows are evaluated: half of the run."""
    return EXTENTS[length].basic_s * speed.share / 2


def _basic(extent: Extent) -> Iterator[Experiment]:
    for key, speed in SPEEDS.items():
        seconds = extent.basic_s * speed.share
        window = {
            "network.rate": speed.name,
            "run.duration": f"{seconds:g} s",
            "measure.from": f"{seconds / 2:g} s",
        }
        for name in ALGORITHMS:
            yield Experiment(
                f"basic/{key}/{name}",
                "long.toml",
                {**algorithm(name, speed.threshold), **window},
                extent.seeds,
                HOPS_PER_SECOND * extent.basic_s,
                ("queue_samples", "throughput"),
            )


def _convergence(extent: Extent) -> Iterator[Experiment]:
    phase = extent.phase_s
    times = {"run.duration": f"{PHASES * phase:g} s"}
    for flow in range(5):
        times[f"flows.sender{flow}.start"] = f"{flow * phase:g} s"
        times[f"flows.sender{flow}.stop"] = f"{(PHASES - flow) * phase:g} s"
    # As many rates to a phase as 1 s gives in the phases of 30 s.
    times["measure.throughput.every"] = f"{phase / 30:g} s"
    for name in ALGORITHMS:
        yield Experiment(
            f"convergence/{name}",
            "convergence.toml",
            {**algorithm(name), **times},
            extent.phase_seeds,
            HOPS_PER_SECOND * PHASES * phase,
            ("throughput",),
        )


def _incast(extent: Extent) -> Iterator[Experiment]:
    for name in ALGORITHMS:
        for rto, keys in RTOS.items():
            for n in extent.servers:
                yield _query(f"incast/static/{name}/rto={rto}/n={n}", extent, {**STATIC, **keys})
        for n in extent.servers:
            yield _query(f"incast/dynamic/{name}/rto=10ms/n={n}", extent, {})


def _query(name: str, extent: Extent, keys: Mapping[str, str]) -> Experiment:
    """One point: the algorithm and the number of servers are in the name."""
    parts = name.split("/")
    overrides = {
        **algorithm(next(part for part in parts if part in ALGORITHMS)),
        "network.senders": parts[-1].removeprefix("n="),
        "flows.query.rounds": str(extent.incast_rounds),
        **keys,
    }
    cost = HOPS_PER_QUERY * extent.incast_rounds
    return Experiment(name, "incast.toml", overrides, extent.seeds, cost, ("rounds",))


def _all(
    extent: Extent, prefix: str, keys: Mapping[str, str] | None = None
) -> Iterator[Experiment]:
    rounds = {"flows.query.rounds": str(extent.all_rounds)}
    for name in ALGORITHMS:
        yield Experiment(
            f"{prefix}{name}",
            "all-to-all.toml",
            {**algorithm(name), **rounds, **(keys or {})},
            extent.seeds,
            HOPS_PER_QUERY * HOSTS_ALL * extent.all_rounds,
            ("rounds",),
        )


def _build_up(extent: Extent) -> Iterator[Experiment]:
    seconds = 0.5 + extent.transfers * 0.02
    keys = {"flows.short.rounds": str(extent.transfers), "run.duration": f"{seconds:g} s"}
    for name in ALGORITHMS:
        yield Experiment(
            f"build-up/{name}",
            "build-up.toml",
            {**algorithm(name), **keys},
            extent.seeds,
            HOPS_PER_SECOND * seconds,
            ("rounds", "links"),
        )


def _pressure(
    extent: Extent, prefix: str, keys: Mapping[str, str] | None = None
) -> Iterator[Experiment]:
    """Ask from 0.2 s on, for so many seconds or 10,000 queries."""
    seconds = 0.2 + extent.pressure_s
    for kind, scenario, links in (("alone", "pressure-alone", 1), ("beside", "pressure", 34)):
        for name in ALGORITHMS:
            tables = ("rounds", "links", *(("memory",) if kind == "beside" else ()))
            yield Experiment(
                f"{prefix}{kind}/{name}",
                f"{scenario}.toml",
                {**algorithm(name), "run.duration": f"{seconds:g} s", **(keys or {})},
                extent.seeds,
                HOPS_PER_SECOND * links * seconds,
                tables,
            )


def _cluster(extent: Extent) -> Iterator[Experiment]:
    for name in ALGORITHMS:
        yield Experiment(
            f"cluster/{name}",
            "cluster.toml",
            {**algorithm(name), "run.duration": f"{extent.cluster_s:g} s"},
            extent.seeds,
            HOPS_CLUSTER * extent.cluster_s,
            ("rounds", "flows"),
        )


def _today(extent: Extent) -> Iterator[Experiment]:
    unlimited = {**TODAY, "transport.receive_window": "unlimited"}
    for name in ALGORITHMS:
        for n in SERVERS_TODAY:
            yield _query(f"today/dynamic/{name}/rto=10ms/n={n}", extent, unlimited)
    yield from _all(extent, "today/all/", unlimited)
    queries = {**TODAY, "flows.query.transport.receive_window": "unlimited"}
    shorter = replace(extent, seeds=min(extent.seeds, 3), pressure_s=extent.pressure_s / 1.5)
    yield from _pressure(shorter, "today/pressure/", queries)


def _why(extent: Extent) -> Iterator[Experiment]:
    """Vary what may be the reason of a verdict."""
    two = {**STATIC, "transport.initial_window": "2 packets"}
    for n in extent.servers:
        if n >= WINDOW_SERVERS:
            yield _query(f"why/static/dctcp/rto=10ms/n={n}", extent, two)
    shorter = replace(extent, all_rounds=max(4, extent.all_rounds // 3))
    for key, memory in MEMORIES.items():
        if memory != "4 MB":
            keys = {"switch.buffer": f"{{ shared = '{memory}', alpha = 0.21 }}"}
            yield from _all(shorter, f"why/memory/{key}/", keys)
    limited = next(one for one in _basic(extent) if one.name == "basic/1G/tcp")
    keys = {**limited.overrides, "transport.receive_window": "512 KB"}
    yield replace(limited, name="why/basic/tcp", overrides=keys)
    long = next(one for one in _convergence(extent) if one.name == "convergence/tcp")
    unlimited = {**long.overrides, "transport.receive_window": "unlimited"}
    yield replace(long, name="why/convergence/tcp", overrides=unlimited, seeds=1)
