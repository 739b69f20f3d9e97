"""The record of some flows: out of a result that has one, else by running its scenario again.

A run takes the same course with a record as without, so that the digest proves that the
second run's record is also the first's.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from incastle import _engine
from incastle.errors import IncastleError, ResultError, ScenarioError
from incastle.explanation.nic import Sendings, neighbours, sendings
from incastle.explanation.pauses import Pauses
from incastle.explanation.record import Record
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
    """Records by flow, and where they come from.

    Attributes:
        rerun: whether the scenario was run again for them.
        digest: of the run that they are of.
        sendings: the packets of queue pairs at the NICs of their hosts.

    """

    records: dict[int, Record]
    rerun: bool
    digest: str
    sendings: Sendings = field(default_factory=dict)

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
    kept = _split(result, flows)
    if _has_pauses(result) and "pause_record" not in result.tables:
        kept = {}
    near = [*flows, *neighbours(result, flows)]
    if all(flow in kept and kept[flow].full_at is None for flow in flows):
        others = sendings(result.tables.get("events"), near)
        return Source(kept, rerun=False, digest=result.digest, sendings=others)
    again = _run_again(result, near, progress)
    made = _split(again, flows)
    cut = _cut(made)
    if cut is not None and len(near) > len(flows):
        near = [*flows]
        again = _run_again(result, near, progress)
        made = _split(again, flows)
        cut = _cut(made)
    if cut is not None:
        raise ResultError(
            f"the record of {names(result, [cut])[0]} is longer than {MAX_EVENTS:,} events: "
            "explain fewer flows at once, or a shorter run"
        )
    missing = [flow for flow in flows if flow not in made]
    if missing:
        raise ResultError(f"nothing ever happened to flow {missing[0]}")
    others = sendings(again.tables.get("events"), near)
    return Source(made, rerun=True, digest=again.digest, sendings=others)


def _cut(made: dict[int, Record]) -> int | None:
    """Return a flow whose record had no more room."""
    return next((flow for flow, record in made.items() if record.full_at is not None), None)


def _split(result: Result, flows: Sequence[int]) -> dict[int, Record]:
    frame = result.tables.get("events")
    if frame is None:
        return {}
    wanted = frame.filter(pl.col("flow").is_in(list(flows)))
    is_full = not frame.is_empty() and frame["event"][-1] == "full"
    end = frame.tail(1) if is_full else frame.clear()
    parts = wanted.filter(pl.col("event") != "full").partition_by("flow", as_dict=True)
    recorded = result.tables.get("pause_record")
    if recorded is not None and len(recorded) >= MAX_PAUSES:
        raise ResultError(
            f"{result.name!r} has more pauses than the {MAX_PAUSES:,} of a record: waits for later "
            "ones would look like queues; explain a shorter run"
        )
    pauses = Pauses(recorded)
    return {int(flow): Record(pl.concat([rows, end]), pauses) for (flow,), rows in parts.items()}


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
