"""Made-up runs of dt-cwa: every table that its plan asks for, from an experiment's name."""

from __future__ import annotations

import functools

import polars as pl

from incastle.reproduction.papers import Observation
from synthetic import scenario

PORT = "switch:0->receiver"
QUERIES = 6


@functools.cache  # frames cannot be changed: all tests share them
def made_up(name: str, seed: int) -> Observation:
    """DT-CWA is 10 % faster than DCTCP in everything; seeds differ by 1 %."""
    n = int(name.rpartition("n=")[2]) if "/n=" in name else 30
    slower = 1.1 if "/dctcp/" in name else 1.0
    share = slower * (1 + 0.01 * seed)
    tables = {
        "flows": pl.DataFrame({"flow": range(n), "timeouts": [1] * n}),
        "links": pl.DataFrame(
            {
                "port": [PORT, "receiver->switch:0"],
                "bytes": [int(1e8 / share), 1],
                "drops": [12, 0],
                "mean_queue_packets": [20.0 * share, None],
            }
        ),
        "queues": pl.DataFrame({"port": [PORT] * 2, "packets": [10, 30], "seconds": [0.5, 0.5]}),
        "windows": pl.DataFrame({"cwnd_bytes": [1460, 2920, 1460, 14600]}),
        "transfers": transfers(n, share * (0.5 if name.startswith("short") else 1)),
    }
    return Observation(tables, "0" * 16, scenario(2.4))


def transfers(n: int, share: float) -> pl.DataFrame:
    """Give the flows of six queries of 10 ms; the last flow takes twice as long."""
    rows = [
        (f"query{query}", 0.4 * query, 0.4 * query + 0.01 * share * (2 if flow == n - 1 else 1))
        for query in range(QUERIES)
        for flow in range(n)
    ]
    frame = pl.DataFrame(rows, schema=["group", "started_s", "completed_s"], orient="row")
    return frame.with_columns(bytes=pl.lit(1_000_000 // n))
