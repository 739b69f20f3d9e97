# ruff: noqa: INP001
"""Runs `incastle bench` and, where it is installed, ns-2 on the same star, and prints both.

A comparison of engine speed alone: ns-2 has no DCTCP and runs NewReno with ECN over the same links
(bench/star.tcl). Nothing is asserted; bench/README.md tells the method.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent
INCASTLE = Path(sys.executable).parent / "incastle"
# Senders and simulated seconds of the ns-2 runs. The first is the one that the ratio is taken from.
NS2_RUNS = [(20, 10), (2, 10)]
# Simulated seconds in which the star of 20 delivers one and ten million data packets.
LONG_RUNS = (1.2, 12)
HEADER = (
    f"{'':34}{'simulated':>10}{'wall':>9}{'packet-hops/s':>15}{'data packets/s':>16}{'memory':>9}"
)


@dataclass(frozen=True)
class Row:
    """One measured run."""

    name: str
    simulated_s: float
    wall_s: float
    packet_hops_per_s: float
    data_packets_per_s: float
    peak_memory_bytes: int

    def __str__(self) -> str:
        """Return the row of the table, in the units of the header."""
        return (
            f"{self.name:34}{self.simulated_s:8.2f} s{self.wall_s:7.2f} s"
            f"{self.packet_hops_per_s / 1e6:13.1f} M{self.data_packets_per_s / 1e6:14.2f} M"
            f"{self.peak_memory_bytes / 1e6:6.0f} MB"
        )


def incastle() -> list[Row]:
    """Run the benchmarks of the command line."""
    done = subprocess.run([INCASTLE, "bench", "--json"], stdout=subprocess.PIPE, check=True)
    return [row(f"incastle, {found['scenario']}", found) for found in json.loads(done.stdout)]


def row(name: str, found: dict[str, Any]) -> Row:
    """Return one object of `incastle bench --json` as a row."""
    return Row(
        name,
        found["simulated_s"],
        found["wall_s"],
        found["packet_hops_per_s"],
        found["data_packets_per_s"],
        found["peak_memory_bytes"],
    )


def ns2(program: str, senders: int, seconds: int) -> Row:
    """Run the star on ns-2; its peak memory comes from the operating system."""
    command = [program, str(HERE / "star.tcl"), str(senders), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        words = process.stdout.read().split() if process.stdout else []
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"ns-2 left with status {process.returncode}")
    found = {key: float(value) for key, value in zip(words[::2], words[1::2], strict=True)}
    wall_s = found["wall_ms"] / 1e3
    return Row(
        f"ns-2, NewReno with ECN, {senders} senders",
        found["simulated_s"],
        wall_s,
        found["packet_hops"] / wall_s,
        found["data_packets"] / wall_s,
        usage.ru_maxrss * 1024,
    )


def growth() -> str:
    """Tell how much memory the star of 20 takes more for ten million data packets than for one."""
    text = files("incastle.benchmarks").joinpath("star-20.toml").read_text()
    peaks = []
    with TemporaryDirectory() as folder:
        for seconds in LONG_RUNS:
            scenario = Path(folder, f"star-20-{seconds}.toml")
            scenario.write_text(re.sub(r'duration = ".*?"', f'duration = "{seconds} s"', text))
            command: list[str | Path] = [INCASTLE, "bench", "--json", "--scenario", scenario]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            peaks.append(json.loads(done.stdout)[0]["peak_memory_bytes"])
    grown = (peaks[1] - peaks[0]) / 1e6
    return f"From 1 to 10 million data packets the star of 20 grows by {grown:.2f} MB."


def main() -> None:
    """Measure and print."""
    print(f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}\n\n{HEADER}")
    ours = incastle()
    print(*ours, sep="\n", flush=True)
    print(growth(), flush=True)
    program = shutil.which("ns")
    if program is None:
        print("\nns-2 is not installed (Debian: apt-get install ns2), so there is no comparison.")
        return
    theirs = []
    for senders, seconds in NS2_RUNS:
        theirs.append(ns2(program, senders, seconds))
        print(theirs[-1], flush=True)
    ratio = ours[0].packet_hops_per_s / theirs[0].packet_hops_per_s
    print(f"\nOn the star of 20 Incastle does {ratio:.1f} times the packet-hops/s of ns-2.")


if __name__ == "__main__":
    main()
