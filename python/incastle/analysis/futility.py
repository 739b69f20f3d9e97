"""Futility: whether a case that needs further seeds can have enough of them, and at what price.

How many seeds would decide it is extrapolated (`Look.seeds_needed`), from four values at least:
with fewer a case has its next look, as if that would decide it. A case is *futile* where the
extrapolation is beyond `FUTILE` times the seeds of the last look that looks and budget leave it.

Whoever stops for futility leaves out looks at which an interval could miss the truth: the error
over all looks can only be less. Leaves out the error of the extrapolation, for which `FUTILE` is a
margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FUTILE = 2
"""A margin for the extrapolation. By the normal distribution, of the cases that need twice the
seeds of the last look one in five is decided there, where half of its seeds are measured; one in
two, where a sixteenth is: few seeds extrapolate badly."""

LEAST = 4
"""Values to extrapolate from: a deviation of three may be six times as great, or half (95 %)."""


@dataclass(frozen=True)
class Price:
    """What further seeds cost: expected work per seed, the seeds of the plan, and the most."""

    work: Mapping[str, float]
    planned: Mapping[str, int]
    budget: float

    def of(self, seeds: Mapping[str, int]) -> float:
        """Return the cost of this number of seeds of some experiments, beyond the plan's.

        The sum is exact: cases of equal cost must be equal in whatever order a set gives its names.
        """
        return fsum(
            self.work[name] * max(0, count - self.planned[name]) for name, count in seeds.items()
        )


@dataclass(frozen=True)
class Candidate:
    """A case, how many seeds it needs, its experiments, and the seeds of the looks left to it.

    `extrapolated` is none where no number of seeds would do, and made from `values` of them.
    """

    case: str
    values: int
    extrapolated: int | None
    experiments: frozenset[str]
    seeds: tuple[int, ...]

    @property
    def needs(self) -> int | None:
        """How many seeds would decide it; those of the next look where too few are known."""
        return self.seeds[0] if self.values < LEAST else self.extrapolated

    def cost(self, bought: Mapping[str, int], price: Price) -> float:
        """Give the cost to decide it, with seeds that others have bought."""
        return price.of(joined(bought, self.experiments, self.needs or 0))

    def goal(self, bought: Mapping[str, int], price: Price) -> dict[str, int] | None:
        """Give all the seeds once this one is decided, as expected; none where it is futile."""
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
    """Return the seeds of experiments, where some have at least this number."""
    return {**bought, **{name: max(bought.get(name, 0), seeds) for name in names}}
