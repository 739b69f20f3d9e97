"""The readings of DCUDP, and the protocols it is compared with, as keys of a scenario.

A reading is one choice in each of eight places: law, growth, floor, the rule for leaving congestion
mode, the length K of its windows, the marker, whether control packets are ECN-capable, and whether
intervals without data have an ACK. Claims have a case for the default, for single other choices in
the first six, and for all that stands in print at once; the map has the combinations of the first
seven. Under the printed law nothing grows, so that growth is no choice there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from incastle.analysis.expressions import Choice

if TYPE_CHECKING:
    from collections.abc import Mapping

TH_MAX = 15
"""Packets: Ye, Mhamdi and Hamdi's threshold."""
WINDOWS = (4, 8, 16, 32, 64)
"""K of section IV.C, of which Ye, Mhamdi and Hamdi have no number."""
RED = {
    "switch.queue.kind": "red",
    "switch.queue.min_th": "5 packets",
    "switch.queue.max_th": f"{TH_MAX} packets",
    "switch.queue.w_q": "0.002",
    "switch.queue.max_p": "0.1",
}
"""RED's usual values. The scenarios of DCUDP have min = max and weight 1: a threshold."""
RED_DROP = {**RED, "switch.queue.action": "mark-below-max"}
"""The default of ns-2: a packet that is chosen with more than mark_p = 0.1 is dropped."""
_MARKERS: dict[str, Mapping[str, str]] = {"threshold": {}, "red": RED, "red-drop": RED_DROP}


def _system(key: str, label: str, kind: str, keys: Mapping[str, str]) -> Choice:
    """Give a protocol with its switch: which scenarios it takes, and how it sets them."""
    return Choice(key, {"key": key, "label": label, "kind": kind, "set": keys})


@dataclass(frozen=True)
class Reading:
    """DCUDP as somebody may read it. What is not said is the default."""

    law: str = "default"
    growth: str = "per-second"
    floor: str = "latest"
    exit: str = "default"
    window: int = 8
    marker: str = "threshold"
    control: str = "not-ect"
    without_data: bool = False
    """Whether an interval of congestion mode in which nothing arrived has an ACK, too."""

    @property
    def overrides(self) -> dict[str, str]:
        """Give the keys that set it, of those that are not the scenario's own."""
        default = Reading()
        keys = {
            "transport.readings.control_law": (self.law, default.law),
            "transport.readings.growth": (self.growth, default.growth),
            "transport.readings.floor": (self.floor, default.floor),
            "transport.readings.exit": (self.exit, default.exit),
            "transport.exit_window": (str(self.window), str(default.window)),
            "transport.ect_on_control": (_word(self.control == "ect"), "false"),
            "transport.ack_without_data": (_word(self.without_data), "false"),
        }
        found = {key: value for key, (value, usual) in keys.items() if value != usual}
        return {**found, **_MARKERS[self.marker]}

    @property
    def key(self) -> str:
        """Name it in experiments, every place of it."""
        law = self.law if self.law == "printed" else self.growth
        places = (law, self.floor, self.exit, f"K{self.window}", self.marker, self.control)
        return "+".join((*places, "without-data") if self.without_data else places)

    def system(self, label: str) -> Choice:
        """Give it as a system."""
        return _system(self.key, label, "dcudp", self.overrides)

    @property
    def row(self) -> str:
        """Name its row of the map: what the switch does, then what the sender does."""
        marker = {"threshold": "threshold", "red": "RED marks", "red-drop": "RED drops"}
        control = "control ECT" if self.control == "ect" else "control not ECT"
        law = "printed law" if self.law == "printed" else self.growth
        return f"{marker[self.marker]}, {control}: {law}, floor {self.floor}"


def _word(value: bool) -> str:
    return "true" if value else "false"


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
FURTHER = {
    "red drops at th_max": replace(DEFAULT, marker="red-drop"),
    "control ECT": replace(DEFAULT, control="ect"),
    "control ECT, K = 64": replace(DEFAULT, control="ect", window=64),
    "ACKs without data": replace(DEFAULT, without_data=True),
    "control ECT, ACKs without data": replace(DEFAULT, control="ect", without_data=True),
}
"""Shown beside the cases, judged by no claim: found after claims.toml had been committed."""
READINGS = tuple(reading.system(label) for label, reading in NAMED.items())
SHOWN = (*READINGS, *(reading.system(label) for label, reading in FURTHER.items()))
BASE = READINGS[0]

LAWS = (("default", "per-second"), ("default", "per-rtt"), ("printed", "per-second"))
"""Law and growth."""
FLOORS = ("latest", "idle")
ENDS = {
    "K = 8": ("default", 8),
    "K = 64": ("default", 64),
    "exit printed": ("printed", 8),
}
"""Of congestion mode: under the printed rule it hardly ever ends, whatever K is."""
MARKERS = ("threshold", "red", "red-drop")
CONTROLS = ("not-ect", "ect")


def combinations(floors: tuple[str, ...] = FLOORS) -> list[Reading]:
    """List every combination of choices with these floors, K at its default and at its largest."""
    return [
        Reading(law, growth, floor, leave, window, marker, control)
        for marker, control, (law, growth), floor, (leave, window) in product(
            MARKERS, CONTROLS, LAWS, floors, ENDS.values()
        )
    ]


_DCTCP = {
    "transport.congestion": "dctcp",
    "transport.recovery": "sack",
    "transport.g": "0.3",
    "switch.queue.kind": "threshold",
    "switch.queue.marking_threshold": "10 packets",
}
_K = "switch.queue.marking_threshold"
REVISED = {
    "transport.congestion": "dcudp-r",
    "switch.queue.kind": "threshold",
    _K: f"{TH_MAX} packets",
}
"""The revised control, over UDT, with the default reading's marks."""
OTHERS = (
    _system("tcp", "TCP", "tcp", {}),
    _system("tcp-ecn", "TCP-ECN", "tcp", {"transport.ecn": "classic", **RED}),
    _system("dctcp", "DCTCP", "tcp", _DCTCP),
    _system("dctcp-50", "DCTCP, K = 50", "tcp", {**_DCTCP, _K: "50 packets"}),
    # Linux has at least 2 segments, as is taken; DCTCP's patch for ns-2 has one.
    _system(
        "dctcp-one", "DCTCP, least window 1", "tcp", {**_DCTCP, "transport.min_cwnd": "1 packet"}
    ),
    # In 10 ms a link takes 833 packets, and slow start brings at most twice as many: no marks.
    _system("dctcp-unmarked", "DCTCP without marks", "tcp", {**_DCTCP, _K: "2000 packets"}),
    _system("udt", "UDT", "udt", {}),
    _system("dcudp-r", "dcudp-r", "udt", REVISED),
)
_END = {end: name for name, end in ENDS.items()}
AXES = {
    "readings": READINGS,
    "shown": SHOWN,
    "systems": (*SHOWN, *OTHERS),
    "combinations": tuple(
        Choice(
            reading.key,
            {
                **reading.system(reading.key).of,
                "floor": reading.floor,
                "row": reading.row,
                "end": _END[reading.exit, reading.window],
            },
        )
        for reading in combinations()
    ),
}
"""Lists that the declarations loop over: readings by their keys, and the other protocols."""
