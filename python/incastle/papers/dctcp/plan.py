"""What dctcp runs: every experiment as a scenario file with its overrides.

Names say what differs: `basic/SPEED/ALGORITHM`, `convergence/ALGORITHM`,
`incast/BUFFERS/ALGORITHM/rto=RTO/n=SERVERS`, `all/ALGORITHM`, `build-up/ALGORITHM`,
`pressure/alone/ALGORITHM` and `pressure/beside/ALGORITHM`, `cluster/ALGORITHM`. `today/...` are the
same with hosts of today instead of 2010's, `why/...` what is varied to find a reason (why.py).

The scenario files are TCP's; DCTCP is another congestion control and a marker at the switch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from incastle.reproduction.papers import Experiment, Length

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ALGORITHMS = {"tcp": "TCP", "dctcp": "DCTCP"}
PHASES = 9
"""Of the convergence: one to five flows, and down to one again."""
RATES = 30
"""Of each flow in a phase, which is so many milliseconds: no interval lies in two phases."""
HOSTS_ALL = 41
HOPS_PER_SECOND = 244e3
"""Packet-hops of a full link at 1 Gbit/s: packets and every second's ACK, over two links."""
HOPS_PER_QUERY = 2300
"""Of 1 MB in answers, requests included."""
HOPS_CLUSTER = 1.4e6
"""Per second of the cluster benchmark."""
MOST_PRESSURE_S = 150
"""Enough for the paper's 10,000 queries without background."""
LONGER_ALONE = 8
"""Hosts of today without background: few queries have a timeout, and alone they cost little."""
MEMORY_SAMPLES = 3000
"""Of what the switch stores, in a run under buffer pressure."""
REST_THRESHOLD = 65
"""K in packets at the cluster's port of 10 Gbit/s, behind which is the rest of the data center."""


@dataclass(frozen=True)
class Speed:
    """A link speed: its name, its marking threshold in packets, its share of the run's length."""

    name: str
    threshold: int
    share: float


SPEEDS = {"1G": Speed("1 Gbit/s", 20, 1), "10G": Speed("10 Gbit/s", 65, 0.1)}


@dataclass(frozen=True)
class Extent:
    """How much a length runs: seeds, and seconds, rounds or numbers of servers of each part.

    Without `variations` one of each kind is run, so that every figure has something to show.
    """

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
    variations: bool = True


_SERVERS = (1, 2, 4, 6, 8, 9, 10, 11, 12, 14, 16, 20, 25, 29, 30, 32, 34, 35, 36, 38, 40)
_SERVERS_QUICK = (1, 8, 10, 20, 29, 35, 40)
SERVERS_TODAY = (10, 20, 30, 40)

EXTENTS = {
    Length.QUICK: Extent(1, 1, 2.1, 1, 40, _SERVERS_QUICK, 4, 200, 0.8, 2, variations=False),
    Length.DEFAULT: Extent(5, 6, 7.5, 3, 200, _SERVERS, 50, 1000, 2.6, 16),
    Length.FULL: Extent(5, 30, 30, 5, 1000, tuple(range(1, 41)), 1000, 1000, 150, 600),
}

STATIC = {"switch.buffer": "100 KB"}
_RTO_300 = {"transport.min_rto": "300 ms", "transport.initial_rto": "300 ms"}
RTOS: dict[str, dict[str, str]] = {"300ms": _RTO_300, "10ms": {}}
TODAY = {"transport.initial_window": "10 packets", "transport.slow_start_after_idle": "false"}
"""With the limit of the receive window taken away where the queries are."""


def of_the_paper(extent: Extent) -> Iterator[Experiment]:
    """List what the paper runs, and the same with hosts of today."""
    yield from basic(extent)
    yield from convergence(extent, "convergence/")
    yield from _incast(extent)
    yield from all_to_all(extent, "all/")
    yield from _build_up(extent)
    yield from pressure(extent, "pressure/")
    yield from cluster(extent, "cluster/")
    yield from _today(extent)


def algorithm(name: str, threshold: int = 20) -> dict[str, str]:
    """Give an algorithm as a scenario's keys."""
    if name == "tcp":
        return {}
    return {
        "transport.congestion": "dctcp",
        "switch.queue.kind": "threshold",
        "switch.queue.marking_threshold": f"{threshold} packets",
    }


def evaluated_from(speed: Speed, length: Length) -> float:
    """Give the second from which two long flows are evaluated: half of the run."""
    return EXTENTS[length].basic_s * speed.share / 2


def basic(extent: Extent) -> Iterator[Experiment]:
    """Send two long flows at each speed."""
    for key, speed in SPEEDS.items():
        seconds = extent.basic_s * speed.share
        window = {
            "network.rate": speed.name,
            "run.duration": f"{seconds:g} s",
            "measure.warmup": f"{seconds / 2:g} s",
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


def convergence(
    extent: Extent, prefix: str, keys: Mapping[str, str] | None = None
) -> Iterator[Experiment]:
    """Let five flows come, one with each phase, and go."""
    phase = extent.phase_s
    times = {"run.duration": f"{PHASES * phase:g} s"}
    for flow in range(5):
        times[f"flows.sender{flow}.start"] = f"{flow * phase:g} s"
        times[f"flows.sender{flow}.stop"] = f"{(PHASES - flow) * phase:g} s"
    # As many rates to a phase as 1 s gives in the phases of 30 s.
    times["measure.throughput.every"] = f"{phase / RATES:g} s"
    for name in ALGORITHMS:
        yield Experiment(
            f"{prefix}{name}",
            "convergence.toml",
            {**algorithm(name), **times, **(keys or {})},
            extent.phase_seeds,
            HOPS_PER_SECOND * PHASES * phase,
            ("throughput",),
        )


def _incast(extent: Extent) -> Iterator[Experiment]:
    for name in ALGORITHMS:
        for rto, keys in RTOS.items():
            for n in extent.servers:
                yield query(f"incast/static/{name}/rto={rto}/n={n}", extent, {**STATIC, **keys})
        for n in extent.servers:
            yield query(f"incast/dynamic/{name}/rto=10ms/n={n}", extent, {})


def query(name: str, extent: Extent, keys: Mapping[str, str]) -> Experiment:
    """One point: the algorithm and the number of servers are in the name."""
    parts = name.split("/")
    overrides = {
        **algorithm(next(part for part in parts if part in ALGORITHMS)),
        "network.senders": parts[-1].removeprefix("n="),
        "flows.query.rounds": str(extent.incast_rounds),
        **keys,
    }
    cost = HOPS_PER_QUERY * extent.incast_rounds
    tables = ("rounds", "timeouts")
    return Experiment(name, "incast.toml", overrides, extent.seeds, cost, tables)


def all_to_all(
    extent: Extent, prefix: str, keys: Mapping[str, str] | None = None
) -> Iterator[Experiment]:
    """Let every host ask all others."""
    rounds = {"flows.query.rounds": str(extent.all_rounds)}
    for name in ALGORITHMS:
        yield Experiment(
            f"{prefix}{name}",
            "all-to-all.toml",
            {**algorithm(name), **rounds, **(keys or {})},
            extent.seeds,
            HOPS_PER_QUERY * HOSTS_ALL * extent.all_rounds,
            ("rounds", "links"),
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
            ("rounds", "links", "timeouts"),
        )


def pressure(
    extent: Extent, prefix: str, keys: Mapping[str, str] | None = None, alone: float = 1
) -> Iterator[Experiment]:
    """Ask from 0.2 s on, for so many seconds or 10,000 queries; `alone` times as long without."""
    # As many samples at every length: of 150 s those of every millisecond would fill the memory.
    samples = {
        "measure.buffer_occupancy.every": f"{extent.pressure_s / MEMORY_SAMPLES * 1e6:.0f} us"
    }
    for kind, scenario, links, times in (
        ("alone", "pressure-alone", 1, alone),
        ("beside", "pressure", 34, 1),
    ):
        seconds = 0.2 + min(times * extent.pressure_s, MOST_PRESSURE_S)
        beside = kind == "beside"
        lasts = {"run.duration": f"{seconds:g} s"}
        tables = ("rounds", "links", "timeouts", *(("buffer_occupancy",) if beside else ()))
        for name in ALGORITHMS:
            yield Experiment(
                f"{prefix}{kind}/{name}",
                f"{scenario}.toml",
                {**algorithm(name), **(samples if beside else {}), **lasts, **(keys or {})},
                extent.seeds,
                HOPS_PER_SECOND * links * seconds,
                tables,
            )


def cluster(
    extent: Extent, prefix: str, keys: Mapping[str, str] | None = None
) -> Iterator[Experiment]:
    """Mix queries and background flows."""
    rest = {"switch.ports.receivers.queue.marking_threshold": f"{REST_THRESHOLD} packets"}
    for name in ALGORITHMS:
        own = {**algorithm(name), **(rest if name == "dctcp" else {})}
        yield Experiment(
            f"{prefix}{name}",
            "cluster.toml",
            {**own, "run.duration": f"{extent.cluster_s:g} s", **(keys or {})},
            extent.seeds,
            HOPS_CLUSTER * extent.cluster_s,
            ("rounds", "transfers", "links"),
        )


def _today(extent: Extent) -> Iterator[Experiment]:
    unlimited = {**TODAY, "transport.receive_window": "unlimited"}
    for name in ALGORITHMS:
        for n in SERVERS_TODAY:
            yield query(f"today/dynamic/{name}/rto=10ms/n={n}", extent, unlimited)
    rounds = max(4, extent.all_rounds // 3)
    yield from all_to_all(replace(extent, all_rounds=rounds), "today/all/", unlimited)
    queries = {**TODAY, "flows.query.transport.receive_window": "unlimited"}
    shorter = replace(extent, seeds=min(extent.seeds, 3), pressure_s=extent.pressure_s / 1.5)
    yield from pressure(shorter, "today/pressure/", queries, LONGER_ALONE)
