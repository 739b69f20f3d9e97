"""Made-up runs of the paper dctcp: every table that its plan asks for, from the name alone."""

from __future__ import annotations

import functools

import polars as pl

from incastle.reproduction.papers import Observation
from synthetic import scenario

PORTS = ("switch->sender:0", "switch->sender:11", "switch->sender:12")


@functools.cache  # frames cannot be changed: all tests share them
def made_up(name: str, seed: int) -> Observation:
    """Make a run: TCP's queries take 20 ms and every second one has a timeout, DCTCP's 10 ms."""
    tcp = "tcp" in name.split("/")
    tables = {
        "summary": pl.DataFrame({"simulated_s": [1.0], "max_memory_bytes": [2_000_000]}),
        "timeouts": timeouts(),
        "rounds": rounds(
            [20.0 + seed] * 10 if tcp else [10.0] * 10, [1, 0] * 5 if tcp else [0] * 10
        ),
        "links": links(),
        "buffer_occupancy": memory(full=tcp),
        "transfers": transfers([5e3, 50e3, 500e3, 5e6, 50e6], 2.0 if tcp else 1.0),
    }
    if "basic/" in name:  # the longest lasts 30 s
        tables["queue_samples"] = queue(
            [300 + i % 100 if tcp else 18 + i % 5 for i in range(30_000)]
        )
        tables["throughput"] = throughput(3000, [500, 300], step=0.01)
    if "convergence" in name:
        tables["throughput"] = throughput(270, [1, 1, 1, 1, 1], step=1)
    return Observation(tables, "0" * 16, scenario(270))


def links() -> pl.DataFrame:
    """Give three ports that are named in PORTS, and the one to the rest of the data center."""
    return pl.DataFrame(
        {
            "port": [*PORTS, "switch->receiver"],
            "drops": [10, 0, 0, 0],
            "max_bytes": [190_000, 0, 0, 3000],
            "utilisation": [0.5, 0.5, 0.5, 0.25],
            "max_queue_packets": [100.0, 1.0, 1.0, 7.0],
        }
    )


def rounds(ms: list[float], timeouts: list[int]) -> pl.DataFrame:
    """Give queries by their completion times and timeouts; one of 0 ms was never completed."""
    started = [0.1 * i for i in range(len(ms))]
    completed = [at + one / 1e3 if one else None for at, one in zip(started, ms, strict=True)]
    return pl.DataFrame({"started_s": started, "completed_s": completed, "timeouts": timeouts})


def queue(packets: list[int]) -> pl.DataFrame:
    """Give a sample every millisecond."""
    times = [0.001 * i for i in range(len(packets))]
    return pl.DataFrame({"time_s": times, "port": "switch->receiver", "packets": packets})


def throughput(count: int, shares: list[int], step: float) -> pl.DataFrame:
    """Give `count` intervals of flows with these shares, in packets."""
    rows = [
        (step * i, flow, 1460 * share) for flow, share in enumerate(shares) for i in range(count)
    ]
    return pl.DataFrame(rows, schema=["time_s", "flow", "bytes"], orient="row")


def memory(*, full: bool) -> pl.DataFrame:
    """Give 10 samples: a client that may hold 200 KB, and two other ports, full or nearly empty."""
    rows: list[tuple[float, str, int, float | None]] = []
    for i in range(10):
        rows += [(0.001 * i, port, 190_000 if full else 1500, 200_000.0) for port in PORTS]
        rows.append((0.001 * i, "all", 600_000, 4e6))
    columns = ["time_s", "port", "bytes", "threshold_bytes"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def transfers(sizes: list[float], seconds: float) -> pl.DataFrame:
    """Give background flows of these sizes, and a query; of 0 s they were never completed."""
    count = len(sizes)
    return pl.DataFrame(
        {
            "group": ["background"] * count + ["query"],
            "started_s": [1.0] * (count + 1),
            "completed_s": [1.0 + seconds if seconds else None] * count + [None],
            "bytes": [int(size) for size in sizes] + [100],
        },
        schema_overrides={"completed_s": pl.Float64},
    )


def timeouts() -> pl.DataFrame:
    """Give one timeout of a query, and one of a transfer that was lost at the receiver's port."""
    ports = ["switch->sender:0", "switch->receiver"]
    kinds = ["last-packet", "full-window"]
    return pl.DataFrame({"group": ["query", "short"], "kind": kinds, "port": ports})
