"""Deciding claims: seeds are added where a claim is unclear, and only there.

Each case of a claim is judged at looks of its own (`incastle.analysis.looks`): first with the seeds
of the plan, then with twice as many, and so on, until the claim is decided or its case is not worth
a further look (`incastle.reproduction.worth`). Seeds are added to the experiments that the case
reads, with its base; another case that reads them, too, is still judged by the first seeds, as many
as its own look has. Neither the machine's speed nor what else is reproduced has an influence.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from incastle.analysis import looks
from incastle.analysis.confidence import Method
from incastle.analysis.futility import Candidate, Price, joined
from incastle.analysis.looks import LOOKS, ONLY, Look
from incastle.reproduction import claims, worth
from incastle.reproduction.papers import Length, Observations

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from incastle.analysis.ends import Value
    from incastle.reproduction.claims import Claim, Judged, Verdict
    from incastle.reproduction.papers import Experiment, Observation
    from incastle.reproduction.running import Machine, Part, Run

BUDGET = {Length.QUICK: 0.0, Length.DEFAULT: 0.6e9, Length.FULL: 4e9}
"""Packet-hops that the further seeds of a claim may cost, some 5 % of all planned runs at that
length: expected work, not seconds, so that a verdict is the same on every machine."""


@dataclass(frozen=True)
class Open:
    """A case whose claim further seeds may decide: which experiments need how many seeds."""

    claim: str
    case: str
    seeds: int
    experiments: frozenset[str]


@dataclass
class Judging:
    """The claims of a part, while they are judged: its runs, and at which look each case is."""

    part: Part
    planned: Observations
    added: dict[str, list[Observation]] = field(default_factory=dict)
    """Runs with seeds beyond the plan, by experiment."""
    look: dict[tuple[str, str], int] = field(default_factory=dict)
    """Of cases beyond their first."""
    _measured: dict[tuple[str, int], tuple[Mapping[str, Sequence[Value]], ...]] = field(
        default_factory=dict
    )
    _judged: dict[tuple[str, tuple[int, ...]], Judged] = field(default_factory=dict)
    """By claim and the looks of its cases: what was added for other claims makes no difference."""

    # ---- what is given

    @cached_property
    def claims(self) -> list[Claim]:
        """The claims that belong to the figures, in the order of claims.toml."""
        asked = {name for figure in self.part.figures for name in figure.claims}
        known = claims.load(self.part.paper.folder / "claims.toml")
        return [claim for claim in known if claim.id in asked]

    @cached_property
    def reasons(self) -> Mapping[tuple[str, Verdict], str]:
        """Reasons are for the default length and above: the quick one shows no causes."""
        if self.planned.length is Length.QUICK:
            return {}
        folder = self.part.paper.folder
        return claims.load_reasons(folder / "reasons.toml", claims.load(folder / "claims.toml"))

    @cached_property
    def experiments(self) -> dict[str, Experiment]:
        """The experiments of the plan by name."""
        return {one.name: one for one in self.part.experiments(self.planned.length)}

    @cached_property
    def reads(self) -> dict[tuple[str, str], frozenset[str]]:
        """The experiments that each case reads, of those that are run at this length."""
        return {
            (claim.id, case): names & self.planned.runs.keys()
            for claim in self.claims
            for case, names in self.part.paper.reads(claim.id, self.planned.length).items()
        }

    @cached_property
    def work(self) -> dict[str, float]:
        """Give the expected work of a seed of each experiment, for one of the claims that read it.

        Claims share runs, and their cost: in equal parts among all that the paper has, so that it
        does not matter which of them are reproduced.
        """
        paper, length = self.part.paper, self.planned.length
        readers = Counter(
            name
            for claim in paper.measures
            for name in frozenset().union(*paper.reads(claim, length).values())
        )
        return {name: one.cost / max(1, readers[name]) for name, one in self.experiments.items()}

    # ---- judging

    def judge(self) -> list[Judged]:
        """Judge every claim, each case at its look."""
        return [self._judged_once(claim) for claim in self.claims]

    def _judged_once(self, claim: Claim) -> Judged:
        key = (claim.id, tuple(self._look(claim, case) for case in claim.cases))
        if key not in self._judged:
            self._judged[key] = self._judge(claim)
        return self._judged[key]

    def _judge(self, claim: Claim) -> Judged:
        at = {case: self._at(claim, case) for case in claim.cases}
        measured, bases = (
            {case: self._values(claim, case)[kind][case] for case in claim.cases} if asked else None
            for kind, asked in enumerate((True, claim.base is not None))
        )
        judged = claims.judge(claim, measured or {}, self.reasons, bases, at)
        facts = self.part.paper.facts.get(claim.id) if judged.explanation else None
        return claims.with_facts(judged, facts(self._seen(claim))) if facts else judged

    def _at(self, claim: Claim, case: str) -> Look:
        """Give the look at which a case is; the quick length has a single one, and one seed."""
        if self.planned.length is Length.QUICK:
            return ONLY
        return Look(self._look(claim, case), looks.CONFIDENCE, self._method(claim))

    def _look(self, claim: Claim, case: str) -> int:
        return self.look.get((claim.id, case), 1)

    def _method(self, claim: Claim) -> Method:
        return Method.MEDIAN if claim.id in self.part.paper.medians else Method.MEAN

    def _values(self, claim: Claim, case: str) -> tuple[Mapping[str, Sequence[Value]], ...]:
        """Give the values of the claim and of its base with the seeds of a case's look."""
        seeds = self._seeds(claim, case, self._look(claim, case))
        key = (claim.id, seeds)
        if key not in self._measured:
            measures = (self.part.paper.measures[claim.id], self.part.paper.bases.get(claim.id))
            names = [name for of, name in self.reads.items() if of[0] == claim.id]
            runs = self._first(dict.fromkeys((one for some in names for one in some), seeds))
            self._measured[key] = tuple(measure(runs) for measure in measures if measure)
        return self._measured[key]

    def _seeds(self, claim: Claim, case: str, look: int) -> int:
        """Give the seeds of a look beyond the first; at that each experiment has its plan's."""
        names = self.reads[claim.id, case]
        planned = min((len(self.planned[name]) for name in names), default=1)
        return 0 if look == 1 else looks.seeds_at(look, planned, self._method(claim))

    def _first(self, seeds: Mapping[str, int]) -> Observations:
        """Give the runs with so many first seeds of some experiments, of the others the plan's."""
        runs = {
            name: [*found, *self.added.get(name, ())][: max(seeds.get(name, 0), len(found))]
            for name, found in self.planned.runs.items()
        }
        return Observations(self.planned.length, runs)

    def _seen(self, claim: Claim) -> Observations:
        """Give the runs by which a claim was judged: its facts are of the same."""
        return self._first(self._bought(claim))

    def _bought(self, claim: Claim) -> dict[str, int]:
        """Give the seeds of the experiments of a claim, as many as a case of it has at its look."""
        seeds: dict[str, int] = {}
        for case in claim.cases:
            at_its_look = self._seeds(claim, case, self._look(claim, case))
            seeds = joined(seeds, self.reads[claim.id, case], at_its_look)
        return seeds

    # ---- going on

    @cached_property
    def _price(self) -> Price:
        planned = {name: len(runs) for name, runs in self.planned.runs.items()}
        return Price(self.work, planned, BUDGET[self.planned.length])

    def open(self, judged: Iterable[Judged]) -> list[Open]:
        """Give the cases to be judged once more with further seeds."""
        return [
            Open(one.claim.id, case.case, case.seeds[0], case.experiments)
            for one in judged
            for case in self._worth(one)
        ]

    def _worth(self, judged: Judged) -> list[Candidate]:
        bought = self._bought(judged.claim)
        return worth.chosen(judged, self._candidates(judged), bought, self._price)

    def _candidates(self, judged: Judged) -> list[Candidate]:
        """Give the unclear cases of a claim, each with the seeds of the looks that it has left."""
        claim = judged.claim
        return [
            Candidate(case.case, len(case.values), worth.needs(case), names, seeds)
            for case in worth.undecided(judged)
            if (seeds := self._left(claim, case.case))
            and (names := self.reads[claim.id, case.case])
        ]

    def _left(self, claim: Claim, case: str) -> tuple[int, ...]:
        further = range(self._look(claim, case) + 1, LOOKS + 1)
        return tuple(self._seeds(claim, case, look) for look in further)

    def missing(self, cases: Sequence[Open]) -> list[Run]:
        """Give the runs that the next looks of these cases need."""
        seeds: dict[str, int] = {}
        for case in cases:
            for name in case.experiments:
                seeds[name] = max(seeds.get(name, 0), case.seeds)
        return [
            run
            for name, experiment in self.experiments.items()
            for run in self.part.runs(
                experiment, range(self._count(name) + 1, seeds.get(name, 0) + 1)
            )
        ]

    def _count(self, name: str) -> int:
        return len(self.planned[name]) + len(self.added.get(name, ()))

    def take(self, cases: Sequence[Open], runs: Sequence[tuple[Run, Observation]]) -> None:
        """Take the runs, and let the cases be at their next looks."""
        for run, observation in runs:
            self.added.setdefault(run.experiment.name, []).append(observation)
        for one in cases:
            self.look[one.claim, one.case] = self.look.get((one.claim, one.case), 1) + 1
        self._measured.clear()


def decide(judgings: Sequence[Judging], machine: Machine) -> list[list[Judged]]:
    """Judge the claims of several parts, with further seeds where they are unclear."""
    while True:
        judged = [one.judge() for one in judgings]
        cases = [one.open(of) for one, of in zip(judgings, judged, strict=True)]
        count = sum(map(len, cases))
        if not count:
            return judged
        wanted = [one.missing(of) for one, of in zip(judgings, cases, strict=True)]
        plan = [run for runs in wanted for run in runs]
        what = f"{count:,} case{'s' * (count > 1)} unclear, further seeds: "
        found = iter(machine.observe(plan, what))
        for one, of, runs in zip(judgings, cases, wanted, strict=True):
            one.take(of, [(run, next(found)) for run in runs])
