"""The work of a sweep or a search: a dataset on the disk, somewhere to run, and what has failed."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incastle.analysis.outcome import Failure, Wanted
from incastle.errors import Interrupted, ResultError
from incastle.storage.places import HEADER
from incastle.sweeps.dataset import (
    COPY,
    TABLES,
    Dataset,
    Header,
    check_place,
    clear,
    locked,
    new_header,
)
from incastle.sweeps.progress import SweepProgress
from incastle.sweeps.sweep import Sweep, SweepStopped
from incastle.sweeps.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import polars as pl

    from incastle.sweeps.plan import Plan, Run, Source


@dataclass
class Work:
    """A dataset that grows, and somewhere to run.

    Attributes:
        dataset: where results are written.
        kept: its directory, or None if that goes at the end.
        place: does runs: `Threads`, or the `Workers` of `cluster.sweeps`.
        progress: called with the state whenever it changes.
        state: how far the work has come.
        failures: the runs that gave no result.
        expected: about how many runs there will be, where a search requests them step by step.
        requested: runs that were requested so far.

    """

    dataset: Dataset
    kept: Path | None
    place: Any
    progress: Callable[[SweepProgress], object] | None = None
    state: SweepProgress = field(default_factory=lambda: SweepProgress(0))
    failures: list[tuple[Run, Failure]] = field(default_factory=list)
    expected: int = 0
    requested: int = 0

    def do(self, runs: Sequence[Run]) -> None:
        """Do the runs that the dataset does not hold.

        Raises:
            SweepStopped: Ctrl-C.
            OSError: a result cannot be written.

        """
        header = self.dataset.header
        missing = [run for run in runs if not self.dataset.holds(run)]
        found = len(runs) - len(missing)
        self.requested += len(runs)
        self._report(found=found, finished=found)
        wanted = [(run, Wanted(run.values, header.kinds, tuple(header.tables))) for run in missing]
        try:
            try:
                if wanted:
                    self.place.execute(wanted, self._on_end, self._note)
            finally:
                self.dataset.write_finished()
        except KeyboardInterrupt as stop:
            within = stop.within if isinstance(stop, Interrupted) else None
            raise SweepStopped(self.state, self.kept, within) from None
        finally:
            self._write_failures(runs)

    def sweep(self) -> Sweep:
        """Return all that the dataset holds, in order on the disk, too."""
        try:
            self.dataset.put_in_order()
        except KeyboardInterrupt:
            raise SweepStopped(self.state, self.kept) from None
        return Sweep.of(self.dataset, self.kept, self.failures, self.state.found)

    def _report(self, found: int = 0, finished: int = 0, failed: int = 0) -> None:
        old = self.state
        self.state = replace(
            old,
            total=max(self.expected, self.requested),
            found=old.found + found,
            finished=old.finished + finished,
            failed=old.failed + failed,
        )
        if self.progress is not None:
            self.progress(self.state)

    def _note(self, under_way: float, workers: int | None) -> None:
        self.dataset.write_when_due()
        self.state = replace(self.state, under_way=under_way, workers=workers)
        if self.progress is not None:
            self.progress(self.state)

    def _on_end(self, run: Run, outcome: dict[str, pl.DataFrame] | Failure) -> None:
        if isinstance(outcome, Failure):
            self.failures.append((run, outcome))
            self._report(finished=1, failed=1)
            return
        self.dataset.keep(run, outcome)
        self._report(finished=1)

    def _write_failures(self, runs: Sequence[Run]) -> None:
        """Write them in the order of the plan, not in that of their ends."""
        if self.failures:
            order = {run.name: place for place, run in enumerate(runs)}
            self.failures.sort(key=lambda pair: order.get(pair[0].name, -1))
        self.dataset.write_failures([(run, failure.message) for run, failure in self.failures])


@dataclass(frozen=True)
class Place:
    """Where results go, and what is done about what is there.

    Attributes:
        directory: of the dataset; None keeps nothing.
        resume: go on with an earlier sweep there.
        force: replace one.

    """

    directory: Path | None = None
    resume: bool = False
    force: bool = False

    @contextmanager
    def open(self, header: Header, source: Source, runs: Sequence[Run]) -> Iterator[Dataset]:
        """Yield the dataset, new or to be gone on with, for this sweep alone.

        Raises:
            ResultError: the directory holds something else, or a sweep that does not fit.
            OSError: it cannot be written.

        """
        with ExitStack() as stack:
            directory = self.directory
            if directory is None:
                folder = tempfile.TemporaryDirectory(prefix="incastle-sweep-")
                directory = Path(stack.enter_context(folder))
            check_place(directory)
            stack.enter_context(locked(directory))
            dataset = self._dataset(directory, header, source, runs)
            try:
                dataset.write_header()
                yield dataset
            except BaseException:
                if dataset.is_empty:
                    clear(directory)
                raise

    def _dataset(
        self, directory: Path, header: Header, source: Source, runs: Sequence[Run]
    ) -> Dataset:
        new = self.force or not any((directory / name).exists() for name in (HEADER, COPY))
        there = None if new else Dataset.load(directory, repair=self.resume)
        if there is None or there.is_empty:
            clear(directory)
            return Dataset.begin(directory, header, source.scenario(header.first).resolved)
        return self._continued(there, header, source, runs)

    def _continued(
        self, dataset: Dataset, header: Header, source: Source, runs: Sequence[Run]
    ) -> Dataset:
        directory = dataset.directory
        broken = dataset.find_damage()
        if broken and not self.resume:
            number = sum(part.runs for part in broken)
            again = f"its {number:,} runs" if number > 1 else "its run"
            raise ResultError(
                f"{dataset.damaged[0]} is lost or was changed since it was written: --resume makes "
                f"{again} again"
            )
        complete = bool(runs) and not broken and all(dataset.holds(run) for run in runs)
        if not self.resume and not complete:
            raise ResultError(
                f"{directory} already holds a sweep: --resume adds what is missing, --force "
                "replaces it, --out names another place; in Python resume=True or another out="
            )
        dataset.check_continues(header, source)
        if self.resume:
            dataset.repair(broken, source)
        dataset.header = dataset.header.merged(header)
        return dataset


@dataclass(frozen=True)
class Execution:
    """How runs are executed.

    Attributes:
        on: a Dask cluster: an address, a cluster object or a client; None for this machine.
        threads: concurrent runs on this machine; all cores if None.
        progress: called with the state whenever it changes.

    """

    on: Any = None
    threads: int | None = None
    progress: Callable[[SweepProgress], object] | None = None


@contextmanager
def working(
    place: Place,
    header: Header,
    source: Source,
    runs: Sequence[Run],
    execution: Execution,
) -> Iterator[Work]:
    """Open the dataset and the place to run, in this order of complaints: cluster, directory."""
    with ExitStack() as stack:
        where: Any = Threads(execution.threads)
        if execution.on is not None:
            from incastle.cluster.sweeps import connected  # noqa: PLC0415  slow to import

            where = stack.enter_context(connected(execution.on))
        dataset = stack.enter_context(place.open(header, source, runs))
        yield Work(dataset, place.directory, where, execution.progress)


def run_plan(
    plan: Plan,
    runs: Sequence[Run],
    place: Place,
    tables: Iterable[str],
    execution: Execution,
) -> Sweep:
    """Do the runs of a checked plan that are missing, and give all that there is."""
    header = header_of(plan, runs[0], tables)
    with working(place, header, plan.source, runs, execution) as work:
        work.do(runs)
        return work.sweep()


def header_of(plan: Plan, first: Run, tables: Iterable[str]) -> Header:
    """Return the header of a plan; `first` is the first of its runs."""
    values = {axis.key: [choice.value for choice in axis.choices] for axis in plan.axes}
    name = first.scenario().name
    return new_header(name, values, plan.seeds, check_tables(tables), first.cell.settings)


def check_tables(names: Iterable[str]) -> list[str]:
    """Refuse tables that no run has.

    Raises:
        TypeError: they are one string.
        ResultError: there is no such table.

    """
    if isinstance(names, str):
        raise TypeError(f"tables are a list, found {names!r}: write [{names!r}]")
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in TABLES:
            there = ", ".join(TABLES)
            raise ResultError(f"no table {name!r}: in addition to the summary there are {there}")
    return wanted
