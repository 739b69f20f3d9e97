"""Both halves of the comparison: one scenario, run by Incastle and by ns-3.

A scenario is a folder with scenario.toml and arrivals.csv. The input of ns-3 is read from the same
file, so that no parameter is written twice. Either half gives a `Run`.
"""

from __future__ import annotations

import csv
import json
import re
import resource
import subprocess
import sys
import sysconfig
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import incastle as ic

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
PROGRAM = HERE / "work" / "replay"
MODULES = ("core", "network", "internet", "traffic-control", "point-to-point")
RECEIVER_PORT = "switch->receiver"
UNITS = {"B": 1, "KB": 1000, "MB": 10**6, "KiB": 1 << 10, "MiB": 1 << 20}


@dataclass(frozen=True)
class Run:
    """The measurements of one simulator.

    Attributes:
        wall_s, user_s: wall-clock and CPU time. Incastle: from building the network to result
            tables. ns-3: inside Simulator::Run alone.
        packet_hops: packets of any kind that a link delivered; 0 where ns-3 did not count them.
        received_bytes: application bytes since the measurement began. Incastle has them only where
            the scenario records goodput.
        mean_queue: mean queue length at the receiver's port during the measurement, in packets.
        marks, drops: of all ports of the switch.
        completed_s: of each transfer in the order of the list; None where it was not complete.

    """

    wall_s: float
    user_s: float
    packet_hops: int
    received_bytes: int
    mean_queue: float
    marks: int
    drops: int
    completed_s: list[float | None]


def incastle(folder: Path) -> Run:
    """Run a scenario on Incastle, in a separate process."""
    command = [sys.executable, str(Path(__file__)), str(folder)]
    return Run(**json.loads(must(command, "the half of Incastle")))


def incastle_here(folder: Path) -> Run:
    """Run a scenario on Incastle, in this process."""
    scenario = ic.load(folder / "scenario.toml")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    result = ic.run(scenario)
    user_s = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    port = result.links.filter(pl.col("port") == RECEIVER_PORT)
    switch = result.links.filter(pl.col("port").str.starts_with("switch->"))
    received = 0
    if "goodput" in result.tables:
        begin = fields_of(folder)["measure"].get("warmup", "0 s")
        late = pl.col("time_s") >= seconds_of(begin) - 1e-9
        received = int(result.goodput.filter(late & (pl.col("host") == "receiver"))["bytes"].sum())
    return Run(
        wall_s=result.wall_s,
        user_s=user_s,
        packet_hops=int(result.totals["packet_hops"]),
        received_bytes=received,
        mean_queue=port["mean_queue_packets"].item(),
        marks=int(switch["marks"].sum()),
        drops=int(switch["drops"].sum()),
        completed_s=result.transfers.sort("index")["completed_s"].to_list(),
    )


def prepare_ns3() -> None:
    """Install the wheel and compile the program, unless that is done already."""
    lock = HERE / "requirements.lock"
    python = VENV / "bin" / "python"
    stamp = VENV / ".installed"
    if not stamp.exists() or stamp.stat().st_mtime < lock.stat().st_mtime:
        print("installing ns-3 into", VENV, flush=True)
        must([sys.executable, "-m", "venv", str(VENV)], "making a virtual environment")
        options = ["--quiet", "--no-deps", "--require-hashes", "-r", str(lock)]
        must([str(python), "-m", "pip", "install", *options], "installing ns-3's wheel")
        stamp.touch()
    source = HERE / "replay.cc"
    newest = max(source.stat().st_mtime, stamp.stat().st_mtime)
    if not PROGRAM.exists() or PROGRAM.stat().st_mtime < newest:
        print("compiling", source, flush=True)
        PROGRAM.parent.mkdir(exist_ok=True)
        must(compilation(source), "compiling replay.cc (GCC 11 or newer is needed)")


def must(command: list[str], what: str) -> str:
    """Run a command and return what it printed; exit with an error that names what failed."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    except FileNotFoundError as error:
        sys.exit(f"{what} failed: {error.filename} is not installed")
    if done.returncode != 0:
        sys.exit(f"{what} failed with status {done.returncode}")
    return done.stdout


def compilation(source: Path) -> list[str]:
    """Return the compiler's command; the wheel's pkg-config files name no folders that exist."""
    scheme = {"base": str(VENV), "platbase": str(VENV)}
    wheel = Path(sysconfig.get_path("platlib", "venv", scheme)) / "ns3"
    version = next((wheel / "lib64").glob("libns3*-core.so")).name.removesuffix("-core.so")[3:]
    return [
        *("c++", "-std=c++23", "-O2", "-Wall", "-Wextra"),
        *("-isystem", str(wheel / "include"), str(source), "-o", str(PROGRAM)),
        *(f"-L{wheel / 'lib64'}", f"-Wl,-rpath,{wheel / 'lib64'}"),
        # Libraries of the wheel want others that it does not have; none of those is called.
        "-Wl,--unresolved-symbols=ignore-in-shared-libs",
        *("-Wl,--no-as-needed", *(f"-l{version}-{module}" for module in MODULES)),
    ]


def ns3(folder: Path, *, measure: bool, min_cwnd: int = 0) -> Run:
    """Run a scenario on ns-3; with `measure` it counts, which costs time."""
    completions = folder / "completions.csv"
    options = ns3_options(fields_of(folder)) | {
        "arrivals": str(folder / "arrivals.csv"),
        "completions": str(completions),
        "measure": str(int(measure)),
        "minCwnd": str(min_cwnd),
    }
    command = [str(PROGRAM), *(f"--{key}={value}" for key, value in options.items())]
    found = json.loads(must(command, "the half of ns-3"))
    with completions.open(encoding="ascii") as file:
        instants = [row["completed_s"] for row in csv.DictReader(file)]
    return Run(
        wall_s=found["wall_s"],
        user_s=found["user_s"],
        packet_hops=found["packet_hops"],
        received_bytes=found["received"],
        mean_queue=found["mean_queue"],
        marks=found["marks"],
        drops=found["drops"],
        completed_s=[float(instant) if instant else None for instant in instants],
    )


def ns3_options(fields: dict[str, Any]) -> dict[str, str]:
    """Translate a scenario into the options of replay.cc."""
    network, transport = fields["network"], fields["transport"]
    receivers = network.get("links", {}).get("receivers", {})
    return {
        "senders": str(network["senders"]),
        "senderRate": rate_of(network["rate"]),
        "receiverRate": rate_of(receivers.get("rate", network["rate"])),
        "delay": time_of(network["delay"]),
        "markAbove": str(packets_of(fields["switch"]["queue"]["marking_threshold"])),
        "switchPackets": str(packets_of(fields["switch"]["buffer"])),
        "hostPackets": str(packets_of(fields["host"]["queue"])),
        "mss": str(bytes_of(transport["mss"])),
        "initialWindow": str(packets_of(transport["initial_window"])),
        "receiveWindow": str(bytes_of(transport["receive_window"])),
        "ackEvery": str(transport["delayed_ack_count"]),
        "ackDelay": time_of(transport["delayed_ack_timeout"]),
        "minRto": time_of(transport["min_rto"]),
        "rtoTick": time_of(transport["rto_granularity"]),
        "g": str(transport["g"]),
        "initialAlpha": str(transport["initial_alpha"]),
        "from": str(seconds_of(fields["measure"].get("warmup", "0 s"))),
        "seconds": str(seconds_of(fields["run"]["duration"])),
    }


def fields_of(folder: Path) -> dict[str, Any]:
    """Read the scenario of a folder as nested tables."""
    return tomllib.loads((folder / "scenario.toml").read_text(encoding="utf-8"))


def rate_of(text: str) -> str:
    """Write a rate as ns-3 reads it."""
    return re.sub(r"^([\d.]+) ([KMG])bit/s$", r"\1\2bps", text)


def time_of(text: str) -> str:
    """Write a time as ns-3 reads it."""
    return text.replace(" ", "")


def seconds_of(text: str) -> float:
    """Return a time in seconds."""
    number, unit = text.split()
    return float(number) * {"s": 1.0, "ms": 1e-3, "us": 1e-6}[unit]


def bytes_of(text: str) -> int:
    """Return a size in bytes."""
    number, unit = text.split()
    return int(number) * UNITS[unit]


def packets_of(text: str) -> int:
    """Return a number of packets."""
    number, unit = text.split()
    if unit != "packets":
        raise ValueError(f"{text}: ns-3 takes packets")
    return int(number)


if __name__ == "__main__":
    print(json.dumps(vars(incastle_here(Path(sys.argv[1])))))
