"""Runs of a sweep in this process, on threads of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incastle import runner
from incastle.analysis.outcome import Failure, Wanted
from incastle.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from incastle.results import Result
    from incastle.sweeps.plan import Run

CHUNK = 512
"""Runs that are handed to the engine at once; bounds the checked scenarios that lie in memory."""


class Threads:
    """Does runs on n threads of this process; all cores if none are given."""

    def __init__(self, threads: int | None) -> None:
        self.threads = threads

    def execute(
        self,
        runs: Sequence[tuple[Run, Wanted]],
        on_end: Callable[[Run, dict[str, pl.DataFrame] | Failure], object],
        note: Callable[[float, int | None], object],
    ) -> None:
        """Do the runs; `on_end` is called for each as soon as it is over, in this thread."""
        for start in range(0, len(runs), CHUNK):
            chunk = runs[start : start + CHUNK]

            def over(
                index: int,
                outcome: Result | RunError,
                chunk: Sequence[tuple[Run, Wanted]] = chunk,
            ) -> None:
                run, wanted = chunk[index]
                on_end(run, kept(outcome, wanted))

            def report(now: runner.Progress) -> None:
                note(max(0.0, now.fraction * now.total - now.finished), None)

            scenarios = [run.scenario() for run, _ in chunk]
            runner.run_each(scenarios, self.threads, over, report)


def kept(outcome: Result | RunError, wanted: Wanted) -> dict[str, pl.DataFrame] | Failure:
    """Return what is kept of a run, or why there is nothing."""
    if isinstance(outcome, RunError):
        return Failure.of(outcome)
    return wanted.of_result(outcome)
