"""The values of an explanation, as the native module computes them.

Instants and spans are whole picoseconds, as in the engine: sums have to be exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PS_PER_S = 1e12


@dataclass(frozen=True)
class Step:
    """Something that happened, in words; `when` is its instant in words."""

    at: int
    text: str
    when: str

    def as_json(self) -> dict[str, object]:
        """Return it with its instant in seconds."""
        return {"time_s": self.at / PS_PER_S, "text": self.text}


@dataclass(frozen=True)
class Timer:
    """The expiry of a retransmission timer: a row of the table `events`."""

    at: int
    end: str
    event: str
    cause: str
    waited: int
    rto: int


@dataclass(frozen=True)
class Chain:
    """A timeout with its causes and consequences, in order of time."""

    timer: Timer
    waited: int
    title: str
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, values: dict[str, Any]) -> Chain:
        """Return it from the values of the native module."""
        steps = tuple(Step(**one) for one in values["steps"])
        return cls(**{**values, "timer": Timer(**values["timer"]), "steps": steps})

    def as_json(self) -> dict[str, object]:
        """Return it as plain values."""
        return {
            "time_s": self.timer.at / PS_PER_S,
            "end": self.timer.end,
            "kind": self.timer.cause or "expired",
            "waited_s": self.waited / PS_PER_S,
            "rto_s": self.timer.rto / PS_PER_S if self.timer.rto else None,
            "steps": [one.as_json() for one in self.steps],
        }


@dataclass(frozen=True)
class Pause:
    """A row of the table `pause_record`, with instants in picoseconds.

    Attributes:
        number: the parts of one pause, each with one root, have one number.
        port: the port that was paused.
        priority: and its priority.
        begins: when the pause began.
        ends: when it ended; after every instant if it lasted at the end of the run.
        congested: the port that held most of the data, of the switch that sent the pause; "" if
            unknown.
        root: the port at the root of the congestion tree; "" if unknown.
        depth: the pauses from the root to this one.

    """

    number: int
    port: str
    priority: int
    begins: int
    ends: int
    congested: str
    root: str
    depth: int


@dataclass(frozen=True)
class Piece:
    """A part of the path: from one instant to another, of one kind, at most at one port."""

    kind: str
    where: str
    begins: int
    ends: int
    priority: int | None = None
    pause: Pause | None = None

    @classmethod
    def of(cls, values: dict[str, Any]) -> Piece:
        """Return it from the values of the native module."""
        pause = values["pause"]
        return cls(**{**values, "pause": None if pause is None else Pause(**pause)})

    @property
    def span(self) -> int:
        """How long it lasts."""
        return self.ends - self.begins


@dataclass(frozen=True)
class Flight:
    """A packet with data of the sender that a flow waited for."""

    number: int
    repeated: bool


@dataclass(frozen=True)
class Path:
    """The critical path of a transfer.

    Attributes:
        pieces: its parts, from the first to the last.
        rows: each kind of them in words, the longest first: part, time, share, the port with most
            of it.
        timers: the timeouts that it waited for.
        flights: the packets with data of the sender that it waited for, one after the other.

    """

    pieces: tuple[Piece, ...]
    rows: list[list[str]]
    timers: list[Timer]
    flights: list[Flight]
    sums: list[tuple[str, int]]

    @classmethod
    def of(cls, values: dict[str, Any]) -> Path:
        """Return it from the values of the native module."""
        return cls(
            pieces=tuple(Piece.of(one) for one in values["pieces"]),
            rows=values["rows"],
            timers=[Timer(**one) for one in values["timers"]],
            flights=[Flight(**one) for one in values["flights"]],
            sums=values["by_kind"],
        )

    @property
    def span(self) -> int:
        """How long its parts last together: the time of the transfer."""
        return sum(one.span for one in self.pieces)

    def by_kind(self) -> dict[str, int]:
        """Return the time of each kind, the longest first."""
        return dict(self.sums)

    @property
    def paused(self) -> list[Piece]:
        """The parts in which the port of a packet was paused."""
        return [one for one in self.pieces if one.pause is not None]


@dataclass(frozen=True)
class PauseWait:
    """The wait at a paused port, on the critical path.

    Attributes:
        port: the paused port.
        root: the port at the root of the congestion tree; "" if unknown.
        waited: the time on the critical path, in picoseconds.
        pauses: those that it waited for, in their order.
        is_own_root: whether the root is the port to the receiver of the flow.
        congested: the port that held most of the data, in most of the pauses.
        depth: the pauses from the root to this port, at most.
        by: the switch or NIC that paused it.
        text: all this in words.

    """

    port: str
    root: str
    waited: int
    pauses: tuple[Pause, ...]
    is_own_root: bool
    congested: str
    depth: int
    by: str
    text: str

    @classmethod
    def of(cls, values: dict[str, Any]) -> PauseWait:
        """Return it from the values of the native module."""
        return cls(**{**values, "pauses": tuple(Pause(**one) for one in values["pauses"])})

    def as_json(self) -> dict[str, object]:
        """Return it as plain values."""
        first = self.pauses[0]
        return {
            "port": self.port,
            "priority": first.priority,
            "waited_s": self.waited / PS_PER_S,
            "pauses": len(self.pauses),
            "began_s": first.begins / PS_PER_S,
            "paused_by": self.by,
            "congested_port": self.congested,
            "root_port": self.root,
            "is_own_root": self.is_own_root,
            "depth": self.depth,
        }


@dataclass(frozen=True)
class Other:
    """A queue pair that sent meanwhile.

    Attributes:
        flow: its number.
        name: GROUP:INDEX.
        packets: those that were sent in the wait, at least in part.
        sent: how long the port was sending them in the wait, in picoseconds.

    """

    flow: int
    name: str
    packets: int
    sent: int


@dataclass(frozen=True)
class NicWait:
    """The wait at the port of a host, on the critical path.

    Attributes:
        port: the port.
        begins: when the first part of it began, in picoseconds.
        waited: all of it, in picoseconds.
        others: the queue pairs that sent meanwhile, those that sent longest first.
        text: all this in words.

    """

    port: str
    begins: int
    waited: int
    others: tuple[Other, ...]
    text: str

    @classmethod
    def of(cls, values: dict[str, Any]) -> NicWait:
        """Return it from the values of the native module."""
        return cls(**{**values, "others": tuple(Other(**one) for one in values["others"])})

    def as_json(self) -> dict[str, object]:
        """Return it as plain values."""
        return {
            "port": self.port,
            "began_s": self.begins / PS_PER_S,
            "waited_s": self.waited / PS_PER_S,
            "queue_pairs": [
                {
                    "flow": one.flow,
                    "name": one.name,
                    "packets": one.packets,
                    "sent_s": one.sent / PS_PER_S,
                }
                for one in self.others
            ],
        }


@dataclass(frozen=True)
class Pending:
    """A retransmission timer that had not expired.

    Attributes:
        at: when it would expire, or at the earliest.
        rto: its span, or the minimum.
        exact: whether both are more than lower bounds.
        reason: why it has this span.
        short: the timer, its span and the reason in words.
        text: these, and when it expires.

    """

    at: int
    rto: int
    exact: bool
    reason: str
    short: str
    text: str

    def as_json(self) -> dict[str, object]:
        """Return it with its instants in seconds."""
        return {
            "expires_s": self.at / PS_PER_S,
            "rto_s": self.rto / PS_PER_S,
            "exact": self.exact,
            "reason": self.reason,
        }
