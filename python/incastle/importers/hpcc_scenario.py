"""The scenario of a configuration of HPCC's ns-3 simulator: run, switches, transport.

Source: kwzhao/High-Precision-Congestion-Control, branch m3: simulation/scratch/third.cc,
src/point-to-point/model/ (rdma-hw.cc, switch-mmu.cc, switch-node.cc, qbb-net-device.cc), and
src/internet/model/ (seq-ts-header.cc, int-header.h). Oddities without a key are those of
`compat = "hpcc-ns3"`.

Leaves out, with an error: chunks that are no whole number of packets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypeAlias

from incastle.importers import hpcc_faults, quantities
from incastle.importers.hpcc_config import KB, KIB, Dcqcn, Ecn, Hpcc, HpccConfig, RateDctcp, Timely
from incastle.importers.hpcc_keys import ECN_CONTROLS, Control
from incastle.importers.lines import BrokenFile
from incastle.importers.model import HOST, Node, names
from incastle.toml import one_line_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from incastle.importers.model import Link, Network, Transfer
    from incastle.scenario import Value

Table: TypeAlias = "dict[str, Value]"
Tables: TypeAlias = "dict[str, Table]"

COMPAT = "hpcc-ns3"
ALONE = "imported"
"""The name of the group where all flows have one priority."""
HEADERS, ACK = 48, 60
"""PPP 14, IPv4 20, UDP 8, sequence number 6; an ACK has 60 in all."""
TIMESTAMP, INT = 8, 42
"""Bytes more in packets of TIMELY and of HPCC (int-header.h), and in HPCC's ACKs."""
INT_OF_ACK = 28
"""Bytes that HPCC's ACKs, padded to 60 without INT, grow by it."""
LOSSLESS = list(range(1, 8))
"""Queue 0 is neither counted nor paused nor marked."""
PFC: Table = {
    "priorities": LOSSLESS,
    "alpha": 0.25,
    "resume_offset": "3 KiB",
    "reserve": "4 KiB",
    "headroom": "auto",
}
"""Shift 2 of branch m3, and constants (switch-mmu.cc)."""


def run(config: HpccConfig) -> Table:
    """Return the keys of `[run]`."""
    duration = quantities.time(quantities.ns3_instant(config.stop_ps))
    return {"duration": duration, "stop": "when-done", "compat": COMPAT}


def groups(transfers: Sequence[Transfer]) -> dict[str, list[Transfer]]:
    """Return transfers by the name of their group, each of one priority; starts as in ns-3.

    Flows that start at one instant do so in the order of the file: a priority has several groups
    where others are between its flows.
    """
    found: list[tuple[int, list[Transfer]]] = []
    latest: dict[int, int] = {}
    for row in transfers:
        at = quantities.ns3_instant(row.start)
        fitting = range(latest.get(at, 0), len(found))
        place = next((one for one in fitting if found[one][0] == row.priority), len(found))
        if place == len(found):
            found.append((row.priority, []))
        found[place][1].append(row._replace(start=at))
        latest[at] = place
    if len(found) == 1:
        return {ALONE: found[0][1]}
    of_priority: Counter[int] = Counter()
    named: dict[str, list[Transfer]] = {}
    for priority, rows in found:
        of_priority[priority] += 1
        again = f"-{of_priority[priority]}" if of_priority[priority] > 1 else ""
        named[f"priority-{priority}{again}"] = rows
    return named


def tables(
    config: HpccConfig, links: Sequence[Link], groups: Mapping[str, Sequence[Transfer]]
) -> Tables:
    """Return the tables of switches, transport and flows; the flows have no lists yet.

    Raises:
        BrokenFile: the configuration has what is not simulated here.

    """
    _refuse(config)
    buffer = {"shared": f"{config.buffer_bytes // KIB} KiB", "alpha": 1.0}
    priorities = {label: rows[0].priority for label, rows in groups.items()}
    found: Tables = {
        **hpcc_faults.failures(config, links),
        "switch": {"buffer": buffer},
        "switch.queue": {"kind": "priorities", "scheduler": "round-robin"},
        **(_marking(config, links) if config.control in ECN_CONTROLS else {}),
        "switch.pfc": PFC | {"pause_frames": config.pfc},
        "transport": _transport(config, next(iter(priorities.values()))),
    }
    for label, priority in priorities.items():
        keys: Table = {"workload": "flow-list", "from": "all", "to": "all"}
        own: Table = {} if label == ALONE else {"transport": {"traffic_class": priority}}
        found[f"flows.{label}"] = keys | own
    return found


def lines(name: str, network: Network, tables: Tables, lists: Mapping[str, Value]) -> Iterator[str]:
    """Yield the lines of a scenario; `lists` has the transfers of each group."""
    yield from _pairs({"name": name})
    places = {f"network.links.{label}": keys for label, keys in network.groups.items()}
    places |= {f"network.degraded.{label}": keys for label, keys in network.degraded.items()}
    run = {"run": tables["run"], "network": network.keys}
    for place, keys in (run | places | tables).items():
        label = place.removeprefix("flows.")
        yield from ("", f"[{place}]")
        yield from _pairs(keys | ({"transfers": lists[label]} if label in lists else {}))


def _pairs(keys: Table) -> Iterator[str]:
    yield from (f"{key} = {one_line_toml(value)}" for key, value in keys.items())


def _refuse(config: HpccConfig) -> None:
    """Refuse what is not simulated here."""
    chunk = config.go_back_chunk_bytes
    if chunk and chunk % config.payload_bytes:
        whole = f"chunks are whole packets here, multiples of {config.payload_bytes}"
        raise BrokenFile(config.file, 0, f"L2_CHUNK_SIZE {chunk}: {whole}")


def _marking(config: HpccConfig, links: Sequence[Link]) -> Tables:
    """Return the marks of all ports, or the tables of ports by the rates of their links."""
    rates = sorted({link.rate for link in links})
    ecn = {rate: config.ecn_of(rate) for rate in rates}
    if _is_proportional(ecn):
        per = f" per {quantities.rate(rates[0])}" if rates[1:] else ""
        return {"switch.queue.marks.data": _marks(ecn[rates[0]], per)}
    ports: Tables = {}
    for switch, towards in _neighbors(links).items():
        label = f"switches.switch-{switch.number}"
        ports[label] = {"of": names([switch])[0]}
        for rate, neighbors in sorted(towards.items()):
            name = quantities.rate(rate).replace(" ", "-").replace("/", "-per-")
            marks: Table = {"marks": {"data": _marks(ecn[rate])}}
            ports[f"{label}.ports.{name}"] = {"to": names(neighbors), "queue": marks}
    return ports


def _is_proportional(ecn: Mapping[int, Ecn]) -> bool:
    """Return whether thresholds grow with the rate, exactly, and probabilities are alike."""
    (base, first), *others = ecn.items()
    return all(
        one.kmin_bytes * base == first.kmin_bytes * rate
        and one.kmax_bytes * base == first.kmax_bytes * rate
        and one.pmax == first.pmax
        for rate, one in others
    )


def _marks(ecn: Ecn, per: str = "") -> Table:
    """Return marks at dequeue. Without a probability only what is above Kmax is marked."""
    if ecn.pmax == 0:
        step = f"{_size(ecn.kmax_bytes)}{per}"
        return {"priorities": LOSSLESS, "marking": "step", "marking_threshold": step}
    return {
        "priorities": LOSSLESS,
        "k_min": f"{_size(ecn.kmin_bytes)}{per}",
        "k_max": f"{_size(ecn.kmax_bytes)}{per}",
        "p_max": ecn.pmax,
    }


def _size(count: int) -> str:
    return f"{count // KB} KB"


def _neighbors(links: Sequence[Link]) -> dict[Node, dict[int, list[Node]]]:
    """Return the neighbors of each switch by the rate of their link."""
    found: defaultdict[Node, defaultdict[int, list[Node]]] = defaultdict(lambda: defaultdict(list))
    for link in links:
        for switch, neighbor in ((link.a, link.b), (link.b, link.a)):
            if switch.role != HOST:
                found[switch][link.rate].append(neighbor)
    return {switch: dict(towards) for switch, towards in sorted(found.items())}


def _transport(config: HpccConfig, priority: int) -> Table:
    window = config.window
    keys: Table = {
        "kind": "rdma",
        "congestion": str(config.control),
        "traffic_class": priority,
        "framing": "ip",
        "max_rate": quantities.rate(config.max_rate),
        "min_rate": quantities.rate(config.min_rate),
        "window": quantities.size(window.bytes) if window else "unlimited",
        "window_follows_rate": window is not None and window.scaled,
        "rate_bound": config.rate_bound,
        "mtu": quantities.size(config.payload_bytes),
        **_sizes(config.control),
        "packets_per_ack": 1,
        "ack_timeout": "off",
        "retry_limit": "unlimited",
        "nak_interval": "500 us",
        "notification": "echo",
    }
    # The queue of ACKs with high priority is 0 (qbb-net-device.cc).
    keys |= {"control_class": 0} if config.ack_high_prio else {}
    if config.go_back_chunk_bytes:
        packets = config.go_back_chunk_bytes // config.payload_bytes
        keys |= {"recovery": "go-back-0", "chunk": f"{packets} packets"}
    return keys | _control(config)


def _sizes(control: Control) -> Table:
    match control:
        case Control.HPCC:
            # Telemetry is added to ACKs as well, which are not padded then.
            return {
                "header_size": f"{HEADERS} B",
                "ack_size": f"{ACK + INT_OF_ACK - INT} B",
                "int_size": f"{INT} B",
            }
        case Control.TIMELY:
            return {"header_size": f"{HEADERS + TIMESTAMP} B", "ack_size": f"{ACK} B"}
        case _:
            return {"header_size": f"{HEADERS} B", "ack_size": f"{ACK} B"}


def _control(config: HpccConfig) -> Table:
    """Return the keys of the control."""
    match config.parameters:
        case Dcqcn() as dcqcn:
            return _dcqcn(dcqcn)
        case Hpcc() as hpcc:
            return _hpcc(hpcc)
        case Timely() as timely:
            return _timely(timely)
        case RateDctcp() as dctcp:
            return {"g": dctcp.gain, "ai_rate": quantities.rate(dctcp.rate_ai)}


def _dcqcn(dcqcn: Dcqcn) -> Table:
    return {
        "preset": "dcqcn-mellanox",
        "g": dcqcn.gain,
        "alpha_timer": f"{dcqcn.alpha_interval_us} us",
        "rate_reduce_monitor_period": f"{dcqcn.decrease_interval_us} us",
        "rpg_time_reset": f"{dcqcn.increase_interval_us} us",
        "rpg_byte_reset": "off",
        "rpg_threshold": dcqcn.fast_recovery_times,
        "rpg_ai_rate": quantities.rate(dcqcn.rate_ai),
        "rpg_hai_rate": quantities.rate(dcqcn.rate_hai),
        "clamp_tgt_rate": dcqcn.clamp_target_rate,
    }


def _hpcc(hpcc: Hpcc) -> Table:
    return {
        "preset": "hpcc-ns3",
        "base_rtt": f"{hpcc.base_rtt_ns} ns",
        "eta": hpcc.target_utilization,
        "max_stage": hpcc.max_stage,
        "ai_rate": quantities.rate(hpcc.rate_ai),
        "fast_react": hpcc.fast_react,
        "multi_rate": hpcc.rate_per_hop,
        "sample_feedback": hpcc.sample_feedback,
        "int_multi": hpcc.int_multi,
    }


def _timely(timely: Timely) -> Table:
    return {
        "preset": "timely-hpcc-ns3",
        "beta": timely.beta,
        "t_low": f"{timely.t_low_ns} ns",
        "t_high": f"{timely.t_high_ns} ns",
        "ai_rate": quantities.rate(timely.rate_ai),
        "hai_rate": quantities.rate(timely.rate_hai),
    }
