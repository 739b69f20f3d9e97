"""Files of HPCC's simulator for tests: a configuration of each control, and where the oracle is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CONFIG = """\
ENABLE_PFC 1
PACKET_PAYLOAD_SIZE 1000 {packet size (bytes)}
TOPOLOGY_FILE mix/topology.txt
FLOW_FILE mix/flows.txt
SIMULATOR_STOP_TIME 1.25
CC_MODE 1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
RP_TIMER 300
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 5.0Mb/s
RATE_HAI 50Mb/s
MIN_RATE 100Mb/s
MAX_RATE 25Gbps
DCTCP_RATE_AI 615Mb/s
TIMELY_T_HIGH 50000
TIMELY_T_LOW 10000
L2_ACK_INTERVAL 1
U_TARGET 0.9
MI_THRESH 0
INT_MULTI 4
KMAX_MAP 2 25000000000 400
  100000000000 1600
KMIN_MAP 2 100000000000 400 25000000000 100
PMAX_MAP 2 25000000000 0.2 100000000000 0.5
BUFFER_SIZE 300
FIXED_WIN 14800
VAR_WIN 1
BASE_RTT 4736
"""
"""The bandwidth is 25 Gbit/s; the control is DCQCN."""


def changed(*changes: tuple[str, str]) -> str:
    """Return the configuration with pieces of it replaced."""
    text = CONFIG
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def oracle() -> Path:
    """Return the folder of the oracle's data, or skip the test."""
    named = os.environ.get("INCASTLE_ORACLE")
    if named is None:
        pytest.skip("no results of HPCC's simulator here: INCASTLE_ORACLE names their folder")
    return Path(named)


TOPOLOGY = """\
4 1 3
3
0 3 25Gbps 1000ns 0
1 3 25Gbps 1000ns 0
2 3 25Gbps 1000ns 0
"""
FLOWS = """\
3
0 0 2 3 100 2000 1.000000000
1 1 2 3 100 2000 1.000000000
2 0 1 3 100 9000 1.000050000
"""
HEADER = "flow,src,dst,size_B,start_ns,fct_ns,ideal_ns\n"
FCTS = (
    HEADER
    + """\
2,0,1,9000,1000050000,5350,5350
0,0,2,2000,1000000000,3010,3005
1,1,2,2000,1000000000,3500,3005
"""
)
SHARD = (
    HEADER
    + """\
0,0,1,2796,1000000000,4351,4350
1,0,2,1000,1000180368,3676,3676
2,1,2,58,1000749032,2084,2084
"""
)
SPREAD = """\
case,rng_run,finished,first_fct_ns,median_fct_ns,last_fct_ns
star-dcqcn,1,3,3000,3500,5350
star-dcqcn,2,3,3000,3600,5500
star-dcqcn,3,3,3000,3400,5300
"""


def put_case(folder: Path, name: str, config: str = CONFIG, fcts: str = FCTS) -> Path:
    """Write a case in the layout `paths`; return its folder."""
    case = folder / name
    case.mkdir(parents=True)
    (case / "config.txt").write_text(config)
    (case / "topology.txt").write_text(TOPOLOGY)
    (case / "flows.txt").write_text(FLOWS)
    (case / "fct.csv").write_text(fcts)
    return case


def put_shard(folder: Path, name: str, config: str = CONFIG, fcts: str = SHARD) -> Path:
    """Write a case in the layout `shards`; return its configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.csv").write_text(fcts)
    place = folder / f"{name}.conf"
    place.write_text(config)
    return place
