# ruff: noqa: INP001
"""Runs scenarios in the lab's engine, and compares the digests.

Three builds of the same source have to agree. They are this machine's with the tests' settings, the
release module, and the engine for the browser (32-bit, no C library, another back end).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import lab

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = (
    ROOT / "examples" / "incast.toml",
    *(ROOT / "tests" / f"{name}.toml" for name in ("worlds", "lossless", "hpcc-ns3")),
)
INCASTLE = ROOT / ".venv" / "bin" / "incastle"


def output(command: list[str], stdin: str = "") -> str:
    """Return what a command prints, or leave with its status."""
    done = subprocess.run(
        command, cwd=ROOT, input=stdin, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: left with status {done.returncode}")
    return done.stdout


def build() -> str:
    """Build the program that prints a digest, and return its path."""
    command = ["cargo", "build", "--quiet", "--locked", "--message-format=json"]
    command += ["-p", "incastle-xtask", "--bin", "digest"]
    records = map(json.loads, output(command).splitlines())
    found = [record["executable"] for record in records if record.get("executable")]
    return str(found[-1])


def installed(scenario: Path) -> str:
    """Return the digest that the installed command line gives."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "out")
        printed = output([str(INCASTLE), "run", str(scenario), "--json", "--out", out])
    return str(json.loads(printed)["digest"])


def main() -> None:
    """Build, run and compare."""
    lacking = lab.missing()
    if lacking is not None:
        print(f"skipped: {lacking}")
        sys.exit(lab.SKIPPED)
    lab.build_engine()
    here = build()
    for scenario in SCENARIOS:
        compare(scenario, here)


def compare(scenario: Path, here: str) -> None:
    """Compare the digests of a scenario; leave where they differ."""
    text = scenario.read_text(encoding="utf-8")
    digests = {
        "this machine": output([here], text).strip(),
        "WebAssembly": output(["node", "scripts/lab_digest.mjs"], text).strip(),
    }
    if INCASTLE.exists():
        digests["installed"] = installed(scenario)
    for name, digest in digests.items():
        print(f"{scenario.stem:8} {name:14} {digest}")
    if len(set(digests.values())) != 1:
        sys.exit("the digests differ")


if __name__ == "__main__":
    main()
