"""The readings of Sreekumari: every pair of thresholds, with every reading of equation (1).

A reading is named MARKER, REACTION[, EXTREMES] in claims and figures, and by its key in the names
of experiments. `DCTCP` and, for the switch alone, DCTCP's sender at two thresholds stand beside.
"""

from __future__ import annotations

from incastle.analysis.expressions import Choice

MARKERS = ("as-printed", "dt-dctcp", "around-k")
_REACTIONS: dict[str, dict[str, str]] = {
    "subtract": {},
    "subtract, notification": {"transport.readings.extremes": "notification"},
    "subtract, loss": {"transport.readings.extremes": "loss"},
    "absolute": {"transport.readings.reaction": "absolute"},
    "printed": {"transport.readings.reaction": "printed"},
}
REACTIONS = tuple(_REACTIONS)


_PLAIN = {"marker": "", "reaction": ""}


def _system(key: str, label: str, switch: str, **of: object) -> Choice:
    """Give a switch with a sender: which scenarios it takes, and how it sets them."""
    return Choice(
        key, {"key": key, "label": label, "shown": label, **_PLAIN, "switch": switch, **of}
    )


def reading(marker: str, reaction: str) -> Choice:
    """Give DT-CWA in one of its readings."""
    key = f"{marker}+{reaction.replace(', ', '+')}"
    keys = {"switch.queue.readings.thresholds": marker, **_REACTIONS[reaction]}
    of = {"marker": marker, "reaction": reaction, "shown": reaction, "set": keys}
    return _system(key, f"{marker}, {reaction}", "double", **of)


DCTCP = _system("dctcp", "DCTCP", "dctcp")
READINGS = tuple(reading(marker, reaction) for marker in MARKERS for reaction in REACTIONS)
SWITCH_ALONE = tuple(
    _system(
        f"{marker}+dctcp",
        f"{marker}, DCTCP's sender",
        "double",
        marker=marker,
        shown="DCTCP's sender",
        set={"switch.queue.readings.thresholds": marker, "transport.congestion": "dctcp"},
    )
    for marker in MARKERS
)
AXES = {
    "readings": READINGS,
    "switch_alone": SWITCH_ALONE,
    "systems": (DCTCP, *READINGS, *SWITCH_ALONE),
    "markers": MARKERS,
}
"""Lists that the declarations loop over."""
