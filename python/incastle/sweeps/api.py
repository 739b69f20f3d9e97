"""Sweeps and searches from Python, as `incastle.sweep`, `incastle.find` and `incastle.optimize`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incastle.sweeps import bisect as bisection
from incastle.sweeps import optimize as optimization
from incastle.sweeps.plan import Plan, Source
from incastle.sweeps.values import axes_of
from incastle.sweeps.work import Execution, Place, run_plan

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from incastle.scenario import Scenario, Value
    from incastle.sweeps.progress import SweepProgress
    from incastle.sweeps.sweep import Sweep


def sweep(
    scenario: Scenario,
    values: Mapping[str, Iterable[Value] | str],
    seeds: int | Iterable[int] = 1,
    *,
    on: Any = None,  # noqa: ANN401  an address, a cluster or a client
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    tables: Iterable[str] = (),
    threads: int | None = None,
    progress: Callable[[SweepProgress], object] | None = None,
) -> Sweep:
    """Simulate every combination of the values of some keys, each with every seed.

    Args:
        scenario: what to simulate.
        values: the values of each key, keys as for `Scenario.with_overrides`; or a string as
            after `--set`.
        seeds: how many, from the scenario's own on; or which.
        on: a Dask cluster: the address of its scheduler, a cluster object or a client. The results
            are the same.
        out: directory of the dataset; without one nothing is kept but the frames.
        resume: go on with the sweep in `out`.
        tables: tables to keep of each run in addition to the summary.
        threads: runs at the same time on this machine; all cores if None.
        progress: called with a `SweepProgress` now and then, in this thread.

    Raises:
        ScenarioError: a key or value is wrong; no run has begun.
        SweepStopped: Ctrl-C; what was finished is in `out`.
        ResultError: `out` holds something else.

    """
    axes = axes_of(values)
    plan = Plan(Source.of(scenario), axes, _seeds(scenario, seeds))
    runs = plan.check().runs
    execution = Execution(on, threads, progress)
    return run_plan(plan, runs, _place(out, resume=resume), tables, execution)


def find(
    scenario: Scenario,
    where: str,
    *,
    largest: Mapping[str, Iterable[Value] | str] | None = None,
    smallest: Mapping[str, Iterable[Value] | str] | None = None,
    seeds: int | Iterable[int] = 5,
    on: Any = None,  # noqa: ANN401  an address, a cluster or a client
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    threads: int | None = None,
    progress: Callable[[SweepProgress], object] | None = None,
) -> bisection.SearchResult:
    """Find the largest or smallest value of one key for which a condition holds with every seed.

    Example:
        >>> found = find(scenario, "goodput > 0.9 Gbit/s", largest={"network.senders": "2..200"})
        ... # doctest: +SKIP

    Args:
        scenario: what to simulate.
        where: the condition, as `goodput > 0.9 Gbit/s and timeouts == 0`.
        largest: one key and its values, in their order, of which the largest is searched.
        smallest: or of which the smallest is.
        seeds: how many, from the scenario's own on; or which.
        on: as for `sweep`, and so are the others.
        out: as for `sweep`.
        resume: as for `sweep`.
        threads: as for `sweep`.
        progress: as for `sweep`.

    Raises:
        IncastleError: the condition or the values cannot be read, or a run failed.

    """
    given = [some for some in (largest, smallest) if some is not None]
    axes = axes_of(given[0]) if len(given) == 1 else ()
    if len(axes) != 1:
        raise ValueError("one key is needed, in `largest` or in `smallest`")
    return bisection.bisect(
        Plan(Source.of(scenario), axes, _seeds(scenario, seeds)),
        where,
        _place(out, resume=resume),
        Execution(on, threads, progress),
        largest=largest is not None,
    )


def optimize(
    scenario: Scenario,
    values: Mapping[str, Iterable[Value] | str],
    *,
    maximize: str | None = None,
    minimize: str | None = None,
    where: str | None = None,
    trials: int = optimization.TRIALS,
    seeds: int | Iterable[int] = 5,
    on: Any = None,  # noqa: ANN401  an address, a cluster or a client
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    threads: int | None = None,
    progress: Callable[[SweepProgress], object] | None = None,
) -> optimization.Optimum:
    """Find the values of one or several keys with the maximum or minimum median of a measure.

    Args:
        scenario: what to simulate.
        values: the values of each key to choose from.
        maximize: the measure to maximize.
        minimize: or the measure to minimize.
        where: a condition that must hold with every seed.
        trials: combinations to try.
        seeds: how many, from the scenario's own on; or which.
        on: as for `sweep`, and so are the others.
        out: as for `sweep`.
        resume: as for `sweep`.
        threads: as for `sweep`.
        progress: as for `sweep`.

    Raises:
        IncastleError: no such measure, or the condition cannot be read.

    """
    measure = maximize if maximize is not None else minimize
    if measure is None or (maximize is not None and minimize is not None):
        raise ValueError("one measure is needed, in `maximize` or in `minimize`")
    axes = axes_of(values)
    return optimization.optimize(
        Plan(Source.of(scenario), axes, _seeds(scenario, seeds)),
        optimization.Objective(measure, maximize is not None, where, trials),
        _place(out, resume=resume),
        Execution(on, threads, progress),
    )


def _seeds(scenario: Scenario, seeds: int | Iterable[int]) -> tuple[int, ...]:
    """Return the seeds, from the scenario's own on if only their number is given."""
    if not isinstance(seeds, int | Iterable) or isinstance(seeds, str | bool):
        raise TypeError(f"seeds are a whole number or a list of them, found {seeds!r}")
    chosen = range(scenario.seed, scenario.seed + seeds) if isinstance(seeds, int) else seeds
    whole = tuple(chosen)
    if not whole:
        raise ValueError("at least one seed is needed")
    if twice := [seed for seed in dict.fromkeys(whole) if whole.count(seed) > 1]:
        raise ValueError(f"seeds: {twice[0]} is given twice: leave one out")
    return whole


def _place(out: str | os.PathLike[str] | None, *, resume: bool) -> Place:
    return Place(None if out is None else Path(out), resume=resume)
