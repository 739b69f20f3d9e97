"""A paper without a document: runs that are made up from their scenarios, as a test wants them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from conftest import SMALL
from incastle.reproduction.declarations import Declarations
from incastle.reproduction.papers import Length, Observation, Paper
from incastle.variation.trials import Budget, Trials

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GROUPS = 6
"""Experiments, each of which has its own claims."""

EXPERIMENTS = """
paper = "made-up"
tables = ["summary"]
[axes]
places = [{places}]
[[experiments]]
name = "e{{place}}"
scenario = "small.toml"
over = {{ place = "places" }}
set = [{{ "network.senders" = "{{place + 1}}" }}]
seeds = "1"
cost = "100"
"""

CLAIM = """
[[claim]]
id = "{id}"
document = "none"
place = "nowhere"
statement = "It is so."
metric = "value"
unit = "times"
paper_value = "1"
band = {{ at_least = 0.7 }}
basis = "ours"
cases = ["taken"]
"""

OPEN = """
[[open]]
name = "jitter"
[open.values]
"2 us" = {}
"1 us" = { "host.jitter" = "1 us" }
"3 us" = { "host.jitter" = "3 us" }

[[open]]
name = "delay"
with = { delay = "network.delay" }
[open.values]
"25 us" = {}
doubled = { "network.delay" = "{2e6 * delay:.0f} us" }
halved = { "network.delay" = "{1e9 * delay / 2:.0f} ns" }

[[open]]
name = "window"
where = { "transport.congestion" = ["dctcp"] }
[open.values]
"2 packets" = {}
"1 packet" = { "transport.min_cwnd" = "1 packet" }
"4 packets" = { "transport.min_cwnd" = "4 packets" }

[[open]]
name = "g"
[open.values]
"1/16" = {}
"1/8" = { "transport.g" = "0.125" }
"1/4" = { "transport.g" = "0.25" }

[[open]]
name = "buffer"
[open.values]
"128 KiB" = {}
"64 KiB" = { "switch.buffer" = "64 KiB" }
"256 KiB" = { "switch.buffer" = "256 KiB" }
"""

Scenario = dict[str, Any]


@dataclass
class MadeUpRuns:
    """Takes the place of the finished runs: each has the value that a function of it gives."""

    value: Callable[[Scenario, int], float]
    asked: list[str] = field(default_factory=list)

    def __contains__(self, resolved: str) -> bool:
        """Have none of them: a budget counts its work."""
        return False

    def load(self, resolved: str) -> Observation:
        """Make a run up; column c of its summary is the value for claim c of its experiment."""
        self.asked.append(resolved)
        scenario = tomllib.loads(resolved)
        values = {f"c{claim}": [float(self.value(scenario, claim))] for claim in range(2)}
        return Observation({"summary": pl.DataFrame(values)}, "0" * 16, resolved)


def paper(folder: Path, claims_each: int = 2) -> Paper:
    """Make the paper: `GROUPS` experiments, each with some claims."""
    (folder / "scenarios").mkdir(parents=True)
    (folder / "scenarios" / "small.toml").write_text(SMALL)
    places = ", ".join(map(str, range(GROUPS)))
    (folder / "experiments.toml").write_text(EXPERIMENTS.format(places=places))
    names = [(place, claim) for place in range(GROUPS) for claim in range(claims_each)]
    measures = "".join(f"[c{p}-{c}]\ntaken = \"summary('e{p}', 'c{c}')\"\n" for p, c in names)
    (folder / "measures.toml").write_text(measures)
    claims = "".join(CLAIM.format(id=f"c{p}-{c}") for p, c in names)
    (folder / "claims.toml").write_text(f'paper = "made-up"\n{claims}')
    (folder / "open.toml").write_text(OPEN)
    (folder / "figures.toml").write_text("figure = []\n")
    return Declarations(folder).paper()


def trials(
    of: Paper, value: Callable[[Scenario, int], float], budget: Budget | None = None
) -> Trials:
    """Prepare trials of the paper whose runs are made up."""
    runs: Any = MadeUpRuns(value)
    return Trials(of, Length.QUICK, runs, budget or Budget())
