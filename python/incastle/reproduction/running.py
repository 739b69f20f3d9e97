"""The runs of papers: from the cache, or from the engine.

Each experiment of a plan becomes one run per seed. Equal runs are run once; finished ones are kept
(`incastle.reproduction.run_cache`), so that work that was stopped goes on where it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from incastle import runner, terminal
from incastle.errors import RunError
from incastle.reproduction.papers import Observations, selected
from incastle.reproduction.run_cache import observe
from incastle.scenario import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from incastle.reproduction.papers import Experiment, FigureSpec, Length, Observation, Paper
    from incastle.reproduction.run_cache import RunCache
    from incastle.results import Result
    from incastle.scenario import Scenario

CHUNK = 96
"""Runs that are handed to the engine at once. Among them progress is simulated time, not work."""


@dataclass(frozen=True)
class Part:
    """The part of one paper to reproduce."""

    paper: Paper
    figures: tuple[FigureSpec, ...]

    def experiments(self, length: Length) -> list[Experiment]:
        """Give the experiments that the figures use."""
        return selected(self.paper.plan(length), self.figures)

    def runs(self, experiment: Experiment, seeds: Iterable[int]) -> list[Run]:
        """Make runs of an experiment, checked: a mistake is told before anything runs."""
        path = self.paper.scenario(experiment)
        tables = (*self.paper.tables, *experiment.tables)
        made = []
        for seed in seeds:
            settings = {**experiment.overrides, "run.seed": str(seed)}
            scenario = load(path, tuple(settings.items()))
            made.append(Run(self.paper.name, experiment, scenario, tables))
        return made


@dataclass(frozen=True)
class Run:
    """One run: an experiment with one seed."""

    paper: str
    experiment: Experiment
    scenario: Scenario
    tables: tuple[str, ...]

    @cached_property
    def name(self) -> str:
        """By which it is known: its complete scenario."""
        return self.scenario.resolved

    def with_tables(self, tables: Sequence[str]) -> Run:
        """Keep these tables of it, too: another experiment is the same run."""
        return replace(self, tables=tuple(dict.fromkeys((*self.tables, *tables))))


@dataclass(frozen=True)
class Machine:
    """Where runs come from: finished ones from the cache, the others from the engine."""

    cache: RunCache
    threads: int | None

    def observe(self, plan: Sequence[Run], what: str = "") -> list[Observation]:
        """Give the observation of each run; `what` they are for is told beside their number."""
        wanted: dict[str, Run] = {}
        for run in plan:
            name = run.name
            wanted[name] = wanted[name].with_tables(run.tables) if name in wanted else run
        found: dict[str, Observation] = {}
        missing: list[Run] = []
        for name, run in wanted.items():
            kept = self.cache.load(name)
            if kept is None or not set(run.tables) <= kept.tables.keys():
                missing.append(run)
            else:
                found[name] = kept

        def keep(run: Run, result: Result) -> None:
            name = run.name
            found[name] = observe(result, run.tables)
            self.cache.keep(name, found[name])

        if wanted:
            terminal.note(f"{what}{len(wanted):,} runs, {len(found):,} of them from before")
        with terminal.progress_bar("reproduce") as show:
            _run_missing(missing, self.threads, keep, show)
        return [found[run.name] for run in plan]


def run_all(parts: Sequence[Part], length: Length, machine: Machine) -> dict[str, Observations]:
    """Give the planned runs of all parts, by paper."""
    plan = [
        run
        for part in parts
        for experiment in part.experiments(length)
        for run in part.runs(experiment, range(1, experiment.seeds + 1))
    ]
    observed: dict[str, dict[str, list[Observation]]] = {part.paper.name: {} for part in parts}
    for run, observation in zip(plan, machine.observe(plan), strict=True):
        observed[run.paper].setdefault(run.experiment.name, []).append(observation)
    return {name: Observations(length, runs) for name, runs in observed.items()}


def _run_missing(
    runs: list[Run],
    threads: int | None,
    keep: Callable[[Run, Result], object],
    show: Callable[[runner.Progress], object] | None,
) -> None:
    """Run chunk by chunk, the longest first so that no long one is left to run alone at the end."""
    runs = sorted(runs, key=lambda run: -run.experiment.cost)
    for begin in range(0, len(runs), CHUNK):
        chunk = _Chunk(runs, begin, keep, show)
        scenarios = [run.scenario for run in chunk.runs]
        runner.run_each(scenarios, threads, chunk.end, chunk.progress)


class _Chunk:
    """The runs from `begin` on that the engine has at the moment.

    Progress counts expected work instead of simulated time: a second at 10 Gbit/s takes a hundred
    times as long as one at 100 Mbit/s.
    """

    def __init__(
        self,
        plan: list[Run],
        begin: int,
        keep: Callable[[Run, Result], object],
        show: Callable[[runner.Progress], object] | None,
    ) -> None:
        self.runs = plan[begin : begin + CHUNK]
        self.begin = begin
        self.keep = keep
        self.show = show
        self.behind, self.ahead = _work(plan[:begin]), _work(self.runs)
        self.total, self.work = len(plan), _work(plan)

    def end(self, index: int, outcome: Result | RunError) -> None:
        """Keep what is asked of a finished run, and nothing else of it; or stop with its error."""
        if isinstance(outcome, RunError):
            raise outcome
        self.keep(self.runs[index], outcome)

    def progress(self, state: runner.Progress) -> None:
        """Tell how far the whole plan is, from how far this chunk is."""
        if self.show is not None:
            done = self.behind + state.fraction * self.ahead
            self.show(runner.Progress(self.begin + state.finished, self.total, done, self.work))


def _work(runs: Sequence[Run]) -> float:
    return sum(run.experiment.cost for run in runs)
