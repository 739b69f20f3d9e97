"""The readings of 000, and the protocols that it compares DCUDP with, as keys of a scenario.

A reading is one choice in each of six places: the law of figure 4, its growth, its floor, the rule
for leaving congestion mode, the length K of that rule's windows, and the marker. Claims have a case
for the default, for every single other choice, and for all that stands in print at once; the map
has every combination. Under the printed law nothing grows, so that growth is no choice there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TH_MAX = 15
"""Packets: 000's threshold."""
WINDOWS = (4, 8, 16, 32, 64)
"""K of section IV.C, of which 000 has no number."""
RED = {
    "switch.queue.kind": "red",
    "switch.queue.min": "5 packets",
    "switch.queue.max": f"{TH_MAX} packets",
    "switch.queue.weight": "0.002",
    "switch.queue.max_p": "0.1",
}
"""ns-2's defaults. The scenarios of DCUDP have RED with min = max and weight 1: a threshold."""


@dataclass(frozen=True)
class System:
    """A protocol with its switch: key, label, which scenarios it takes and how it sets them."""

    key: str
    label: str
    scenarios: str
    overrides: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """DCUDP as somebody may read it. What is not said is the default."""

    law: str = "default"
    growth: str = "per-second"
    floor: str = "latest"
    exit: str = "default"
    window: int = 8
    marker: str = "threshold"

    @property
    def overrides(self) -> dict[str, str]:
        """Give the keys that set it, of those that are not the scenario's own."""
        default = Reading()
        keys = {
            "transport.law": (self.law, default.law),
            "transport.growth": (self.growth, default.growth),
            "transport.floor": (self.floor, default.floor),
            "transport.exit": (self.exit, default.exit),
            "transport.exit_window": (str(self.window), str(default.window)),
        }
        found = {key: value for key, (value, usual) in keys.items() if value != usual}
        return found | (RED if self.marker == "red" else {})

    @property
    def key(self) -> str:
        """Name it in experiments, every place of it."""
        law = self.law if self.law == "printed" else self.growth
        return f"{law}+{self.floor}+{self.exit}+K{self.window}+{self.marker}"

    def system(self, label: str) -> System:
        """Give it as a system."""
        return System(self.key, label, "dcudp", self.overrides)


DEFAULT = Reading()
NAMED = {
    "default": DEFAULT,
    "growth per-rtt": replace(DEFAULT, growth="per-rtt"),
    "law printed": replace(DEFAULT, law="printed"),
    "floor idle": replace(DEFAULT, floor="idle"),
    "exit printed": replace(DEFAULT, exit="printed"),
    **{f"K = {k}": replace(DEFAULT, window=k) for k in WINDOWS if k != DEFAULT.window},
    "marker red": replace(DEFAULT, marker="red"),
    "as printed": Reading(law="printed", exit="printed", marker="red"),
}
"""The cases of claims.toml."""
READINGS = tuple(reading.system(label) for label, reading in NAMED.items())
BASE = READINGS[0]

LAWS = (("default", "per-second"), ("default", "per-rtt"), ("printed", "per-second"))
"""Law and growth."""
FLOORS = ("latest", "idle")
EXITS = ("default", "printed")
MARKERS = ("threshold", "red")


def combinations(windows: tuple[int, ...] = WINDOWS) -> list[Reading]:
    """List every combination of choices, for these K."""
    return [
        Reading(law, growth, floor, leave, window, marker)
        for (law, growth), floor, leave, marker, window in product(
            LAWS, FLOORS, EXITS, MARKERS, windows
        )
    ]


def _dctcp(threshold: int, key: str, label: str) -> System:
    overrides = {
        "transport.congestion": "dctcp",
        "transport.recovery": "sack",
        "transport.g": "0.3",
        "switch.queue.kind": "threshold",
        "switch.queue.mark_above": f"{threshold} packets",
    }
    return System(key, label, "tcp", overrides)


TCP = System("tcp", "TCP", "tcp")
TCP_ECN = System("tcp-ecn", "TCP-ECN", "tcp", {"transport.ecn": "classic", **RED})
DCTCP = _dctcp(10, "dctcp", "DCTCP")
DCTCP_50 = _dctcp(50, "dctcp-50", "DCTCP, K = 50")
DCTCP_UNMARKED = System(
    "dctcp-unmarked",
    "DCTCP without marks",
    "tcp",
    {**DCTCP.overrides, "switch.queue.mark_above": "2000 packets"},
)
"""In 10 ms a link takes 833 packets, and slow start brings at most twice as many: no marks."""
UDT = System("udt", "UDT", "udt")
