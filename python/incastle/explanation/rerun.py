"""The record of some flows: out of a result that has one, else by running its scenario again.

A run takes the same course with a record as without, so that the digest proves that the
second run's record is also the first's.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from incastle import _engine
from incastle.errors import IncastleError, ResultError, ScenarioError
from incastle.explanation.record import Record, explained_run, stream, traced
from incastle.runner import run
from incastle.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from incastle.results import Result
    from incastle.runner import Progress

MAX_EVENTS = 10_000_000
"""Events of a record that is made here."""
MAX_PAUSES = 1_000_000
"""Pauses of a complete `pause_record`, which has the first million."""


@dataclass(frozen=True)
class Source:
    """Where records come from.

    Attributes:
        run: the run that is explained.
        trace: the records of its flows, and the packets of queue pairs at the NICs of their hosts.
        events: the events of these flows.
        rerun: whether the scenario was run again for them.
        digest: of the run that they are of.

    """

    run: _engine.ExplainedRun
    trace: _engine.EventTrace
    events: pl.DataFrame
    rerun: bool
    digest: str

    def record(self, flow: int) -> Record:
        """Return the record of one flow."""
        return Record(flow, self.events.filter(pl.col("flow") == flow), self.trace)

    @property
    def description(self) -> str:
        """The source as a sentence."""
        if self.rerun:
            return f"run again with a record: identical run, digest {self.digest}"
        return f"from the record of the result, digest {self.digest}"


def records(
    result: Result,
    flows: Sequence[int],
    progress: Callable[[Progress], object] | None = None,
) -> Source:
    """Return the records of some flows of a result.

    Raises:
        ResultError: it has none of them, and its scenario cannot be run again, or takes another
            course in this version.
        Interrupted: Ctrl-C during that run.

    """
    explained = explained_run(result)
    pairs = result.tables.get("queue_pairs")
    found = explained.neighbours(None if pairs is None else stream(pairs), [*flows])
    has_pauses = "pause" in result.tables.get("pause_record", ()) or not _has_pauses(result)
    if "events" in result.tables and has_pauses:
        kept = _trace(result, flows, found)
        if not kept.is_full() and set(flows) <= set(kept.flows()):
            events = _events(result, flows)
            return Source(explained, kept, events, rerun=False, digest=result.digest)
    again = _run_again(result, [*flows, *found], progress)
    made = _trace(again, flows, found)
    if made.is_full() and found:
        again = _run_again(result, flows, progress)
        made = _trace(again, flows, [])
    if made.is_full():
        raise ResultError(
            f"the record of {names(result, made.flows())[0]} is longer than {MAX_EVENTS:,} events: "
            "explain fewer flows at once, or a shorter run"
        )
    missing = [flow for flow in flows if flow not in made.flows()]
    if missing:
        raise ResultError(f"nothing ever happened to flow {missing[0]}")
    return Source(explained, made, _events(again, flows), rerun=True, digest=again.digest)


def _trace(result: Result, flows: Sequence[int], found: list[int]) -> _engine.EventTrace:
    """Return what a result has recorded of some flows and of the queue pairs found near them."""
    recorded = result.tables.get("pause_record")
    if recorded is not None and recorded["pause"].n_unique() >= MAX_PAUSES:
        raise ResultError(
            f"{result.name!r} has more pauses than the {MAX_PAUSES:,} of a record: waits for later "
            "ones would look like queues; explain a shorter run"
        )
    return traced(_events(result, [*flows, *found]), recorded, [*flows], found)


def _events(result: Result, flows: Sequence[int]) -> pl.DataFrame:
    """Return the events of some flows; the last row remains, which says whether there was room."""
    is_own = pl.col("flow").is_in(list(flows))
    is_end = (pl.int_range(pl.len()) == pl.len() - 1) & (pl.col("event") == "full")
    return result.events.filter(is_own | is_end)


def _has_pauses(result: Result) -> bool:
    """Whether PFC paused anything in a run."""
    frame = result.tables.get("pauses")
    return frame is not None and int(frame["pauses"].sum()) > 0


def _run_again(
    result: Result, flows: Sequence[int], progress: Callable[[Progress], object] | None
) -> Result:
    place = f"{result.name}, seed {result.seed}"
    keep = "keep a record with the run: under [measure], write events = [...]"
    if result.interrupted:
        raise ResultError(
            f"the run of {place} was interrupted, so that it cannot be shown that another one "
            f"is identical: {keep}"
        )
    record = {"flows": names(result, flows), "max_events": MAX_EVENTS}
    with _scenario_file(result, place) as file:
        try:
            scenario = Scenario.from_text(result.scenario, file)
            scenario = scenario.with_overrides(
                {"measure.events": record, "measure.slowdown": False}
            )
            if _has_pauses(result):
                scenario = scenario.with_overrides({"measure.pauses": True})
            again = run(scenario, progress=progress)
        except ScenarioError as error:
            why = next(one.message for one in error.diagnostics if one.severity == "error")
            raise ResultError(f"{place} {_unread(result, why)}, or {keep}") from None
        except IncastleError as error:
            raise ResultError(f"{place} cannot be run again: {error}\n{keep}") from None
    if again.digest != result.digest:
        raise ResultError(f"{place} {_another_course(result, again.digest)}, or {keep}")
    return again


def _unread(result: Result, why: str) -> str:
    """Describe why the scenario cannot be read: by another version, or by the same one."""
    if result.version != _engine.__version__:
        return (
            f"was run by Incastle {result.version}; this is {_engine.__version__}, which cannot "
            f"read its scenario again ({why}): explain it with that version"
        )
    return (
        f"cannot be run again, because its files were changed since it was written ({why}): put "
        "back what it was run with"
    )


def _another_course(result: Result, digest: str) -> str:
    """Describe a run that now has another digest, and the remedy."""
    ran = f"was run by Incastle {result.version}, digest {result.digest}"
    if result.version != _engine.__version__:
        return (
            f"{ran}; this is {_engine.__version__}, and its run is different, digest "
            f"{digest}: explain it with that version"
        )
    return (
        f"{ran}; the same version now runs differently, digest {digest}, because its scenario "
        "was changed since or this is another build: explain it with that build"
    )


@contextmanager
def _scenario_file(result: Result, place: str) -> Iterator[str]:
    """Yield a name for the result's scenario, with the controllers of the run in its folder.

    They are the result's own copies: those of the user may have changed since, or be elsewhere.
    """
    if not result.sources:
        yield f"the scenario of {place}"
        return
    with tempfile.TemporaryDirectory(prefix="incastle-again-") as folder:
        for name, text in result.sources.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        yield str(Path(folder, "scenario.toml"))


def names(result: Result, flows: Sequence[int]) -> list[str]:
    """Return the names GROUP:INDEX of some flows."""
    groups, indices = result.flows["group"], result.flows["index"]
    return [f"{groups[flow]}:{indices[flow]}" for flow in flows]
