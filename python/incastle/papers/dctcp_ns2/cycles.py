"""The cycles of a queue: how far it swings between its peaks and troughs, and how long that takes.

A series is cut by a zigzag: a peak counts once the queue has fallen by more than the hysteresis
below it, a trough once it has risen by as much above it. Samples miss the extremes by what the
queue moves between two of them, so the swing is a little too small.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Cycles:
    """Means over the cycles of a series: the swing in its unit, the period in samples."""

    swing: float
    period: float


def cycles(series: Sequence[float], hysteresis: float) -> Cycles | None:
    """Give the mean cycle of a series, or none where it has not two peaks with a trough between."""
    peaks, troughs = _turns(series, hysteresis)
    if len(peaks) < 2:  # noqa: PLR2004
        return None
    high, low = (fmean(series[at] for at in turns) for turns in (peaks, troughs))
    return Cycles(swing=high - low, period=(peaks[-1] - peaks[0]) / (len(peaks) - 1))


def _turns(series: Sequence[float], hysteresis: float) -> tuple[list[int], list[int]]:
    """Give the places of the peaks and of the troughs, the first of both a peak."""
    peaks: list[int] = []
    troughs: list[int] = []
    extreme, rising = 0, True
    for at, value in enumerate(series):
        beyond = value - series[extreme] if rising else series[extreme] - value
        if beyond > 0:
            extreme = at
        elif -beyond > hysteresis:
            (peaks if rising else troughs).append(extreme)
            extreme, rising = at, not rising
    return peaks, troughs
