"""`explain`: why one flow of a result took its time."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from incastle.errors import ResultError
from incastle.explanation import nic, rerun, words
from incastle.explanation import path as paths
from incastle.explanation.nic import nic_waits
from incastle.explanation.path import PARTS
from incastle.explanation.pending import Pending, pending
from incastle.explanation.record import PS_PER_S, Record, picoseconds
from incastle.explanation.story import story
from incastle.explanation.timeouts import Chain, Step, chains
from incastle.explanation.waits import pause_waits, steps_of
from incastle.results import Result

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from incastle.explanation.nic import NicWait
    from incastle.explanation.path import Path
    from incastle.explanation.rerun import Source
    from incastle.explanation.waits import PauseWait
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
        turns: the waits of a queue pair for its turn at its NIC, the longest first.

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
    pending: Pending | None = None
    turns: tuple[NicWait, ...] = ()

    @property
    def record(self) -> Record:
        """The record that it is made from."""
        return self.source.records[self.flow]

    @property
    def pauses(self) -> list[PauseWait]:
        """The waits for PFC on the critical path, the longest first."""
        return pause_waits(self.path, self.hosts[1])

    @property
    def headline(self) -> str:
        """The largest part, in one line: `10 of 12.1 ms: one retransmission timeout`."""
        by_kind = self.path.by_kind()
        if not by_kind:
            return f"no byte of it ever arrived{self._waits}"
        kind, longest = self._greatest(by_kind)
        return f"{_share(longest, self.path.span)}: {self._reason(kind)}"

    def _greatest(self, by_kind: dict[str, int]) -> tuple[str, int]:
        """Links count together: what is sent on one travels on it."""
        links = (paths.SERIALISATION, paths.PROPAGATION)
        together = sum(by_kind.get(kind, 0) for kind in links)
        others = ((kind, span) for kind, span in by_kind.items() if kind not in links)
        kind, longest = next(others, ("", 0))
        return ("links", together) if together > longest else (kind, longest)

    def _reason(self, kind: str) -> str:
        if kind == paths.TIMEOUT:
            number = len(self.path.timers)
            return (
                "one retransmission timeout" if number == 1 else f"{number} retransmission timeouts"
            )
        if kind == "links":
            return f"on links, in {self._trips()}"
        if kind == paths.PAUSED:
            most = self.pauses[0]
            text = f"paused by PFC, {words.span(most.waited)} of it at {most.port}"
            if most.is_own_root:
                own = "the port to its own receiver, where its data would wait without PFC as well"
                return f"{text}, root {most.root}, {own}"
            return f"{text}, root {most.root}" if most.root else text
        if kind == paths.QUEUE:
            port, at_port = next(iter(self.path.by_port(kind).items()))
            return f"waiting in queues, {words.span(at_port)} of it at {port}"
        return f"{PARTS[kind]}{self._waits if kind == paths.STALL else ''}"

    @property
    def _waits(self) -> str:
        if self.pending is not None:
            return f"; {self.pending.short}"
        failed = any(event.event == "failed" for event in self.record.events)
        return "; its queue pair had failed" if failed else ""

    def _trips(self) -> str:
        flights = self.path.flights
        repeated = sum(one.repeated for one in flights)
        trips = words.count(len(flights), "trip")
        return f"{trips} one after the other" + (f", {repeated} for repairs" if repeated else "")

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
    return [_explained(result, flow, source, all_timeouts=all_timeouts) for flow in flows]


def numbered(result: Result, flow: int | str) -> int:
    """Return the number of a flow: named by its number, as GROUP:INDEX, or GROUP for its slowest.

    Raises:
        ResultError: there is no such flow; the message lists those that exist.

    """
    flows = _flows(result)
    group, colon, index = str(flow).partition(":")
    of_group = flows.filter(pl.col("group") == group)["flow"]
    if not colon and not of_group.is_empty():
        transfers = _by_time(result, pl.col("flow").is_in(of_group.to_list()))
        return int((of_group if transfers.is_empty() else transfers["flow"])[0])
    if colon and index.isdecimal():
        wanted = (pl.col("group") == group) & (pl.col("index") == int(index))
        found = flows.filter(wanted)
        if not found.is_empty():
            return int(found["flow"][0])
    elif str(flow).isdecimal() and int(flow) < len(flows):
        return int(flow)
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
    transfers = _by_time(result, pl.col("kind") != "round")
    if transfers.is_empty():
        raise ResultError(
            f"no flow of {result.name!r} has an end: name one with --flow, " + _there_are(flows)
        )
    return int(transfers["flow"][0])


def longest_s(result: Result) -> float:
    """Return how long the slowest transfer took, or has lasted; 0 if there is none."""
    transfers = _by_time(result, pl.col("kind") != "round")
    if transfers.is_empty():
        return 0.0
    began, ended = transfers.row(0, named=True)["started_s"], transfers["completed_s"][0]
    return float((result.totals["simulated_s"] if ended is None else ended) - began)


def slowest_flows(result: Result, count: int) -> list[int]:
    """Return the flows of the slowest transfers, at most `count`, the slowest first."""
    _flows(result)
    flows = _by_time(result, pl.col("kind") != "round")["flow"]
    return flows.unique(maintain_order=True).head(count).to_list()


def _by_time(result: Result, wanted: pl.Expr) -> pl.DataFrame:
    """Return some transfers, the slowest first; those not complete have lasted until the end.

    Only those that began in the measured interval count, if there are any.
    """
    counted = result.observed.filter(wanted)
    frame = result.transfers.filter(wanted) if counted.is_empty() else counted
    lasts = pl.col("completed_s").fill_null(result.totals["simulated_s"]) - pl.col("started_s")
    return frame.sort(lasts, descending=True, maintain_order=True)


def without_end(result: Result) -> int:
    """Return how many unfinished flows lost packets: they may wait for a timer that is pending."""
    lost = _flows(result).filter(pl.col("drops") > 0)["flow"].to_list()
    left = result.transfers.filter((pl.col("kind") != "round") & pl.col("completed_s").is_null())
    return left.filter(pl.col("flow").is_in(lost))["flow"].n_unique()


def timed_out(result: Result) -> list[int]:
    """Return the flows that had retransmission timeouts, those with most of them first."""
    flows = _flows(result).filter(pl.col("timeouts") > 0)
    return flows.sort("timeouts", descending=True, maintain_order=True)["flow"].to_list()


def _explained(result: Result, flow: int, source: Source, *, all_timeouts: bool) -> Explanation:
    row = result.flows.row(flow, named=True)
    record = source.records[flow]
    kind, size, began_s, done_s = _transfer(result, flow, row)
    begins, last = picoseconds(began_s), picoseconds(result.totals["simulated_s"])
    done = last if done_s is None else picoseconds(done_s)
    ends = record.delivered_at(begins, done)
    path = paths.critical_path(record, begins, ends) if ends is not None else paths.Path(())
    if kind != "open" and done_s is None:
        path = path.stalled(record, begins if ends is None else ends, last)
    sent = {one for some in source.sendings.values() for _, _, one in some}
    called = dict(zip(sent, rerun.names(result, [*sent]), strict=True))
    turns = nic_waits(path, source.sendings, flow, called)
    # The sender of a flow's only transfer goes on until everything is acknowledged.
    until = done if kind in ("response", "step") else last
    steps = [
        *story(record, begins, until),
        *steps_of(path, row["to"]),
        *nic.steps_of(turns),
        *_last_byte(path, ends, complete=done_s is not None),
    ]
    waits = None if done_s is not None else pending(record, _transport(result, row), last)
    if waits is not None:
        steps.append(Step(last, waits.text))
    within = (0, last) if all_timeouts else (begins, until)
    return Explanation(
        flow=flow,
        name=f"{row['group']}:{row['index']}",
        hosts=(row["from"], row["to"]),
        kind=kind,
        complete=done_s is not None,
        bytes=size,
        began_s=began_s,
        ended_s=None if ends is None else ends / PS_PER_S,
        path=path,
        chains=tuple(chains(record, *within)),
        story=tuple(sorted(steps, key=lambda step: step.at)),
        source=source,
        pending=waits,
        turns=tuple(turns),
    )


def _transport(result: Result, row: dict[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(result.scenario)["flows"][row["group"]]["transport"]
    return table


def _transfer(
    result: Result, flow: int, row: dict[str, Any]
) -> tuple[str, int | None, float, float | None]:
    """Return kind, bytes, beginning and end of a flow's slowest transfer, or of all that it did."""
    transfers = _by_time(result, (pl.col("flow") == flow) & (pl.col("kind") != "round"))
    if transfers.is_empty():
        return "open", None, row["started_s"], None
    one = transfers.row(0, named=True)
    return one["kind"], one["bytes"], one["started_s"], one["completed_s"]


def _last_byte(path: Path, ends: int | None, *, complete: bool) -> tuple[Step, ...]:
    """Return the arrival of the last byte."""
    flights = path.flights
    if ends is None or not flights:
        return ()
    what = "brings the last byte" if complete else "is the last that arrives in order"
    return (Step(ends, f"{words.packet(flights[-1])} {what}"),)


def _share(part: int, whole: int) -> str:
    """Write `10 of 12.1 ms`, the unit once where both have the same."""
    a, b = words.span(part), words.span(whole)
    number, _, unit = a.partition(" ")
    return f"{number if unit == b.partition(' ')[2] else a} of {b}"
