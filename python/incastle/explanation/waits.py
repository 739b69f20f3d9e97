"""The waits of a critical path for PFC: who paused a port, because of which port, and the root.

A pause has the cause that it had when its frame was sent: the egress port of the switch that held
most of the data, and the root of its congestion tree. Waits at one port for one root are one wait.
Leaves out: later changes of a pause's cause.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incastle.explanation import words
from incastle.explanation.record import PS_PER_S
from incastle.explanation.timeouts import Step

if TYPE_CHECKING:
    from incastle.explanation.path import Path
    from incastle.explanation.pauses import Pause


@dataclass(frozen=True)
class PauseWait:
    """The wait at a paused port, on the critical path.

    Attributes:
        port: the paused port.
        root: the port at the root of the congestion tree; "" if unknown.
        waited: the time on the critical path, in picoseconds.
        pauses: those that it waited for, in their order.
        is_own_root: whether the root is the port to the receiver of the flow.

    """

    port: str
    root: str
    waited: int
    pauses: tuple[Pause, ...]
    is_own_root: bool = False

    @property
    def begins(self) -> int:
        """When the first pause began."""
        return self.pauses[0].begins

    @property
    def congested(self) -> str:
        """The port that held most of the data, in most of the pauses."""
        return Counter(one.congested for one in self.pauses).most_common(1)[0][0]

    @property
    def depth(self) -> int:
        """The pauses from the root to this port, at most."""
        return max(one.depth for one in self.pauses)

    @property
    def text(self) -> str:
        """Name the wait, who paused, and the cause."""
        by, first = self.pauses[0].by, words.instant(self.begins)
        times = len(self.pauses)
        often = f"since {first}" if times == 1 else f"{times:,} times, first at {first}"
        waited = f"waited {words.span(self.waited)} at {self.port}, paused by {by} {often}"
        if not self.root:
            return waited
        if self.root == words.opposite(self.port):
            return f"{waited}: its NIC is broken"
        if self.depth <= 1:
            return f"{waited}: its port {self.root}, the root{self.own}, held the data above XOFF"
        away = words.count(self.depth, "pause")
        held = f"its port {self.congested} held the data above XOFF, and was paused itself"
        return f"{waited}: {held}; root {self.root}{self.own}, {away} away"

    @property
    def own(self) -> str:
        """Where the root is if it is the port to the receiver of the flow, else ""."""
        return " (the port to its receiver)" if self.is_own_root else ""

    def as_json(self) -> dict[str, object]:
        """Return it as plain values."""
        first = self.pauses[0]
        return {
            "port": self.port,
            "priority": first.priority,
            "waited_s": self.waited / PS_PER_S,
            "pauses": len(self.pauses),
            "began_s": self.begins / PS_PER_S,
            "paused_by": first.by,
            "congested_port": self.congested,
            "root_port": self.root,
            "is_own_root": self.is_own_root,
            "depth": self.depth,
        }


def pause_waits(path: Path, receiver: str) -> list[PauseWait]:
    """Return the waits for pauses of a flow to this host, the longest first."""
    waited: Counter[tuple[str, str]] = Counter()
    pauses: dict[tuple[str, str], dict[Pause, None]] = {}
    for piece in path.pieces:
        if piece.pause is not None:
            key = (piece.pause.port, piece.pause.root)
            waited[key] += piece.span
            pauses.setdefault(key, {})[piece.pause] = None
    return [
        PauseWait(port, root, span, tuple(pauses[port, root]), words.peer(root) == receiver)
        for (port, root), span in waited.most_common()
    ]


def steps_of(path: Path, receiver: str) -> list[Step]:
    """Return the waits for pauses as steps of the story, where the first of them began."""
    begins: dict[tuple[str, str], int] = {}
    for piece in path.pieces:
        if piece.pause is not None:
            begins.setdefault((piece.pause.port, piece.pause.root), piece.begins)
    return [Step(begins[one.port, one.root], one.text) for one in pause_waits(path, receiver)]
