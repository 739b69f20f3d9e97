"""Deciding claims: seeds are added where a claim is unclear, and only there.

Each case of a claim is judged at looks of its own (`incastle.analysis.looks`): first with the seeds
of the plan, then with twice as many, and so on, until the claim is decided, the looks end, or its
further seeds would cost more than `BUDGET`. Seeds are added to the experiments that the case reads,
with its base; another case that reads them, too, is still judged by the first seeds, as many as its
own look has. Neither the machine's speed nor what else is reproduced has an influence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from incastle.analysis import looks
from incastle.analysis.confidence import Method
from incastle.analysis.looks import LOOKS, ONLY, Look
from incastle.reproduction import claims
from incastle.reproduction.claims import Verdict
from incastle.reproduction.papers import Length, Observations

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from incastle.analysis.ends import Value
    from incastle.reproduction.claims import Claim, Judged, JudgedCase
    from incastle.reproduction.papers import Experiment, Observation
    from incastle.reproduction.running import Machine, Part, Run

BUDGET = {Length.QUICK: 0.0, Length.DEFAULT: 400e6, Length.FULL: 5e9}
"""Packet-hops that the further seeds of one case may cost: expected work, not seconds, so that a
verdict is the same on every machine."""


@dataclass
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

    # ---- judging

    def judge(self) -> list[Judged]:
        """Judge every claim, each case at its look."""
        return [self._judge(claim) for claim in self.claims]

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
        method = Method.MEDIAN if claim.id in self.part.paper.medians else Method.MEAN
        return Look(self.look.get((claim.id, case), 1), looks.CONFIDENCE, method)

    def _values(self, claim: Claim, case: str) -> tuple[Mapping[str, Sequence[Value]], ...]:
        """Give the values of the claim and of its base with the seeds of a case's look."""
        seeds = self._seeds(claim, case, self.look.get((claim.id, case), 1))
        key = (claim.id, seeds)
        if key not in self._measured:
            measures = (self.part.paper.measures[claim.id], self.part.paper.bases.get(claim.id))
            names = [name for of, name in self.reads.items() if of[0] == claim.id]
            runs = self._first(dict.fromkeys((one for some in names for one in some), seeds))
            self._measured[key] = tuple(measure(runs) for measure in measures if measure)
        return self._measured[key]

    def _seeds(self, claim: Claim, case: str, look: int) -> int:
        """Give the seeds of a look: at the first those of the plan, then twice as many each."""
        names = self.reads[claim.id, case]
        planned = min((len(self.planned[name]) for name in names), default=1)
        return 0 if look == 1 else planned * 2 ** (look - 1)

    def _first(self, seeds: Mapping[str, int]) -> Observations:
        """Give the runs with so many first seeds of some experiments, of the others the plan's."""
        runs = {
            name: [*found, *self.added.get(name, ())][: max(seeds.get(name, 0), len(found))]
            for name, found in self.planned.runs.items()
        }
        return Observations(self.planned.length, runs)

    def _seen(self, claim: Claim) -> Observations:
        """Give the runs by which a claim was judged: its facts are of the same."""
        seeds: dict[str, int] = {}
        for case in claim.cases:
            of_case = self._seeds(claim, case, self.look.get((claim.id, case), 1))
            for name in self.reads[claim.id, case]:
                seeds[name] = max(seeds.get(name, 0), of_case)
        return self._first(seeds)

    # ---- going on

    def open(self, judged: Iterable[Judged]) -> list[Open]:
        """Give the cases to be judged once more with further seeds."""
        found = []
        for one in judged:
            for case in undecided(one):
                look = self.look.get((one.claim.id, case.case), 1) + 1
                names = self.reads[one.claim.id, case.case]
                seeds = self._seeds(one.claim, case.case, look)
                cost = sum(
                    self.experiments[name].cost * max(0, seeds - len(self.planned[name]))
                    for name in names
                )
                if look <= LOOKS and names and cost <= BUDGET[self.planned.length]:
                    found.append(Open(one.claim.id, case.case, seeds, names))
        return found

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


def undecided(judged: Judged) -> list[JudgedCase]:
    """Give the unclear cases on which a claim's verdict depends, as far as seeds can decide them.

    Where some cases hold and others fail, the claim holds in part, whatever the rest does; where
    some hold and others cannot be measured, it stays unclear.
    """
    verdicts = {case.verdict for case in judged.cases if case.known}
    failing = bool(verdicts & {Verdict.FAILS, Verdict.BASE})
    if Verdict.HOLDS in verdicts and (failing or not all(case.known for case in judged.cases)):
        return []
    return [
        case
        for case in judged.cases
        if case.known and case.unclear is not None and case.unclear.seeds_help
    ]


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
