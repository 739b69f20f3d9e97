"""Runs `incastle bench --all` in turns with ns-2 and ns-3, and writes docs/benchmarks.md.

    .venv/bin/python bench/bench.py [--repeats N] [--without-ns3] [--print]

ns-2 takes part where it is installed (Debian: ns2). ns-3's wheel is downloaded the first time, as
for `make bench-ns3`. Nothing is asserted; README.md in this folder describes the method.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
# Two benchmarks whose modules are used: the preparation of ns-3, and the load of the machine.
sys.path[:0] = [str(HERE / "versus_ns3"), str(HERE / "versus_transports")]

import halves  # noqa: E402
import incastle as ic  # noqa: E402
import machine  # noqa: E402
import page  # noqa: E402
from incastle.benchmarks import engines, memory, suite, turns  # noqa: E402
from incastle.commands import bench as bench_command  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

DOCS = HERE.parent / "docs"


def main() -> None:
    """Measure, print, and write the page with its figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=turns.REPEATS, help="runs of each")
    parser.add_argument("--without-ns3", action="store_true", help="download and build nothing")
    parser.add_argument("--print", action="store_true", help="leave the page as it is")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats {options.repeats}: at least 1")
    found = engines.installed(None if options.without_ns3 else ns3())
    meter, before = machine.Meter(), os.times()
    with bench_command.progress() as show:
        measured = turns.measure(suite.SUITE, found, options.repeats, show)
    meanwhile = meter.stop(sum(os.times()[:4]) - sum(before[:4]))
    costs = memory.measure()
    bench_command.show_suite(measured, costs)
    if options.print:
        return
    setting = page.Setting(
        machine={key: str(value) for key, value in machine.description().items()},
        versions=versions(found),
        others=meanwhile.others,
        stolen=meanwhile.stolen,
        repeats=options.repeats,
        costs=tuple(costs),
    )
    page.write(DOCS, measured, setting)
    print(f"written: {DOCS / page.PAGE}, {DOCS / page.FIGURE}")


def ns3() -> Path:
    """Install ns-3's wheel and build its program, unless that is done already."""
    halves.prepare_ns3()
    return halves.PROGRAM


def versions(found: Sequence[engines.Engine]) -> dict[str, str]:
    """Give the versions of what was measured."""
    commit = output_of("git", "rev-parse", "--short", "HEAD")
    known = {"Incastle": f"{ic.__version__}, commit {commit}"}
    known["its build"] = "release, link-time optimization"
    known["Rust"] = output_of("rustc", "--version").removeprefix("rustc ")
    known["Python"] = platform.python_version()
    for one in found:
        if isinstance(one, engines.Ns2):
            known[one.name] = one.version
        if isinstance(one, engines.Ns3):
            lock = (halves.HERE / "requirements.lock").read_text(encoding="utf-8")
            known[one.name] = (re.findall(r"^ns3==(\S+)", lock, re.MULTILINE) or ["unknown"])[0]
    return known


def output_of(*command: str) -> str:
    """Return what a program prints, or "unknown"."""
    try:
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


if __name__ == "__main__":
    main()
