"""The settings of qcn-incast: systems, timeouts, buffers, servers, and one point of them all.

A *system* is what is done about incast: TCP alone, another recovery or congestion control, or one
of the variants of QCN below TCP. A point becomes an experiment: a scenario file with overrides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from incastle.reproduction.papers import Experiment, Length

if TYPE_CHECKING:
    from collections.abc import Mapping

RATE = 1e9
PACKET_BITS = 12_000  # 1460 B and 40 B of headers
HOPS = 4  # a packet and its ACK, over two links each

BUFFERS = (32, 64, 128, 256)
"""KiB per port."""
SERVERS = (2, 4, 8, 16, 32, 64)
_QUICK = (2, 8, 32, 64)
_QUICK_SIDE = (64,)


@dataclass(frozen=True)
class Extent:
    """How long an experiment runs, in seconds, and with how many seeds."""

    seconds: float
    seeds: int


MAIN = {
    Length.QUICK: Extent(0.5, 1),
    Length.DEFAULT: Extent(8, 2),
    Length.FULL: Extent(20, 5),
}
"""The paper's own figures."""
FEWER = Extent(20, 3)
"""Other samplings, fair queueing and an RTO_min of 1 ms at the full length."""
UDP = Extent(15, 3)
"""Figures 14 to 18 at the full length."""
SIDE = {
    Length.QUICK: Extent(0.2, 1),
    Length.DEFAULT: Extent(2.6, 2),
    Length.FULL: Extent(3, 2),
}
"""What is open in the paper, and what goes beyond it."""


@dataclass(frozen=True)
class System:
    """What is done about incast: its label, its scenario file, and what is set otherwise there."""

    label: str
    scenario: str
    overrides: Mapping[str, str] = field(default_factory=dict)

    @property
    def notifies(self) -> bool:
        """Whether QCN is below it."""
        return self.scenario == "qcn.toml"


def _qcn(variant: str, what: str, **keys: str) -> System:
    overrides = {"switch.qcn.variant": variant, **{f"switch.qcn.{k}": v for k, v in keys.items()}}
    return System(what, "qcn.toml", overrides)


VARIANTS = ("I", "II", "III", "IV", "V", "VI")
SYSTEMS = {
    "tcp": System("NewReno", "tcp.toml"),
    "sack": System("SACK", "tcp.toml", {"transport.recovery": "sack"}),
    "dctcp": System("DCTCP, K = 20", "dctcp.toml"),
    "I": _qcn("I", "I: QCN"),
    "II": _qcn("II", "II: congestion memory"),
    "III": _qcn("III", "III: detailed sampling"),
    "IV": _qcn("IV", "IV: adaptive R_AI"),
    "V": _qcn("V", "V: II + IV"),
    "VI": _qcn("VI", "VI: III + IV"),
    "every": _qcn("I", "every packet sampled", sampling="every-packet"),
    "older": _qcn("I", "sampling of 2007-11", sampling="2007-11"),
    "III-geometric": _qcn("III", "III, geometric table", detail="geometric"),
    "VI-geometric": _qcn("VI", "VI, geometric table", detail="geometric"),
}

RTOS = {"200ms": "200 ms", "10ms": "10 ms", "1ms": "1 ms", "200us": "200 us"}
_TICKS = {"200ms": "1 ms", "10ms": "1 ms", "1ms": "100 us", "200us": "10 us"}


@dataclass(frozen=True)
class Point:
    """One setting: a system with an RTO_min, a buffer in KiB and a number of servers."""

    system: str
    rto: str
    buffer: int
    servers: int
    prefix: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The experiment's name."""
        return point(self.system, self.rto, self.buffer, self.servers, self.prefix)

    def experiment(self, extent: Extent) -> Experiment:
        """Give the experiment."""
        udp = self.prefix.endswith("udp/")
        system = SYSTEMS[self.system]
        hosts = {"network.senders": str(self.servers + udp)}
        if udp:
            hosts["flows.storage.from"] = f"sender:1..{self.servers}"
        overrides = {
            "run.duration": f"{extent.seconds:g} s",
            **hosts,
            "switch.buffer": f"{self.buffer} KiB",
            **timeout(self.rto),
            **system.overrides,
            **self.extra,
        }
        scenario = f"udp-{system.scenario}" if udp else system.scenario
        # QCN's ports and limiters take about half as long again per packet; UDP has no ACKs.
        weight = (1.5 if system.notifies else 1) * (1.3 if udp else 1)
        hops = RATE * extent.seconds / PACKET_BITS * HOPS * weight
        return Experiment(self.name, scenario, overrides, extent.seeds, hops, self.tables)


@dataclass(frozen=True)
class Line:
    """A curve over the servers: a system with a buffer in KiB and an RTO_min."""

    system: str
    buffer: int
    rto: str = "200ms"
    prefix: str = ""

    def at(self, n: int) -> str:
        """Name the experiment with so many servers."""
        return point(self.system, self.rto, self.buffer, n, self.prefix)


def point(system: str, rto: str, buffer: int, servers: int, prefix: str = "") -> str:
    """Name the experiment of a point."""
    return f"{prefix}{system}/rto={rto}/b={buffer}/n={servers}"


def timeout(rto: str) -> dict[str, str]:
    """Set RTO_min, what belongs to it, and the first RTO alike: a connection that persists.

    Such a connection has long had a sample of the round trip, which is far below RTO_min.
    """
    least = RTOS[rto]
    return {
        "transport.min_rto": least,
        "transport.initial_rto": least,
        "transport.rto_granularity": _TICKS[rto],
    }


def servers(length: Length, *, side: bool = False) -> tuple[int, ...]:
    """Give the numbers of servers at this length, in the paper's figures or beside them."""
    quick = _QUICK_SIDE if side else _QUICK
    return quick if length is Length.QUICK else SERVERS
