"""Which unclear cases of a claim are worth further seeds: those that are likely to settle it.

For each case it is extrapolated how many seeds would decide it (`Look.seeds_needed`), from four at
least: with fewer a case has its next look, as if that would decide it. Cases are taken in order of
least cost to decide, as far as the claim's budget goes. A case is *futile*, and gets no further
seeds, where the extrapolation is beyond `FUTILE` times the seeds of the last look that looks and
budget leave it. Each case taken is expected to be decided as its centre lies; those that the
claim's verdict then no longer depends on are left, and all of them are, where the claim would still
not be settled.

Whoever stops for futility leaves out looks at which an interval could miss the truth: the error
over all looks can only be less. Leaves out the error of the extrapolation, for which `FUTILE` is a
margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from incastle.reproduction.claims import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from incastle.reproduction.claims import Claim, Judged, JudgedCase

FUTILE = 2
"""A margin for the extrapolation. By the normal distribution, of the cases that need twice the
seeds of the last look one in five is decided there, where half of its seeds are measured; one in
two, where a sixteenth is: few seeds extrapolate badly."""

LEAST = 4
"""Values to extrapolate from: a deviation of three may be six times as great, or half (95 %)."""

FAILING = {Verdict.FAILS, Verdict.BASE}


@dataclass(frozen=True)
class Price:
    """What further seeds cost: expected work per seed, the seeds of the plan, and the most."""

    work: Mapping[str, float]
    planned: Mapping[str, int]
    budget: float

    def of(self, seeds: Mapping[str, int]) -> float:
        """Give the cost of so many seeds of some experiments, beyond the plan's."""
        return sum(
            self.work[name] * max(0, count - self.planned[name]) for name, count in seeds.items()
        )


@dataclass(frozen=True)
class Candidate:
    """An unclear case, the experiments it reads, and the seeds of the looks that it has left."""

    judged: JudgedCase
    experiments: frozenset[str]
    seeds: tuple[int, ...]

    @property
    def case(self) -> str:
        """The case's name."""
        return self.judged.case

    @property
    def needs(self) -> int | None:
        """How many seeds would decide what is unclear about it, extrapolated.

        Those of the next look where there are too few values to extrapolate from.
        """
        unclear = self.judged.unclear or self.judged
        return self.seeds[0] if len(unclear.values) < LEAST else unclear.needs

    def goal(self, bought: Mapping[str, int], price: Price) -> dict[str, int] | None:
        """Give the claim's seeds once this one is decided, as expected; none where it is futile."""
        plans = (joined(bought, self.experiments, seeds) for seeds in self.seeds)
        within = [
            (seeds, plan)
            for seeds, plan in zip(self.seeds, plans, strict=True)
            if price.of(plan) <= price.budget
        ]
        if not within or self.needs is None or self.needs > FUTILE * within[-1][0]:
            return None
        return next((plan for seeds, plan in within if seeds >= self.needs), within[-1][1])


def joined(bought: Mapping[str, int], names: Iterable[str], seeds: int) -> dict[str, int]:
    """Give the seeds of experiments, once some have at least so many."""
    return {**bought, **{name: max(bought.get(name, 0), seeds) for name in names}}


def chosen(
    judged: Judged, candidates: Iterable[Candidate], bought: Mapping[str, int], price: Price
) -> list[Candidate]:
    """Give the cases of a claim that are worth their next look."""

    def cost(one: Candidate) -> float:
        return price.of(joined(bought, one.experiments, one.needs or 0))

    known = {case.case: case.verdict for case in judged.cases if case.known}
    whole, found = len(known) == len(judged.cases), []
    for one in sorted(candidates, key=cost):
        goal = one.goal(bought, price)
        if goal is None:
            continue
        bought = goal
        found.append(one)
        known[one.case] = expected(judged.claim, one.judged)
        if whole and settled(known.values(), whole=whole):
            return found
    return found if settled(known.values(), whole=whole) else []


def expected(claim: Claim, case: JudgedCase) -> Verdict:
    """Give the verdict of a case if its centre, and its base's, stay where they are."""
    base = case.base
    if base is not None and claim.base is not None and not claim.base.band.contains(base.measured):
        return Verdict.BASE
    return Verdict.HOLDS if claim.band.contains(case.measured) else Verdict.FAILS


def settled(verdicts: Collection[Verdict], *, whole: bool) -> bool:
    """Tell whether a claim's verdict is final: none unclear, or some hold and others fail.

    Where cases were not measured only that all others fail can be said.
    """
    seen = set(verdicts)
    if not whole:
        return seen <= FAILING
    return Verdict.UNCLEAR not in seen or (Verdict.HOLDS in seen and bool(seen & FAILING))


def undecided(judged: Judged) -> Sequence[JudgedCase]:
    """Give the unclear cases on which a claim's verdict depends, as far as seeds can decide them.

    Where some cases hold and others fail, the claim holds in part, whatever the rest does; where
    some hold and others cannot be measured, it stays unclear.
    """
    verdicts = {case.verdict for case in judged.cases if case.known}
    failing = bool(verdicts & FAILING)
    if Verdict.HOLDS in verdicts and (failing or not all(case.known for case in judged.cases)):
        return []
    return [
        case
        for case in judged.cases
        if case.known and case.unclear is not None and case.unclear.seeds_help
    ]
