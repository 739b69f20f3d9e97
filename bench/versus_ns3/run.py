"""Runs the same transfers on Incastle and on ns-3, one after the other, and prints both.

    .venv/bin/python bench/versus_ns3/run.py [cluster|star] [--seconds S]

`cluster` is a slice of the cluster benchmark of the paper dctcp, `star` long flows whose queue and
goodput are compared as well. Nothing is asserted; README.md in this folder describes the method.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import tomli_w

import arrivals
import halves
import incastle as ic
from halves import Run

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = halves.HERE
CLUSTER = Path(ic.__file__).parent / "papers" / "dctcp" / "scenarios" / "cluster.toml"
REPEATS = 3
"""Of Incastle, whose runs are short. The median counts."""
SECONDS, MIN_SECONDS, MAX_SECONDS = 1.0, 0.1, 100.0
STARS = [(1, 20, 1.0), (10, 65, 0.2)]
"""Gbit/s, K in packets, and the share of the seconds that is simulated."""
SENDERS = (2, 20)
FLOOR = 2
"""Segments: Incastle's least window after marks, which ns-3 has not."""
BINS = [(0, 10**4), (10**4, 10**5), (10**5, 10**6), (10**6, 10**7), (10**7, 10**15)]
BIN_NAMES = ("below 10 KB", "10 to 100 KB", "100 KB to 1 MB", "1 to 10 MB", "above 10 MB")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "experiment", nargs="?", choices=["cluster", "star"], help="both if left out"
    )
    parser.add_argument(
        "--seconds", type=simulated, default=SECONDS, help="simulated; 1 if left out"
    )
    options = parser.parse_args()
    halves.prepare_ns3()
    print("Ratios: wall, user, packet-hops, user per packet-hop. ns-3 is the wheel's, with logging")
    print("compiled in; a release build takes 1.5 (cluster) to 1.7 (star) times less: README.md.")
    print(f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}")
    if options.experiment != "star":
        cluster(options.seconds)
    if options.experiment != "cluster":
        star(options.seconds)


def simulated(text: str) -> float:
    """Read a number of seconds."""
    seconds = float(text)
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        limits = f"{MIN_SECONDS:g} and {MAX_SECONDS:g}"
        raise argparse.ArgumentTypeError(f"{text} is not between {limits}")
    return seconds


def cluster(seconds: float) -> None:
    """Compare a slice of the cluster benchmark."""
    listed = arrivals.of_cluster(CLUSTER, seconds)
    folder = case("cluster", {"run.duration": f"{seconds:g} s"}, listed)
    listed = arrivals.read(folder / "arrivals.csv")
    ours, theirs, counted, floored = measured(folder)
    print(f"\nCluster benchmark, {seconds:g} s, {len(listed)} transfers\n\n{TIMES}")
    print(times("Incastle", ours, ours.packet_hops))
    print(times("ns-3", theirs, counted.packet_hops))
    print(ratios(ours, theirs, counted.packet_hops))
    runs = {"Incastle": ours, "ns-3": counted, f"ns-3, floor {FLOOR}": floored}
    print(f"\n{'completion, ms':16}{'':>8}" + "".join(f"{name:>26}" for name in runs))
    print(f"{'':16}{'begun':>8}" + COMPLETIONS * len(runs))
    for name, bounds in zip(BIN_NAMES, BINS, strict=True):
        begun = sum(bounds[0] <= one.bytes < bounds[1] for one in listed)
        cells = "".join(completions(listed, run.completed_s, bounds) for run in runs.values())
        print(f"{name:16}{begun:8}{cells}")
    for name, run in runs.items():
        print(f"{name}: {run.marks} marks, {run.drops} drops at the switch")


def star(seconds: float) -> None:
    """Compare speed and physics of long flows."""
    rows = []
    print(f"\nStar\n\n{TIMES}")
    for gbit_s, threshold, share in STARS:
        for senders in SENDERS:
            name = f"{gbit_s} Gbit/s, N = {senders}"
            length = seconds * share
            keys: dict[str, str | int] = {
                "run.duration": f"{length * 1e3:g} ms",
                "measure.warmup": f"{round(length * 500):g} ms",
                "network.senders": senders,
                "network.rate": f"{gbit_s} Gbit/s",
                "switch.queue.marking_threshold": f"{threshold} packets",
            }
            folder = case("star", keys, arrivals.of_star(senders))
            ours, theirs, counted, floored = measured(folder)
            print(times(f"Incastle, {name}", ours, ours.packet_hops))
            print(times(f"ns-3, {name}", theirs, counted.packet_hops))
            print(ratios(ours, theirs, counted.packet_hops), flush=True)
            span = length - round(length * 500) / 1e3
            rows.append(physics(name, threshold, span, (ours, counted, floored)))
    print(f"\n{PHYSICS}", *rows, sep="\n")


def case(name: str, keys: Mapping[str, str | int], listed: list[arrivals.Arrival]) -> Path:
    """Write a scenario with some keys changed, and its list, into a folder."""
    fields = tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))
    for key, value in keys.items():
        *tables, last = key.split(".")
        inner = fields
        for table in tables:
            inner = inner[table]
        inner[last] = value
    folder = HERE / "work" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scenario.toml").write_text(tomli_w.dumps(fields), encoding="utf-8")
    arrivals.write(folder / "arrivals.csv", listed)
    return folder


def measured(folder: Path) -> tuple[Run, Run, Run, Run]:
    """Run Incastle, ns-3 for its time, for what it counts, and the latter with a floor."""
    ours = sorted((halves.incastle(folder) for _ in range(REPEATS)), key=lambda run: run.user_s)
    return (
        ours[REPEATS // 2],
        halves.ns3(folder, measure=False),
        halves.ns3(folder, measure=True),
        halves.ns3(folder, measure=True, min_cwnd=FLOOR),
    )


TIMES = f"{'':34}{'wall':>11}{'user':>11}{'packet-hops':>13}{'hops/s':>11}"
COMPLETIONS = f"{'complete':>10}{'mean':>8}{'99th':>8}"
PHYSICS = (
    f"{'':22}{'K':>4}{'goodput, Gbit/s':>22}{'mean queue, packets':>29}\n"
    f"{'':22}{'':>4}{'Incastle':>12}{'ns-3':>10}{'Incastle':>11}{'ns-3':>8}{'floor 2':>10}"
)


def times(name: str, run: Run, packet_hops: int) -> str:
    """Return a row of the table of times."""
    return (
        f"{name:34}{run.wall_s:9.3f} s{run.user_s:9.3f} s{packet_hops / 1e6:11.3f} M"
        f"{packet_hops / run.user_s / 1e6:9.2f} M"
    )


def ratios(ours: Run, theirs: Run, their_hops: int) -> str:
    """Return the row that compares: of the times, of packet-hops, and of those per user second."""
    hops = their_hops / ours.packet_hops
    user = theirs.user_s / ours.user_s
    return (
        f"{'ratio':34}{theirs.wall_s / ours.wall_s:9.1f}  {user:9.1f}  {hops:11.2f}  "
        f"{user / hops:9.1f}"
    )


def completions(
    listed: list[arrivals.Arrival], completed_s: list[float | None], bounds: tuple[int, int]
) -> str:
    """Return how many transfers of a size are complete, and in which time."""
    spans = sorted(
        end - one.start_s
        for one, end in zip(listed, completed_s, strict=True)
        if end is not None and bounds[0] <= one.bytes < bounds[1]
    )
    if not spans:
        return f"{0:10}{'':16}"
    late = spans[min(len(spans) - 1, int(0.99 * len(spans)))]
    return f"{len(spans):10}{statistics.fmean(spans) * 1e3:8.2f}{late * 1e3:8.2f}"


def physics(name: str, threshold: int, seconds: float, runs: tuple[Run, Run, Run]) -> str:
    """Return a row of the table of goodput and queue."""
    ours, theirs, floored = runs
    goodput = [run.received_bytes * 8 / seconds / 1e9 for run in (ours, theirs)]
    return (
        f"{name:22}{threshold:4}{goodput[0]:12.4f}{goodput[1]:10.4f}"
        f"{ours.mean_queue:11.2f}{theirs.mean_queue:8.2f}{floored.mean_queue:10.2f}"
    )


if __name__ == "__main__":
    main()
