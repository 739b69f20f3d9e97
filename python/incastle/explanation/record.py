"""The record of some flows as the native module reads it, and their packets as a frame."""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

import polars as pl

from incastle import _engine
from incastle.explanation.parts import PS_PER_S, Step

if TYPE_CHECKING:
    from incastle.results import Result

__all__ = ["PS_PER_S", "RECEIVER", "SENDER", "Record", "explained_run", "stream", "traced"]

SENDER, RECEIVER = "sender", "receiver"


@dataclass(frozen=True)
class Record:
    """The recorded events of one flow."""

    flow: int
    events: pl.DataFrame
    trace: _engine.EventTrace

    def story(self, begins: int, ends: int) -> list[Step]:
        """Describe the events between two instants in picoseconds."""
        return [Step(**step) for step in json.loads(self.trace.story(self.flow, begins, ends))]

    def packets(self, end: str) -> pl.DataFrame:
        """Return the packets that an endpoint sent, with their fates.

        The events `sent` and `resent`, with `received_s` and `dropped_s`.
        """
        own = self.events.filter(pl.col("end") == end)
        frame = own.filter(pl.col("event").is_in(["sent", "resent"]))
        for fate in ("received", "dropped"):
            time = pl.col("time_s").alias(f"{fate}_s")
            times = own.filter(pl.col("event") == fate).select("packet", time)
            frame = frame.join(times, on="packet", how="left", maintain_order="left")
        return frame


def traced(
    events: pl.DataFrame, pauses: pl.DataFrame | None, flows: list[int], neighbours: list[int]
) -> _engine.EventTrace:
    """Return the record of some flows, and the packets of other queue pairs."""
    recorded = None if pauses is None else stream(pauses)
    return _engine.EventTrace(stream(events), recorded, flows, neighbours)


def explained_run(result: Result) -> _engine.ExplainedRun:
    """Return a result as the native module explains it."""
    names = ("simulated_s", "measured_from_s", "measured_to_s")
    end, begins, ends = (float(result.totals[name]) for name in names)
    flows, transfers = stream(result.flows), stream(result.transfers)
    return _engine.ExplainedRun(flows, transfers, (end, begins, ends), result.scenario)


def stream(frame: pl.DataFrame) -> bytes:
    """Return a frame as a stream of Arrow's IPC format, with strings as every reader has them."""
    buffer = BytesIO()
    frame.write_ipc_stream(buffer, compat_level=pl.CompatLevel.oldest())
    return buffer.getvalue()
