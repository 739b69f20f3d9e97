#!/usr/bin/env python3
"""The cost of reading a large sweep: time and memory of `Sweep.load`, in a separate process.

The dataset is written part by part, as a sweep writes it. It has the columns of the incast example
and random rows: simulated ones would take hours and read as fast.

    bench/sweep_dataset.py --runs 100000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import incastle as ic
from incastle.analysis.outcome import Wanted
from incastle.sweeps import dataset

EXAMPLE = Path(__file__).parents[1] / "examples" / "incast.toml"
SENDERS = range(10, 20)
LOADING = """
import json, sys, time
from pathlib import Path
start = time.perf_counter()
import incastle as ic
imported = time.perf_counter()
sweep = ic.Sweep.load(sys.argv[1], verify=sys.argv[2] == "verify")
loaded = time.perf_counter()
# Not getrusage: its peak is inherited from the process that started this one.
status = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
print(json.dumps({"import_s": imported - start, "load_s": loaded - imported, "peak_bytes": peak,
                  "rows": sweep.frame.height, "columns": sweep.frame.width, "repr": repr(sweep)}))
"""


def make(directory: Path, runs: int) -> None:
    """Write a dataset of `count` runs."""
    scenario = ic.load(EXAMPLE, [("run.duration", "100 ms")])
    wanted = Wanted({"network.senders": SENDERS[0]}, {"network.senders": "integer"}, ())
    row = wanted.of_result(ic.run(scenario))["summary"]
    seeds = list(range(1, runs // len(SENDERS) + 1))
    values = {"network.senders": list(SENDERS)}
    header = dataset.new_header("incast", values, seeds, (), [("network.senders", "10")])
    directory.mkdir()
    made = dataset.Dataset.begin(directory, header, scenario.resolved)
    chance = np.random.default_rng(1)
    for senders in SENDERS:
        for begin in range(0, len(seeds), dataset.BATCH):
            batch = _drawn(row, senders, seeds[begin : begin + dataset.BATCH], chance)
            for one in batch.iter_slices(1):
                made.keep(_Run(f"{senders} {one['seed'][0]}"), {"summary": one})
    made.put_in_order()


def _drawn(
    row: pl.DataFrame, senders: int, seeds: list[int], chance: np.random.Generator
) -> pl.DataFrame:
    """Give rows like one, with other numbers where it has some."""
    known = {
        "network.senders": np.full(len(seeds), senders),
        "seed": np.array(seeds, dtype=np.uint64),
        "digest": [chance.bytes(8).hex() for _ in seeds],
    }
    columns = []
    for name, kind in row.schema.items():
        if name in known:
            columns.append(pl.Series(name, known[name], kind))
        elif row[name][0] is None:
            columns.append(pl.Series(name, [None] * len(seeds), kind))
        else:
            drawn = row[name][0] * chance.uniform(0.5, 1.5, len(seeds))
            columns.append(pl.Series(name, drawn).cast(kind))
    return pl.DataFrame(columns)


class _Run:
    """A run as far as a dataset looks at it."""

    def __init__(self, name: str) -> None:
        self.name = dataset.hash_of(name.encode())[:20]


def measure(directory: Path, verify: str) -> dict[str, float | str]:
    """Load a dataset in a separate process."""
    program = [sys.executable, "-c", LOADING, str(directory), verify]
    done = subprocess.run(program, check=True, capture_output=True, text=True)
    result: dict[str, float | str] = json.loads(done.stdout)
    return result


def main() -> None:
    """Make a dataset, load it, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=100_000)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="incastle-bench-") as folder:
        place = Path(folder, "s")
        start = time.perf_counter()
        make(place, runs)
        files = [path for path in place.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        took = time.perf_counter() - start
        print(f"{runs:,} runs written in {took:.1f} s: {len(files)} files, {size / 1e6:.1f} MB")
        for verify in ("verify", "trust"):
            found = measure(place, verify)
            print(
                f"{verify}: import {found['import_s']:.2f} s, load {found['load_s']:.2f} s, peak "
                f"{found['peak_bytes'] / 1e6:.0f} MB, {found['rows']:,} x {found['columns']}: "
                f"{found['repr']}"
            )


if __name__ == "__main__":
    main()
