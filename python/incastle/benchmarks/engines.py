"""The simulators that run the benchmarks: Incastle, and ns-2 and ns-3 where they are installed.

Each run is a separate process. Rates are per processor time: on a shared machine it is more exact
than wall time. Those of several threads are per wall time. Incastle's covers the engine's work
with its default probes, from building the network to result tables; ns-2's its whole process, of
which some hundredths of a second are the start of its interpreter; ns-3's `Simulator::Run` alone.
Neither of the two has a probe.

ns-2 has no DCTCP and runs NewReno with ECN over the same links (star.tcl): a comparison of speed,
never of protocols. ns-3 runs the same DCTCP, by the program of bench/versus_ns3.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol

from incastle.benchmarks import process
from incastle.errors import IncastleError
from incastle.runner import cores, run
from incastle.scenario import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from incastle.benchmarks.suite import Benchmark

NS2_SECONDS = 4
NS3_SECONDS = 0.1
NS3_TREE_SECONDS = {"fat-tree-128": 5e-4, "fat-tree-432": 2e-4}
"""Simulated seconds, so that a run takes a few of the processor's. Of fat trees those that ns-3
runs: some hundred thousand packet-hops each, the first round trips of the flows among them."""
ENDLESS_BYTES = 10**14
NS3_PAYLOAD = 1460
START_SPREAD_S = 100e-6
"""Flows begin spread over one idle round trip, as Incastle spreads them."""
NS3_ALL = {
    "receiverRate": "10Gbps",
    "switchPackets": "2666",  # 4 MB of packets of 1500 B
    "hostPackets": "100000",
    "initialWindow": "10",
    "ackEvery": "1",
    "minRto": "200ms",
    "minCwnd": "2",  # segments, as Incastle has it; below that ns-3's flows fall silent
}
NS3_STAR = {"senderRate": "10Gbps", "delay": "25us", "markAbove": "65", "seconds": str(NS3_SECONDS)}


@dataclass(frozen=True)
class Run:
    """Time and memory of one run, and its work.

    Attributes:
        cpu_s, wall_s: time of the processor, all threads together, and of the clock.
        threads: that share one network.
        peak_memory_bytes: of the whole process; 0 if a program does not report it.

    """

    cpu_s: float
    wall_s: float
    simulated_s: float
    packet_hops: int
    data_packets: int
    peak_memory_bytes: int = 0
    threads: int = 1

    @property
    def packet_hops_per_s(self) -> float:
        """Packet-hops per second of processor time; with several threads, of wall time."""
        return self.packet_hops / (self.cpu_s if self.threads == 1 else self.wall_s)


class Engine(Protocol):
    """A simulator that can be measured."""

    @property
    def name(self) -> str:
        """Its name, with what runs on it where that differs."""

    def supports(self, benchmark: Benchmark) -> bool:
        """Return whether the simulator can run this."""

    def run(self, benchmark: Benchmark) -> Run:
        """Run it once."""


class Incastle:
    """Ours."""

    name = "Incastle"
    threads = 1

    def supports(self, _: Benchmark) -> bool:
        """Return true."""
        return True

    def run(self, benchmark: Benchmark) -> Run:
        """Run it once."""
        row = process.measure(process.shipped(benchmark.name), self.threads)
        fields = Run.__dataclass_fields__
        return Run(**{name: row[name] for name in fields})


class TwoThreads(Incastle):
    """Ours with one network in two partitions."""

    name = "Incastle, 2 threads"
    threads = 2

    def supports(self, benchmark: Benchmark) -> bool:
        """Return whether the network is large enough for that."""
        return benchmark.divided


OURS = (Incastle.name, TwoThreads.name)


class Ns2:
    """ns-2, by its program `ns`."""

    name = "ns-2"

    def __init__(self, program: str) -> None:
        self.program = program
        self.version = ""

    def supports(self, benchmark: Benchmark) -> bool:
        """Return whether this is a star."""
        return benchmark.senders > 0

    def run(self, benchmark: Benchmark) -> Run:
        """Run it once."""
        script = resources.files("incastle") / "benchmarks" / "star.tcl"
        command = [self.program, str(script), str(benchmark.senders), str(NS2_SECONDS)]
        output, cpu_s = metered(command)
        words = output.split()
        found = dict(zip(words[::2], words[1::2], strict=True))
        self.version = found["version"]
        return Run(
            cpu_s=cpu_s,
            wall_s=float(found["wall_ms"]) / 1e3,
            simulated_s=float(found["simulated_s"]),
            packet_hops=int(found["packet_hops"]),
            data_packets=int(found["data_packets"]),
        )


@dataclass
class Ns3:
    """ns-3, by the program that bench/versus_ns3 builds on its wheel."""

    program: Path
    name: str = "ns-3, wheel"
    _hops: dict[str, int] = field(default_factory=dict)

    def supports(self, benchmark: Benchmark) -> bool:
        """Return whether this is a star, or a fat tree that does not take minutes."""
        return benchmark.senders > 0 or benchmark.name in NS3_TREE_SECONDS

    def run(self, benchmark: Benchmark) -> Run:
        """Run it once; what it does is counted in another run, because counting takes time."""
        name = benchmark.name
        with TemporaryDirectory(prefix="incastle-ns3-") as folder:
            of = ns3_star if benchmark.senders > 0 else ns3_tree
            command = [str(self.program), *of(benchmark, Path(folder))]
            output, _ = metered(command)
            if name not in self._hops:
                counted, _ = metered([*command, "--measure=1"])
                self._hops[name] = json.loads(counted)["packet_hops"]
        found = json.loads(output)
        hops = self._hops[name]
        return Run(
            cpu_s=found["user_s"],
            wall_s=found["wall_s"],
            simulated_s=NS3_TREE_SECONDS.get(name, NS3_SECONDS),
            packet_hops=hops,
            data_packets=found["received"] // NS3_PAYLOAD,
        )


def ns3_star(benchmark: Benchmark, folder: Path) -> list[str]:
    """Write the list of flows of a star that ns-3 reads; give the options of its program."""
    senders = benchmark.senders
    flows = [
        (START_SPREAD_S * index / senders, f"sender:{index}", "receiver")
        for index in range(senders)
    ]
    return _ns3_options(folder, flows, {"senders": str(senders), **NS3_STAR})


def ns3_tree(benchmark: Benchmark, folder: Path) -> list[str]:
    """Do the same for a fat tree: the flows that Incastle opens, between the same hosts."""
    seconds = NS3_TREE_SECONDS[benchmark.name]
    scenario = load(process.shipped(benchmark.name))
    # All begin within an idle round trip.
    first = run(scenario.with_overrides({"run.duration": f"{seconds * 1e6:.0f} us"})).flows
    flows = list(first.select("started_s", "from", "to").iter_rows())
    options = {
        "k": str(scenario["network.k"]),
        "delay": str(scenario["network.delay"]).replace(" ", ""),
        "markAbove": str(scenario["switch.queue.marking_threshold"]).removesuffix(" packets"),
        "seconds": f"{seconds:g}",
    }
    return _ns3_options(folder, flows, options)


def _ns3_options(
    folder: Path, flows: Iterable[tuple[float, str, str]], options: Mapping[str, str]
) -> list[str]:
    """Write flows without end into a folder; give the options of ns-3's program."""
    arrivals = folder / "arrivals.csv"
    lines = [f"{at:.12f},{source},{sink},{ENDLESS_BYTES}\n" for at, source, sink in sorted(flows)]
    arrivals.write_text("start_s,source,destination,bytes\n" + "".join(lines), encoding="ascii")
    options = {"arrivals": str(arrivals), **NS3_ALL, **options}
    return [f"--{key}={value}" for key, value in options.items()]


def metered(command: list[str]) -> tuple[str, float]:
    """Run a program; give what it printed and its processor time.

    Raises:
        IncastleError: it is not there, or it failed.

    """
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    except OSError as error:
        raise IncastleError(f"{command[0]}: {error.strerror}") from error
    with process:
        output = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise IncastleError(f"{command[0]} left with status {process.returncode}")
    return output, usage.ru_utime + usage.ru_stime


def installed(ns3: Path | None = None) -> list[Engine]:
    """Return Incastle, ns-2 where it is installed, and ns-3 where its program is given.

    Incastle also runs on two threads, where there are two cores.

    Raises:
        IncastleError: there is no such program.

    """
    engines: list[Engine] = [Incastle()]
    if cores() >= TwoThreads.threads:
        engines.append(TwoThreads())
    program = shutil.which("ns")
    if program is not None:
        engines.append(Ns2(program))
    if ns3 is not None:
        if not os.access(ns3, os.X_OK) or ns3.is_dir():
            raise IncastleError(f"--ns3 {ns3}: no such program; make bench builds it")
        engines.append(Ns3(ns3))
    return engines
