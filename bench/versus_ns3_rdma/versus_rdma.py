"""Runs the same RDMA cases on Incastle and on HPCC's ns-3, one after the other, and prints both.

    .venv/bin/python bench/versus_ns3_rdma/versus_rdma.py --source DIR [star|fabric]
        [--star-mb N] [--fabric-us T]

DIR is the folder `simulation` of kwzhao/High-Precision-Congestion-Control, branch m3. Nothing is
asserted; README.md in this folder describes the method.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import cases
import simulator

if TYPE_CHECKING:
    from cases import Case

HERE = Path(__file__).resolve().parent
WORK = HERE / "out"
REPEATS = 3
"""Of Incastle, whose runs are short. The median counts."""
CONTROLS = ("dcqcn", "hpcc")


@dataclass(frozen=True)
class Run:
    """Processor and wall time in seconds, packet-hops where they are counted, and FCTs by flow."""

    user_s: float
    wall_s: float
    hops: int | None
    fct_ns: dict[int, int]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="?", choices=["star", "fabric"], help="both if left out")
    parser.add_argument("--source", type=Path, help="the simulator's folder `simulation`")
    parser.add_argument(
        "--star-mb", type=float, default=10.0, help="of each sender in the star, in MB; 10"
    )
    parser.add_argument(
        "--fabric-us", type=float, default=200.0, help="arrivals in the fabric, in us; 200"
    )
    options = parser.parse_args()
    program = _program(options.source)
    chosen: list[Case] = []
    if options.case != "fabric":
        chosen.append(cases.star(round(options.star_mb * 1e6)))
    if options.case != "star":
        chosen.append(cases.fabric(options.fabric_us * 1e-6))
    print(f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}")
    columns = ("user", "wall", "packet-hops", "M hops/s", "FCT p50", "p99")
    widths = (10, 10, 14, 10, 12, 12)
    titles = (f"{name:>{width}}" for name, width in zip(columns, widths, strict=True))
    print(f"\n{'':24}{''.join(titles)}")
    for case in chosen:
        for control in CONTROLS:
            _compare(case, control, program)


def _program(source: Path | None) -> Path | None:
    """Return the simulator; None, with a word, where it cannot be built."""
    if source is None:
        print("without HPCC's ns-3: no --source", file=sys.stderr)
        return None
    try:
        return simulator.built(source, WORK / "simulator")
    except simulator.UnavailableError as reason:
        print(f"without HPCC's ns-3: {reason}", file=sys.stderr)
        return None


def _compare(case: Case, control: str, program: Path | None) -> None:
    folder = WORK / f"{case.name}-{control}"
    config = case.write(folder, control)
    name = f"{case.name}, {control}"
    ours = incastle(config)
    print(_row(f"Incastle, {name}", ours), flush=True)
    if program is None:
        return
    theirs = ns3(program, folder)
    print(_row(f"ns-3, {name}", theirs))
    same = sum(ours.fct_ns.get(flow) == fct for flow, fct in theirs.fct_ns.items())
    print(
        f"{'':24}{theirs.user_s / ours.user_s:9.0f}x{theirs.wall_s / ours.wall_s:9.0f}x"
        f"   {same} of {len(theirs.fct_ns)} FCTs equal to the nanosecond",
        flush=True,
    )


def _row(name: str, run: Run) -> str:
    fct = sorted(run.fct_ns.values())
    hops = "" if run.hops is None else f"{run.hops:,}"
    rate = "" if run.hops is None else f"{run.hops / run.wall_s / 1e6:.2f}"
    p50, p99 = (fct[min(len(fct) - 1, int(len(fct) * share))] / 1e3 for share in (0.5, 0.99))
    times = f"{run.user_s:9.3f}s{run.wall_s:9.3f}s"
    return f"{name:24}{times}{hops:>14}{rate:>10}{p50:9.1f} us{p99:9.1f} us"


def incastle(config: Path) -> Run:
    """Import the case, run it in this process, and give the median of the times."""
    import incastle as ic  # noqa: PLC0415  slow to import

    out = config.parent / "imported"
    command = [
        sys.executable,
        "-m",
        "incastle",
        "import",
        str(config),
        "--out",
        str(out),
        "--force",
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    scenario = ic.load(out / "scenario.toml")
    users, walls = [], []
    for _ in range(REPEATS):
        user, wall = resource.getrusage(resource.RUSAGE_SELF).ru_utime, time.perf_counter()
        outcome = ic.run(scenario)
        walls.append(time.perf_counter() - wall)
        users.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - user)
    done = outcome.flows.drop_nulls("completed_s").select("index", "started_s", "completed_s")
    fct = {row[0]: round((row[2] - row[1]) * 1e9) for row in done.iter_rows()}
    hops = int(outcome.totals["packet_hops"])
    return Run(statistics.median(users), statistics.median(walls), hops, fct)


def ns3(program: Path, folder: Path) -> Run:
    """Run the simulator once in the folder of its case; building its network is in the times."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    begin = time.perf_counter()
    command = [str(program), "config.txt"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - begin
    user = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    lines = (folder / "fct.out").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines]
    return Run(user, wall, None, {int(row[0]): int(row[7]) for row in rows})


if __name__ == "__main__":
    main()
