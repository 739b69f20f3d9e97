"""The scenarios that are compared: long flows, incast, a Poisson load, over 100 Mbit/s.

In the world sockets they run over UDT with the window controls of TCP.

One switch port of 100 Mbit/s is the bottleneck; all other links have 1 Gbit/s, so that no queue
forms in a sender's NIC. Leaves out other rates, several bottlenecks, background traffic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from incastle.errors import IncastleError
from incastle.scenario import Scenario, source_of
from incastle.worlds import counterpart

if TYPE_CHECKING:
    from collections.abc import Sequence

    Setting = tuple[str, str]

LINUX, SOCKETS = counterpart.LINUX, counterpart.SOCKETS
BUFFER = "200 packets"
BOTTLENECK, EDGE = "100 Mbit/s", "1 Gbit/s"
CONTROLS = {"reno": "new-reno", "cubic": "cubic", "dctcp": "dctcp"}
"""The scenario's name of each control."""
THRESHOLDS = (5, 20, 65)
"""K, in packets."""
DROP_TAIL = "drop-tail"
LONG = {1: ("12 s", "2 s"), 10: ("24 s", "4 s")}
"""By RTT in milliseconds: duration and warm-up, several teeth of the slowest control."""
SERVERS = {2: 5, 4: 5, 8: 5, 16: 10, 32: 20}
"""Servers of an incast, and the least dilation with which one machine serves them together."""
POISSON = {1: 5, 10: 1}
"""By RTT in milliseconds: the dilation with which one machine writes flows in time."""
SIZES = [[1460, 0], [7300, 40], [29200, 70], [146000, 90], [730000, 100]]
"""Sizes of the Poisson load: bytes and cumulative percentage, mean 68.5 KB."""
QUICK = "quick-"
"""The beginning of the names of short cases."""
SEEDS = 5


@dataclass(frozen=True)
class Case:
    """A scenario, and the world that is compared with its simulation.

    Attributes:
        name: as in the table.
        world: the other world.
        scenario: what runs in both.
        port: the bottleneck's name, whose queue is compared.
        is_paired: whether both worlds have the same flows, given the same seed; others are
            compared by medians over seeds.
        simulated: what is simulated, if it is not the same.
        dilation: the least with which a machine is fast enough.

    """

    name: str
    world: str
    scenario: Scenario
    port: str
    is_paired: bool = False
    simulated: Scenario | None = None
    dilation: int = 1

    def seeds(self, repeats: int) -> range:
        """Return the seeds with which it is simulated, where the other world has `repeats` runs."""
        return range(1, 1 + (repeats if self.is_paired else max(SEEDS, repeats)))


def all_cases() -> list[Case]:
    """Return every case, also those that this machine may lack something for."""
    long = [
        _long(control, queue, flows, rtt)
        for control in CONTROLS
        for rtt in LONG
        for flows in (2, 10)
        for queue in _queues(control)
    ]
    incast = [_incast(control, servers) for control in CONTROLS for servers in SERVERS]
    poisson = [_poisson(control, rtt) for control in CONTROLS for rtt in LONG]
    return long + incast + poisson + _of_sockets()


def _of_sockets() -> list[Case]:
    long = [_long("dctcp", queue, 2, rtt, SOCKETS) for rtt in LONG for queue in THRESHOLDS]
    long += [_long("cubic", DROP_TAIL, 2, rtt, SOCKETS) for rtt in LONG]
    incast = [_incast("dctcp", servers, SOCKETS) for servers in (4, 16)]
    return [*long, *incast, *(_poisson("dctcp", rtt, SOCKETS) for rtt in LONG)]


def quick_cases() -> list[Case]:
    """Return one short case of each kind: whether all works, not whether worlds agree."""
    short = {"run.duration": "3 s", "measure.warmup": "1 s"}
    chosen = [_long("cubic", DROP_TAIL, 2, 1), _long("reno", 20, 2, 1), _incast("reno", 4)]
    chosen.append(_long("dctcp", 20, 2, 1, SOCKETS))
    found = [(one, short) for one in chosen]
    found.append((_poisson("cubic", 1), {"run.duration": "3 s", "flows.load.stop": "2 s"}))
    return [
        replace(one, name=QUICK + one.name, scenario=one.scenario.with_overrides(changes))
        for one, changes in found
    ]


def changed(
    cases: Sequence[Case], both: Sequence[Setting], simulated: Sequence[Setting]
) -> list[Case]:
    """Return the cases with keys set: in both worlds, or in the simulation alone."""
    return [
        replace(
            one,
            scenario=_with(one.scenario, both),
            simulated=_with(one.simulated or one.scenario, [*both, *simulated]),
        )
        for one in cases
    ]


def _with(scenario: Scenario, settings: Sequence[Setting]) -> Scenario:
    """Return a scenario with settings as after `--set`."""
    text, file, before, _ = source_of(scenario)
    return Scenario(text, file, (*before, *settings))


def chosen(cases: Sequence[Case], patterns: Sequence[str]) -> list[Case]:
    """Return the cases whose names match one of the patterns, or all without patterns.

    Raises:
        IncastleError: a pattern matches none.

    """
    for pattern in patterns:
        if not any(fnmatchcase(one.name, pattern) for one in cases):
            names = ", ".join(one.name for one in cases)
            raise IncastleError(f"--only {pattern}: no case has such a name; there are {names}")
    matches = [one for one in cases if any(fnmatchcase(one.name, text) for text in patterns)]
    return matches if patterns else list(cases)


def _queues(control: str) -> list[int | str]:
    """Return the queues of a control: thresholds by K, drop-tail where losses are its signal."""
    return [*THRESHOLDS] if control == "dctcp" else [DROP_TAIL, *THRESHOLDS]


def _transport(control: str, queue: int | str, world: str) -> dict[str, Any]:
    """Return the kernel's TCP as it is simulated, or UDT with the same control."""
    if world == SOCKETS:
        return {"kind": "udt", "congestion": CONTROLS[control]}
    transport = {"congestion": CONTROLS[control], "min_rto": "200 ms"}
    if queue != DROP_TAIL:
        transport["ecn"] = "dctcp" if control == "dctcp" else "classic"
    return transport


def _named_of(world: str, name: str) -> str:
    return name if world == LINUX else f"{world}-{name}"


def _simulated(control: str, world: str, scenario: Scenario) -> Scenario | None:
    """Return what is simulated of DCTCP: the kernel's receivers also acknowledge CWR at once."""
    if control != "dctcp" or world != LINUX:
        return None
    return scenario.with_overrides({"transport.quick_acks_on_ecn": True})


def _fields(
    transport: dict[str, Any], queue: int | str, network: dict[str, Any], flows: dict[str, Any]
) -> dict[str, Any]:
    discipline: dict[str, Any] = {"kind": DROP_TAIL}
    if queue != DROP_TAIL:
        discipline = {"kind": "threshold", "marking_threshold": f"{queue} packets"}
    return {
        "network": {"rate": EDGE, **network},
        "switch": {"buffer": BUFFER, "queue": discipline},
        "transport": transport,
        "flows": flows,
    }


def _named(queue: int | str) -> str:
    return DROP_TAIL if queue == DROP_TAIL else f"k{queue}"


def _long(control: str, queue: int | str, flows: int, rtt_ms: int, world: str = LINUX) -> Case:
    """Return long flows into one receiver, over two links of a quarter of the RTT each."""
    name = _named_of(world, f"long-{control}-{_named(queue)}-{flows}-flows-{rtt_ms}ms")
    network = {
        "topology": "star",
        "senders": flows,
        "delay": f"{250 * rtt_ms} us",
        "links": {"receiver": {"rate": BOTTLENECK}},
    }
    long = {"workload": "bulk", "from": "senders", "to": "receiver", "start_spread": "100 ms"}
    fields = _fields(_transport(control, queue, world), queue, network, {"long": long})
    duration, warmup = LONG[rtt_ms]
    fields |= {"name": name, "run": {"duration": duration}, "measure": {"warmup": warmup}}
    scenario = Scenario.from_dict(fields)
    simulated = _simulated(control, world, scenario)
    return Case(name, world, scenario, "switch->receiver", simulated=simulated)


def _incast(control: str, servers: int, world: str = LINUX) -> Case:
    """Return a client that requests 64 KiB from each server, again after the last response."""
    queue = 20 if control == "dctcp" else DROP_TAIL
    name = _named_of(world, f"incast-{control}-{servers}-servers")
    network = {
        "topology": "star",
        "senders": servers,
        "delay": "250 us",
        "links": {"receiver": {"rate": BOTTLENECK}},
    }
    storage = {"workload": "barrier-incast", "from": "senders", "to": "receiver", "sru": "64 KiB"}
    fields = _fields(_transport(control, queue, world), queue, network, {"storage": storage})
    fields |= {"name": name, "run": {"duration": "6 s"}, "measure": {"warmup": "1 s"}}
    scenario = Scenario.from_dict(fields)
    return Case(
        name,
        world,
        scenario,
        "switch->receiver",
        simulated=_simulated(control, world, scenario),
        dilation=SERVERS[servers],
    )


def _poisson(control: str, rtt_ms: int, world: str = LINUX) -> Case:
    """Return finite flows at random instants, half the rate of the bottleneck on average."""
    queue = 20 if control == "dctcp" else DROP_TAIL
    name = _named_of(world, f"poisson-{control}-{rtt_ms}ms")
    network = {
        "topology": "dumbbell",
        "senders": 4,
        "receivers": 4,
        "delay": f"{50 * rtt_ms} us",
        "links": {"bottleneck": {"rate": BOTTLENECK, "delay": f"{400 * rtt_ms} us"}},
    }
    load = {
        "workload": "poisson",
        "from": "senders",
        "to": "receivers",
        "sizes": {"points": SIZES},
        "load": 0.5,
        "load_of": "trunk",
        "stop": "10 s",
    }
    fields = _fields(_transport(control, queue, world), queue, network, {"load": load})
    fields |= {"name": name, "run": {"duration": "12 s"}}
    scenario = Scenario.from_dict(fields)
    return Case(
        name,
        world,
        scenario,
        "left->right",
        is_paired=True,
        simulated=_simulated(control, world, scenario),
        dilation=POISSON[rtt_ms],
    )
