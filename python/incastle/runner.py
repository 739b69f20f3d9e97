"""Running scenarios: one or many, on all cores, stoppable at any time.

The engine runs in separate threads, without the interpreter's lock. The calling thread waits,
reports progress about twenty times a second, and answers Ctrl-C.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from incastle import _engine, interrupts
from incastle.controllers.faults import stopped_within, words_of
from incastle.controllers.remarks import remarks
from incastle.errors import ControllerError, IncastleError, InternalError, Interrupted, RunError
from incastle.results import Result
from incastle.scenario import (
    Scenario,
    Value,
    checked_form,
    controller_files,
    controllers_of,
    no_other_than,
    runnable_form,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from incastle.controllers.sources import Watched

PATIENCE_S = 1.0
"""After Ctrl-C, how long a controller in Python may take to come back before it is raised there."""

Job: TypeAlias = "Scenario | tuple[Scenario, Mapping[str, Value] | None, int | None]"
"""A run of `run_many`: a scenario, or (scenario, overrides, seed); None overrides nothing."""


@dataclass(frozen=True)
class Progress:
    """How far a call of `run` or `run_many` has come.

    Attributes:
        finished: runs that are over.
        total: requested runs.
        simulated_s: simulated seconds so far, over all runs.
        duration_s: simulated seconds in the end, over all runs.

    """

    finished: int
    total: int
    simulated_s: float
    duration_s: float

    @property
    def fraction(self) -> float:
        """The share that is done, 0 to 1."""
        return min(1.0, self.simulated_s / self.duration_s) if self.duration_s > 0 else 1.0


def run(
    scenario: Scenario,
    seed: int | None = None,
    *,
    overrides: Mapping[str, Value] | None = None,
    controllers: Mapping[str, type] | None = None,
    progress: Callable[[Progress], object] | None = None,
    threads: int = 1,
) -> Result:
    """Simulate a scenario.

    Args:
        scenario: what to simulate.
        seed: instead of the scenario's own.
        overrides: keys to change, as for `Scenario.with_overrides`.
        controllers: classes by name, as for `Scenario.with_controllers`.
        progress: called about twenty times a second, in this thread.
        threads: partitions of the network that are simulated at the same time. The result is the
            same, but for the number of events; a large network takes less time. A scenario that
            does not suit runs on one, with a warning.

    Raises:
        ScenarioError: an override does not exist, or its value does not fit.
        Interrupted: Ctrl-C; the run up to then is `.partial[0]`.
        RunError: the engine stopped the run.
        ControllerError: a controller of your own failed.
        IncastleError: no flow uses one of `controllers`.

    """
    if controllers:
        scenario = no_other_than(scenario).with_controllers(controllers)
    one = _scenario((scenario, overrides, seed))
    _check_used(one, controllers or {})
    if why := why_alone(one, threads):
        warnings.warn(why, stacklevel=2)
    return run_many([one], 1, progress, None, threads)[0]


def run_many(
    jobs: Iterable[Job],
    threads: int | None = None,
    progress: Callable[[Progress], object] | None = None,
    on_result: Callable[[int, Result], object] | None = None,
    threads_each: int = 1,
) -> list[Result]:
    """Simulate many scenarios in parallel. Each result is the same on any number of threads.

    Args:
        jobs: scenarios, or (scenario, overrides, seed) where None leaves either as it is.
        threads: runs at the same time; all cores if None.
        progress: called about twenty times a second, in this thread.
        on_result: called with (index, result) as soon as a run is finished, in this thread.
        threads_each: of each run, as `threads` of `run`, but without a warning.

    Returns:
        The results in the order of `jobs`.

    Raises:
        Interrupted: Ctrl-C. `.results` has those that were finished, `.partial` the others.
        RunError: the engine stopped a run; the others went on to their end and are in `.results`.

    """
    if isinstance(jobs, Scenario):
        raise TypeError(f"a list of scenarios is expected, found {jobs!r}: write [scenario]")
    scenarios = [_scenario(job) for job in jobs]
    results: list[Result | None] = [None] * len(scenarios)
    failures: dict[int, RunError] = {}

    def on_end(index: int, outcome: Result | RunError) -> None:
        if isinstance(outcome, RunError):
            failures[index] = outcome
            return
        results[index] = outcome
        if on_result is not None:
            on_result(index, outcome)

    try:
        run_each(scenarios, threads, on_end, progress, threads_each=threads_each)
    except Interrupted as stop:
        raise Interrupted(results, stop.partial, stop.within) from None
    if failures:
        first = failures[min(failures)]
        raise type(first)(first.message, results)
    return [result for result in results if result is not None]


def run_each(
    scenarios: Sequence[Scenario],
    threads: int | None,
    on_end: Callable[[int, Result | RunError], object],
    progress: Callable[[Progress], object] | None = None,
    *,
    threads_each: int = 1,
) -> None:
    """Simulate many scenarios in parallel, hand over what comes of each, and keep nothing.

    Runs whose memory may not be enough are warned of before they begin.

    Args:
        scenarios: what to simulate.
        threads: runs at the same time; all cores if None.
        on_end: called with (index, result, or why there is none) as soon as a run is over, in
            this thread.
        progress: called about twenty times a second, in this thread.
        threads_each: of each run, as `threads` of `run`, but without a warning.

    Raises:
        Interrupted: Ctrl-C; `.partial` has the runs that were under way.

    """
    if not (progress is None or callable(progress)):
        raise TypeError(f"progress is a function of a Progress, found {progress!r}")
    for count in (threads, threads_each):
        if count is not None and count < 1:
            raise ValueError(f"threads = {count}: at least one is needed")
    watched: list[Watched] = [{} for _ in scenarios]
    ready = [runnable_form(*pair) for pair in zip(scenarios, watched, strict=True)]
    if why := _engine.memory_warning(ready, threads or cores()):
        warnings.warn(why, stacklevel=2)
    batch = _Batch(scenarios, on_end, progress, watched)
    batch.run(ready, _Threads(threads or cores(), threads_each))


def _check_used(scenario: Scenario, controllers: Mapping[str, type]) -> None:
    """Refuse a class that no flow of the scenario uses: it would have no effect."""
    used = checked_form(scenario).custom_controllers()
    for name in controllers:
        if name not in used:
            raise IncastleError(
                f'controllers: no flow uses "{name}": set transport.congestion = "custom" and '
                f'transport.controller = "{name}"'
            )


def why_alone(scenario: Scenario, threads: int) -> str | None:
    """Why a scenario is run by one thread although there are more for it, if that is so."""
    reason = runnable_form(scenario).alone_because() if threads > 1 else None
    return reason and f"threads = {threads}: this scenario has {reason}, runs on 1"


def cores() -> int:
    """Processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _scenario(job: Job) -> Scenario:
    if not isinstance(job, tuple):
        return no_other_than(job)
    scenario, overrides, seed = job
    changes: dict[str, Value] = dict(overrides or {})
    if seed is not None:
        changes["run.seed"] = seed
    scenario = no_other_than(scenario)
    return scenario.with_overrides(changes) if changes else scenario


class _Threads(NamedTuple):
    """Concurrent runs, and partitions of each run that are simulated at the same time."""

    runs: int
    each: int


class _Batch:
    """The runs of one call, and its callbacks."""

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        on_end: Callable[[int, Result | RunError], object],
        progress: Callable[[Progress], object] | None,
        watched: list[Watched],
    ) -> None:
        self.scenarios = scenarios
        self.watched = watched
        self.on_end = on_end
        self.progress = progress
        self.duration_s = sum(scenario.duration_s for scenario in scenarios)
        self.finished = 0
        self.partial: list[Result] = []
        self.waiting = interrupts.Waiting()

    def run(self, ready: list[_engine.Scenario], threads: _Threads) -> None:
        """Run all; after an exception (Ctrl-C, a callable that raised) the rest is stopped."""
        try:
            if any(one.custom_controllers() for one in ready):
                # Ctrl-C would be raised within a controller, which is no place to stop at; but one
                # that does not come back would let it wait for ever.
                patience = interrupts.Patience(PATIENCE_S, _Batch._on_finished)
                with interrupts.put_off(patience) as self.waiting:
                    _engine.run_many(ready, threads, self._on_finished, self._on_progress)
            else:
                _engine.run_many(ready, threads, self._on_finished, self._on_progress)
        except KeyboardInterrupt as stop:
            raise Interrupted(partial=self.partial, within=stopped_within(stop)) from None

    def _on_finished(self, index: int, outcome: _engine.Output | _engine.Failure) -> None:
        # A finished run is kept even if Ctrl-C comes just now.
        with interrupts.put_off():
            self._hand_over(index, outcome)
        if self.waiting.arrived:
            raise KeyboardInterrupt  # short runs may all be over before any progress

    def _hand_over(self, index: int, outcome: _engine.Output | _engine.Failure) -> None:
        scenario = self.scenarios[index]
        if isinstance(outcome, _engine.Failure):
            self.finished += 1
            self.on_end(index, _error(scenario, outcome))
            return
        watched, self.watched[index] = self.watched[index], {}
        result = _result(scenario, outcome, watched)
        if result.interrupted:
            self.partial.append(result)
            return
        self.finished += 1
        self.on_end(index, result)

    def _on_progress(self, simulated_s: list[float]) -> None:
        if self.waiting.arrived:
            raise KeyboardInterrupt
        if self.progress is not None:
            total = len(self.scenarios)
            self.progress(Progress(self.finished, total, sum(simulated_s), self.duration_s))


def _error(scenario: Scenario, failure: _engine.Failure) -> RunError:
    place = f"{scenario.name}, seed {scenario.seed}"
    if failure.fault is not None:
        kind = controllers_of(scenario)[failure.fault.controller].kind
        return ControllerError(f"{place}: {words_of(failure.fault, kind)}")
    error = InternalError if failure.internal else RunError
    return error(f"{place}: {failure.message}")


def _notes(scenario: Scenario, output: _engine.Output, watched: Watched) -> list[str]:
    """Return the notes on the numbers and on controllers; a fault belongs to the last."""
    notes = output.notes
    if output.fault is not None:
        kind = controllers_of(scenario)[output.fault.controller].kind
        notes[-1] += f": {words_of(output.fault, kind)}"
    for name, one in controllers_of(scenario).items() if watched else ():
        notes += remarks(name, one.kind, watched.get(name, ()), scenario.duration_s)
    return notes


def _result(scenario: Scenario, output: _engine.Output, watched: Watched) -> Result:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are made

    tables: dict[str, Any] = {table.name: pl.DataFrame(table) for table in output.tables()}
    return Result(
        name=scenario.name,
        seed=scenario.seed,
        digest=output.digest,
        version=_engine.__version__,
        wall_s=output.wall_s,
        interrupted=output.interrupted,
        totals=output.totals(),
        scenario=scenario.resolved,
        tables=tables,
        sources=controller_files(scenario),
        warnings=(
            *(one.in_one_line for one in scenario.warnings),
            *_notes(scenario, output, watched),
        ),
        offered_load=scenario.offered_load,
        captures=dict(output.captures()),
    )
