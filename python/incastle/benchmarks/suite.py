"""The benchmarks: their scenarios, the goal of each, and published figures of other simulators.

Each has a scenario of its name in this folder. The goals are packet-hops per second, with one ACK
per packet and the default probes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """A stored measurement of a simulator that cannot be installed from a registry.

    Attributes:
        peer: its name.
        packet_hops_per_s: the middle where a range is known.

    """

    peer: str
    packet_hops_per_s: float


PUBLISHED_SOURCE = (
    "measured once for this project, on one core of another machine, with htsim and ns-3's release "
    "build made from their sources; neither versions nor machine were recorded"
)
"""Where the figures of `Published` come from."""


@dataclass(frozen=True)
class Benchmark:
    """A scenario that is measured.

    Attributes:
        name: of its row and of its scenario.
        words: what it is.
        preset: of the defaults of TCP or of the control of queue pairs; none without them.
        goal: packet-hops per second that it is to reach, where there is one.
        divided: whether two threads run it as well, each half of its network.
        senders: of the star at 10 Gbit/s that other simulators run as well; 0 where none does.
        published: figures that were not measured in the same run.

    """

    name: str
    words: str
    preset: str = "ns-2-2010"
    goal: float | None = None
    divided: bool = False
    senders: int = 0
    published: tuple[Published, ...] = ()


SUITE = (
    Benchmark("star-2", "2 long flows, 10 Gbit/s", senders=2),
    Benchmark(
        "star-20",
        "20 long flows, 10 Gbit/s",
        goal=25e6,
        senders=20,
        # htsim: 0.27 to 0.30 s for one second. ns-3, release build: 12.3 s for its 3.33 million.
        published=(Published("htsim", 11.7e6), Published("ns-3, release build", 0.27e6)),
    ),
    Benchmark("star-20-linux", "20 long flows, 10 Gbit/s", preset="linux"),
    Benchmark("star-200", "200 long flows, 10 Gbit/s", senders=200),
    Benchmark("star-20-1g", "20 long flows, 1 Gbit/s"),
    Benchmark("star-20-100g", "20 long flows, 100 Gbit/s"),
    Benchmark("star-20-long", "20 long flows, 10 Gbit/s, ten times as long"),
    Benchmark(
        "fat-tree-128",
        "128 hosts, a permutation, 10 Gbit/s",
        goal=18e6,
        published=(Published("htsim", 4.5e6),),
    ),
    Benchmark(
        "fat-tree-432",
        "432 hosts, a permutation, 10 Gbit/s",
        goal=15e6,
        published=(Published("htsim", 3.3e6),),
    ),
    Benchmark(
        "fat-tree-1024",
        "1024 hosts, a permutation, 10 Gbit/s",
        goal=12e6,
        published=(Published("htsim", 2.6e6),),
    ),
    Benchmark(
        "fat-tree-1024-100g",
        "1024 hosts, a permutation, 100 Gbit/s",
        published=(Published("htsim", 1.9e6),),
    ),
    Benchmark("fat-tree-8192", "8192 hosts, a permutation, 10 Gbit/s", goal=8e6),
    Benchmark("dcudp-20", "20 flows of constant rate, DCUDP, 10 Gbit/s", preset=""),
    Benchmark("dcudp-20-congested", "20 long flows, DCUDP, 10 Gbit/s", preset=""),
    Benchmark("rdma-star-20", "20 long queue pairs, DCQCN, 100 Gbit/s", preset="dcqcn-mellanox"),
    Benchmark(
        "rdma-fabric",
        "320 hosts, HPCC, 100 Gbit/s",
        preset="hpcc-sigcomm19",
        goal=8e6,
        divided=True,
    ),
    Benchmark(
        "rdma-fabric-pfc",
        "320 hosts, HPCC, PFC, 100 Gbit/s",
        preset="hpcc-sigcomm19",
        goal=5e6,
        divided=True,
    ),
)
BY_NAME = {one.name: one for one in SUITE}
SHORT = ("star-20", "star-2", "dcudp-20", "dcudp-20-congested")
"""The benchmarks of `incastle bench` without --scenario, in the order of its rows."""

HOSTS = {
    128: "fat-tree-128",
    432: "fat-tree-432",
    1024: "fat-tree-1024",
    8192: "fat-tree-8192",
}
FLOWS = {2: "star-2", 20: "star-20", 200: "star-200"}
RATES = {1: "star-20-1g", 10: "star-20", 100: "star-20-100g"}
"""In Gbit/s."""
LENGTHS = {1: "star-20", 10: "star-20-long"}
"""In simulated seconds."""
