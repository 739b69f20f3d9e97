"""DCUDP on real sockets through a bottleneck in user space, compared with the simulator.

    .venv/bin/python bench/versus_sockets/compare.py [--runs N] [--seeds N]
        [--out FILE] [--figure FILE]

The simulator reads bottleneck.toml; `router` and `dcudp bench` have the same by their options.
Prints one table; README.md has the method. Needs the rights for namespaces.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import polars as pl
from matplotlib import pyplot as plt

import incastle as ic
from network import RIGHT, Network, UnavailableError, network, priority

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCENARIO = HERE / "bottleneck.toml"
SENDERS = (1, 2, 4)
# The simulator with exact ends, the simulator with the times that this machine takes, real sockets.
EXACT, TIMED, SOCKETS = "simulator, exact", "simulator, this machine's times", "sockets"
WORLDS = (EXACT, TIMED, SOCKETS)
# Long enough for several of the teeth that two and more flows draw: each lasts five to ten seconds.
WARM_S, MEASURED_S, INTERVAL_S = 3, 30, 0.1
# Senders start at random instants within this time, in both worlds: programs start much faster.
SPREAD_S = 0.5
# The options by which the programs have the scenario's network.
ROUTER = ["--rate", "100 Mbit/s", "--delay", "1 ms", "--buffer", "1000 packets"]
MARKS = ["--queue", "threshold", "--marking-threshold", "14 packets"]
CAPACITY = "100 Mbit/s"
ADDRESS = f"{RIGHT}:9000"
END_LEVEL = 20
# The time of an ACK and its ACK2 in the scenario, without the delays.
ACK_AND_ACK2_US = 11
MBIT = 1e6
MEASURES = {
    "goodput_mbit": "goodput, Mbit/s",
    "queue_mean": "mean queue, packets",
    "congested": "time in congestion mode, %",
}


@dataclass(frozen=True)
class Outcome:
    """One run: all flows together at the bottleneck, after the warm-up."""

    world: str
    senders: int
    goodput_mbit: float
    queue_mean: float
    queue_deviation: float
    congested: float
    marked: float
    retransmissions: int
    late_mean_us: float | None = None
    late_p99_us: float | None = None
    late_max_us: float | None = None


@dataclass(frozen=True)
class Times:
    """The time of an idle round trip on this machine, without the delays of the network."""

    # The round trip from ACK to ACK2, and by how much round trips exceed the minimum.
    round_trip_us: float
    jitter_us: float

    def changes(self) -> list[tuple[str, str]]:
        """Return what gives the simulator's hosts and links the same."""
        # One packet in each direction, delayed by U(0, jitter): round trips exceed their minimum by
        # the jitter on average.
        one_way = (self.round_trip_us - self.jitter_us - ACK_AND_ACK2_US) / 2
        return [
            ("host.jitter_applies_to", "all"),
            ("host.jitter", f"{self.jitter_us:.0f} us"),
            ("network.links.receivers.delay", f"{one_way - 1:.0f} us"),
        ]


def build(package: str, program: str) -> str:
    """Build an optimized program of the workspace, and return its path."""
    command = ["cargo", "build", "--release", "--locked", "--package", package, "--bin", program]
    done = subprocess.run(
        [*command, "--message-format=json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(done.stderr)
    built = map(json.loads, done.stdout.splitlines())
    found = [one["executable"] for one in built if one.get("executable")]
    return str(found[-1])


def simulated(world: str, senders: int, seed: int, changes: list[tuple[str, str]]) -> Outcome:
    """Run the simulator."""
    case = [
        ("network.senders", str(senders)),
        ("run.duration", f"{WARM_S + MEASURED_S} s"),
        ("flows.long.start_spread", f"{SPREAD_S} s"),
    ]
    scenario = ic.load(SCENARIO, overrides=[*case, *changes])
    result = ic.run(scenario, seed=seed)
    late = pl.col("time_s") >= WARM_S
    queue = result.queue_samples.filter(late)["packets"].cast(pl.Float64)
    payload = float(result.throughput.filter(late)["bytes"].sum())
    flows = result.flows
    return Outcome(
        world,
        senders,
        payload * 8 / MEASURED_S / MBIT,
        float(statistics.fmean(queue)),
        float(statistics.pstdev(queue)),
        100 * congested_share(result.table("dcudp_modes"), senders),
        float(flows["marks"].sum()) / float(flows["packets"].sum()),
        int(flows["retransmissions"].sum()),
    )


def congested_share(modes: pl.DataFrame, senders: int) -> float:
    """Return the part of the measured time that all flows together were in congestion mode."""
    total = 0.0
    for _, changes in modes.sort("time_s").group_by("flow"):
        at = [*changes["time_s"].clip(WARM_S), float(WARM_S + MEASURED_S)]
        lasting = zip(changes["mode"], at, at[1:], strict=False)
        total += sum(end - begin for mode, begin, end in lasting if mode == "congestion")
    return total / senders / MEASURED_S


@contextmanager
def served(net: Network, dcudp: str) -> Iterator[ExitStack]:
    """Run a server on the right; what is started into the stack ends with it."""
    serve = [*priority(END_LEVEL), dcudp, "bench", "--serve", "--listen", ADDRESS, "--insecure"]
    with ExitStack() as stack:
        start(stack, net.on_right(serve))
        time.sleep(0.5)
        yield stack


def start(stack: ExitStack, command: list[str]) -> subprocess.Popen[str]:
    """Start a program that is ended with the stack."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    stack.enter_context(process)
    stack.callback(process.kill)
    return process


def report_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for a program's end, and return the JSON that it wrote."""
    output, errors = process.communicate(timeout=300)
    if process.returncode != 0:
        sys.exit(f"{process.args!r} failed: {errors}")
    found: dict[str, Any] = json.loads(output)
    return found


def client(dcudp: str, command: str, *options: str) -> list[str]:
    """Return a command of the program `dcudp` as it is run on the left."""
    return [*priority(END_LEVEL), dcudp, command, ADDRESS, "--insecure", "--json", *options]


def times(router: str, dcudp: str) -> Times:
    """Measure idle round trips."""
    ping = client(dcudp, "ping", "--count", "1000", "--interval", "2 ms")
    # ACKs and ACK2s pass no application, unlike pings: a slow flow measures their times.
    quiet = client(dcudp, "bench", "--rate", "1 Mbit/s", "--time", "5 s", "--interval", "50 ms")
    with network(router, *ROUTER, *MARKS) as net, served(net, dcudp) as stack:
        pinged = report_of(start(stack, net.on_left(ping)))
        idle = report_of(start(stack, net.on_left(quiet)))
    round_trips = [one["rtt_us"] for one in idle["intervals"][10:]]
    return Times(statistics.median(round_trips), pinged["p50_us"] - pinged["min_us"])


@dataclass(frozen=True)
class Flow:
    """The intervals of one sender, and its start."""

    started_s: float
    intervals: list[dict[str, Any]]

    def measured(self) -> list[dict[str, Any]]:
        """Return the intervals that were measured."""
        begin = WARM_S - self.started_s
        inside = (begin <= one["start_s"] < begin + MEASURED_S for one in self.intervals)
        return [one for one, kept in zip(self.intervals, inside, strict=True) if kept]


def measure(net: Network, dcudp: str, starts: list[float]) -> tuple[dict[str, Any], list[Flow]]:
    """Run the flows; return what the router and each sender saw."""
    seconds, milliseconds = WARM_S + MEASURED_S + 1, f"{INTERVAL_S * 1000:g} ms"
    options = ["--capacity", CAPACITY, "--time", f"{seconds} s", "--interval", milliseconds]
    with served(net, dcudp) as stack:
        begin, ends = time.monotonic(), []
        for at in starts:
            time.sleep(max(0.0, begin + at - time.monotonic()))
            ends.append(start(stack, net.on_left(client(dcudp, "bench", *options))))
        time.sleep(begin + WARM_S - time.monotonic())
        net.measured()
        time.sleep(MEASURED_S)
        seen = net.measured()
        # Data buffered at the end may take long to leave.
        reports = [report_of(end) for end in ends]
    both = zip(starts, reports, strict=True)
    return seen, [Flow(at, report["intervals"]) for at, report in both]


def real(router: str, dcudp: str, senders: int, run: int) -> Outcome:
    """Run real sockets through the router."""
    draws = random.Random(run)  # noqa: S311
    starts = sorted(draws.uniform(0, SPREAD_S) for _ in range(senders))
    with network(router, *ROUTER, *MARKS) as net:
        seen, flows = measure(net, dcudp, starts)
    forward = seen["forward"]
    kept = [one for flow in flows for one in flow.measured()]
    return Outcome(
        SOCKETS,
        senders,
        sum(one["bytes"] for one in kept) * 8 / MEASURED_S / MBIT,
        forward["queue_packets"]["mean"],
        forward["queue_packets"]["deviation"],
        100 * statistics.fmean(one["mode"] == "congestion" for one in kept),
        forward["marked"] / forward["arrived"],
        sum(one["retransmissions"] for one in kept),
        forward["lateness"]["mean_us"],
        forward["lateness"]["p99_us"],
        forward["lateness"]["max_us"],
    )


def middle(values: list[float]) -> str:
    """Return the median and the quartiles."""
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{median:.1f} ({low:.1f} to {high:.1f})"


def row(outcomes: list[Outcome], senders: int, name: str) -> str:
    """Return one line of the table; at its end, how the medians of the last two worlds differ."""
    values = {
        world: [
            float(getattr(one, name))
            for one in outcomes
            if (one.world, one.senders) == (world, senders)
        ]
        for world in WORLDS
    }
    simulated, found = (statistics.median(values[world]) for world in (TIMED, SOCKETS))
    cells = [middle(values[world]) for world in WORLDS]
    differ = "" if name == "congested" else f"{100 * (found / simulated - 1):+.1f} %"
    return f"| {senders} | {MEASURES[name]} | {' | '.join(cells)} | {differ} |"


def table(outcomes: list[Outcome]) -> str:
    """Return the table of docs/validation.md."""
    lines = [f"| senders | | {' | '.join(WORLDS)} | differ by |", "|--:|---|--:|--:|--:|--:|"]
    lines += [row(outcomes, senders, name) for senders in SENDERS for name in MEASURES]
    late = [one for one in outcomes if one.late_mean_us is not None]
    mean = statistics.fmean(one.late_mean_us or 0.0 for one in late)
    below = max(one.late_p99_us or 0.0 for one in late)
    most = max(one.late_max_us or 0.0 for one in late)
    lines += ["", f"router late: mean {mean:.0f} us, 99 % below {below:.0f} us, most {most:.0f} us"]
    return "\n".join(lines)


def draw(outcomes: list[Outcome], file: Path) -> None:
    """Draw each run as a point: goodput and mean queue, by the number of senders."""
    mpl.use("Agg")
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axis, (name, title) in zip(axes, MEASURES.items(), strict=False):
        for index, (world, marker) in enumerate(zip(WORLDS, "o^x", strict=True)):
            mine = [one for one in outcomes if one.world == world]
            places = [SENDERS.index(one.senders) + 0.15 * (index - 1) for one in mine]
            values = [getattr(one, name) for one in mine]
            axis.plot(places, values, marker, alpha=0.6, label=world)
        axis.set_xticks(range(len(SENDERS)), [str(senders) for senders in SENDERS])
        axis.set_xlabel("senders")
        axis.set_title(title)
    axes[1].set_yscale("symlog", linthresh=1)
    axes[1].set_ylim(bottom=0)
    axes[1].axhline(15, color="grey", linewidth=0.8, label="th_max")
    axes[1].legend()
    figure.savefig(file, dpi=110, metadata={"Software": None})


def main() -> None:
    """Run both, print the table, keep every outcome."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5, help="runs on sockets of each case")
    parser.add_argument("--seeds", type=int, default=20, help="runs of the simulator of each case")
    parser.add_argument("--out", type=Path, help="a file for every outcome, JSON")
    parser.add_argument("--figure", type=Path, help="a file for the figure, PNG")
    options = parser.parse_args()
    router, dcudp = build("incastle-testbed", "router"), build("incastle-dcudp", "dcudp")
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    try:
        took = times(router, dcudp)
        # One case after the other, so that a busy minute of the machine does not meet one alone.
        outcomes = [
            real(router, dcudp, senders, run) for run in range(options.runs) for senders in SENDERS
        ]
    except UnavailableError as why:
        sys.exit(str(why))
    print(f"idle round trip: {took.round_trip_us:.0f} us, jitter {took.jitter_us:.0f} us")
    outcomes += [
        simulated(world, senders, seed, changes)
        for world, changes in ((EXACT, []), (TIMED, took.changes()))
        for senders in SENDERS
        for seed in range(1, options.seeds + 1)
    ]
    print(table(outcomes))
    print(f"load of the machine after: {os.getloadavg()[0]:.1f}")
    if options.out:
        text = "\n".join(json.dumps(asdict(one)) for one in outcomes)
        options.out.write_text(text + "\n", encoding="utf-8")
    if options.figure:
        draw(outcomes, options.figure)


if __name__ == "__main__":
    main()
