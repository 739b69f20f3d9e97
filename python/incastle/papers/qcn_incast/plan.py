"""What qcn-incast runs: every experiment as a scenario file with its overrides.

`SYSTEM/rto=RTO/b=BUFFER/n=SERVERS` is one point of the paper's figures (buffers in KiB), `udp/...`
the same beside 400 Mbit/s of UDP, `drr/...` with fair queueing at the switch,
`baseline/SCENARIO/SYSTEM` is section IX.

`open/ASPECT/VALUE/...` takes another value for what the paper leaves open. Beyond the paper go the
points of other systems and timeouts (`map`), `barrier/...` (completion and kinds of timeouts),
`desync/...` (Vasudevan 2009) and `remedy/NAME/...`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from incastle.reproduction.papers import Experiment, Length

from .points import (
    BUFFERS,
    FEWER,
    HOPS,
    MAIN,
    PACKET_BITS,
    RTOS,
    SERVERS,
    SIDE,
    UDP,
    VARIANTS,
    Extent,
    Point,
    servers,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

TRACED = 128
"""KiB: the buffer of figures 6 to 8 and of the tables, whose rates are recorded."""
TRACED_SERVERS = 8
SMALLEST = BUFFERS[0]

UDP_VARIANTS = ("I", "III", "V", "VI")

# ---- section IX

BASELINES = {
    "capacity": "capacity",
    "output": "output hotspot",
    "input": "input hotspot",
    "stages": "multi-stage",
}
BASELINE_SYSTEMS = (*VARIANTS, "older")
_BASELINE = {
    Length.QUICK: Extent(0.09, 1),
    Length.DEFAULT: Extent(1.2, 2),
    Length.FULL: Extent(6, 2),
}
_SLOW = {"capacity": "0.5 Gbit/s", "output": "2 Gbit/s", "stages": "2 Gbit/s"}
_SLOW_LINK = {"capacity": "receivers", "output": "receivers", "stages": "hot"}

# ---- what Devkota and Reddy leave open

SET_POINTS = {"10pc": "10 %", "26000B": "26,000 B", "33000B": "33,000 B"}
_SIZES = {"26000B": 26_000, "33000B": 33_000}
SET_POINT_SYSTEMS = ("I", "III", "V")
MEMORIES: dict[str, dict[str, str]] = {
    "kept": {"switch.qcn.memory_decays": "false"},
    "cap=1": {"switch.qcn.memory_cap": "1"},
    "cap=3": {"switch.qcn.memory_cap": "3"},
    "crossing=50": {"switch.qcn.crossing": "0.5"},
}
ADAPTIVE_SYSTEMS = ("IV", "V", "VI")
ENDS: dict[str, dict[str, str]] = {
    "delayed": {"transport.delayed_ack_count": "2", "transport.delayed_ack_timeout": "40 ms"},
    "no-restart": {"transport.slow_start_after_idle": "false"},
    "window=20": {"transport.max_cwnd": "20 packets"},
    "rtt=400us": {"network.delay": "100 us"},
    "rtt=400us,window=20": {"network.delay": "100 us", "transport.max_cwnd": "20 packets"},
    "first-rto=3s": {"transport.initial_rto": "3 s"},
    "kilobytes": {"flows.storage.sru": "256 KB"},
}
END_SYSTEMS = (("tcp", "200ms"), ("tcp", "10ms"), ("I", "200ms"))
LIMITER_SYSTEMS = ("I", "V", "VI")
LIMITER = "open/limiter/200/"
"""A limiter of 200 packets, which seldom holds TCP's window back."""
OPEN_BUFFERS = (32, 128)
NEAREST = "open/nearest/"
"""The readings under which the variants come nearest to the paper, found after the results."""

# ---- beyond the paper

MAPS = ("tcp", "sack", "dctcp", "I", "V", "VI")
BARRIER_RTOS = ("200ms", "10ms")
EARLY = Point("tcp", "1ms", 256, 16)
"""Where an RTO_min of 1 ms costs the most timeouts."""
TRACES = {"II": 64, "III": 64, "IV": 32}
"""The variants whose counters, levels and memories are recorded, with as many servers."""
DESYNC = {"equal": "false", "drawn": "true"}
DESYNC_SERVERS = (8, 16, 32, 64, 128, 256, 512)
_DESYNC_SERVERS_QUICK = (8, 64, 256)
DESYNC_BUFFER = 64
REMEDY_BUFFER = 64
REMEDY_SERVERS = (8, 16, 32, 64)
_REMEDY_SERVERS_QUICK = (8, 64)
ANSWER_S = 256 * 1024 / 1460 * PACKET_BITS / 1e9
"""How long one server's answer takes on the link."""
_DRR = {"switch.queue.kind": "drr"}


def experiments(length: Length) -> list[Experiment]:
    """List every experiment of the paper at this length."""
    found = [one.experiment(_extent(one, length)) for one in _figures(length)]
    planned = {one.name for one in found}
    side = [*_open(length), *_nearest(length), *_maps(length), *_barriers(length)]
    side += [*_traces(), *_desync(length), *_remedies(length)]
    found += [one.experiment(SIDE[length]) for one in side if one.name not in planned]
    return [*found, *_baselines(length)]


def _extent(point: Point, length: Length) -> Extent:
    """Give the paper's own matrix its 5 seeds at the full length, what goes beside it fewer."""
    if length is Length.FULL and point.prefix == "udp/":
        return UDP
    own = not point.prefix and point.system in {"tcp", *VARIANTS} and point.rto != "1ms"
    return MAIN[length] if own or length is not Length.FULL else FEWER


def grid(
    length: Length,
    systems: Iterable[tuple[str, str]],
    buffers: Iterable[int],
    prefix: str = "",
    *,
    side: bool = False,
) -> Iterator[Point]:
    """Give each of these systems and timeouts at each buffer and number of servers."""
    for system, rto in systems:
        for buffer in buffers:
            for n in servers(length, side=side):
                yield Point(system, rto, buffer, n, prefix)


_beside = partial(grid, side=True)


def _figures(length: Length) -> Iterator[Point]:
    """Give the points of the paper's figures and tables."""
    yield from grid(length, (("tcp", rto) for rto in ("200ms", "10ms", "1ms")), BUFFERS)
    for point in grid(length, ((one, "200ms") for one in VARIANTS), BUFFERS):
        traced = point.system == "I" and point.buffer == TRACED
        yield _traced(point) if traced else point
    yield from grid(length, ((one, "10ms") for one in VARIANTS), BUFFERS)
    yield from grid(length, ((one, "200ms") for one in ("every", "older")), BUFFERS)
    geometric = (("III-geometric", "200ms"), ("VI-geometric", "200ms"))
    yield from grid(length, geometric, (TRACED,))
    udp = (("tcp", "200ms"), ("tcp", "10ms"), *((one, "200ms") for one in UDP_VARIANTS))
    yield from grid(length, udp, BUFFERS, "udp/")
    for point in grid(length, (("I", "200ms"),), BUFFERS):
        yield _with(point, "drr/", _DRR)


def _traced(point: Point) -> Point:
    """Record the rates, and of the point of figures 6 to 8 each answer."""
    answers = ("transfers",) if point.servers == TRACED_SERVERS else ()
    asked = {"measure.qcn": '{ flows = "storage", ports = "switch->receiver" }'}
    return replace(point, extra={**point.extra, **asked}, tables=("rates", *answers))


def _open(length: Length) -> Iterator[Point]:
    """Give the points with other values of what Devkota and Reddy leave open."""
    for value, words in SET_POINTS.items():
        for one in _beside(
            length, ((system, "200ms") for system in SET_POINT_SYSTEMS), OPEN_BUFFERS
        ):
            most = one.buffer * 1024 // 2
            cp_q_eq = f"{min(_SIZES[value], most)} B" if value in _SIZES else words
            yield _with(one, f"open/qeq/{value}/", {"switch.qcn.cp_q_eq": cp_q_eq})
    for value, keys in MEMORIES.items():
        for one in _beside(length, (("II", "200ms"),), OPEN_BUFFERS):
            yield _with(one, f"open/memory/{value}/", keys)
    for one in _beside(length, ((system, "200ms") for system in ADAPTIVE_SYSTEMS), OPEN_BUFFERS):
        yield _with(one, "open/adaptive/raw/", {"host.qcn.adaptive": "raw"})
    for value, keys in ENDS.items():
        for one in _beside(length, END_SYSTEMS, OPEN_BUFFERS):
            thousand = {"switch.buffer": f"{one.buffer} KB"} if value == "kilobytes" else {}
            yield _with(one, f"open/ends/{value}/", {**keys, **thousand})
    for one in _beside(length, ((system, "200ms") for system in LIMITER_SYSTEMS), OPEN_BUFFERS):
        yield _with(one, LIMITER, {"host.qcn.queue": "200 packets"})


def _nearest(length: Length) -> Iterator[Point]:
    """Give the variants with a lower Q_eq, a memory that stays, a steeper table, reading B."""
    both = [(one, rto) for rto in ("200ms", "10ms") for one in VARIANTS]
    for one in _beside(length, (*both, ("every", "200ms")), BUFFERS):
        yield _as_nearest(one, NEAREST)
    for one in _beside(length, ((one, "200ms") for one in UDP_VARIANTS), BUFFERS):
        yield _as_nearest(one, f"{NEAREST}udp/")


def _as_nearest(point: Point, prefix: str) -> Point:
    keys = {"switch.qcn.cp_q_eq": "10 %"}
    if point.system in {"II", "V"}:
        keys |= MEMORIES["kept"]
    if point.system in {"III", "VI"}:
        keys["switch.qcn.detail"] = "geometric"
    if point.system in {"IV", "V", "VI"}:
        keys["host.qcn.adaptive"] = "raw"
    traced = point.system == "I" and point.buffer == TRACED and point.rto == "200ms"
    near = _with(point, prefix, keys)
    return _traced(near) if traced and prefix == NEAREST else near


def _maps(length: Length) -> Iterator[Point]:
    yield from _beside(length, ((system, rto) for system in MAPS for rto in RTOS), BUFFERS)


def _barriers(length: Length) -> Iterator[Point]:
    """Give the points whose rounds and timeouts are recorded one by one."""
    systems = [(system, rto) for system in MAPS for rto in BARRIER_RTOS]
    points = [
        *_beside(length, systems, (TRACED,)),
        *_beside(length, (("tcp", "200ms"), ("every", "200ms")), (SMALLEST,)),
        *(Point(system, "10ms", TRACED, SERVERS[-1]) for system in ("II", "III")),
        EARLY,
    ]
    for one in points:
        timed = _with(one, "barrier/", {"measure.timeouts": "true"})
        yield replace(timed, tables=("rounds", "timeouts"))


def _traces() -> Iterator[Point]:
    for system, n in TRACES.items():
        asked = {"measure.qcn": '{ flows = "storage", ports = "switch->receiver" }'}
        yield Point(system, "200ms", TRACED, n, "trace/", asked, ("rates", "cnms"))


def _desync(length: Length) -> Iterator[Point]:
    for name, drawn in DESYNC.items():
        extra = {"transport.randomized_rto": drawn}
        for n in _DESYNC_SERVERS_QUICK if length is Length.QUICK else DESYNC_SERVERS:
            yield Point("tcp", "200us", DESYNC_BUFFER, n, f"desync/{name}/", extra, ("rounds",))


def remedies(count: int) -> dict[str, tuple[str, str, dict[str, str]]]:
    """Give what an operator can do against collapse: system, RTO_min and what is set otherwise."""
    drawn = {"transport.randomized_rto": "true"}
    spread = {"flows.storage.request_jitter": f"{round(1e6 * ANSWER_S * count)} us"}
    return {
        "none": ("tcp", "200ms", {}),
        "RTO_min 10 ms": ("tcp", "10ms", {}),
        "RTO_min 1 ms": ("tcp", "1ms", {}),
        "RTO_min 200 µs": ("tcp", "200us", {}),
        "RTO_min 200 µs, desynchronised": ("tcp", "200us", drawn),
        "requests staggered": ("tcp", "200ms", spread),
        "buffer x 4": ("tcp", "200ms", {"switch.buffer": f"{4 * REMEDY_BUFFER} KiB"}),
        "buffer x 16": ("tcp", "200ms", {"switch.buffer": f"{16 * REMEDY_BUFFER} KiB"}),
        "SACK": ("sack", "200ms", {}),
        "DCTCP, K = 20": ("dctcp", "200ms", {}),
        "DCTCP and RTO_min 10 ms": ("dctcp", "10ms", {}),
        "QCN I": ("I", "200ms", {}),
        "QCN V": ("V", "200ms", {}),
        "QCN VI": ("VI", "200ms", {}),
        "fair queueing": ("tcp", "200ms", _DRR),
    }


def _remedies(length: Length) -> Iterator[Point]:
    for n in _REMEDY_SERVERS_QUICK if length is Length.QUICK else REMEDY_SERVERS:
        for name, (system, rto, extra) in remedies(n).items():
            yield Point(system, rto, REMEDY_BUFFER, n, f"remedy/{name}/", extra, ("rounds",))


def _with(point: Point, prefix: str, extra: Mapping[str, str]) -> Point:
    return replace(point, prefix=prefix, extra=extra)


def _baselines(length: Length) -> Iterator[Experiment]:
    """Section IX; the slow third of a run is scaled with its length."""
    extent = _BASELINE[length]
    for scenario in BASELINES:
        overrides = {"run.duration": f"{extent.seconds:g} s"}
        if scenario in _SLOW:
            third = extent.seconds / 3
            changes = ((third, _SLOW[scenario]), (2 * third, "10 Gbit/s"))
            listed = ", ".join(f'{{ at = "{at:g} s", rate = "{rate}" }}' for at, rate in changes)
            overrides[f"network.links.{_SLOW_LINK[scenario]}.schedule"] = f"[{listed}]"
        for system in BASELINE_SYSTEMS:
            keys = {"switch.qcn.variant": "I", "switch.qcn.sampling": "2007-11"}
            if system != "older":
                keys = {"switch.qcn.variant": system}
            name, file = f"baseline/{scenario}/{system}", f"baseline-{scenario}.toml"
            # UDP over two links at 10 Gbit/s, a third of the time at less; ports with a schedule.
            cost = 10e9 * extent.seconds / PACKET_BITS * HOPS
            yield Experiment(name, file, {**overrides, **keys}, extent.seeds, cost)
