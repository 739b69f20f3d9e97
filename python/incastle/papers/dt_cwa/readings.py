"""The readings of Sreekumari: every pair of thresholds, with every reading of equation (1).

A reading is named MARKER, REACTION[, EXTREMES] in claims and figures, and by its key in the names
of experiments. `DCTCP` and, for the switch alone, DCTCP's sender at two thresholds stand beside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MARKERS = ("as-printed", "dt-dctcp", "around-k")
_REACTIONS: dict[str, dict[str, str]] = {
    "subtract": {},
    "subtract, notification": {"transport.readings.extremes": "notification"},
    "subtract, loss": {"transport.readings.extremes": "loss"},
    "absolute": {"transport.readings.reaction": "absolute"},
    "printed": {"transport.readings.reaction": "printed"},
}
REACTIONS = tuple(_REACTIONS)


@dataclass(frozen=True)
class System:
    """A switch with a sender: its key, its label, which scenarios it takes and how it sets them."""

    key: str
    label: str
    switch: str
    overrides: Mapping[str, str] = field(default_factory=dict)


def reading(marker: str, reaction: str) -> System:
    """Give DT-CWA in one of its readings."""
    key = f"{marker}+{reaction.replace(', ', '+')}"
    overrides = {"switch.queue.readings.thresholds": marker, **_REACTIONS[reaction]}
    return System(key, f"{marker}, {reaction}", "double", overrides)


DCTCP = System("dctcp", "DCTCP", "dctcp")
READINGS = tuple(reading(marker, reaction) for marker in MARKERS for reaction in REACTIONS)
SWITCH_ALONE = tuple(
    System(
        f"{marker}+dctcp",
        f"{marker}, DCTCP's sender",
        "double",
        {"switch.queue.readings.thresholds": marker, "transport.congestion": "dctcp"},
    )
    for marker in MARKERS
)
# Of the answer's variants: the readings that differ most.
REACTIONS_CHOSEN = ("subtract", "subtract, notification", "printed")
CHOSEN = tuple(reading(marker, reaction) for marker in MARKERS for reaction in REACTIONS_CHOSEN)
