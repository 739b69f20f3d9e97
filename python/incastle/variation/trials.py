"""Trials: a paper's claims, measured with some of its experiments changed.

A trial runs only what its claims read, and only what no other trial has run: equal runs are run
once, and finished ones are kept with those of `incastle reproduce`. Where claims have cases for
readings (`cases` of open.toml), only the case of the reading that was taken counts: the others come
by changes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from incastle import runner
from incastle.errors import IncastleError, RunError, ScenarioError
from incastle.reproduction import claims
from incastle.reproduction.changes import changed, open_points, other_cases
from incastle.reproduction.papers import Observations
from incastle.reproduction.run_cache import observe
from incastle.reproduction.running import CHUNK
from incastle.scenario import load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from incastle.analysis.ends import Value
    from incastle.reproduction.changes import Setting
    from incastle.reproduction.claims import Claim, Judged
    from incastle.reproduction.papers import Experiment, Length, Observation, Paper
    from incastle.reproduction.run_cache import RunCache
    from incastle.results import Result
    from incastle.scenario import Scenario


class Stop(StrEnum):
    """Why a study ended early, if it did."""

    NOT = ""
    BUDGET = "the budget was spent"
    INTERRUPTED = "it was interrupted"


class CannotRun(IncastleError):  # noqa: N818  a finding, not a mistake of the user
    """A trial whose scenarios are refused, or whose runs fail."""


@dataclass
class Budget:
    """Seconds that may be spent, without an end if None, and what runs have cost so far."""

    seconds: float | None = None
    began: float = field(default_factory=time.monotonic)
    work: float = 0.0
    spent: float = 0.0

    def allows(self, work: float) -> bool:
        """Whether runs of so many packet-hops are expected to end in time; the first always may."""
        expected = self.seconds_for(work)
        if self.seconds is None or expected is None:
            return True
        return expected <= self.began + self.seconds - time.monotonic()

    def seconds_for(self, work: float) -> float | None:
        """Return how long runs of so many packet-hops are expected to take; none before any."""
        return work * self.spent / self.work if self.spent and work else None


@dataclass(frozen=True)
class _Run:
    """An experiment with one seed and overrides; equal runs resolve to the same text."""

    experiment: Experiment
    overrides: tuple[tuple[str, str], ...]
    resolved: str


@dataclass(eq=False)
class Trials:
    """The trials of a paper at a length.

    Attributes:
        paper: whose claims.
        length: which experiments, and how long their runs are.
        kept: finished runs.
        budget: notes the speed of the runs.
        threads: runs at the same time; all cores if None.
        seeds: of each experiment, at most so many; its own number if None.
        progress: called with the share of a trial that is done.

    """

    paper: Paper
    length: Length
    kept: RunCache
    budget: Budget = field(default_factory=Budget)
    threads: int | None = None
    seeds: int | None = None
    progress: Callable[[float], object] = lambda _share: None
    _runs: dict[tuple[str, tuple[tuple[str, str], ...]], _Run] = field(default_factory=dict)
    _judged: dict[tuple[str, ...], Judged] = field(default_factory=dict)

    @cached_property
    def plan(self) -> dict[str, Experiment]:
        """The experiments by name."""
        return {one.name: one for one in self.paper.plan(self.length)}

    @cached_property
    def claims(self) -> dict[str, Claim]:
        """The claims by id, each with the cases that count."""
        others = other_cases(open_points(self.paper.folder).cases)
        found = claims.load(self.paper.folder / "claims.toml")
        return {
            one.id: replace(one, cases=tuple(case for case in one.cases if case not in others))
            for one in found
        }

    @cached_property
    def reads(self) -> dict[str, tuple[str, ...]]:
        """The experiments that each claim reads, in the order of the plan."""
        found = {}
        for name, claim in self.claims.items():
            of_case = self.paper.reads(name, self.length)
            names = {one for case in claim.cases for one in of_case[case]}
            found[name] = tuple(one for one in self.plan if one in names)
        return found

    # ---- a trial

    def judge(
        self, settings: Sequence[Setting] = (), seeds: Sequence[int] | None = None
    ) -> dict[str, Judged]:
        """Judge every claim with these settings.

        Args:
            settings: values of parameters; none for the experiments as taken.
            seeds: those of each experiment, as far as they are asked, if None.

        Raises:
            CannotRun: a scenario is refused with these settings, or a run fails.
            Interrupted: Ctrl-C; finished runs are kept.

        """
        runs = self._planned(settings, seeds)
        keys = {name: self._key(name, runs) for name in self.claims}
        asked = [name for name, key in keys.items() if key not in self._judged]
        needed = {one for name in asked for one in self.reads[name]}
        found = self._observed([one for name in needed for one in runs[name]])
        for name in asked:
            of_claim = {one: [found[run.resolved] for run in runs[one]] for one in self.reads[name]}
            self._judged[keys[name]] = self._judge(name, Observations(self.length, of_claim))
        return {name: self._judged[key] for name, key in keys.items()}

    def work(self, settings: Sequence[Setting] = (), seeds: Sequence[int] | None = None) -> float:
        """Return the expected packet-hops of the runs that such a trial still needs.

        Raises:
            CannotRun: a scenario is refused with these settings.

        """
        runs = {run.resolved: run for of in self._planned(settings, seeds).values() for run in of}
        return sum(run.experiment.cost for run in runs.values() if run.resolved not in self.kept)

    @cached_property
    def whole(self) -> float:
        """The expected packet-hops of one trial with one seed, if no run of it is there."""
        runs = [run for of in self._planned((), (1,)).values() for run in of]
        return sum({run.resolved: run.experiment.cost for run in runs}.values())

    def touches(self, settings: Sequence[Setting]) -> bool:
        """Whether these settings change any run of the claims."""
        with_them, without = (self._planned(one, (1,)) for one in (settings, ()))
        return any(
            one.resolved != other.resolved
            for name in without
            for one, other in zip(with_them[name], without[name], strict=True)
        )

    def _judge(self, name: str, observations: Observations) -> Judged:
        claim, base = self.claims[name], self.paper.bases.get(name)

        def counted(measured: Mapping[str, Sequence[Value]]) -> Mapping[str, Sequence[Value]]:
            return {case: measured[case] for case in claim.cases}

        measured = counted(self.paper.measures[name](observations))
        return claims.judge(claim, measured, base=base and counted(base(observations)))

    def _key(self, name: str, runs: Mapping[str, Sequence[_Run]]) -> tuple[str, ...]:
        return (name, *(run.resolved for one in self.reads[name] for run in runs[one]))

    def _planned(
        self, settings: Sequence[Setting], seeds: Sequence[int] | None
    ) -> dict[str, list[_Run]]:
        """Plan the runs that claims read, by experiment."""
        names = dict.fromkeys(one for of in self.reads.values() for one in of)
        found = {}
        for name in names:
            experiment = self.plan[name]
            overrides = changed(self.paper.scenario(experiment), experiment.overrides, settings)
            most = min(experiment.seeds, self.seeds or experiment.seeds)
            every = seeds or range(1, most + 1)
            found[name] = [self._run(name, {**overrides, "run.seed": str(seed)}) for seed in every]
        return found

    def _run(self, name: str, overrides: Mapping[str, str]) -> _Run:
        key = (name, tuple(overrides.items()))
        if key not in self._runs:
            self._runs[key] = _Run(self.plan[name], key[1], self._load(*key).resolved)
        return self._runs[key]

    def _load(self, name: str, overrides: tuple[tuple[str, str], ...]) -> Scenario:
        try:
            return load(self.paper.scenario(self.plan[name]), overrides)
        except ScenarioError as error:
            raise CannotRun(f"{name}: {error.diagnostics[0].message}") from None

    # ---- the runs

    def _observed(self, runs: Sequence[_Run]) -> dict[str, Observation]:
        """Give what was observed of these runs, by their complete scenarios."""
        tables: dict[str, set[str]] = {}
        for run in runs:  # equal runs of two experiments, each with its tables
            of_run = tables.setdefault(run.resolved, set(self.paper.tables))
            of_run |= set(run.experiment.tables)
        found, missing = {}, {}
        for run in runs:
            kept = self.kept.load(run.resolved)
            if kept is not None and tables[run.resolved] <= kept.tables.keys():
                found[run.resolved] = kept
            else:
                missing[run.resolved] = run
        ordered = sorted(missing.values(), key=lambda run: -run.experiment.cost)
        found |= self._run_missing(ordered, tables)
        self.progress(1.0)
        return found

    def _run_missing(
        self, runs: Sequence[_Run], tables: Mapping[str, set[str]]
    ) -> dict[str, Observation]:
        """Run and keep, the longest first."""
        found: dict[str, Observation] = {}
        costs = [run.experiment.cost for run in runs]
        for begin in range(0, len(runs), CHUNK):
            chunk, before = runs[begin : begin + CHUNK], sum(costs[:begin])
            work, began = sum(costs[begin : begin + CHUNK]), time.monotonic()

            def end(index: int, outcome: Result | RunError, chunk: Sequence[_Run] = chunk) -> None:
                if isinstance(outcome, RunError):
                    raise CannotRun(outcome.message)
                run = chunk[index]
                found[run.resolved] = observe(outcome, sorted(tables[run.resolved]))
                self.kept.keep(run.resolved, found[run.resolved])

            def tell(state: runner.Progress, done: float = before, work: float = work) -> None:
                self.progress((done + state.fraction * work) / sum(costs))

            scenarios = [self._load(run.experiment.name, run.overrides) for run in chunk]
            runner.run_each(scenarios, self.threads, end, tell)
            self.budget.work += work
            self.budget.spent += time.monotonic() - began
        return found
