"""How far a sweep has come."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep has come.

    Attributes:
        total: runs of the plan; of a search about as many as it will take.
        found: those that an earlier call had finished.
        finished: those that are over by now: found, done or failed.
        failed: those that gave no result.
        under_way: shares of runs that are being done, summed up; 0 where that is unknown.
        workers: threads of the cluster, or None on this machine.

    """

    total: int
    found: int = 0
    finished: int = 0
    failed: int = 0
    under_way: float = 0.0
    workers: int | None = None

    @property
    def fraction(self) -> float:
        """The share that is done, 0 to 1."""
        return min(1.0, (self.finished + self.under_way) / self.total) if self.total else 1.0
