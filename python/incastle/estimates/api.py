"""`ic.estimate`: completion times by link decomposition, as a `Result`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from incastle import _engine, interrupts
from incastle.decomposition import failed, take_apart
from incastle.results import Result
from incastle.runner import cores
from incastle.scenario import no_other_than
from incastle.storage.delays import kept

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from incastle.scenario import Scenario
    from incastle.storage.delays import Kept


class EstimateStopped(KeyboardInterrupt):
    """Ctrl-C during an estimate.

    Attributes:
        done: links that are simulated.
        total: how many are to be.
        file: where their delays are, or None if they are lost.

    """

    def __init__(self, done: int, total: int, file: Path | None) -> None:
        super().__init__(done, total, file)
        self.done, self.total, self.file = done, total, file

    def __str__(self) -> str:
        """Describe how far it came, and how to go on."""
        reached = f"interrupted: {self.done:,} of {self.total:,} links were simulated"
        return reached if self.file is None else f"{reached}; --resume goes on with {self.file}"


class Place(NamedTuple):
    """Where links are simulated, and where their delays are kept.

    Attributes:
        store: keeps them.
        on: a Dask cluster, or None for this machine alone.
        threads: of this machine.

    """

    store: Kept
    on: Any
    threads: int


def estimate(
    scenario: Scenario,
    links: int | None = None,
    *,
    on: Any = None,  # noqa: ANN401  an address, a cluster or a client
    threads: int | None = None,
    progress: Callable[[float], object] | None = None,
    file: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
) -> Result:
    """Estimate the completion times of a scenario's flows without simulating it as a whole.

    Args:
        scenario: flows whose start does not depend on the network (`poisson`, `flow-list`), over
            TCP, each on one path.
        links: simulate about this many of each class of similar links; all if None.
        on: a Dask cluster that simulates the links: the address of its scheduler, a cluster object
            or a client. The estimate is the same.
        threads: links at the same time; all cores if None. The estimate is the same on any number.
        progress: called with the share that is done about twenty times a second, in this thread.
        file: where the delays of finished links are kept until the estimate is whole.
        resume: go on with what is in `file`.
        force: begin anew, whatever is in `file`.

    Returns:
        A result with the tables `transfers` (with `fct_s`, `ideal_fct_s`, `slowdown` and the hosts
        `from` and `to`) and `crossed_links`: link, class, simulated (1 or 0), rate_bit_s, flows,
        bytes_forth, bytes_back.

    Raises:
        ScenarioError: the scenario has something that single links cannot show.
        ResultError: `file` is there and must not be used.
        EstimateStopped: Ctrl-C.
        RunError: a link could not be simulated.
        ClusterError: the cluster cannot be used.

    """
    if links is not None and links < 1:
        raise ValueError(f"links = {links}: at least one is needed")
    if threads is not None and threads < 1:
        raise ValueError(f"threads = {threads}: at least one is needed")
    start = time.perf_counter()
    threads = threads or cores()
    apart = take_apart(no_other_than(scenario), links, threads)
    path = None if file is None else Path(file)
    with kept(path, scenario.resolved, resume=resume, force=force) as store:
        place = Place(store, on, threads)
        output = _run(scenario, apart, links, place, progress)
    store.remove()
    return _result(scenario, apart, output, time.perf_counter() - start)


def _run(
    scenario: Scenario,
    apart: _engine.Estimation,
    links: int | None,
    place: Place,
    progress: Callable[[float], object] | None,
) -> _engine.Output:
    found = {link: delays for link, delays in place.store.intact().items() if apart.simulates(link)}
    done, total = len(found), apart.simulated

    def on_link(link: int, delays: bytes) -> None:
        nonlocal done
        with interrupts.put_off():
            place.store.keep(link, delays)
            done += 1

    def on_progress(share: float) -> None:
        if progress is not None:
            progress(share)

    try:
        if place.on is not None:
            from incastle.cluster import estimates as on_dask  # noqa: PLC0415  slow to import

            task = on_dask.Task(scenario, links, apart)
            delays = on_dask.Delays(found, on_link)
            on_dask.simulate(place.on, task, delays, on_progress)
        output, failure = apart.run(place.threads, found, on_link, on_progress)
    except KeyboardInterrupt:
        # With no link done there is nothing to go on with.
        file = place.store.path if done else None
        raise EstimateStopped(done, total, file) from None
    if failure is not None:
        raise failed(f"{scenario.name}, seed {scenario.seed}", failure)
    assert output is not None  # noqa: S101  nothing else stops it
    return output


TOTALS = (
    "simulated_s",
    "measured_from_s",
    "measured_to_s",
    "packet_hops",
    "flows",
    "transfers",
)


def _result(
    scenario: Scenario, apart: _engine.Estimation, output: _engine.Output, wall_s: float
) -> Result:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are made

    tables: dict[str, Any] = {table.name: pl.DataFrame(table) for table in output.tables()}
    totals = output.totals()
    links = {"links_crossed": apart.crossed, "links_simulated": apart.simulated}
    return Result(
        name=scenario.name,
        seed=scenario.seed,
        digest=output.digest,
        version=_engine.__version__,
        wall_s=wall_s,
        interrupted=False,
        totals={**{name: totals[name] for name in TOTALS}, **links},
        scenario=scenario.resolved,
        tables=tables,
        warnings=tuple(one.in_one_line for one in scenario.warnings),
        offered_load=scenario.offered_load,
    )
