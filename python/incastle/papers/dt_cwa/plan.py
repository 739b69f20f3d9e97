"""What dt-cwa runs: every experiment as a scenario file with its overrides.

Names say what differs: `ftp/SYSTEM/n=FLOWS` (long flows, figure 6), `beta/SYSTEM/b=BETA` (4),
`KIND/SYSTEM/n=FLOWS` with a kind of query or message (figures 7 and 8), `floor/...` and `alpha/...`
(the document's reasons), `variant/VARIANT/KIND/SYSTEM/n=FLOWS` (other values of what is open).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from incastle.reproduction.papers import Experiment, Length

from .readings import CHOSEN, DCTCP, REACTIONS_CHOSEN, READINGS, SWITCH_ALONE, System

if TYPE_CHECKING:
    from collections.abc import Mapping

RATE = 1e9
PORT = "switch:0->receiver"
QUERIES = 6  # in each run of a scenario with queries
HOPS = 6  # a packet and its ACK, over three links each
PACKET_BITS = 12_000


@dataclass(frozen=True)
class Kind:
    """What n flows send at once: a query or a short message, of so many bytes for each flow."""

    label: str
    total: int = 0
    each: int = 0

    def size(self, flows: int) -> int:
        """Give the bytes of one flow."""
        return self.each or self.total // flows


KINDS = {
    "total": Kind("1 MB / n each", total=1_000_000),
    "unit": Kind("64 KB each", each=64_000),
    "short20": Kind("20 KB each", each=20_000),
    "short50": Kind("50 KB each", each=50_000),
}
QUERY_KINDS = ("total", "unit")
_SHARED = "alpha = 8"  # one busy port may hold 8/9 of a switch's memory
VARIANTS: dict[str, dict[str, str]] = {
    "links of 16.7 µs (RTT 100 µs)": {"network.delay": "16.7 us"},
    "buffers per switch": {
        "switch.buffer": f'{{ shared = "512 KB", {_SHARED} }}',
        "switches.root.buffer": f'{{ shared = "128 KB", {_SHARED} }}',
    },
    "initial window of 10": {"transport.initial_window": "10 packets"},
    "least window 1 for all": {"transport.min_cwnd": "1 packet"},
    "least window 1 for DCTCP alone": {},
    "delayed ACKs": {"transport.delayed_ack_count": "2", "transport.delayed_ack_timeout": "1 ms"},
    "NewReno's recovery": {"transport.recovery": "new-reno"},
    "RTO_min 200 ms": {"transport.min_rto": "200 ms"},
    "half the buffers": {"switch.buffer": "256 KB", "switches.root.buffer": "64 KB"},
}
"""Other values of what Sreekumari leaves open. The last two are against the numbers given: they ask
what would bring a collapse at all."""
_ONLY_DCTCP = "least window 1 for DCTCP alone"
ASKED = (30, 55)  # Sreekumari gives numbers for these
FLOOR_FLOWS = (10, 30, 55)

_SEEDS = {Length.QUICK: 1, Length.DEFAULT: 3, Length.FULL: 6}
_VARIANT_SEEDS = {Length.QUICK: 1, Length.DEFAULT: 1, Length.FULL: 3}
_SECONDS = {Length.QUICK: 0.3, Length.DEFAULT: 1.0, Length.FULL: 2.0}
_FLOWS = (5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60)
_FLOWS_QUICK = (5, 10, 30, 40, 55)
_MANY = (25, 30, 35, 40, 45, 50, 55, 60)
_MANY_QUICK = (30, 40, 55)
_BETAS = tuple(range(1, 10))
_BETAS_QUICK = (2, 5, 9)


def flows(length: Length) -> tuple[int, ...]:
    """Give the numbers of long flows (figure 6)."""
    return _FLOWS_QUICK if length is Length.QUICK else _FLOWS


def many(length: Length) -> tuple[int, ...]:
    """Give the numbers of flows of queries and messages (figures 7 and 8)."""
    return _MANY_QUICK if length is Length.QUICK else _MANY


def betas(length: Length) -> tuple[int, ...]:
    """Give the values of beta in tenths (figure 4)."""
    return _BETAS_QUICK if length is Length.QUICK else _BETAS


def chosen(length: Length) -> tuple[System, ...]:
    """Give the readings that are run under other values of what is open."""
    return CHOSEN[:: len(REACTIONS_CHOSEN)] if length is Length.QUICK else CHOSEN


def seconds(length: Length) -> float:
    """Give how long the long flows run."""
    return _SECONDS[length]


def experiments(length: Length) -> list[Experiment]:
    """List every experiment of the paper at this length."""
    return [
        *_long(length),
        *_betas(length),
        *_queries(length),
        *_reasons(length),
        *_variants(length),
    ]


def _long(length: Length) -> list[Experiment]:
    return [
        _ftp(f"ftp/{system.key}/n={n}", system, n, length, _SEEDS[length])
        for system in (DCTCP, *READINGS, *SWITCH_ALONE)
        for n in flows(length)
    ]


def _betas(length: Length) -> list[Experiment]:
    return [
        _ftp(
            f"beta/{system.key}/b=0.{tenths}",
            system,
            10,
            length,
            _SEEDS[length],
            {"transport.b": f"0.{tenths}"},
        )
        for system in READINGS
        for tenths in betas(length)
    ]


def _queries(length: Length) -> list[Experiment]:
    return [
        _query(f"{kind}/{system.key}/n={n}", system, kind, n, _SEEDS[length])
        for kind in KINDS
        for system in (DCTCP, *READINGS, *SWITCH_ALONE)
        for n in many(length)
    ]


def _reasons(length: Length) -> list[Experiment]:
    """List the runs with a least window of one segment, and those with either first alpha."""
    seeds = _SEEDS[length]
    floor = {"transport.min_cwnd": "1 packet"}
    looked = {"measure.window": '{ flows = "ftp", every = "1 ms" }'}
    return [
        *(
            _ftp(f"floor/dctcp/n={n}", DCTCP, n, length, seeds, floor | looked, ("windows",))
            for n in FLOOR_FLOWS
        ),
        *(
            _query(
                f"alpha/{kind}/a={alpha}",
                DCTCP,
                kind,
                30,
                seeds,
                {"transport.initial_alpha": alpha},
            )
            for kind in QUERY_KINDS
            for alpha in ("0", "1")
        ),
        *(
            _query(
                f"alpha/{kind}/iw=10/a={alpha}",
                DCTCP,
                kind,
                30,
                seeds,
                {"transport.initial_alpha": alpha, "transport.initial_window": "10 packets"},
            )
            for kind in QUERY_KINDS
            for alpha in ("0", "1")
        ),
    ]


def _variants(length: Length) -> list[Experiment]:
    found = []
    seeds = _VARIANT_SEEDS[length]
    for place, (variant, overrides) in enumerate(VARIANTS.items()):
        for system in (DCTCP, *chosen(length)):
            extra = dict(overrides)
            if variant == _ONLY_DCTCP and system is DCTCP:
                extra["transport.min_cwnd"] = "1 packet"
            for n in ASKED:
                base = f"variant/{place}"
                end = f"{system.key}/n={n}"
                found.append(_ftp(f"{base}/ftp/{end}", system, n, length, seeds, extra, ()))
                found += [
                    _query(f"{base}/{kind}/{end}", system, kind, n, seeds, extra)
                    for kind in QUERY_KINDS
                ]
    return found


def _ftp(
    name: str,
    system: System,
    n: int,
    length: Length,
    seeds: int,
    extra: Mapping[str, str] | None = None,
    tables: tuple[str, ...] = ("queues",),
) -> Experiment:
    overrides = {
        **system.overrides,
        "run.duration": f"{seconds(length):g} s",
        "measure.warmup": f"{200 * seconds(length):g} ms",
        "flows.ftp.count": str(n),
        **(extra or {}),
    }
    cost = RATE * seconds(length) / PACKET_BITS * HOPS
    return Experiment(name, f"ftp-{system.switch}.toml", overrides, seeds, cost, tables)


def _query(
    name: str,
    system: System,
    kind: str,
    n: int,
    seeds: int,
    extra: Mapping[str, str] | None = None,
) -> Experiment:
    size = KINDS[kind].size(n)
    overrides = {**system.overrides, **(extra or {})}
    for query in range(QUERIES):
        overrides[f"flows.query{query}.count"] = str(n)
        overrides[f"flows.query{query}.size"] = f"{size} B"
    cost = 8 * size * n * QUERIES / PACKET_BITS * HOPS
    return Experiment(name, f"query-{system.switch}.toml", overrides, seeds, cost, ("transfers",))
