# ruff: noqa: INP001
"""Runs every check of Incastle, one after the other, and counts.

Each runner's own report is read: cargo's `test result` lines, pytest's JUnit file; a check that
has no tests of its own (a formatter, a linter, a build) counts as one. A runner that fails
without naming a failed test (a compile error, a crash) counts as one failure. The last line is
the sum, alone: `N passed, N failed, N skipped`; the exit status is 1 if anything failed. Exit
status 77 of a check says that it could not run here, and its last line why.

    scripts/test.py [NAME ...]      only the checks whose names begin so
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
TARGET = os.environ.get("CARGO_TARGET_DIR", "target")
SKIPPED = 77
ALONE = "alone"
"""The mark of tests in real time, or with time-outs that others set."""
WORKERS_PER_CORE, MOST_WORKERS = 2, 8
"""Two, because many tests wait: for the ends of connections, for other programs."""


@dataclass(frozen=True)
class Count:
    """What a runner reported."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Count) -> Count:
        """Return the sum of both."""
        return Count(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
        )

    def __str__(self) -> str:
        """Return the words of the closing line."""
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def single(_output: str) -> Count:
    """Count a check without tests of its own."""
    return Count(passed=1)


def cargo_tests(output: str) -> Count:
    """Sum cargo's lines, one per test binary and per crate's documentation."""
    pattern = r"^test result: .*? (\d+) passed; (\d+) failed; (\d+) ignored;"
    found = re.findall(pattern, output, flags=re.MULTILINE)
    return sum((Count(*map(int, line)) for line in found), Count())


@dataclass(frozen=True)
class Check:
    """A command, how to count its report, and what it adds to the environment."""

    name: str
    command: list[str]
    count: Callable[[str], Count] = single
    env: dict[str, str] = field(default_factory=dict)


def python(*arguments: str) -> list[str]:
    """Return a command for the interpreter of the virtual environment."""
    return [sys.executable, *arguments]


def pytest_check(folder: Path, name: str, *options: str) -> Check:
    """Return a check that runs pytest, and reads its JUnit file."""
    report = folder / f"{name}.xml"

    def count(_output: str) -> Count:
        if not report.exists():
            return Count()
        cases = list(ET.parse(report).iter("testcase"))  # noqa: S314 - pytest wrote it just now
        skipped = sum(case.find("skipped") is not None for case in cases)
        failed = sum(
            case.find("failure") is not None or case.find("error") is not None for case in cases
        )
        return Count(len(cases) - skipped - failed, failed, skipped)

    return Check(name, python("-m", "pytest", "-rs", f"--junitxml={report}", *options), count)


def pytest_checks(folder: Path) -> list[Check]:
    """Return pytest's tests in two parts: some on all cores, then those that a neighbour disturbs.

    Each test is in one of them, whatever it is marked with: the second part is the rest.
    """
    workers = str(min(WORKERS_PER_CORE * (os.cpu_count() or 1), MOST_WORKERS))
    together = ("-m", f"not {ALONE}", "-n", workers, "--dist", "loadgroup")
    return [
        pytest_check(folder, "pytest", *together),
        pytest_check(folder, f"pytest, {ALONE}", "-m", ALONE),
    ]


def examples(folder: Path) -> list[Check]:
    """Return one check per example: scenarios are run, programs too, in their short form."""
    checks = []
    for path in sorted((ROOT / "examples").iterdir()):
        name = f"examples/{path.name}"
        if path.suffix == ".toml":
            out = str(folder / path.stem)
            checks.append(Check(name, [str(BIN / "incastle"), "run", name, "--out", out]))
        elif path.suffix == ".py":
            out = str(folder / f"{path.stem}.png")
            checks.append(Check(name, python(name, "--quick", "--out", out)))
    own = "examples/my-controller"
    picture = str(folder / "my-controller.png")
    program = f"{own}/python/delay_and_dctcp.py"
    manifest = ("--manifest-path", f"{own}/rust/Cargo.toml", "--target-dir", TARGET)
    return [
        *checks,
        Check(program, python(program, "--quick", "--out", picture)),
        Check(f"{own}/rust fmt", ["cargo", "fmt", "--check", *manifest[:2]]),
        Check(f"{own}/rust", ["cargo", "run", "--quiet", "--locked", *manifest]),
        Check(f"{own}/rust test", ["cargo", "test", "--locked", *manifest], cargo_tests),
    ]


def all_checks(folder: Path) -> list[Check]:
    """Return the checks, the quick ones first."""
    stubs = [str(BIN / "stubtest"), "--mypy-config-file", "scripts/stubtest.ini"]
    engine = [*stubs, "incastle._engine"]
    clippy = ["cargo", "clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]
    tests = ["cargo", "test", "--locked", "--workspace", "--no-fail-fast"]
    docs = ["cargo", "doc", "--locked", "--workspace", "--no-deps"]
    return [
        Check("cargo fmt", ["cargo", "fmt", "--all", "--check"]),
        Check("ruff check", python("-m", "ruff", "check", ".")),
        Check("ruff format", python("-m", "ruff", "format", "--check", ".")),
        Check("mypy", python("-m", "mypy")),
        Check("stubtest", engine),
        Check("crates", python("scripts/check_crates.py")),
        Check("cargo deny", python("scripts/check_deny.py")),
        Check("lints", python("scripts/check_lints.py")),
        Check("clippy", clippy),
        Check("cargo test", tests, cargo_tests),
        Check("wasm digest", python("scripts/wasm_digest.py")),
        Check("cargo doc", docs, env={"RUSTDOCFLAGS": "-D warnings"}),
        Check(
            "mkdocs",
            python("-m", "mkdocs", "build", "--strict", "-d", str(folder / "site")),
            env={"NO_MKDOCS_2_WARNING": "1"},
        ),
        Check("wheel", python("scripts/check_wheel.py")),
        Check("documents", python("scripts/check_docs.py"), cargo_tests),
        *examples(folder),
        Check("digests", python("scripts/check_digests.py")),
        *pytest_checks(folder),
    ]


def execute(check: Check) -> Count:
    """Run a check, pass its output on as it comes, and return what it reported."""
    print(f"\n=== {check.name}", flush=True)
    lines: list[str] = []
    with subprocess.Popen(
        check.command,
        cwd=ROOT,
        env=os.environ | check.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line)
    if process.returncode == SKIPPED:
        return Count(skipped=1)
    count = check.count("".join(lines))
    if process.returncode == 0:
        return count
    # A linter that failed did not pass; a runner that died may have named nobody.
    return count if count.failed else Count(count.passed * (check.count is not single), 1)


def main() -> None:
    """Run the checks, print a table and the sum."""
    wanted = tuple(sys.argv[1:])
    total, rows = Count(), []
    with tempfile.TemporaryDirectory(prefix="incastle-test-") as folder:
        for check in all_checks(Path(folder)):
            if wanted and not check.name.startswith(wanted):
                continue
            started = time.monotonic()
            count = execute(check)
            rows.append(f"{check.name:32} {time.monotonic() - started:6.1f} s   {count}")
            total += count
    print("\n=== summary", *rows, "", total, sep="\n")
    sys.exit(1 if total.failed else 0)


if __name__ == "__main__":
    main()
