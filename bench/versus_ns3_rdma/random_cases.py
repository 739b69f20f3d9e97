"""Random cases that HPCC's ns-3 simulates, for `incastle validate`.

    .venv/bin/python bench/versus_ns3_rdma/random_cases.py --source DIR --out CASES
        [--count N] [--seed S]

DIR is the folder `simulation` of kwzhao/High-Precision-Congestion-Control, branch m3. Each case is
a folder of CASES in the layout of paths, drawn from its seed: a star, a chain or a tree of switches
with one path between hosts, up to 40 flows, and a configuration in which any key may be another.

Leaves out what the two cannot share: paths of equal cost (their hash differs), losses of links
(another random stream), and links that fail.
"""

from __future__ import annotations

import argparse
import csv
import random
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import cases
import simulator

if TYPE_CHECKING:
    from collections.abc import Iterable

WORK = Path(__file__).resolve().parent / "out"
START_NS = 1_000_000_000
LIMIT_S = 90
"""Of one run there. Some lose and send for ever."""
CONTROLS = {"dcqcn": "1", "hpcc": "3", "timely": "7", "dctcp": "8"}
ANY: dict[str, tuple[str, ...]] = {
    "BUFFER_SIZE": ("16384", "2000", "1000", "500", "300"),
    "ENABLE_PFC": ("1", "1", "1", "0"),
    "PACKET_PAYLOAD_SIZE": ("1000", "1000", "1000", "1000", "500", "1400", "4000"),
    "BASE_RTT": ("4000", "8000", "12000", "20000"),
    "FIXED_WIN": ("3000", "20000", "60000", "200000"),
    "VAR_WIN": ("1", "1", "0"),
    "ACK_HIGH_PRIO": ("0", "1"),
    "RATE_BOUND": ("1", "1", "1", "0"),
    "L2_BACK_TO_ZERO": ("0", "0", "0", "1"),
    "L2_ACK_INTERVAL": ("1", "1", "4"),
    "MIN_RATE": ("100Mb/s", "100Mb/s", "1000Mb/s"),
}
"""The values of each key, whatever the control."""
OWN: dict[str, dict[str, tuple[str, ...]]] = {
    "dcqcn": {
        "RP_TIMER": ("300", "55"),
        "ALPHA_RESUME_INTERVAL": ("1", "50"),
        "RATE_DECREASE_INTERVAL": ("4", "50"),
        "CLAMP_TARGET_RATE": ("0", "1"),
        "HAS_WIN": ("0", "1"),
    },
    "hpcc": {
        "U_TARGET": ("0.95", "0.9", "0.75"),
        "MI_THRESH": ("0", "1", "5"),
        "FAST_REACT": ("1", "1", "0"),
        "MULTI_RATE": ("0", "0", "1"),
        "SAMPLE_FEEDBACK": ("0", "0", "1"),
        "RATE_AI": ("50Mb/s", "300Mb/s", "1000Mb/s"),
        "INT_MULTI": ("1", "4"),
    },
    "timely": {
        "TIMELY_T_LOW": ("5000", "10000", "20000"),
        "TIMELY_T_HIGH": ("50000", "100000"),
        "TIMELY_BETA": ("0.8", "0.3"),
        "RATE_AI": ("25Mb/s", "100Mb/s"),
        "HAS_WIN": ("0", "1"),
    },
    "dctcp": {
        "DCTCP_RATE_AI": ("100Mb/s", "615Mb/s", "4000Mb/s"),
        "EWMA_GAIN": ("0.00390625", "0.0625"),
    },
}
PRIORITIES = ((3,), (3,), (3, 4), (1, 2, 3, 4, 5, 6, 7), (0, 3))


@dataclass(frozen=True)
class Link:
    """Two nodes, the rate in Gbit/s, and the delay in nanoseconds."""

    ends: tuple[int, int]
    rate: int
    delay_ns: int


@dataclass(frozen=True)
class Flow:
    """One flow; its start counts from `START_NS`."""

    source: int
    destination: int
    priority: int
    size: int
    start_ns: int


@dataclass(frozen=True)
class Drawn:
    """A case: hosts are numbered before switches."""

    name: str
    config: dict[str, str]
    hosts: int
    switches: int
    links: list[Link]
    flows: list[Flow]


def draw(seed: int) -> Drawn:
    """Draw the case of a seed."""
    rng = random.Random(seed)  # noqa: S311  no secret
    control = rng.choice(list(CONTROLS))
    hosts, switches, links = _topology(rng)
    flows = _flows(rng, hosts)
    config = _config(rng, control, sorted({link.rate for link in links}))
    return Drawn(f"{seed:05d}-{control}", config, hosts, switches, links, flows)


def _topology(rng: random.Random) -> tuple[int, int, list[Link]]:
    kind = rng.choice(["star", "chain", "tree"])
    rate, faster = rng.choice([10, 25, 40, 50, 100, 200]), rng.choice([1, 1, 2, 4])
    switches = 1 if kind == "star" else rng.randint(2, 6)
    of_switch = [rng.randint(2, 16) if kind == "star" else rng.randint(1, 5)]
    of_switch += [rng.randint(1, 5) for _ in range(switches - 1)]
    hosts = sum(of_switch)
    delays = rng.choice([[1000], [500, 1000, 1500, 3000]])
    ends = [(0, hosts + switch) for switch, count in enumerate(of_switch) for _ in range(count)]
    access = [
        Link((host, switch), rate, rng.choice(delays)) for host, (_, switch) in enumerate(ends)
    ]
    trunks = [
        Link(
            (hosts + (switch - 1 if kind == "chain" else 0), hosts + switch),
            rate * faster,
            rng.choice(delays),
        )
        for switch in range(1, switches)
    ]
    return hosts, switches, access + trunks


def _flows(rng: random.Random, hosts: int) -> list[Flow]:
    priorities = rng.choice(PRIORITIES)
    receiver = rng.choice([None, None, rng.randrange(hosts)])
    flows = []
    for _ in range(rng.choice([1, 2, 3, 5, 8, 12, 20, 40])):
        source, destination = rng.sample(range(hosts), 2)
        if receiver is not None and source != receiver:
            destination = receiver
        most = rng.choice([1_500, 20_000, 300_000])
        start_ns = rng.choice([0, 0, rng.randint(0, 100_000), rng.randint(0, 1_000_000)])
        priority = rng.choice(priorities)
        flows.append(Flow(source, destination, priority, rng.randint(1, most), start_ns))
    return sorted(flows, key=lambda flow: flow.start_ns)


def _config(rng: random.Random, control: str, rates: list[int]) -> dict[str, str]:
    config = {}
    for line in cases.COMMON.splitlines():
        key, value = line.split(maxsplit=1)
        config[key] = value
    config |= {"CC_MODE": CONTROLS[control], "HAS_WIN": "1", "SIMULATOR_STOP_TIME": "1.05"}
    config |= {key: rng.choice(values) for key, values in (ANY | OWN[control]).items()}
    config["MAX_RATE"] = f"{rates[0]}000Mb/s"
    if config["L2_BACK_TO_ZERO"] == "1":
        config["L2_CHUNK_SIZE"] = str(4 * int(config["PACKET_PAYLOAD_SIZE"]))
    # In KB for each Gbit/s. DCTCP has a step.
    least = rng.choice([1, 4, 10])
    most = least if control == "dctcp" else least * rng.choice([1, 4, 8])
    share = "1.0" if control == "dctcp" else rng.choice(["0.2", "1.0"])
    for name, per_gbit in (("KMIN_MAP", least), ("KMAX_MAP", most)):
        config[name] = _map(rates, [str(per_gbit * rate) for rate in rates])
    config["PMAX_MAP"] = _map(rates, [share] * len(rates))
    return config


def _map(rates: list[int], values: list[str]) -> str:
    pairs = (f"{rate}000000000 {value}" for rate, value in zip(rates, values, strict=True))
    return " ".join((str(len(rates)), *pairs))


def write(case: Drawn, folder: Path) -> None:
    """Write the files that both simulators read."""
    folder.mkdir(parents=True)
    nodes = range(case.hosts, case.hosts + case.switches)
    links = (
        f"{link.ends[0]} {link.ends[1]} {link.rate}Gbps {link.delay_ns}ns 0" for link in case.links
    )
    flows = (
        f"{index} {flow.source} {flow.destination} {flow.priority} {100 + index} {flow.size} "
        f"{(START_NS + flow.start_ns) / 1e9:.9f}"
        for index, flow in enumerate(case.flows)
    )
    head = f"{case.hosts + case.switches} {case.switches} {len(case.links)}"
    _put(folder / "config.txt", (f"{key} {value}" for key, value in case.config.items()))
    _put(folder / "topology.txt", (head, " ".join(map(str, nodes)), *links))
    _put(folder / "flows.txt", (str(len(case.flows)), *flows))


def _put(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def simulate(program: Path, case: Drawn, folder: Path) -> bool:
    """Simulate a case there and write its FCTs; returns whether it came to an end."""
    with tempfile.TemporaryDirectory(prefix="incastle-ns3-") as name:
        place = Path(name)
        for file in folder.iterdir():
            shutil.copy(file, place)
        _put(place / "trace.txt", ("0",))
        command = [str(program.resolve()), "config.txt"]
        try:
            done = subprocess.run(
                command, cwd=place, stdout=subprocess.DEVNULL, check=False, timeout=LIMIT_S
            )
        except subprocess.TimeoutExpired:
            return False
        if done.returncode != 0:
            return False
        rows = [line.split() for line in (place / "fct.out").read_text("utf-8").splitlines()]
    # A packet that is repeated after the end makes it report the end again: the first row counts.
    found = {int(row[0]): (row[7], row[8]) for row in reversed(rows)}
    with (folder / "fct.csv").open("w", encoding="utf-8", newline="") as table:
        out = csv.writer(table, lineterminator="\n")
        out.writerow(("flow", "src", "dst", "size_B", "start_ns", "fct_ns", "ideal_ns"))
        for index, flow in enumerate(case.flows):
            start_ns = START_NS + flow.start_ns
            times = found.get(index, ("", "1"))
            out.writerow(
                (index, flow.source, flow.destination, flow.size, start_ns, *times),
            )
    return True


def main() -> None:
    """Draw, simulate and write cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True, help="the folder `simulation`")
    parser.add_argument("--out", type=Path, required=True, help="where the cases go")
    parser.add_argument("--count", type=int, default=200, help="how many; 200")
    parser.add_argument("--seed", type=int, default=1, help="of the first; 1")
    options = parser.parse_args()
    try:
        program = simulator.built(options.source, WORK)
    except simulator.UnavailableError as error:
        parser.error(str(error))
    for seed in range(options.seed, options.seed + options.count):
        case = draw(seed)
        folder = options.out / case.name
        if folder.exists():
            continue
        write(case, folder)
        if not simulate(program, case, folder):
            print(f"{case.name}: left out, it does not end there", file=sys.stderr)
            shutil.rmtree(folder)
    print(f"now run: incastle validate {options.out}")


if __name__ == "__main__":
    main()
