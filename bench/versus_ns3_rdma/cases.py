"""The cases of the comparison, as files that HPCC's simulator reads.

`star`: 16 hosts send 10 MB each to one at the same instant. `fabric`: the Clos of HPCC's evaluation
(SIGCOMM 2019, section 5.1) with 320 hosts, web search at 50 % of their links. Incastle imports the
same files.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIZES = ROOT / "crates" / "language" / "data" / "websearch.cdf"
START_S = 1.0
"""When the first flow starts, as in the simulator's own cases."""

COMMON = """\
ENABLE_QCN 1
ENABLE_PFC 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE topology.txt
FLOW_FILE flows.txt
FLOW_ON_PATH_FILE flows_on_path.out
FLOW_PATH_MAP_FILE flow_path_map.out
TRACE_FILE trace.txt
TRACE_OUTPUT_FILE trace.out
FCT_OUTPUT_FILE fct.out
PFC_OUTPUT_FILE pfc.out
QLEN_MON_FILE qlen.out
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
MIN_RATE 100Mb/s
DCTCP_RATE_AI 615Mb/s
TIMELY_T_HIGH 50000
TIMELY_T_LOW 10000
TIMELY_BETA 0.8
ERROR_RATE_PER_LINK 0.0
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
GLOBAL_T 1
VAR_WIN 1
FAST_REACT 1
U_TARGET 0.95
MI_THRESH 0
MULTI_RATE 0
SAMPLE_FEEDBACK 0
PINT_LOG_BASE 1.05
PINT_PROB 1.0
RATE_BOUND 1
ACK_HIGH_PRIO 0
LINK_DOWN 0 0 0
ENABLE_TRACE 0
KMAX_MAP 2 100000000000 1600 400000000000 6400
KMIN_MAP 2 100000000000 400 400000000000 1600
PMAX_MAP 2 100000000000 0.2 400000000000 0.2
RATE_AI 200Mb/s
RATE_HAI 200Mb/s
MAX_RATE 100000Mb/s
INT_MULTI 4
"""


@dataclass(frozen=True)
class Flow:
    """One flow: hosts by their numbers, bytes, and the start in seconds."""

    source: int
    destination: int
    size: int
    start_s: float


@dataclass(frozen=True)
class Case:
    """Links as (node, node, Gbit/s), the numbers of switches, and flows."""

    name: str
    hosts: int
    switches: list[int]
    links: list[tuple[int, int, int]]
    flows: list[Flow]
    base_rtt_ns: int
    stop_s: float

    def write(self, folder: Path, control: str) -> Path:
        """Write its files for a control ("dcqcn" or "hpcc"); return the configuration."""
        folder.mkdir(parents=True, exist_ok=True)
        nodes = self.hosts + len(self.switches)
        lines = [f"{nodes} {len(self.switches)} {len(self.links)}"]
        lines += [" ".join(str(switch) for switch in self.switches)]
        lines += [f"{a} {b} {gbit_s}Gbps 1000ns 0" for a, b, gbit_s in self.links]
        (folder / "topology.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        rows = [
            f"{number} {flow.source} {flow.destination} 3 100 {flow.size} {flow.start_s:.9f}"
            for number, flow in enumerate(self.flows)
        ]
        listed = "\n".join([str(len(rows)), *rows])
        (folder / "flows.txt").write_text(listed + "\n", encoding="utf-8")
        (folder / "trace.txt").write_text("0\n", encoding="utf-8")
        own = {
            "CC_MODE": {"dcqcn": 1, "hpcc": 3}[control],
            "HAS_WIN": {"dcqcn": 0, "hpcc": 1}[control],
            "BASE_RTT": self.base_rtt_ns,
            "FIXED_WIN": self.base_rtt_ns * 100 // 8,
            "SIMULATOR_STOP_TIME": self.stop_s,
            "BUFFER_SIZE": 32 * 1024,
        }
        config = folder / "config.txt"
        text = COMMON + "".join(f"{key} {value}\n" for key, value in own.items())
        config.write_text(text, encoding="utf-8")
        return config


def star(size: int, senders: int = 16) -> Case:
    """Give an incast of `size` bytes from each sender, over one switch at 100 Gbit/s."""
    switch = senders + 1
    links = [(host, switch, 100) for host in range(senders + 1)]
    flows = [Flow(host, senders, size, START_S) for host in range(senders)]
    # Two links of 1 us each way, a data packet of 1090 B and an ACK of 60 B on each.
    stop_s = START_S + 0.1 + 4 * senders * size * 8 / 100e9
    return Case("star", senders + 1, [switch], links, flows, 4_184, stop_s)


def fabric(duration_s: float, load: float = 0.5) -> Case:
    """Give 320 hosts at 100 Gbit/s, 20 racks, 20 aggregation and 16 core switches at 400 Gbit/s."""
    hosts, racks, per_rack, cores = 320, 20, 16, 16
    tors = [hosts + rack for rack in range(racks)]
    aggregations = [hosts + racks + number for number in range(racks)]
    core = [hosts + 2 * racks + number for number in range(cores)]
    links = [(host, tors[host // per_rack], 100) for host in range(hosts)]
    for rack, tor in enumerate(tors):
        pod = rack // 4 * 4
        links += [(tor, aggregations[pod + place], 400) for place in range(4)]
    for number, aggregation in enumerate(aggregations):
        first = number % 4 * 4
        links += [(aggregation, core[first + place], 400) for place in range(4)]
    flows = _web_search(hosts, duration_s, load)
    # T of the paper: 13 us.
    stop_s = START_S + duration_s + 0.02
    return Case("fabric", hosts, [*tors, *aggregations, *core], links, flows, 13_000, stop_s)


def _web_search(hosts: int, duration_s: float, load: float) -> list[Flow]:
    """Draw Poisson flows between random hosts, with the sizes of web search."""
    draw = random.Random(1)  # noqa: S311  arrivals, no secrets
    rows = [line.split() for line in SIZES.read_text(encoding="utf-8").splitlines()]
    points = [(float(row[0]), float(row[1]) / 100) for row in rows if row and row[0] != "#"]
    steps = list(pairwise(points))
    mean = sum((a[0] + b[0]) / 2 * (b[1] - a[1]) for a, b in steps)
    gap_s = mean * 8 / (hosts * 100e9 * load)
    flows, at_s = [], START_S
    while (at_s := at_s + draw.expovariate(1 / gap_s)) < START_S + duration_s:
        source, other = draw.randrange(hosts), draw.randrange(hosts - 1)
        share = draw.random()
        (low, below), (high, above) = next(step for step in steps if share <= step[1][1])
        size = low + (high - low) * (share - below) / (above - below)
        destination = other + (other >= source)
        flows.append(Flow(source, destination, max(1, int(size)), round(at_s, 9)))
    return flows
