"""Made-up runs of dcudp: every table that its plan asks for, from an experiment's name."""

from __future__ import annotations

import functools

import polars as pl

from incastle.reproduction.papers import Observation

PORT = "switch->receiver"
MANY = 20
END_MS = 500
PERIOD_S = 0.25


@functools.cache  # frames cannot be changed: all tests share them
def made_up(name: str, seed: int) -> Observation:
    """DCUDP fills the link at once, DCTCP 2 ms later, TCP half of it after 1 ms; seeds differ."""
    kind = next(part for part in name.split("/") if part in {*_KINDS})
    return Observation(_KINDS[kind](system(name), name, seed), "0" * 16, "name = 'made up'\n")


def system(name: str) -> str:
    """Take the protocol out of an experiment's name; a reading of DCUDP is one."""
    known = ("dctcp-unmarked", "dctcp-one", "dctcp-50", "dctcp", "tcp-ecn", "tcp", "udt")
    return next((one for one in known if one in name.split("/")), "dcudp")


def flows(groups: list[str], packets: int = 1000) -> pl.DataFrame:
    """Give flows of these groups: two timeouts each."""
    return pl.DataFrame(
        {
            "flow": range(len(groups)),
            "group": groups,
            "index": range(len(groups)),
            "packets": [packets] * len(groups),
            "timeouts": [2] * len(groups),
        }
    )


def links(drops: int, queue: float) -> pl.DataFrame:
    """Give the port to the receiver, and one that does not count."""
    return pl.DataFrame(
        {
            "port": [PORT, "receiver->switch"],
            "drops": [drops, 7],
            "mean_queue_packets": [queue, None],
        }
    )


def goodput(begin_ms: int, share: float, milliseconds: int = 1000) -> pl.DataFrame:
    """Give a receiver whose link is busy to this share from a millisecond on."""
    came = [0 if at < begin_ms else round(125_000 * share) for at in range(milliseconds)]
    times = [at / 1000 for at in range(milliseconds)]
    return pl.DataFrame({"time_s": times, "host": "receiver", "ip_bytes": came})


def queue_samples(lengths: list[int], every_s: float = 1e-3) -> pl.DataFrame:
    """Give samples of the port to the receiver."""
    times = [at * every_s for at in range(len(lengths))]
    return pl.DataFrame({"time_s": times, "port": PORT, "packets": lengths})


def _long(system: str, name: str, seed: int) -> dict[str, pl.DataFrame]:
    n = int(name.rpartition("n=")[2])
    begin = {"dctcp": 2, "tcp": 1}.get(system, 0)
    share = (0.5 if system == "tcp" else 0.98) - 0.001 * seed
    lengths = {"tcp": 2000, "tcp-ecn": 60, "dctcp": 10, "udt": 1000}
    stable = lengths.get(system, 20)
    first = 800 if system == "dcudp" else stable
    sampled = [*[first] * 20, *[stable, stable + 2] * 490]
    arrived = pl.DataFrame({"packets_received": [900] * n, "acks_sent": [300] * n})
    return {
        "flows": flows(["cbr"] * n),
        "links": links(300 * n if system == "udt" else n, stable + 1.0),
        "goodput": goodput(begin, share),
        "queue_samples": queue_samples(sampled),
        "udt": arrived,
    }


def _after(system: str, _name: str, seed: int) -> dict[str, pl.DataFrame]:
    """Let the constant sender have half of the link, and all of it from 500 ms on if it is quick.

    There the other ends, but at the quick length. DCTCP's window doubles within a millisecond with
    K = 50, and grows by a tenth with K = 10.
    """
    quick = system not in {"tcp", "dctcp"}
    last = {"dctcp": 22, "dctcp-50": 40}.get(system, 20)
    rows = [
        (at / 100, flow, 1_200_000 if quick and at >= END_MS // 10 else 600_000 + seed)
        for at in range(100)
        for flow in (0, 1)
    ]
    windows = [(at / 1000, 0, 1460 * (last if at > END_MS else 20), 2e-4) for at in range(1000)]
    modes = [(0.0, 0, "udp"), (0.001, 0, "congestion"), (0.501, 0, "udp"), (0.0, 1, "udp")]
    columns = ["time_s", "flow", "cwnd_bytes", "rtt_s"]
    return {
        "flows": flows(["cbr", "ftp"]),
        "links": links(1, 5.0),
        "throughput": pl.DataFrame(rows, schema=["time_s", "flow", "bytes"], orient="row"),
        "windows": pl.DataFrame(windows, schema=columns, orient="row"),
        "dcudp_modes": pl.DataFrame(modes, schema=["time_s", "flow", "mode"], orient="row"),
    }


def _newcomer(system: str, _name: str, seed: int) -> dict[str, pl.DataFrame]:
    came = {"dctcp": 2_000, "dcudp": 12_000}.get(system, 5_000) + seed
    rows = [(0.1 + at / 1000, 9, came) for at in range(50)]
    return {
        "flows": flows([*["cbr"] * 9, "newcomer"]),
        "links": links(1, 5.0),
        "throughput": pl.DataFrame(rows, schema=["time_s", "flow", "bytes"], orient="row"),
    }


def _bursts(system: str, _name: str, seed: int) -> dict[str, pl.DataFrame]:
    """Let DCTCP's first seven have twice as much; nobody delivers between bursts what counts."""
    rows = [
        (burst * PERIOD_S + at * 0.005, flow, came(system, flow) + seed)
        for burst in range(12)
        for at in range(30)
        for flow in range(MANY)
    ]
    return {
        "flows": flows(["burst"] * MANY),
        "links": links(1, 5.0),
        "throughput": pl.DataFrame(rows, schema=["time_s", "flow", "bytes"], orient="row"),
    }


def came(system: str, flow: int) -> int:
    """Give the bytes of a flow in 5 ms."""
    return 60_000 if system == "dctcp" and flow < 7 else 30_000


_KINDS = {
    "long": _long,
    "start": _long,
    "after": _after,
    "newcomer": _newcomer,
    "bursts": _bursts,
}
