"""Made-up runs of qcn-incast: every table that its plan asks for, from an experiment's name."""

from __future__ import annotations

import functools

import polars as pl

from incastle.reproduction.papers import Observation
from synthetic import scenario

SECONDS = 2.0
ROUND_S = 0.1


def setting(name: str) -> tuple[str, int, int]:
    """Take the system, the buffer and the number of servers out of an experiment's name."""
    parts = name.split("/")
    if parts[0] == "baseline":
        return parts[2], 150, 4
    found = {key: int(value) for key, _, value in (part.partition("=") for part in parts[-2:])}
    return parts[-4], found["b"], found["n"]


def goodput(name: str) -> float:
    """Mbit/s: falls with the servers, rises with the buffer, and is 200 higher with any QCN."""
    system, buffer, n = setting(name)
    alone = min(950.0, 40.0 * buffer / n)
    return alone if system in {"tcp", "sack", "dctcp"} else min(950.0, alone + 200)


@functools.cache  # frames cannot be changed: all tests share them
def made_up(name: str, seed: int) -> Observation:
    """Make a run; seeds differ by 1 %."""
    _, _, n = setting(name)
    share = 1 + 0.01 * seed
    tables = {
        "flows": flows(name, n, share),
        "links": links(name, n),
        "summary": pl.DataFrame({"simulated_s": [SECONDS]}),
        "rates": rates(n),
        "cnms": samples(),
        "transfers": transfers(n),
        "rounds": rounds(n),
        "timeouts": timeouts(n),
    }
    return Observation(tables, "0" * 16, scenario(SECONDS))


def flows(name: str, n: int, share: float) -> pl.DataFrame:
    """Give n flows of equal goodput, and UDP's where the experiment has it."""
    rows = [("storage", goodput(name) * share / n * 1e6, 3)] * n
    if name.startswith("udp/"):
        rows.append(("background", 390e6, 0))
    return pl.DataFrame(
        {
            "flow": range(len(rows)),
            "group": [row[0] for row in rows],
            "goodput_bit_s": [row[1] for row in rows],
            "delivered_bytes": [int(row[1] * SECONDS / 8) for row in rows],
            "timeouts": [row[2] for row in rows],
            "packets": [1000] * len(rows),
            "drops": [10] * len(rows),
            "send_buffer_drops": [0 if row[0] == "storage" else 3000 for row in rows],
        }
    )


def links(name: str, n: int) -> pl.DataFrame:
    """Give the two possible hot ports: 10 n notifications (twice with II and III), 50 packets."""
    twice = 2 if any(part in {"II", "III", "III-geometric"} for part in name.split("/")) else 1
    hot = "second->hot" if "stages" in name else "switch->receiver"
    return pl.DataFrame(
        {
            "port": [hot, "receiver->switch"],
            "mean_queue_packets": [50.0, None],
            "cnms": [10 * n * twice, 0],
            "packets": [1000, 1000],
            "bytes": [1_490_000, 60_000],
        }
    )


def rates(n: int) -> pl.DataFrame:
    """Halve each flow's rate from 1 s on, and the last flow's to 50 Mbit/s at once."""
    times = [0.0] + [1.0] * (n - 1)
    return pl.DataFrame(
        {
            "time_s": times,
            "flow": [n - 1, *range(n - 1)],
            "current_bit_s": [50e6] + [500e6] * (n - 1),
            "byte_stage": [6] * n,
            "time_stage": [1] * n,
            "memory": [0.5] * n,
        }
    )


def samples() -> pl.DataFrame:
    """Sample a full queue with an interval that is halved three times, then an empty one."""
    return pl.DataFrame(
        {
            "time_s": [0.5, 0.501, 0.503],
            "psi": [50, 0, 0],
            "interval_bytes": [21_500 / 8, 75_000.0, 150_000.0],
        }
    )


def transfers(n: int) -> pl.DataFrame:
    """Answer in half of a round, the last server in the whole."""
    rows = [
        ("storage", "response", flow, k * ROUND_S, (k + (1.0 if flow == n - 1 else 0.5)) * ROUND_S)
        for k in range(int(SECONDS / ROUND_S))
        for flow in range(n)
    ]
    columns = ["group", "kind", "flow", "started_s", "completed_s"]
    return pl.DataFrame(rows, schema=columns, orient="row").with_columns(bytes=pl.lit(262144))


def rounds(n: int) -> pl.DataFrame:
    """Give rounds of 0.1 s, the last one unfinished."""
    count = int(SECONDS / ROUND_S)
    ends: list[float | None] = [(k + 1) * ROUND_S for k in range(count - 1)]
    return pl.DataFrame(
        {
            "round": range(count),
            "started_s": [k * ROUND_S for k in range(count)],
            "completed_s": [*ends, None],
            "bytes": [262144 * n] * count,
        }
    )


def timeouts(n: int) -> pl.DataFrame:
    """Give three timeouts per flow: a lost window, a lost tail, and one for nothing."""
    kinds = ["full-window", "last-packet", "few-duplicates"] * n
    ports = ["switch->receiver", "switch->receiver", ""] * n
    same = {"idle_s": 0.001, "round": 1, "time_s": ROUND_S * 1.5, "waited_s": ROUND_S / 2}
    columns = {name: [value] * (3 * n) for name, value in same.items()}
    return pl.DataFrame({"kind": kinds, "port": ports, **columns})
