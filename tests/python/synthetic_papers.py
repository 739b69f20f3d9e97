"""Made-up runs of every shipped paper, by its name."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from synthetic import observation
from synthetic_comparison import made_up as comparison_made_up
from synthetic_dctcp import made_up as dctcp_made_up
from synthetic_dcudp import made_up as dcudp_made_up
from synthetic_dt_cwa import made_up as dt_cwa_made_up
from synthetic_qcn import made_up as qcn_made_up

if TYPE_CHECKING:
    from incastle.reproduction.papers import Observation


@functools.cache  # as in synthetic_qcn.py
def dctcp_ns2_made_up(name: str, seed: int) -> Observation:
    """TCP: 100 to 199 packets, 96 % of the link; DCTCP: 15 to 24, and more of the link with K."""
    k = int(name.rpartition("k=")[2]) if "k=" in name else 20
    begin = 0.1 if name.startswith(("queue/1G", "queue/10G")) else 0.0
    if "dctcp" in name:
        queue = [15 + i % 10 for i in range(1000)]
        return observation(queue, min(1.0, 0.9 + 0.002 * k), begin=begin)
    return observation([100 + (i + seed) % 100 for i in range(1000)], 0.96, begin=begin)


MADE_UP = {
    "comparison": comparison_made_up,
    "dctcp": dctcp_made_up,
    "dctcp-ns2": dctcp_ns2_made_up,
    "dcudp": dcudp_made_up,
    "dt-cwa": dt_cwa_made_up,
    "qcn-incast": qcn_made_up,
}
