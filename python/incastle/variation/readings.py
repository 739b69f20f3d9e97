"""The search for the reading of a paper under which most of its claims hold.

A reading is one value for each parameter that the paper leaves open. Its score is a number of
claims, each with its share (`incastle.reproduction.scores`).

So that nobody is fooled by fitting, readings are chosen on some experiments and scored on the
others. Claims that read a common run stay together, in *groups*. For each group a reading is
chosen on all other groups and scored on this one, beside the default; the gains of the groups have
a 95 % interval by Student's t, which takes groups as independent and their gains as roughly normal.
A group in which no reading that was tried changes a score says nothing, and is left out of it.

The search is the same for each choice, and sees only what it may choose by: every single other
value first, the cheapest first, so that a budget pays for many; what it does not pay for is left
out, and what is cheaper still tried. Then those that alone did no worse than
the default are added one after the other, the best first, and kept where the score rises. So it may
miss a pair of values that help only together.

Leaves out: intervals over seeds, values between those declared, and readings of the measures.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeAlias

from incastle.analysis.confidence import interval
from incastle.reproduction.scores import share
from incastle.variation.trials import CannotRun, Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from incastle.reproduction.changes import Parameter, Setting
    from incastle.reproduction.claims import Judged
    from incastle.variation.trials import Trials

Reading: TypeAlias = "tuple[Setting, ...]"
"""The values that differ from those taken, in the order of the parameters; the default is empty."""
DEFAULT: Reading = ()
_EQUAL = 1e-9
"""Scores are sums of shares: what differs by less is equal."""


def groups(reads: Mapping[str, Iterable[str]]) -> list[tuple[str, ...]]:
    """Group claims so that two which read a common experiment are in one group."""
    found: list[tuple[list[str], set[str]]] = []
    for claim, names in reads.items():
        joined = [one for one in found if one[1] & set(names)]
        found = [one for one in found if one not in joined]
        claims = [name for one in joined for name in one[0]]
        found.append(([*claims, claim], set(names).union(*(one[1] for one in joined))))
    order = list(reads)
    return sorted(
        (tuple(sorted(claims, key=order.index)) for claims, _ in found),
        key=lambda group: order.index(group[0]),
    )


@dataclass(frozen=True)
class Split:
    """A group that was held out: the reading chosen on all others, and both scores on the group."""

    held: tuple[str, ...]
    chosen: Reading
    default: float
    score: float
    counts: bool
    """Whether any reading that was tried changes a score of the group."""

    @property
    def gain(self) -> float:
        """The claims gained over the default."""
        return self.score - self.default


@dataclass(frozen=True)
class Findings:
    """What a search found.

    Attributes:
        trials: of which paper, at which length.
        parameters: what is open.
        tried: the verdicts of every reading that was tried, the default first.
        refused: readings that cannot run, and why.
        nearest: the reading chosen on all claims.
        splits: a split for each group.
        stopped: why the search ended early, if it did.

    """

    trials: Trials
    parameters: tuple[Parameter, ...]
    tried: Mapping[Reading, Mapping[str, Judged]]
    refused: Mapping[Reading, str]
    nearest: Reading
    splits: tuple[Split, ...]
    stopped: Stop

    def score(self, reading: Reading, claims: Iterable[str] | None = None) -> float:
        """Return the score of a reading over some claims; all if None."""
        of = self.tried[reading]
        return sum(share(of[name]) for name in (of if claims is None else claims))

    @property
    def gains(self) -> list[float]:
        """The held-out gains of the groups that count."""
        return [split.gain for split in self.splits if split.counts]

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the held-out gain of all groups; none for fewer than two."""
        around, count = interval(self.gains), len(self.gains)
        return None if around is None else (count * around[0], count * around[1])

    @property
    def is_better(self) -> bool:
        """Whether what is chosen on some groups is better than the default on the others."""
        return self.interval is not None and self.interval[0] > 0

    def never(self) -> list[str]:
        """Return the claims of which no reading that was tried has all cases in their bands."""
        return [
            name
            for name in self.trials.claims
            if all(share(of[name]) < 1 for of in self.tried.values())
        ]

    def moved(self, *, up: bool) -> list[str]:
        """Return the claims whose score is higher (lower) under the nearest reading."""
        before, after = self.tried[DEFAULT], self.tried[self.nearest]
        gains = {name: share(after[name]) - share(before[name]) for name in before}
        return [name for name, gain in gains.items() if (gain > 0 if up else gain < 0)]


def search(
    trials: Trials, parameters: Sequence[Parameter], told: Callable[[int, int], object]
) -> Findings:
    """Search the readings of a paper.

    Args:
        trials: the paper's; their budget bounds the search.
        parameters: what is open.
        told: called with how many steps are done, and of how many: trials alone, then choices.

    Raises:
        CannotRun: the paper's own experiments cannot run.
        Interrupted: Ctrl-C before the default was tried.

    """
    return _Search(trials, tuple(parameters), told).findings()


@dataclass(eq=False)
class _Search:
    trials: Trials
    parameters: tuple[Parameter, ...]
    told: Callable[[int, int], object]
    tried: dict[Reading, dict[str, Judged]] = field(default_factory=dict)
    refused: dict[Reading, str] = field(default_factory=dict)
    stopped: Stop = Stop.NOT

    def findings(self) -> Findings:
        """Search for all claims, and for those outside each group."""
        self.tried[DEFAULT] = self.trials.judge()
        singles = [(value,) for value in in_turn(self.parameters)]
        known = groups(self.trials.reads)
        choices = [tuple(self.trials.claims), *map(self.outside, known)]
        total = len(singles) + len(choices)
        for count, single in enumerate(sorted(singles, key=self.work)):
            self.told(count, total)
            self.is_tried(single)
        chosen = []
        for count, claims in enumerate(choices, len(singles)):
            self.told(count, total)
            chosen.append(self.choose(claims))
        splits = (self.split(*both) for both in zip(known, chosen[1:], strict=True))
        made = (self.trials, self.parameters, self.tried, self.refused, chosen[0])
        return Findings(*made, tuple(splits), self.stopped)

    def outside(self, group: Iterable[str]) -> tuple[str, ...]:
        """Return the claims outside a group."""
        return tuple(name for name in self.trials.claims if name not in set(group))

    def choose(self, claims: Sequence[str]) -> Reading:
        """Return the reading that is best for these claims, by these alone."""
        best = DEFAULT

        def score(reading: Reading) -> float:
            return sum(share(self.tried[reading][name]) for name in claims)

        singles = [(value,) for value in in_turn(self.parameters) if (value,) in self.tried]
        alone = [one for one in singles if score(one) >= score(DEFAULT) - _EQUAL]
        for (value,) in sorted(alone, key=lambda one: -round(score(one) / _EQUAL)):
            candidate = self.having(best, value)
            if self.is_tried(candidate) and score(candidate) > score(best) + _EQUAL:
                best = candidate
        return best

    def having(self, reading: Reading, value: Setting) -> Reading:
        """Return a reading with a value in the place of its parameter's."""
        of = {one.parameter: one for one in (*reading, value)}
        names = [one.name for one in self.parameters]
        return tuple(of[name] for name in names if name in of)

    def work(self, reading: Reading) -> float:
        """Return the expected packet-hops of a trial; none where it cannot run."""
        try:
            return self.trials.work(reading)
        except CannotRun:
            return 0.0
        except KeyboardInterrupt:
            self.stopped = Stop.INTERRUPTED
            return 0.0

    def is_tried(self, reading: Reading) -> bool:
        """Try a reading unless it is known; return whether its verdicts are there."""
        known = reading in self.tried or reading in self.refused
        if known or self.stopped is Stop.INTERRUPTED:
            return reading in self.tried
        try:
            if not self.trials.budget.allows(self.trials.work(reading)):
                self.stopped = Stop.BUDGET
                return False
            self.tried[reading] = self.trials.judge(reading)
        except CannotRun as error:
            self.refused[reading] = str(error)
        except KeyboardInterrupt:
            self.stopped = Stop.INTERRUPTED
        return reading in self.tried

    def split(self, group: tuple[str, ...], chosen: Reading) -> Split:
        """Score a held-out group."""

        def score(reading: Reading) -> float:
            return sum(share(self.tried[reading][name]) for name in group)

        changes = any(abs(score(one) - score(DEFAULT)) > _EQUAL for one in self.tried)
        return Split(group, chosen, score(DEFAULT), score(chosen), changes)


def in_turn(parameters: Iterable[Parameter]) -> list[Setting]:
    """Return the other values of parameters: of each the first, then of each the second."""
    rows = zip_longest(*(one.others for one in parameters))
    return [value for row in rows for value in row if value is not None]
