"""Topologies of htsim (`.topo`): leaf-spine networks and fat trees by their numbers.

    Nodes 32                     hosts
    Tiers 2
    Podsize 32                   hosts of a pod
    Tier 0                       the switches of the hosts, and the links down to these
    Downlink_speed_Gbps 100
    Downlink_Latency_ns 1000
    Radix_Down 8
    Radix_Up 2
    Tier 1 ...

Source: Broadcom/csg-htsim, sim/datacenter/fat_tree_topology.cpp (load, set_custom_params). Keys are
read in any case there and here; what htsim refuses is refused.

Leaves out: buffers that differ between the ports up and down of a switch, which are reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from incastle.importers.htsim_fabric import Fabric, Tier
from incastle.importers.lines import Lines, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

HEAD = {"nodes": 1, "tiers": 2, "podsize": 1}
"""Keys before the first tier, and their minimum values."""

REQUIRED = {"downlink_speed_gbps": 1, "downlink_latency_ns": 0, "radix_down": 1}
UPWARDS = {"radix_up": 1, "queue_up": 1}
OTHERS = {"queue_down": 1, "oversubscribed": 1, "bundle": 1, "switch_latency_ns": 0}
IN_TIER = REQUIRED | UPWARDS | OTHERS
"""Keys of a tier, and their minimum values."""

MAX = {
    "downlink_speed_gbps": 100_000,
    "downlink_latency_ns": 10**11,
    "switch_latency_ns": 10**11,
}
"""Maxima, within what the scenario language has for links."""

SPELT = {
    "nodes": "Nodes",
    "tiers": "Tiers",
    "podsize": "Podsize",
    "downlink_speed_gbps": "Downlink_speed_Gbps",
    "downlink_latency_ns": "Downlink_Latency_ns",
    "radix_down": "Radix_Down",
    "radix_up": "Radix_Up",
    "queue_down": "Queue_Down",
    "queue_up": "Queue_Up",
    "oversubscribed": "Oversubscribed",
    "bundle": "Bundle",
    "switch_latency_ns": "Switch_Latency_ns",
}
MAX_TIERS = 3


@dataclass
class Section:
    """The keys of the head or of a tier, each with its line."""

    line: int
    values: dict[str, tuple[int, int]] = field(default_factory=dict)

    def value(self, key: str, default: int = 0) -> int:
        """Return a value."""
        return self.values.get(key, (default, 0))[0]


def read(lines: Lines) -> Fabric:
    """Read a topology.

    Raises:
        BrokenFile: it is none, or one that htsim refuses.

    """
    head = Section(lines.last)
    tiers: dict[int, Section] = {}
    current = head
    for line, text in lines.filled():
        key, *values = text.split()
        if key.startswith("#"):
            continue
        if len(values) != 1:
            lines.fail(line, f"expected a key and a value, found {shown(text)}")
        if key.lower() == "tier":
            current = _tier(lines, line, values[0], tiers)
        else:
            _put(lines, line, key, values[0], current, HEAD if current is head else IN_TIER)
    count = _complete(lines, head, tiers)
    built = [_built(lines, number, tiers[number], count) for number in range(count)]
    origin = f"htsim's topology {lines.file}"
    pod, pod_line = head.values["podsize"]
    fabric = Fabric(lines, head.value("nodes"), pod, built, pod_line, origin)
    fabric.check()
    return fabric


def _tier(lines: Lines, line: int, text: str, tiers: dict[int, Section]) -> Section:
    number = lines.whole(line, text, "the number of a tier")
    if number >= MAX_TIERS:
        lines.fail(line, f"tier {number}: tiers are 0 (of the hosts), 1 and 2 (the cores)")
    if number in tiers:
        lines.fail(line, f"tier {number} is given twice (the first: line {tiers[number].line})")
    tiers[number] = Section(line)
    return tiers[number]


def _put(
    lines: Lines, line: int, key: str, text: str, section: Section, valid: Mapping[str, int]
) -> None:
    name = key.lower()
    if name not in valid:
        where = "in the head" if valid is HEAD else "in a tier"
        if name in HEAD | IN_TIER:
            lines.fail(line, f"{SPELT[name]} does not belong {where}")
        known = ", ".join(SPELT[one] for one in valid)
        lines.note(line, f"unknown key {shown(key)} {where}: not read; known are {known}")
        return
    if name in section.values:
        first = section.values[name][1]
        lines.fail(line, f"{SPELT[name]} is given twice (the first: line {first})")
    value = lines.whole(line, text, SPELT[name], valid[name])
    if value > MAX.get(name, value):
        lines.fail(line, f"{SPELT[name]} {value}: at most {MAX[name]} here")
    section.values[name] = (value, line)


def _complete(lines: Lines, head: Section, tiers: Mapping[int, Section]) -> int:
    """Check that nothing is missing; return the number of tiers."""
    for key in HEAD:
        if key not in head.values:
            line = min((tier.line for tier in tiers.values()), default=head.line)
            lines.fail(line, f"expected {SPELT[key]} before the first tier")
    count, line = head.values["tiers"]
    if count > MAX_TIERS:
        lines.fail(line, f"Tiers must be 2 or 3, found {count}")
    for number in range(count):
        if number not in tiers:
            lines.fail(lines.last, f"expected a tier {number}: Tiers is {count} (line {line})")
        wanted = [*REQUIRED, *(["radix_up"] if number < count - 1 else [])]
        for key in wanted:
            if key not in tiers[number].values:
                lines.fail(tiers[number].line, f"expected {SPELT[key]} in tier {number}")
    for number in sorted(tiers):
        if number >= count:
            lines.fail(tiers[number].line, f"tier {number}: Tiers is {count} (line {line})")
    return count


def _built(lines: Lines, number: int, section: Section, count: int) -> Tier:
    if number == count - 1:
        for key in UPWARDS:
            if key in section.values:
                line = section.values[key][1]
                lines.fail(line, f"{SPELT[key]} in tier {number}: no links lead up from there")
    down, up = section.value("queue_down"), section.value("queue_up")
    if up and down and up != down:
        lines.note(
            section.values["queue_up"][1],
            f"Queue_Up {up} and Queue_Down {down}: all ports of a switch have as much buffer "
            "here; Queue_Down is taken",
        )
    return Tier(
        line=section.line,
        speed=section.value("downlink_speed_gbps") * 10**9,
        delay=section.value("downlink_latency_ns") * 1000,
        latency=section.value("switch_latency_ns") * 1000,
        down=section.value("radix_down"),
        up=section.value("radix_up"),
        bundle=section.value("bundle", 1),
        oversubscribed=section.value("oversubscribed", 1),
        buffer=down or up,
    )
