"""`explain`: why one flow of a result took its time."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from incastle.errors import ResultError
from incastle.explanation import rerun
from incastle.explanation.parts import PS_PER_S, Chain, NicWait, Path, PauseWait, Pending, Step
from incastle.explanation.record import explained_run
from incastle.results import Result

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from incastle.explanation.record import Record
    from incastle.explanation.rerun import Source
    from incastle.runner import Progress


@dataclass(frozen=True)
class Explanation:
    """Why one flow took its time.

    Attributes:
        flow: its number in the table of flows.
        name: GROUP:INDEX.
        hosts: the sender of the data and the receiver.
        kind: what is explained: flow, answer or step, as in the table of transfers; "open" where
            the flow has no end.
        complete: whether all of it arrived.
        bytes: how many were transferred, None where that is unknown.
        began_s: when it began.
        ended_s: when the last byte arrived; of something incomplete, the last byte that did; None
            if none ever did.
        path: what the time between was spent with.
        chains: what is behind each timeout.
        story: everything in order.
        source: where the record comes from.
        pending: the retransmission timer that it waited for when the run ended, if known.
        pauses: the waits for PFC on the critical path, the longest first.
        turns: the waits of a queue pair for its turn at its NIC, the longest first.
        headline: the largest part, in one line: `10 of 12.1 ms: one retransmission timeout`.
        began: when it began, in words.
        extent: the kind, the bytes, the beginning, the end and the state, in words.

    """

    flow: int
    name: str
    hosts: tuple[str, str]
    kind: str
    complete: bool
    bytes: int | None
    began_s: float
    ended_s: float | None
    path: Path
    chains: tuple[Chain, ...]
    story: tuple[Step, ...]
    source: Source
    pending: Pending | None
    pauses: tuple[PauseWait, ...]
    turns: tuple[NicWait, ...]
    headline: str
    began: str
    extent: str

    @property
    def record(self) -> Record:
        """The record that it is made from."""
        return self.source.record(self.flow)

    @property
    def parts(self) -> pl.DataFrame:
        """The parts of its FCT: part, port ("" where it has none), seconds, share."""
        sums: dict[tuple[str, str], int] = {}
        for one in self.path.pieces:
            key = (one.kind, one.where)
            sums[key] = sums.get(key, 0) + one.span
        rows = sorted(sums.items(), key=lambda pair: -pair[1])
        whole = max(self.path.span, 1)
        return pl.DataFrame(
            {
                "part": [kind for (kind, _), _ in rows],
                "port": [port for (_, port), _ in rows],
                "seconds": [span / PS_PER_S for _, span in rows],
                "share": [span / whole for _, span in rows],
            },
            schema={
                "part": pl.String,
                "port": pl.String,
                "seconds": pl.Float64,
                "share": pl.Float64,
            },
        )

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "flow": self.flow,
            "name": self.name,
            "from": self.hosts[0],
            "to": self.hosts[1],
            "kind": self.kind,
            "complete": self.complete,
            "bytes": self.bytes,
            "began_s": self.began_s,
            "ended_s": self.ended_s,
            "headline": self.headline,
            "parts": self.parts.to_dicts(),
            "trips": len(self.path.flights),
            "pauses": [one.as_json() for one in self.pauses],
            "turns": [one.as_json() for one in self.turns],
            "timeouts": [one.as_json() for one in self.chains],
            "story": [one.as_json() for one in self.story],
            "pending": None if self.pending is None else self.pending.as_json(),
            "rerun": self.source.rerun,
            "digest": self.source.digest,
        }

    def __str__(self) -> str:
        """Name and headline."""
        return f"{self.name}: {self.headline}"


def explain(result: Result | str | os.PathLike[str], flow: int | str | None = None) -> Explanation:
    """Explain why a flow of a result took its time.

    Where the result has no record of it, its scenario is run again with one, and the digests are
    compared.

    Args:
        result: a result, or the directory of one.
        flow: its number in the table of flows, GROUP:INDEX, or GROUP for its slowest; None for the
            slowest of all.

    Raises:
        ResultError: there is no such flow, or no record, and none can be made.
        Interrupted: Ctrl-C during the run.

    """
    loaded = result if isinstance(result, Result) else Result.load(result)
    number = slowest(loaded) if flow is None else numbered(loaded, flow)
    return explain_all(loaded, [number])[0]


def explain_all(
    result: Result,
    flows: Sequence[int],
    progress: Callable[[Progress], object] | None = None,
    *,
    all_timeouts: bool = False,
) -> list[Explanation]:
    """Explain several flows, with one run at most; see `explain`.

    Of a flow with several transfers the slowest is explained, and the timeouts of that one alone,
    unless `all_timeouts`.
    """
    source = rerun.records(result, flows, progress)
    return [_explained(source, flow, all_timeouts=all_timeouts) for flow in flows]


def numbered(result: Result, flow: int | str) -> int:
    """Return the number of a flow: named by its number, as GROUP:INDEX, or GROUP for its slowest.

    Raises:
        ResultError: there is no such flow; the message lists those that exist.

    """
    flows = _flows(result)
    found = explained_run(result).numbered(str(flow))
    if found is not None:
        return found
    group, colon, index = str(flow).partition(":")
    near = difflib.get_close_matches(group, flows["group"].unique().to_list(), 1)
    meant = f"did you mean {near[0]}{colon}{index}? " if near and near[0] != group else ""
    there = f"{meant}{_there_are(flows)}"
    raise ResultError(f"the result of {result.name!r} has no flow {flow}: {there}")


def _flows(result: Result) -> pl.DataFrame:
    if "crossed_links" in result.tables:
        raise ResultError(
            f"the result of {result.name!r} is an estimate: each link was simulated by itself, so "
            "that no flow has a course to explain; `incastle run` simulates them together"
        )
    return result.flows


def _there_are(flows: pl.DataFrame) -> str:
    if flows.is_empty():
        return "it has none"
    by_group = flows.group_by("group", maintain_order=True).agg(pl.col("index").max())
    names = [f"{group}:0..{last}" if last else f"{group}:0" for group, last in by_group.iter_rows()]
    return f"there are 0 to {len(flows) - 1} ({', '.join(names)})"


def slowest(result: Result) -> int:
    """Return the flow of the transfer that took longest, those that are not complete included.

    Raises:
        ResultError: there is no transfer with an end.

    """
    flows = _flows(result)
    by_time = explained_run(result).by_time()
    if not by_time:
        raise ResultError(
            f"no flow of {result.name!r} has an end: name one with --flow, " + _there_are(flows)
        )
    return by_time[0]


def longest_s(result: Result) -> float:
    """Return how long the slowest transfer took, or has lasted; 0 if there is none."""
    _flows(result)
    return explained_run(result).longest_s()


def slowest_flows(result: Result, count: int) -> list[int]:
    """Return the flows of the slowest transfers, at most `count`, the slowest first."""
    _flows(result)
    return explained_run(result).by_time()[:count]


def without_end(result: Result) -> int:
    """Return how many unfinished flows lost packets: they may wait for a timer that is pending."""
    lost = _flows(result).filter(pl.col("drops") > 0)["flow"].to_list()
    left = result.transfers.filter((pl.col("kind") != "round") & pl.col("completed_s").is_null())
    return left.filter(pl.col("flow").is_in(lost))["flow"].n_unique()


def timed_out(result: Result) -> list[int]:
    """Return the flows that had retransmission timeouts, those with most of them first."""
    flows = _flows(result).filter(pl.col("timeouts") > 0)
    return flows.sort("timeouts", descending=True, maintain_order=True)["flow"].to_list()


def _explained(source: Source, flow: int, *, all_timeouts: bool) -> Explanation:
    values = json.loads(source.run.explain(source.trace, flow, all_timeouts))
    waits = values["pending"]
    return Explanation(
        **{
            **values,
            "hosts": tuple(values["hosts"]),
            "path": Path.of(values["path"]),
            "chains": tuple(Chain.of(one) for one in values["chains"]),
            "story": tuple(Step(**one) for one in values["story"]),
            "pending": None if waits is None else Pending(**waits),
            "pauses": tuple(PauseWait.of(one) for one in values["pauses"]),
            "turns": tuple(NicWait.of(one) for one in values["turns"]),
        },
        source=source,
    )
