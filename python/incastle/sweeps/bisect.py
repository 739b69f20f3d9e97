"""The largest or smallest value of one key for which a condition holds, by bisection.

Assumed is that the condition changes once along the values: it holds up to some value and nowhere
above it (or from some value on). Bisection cannot detect a violation, therefore two neighbours
on either side of the answer are run as well, and values in the widest gaps between those that were
run; every value that contradicts is named. Narrower violations can be missed.

A value fulfils the condition if it does with every seed. What is run next depends on results alone,
so that the answer is the same on any number of workers, and a search that was stopped goes on.
"""

from __future__ import annotations

import math
from bisect import insort
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from incastle.analysis.measures import ends_in
from incastle.errors import IncastleError
from incastle.sweeps.plan import Checker, Plan
from incastle.sweeps.trials import Trials, check_candidates, header_for, measures_of
from incastle.sweeps.work import Execution, Place, working

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from incastle.sweeps.conditions import Condition
    from incastle.sweeps.plan import Cell
    from incastle.sweeps.sweep import Sweep
    from incastle.sweeps.values import Axis, Choice

NEIGHBOURS = 2
"""Values on either side of the answer that are run to see whether the condition changes once."""
GAPS = 4
"""Values in the widest gaps that are run for the same reason."""


@dataclass(frozen=True)
class Tried:
    """One value that was run with every seed."""

    choice: Choice
    rows: tuple[dict[str, Any], ...]
    holds: int

    @property
    def fulfils(self) -> bool:
        """Whether the condition holds with every seed."""
        return self.holds == len(self.rows)


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The outcome of a bisection.

    Attributes:
        key: the key.
        largest: whether the largest value was searched, else the smallest.
        condition: what was to hold.
        answer: the value, or None where the condition does not hold even at the end of the values
            where it was expected to.
        beyond: the next value, at which it does not hold; None if the answer is the last one.
        contradictions: values against the assumption that the condition changes once.
        tried: every value that was run, in the order of the values.
        sweep: all runs.

    """

    key: str
    largest: bool
    condition: Condition
    answer: Choice | None
    beyond: Choice | None
    contradictions: tuple[Tried, ...]
    tried: tuple[Tried, ...]
    sweep: Sweep

    @property
    def values(self) -> dict[str, Any] | None:
        """The answer by key, or None."""
        return None if self.answer is None else {self.key: self.answer.value}

    @property
    def undecided(self) -> list[Tried]:
        """The values at which unfinished transfers alone keep the condition from holding."""
        return [one for one in self.tried if self._is_undecided(one)]

    @property
    def contradicting(self) -> list[Tried]:
        """The contradictions that are decided."""
        return [one for one in self.contradictions if not self._is_undecided(one)]

    def _is_undecided(self, tried: Tried) -> bool:
        """Return whether no seed fails for certain, and unfinished transfers decide some."""
        open_ = sum(map(self.condition.is_open, tried.rows))
        return open_ > 0 and open_ + tried.holds == len(tried.rows)

    @property
    def why_nothing(self) -> str:
        """Describe why there is no answer."""
        end = self.tried[0 if self.largest else -1]
        where = f"at {self.key}={end.choice.words}, the end where it was expected to hold"
        columns = self.condition.columns
        lacking = [one for one in columns if all(ends_in(row, one) is None for row in end.rows)]
        if lacking:
            return f"no run has a value of {lacking[0]} {where}"
        if self._is_undecided(end):
            return f"{self.condition.text} is undecided {where}: transfers were unfinished"
        return (
            f"{self.condition.text} does not hold {where}: "
            f"{end.holds} of {len(end.rows)} seeds fulfil it"
        )

    def to_json(self) -> dict[str, Any]:
        """Return what `incastle find --json` prints."""
        undecided = self.undecided
        return {
            "key": self.key,
            "asked": "largest" if self.largest else "smallest",
            "where": self.condition.text,
            "answer": None if self.answer is None else self.answer.value,
            "beyond": None if self.beyond is None else self.beyond.value,
            "contradictions": [one.choice.value for one in self.contradictions],
            "undecided": [one.choice.value for one in undecided],
            "tried": [
                {"value": one.choice.value, "seeds": len(one.rows), "fulfil": one.holds}
                for one in self.tried
            ],
            "directory": self.sweep.place,
        }


class Bisection:
    """A search along positions 0, 1, ...: the condition is expected to hold at the first ones.

    The least value is at the first position, or, with `descends`, at the last.
    """

    def __init__(
        self,
        count: int,
        run: Callable[[Sequence[int]], dict[int, bool]],
        *,
        descends: bool = False,
    ) -> None:
        self.count = count
        self.run = run
        self.descends = descends
        self.known: dict[int, bool] = {}

    def last_that_holds(self) -> int | None:
        """Return the last position before the condition fails; none if it fails at the first."""
        last = self.count - 1
        self._look([0, last])
        if not self.known[0]:
            return None
        good, bad = (last, self.count) if self.known[last] else (0, last)
        while bad - good > 1:
            middle = (good + bad) // 2
            self._look([middle])
            good, bad = (middle, bad) if self.known[middle] else (good, middle)
        self._look(range(good - NEIGHBOURS, good + 1 + NEIGHBOURS))
        self._look(self._in_gaps())
        return good

    def _in_gaps(self) -> list[int]:
        """Return the middles of the widest gaps, on a logarithmic scale from the least value."""
        known = sorted(map(self._rank, self.known))
        found: list[int] = []
        for _ in range(GAPS):
            gaps = [(a, b) for a, b in pairwise(known) if b - a > 1]
            if not gaps:
                break
            low, high = max(gaps, key=lambda gap: (gap[1] + 1) / (gap[0] + 1))
            middle = min(max(math.isqrt((low + 1) * (high + 1)) - 1, low + 1), high - 1)
            insort(known, middle)
            found.append(self._rank(middle))
        return found

    def _rank(self, place: int) -> int:
        """Return how many values are less than that of a position; the reverse is the same."""
        return self.count - 1 - place if self.descends else place

    def contradictions(self, good: int | None) -> list[int]:
        """Return positions that do not fit: holding beyond the answer, or failing before it."""
        limit = -1 if good is None else good
        return sorted(place for place, holds in self.known.items() if holds != (place <= limit))

    def _look(self, places: Sequence[int]) -> None:
        wanted = sorted({place for place in places if 0 <= place < self.count} - set(self.known))
        if wanted:
            self.known |= self.run(wanted)


def max_values(count: int) -> int:
    """Return how many of n values a bisection runs at most."""
    return min(count, 2 + count.bit_length() + 2 * NEIGHBOURS + GAPS)


def bisect(
    plan: Plan,
    where: str,
    place: Place,
    execution: Execution,
    *,
    largest: bool,
) -> SearchResult:
    """Find the largest or smallest value of the plan's one key for which a condition holds.

    Raises:
        ScenarioError: the key or a value is wrong; no run has begun.
        IncastleError: the condition cannot be read, or a run failed.
        SweepStopped: Ctrl-C.

    """
    (axis,) = plan.axes
    if not axis.ascends:
        found = ", ".join(choice.words for choice in axis.choices)
        raise IncastleError(
            f"{axis.key}: a search needs numbers or quantities in ascending order, found {found}; "
            "`incastle sweep` runs all values"
        )
    first = check_candidates(plan)
    condition = measures_of(first).condition(where)
    # Along the positions the condition is expected to hold first: from the other end for smallest.
    order = range(len(axis.choices)) if largest else range(len(axis.choices))[::-1]
    with working(place, header_for(plan, first), plan.source, (), execution) as work:
        trials = Trials(work, plan)
        work.expected = max_values(len(order)) * len(plan.seeds)
        checker = Checker(plan.source)
        rows: dict[int, tuple[dict[str, Any], ...]] = {}

        def run(places: Sequence[int]) -> dict[int, bool]:
            cells = [_cell(checker, axis, order[place]) for place in places]
            rows.update(zip(places, trials.rows(cells), strict=True))
            return {place: all(map(condition.holds, rows[place])) for place in places}

        search = Bisection(len(order), run, descends=not largest)
        good = search.last_that_holds()
        contradictions = search.contradictions(good)
        sweep = work.sweep()

    def tried(place: int) -> Tried:
        holds = sum(map(condition.holds, rows[place]))
        return Tried(axis.choices[order[place]], rows[place], holds)

    ordered = sorted(rows, key=lambda place: order[place])
    beyond = None if good is None or good + 1 == len(order) else axis.choices[order[good + 1]]
    return SearchResult(
        axis.key,
        largest,
        condition,
        None if good is None else axis.choices[order[good]],
        beyond,
        tuple(tried(place) for place in contradictions),
        tuple(tried(place) for place in ordered),
        sweep,
    )


def _cell(checker: Checker, axis: Axis, index: int) -> Cell:
    cell = checker.cell(((axis.key, axis.choices[index]),))
    checker.complain()
    if cell is None:
        raise IncastleError(f"{axis.key}={axis.choices[index].words} cannot be run")
    return cell
