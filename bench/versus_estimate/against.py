"""Estimates against simulations of the same fabrics: 99th-percentile slowdowns by size class.

    .venv/bin/python bench/versus_estimate/against.py [--only WORDS]

There are 24 fabrics that one event loop can simulate: 256 and 1024 hosts, loads of 0.3 and 0.6 on
the busiest tier, three size distributions, two oversubscriptions. Each is simulated as a whole and
estimated with every link. The larger ones are also estimated with some of each class of links.
Writes results.csv and results.json to its folder, and prints the table of docs/validation.md.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import polars as pl

import incastle as ic

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent

LINKS = 60
"""Maximum number of equal links that the second estimate simulates."""

LARGE = 1024
"""Hosts of the networks that have the second estimate."""

FLOWS = {"websearch": 25_000, "datamining": 10_000, "hadoop": 100_000}
"""Approximate number of flows: enough for queues and long flows to reach their steady state."""

MEAN_BYTES = {"websearch": 1.7e6, "datamining": 7.4e6, "hadoop": 1.2e5}
"""About the means of the distributions, for the length of the runs alone."""

ENOUGH = 100
"""Classes with fewer flows have no 99th percentile to speak of."""

GOAL = 0.1
"""The error that an estimate should not exceed in the median case."""

_LEAF_SPINE = 'topology = "leaf-spine"\nleaves = 16\nspines = 4\nhosts_per_leaf = 16\n'
_CLOS = "pods = 16\nedges_per_pod = 8\naggregations_per_pod = 2\ncores = 16\nhosts_per_edge = 8\n"
NETWORKS = {
    (256, 1): _LEAF_SPINE + 'links.leaf-spine.rate = "40 Gbit/s"\n',
    (256, 4): _LEAF_SPINE,
    (1024, 1): 'topology = "fat-tree"\nk = 16\n',
    (1024, 4): f'topology = "clos"\n{_CLOS}',
}
"""By hosts and oversubscription."""

RACK = {256: 16, 1024: 8}
"""Hosts at one switch."""


@dataclass(frozen=True)
class Case:
    """One fabric and its flows."""

    hosts: int
    oversubscription: int
    sizes: str
    load: float

    @property
    def name(self) -> str:
        """The name that `--only` selects by."""
        return f"{self.sizes} {self.hosts} hosts {self.oversubscription}:1 load {self.load}"

    def scenario(self) -> ic.Scenario:
        """Flows begin for a while, and all can end."""
        load = self.load_of_hosts()
        per_s = load * self.hosts * 10e9 / 8 / MEAN_BYTES[self.sizes]
        text = (HERE / "fabric.toml").read_text(encoding="utf-8")
        text = text.replace(
            "[network]\n", "[network]\n" + NETWORKS[self.hosts, self.oversubscription]
        )
        settings: dict[str, Any] = {
            "name": self.name.replace(" ", "-").replace(":", "-"),
            "flows.all.sizes": self.sizes,
            "flows.all.load": load,
            "flows.all.stop": f"{FLOWS[self.sizes] / per_s * 1e6:.0f} us",
        }
        return ic.Scenario.from_text(text).with_overrides(settings)

    def load_of_hosts(self) -> float:
        """Give the load of hosts' links at which the busiest tier has this case's."""
        if self.oversubscription == 1:
            return self.load
        # Flows within a rack do not use the links above it.
        leaving = 1 - (RACK[self.hosts] - 1) / (self.hosts - 1)
        return round(self.load / self.oversubscription / leaving, 6)


VALUES: tuple[tuple[Any, ...], ...] = (
    (256, 1024),
    (1, 4),
    ("websearch", "datamining", "hadoop"),
    (0.3, 0.6),
)
CASES = [Case(*values) for values in product(*VALUES)]

CHOOSING = {
    case.name
    for case, places in zip(CASES, product(*(range(len(of)) for of in VALUES)), strict=True)
    if sum(places) % 2 == 0
}
"""The half on which the estimate's settings were chosen: each value is here as often as in
the other half, which is held out."""


def timed(work: Callable[[], ic.Result]) -> tuple[ic.Result, float]:
    """Give what comes of it, and the processor time of all threads."""
    begin = time.process_time()
    return work(), time.process_time() - begin


def compare(case: Case) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Give a row per size class, and the costs."""
    scenario = case.scenario()
    run, run_s = timed(lambda: ic.run(scenario))
    rows: dict[int, dict[str, Any]] = {}
    costs: dict[str, Any] = {"case": case.name, "flows": run.totals["flows"]}
    costs |= {"run_s": run_s, "run_hops": run.totals["packet_hops"]}
    for name, links in (("all", None), ("some", LINKS)):
        if links is not None and case.hosts < LARGE:
            continue
        found, found_s = timed(lambda links=links: ic.estimate(scenario, links))  # type: ignore[misc]
        costs |= {f"{name}_s": found_s, f"{name}_hops": found.totals["packet_hops"]}
        costs[f"{name}_links"] = found.totals["links_simulated"]
        for of_run, of_found in zip(
            run.completions().iter_rows(named=True),
            found.completions().iter_rows(named=True),
            strict=True,
        ):
            row = rows.setdefault(
                of_run["min_bytes"],
                {
                    "case": case.name,
                    "min_bytes": of_run["min_bytes"],
                    "flows": of_run["completed"],
                },
            )
            for quantile in ("median", "p99"):
                # Both are cut off at the same instant: lower ends are alike.
                row[f"run_{quantile}"] = of_run[f"slowdown_{quantile}_low"]
                row[f"{name}_{quantile}"] = of_found[f"slowdown_{quantile}_low"]
    return list(rows.values()), costs


def error(row: dict[str, Any], name: str, quantile: str) -> float:
    """By how much an estimate is off, as a share of what it should be."""
    return float(row[f"{name}_{quantile}"] / row[f"run_{quantile}"] - 1)


def table(rows: list[dict[str, Any]]) -> str:
    """Errors of the 99th percentile by case and size class: with all links, with some."""
    classes = (0, 10_000, 100_000, 1_000_000, 10_000_000)
    lines = [
        "| case | below 10 KB | 10 to 100 KB | 100 KB to 1 MB | 1 to 10 MB | from 10 MB |",
        "|---|---|---|---|---|---|",
    ]
    for case in dict.fromkeys(row["case"] for row in rows):
        of = {row["min_bytes"]: row for row in rows if row["case"] == case}
        cells = [cell(of.get(least)) for least in classes]
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(row: dict[str, Any] | None) -> str:
    """Give the errors in %."""
    if row is None or row["flows"] < ENOUGH:
        return ""
    known = [name for name in ("all", "some") if row.get(f"{name}_p99") is not None]
    return " / ".join(f"{100 * error(row, name, 'p99'):+.0f} %" for name in known)


def summary(rows: list[dict[str, Any]]) -> str:
    """Medians of the errors' sizes over classes with enough flows: of all, and of either half."""
    counted = [row for row in rows if row["flows"] >= ENOUGH]
    halves = {
        "all cases": counted,
        "where settings were chosen": [row for row in counted if row["case"] in CHOOSING],
        "held out": [row for row in counted if row["case"] not in CHOOSING],
    }
    lines = []
    for (half, of_half), name, quantile in product(
        halves.items(), ("all", "some"), ("p99", "median")
    ):
        known = [row for row in of_half if row.get(f"{name}_{quantile}") is not None]
        if not known:
            continue
        errors = sorted(abs(error(row, name, quantile)) for row in known)
        within = sum(one <= GOAL for one in errors)
        lines.append(
            f"{half}, {name} links, {quantile}: median error {100 * median(errors):.1f} %, within "
            f"10 % in {within} of {len(errors)}, max {100 * errors[-1]:.0f} %"
        )
    return "\n".join(lines)


def main() -> None:
    """Compare all cases, or those whose names contain all the given words."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", metavar="WORDS", help="such as '256 websearch'")
    words = parser.parse_args().only.split()
    rows: list[dict[str, Any]] = []
    costs: list[dict[str, Any]] = []
    begin = time.perf_counter()
    for case in CASES:
        if not all(word in case.name.split() for word in words):
            continue
        of_case, cost = compare(case)
        rows += of_case
        costs.append(cost)
        pl.DataFrame(rows).write_csv(HERE / "results.csv")
        machine = {
            "load": os.getloadavg(),
            "elapsed_s": time.perf_counter() - begin,
            "version": ic.__version__,
        }
        text = json.dumps({"machine": machine, "costs": costs}, indent=2) + "\n"
        (HERE / "results.json").write_text(text, encoding="utf-8")
        print(
            case.name,
            {key: round(value, 1) for key, value in cost.items() if key != "case"},
            flush=True,
        )
    print(table(rows))
    print(summary(rows))


if __name__ == "__main__":
    main()
