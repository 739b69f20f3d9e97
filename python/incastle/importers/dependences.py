"""Transfers that wait for others: when each begins."""

from __future__ import annotations

from collections import Counter, defaultdict
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from incastle.importers.model import Tie

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from incastle.importers.model import Transfer


def begins(rows: Sequence[Transfer], takes: Callable[[Transfer], int]) -> list[int | None]:
    """Return when each transfer begins, in picoseconds, where `takes` has the duration of each.

    None for one that never begins: what it waits for does not happen, or not often enough. A
    transfer without end lets nothing happen.
    """
    begun: list[int | None] = [None] * len(rows)
    values: Counter[str] = Counter()
    waiting: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    ends: list[tuple[int, int]] = []

    def begin(place: int, now: int) -> None:
        row = rows[place]
        begun[place] = now + row.start
        if row.tie and row.bytes is not None:
            heappush(ends, (now + row.start + takes(row), place))

    for place, row in enumerate(rows):
        if row.tie and row.tie.after:
            name, value = row.tie.after
            heappush(waiting[name], (value, place))
        else:
            begin(place, 0)
    while ends:
        now, place = heappop(ends)
        tie = rows[place].tie or Tie()
        for name in filter(None, (tie.acknowledged, tie.arrived)):
            values[name] += 1
            while waiting[name] and waiting[name][0][0] <= values[name]:
                begin(heappop(waiting[name])[1], now)
    return begun
