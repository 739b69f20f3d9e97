"""What the comparison runs: every workload under every algorithm, and DCTCP beside CUBIC.

Names are `WORKLOAD/ALGORITHM` and `coexistence/QUEUES/ECN/k=K`. The scenario files are NewReno's
over drop-tail (coexistence: one queue marked above K); everything else is a few keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from incastle.reproduction.papers import Experiment, Length

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

K = 20
"""Packets: DCTCP's for 1 Gbit/s (Alizadeh 2010, section 3.4: above C RTT / 7 = 1.2 packets, and
room for bursts). Enough for a window that halves, too, which needs C RTT = 8.1."""
HOPS_PER_SECOND = 330e3
"""Packet-hops of a full link at 1 Gbit/s: packets and every second's ACK, over two links."""
HOPS_PER_QUERY = 2500
"""Of 1 MB in answers."""


@dataclass(frozen=True)
class Algorithm:
    """What is compared: its name, and its keys at hosts and switches."""

    label: str
    keys: Mapping[str, str]


_THRESHOLD = {"switch.queue.kind": "threshold", "switch.queue.marking_threshold": f"{K} packets"}
_DOUBLE = {"switch.queue.kind": "double-threshold"}

ALGORITHMS = {
    "new-reno": Algorithm("NewReno", {}),
    "sack-ecn": Algorithm(
        "SACK + ECN", {"transport.recovery": "sack", "transport.ecn": "classic", **_THRESHOLD}
    ),
    "cubic": Algorithm("CUBIC", {"transport.congestion": "cubic"}),
    "dctcp": Algorithm("DCTCP", {"transport.congestion": "dctcp", **_THRESHOLD}),
    "d2tcp": Algorithm("D2TCP", {"transport.congestion": "d2tcp", **_THRESHOLD}),
    # Chen et al. 2013: two thresholds around DCTCP's one.
    "dt-dctcp": Algorithm(
        "DT-DCTCP",
        {
            "transport.congestion": "dctcp",
            **_DOUBLE,
            "switch.queue.readings.thresholds": "around-k",
        },
    ),
    # Sreekumari 2018: 35 and 30 packets, as printed.
    "dt-cwa": Algorithm(
        "DT-CWA",
        {
            "transport.congestion": "dt-cwa",
            **_DOUBLE,
            "switch.queue.readings.thresholds": "as-printed",
        },
    ),
    # IEEE 802.1Qau: Q_eq = 26,000 bytes; Devkota and Reddy 2010: modifications III and IV.
    "qcn-vi": Algorithm("QCN VI", {"switch.qcn": "{ variant = 'VI', cp_q_eq = '26 KB' }"}),
}
"""In the order of the table's columns."""


@dataclass(frozen=True)
class Workload:
    """A scenario: the tables kept of it, how many links are full, whether data have a deadline."""

    label: str
    tables: tuple[str, ...]
    links: float
    deadlines: bool


WORKLOADS = {
    "incast": Workload("incast", ("rounds",), 1, True),
    "long": Workload("long flows", ("links", "throughput"), 1, False),
    "build-up": Workload("queue build-up", ("rounds", "transfers", "summary"), 1, True),
    "pressure": Workload("buffer pressure", ("rounds",), 14, True),
    "pressure-alone": Workload("buffer pressure", ("rounds",), 1, True),
    "cluster": Workload("cluster", ("rounds", "transfers", "summary"), 10, True),
    "mixed": Workload("mixed round trips", ("throughput",), 1, False),
}
BEGIN = {"long": 0.5, "build-up": 0.5, "pressure": 0.1, "pressure-alone": 0.1, "mixed": 1.0}
"""Seconds before the first measurement; what is measured begins here in the scenario files."""
DRAIN = 0.5
"""Seconds that the cluster has to complete what has begun."""
COEXIST = 0.3
"""Seconds before DCTCP and CUBIC are measured."""

QUEUES: dict[str, dict[str, str]] = {
    "one": {},
    "two": {"switch.queue.kind": "drr", "switch.queue.classify_by": "traffic-class"},
}
ECN = {
    key: {f"flows.{group}.transport.ecn": key for group in ("cubic", "cubic-message")}
    for key in ("off", "classic")
}
"""Of CUBIC."""


@dataclass(frozen=True)
class Extent:
    """How much a length runs: seeds, queries, measured seconds of each workload, and every K."""

    seeds: int
    queries: int
    seconds: Mapping[str, float]
    coexistence_s: float
    thresholds: tuple[int, ...]


def _seconds(long: float, build_up: float, pressure: float, cluster: float) -> dict[str, float]:
    return {
        "long": long,
        "mixed": 2 * long,
        "build-up": build_up,
        "pressure": pressure,
        "pressure-alone": pressure,
        "cluster": cluster,
    }


_K = (5, 10, 20, 40, 65, 100, 200)

EXTENTS = {
    Length.QUICK: Extent(1, 60, _seconds(0.4, 0.8, 0.15, 0.2), 0.5, (5, 20, 65, 200)),
    Length.DEFAULT: Extent(5, 400, _seconds(1.5, 5, 0.5, 1), 1.2, _K),
    Length.FULL: Extent(20, 1000, _seconds(5, 20, 2, 5), 5, _K),
}


def experiments(length: Length) -> list[Experiment]:
    """List every experiment at this length."""
    extent = EXTENTS[length]
    return [*_compared(extent), *_coexistence(extent)]


def runs_of(workload: str, algorithm: str) -> str | None:
    """Name the experiment; D2TCP has none where nothing has a deadline: it would be DCTCP's."""
    if algorithm == "d2tcp" and not WORKLOADS[workload].deadlines:
        return None
    return f"{workload}/{algorithm}"


def _compared(extent: Extent) -> Iterator[Experiment]:
    for workload, of in WORKLOADS.items():
        times, cost = _extent(workload, extent)
        for key, algorithm in ALGORITHMS.items():
            name = runs_of(workload, key)
            if name is not None:
                keys = {**algorithm.keys, **times}
                yield Experiment(name, f"{workload}.toml", keys, extent.seeds, cost, of.tables)


def _extent(workload: str, extent: Extent) -> tuple[dict[str, str], float]:
    """Give the keys that tell how much is run, and the work of it."""
    if workload == "incast":
        return {"flows.query.rounds": str(extent.queries)}, HOPS_PER_QUERY * extent.queries
    seconds = extent.seconds[workload]
    cost = HOPS_PER_SECOND * WORKLOADS[workload].links * (seconds + BEGIN.get(workload, 0))
    if workload == "cluster":
        stops = {f"flows.{group}.stop": f"{seconds:g} s" for group in ("query", "background")}
        return {**stops, "run.duration": f"{seconds + DRAIN:g} s"}, cost
    return {"run.duration": f"{seconds + BEGIN[workload]:g} s"}, cost


def coexistence(queues: str, ecn: str, k: int) -> str:
    """Name the experiment."""
    return f"coexistence/{queues}/{ecn}/k={k}"


def _coexistence(extent: Extent) -> Iterator[Experiment]:
    seconds = extent.coexistence_s + COEXIST
    for queues, discipline in QUEUES.items():
        for ecn, keys in ECN.items():
            for k in extent.thresholds:
                yield Experiment(
                    coexistence(queues, ecn, k),
                    "coexistence.toml",
                    {
                        **discipline,
                        "switch.queue.marking_threshold": f"{k} packets",
                        **keys,
                        "run.duration": f"{seconds:g} s",
                    },
                    extent.seeds,
                    HOPS_PER_SECOND * seconds,
                    ("rounds", "links", "throughput", "flows"),
                )
