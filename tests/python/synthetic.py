"""Made-up runs for the tests of papers and reports: tables as the engine gives them, no engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from incastle.reproduction.papers import Observation, Observations

if TYPE_CHECKING:
    from collections.abc import Callable

    from incastle.reproduction.papers import Length, Paper

PORT = "switch->receiver"


def scenario(seconds: float, measured_from: float = 0) -> str:
    """Give what papers read in a complete scenario: how long a run is, and when it measures."""
    return (
        f"name = 'made up'\n[run]\nduration = '{seconds:g} s'\n"
        f"[measure]\nwarmup = '{measured_from:g} s'\nuntil = 'end'\n"
    )


def tables(queue: list[int], utilisation: float, *, begin: float = 0.0) -> dict[str, pl.DataFrame]:
    """Make the queue's samples, one every 10 ms from `begin` on, and the link's utilisation."""
    times = [begin + 0.01 * i for i in range(len(queue))]
    sizes = {"packets": queue, "bytes": [1500 * packets for packets in queue]}
    samples = pl.DataFrame(
        {"time_s": times, "port": PORT} | sizes,
        schema={
            "time_s": pl.Float64,
            "port": pl.String,
            "packets": pl.UInt64,
            "bytes": pl.UInt64,
        },
    )
    links = pl.DataFrame({"port": [PORT, "receiver->switch"], "utilisation": [utilisation, 0.03]})
    flows = pl.DataFrame({"delivered_bytes": [900, 100], "timeouts": [0, 3], "drops": [5, 20]})
    return {"queue_samples": samples, "links": links, "flows": flows}


def observation(queue: list[int], utilisation: float, *, begin: float = 0.0) -> Observation:
    """Make one run."""
    return Observation(tables(queue, utilisation, begin=begin), "0" * 16, "name = 'made up'\n")


def observations(
    paper: Paper, length: Length, make: Callable[[str, int], Observation]
) -> Observations:
    """Make every run of a paper's plan from its experiment's name and its seed."""
    plan = paper.plan(length)
    return Observations(
        length,
        {one.name: [make(one.name, seed) for seed in range(1, one.seeds + 1)] for one in plan},
    )
