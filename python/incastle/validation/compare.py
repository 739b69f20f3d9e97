"""How far the FCTs of a case are from those of the other simulator.

Four measures, by what can be compared:

- `per-flow`: the other simulator draws nothing at random, or nothing that matters. Flows that start
  at one instant with one size are compared in the order of their FCTs, since it is a matter of
  ties which of them is first.
- `spread`: median and last FCT, each the median over our seeds, against the range of random runs
  there.
- `seeds`: one random run there; its percentiles of slowdown against the range of our seeds. Also
  for cases on paths without a table of random runs.
- `drops`: packets are lost there. Percentiles of the FCTs of flows that both finish; where flows
  never finish there, only that packets are lost here, too.

Percentiles of flows are elements of the sorted list, floor(share x count) from 0, as in the results
of the other simulator. Percentiles over seeds are interpolated.

Leaves out: when flows were paused, and queues.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

from incastle.importers.hpcc_keys import Control
from incastle.validation.cases import Layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from incastle.validation.cases import Case

HALF, HIGH, HIGHEST = 50, 95, 99
"""Percentiles of flows."""
CENTRAL = (2.5, 97.5)
"""Percentiles over seeds."""
FIRST_SEED = 1


class Measure(StrEnum):
    """How a case is compared."""

    PER_FLOW = "per-flow"
    SPREAD = "spread"
    SEEDS = "seeds"
    DROPS = "drops"


def measure_of(case: Case) -> Measure:
    """Return how a case is compared."""
    if case.loses_packets:
        return Measure.DROPS
    if case.control is not Control.DCQCN:
        return Measure.PER_FLOW
    if case.spread:
        return Measure.SPREAD
    # A flow alone has no spread: nothing is marked, so nothing is random.
    is_random = len(case.flows) > 1 and not case.spreads_known
    return Measure.SEEDS if is_random or case.layout is Layout.SHARDS else Measure.PER_FLOW


def seeds_of(case: Case) -> range:
    """Return the seeds with which a case is simulated."""
    if case.control is not Control.DCQCN and not case.loses_at_random:
        return range(FIRST_SEED, FIRST_SEED + 1)
    counts = {Measure.SEEDS: 20, Measure.SPREAD: 5, Measure.DROPS: 5, Measure.PER_FLOW: 1}
    return range(FIRST_SEED, FIRST_SEED + counts[measure_of(case)])


@dataclass(frozen=True)
class Outcome:
    """The result of a simulation here.

    Attributes:
        fcts_ns: of each flow of the case, in its order; None where it was not finished.
        drops: packets that switches dropped.

    """

    fcts_ns: tuple[float | None, ...]
    drops: int = 0


class Ends(NamedTuple):
    """The ends of a range."""

    low: float
    high: float

    def holds(self, value: float, widened: float) -> bool:
        """Return whether a value is in the range, each end moved outwards by a share of it."""
        return self.low * (1 - widened) <= value <= self.high * (1 + widened)


@dataclass(frozen=True)
class Comparison:
    """A case, and its results here with each of its seeds."""

    case: Case
    outcomes: tuple[Outcome, ...]

    @property
    def measure(self) -> Measure:
        """How the case is compared."""
        return measure_of(self.case)

    @cached_property
    def differences(self) -> tuple[float, ...]:
        """|FCT - theirs| / theirs of every flow and seed, ascending.

        Infinite where one of the two is not finished; a flow that neither finishes is left out.
        """
        return tuple(sorted(one for outcome in self.outcomes for one in self._differences(outcome)))

    def _differences(self, outcome: Outcome) -> Iterable[float]:
        for ours, theirs in self.pairs(outcome):
            if math.isinf(theirs):
                if not math.isinf(ours):
                    yield math.inf
            else:
                yield abs(ours - theirs) / theirs

    def pairs(self, outcome: Outcome) -> Iterator[tuple[float, float]]:
        """Yield FCTs that are compared, here and there; infinite where one is not finished."""
        alike: defaultdict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
        for flow, ours in zip(self.case.flows, outcome.fcts_ns, strict=True):
            alike[flow.start_ns, flow.bytes].append((_or_never(ours), _or_never(flow.fct_ns)))
        for fcts in alike.values():
            yield from zip(*(sorted(side) for side in zip(*fcts, strict=True)), strict=True)

    @cached_property
    def slowdowns(self) -> tuple[tuple[float, ...], ...]:
        """FCT over ideal FCT, ascending, with each seed; infinite where a flow is unfinished."""
        return tuple(
            tuple(
                sorted(
                    _or_never(fct) / flow.ideal_ns
                    for flow, fct in zip(self.case.flows, outcome.fcts_ns, strict=True)
                )
            )
            for outcome in self.outcomes
        )

    @cached_property
    def their_slowdowns(self) -> tuple[float, ...]:
        """The same there."""
        return tuple(sorted(_or_never(one.fct_ns) / one.ideal_ns for one in self.case.flows))

    def slowdown(self, percent: int) -> tuple[float, float]:
        """Return a percentile of slowdown, here as the mean over seeds, and there."""
        ours = fmean(self.slowdown_of_seeds(percent))
        return ours, percentile(self.their_slowdowns, percent)

    def slowdown_of_seeds(self, percent: int) -> list[float]:
        """Return a percentile of slowdown with each seed."""
        return [percentile(one, percent) for one in self.slowdowns]

    def central(self, percent: int) -> Ends:
        """Return the range of a percentile of slowdown over seeds, without its outermost parts."""
        values = sorted(self.slowdown_of_seeds(percent))
        return Ends(*(interpolated(values, share) for share in CENTRAL))

    @property
    def medians_and_lasts(self) -> tuple[tuple[float, Ends], ...]:
        """Median and last FCT: the median over seeds here, and the range of the runs there."""
        if self.case.spread is None:
            return ()
        fcts = [sorted(map(_or_never, outcome.fcts_ns)) for outcome in self.outcomes]
        return tuple(
            (median(percentile(one, percent) for one in fcts), Ends(min(theirs), max(theirs)))
            for percent, theirs in zip((HALF, 100), self.case.spread, strict=True)
        )

    @property
    def unfinished(self) -> tuple[int, int]:
        """How many flows were not finished here, with all seeds together, and there."""
        ours = sum(fct is None for outcome in self.outcomes for fct in outcome.fcts_ns)
        return ours, sum(flow.fct_ns is None for flow in self.case.flows)

    @property
    def drops(self) -> int:
        """Packets that were dropped here, with all seeds together."""
        return sum(outcome.drops for outcome in self.outcomes)

    def of_both(self, percent: int) -> tuple[float, float]:
        """Return a percentile of the FCTs of flows that both finish, here and there.

        Here it is the median over the seeds; infinite where no flow is finished by both.
        """
        ours, theirs = [], []
        for outcome in self.outcomes:
            both = [
                (fct, flow.fct_ns)
                for flow, fct in zip(self.case.flows, outcome.fcts_ns, strict=True)
                if fct is not None and flow.fct_ns is not None
            ]
            ours.append(percentile(sorted(fct for fct, _ in both), percent))
            theirs.append(percentile(sorted(fct for _, fct in both), percent))
        return median(ours), median(theirs)


def _or_never(fct_ns: float | None) -> float:
    return math.inf if fct_ns is None else fct_ns


def percentile(ordered: Sequence[float], percent: int) -> float:
    """Return the element that this many in a hundred come before; infinite without any."""
    if not ordered:
        return math.inf
    return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)]


def interpolated(ordered: Sequence[float], percent: float) -> float:
    """Return a percentile, linear between the elements next to it."""
    place = percent / 100 * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    part = place - below
    if not part or ordered[below] == ordered[above]:
        return ordered[below]  # also where one or both are infinite
    return ordered[below] + part * (ordered[above] - ordered[below])


def within(differences: Sequence[float], limit: float) -> float:
    """Return the share of differences up to a limit; 1 without any."""
    if not differences:
        return 1.0
    return sum(one <= limit for one in differences) / len(differences)
