"""Runs of a sweep on a Dask cluster: the same runs, the same files.

A task carries the complete scenario as text, with the content of the files that it refers to and
the classes of controllers, and brings back the rows of the result's tables, which are written here.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import cloudpickle  # type: ignore[import-untyped]  # it has no stubs

from incastle import runner
from incastle.analysis.outcome import Failure, Wanted, packed, unpacked
from incastle.cluster import dask as cluster
from incastle.errors import RunError
from incastle.scenario import IN_CODE, Scenario, controllers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl

    from incastle.sweeps.plan import Run


class Workers:
    """Does runs on a Dask cluster."""

    def __init__(self, there: cluster.Cluster) -> None:
        self.there = there

    def execute(
        self,
        runs: Sequence[tuple[Run, Wanted]],
        on_end: Callable[[Run, dict[str, pl.DataFrame] | Failure], object],
        note: Callable[[float, int | None], object],
    ) -> None:
        """Do the runs; `on_end` is called for each as soon as it is over, in this thread."""

        def call(task: tuple[Run, Wanted]) -> cluster.Call:
            run, wanted = task
            scenario = run.scenario()
            classes = controllers_of(scenario)
            # By value, where they come from files: a worker has none of these.
            code = cloudpickle.dumps(classes) if classes else None
            return cluster.Call(run.name, do_run, (scenario.resolved, wanted, code))

        def over(run: Run, outcome: dict[str, bytes] | Failure) -> None:
            on_end(run, outcome if isinstance(outcome, Failure) else unpacked(outcome))

        callbacks = cluster.Callbacks[tuple["Run", Wanted]](
            done=lambda task, outcome: over(task[0], outcome),
            failed=lambda task, why: on_end(task[0], Failure(why)),
            threads=lambda threads: note(0.0, threads),
        )
        self.there.execute(runs, call, callbacks)


def do_run(
    build: str, text: str, wanted: Wanted, code: bytes | None = None
) -> dict[str, bytes] | Failure:
    """Do one run on a worker; `code` has the controllers that are not the engine's.

    Raises:
        WrongVersion: this worker has another build of Incastle.
        TableMissing: the scenario did not ask for a table.

    """
    cluster.check_build(build)
    try:
        controllers = None if code is None else cloudpickle.loads(code)
        result = runner.run(Scenario(text, IN_CODE, (), controllers))
    except RunError as error:
        return Failure.of(error)
    return packed(wanted.of_result(result))


@contextmanager
def connected(on: Any) -> Iterator[Workers]:  # noqa: ANN401  an address, a cluster or a client
    """Yield the workers of a cluster.

    Raises:
        ClusterError: no scheduler answers there, or a worker cannot be used.

    """
    with cluster.connected(on) as there:
        yield Workers(there)
