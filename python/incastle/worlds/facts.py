"""What `incastle explain` has of a flow in real time: the counters of its tables.

Leaves out what the flow waited for, and the causes of its timeouts: there is no record of packets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from incastle.units import si

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incastle.results import Result

NO_RECORD = (
    "{world} gives no record of packets: neither the flow's waits nor the causes of timeouts "
    "are known. The same scenario without --world has both"
)
WORLDS = {"linux": "the kernel", "sockets": "the world sockets"}
COUNTERS = ("delivered_bytes", "packets", "retransmissions", "timeouts", "marks", "drops")


def of(result: Result, flows: Sequence[int]) -> list[dict[str, Any]]:
    """Return the facts of each flow: its times, its counters, its window."""
    return [_of_flow(result, flow) for flow in flows]


def _of_flow(result: Result, flow: int) -> dict[str, Any]:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    row = result.flows.row(by_predicate=pl.col("flow") == flow, named=True)
    done = row["completed_s"]
    found = {
        "flow": flow,
        "name": f"{row['group']}:{row['index']}",
        "from": row["from"],
        "to": row["to"],
        "started_s": row["started_s"],
        "fct_s": None if done is None else done - row["started_s"],
        **{name: row[name] for name in COUNTERS},
    }
    windows = result.tables.get("windows")
    own = None if windows is None else windows.filter(pl.col("flow") == flow)
    if own is not None and len(own):
        found["mean_cwnd_bytes"] = own["cwnd_bytes"].mean()
        found["mean_rtt_s"] = own["rtt_s"].mean()
    return found


def sentences(facts: Sequence[dict[str, Any]], world: str) -> list[str]:
    """Describe the facts, a line per flow, and what is not known."""
    return [*(_sentence(one) for one in facts), no_record(world)]


def no_record(world: str) -> str:
    """Return the reason why more is not known."""
    return NO_RECORD.format(world=WORLDS[world])


def _sentence(one: dict[str, Any]) -> str:
    end = "unfinished" if one["fct_s"] is None else f"FCT {si(one['fct_s'], 's')}"
    counted = ", ".join(f"{one[name]:,} {name}" for name in COUNTERS[1:])
    window = ""
    if one.get("mean_rtt_s") is not None:
        rtt = si(one["mean_rtt_s"], "s")
        window = f"; on average a smoothed RTT of {rtt}"
        # Controls by rates have no window.
        if one["mean_cwnd_bytes"] is not None:
            cwnd = si(one["mean_cwnd_bytes"], "B")
            window = f"; on average a window of {cwnd} and a smoothed RTT of {rtt}"
    return (
        f"flow {one['flow']} ({one['name']}), {one['from']} to {one['to']}: {end}, "
        f"{si(one['delivered_bytes'], 'B')} delivered, {counted}{window}"
    )
