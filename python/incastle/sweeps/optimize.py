"""The best value of one or several keys for one measure, by Optuna.

Its tree-structured Parzen estimator (Bergstra et al. 2011) proposes a few combinations at a time;
each is run with every seed, and the median over the seeds is what it is judged by. Where unfinished
transfers could change a run's measure, its worse end counts: the upper one of what is to be small,
so that no combination wins by what it left unfinished. With `where`,
only combinations count that fulfil a condition with every seed; the estimator receives the
shortfall of the others.

The proposals come from a fixed seed and depend on earlier results alone, so that a search gives the
same on any number of workers, and one that was stopped is done again from the results on the disk.
Where there are no more combinations than trials, all are run.

Leaves out: any promise. It is the best of those that were tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from incastle.analysis.measures import ends_in
from incastle.errors import IncastleError
from incastle.sweeps.plan import Cell, Checker, Plan
from incastle.sweeps.trials import Trials, check_candidates, header_for, measures_of
from incastle.sweeps.work import Execution, Place, working

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import optuna

    from incastle.sweeps.conditions import Condition
    from incastle.sweeps.sweep import Sweep

TRIALS = 40
"""Combinations to try, unless told."""

AT_ONCE = 4
"""Proposals before their results are known. Another number would give another search."""

PROPOSALS_PER_TRIAL = 20
"""Proposals per trial, after which what is proposed again and again is taken as the end."""

PROPOSALS_SEED = 1


@dataclass(frozen=True)
class Goal:
    """A column of the summary, and whether it is to be maximized or minimized."""

    column: str
    maximize: bool

    def of(self, row: Mapping[str, Any]) -> float | None:
        """Return the worse end of a run's measure; None where that is infinite or there is none."""
        ends = ends_in(row, self.column)
        worse = None if ends is None else ends[0 if self.maximize else 1]
        return None if worse is None or math.isinf(worse) else worse


@dataclass(frozen=True)
class Tried:
    """One combination that was run with every seed.

    Attributes:
        cell: the combination.
        rows: its rows of the summary, by seed; empty if a run failed.
        objective: the median of the measure over the seeds; None where it has no value.
        shortfall: how far it is from the condition, 0 if it fulfils it with every seed.

    """

    cell: Cell
    rows: tuple[dict[str, Any], ...]
    objective: float | None
    shortfall: float

    @property
    def values(self) -> dict[str, Any]:
        """The combination by key."""
        return {key: choice.value for key, choice in self.cell.choices}

    @property
    def counts(self) -> bool:
        """Whether it can be the best."""
        return self.objective is not None and self.shortfall == 0


@dataclass(frozen=True, eq=False)
class Optimum:
    """The outcome of an optimization.

    Attributes:
        column: the measure's column in the summary.
        maximize: whether its maximum is wanted, not its minimum.
        condition: what had to hold, if anything.
        best: the best combination, or None if none counts.
        tried: all, in the order in which they were proposed.
        sweep: all runs.

    """

    column: str
    maximize: bool
    condition: Condition | None
    best: Tried | None
    tried: tuple[Tried, ...]
    sweep: Sweep

    @property
    def values(self) -> dict[str, Any] | None:
        """The best combination by key, or None."""
        if self.best is None:
            return None
        return self.best.values

    @property
    def why_nothing(self) -> str:
        """Describe why there is no answer."""
        if self.condition is None:
            return (
                f"{self.column} has no value in any of the combinations that were tried: nothing "
                "began, or unfinished transfers could make it infinite"
            )
        return (
            f"none of the {len(self.tried)} combinations that were tried fulfils "
            f"{self.condition.text} with every seed"
        )

    def to_json(self) -> dict[str, Any]:
        """Return what `incastle find --json` prints."""
        return {
            "measure": self.column,
            "asked": "maximize" if self.maximize else "minimize",
            "where": None if self.condition is None else self.condition.text,
            "answer": self.values,
            "objective": None if self.best is None else self.best.objective,
            "tried": [
                {"values": one.values, "objective": one.objective, "shortfall": one.shortfall}
                for one in self.tried
            ],
            "directory": self.sweep.place,
        }


@dataclass(frozen=True)
class Objective:
    """The goal of an optimization.

    Attributes:
        measure: its name, as a user writes it.
        maximize: whether its maximum is wanted, not its minimum.
        where: a condition that must hold with every seed.
        trials: combinations to try.

    """

    measure: str
    maximize: bool
    where: str | None = None
    trials: int = TRIALS


def optimize(plan: Plan, wanted: Objective, place: Place, execution: Execution) -> Optimum:
    """Find the combination with the maximum or minimum of a measure.

    Raises:
        ScenarioError: a key or a value is wrong; no run has begun.
        IncastleError: no such measure, or the condition cannot be read.
        SweepStopped: Ctrl-C.

    """
    first = check_candidates(plan)
    measures = measures_of(first)
    column = measures.column(wanted.measure).name
    condition = None if wanted.where is None else measures.condition(wanted.where)
    with working(place, header_for(plan, first), plan.source, (), execution) as work:
        judge = _Judge(Trials(work, plan), Goal(column, maximize=wanted.maximize), condition)
        work.expected = min(wanted.trials, plan.number_of_cells) * len(plan.seeds)
        if plan.number_of_cells <= wanted.trials:
            judge.judge([dict(enumerate(some)) for some in _everything(plan)])
        else:
            _propose(plan, judge, wanted.trials, maximize=wanted.maximize)
        sweep = work.sweep()
    tried = tuple(judge.tried.values())
    good = [one for one in tried if one.counts]
    best = (max if wanted.maximize else min)(good, key=_objective, default=None)
    return Optimum(column, wanted.maximize, condition, best, tried, sweep)


def _objective(tried: Tried) -> float:
    return 0.0 if tried.objective is None else tried.objective


def _everything(plan: Plan) -> Iterator[tuple[int, ...]]:
    from itertools import product  # noqa: PLC0415

    yield from product(*(range(len(axis.choices)) for axis in plan.axes))


class _Judge:
    """Runs combinations, given as positions along the axes, and rates them."""

    def __init__(self, trials: Trials, goal: Goal, condition: Condition | None) -> None:
        self.trials = trials
        self.goal = goal
        self.condition = condition
        self.checker = Checker(trials.plan.source)
        self.tried: dict[tuple[int, ...], Tried] = {}

    def judge(self, proposals: Sequence[dict[int, int]]) -> list[Tried]:
        """Judge combinations; those that were tried before are not run again."""
        places = [tuple(proposal[axis] for axis in sorted(proposal)) for proposal in proposals]
        cells = {place: self._cell(place) for place in places if place not in self.tried}
        self.trials.attempt(list(cells.values()))
        failed = {run.cell.digest for run, _ in self.trials.work.failures}
        for place, cell in cells.items():
            whole = cell.digest not in failed
            self.tried[place] = self._judged(cell, self.trials.rows_of(cell) if whole else ())
        return [self.tried[place] for place in places]

    def _cell(self, place: tuple[int, ...]) -> Cell:
        axes = self.trials.plan.axes
        pairs = zip(axes, place, strict=True)
        cell = self.checker.cell(tuple((axis.key, axis.choices[at]) for axis, at in pairs))
        self.checker.complain()
        if cell is None:
            raise IncastleError("a combination cannot be run")
        return cell

    def _judged(self, cell: Cell, rows: tuple[dict[str, Any], ...]) -> Tried:
        values = [self.goal.of(row) for row in rows]
        known = [value for value in values if value is not None]
        objective = float(median(known)) if known and len(known) == len(values) else None
        shortfall = 0.0
        if self.condition is not None:
            shortfall = max((self.condition.shortfall(row) for row in rows), default=1.0)
        return Tried(cell, rows, objective, shortfall)


def _propose(plan: Plan, judge: _Judge, trials: int, *, maximize: bool) -> None:
    """Let Optuna propose until n combinations were tried, or it has no new ones."""
    import optuna  # noqa: PLC0415  slow to import: only here

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        direction="maximize" if maximize else "minimize",
        sampler=optuna.samplers.TPESampler(seed=PROPOSALS_SEED),
    )
    for _ in range(trials * PROPOSALS_PER_TRIAL // AT_ONCE):
        left = trials - len(judge.tried)
        if left <= 0:
            return
        proposed = [study.ask() for _ in range(min(AT_ONCE, left))]
        proposals = [_places(trial, plan) for trial in proposed]
        for trial, tried in zip(proposed, judge.judge(proposals), strict=True):
            trial.set_constraint("where", tried.shortfall)
            if tried.objective is None:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, tried.objective)


def _places(trial: optuna.Trial, plan: Plan) -> dict[int, int]:
    """Let a position be proposed along each axis: nearby ones are alike where values ascend."""
    places = {}
    for number, axis in enumerate(plan.axes):
        last = len(axis.choices) - 1
        if axis.ascends:
            places[number] = trial.suggest_int(axis.key, 0, last)
        else:
            places[number] = trial.suggest_categorical(axis.key, list(range(last + 1)))
    return places
