"""Small cases of HPCC's simulator, one for each of its oddities: equal to the nanosecond.

`tests/hpcc-ns3-cases/README.md` describes them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from incastle.validation import simulate
from incastle.validation.cases import read_cases

FOLDER = Path(__file__).parents[1] / "hpcc-ns3-cases"
NAMES = (
    *("acks-in-chunks", "acks-in-chunks-dctcp", "frames-without-pfc", "moved-wake-up"),
    *("queue-of-acks", "rate-without-code", "six-hops", "starts-of-priorities"),
)


@pytest.mark.parametrize("name", NAMES)
def test_every_fct_is_that_of_the_other_simulator(name: str) -> None:
    (case,) = read_cases(FOLDER, [name])
    (comparison,) = simulate.compare([case]).comparisons
    (outcome,) = comparison.outcomes
    assert outcome.fcts_ns == tuple(flow.fct_ns for flow in case.flows)
