"""Compares the engine in the lab's page with the same engine outside, in one run.

    .venv/bin/python bench/versus_browser/in_page.py [--repeats N] [--runs N] [--scenario NAME|FILE]

Needs `make lab` and Chromium. Prints, and asserts nothing: packet-hops per second in the page's
worker, with the samples that the page draws, in its first run, which Chromium still compiles, and
in its second; and outside, without samples; the first moving picture; frames per second while the
first run lasts; the memory of the page's process after 2 runs and after 20; the time until a run
has stopped.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from incastle.benchmarks import process
from incastle.browser import link, server

HERE = Path(__file__).resolve().parent
LINE = re.compile(r"simulated in ([\d.]+) (ms|s), ([\d,]+) packet-hops")
SECONDS = {"ms": 1e-3, "s": 1.0}


def page(scenario: Path, runs: int) -> dict[str, Any]:
    """Open a scenario in the page, and return what was measured there."""
    fragment = link.fragment(scenario.read_text(encoding="utf-8"))
    command = ["node", str(HERE / "page.mjs"), str(server.PAGE), fragment, str(runs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    measured: dict[str, Any] = json.loads(done.stdout)
    measured["packet_hops_per_s"] = speed(measured["line"])
    measured["again_per_s"] = speed(measured["again"])
    return measured


def speed(line: str) -> float:
    """Return the packet-hops per second that the page tells of a run."""
    found = LINE.search(line)
    if found is None:
        sys.exit(f"the page says: {line}")
    return int(found[3].replace(",", "")) / (float(found[1]) * SECONDS[found[2]])


def report(outside: list[dict[str, Any]], inside: list[dict[str, Any]], runs: int) -> None:
    """Print medians, and the range of the ratio."""

    def ratio(key: str) -> str:
        pairs = zip(inside, outside, strict=True)
        ratios = sorted(one[key] / other["packet_hops_per_s"] for one, other in pairs)
        return f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"

    def median(rows: list[dict[str, Any]], key: str) -> float:
        return float(statistics.median(row[key] for row in rows))

    frames = statistics.median(1e3 * row["frames"] / row["running_ms"] for row in inside)
    few, many = (statistics.median(row["memory"][at] for row in inside) / 1e6 for at in (0, -1))
    stops = [row["stopped_ms"] for row in inside if row["stopped_ms"] is not None]
    rows = [
        ("outside, packet-hops/s", f"{median(outside, 'packet_hops_per_s') / 1e6:.2f} million"),
        ("in the page, first run", f"{median(inside, 'packet_hops_per_s') / 1e6:.2f} million"),
        ("ratio", ratio("packet_hops_per_s")),
        ("in the page, second run", f"{median(inside, 'again_per_s') / 1e6:.2f} million"),
        ("ratio", ratio("again_per_s")),
        ("first motion", f"{median(inside, 'moved_ms'):.0f} ms from the start of loading"),
        ("frames per second while it runs", f"{frames:.0f}"),
        (f"memory after 2 runs, after {runs}", f"{few:.0f} MB, {many:.0f} MB"),
        ("stops within", f"{max(stops):.0f} ms" if stops else "not seen: its runs are too short"),
    ]
    for name, value in rows:
        print(f"{name:32} {value}")


def main() -> None:
    """Measure in turns, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3, help="measurements of each")
    parser.add_argument("--runs", type=int, default=20, help="runs in one page, at least 2")
    parser.add_argument("--scenario", default="star-20", help="a benchmark, or a file")
    options = parser.parse_args()
    server.require_page()
    scenario = process.find(options.scenario)
    outside, inside = [], []
    for number in range(options.repeats):
        print(f"{number + 1} of {options.repeats}", file=sys.stderr, flush=True)
        outside.append(process.measure(scenario))
        inside.append(page(scenario, options.runs))
    report(outside, inside, options.runs)


if __name__ == "__main__":
    main()
