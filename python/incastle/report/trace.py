"""The Perfetto trace of a run: its tables as tracks of flows, ports, hosts and rounds.

Counters are queues, windows, rates and goodput; slices are transfers, rounds and pauses; the record
of flows has its own module (`packets`). A table that the run did not record is left out, and named
with the key that asks for it.

Leaves out: picoseconds, because a trace has nanoseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from incastle.report import packets
from incastle.report.packets import details_of
from incastle.report.places import Places
from incastle.report.tracks import Tracks, nanoseconds
from incastle.results import HOW_TO_ASK
from incastle.storage.files import scratch_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from incastle.results import Result

MAX_FLOWS = 1_000
"""Flows that have tracks: those with a record, then the slowest."""


class Counter(NamedTuple):
    """A column that is drawn as counters: its table, whose it is, and the name of the track."""

    table: str
    owner: str
    column: str
    name: str


COUNTERS = (
    Counter("queue_samples", "port", "packets", "queue (packets)"),
    Counter("queue_samples", "port", "bytes", "queue (bytes)"),
    Counter("windows", "flow", "cwnd_bytes", "cwnd (bytes)"),
    Counter("windows", "flow", "alpha", "alpha"),
    Counter("windows", "flow", "rtt_s", "smoothed RTT (s)"),
    Counter("rates", "flow", "current_bit_s", "rate of the limiter (bit/s)"),
    Counter("dcudp_rates", "flow", "data_packets_s", "sending rate (packets/s)"),
    Counter("throughput", "flow", "bytes", "delivered per interval (bytes)"),
    Counter("goodput", "host", "bytes", "received per millisecond (bytes)"),
)
FOUND = {
    "queue_samples": Counter("queued", "port", "queue_bytes", "queue that packets found (bytes)"),
    "windows": Counter("sent", "flow", "cwnd_bytes", "cwnd as packets were sent (bytes)"),
}
"""What the record of flows has in place of a table."""


def write(result: Result, place: Path, events: pl.DataFrame | None = None) -> list[str]:
    """Write the trace of a run.

    Args:
        result: the run.
        place: the file.
        events: the record of some of its flows, if it has no table `events`.

    Returns:
        What the trace lacks, each with the remedy.

    Raises:
        OSError: the file cannot be written.

    """
    record = result.tables.get("events", events)
    if record is not None:
        record = record.filter(pl.col("event") != "full")
    flows = _with_tracks(result, record)
    with scratch_file(place) as scratch, scratch.open("wb") as file:
        places = Places(result, Tracks(file))
        _rounds(places, result)
        _transfers(places, result, flows)
        _timeouts(places, result, flows, record)
        _pauses(places, result)
        for counter in COUNTERS:
            _count(places, counter, _of_table(result, counter, flows))
        if record is not None:
            for counter in _in_place(result):
                _count(places, counter, record.filter(pl.col("event") == counter.table))
            packets.write(places, record)
    return list(_lacking(result, record, len(flows)))


def _in_place(result: Result) -> list[Counter]:
    return [counter for table, counter in FOUND.items() if table not in result.tables]


def _with_tracks(result: Result, record: pl.DataFrame | None) -> set[int]:
    """Return the flows that have tracks, at most `MAX_FLOWS` besides those of the record."""
    recorded = set(record["flow"]) if record is not None else set()
    end = pl.col("completed_s").fill_null(result.totals["simulated_s"])
    slowest = result.flows.sort(end - pl.col("started_s"), descending=True)["flow"]
    others = [flow for flow in slowest if flow not in recorded]
    return recorded | set(others[: max(0, MAX_FLOWS - len(recorded))])


def _rounds(places: Places, result: Result) -> None:
    rounds = result.tables.get("rounds")
    if rounds is None:
        return
    for frame in rounds.partition_by("group", "index", maintain_order=True):
        owner = f"{frame['group'][0]}:{frame['index'][0]}"
        _slices(places, ("round", owner), frame, result, "round {round}")


def _transfers(places: Places, result: Result, flows: set[int]) -> None:
    transfers = result.transfers.filter(pl.col("kind") != "round", pl.col("flow").is_in(flows))
    for frame in transfers.partition_by("flow", maintain_order=True):
        _slices(places, ("flow", frame["flow"][0]), frame, result, "{kind}")


def _slices(
    places: Places, owner: tuple[str, int | str], frame: pl.DataFrame, result: Result, name: str
) -> None:
    """Write what begins and is completed; what overlaps has tracks of one name.

    Unfinished ones last until the end of the run.
    """
    ends: list[int] = []
    for row in frame.sort("started_s", maintain_order=True).iter_rows(named=True):
        is_complete = row["completed_s"] is not None
        end_s = row["completed_s"] if is_complete else result.totals["simulated_s"]
        span = nanoseconds(row["started_s"]), nanoseconds(end_s)
        lane = next((lane for lane, end in enumerate(ends) if end <= span[0]), len(ends))
        ends[lane : lane + 1] = [span[1]]
        inner = (f"overlapping {lane}",) if lane else ()
        text = name.format(**row) + ("" if is_complete else ", unfinished")
        details = details_of(row, ("bytes", "deadline_s", "slowdown", "goodput_bit_s"))
        places.tracks.slice(places.track(*owner, *inner), span, text, details)


def _timeouts(places: Places, result: Result, flows: set[int], record: pl.DataFrame | None) -> None:
    """Write the timeouts of flows that have no record: that has its own."""
    frame = result.tables.get("timeouts")
    if frame is None:
        return
    recorded = set() if record is None else set(record["flow"])
    for row in frame.filter(pl.col("flow").is_in(flows - recorded)).iter_rows(named=True):
        details = details_of(row, ("kind", "port", "lost_segments", "waited_s", "rto_s", "idle_s"))
        track = places.track("flow", row["flow"], "sender")
        places.tracks.instant(track, nanoseconds(row["time_s"]), "timeout", details)


def _pauses(places: Places, result: Result) -> None:
    """Write the pauses of ports; one that has no end lasts until the end of the run."""
    frame = result.tables.get("pause_record")
    if frame is None:
        return
    ends = pl.col("end_s").fill_null(result.totals["simulated_s"])
    for row in frame.with_columns(end_s=ends).sort("begin_s").iter_rows(named=True):
        span = nanoseconds(row["begin_s"]), nanoseconds(row["end_s"])
        track = places.track("port", row["port"], f"paused, priority {row['priority']}")
        places.tracks.slice(track, span, "paused", details_of(row, ("root_port", "depth")))


def _of_table(result: Result, counter: Counter, flows: set[int]) -> pl.DataFrame | None:
    """Return the table of a counter, of the flows that have tracks."""
    if counter.table not in result.tables:
        return None
    frame = result.over_time(counter.table)
    return frame.filter(pl.col("flow").is_in(flows)) if counter.owner == "flow" else frame


def _count(places: Places, counter: Counter, frame: pl.DataFrame | None) -> None:
    """Write the changes of a column; an owner without any value but zero has no track."""
    if frame is None:
        return
    value, owner = pl.col(counter.column), pl.col(counter.owner)
    frame = frame.drop_nulls(counter.column).filter((value != 0).any().over(owner))
    changes = frame.filter((value != value.shift(1).over(owner)).fill_null(value=True))
    for rows in changes.partition_by(counter.owner, maintain_order=True):
        track = places.counter(counter.owner, rows[counter.owner][0], counter.name)
        for at, number in rows.select("time_s", counter.column).iter_rows():
            places.tracks.count(track, nanoseconds(at), number)


def _lacking(result: Result, record: pl.DataFrame | None, tracks: int) -> Iterator[str]:
    """Yield what the trace lacks, with the key that asks for it."""
    instead = " (those that recorded packets met are there)" if record is not None else ""
    for table, what in {"queue_samples": "queues of ports", "windows": "windows"}.items():
        if table not in result.tables:
            yield f"{what} over time{instead}: under [measure], write {HOW_TO_ASK[table]}"
    if "events" not in result.tables:
        of = (
            ""
            if record is None
            else f" of other flows than the {record['flow'].n_unique()} slowest"
        )
        key = 'events = { flows = "all" }'
        yield f"packets, drops and timers{of}: under [measure], write {key}"
    pauses = result.tables.get("pauses")
    if pauses is not None and pauses["pauses"].sum() and "pause_record" not in result.tables:
        yield f"pauses: under [measure], write {HOW_TO_ASK['pause_record']}"
    if tracks < len(result.flows):
        others = len(result.flows) - tracks
        yield f"{others:,} flows: only {tracks:,} have tracks, the recorded and the slowest"
