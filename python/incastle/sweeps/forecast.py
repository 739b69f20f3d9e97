"""The cost of a large sweep, from some of its runs: processor time and disk.

The first, the middle and the last combination are run, each on one thread and for a few seconds at
most; a run that is not over by then counts by the simulated time that it has reached. The mean of
these stands for all runs.

Leaves out how long workers of a cluster take, and that cores get slower when all of them work.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING

from incastle.analysis.outcome import Wanted
from incastle.errors import Interrupted, RunError
from incastle.runner import run_each
from incastle.sweeps.plan import Cell, Checker, Plan, Run
from incastle.sweeps.values import kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incastle.results import Result
    from incastle.runner import Progress

TIME_LIMIT_S = 4.0
"""Seconds for each run of the sample."""


@dataclass(frozen=True)
class Sample:
    """A run of the sample: what the whole of it takes.

    Attributes:
        seconds: on one core.
        bytes: of its rows, before they are compressed.
        whole: whether it was run to its end.

    """

    seconds: float
    bytes: float
    whole: bool


@dataclass(frozen=True)
class Forecast:
    """The cost of a number of runs."""

    runs: int
    samples: tuple[Sample, ...]

    @property
    def seconds(self) -> float:
        """Of one core."""
        return self.runs * mean(one.seconds for one in self.samples)

    @property
    def bytes(self) -> float:
        """The most that the dataset will take."""
        return self.runs * mean(one.bytes for one in self.samples)


def forecast(plan: Plan, runs: int, tables: Sequence[str]) -> Forecast | None:
    """Run a sample of a plan, and return the cost of n runs; none if every run fails.

    Raises:
        ScenarioError: a combination of the sample has mistakes.
        TableMissing: the scenario does not request a table.
        KeyboardInterrupt: Ctrl-C.

    """
    checker = Checker(plan.source)
    last = plan.number_of_cells - 1
    cells = [checker.cell(plan.combination(place)) for place in sorted({0, last // 2, last})]
    checker.complain()
    kinds = {axis.key: kind_of([choice.value for choice in axis.choices]) for axis in plan.axes}
    taken = (_sample(plan, cell, kinds, tables) for cell in cells if cell is not None)
    samples = tuple(one for one in taken if one is not None)
    return Forecast(runs, samples) if samples else None


def _sample(plan: Plan, cell: Cell, kinds: dict[str, str], tables: Sequence[str]) -> Sample | None:
    started = time.perf_counter()
    run = Run(plan.source, cell, plan.seeds[0])
    scenario = run.scenario()
    found: list[Result | RunError] = []
    too_long = False

    def progress(_: Progress) -> None:
        nonlocal too_long
        if time.perf_counter() - started > TIME_LIMIT_S:
            too_long = True
            raise KeyboardInterrupt

    try:
        run_each([scenario], 1, lambda _, outcome: found.append(outcome), progress)
    except Interrupted as stop:
        if not too_long:
            raise
        found += stop.partial
    outcome = found[0] if found else None
    if outcome is None or isinstance(outcome, RunError):
        return None
    rows = Wanted(run.values, kinds, tuple(tables)).of_result(outcome)
    share = outcome.totals["simulated_s"] / scenario.duration_s if outcome.interrupted else 1.0
    if share <= 0:
        return None
    size = sum(frame.estimated_size() for frame in rows.values())
    return Sample((time.perf_counter() - started) / share, size / share, not outcome.interrupted)
