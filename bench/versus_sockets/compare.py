"""DCUDP on real sockets through a bottleneck in user space, beside the simulator.

    .venv/bin/python bench/versus_sockets/compare.py [--runs N] [--seeds N] [--out FOLDER]

The simulator reads bottleneck.toml; `router` and `dcudp bench` have the same by their options.
Prints one table; README.md has the method. Needs the rights for namespaces.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import polars as pl
from matplotlib import pyplot as plt

import incastle as ic
from network import RIGHT, Network, UnavailableError, network, priority

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCENARIO = HERE / "bottleneck.toml"
SENDERS = (1, 2, 4)
# The simulator as it is, and with an exit rule that as good as never ends congestion mode;
# real sockets.
SIMULATOR, STAYS, SOCKETS = "simulator", "simulator, K = 64", "sockets"
WORLDS = (SIMULATOR, STAYS, SOCKETS)
WARM_S, MEASURED_S, INTERVAL_S = 3, 8, 0.5
# The options by which the programs have the scenario's network.
ROUTER = ["--rate", "100 Mbit/s", "--delay", "1 ms", "--buffer", "1000 packets"]
MARKS = ["--queue", "threshold", "--mark-above", "14 packets"]
CAPACITY = "100 Mbit/s"
END_LEVEL = 20
MBIT = 1e6
MEASURES = {"goodput_mbit": "goodput, Mbit/s", "queue_mean": "mean queue, packets"}


@dataclass(frozen=True)
class Outcome:
    """One run: all flows together at the bottleneck, after the warm-up."""

    world: str
    senders: int
    goodput_mbit: float
    queue_mean: float
    queue_deviation: float
    marked: float
    retransmissions: int
    late_mean_us: float | None = None
    late_p99_below_us: int | None = None
    late_max_us: float | None = None


def build(package: str, program: str) -> str:
    """Build an optimised program of the workspace, and return its path."""
    command = ["cargo", "build", "--release", "--locked", "--package", package, "--bin", program]
    done = subprocess.run(
        [*command, "--message-format=json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(done.stderr)
    built = map(json.loads, done.stdout.splitlines())
    found = [one["executable"] for one in built if one.get("executable")]
    return str(found[-1])


def simulated(world: str, senders: int, seed: int) -> Outcome:
    """Run the simulator."""
    changes = [("network.senders", str(senders))]
    if world == STAYS:
        changes.append(("transport.exit_window", "64"))
    scenario = ic.load(SCENARIO, overrides=changes)
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
        float(flows["marks"].sum()) / float(flows["packets"].sum()),
        int(flows["retransmissions"].sum()),
    )


def measure(net: Network, dcudp: str, senders: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run the flows; return what the router and each sender saw."""
    level, address = priority(END_LEVEL), f"{RIGHT}:9000"
    serve = [*level, dcudp, "bench", "--serve", "--listen", address, "--insecure"]
    seconds = WARM_S + MEASURED_S + 1
    send = [*level, dcudp, "bench", address, "--insecure", "--capacity", CAPACITY, "--json"]
    send += ["--time", f"{seconds} s", "--interval", f"{INTERVAL_S * 1000:g} ms"]
    with ExitStack() as stack:

        def start(command: list[str]) -> subprocess.Popen[str]:
            quiet = subprocess.DEVNULL
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True)
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        start(net.on_right(serve))
        time.sleep(0.5)
        ends = [start(net.on_left(send)) for _ in range(senders)]
        time.sleep(WARM_S)
        net.measured()
        time.sleep(MEASURED_S)
        seen = net.measured()
        # What is buffered at the end may take long to leave.
        reports = [json.loads(end.communicate(timeout=300)[0]) for end in ends]
    return seen, reports


def real(router: str, dcudp: str, senders: int) -> Outcome:
    """Run real sockets through the router."""
    with network(router, *ROUTER, *MARKS) as net:
        seen, reports = measure(net, dcudp, senders)
    forward = seen["forward"]
    kept = [
        one
        for report in reports
        for one in report["intervals"]
        if WARM_S <= one["start_s"] < WARM_S + MEASURED_S
    ]
    return Outcome(
        SOCKETS,
        senders,
        sum(one["bytes"] for one in kept) * 8 / MEASURED_S / MBIT,
        forward["queue_packets"]["mean"],
        forward["queue_packets"]["deviation"],
        forward["marked"] / forward["arrived"],
        sum(one["retransmissions"] for one in kept),
        forward["lateness"]["mean_us"],
        forward["lateness"]["p99_below_us"],
        forward["lateness"]["max_us"],
    )


def spread(values: list[float]) -> str:
    """Return mean and standard deviation."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):.1f} ± {deviation:.1f}"


def table(outcomes: list[Outcome]) -> str:
    """Return the table of docs/validation.md."""
    lines = [f"| senders | | {' | '.join(WORLDS)} |", "|--:|---|--:|--:|--:|"]
    for senders in SENDERS:
        mine = [one for one in outcomes if one.senders == senders]
        for name, title in MEASURES.items():
            cells = [
                spread([getattr(one, name) for one in mine if one.world == world])
                for world in WORLDS
            ]
            lines.append(f"| {senders} | {title} | {' | '.join(cells)} |")
    late = [one for one in outcomes if one.late_mean_us is not None]
    mean = statistics.fmean(one.late_mean_us or 0.0 for one in late)
    below = max(one.late_p99_below_us or 0 for one in late)
    most = max(one.late_max_us or 0.0 for one in late)
    lines += ["", f"router late: mean {mean:.0f} us, 99 % below {below} us, most {most:.0f} us"]
    return "\n".join(lines)


def draw(outcomes: list[Outcome], file: Path) -> None:
    """Draw each run as a point: goodput and mean queue, by the number of senders."""
    mpl.use("Agg")
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axis, (name, title) in zip(axes, MEASURES.items(), strict=True):
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
    outcomes: list[Outcome] = []
    for senders in SENDERS:
        try:
            outcomes += [real(router, dcudp, senders) for _ in range(options.runs)]
        except UnavailableError as why:
            sys.exit(str(why))
    outcomes += [
        simulated(world, senders, seed)
        for world in (SIMULATOR, STAYS)
        for senders in SENDERS
        for seed in range(1, options.seeds + 1)
    ]
    print(table(outcomes))
    if options.out:
        text = "\n".join(json.dumps(asdict(one)) for one in outcomes)
        options.out.write_text(text + "\n", encoding="utf-8")
    if options.figure:
        draw(outcomes, options.figure)


if __name__ == "__main__":
    main()
