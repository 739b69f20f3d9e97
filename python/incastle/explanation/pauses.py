"""The pauses of PFC that a run has recorded: when, at which port and priority, from which root."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incastle.explanation.record import picoseconds
from incastle.explanation.words import peer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

NEVER = 1 << 63
"""An instant after every other."""


@dataclass(frozen=True)
class Pause:
    """A row of the table `pause_record`, with instants in picoseconds.

    Attributes:
        port: the port that was paused.
        priority: and its priority.
        begins: when the pause began.
        ends: when it ended; NEVER if it lasted at the end of the run.
        congested: the port that held most of the data, of the switch that sent the pause; "" if
            unknown.
        root: the port at the root of the congestion tree; "" if unknown.
        depth: the pauses from the root to this one.

    """

    port: str
    priority: int
    begins: int
    ends: int
    congested: str
    root: str
    depth: int

    @property
    def by(self) -> str:
        """The switch or NIC that sent it: the other end of the link."""
        return peer(self.port)


class Pauses:
    """The pauses of a run, by port and priority."""

    def __init__(self, frame: pl.DataFrame | None = None) -> None:
        self._pauses: dict[tuple[str, int], list[Pause]] = defaultdict(list)
        for row in () if frame is None else frame.iter_rows(named=True):
            pause = _pause(row)
            self._pauses[pause.port, pause.priority].append(pause)

    def within(
        self, port: str, priority: int | None, begins: int, ends: int
    ) -> Iterator[tuple[int, int, Pause]]:
        """Yield the paused parts of an interval in order, each with its pause."""
        if priority is None:
            return
        pauses = self._pauses.get((port, priority), [])
        first = bisect_right(pauses, begins, key=lambda one: one.ends)
        for pause in pauses[first:]:
            if pause.begins >= ends:
                return
            yield max(begins, pause.begins), min(ends, pause.ends), pause


def _pause(row: Mapping[str, Any]) -> Pause:
    ends_s = row["end_s"]
    return Pause(
        port=row["port"],
        priority=int(row["priority"]),
        begins=picoseconds(row["begin_s"]),
        ends=NEVER if ends_s is None else picoseconds(ends_s),
        congested=row["congested_port"],
        root=row["root_port"],
        depth=int(row["depth"]),
    )
