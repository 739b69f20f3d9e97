"""Made-up runs of the comparison: every table that its plan asks for, from the name alone."""

from __future__ import annotations

import functools

import polars as pl

from incastle.reproduction.papers import Observation
from synthetic import scenario

PORT = "switch->receiver"
SPEED = {"cubic": 20.0, "new-reno": 16.0}
"""Milliseconds of a query; 10 under every other algorithm."""


@functools.cache  # frames cannot be changed: all tests share them
def made_up(name: str, seed: int) -> Observation:
    """Make a run: CUBIC is twice as slow as the others, NewReno nearly; seeds differ by 0.1 ms."""
    parts = name.split("/")
    if parts[0].startswith("rdma-"):
        return rdma(
            paused_s=3.0 if parts[2] == "pfc=on" else 0.0, drops=0 if parts[2] == "pfc=on" else 25
        )
    ms = SPEED.get(parts[1], 10.0) + 0.1 * seed
    cubic = parts[1] == "cubic"
    tables = {
        "rounds": rounds([ms] * 10, [1 if cubic else 0] * 10),
        "links": links(200.0 if cubic else 20.0),
        "throughput": throughput([2, 1, 1, 1] if cubic else [1, 1, 1, 1]),
        "transfers": transfers([50e3, 500e3, 5e6], ms / 1e3),
        "summary": deadlines(80 if cubic else 99, 20 if cubic else 1),
    }
    if parts[0] == "coexistence":
        alone = parts[1] == "one" and parts[2] == "off"
        tables["rounds"] = pl.concat([messages("dctcp", 20 if alone else 2), messages("cubic", 5)])
        tables["throughput"] = throughput([1, 1, 49, 49] if alone else [1, 1, 1, 1])
        groups = ["dctcp", "dctcp", "cubic", "cubic"]
        tables["flows"] = pl.DataFrame({"flow": range(4), "group": groups})
    return Observation(tables, "0" * 16, scenario(12))


def rdma(paused_s: float, drops: int) -> Observation:
    """Make a run of RDMA: ten incasts of 2 ms, a victim and web search, two paused ports."""
    flows = {"started_s": 0.0, "completed_s": 1e-3, "ideal_fct_s": 0.5e-3, "deadline_s": None}
    sizes = {"victim": 64_000, "web": 50_000}
    tables = {
        "rounds": rounds([2.0] * 10, [0] * 10, "incast"),
        "transfers": pl.concat(
            [
                pl.DataFrame([{"group": "web", "bytes": 5_000_000, **flows}]),
                *(
                    pl.DataFrame([{"group": group, "bytes": size, **flows}] * 3)
                    for group, size in sizes.items()
                ),
            ]
        ),
        "pauses": pl.DataFrame({"port": ["a", "b"], "paused_s": [paused_s / 2, paused_s]}),
        "summary": pl.DataFrame({"drops": [drops], "data_packets": [75]}),
        "links": links(20.0),
    }
    return Observation(tables, "0" * 16, scenario(12))


def rounds(ms: list[float], timeouts: list[int], group: str = "query") -> pl.DataFrame:
    """Give queries by their completion times and timeouts; one of 0 ms was never completed."""
    started = [0.1 * i for i in range(len(ms))]
    completed = [at + one / 1e3 if one else None for at, one in zip(started, ms, strict=True)]
    columns = {"started_s": started, "completed_s": completed, "timeouts": timeouts}
    return pl.DataFrame({"group": [group] * len(ms), **columns})


def messages(kind: str, ms: float) -> pl.DataFrame:
    """Give ten messages of an algorithm."""
    return rounds([float(ms)] * 10, [0] * 10, f"{kind}-message")


def links(queue: float) -> pl.DataFrame:
    """Give the bottleneck, and a port that nobody asks for."""
    return pl.DataFrame({"port": [PORT, "switch->sender:0"], "mean_queue_packets": [queue, 7.0]})


def throughput(shares: list[int], seconds: float = 12.0) -> pl.DataFrame:
    """Give flows with these shares, in packets for each 10 ms."""
    count = round(seconds * 100)
    rows = [
        (0.01 * i, flow, 1460 * share) for flow, share in enumerate(shares) for i in range(count)
    ]
    return pl.DataFrame(rows, schema=["time_s", "flow", "bytes"], orient="row")


def transfers(sizes: list[float], seconds: float, open_deadlines: int = 0) -> pl.DataFrame:
    """Give completed background flows of these sizes, a completed answer, and unfinished ones.

    These began at 11.9 s; their deadlines are beyond any run.
    """
    count = len(sizes)
    return pl.DataFrame(
        {
            "group": ["background"] * count + ["query"] * (1 + open_deadlines),
            "started_s": [0.0] * (count + 1) + [11.9] * open_deadlines,
            "completed_s": [seconds] * (count + 1) + [None] * open_deadlines,
            "bytes": [int(size) for size in sizes] + [100] * (1 + open_deadlines),
            "deadline_s": [None] * count + [1.0] + [1000.0] * open_deadlines,
        },
        schema_overrides={"deadline_s": pl.Float64},
    )


def deadlines(met: int, missed: int) -> pl.DataFrame:
    """Give a summary."""
    return pl.DataFrame({"met_deadlines": [met], "missed_deadlines": [missed]})
