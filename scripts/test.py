# ruff: noqa: INP001
"""Runs the checks of Incastle, one after the other, and counts.

There are two tiers. `make test` runs `quick`. `make test-all` runs `quick`, then `full`: the full
counts of random inputs, long builds, and slow tests.

Each report is read: cargo's `test result` lines, pytest's JUnit file. A check without tests
(a formatter, a linter, a build) counts as one. A runner that fails without naming a failed test (a
compile error, a crash) counts as one failure. The last line is the sum, alone: `N passed, N failed,
N skipped`; the exit status is 1 if anything failed. Exit status 77 of a check means that it could
not run here, for the reason in its last line. Linters, builds and examples run two at a time; tests
run alone, because some are in real time. The time of each check is printed, and kept in
target/test-times-TIER.csv; what failed is named once more at the end.

    scripts/test.py                      the quick tier
    scripts/test.py --tier full          the full tier
    scripts/test.py NAME [NAME ...]      only the checks whose names begin so, of both tiers
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
TARGET = os.environ.get("CARGO_TARGET_DIR", "target")
SKIPPED = 77
ALONE = "alone"
"""The mark of tests in real time, or with time-outs that others set."""
SLOW = "slow"
"""The mark of tests that take seconds each, and run in the full tier alone."""
RANDOM = "hypothesis"
"""The mark that hypothesis gives to its tests."""
QUICK, FULL = "quick", "full"
ALL_CASES = {"INCASTLE_TESTS": "full"}
"""Has tests with random inputs run all of their cases."""
WORKERS_PER_CORE, MAX_WORKERS = 2, 8
"""Two, because many tests wait: for the ends of connections, for other programs."""
TOGETHER = 2
"""Checks without tests that run at the same time: most use one core."""


@dataclass(frozen=True)
class Count:
    """The counts that a runner reported."""

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
        """Return the text of the last line."""
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def single(_output: str) -> Count:
    """Count a check without tests."""
    return Count(passed=1)


def cargo_tests(output: str) -> Count:
    """Sum cargo's lines, one per test binary and per crate's documentation."""
    pattern = r"^test result: .*? (\d+) passed; (\d+) failed; (\d+) ignored;"
    found = re.findall(pattern, output, flags=re.MULTILINE)
    return sum((Count(*map(int, line)) for line in found), Count())


def closing_line(output: str) -> Count:
    """Read the last line of a runner that counts as this program does."""
    found = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", output, flags=re.MULTILINE)
    return Count(*map(int, found[-1])) if found else Count()


@dataclass(frozen=True)
class Check:
    """A command, how to count its report, and what it adds to the environment."""

    name: str
    command: list[str]
    count: Callable[[str], Count] = single
    env: dict[str, str] = field(default_factory=dict)
    tier: str = QUICK

    @property
    def has_tests(self) -> bool:
        """Return whether it runs tests: those have the machine for themselves."""
        return self.count is not single


def python(*arguments: str) -> list[str]:
    """Return a command for the interpreter of the virtual environment."""
    return [sys.executable, *arguments]


def pytest_check(
    folder: Path,
    name: str,
    *options: str,
    env: dict[str, str] | None = None,
    tier: str = QUICK,
) -> Check:
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

    command = python("-m", "pytest", "-rfEs", f"--junitxml={report}", *options)
    return Check(name, command, count, env=env or {}, tier=tier)


def pytest_checks(folder: Path) -> list[Check]:
    """Return pytest's tests: those on all cores, those that others disturb, the slow ones.

    Each test is in one of them, whatever its marks. Tests with random inputs run once more with all
    of their cases.
    """
    workers = str(min(WORKERS_PER_CORE * (os.cpu_count() or 1), MAX_WORKERS))
    on_all_cores = ("-n", workers, "--dist", "loadgroup")
    finished = {"INCASTLE_RUNS": str(folder / "runs")}  # by the check of digests
    together = ("-m", f"not {ALONE} and not {SLOW}", *on_all_cores)
    slow = ("-m", f"not {ALONE} and {SLOW}", *on_all_cores)
    alone = ("-m", f"{ALONE} and not {SLOW}")
    slow_alone = ("-m", f"{ALONE} and {SLOW}")
    return [
        pytest_check(folder, "pytest", *together, env=finished),
        pytest_check(folder, f"pytest, {ALONE}", *alone),
        pytest_check(folder, f"pytest, {SLOW}", *slow, tier=FULL),
        pytest_check(folder, f"pytest, {SLOW} and {ALONE}", *slow_alone, tier=FULL),
        pytest_check(folder, "pytest, all cases", "-m", RANDOM, env=ALL_CASES, tier=FULL),
    ]


def examples(folder: Path) -> list[Check]:
    """Return one check per example: scenarios are run, the controllers too, in short form."""
    checks = []
    for path in sorted((ROOT / "examples").iterdir()):
        name = f"examples/{path.name}"
        if path.suffix == ".toml":
            out = str(folder / path.stem)
            checks.append(Check(name, [str(BIN / "incastle"), "run", name, "--out", out]))
    own = "examples/my-controller"
    picture = str(folder / "my-controller.png")
    program = f"{own}/python/delay_and_dctcp.py"
    manifest = ("--manifest-path", f"{own}/rust/Cargo.toml", "--target-dir", TARGET)
    return [
        *checks,
        Check(program, python(program, "--quick", "--out", picture)),
        Check(f"{own}/rust fmt", ["cargo", "fmt", "--check", *manifest[:2]]),
        Check(f"{own}/rust lock", ["cargo", "fetch", "--quiet", "--locked", *manifest[:2]]),
        Check(f"{own}/rust", ["cargo", "run", "--quiet", "--locked", *manifest], tier=FULL),
        Check(f"{own}/rust test", ["cargo", "test", "--locked", *manifest], cargo_tests, tier=FULL),
    ]


def all_checks(folder: Path) -> list[Check]:
    """Return the checks, the quick ones first."""
    stubs = [str(BIN / "stubtest"), "--mypy-config-file", "scripts/stubtest.ini"]
    engine = [*stubs, "incastle._engine"]
    clippy = ["cargo", "clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]
    tests = ["cargo", "test", "--locked", "--workspace", "--no-fail-fast"]
    docs = ["cargo", "doc", "--locked", "--workspace", "--no-deps"]
    return [
        # Cargo builds one thing at a time: its two long checks are far apart.
        Check("clippy", clippy),
        Check("cargo fmt", ["cargo", "fmt", "--all", "--check"]),
        Check("ruff check", python("-m", "ruff", "check", ".")),
        Check("ruff format", python("-m", "ruff", "format", "--check", ".")),
        Check("mypy", python("-m", "mypy")),
        Check("stubtest", engine),
        Check("crates", python("scripts/check_crates.py")),
        Check("sizes", python("scripts/check_sizes.py")),
        Check("modelled", python("scripts/modelled.py", "--check")),
        Check("cargo deny", python("scripts/check_deny.py")),
        Check("lints", python("scripts/check_lints.py")),
        Check("kernel", python("scripts/kernel.py", "try")),
        Check("lab, sources", python("scripts/lab.py", "lint")),
        Check(
            "mkdocs",
            python("-m", "mkdocs", "build", "--strict", "-d", str(folder / "site")),
            env={"NO_MKDOCS_2_WARNING": "1"},
        ),
        Check("cargo doc", docs, env={"RUSTDOCFLAGS": "-D warnings"}),
        *examples(folder),
        Check("digests", python("scripts/check_digests.py", "--runs", str(folder / "runs"))),
        Check("cargo test", tests, cargo_tests),
        Check("lab, functions", python("scripts/lab.py", "test"), closing_line),
        *pytest_checks(folder),
        Check("cargo test, all cases", tests, cargo_tests, env=ALL_CASES, tier=FULL),
        Check("kernel, sources", python("scripts/kernel.py", "lint"), tier=FULL),
        Check("kernel, tests", python("scripts/kernel.py", "test"), cargo_tests, tier=FULL),
        Check("wasm digest", python("scripts/wasm_digest.py"), tier=FULL),
        Check("lab in a browser", python("scripts/lab.py", "drive"), closing_line, tier=FULL),
        Check("wheel", python("scripts/check_wheel.py"), tier=FULL),
        Check("artifact", python("scripts/check_artifact.py"), tier=FULL),
        Check("documents", python("scripts/check_docs.py"), cargo_tests, tier=FULL),
    ]


FAILURE = re.compile(
    r"^test .* FAILED$"  # cargo
    r"|^(?:FAILED|ERROR) .*"  # pytest
    r"|^ *FAIL  .*\n.*",  # vitest, with the message in the next line
    flags=re.MULTILINE,
)
SECOND_TRY = re.compile(r"^passed at the second try: .*", flags=re.MULTILINE)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
LAST_LINES = 10


@dataclass(frozen=True)
class Outcome:
    """What a check came to."""

    name: str
    seconds: float
    count: Count
    output: str

    def failures(self) -> list[str]:
        """Return the names of its failed tests, or its last lines where it has none."""
        if not self.count.failed:
            return []
        plain = COLOUR.sub("", self.output)
        return FAILURE.findall(plain) or plain.splitlines()[-LAST_LINES:]


def execute(check: Check) -> Outcome:
    """Run a check.

    The output of tests is passed on as it comes, that of others in one piece: they run together.
    """
    started = time.monotonic()
    title = f"\n=== {check.name}\n"
    lines: list[str] = []
    if check.has_tests:
        print(title, end="", flush=True)
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
            lines.append(line)
            if check.has_tests:
                print(line, end="", flush=True)
    output = "".join(lines)
    if not check.has_tests:
        print(title + output, end="", flush=True)
    count = count_of(check, process.returncode, output)
    return Outcome(check.name, time.monotonic() - started, count, output)


def count_of(check: Check, status: int, output: str) -> Count:
    """Return the count of a check that ended."""
    if status == SKIPPED:
        return Count(skipped=1)
    count = check.count(output)
    if status == 0:
        return count
    # A linter that failed did not pass; a runner that died may have named no test.
    return count if count.failed else Count(count.passed * check.has_tests, 1)


def keep_times(tier: str, outcomes: list[Outcome]) -> Path:
    """Write the time of each check."""
    path = ROOT / TARGET / f"test-times-{tier}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("check", "seconds", "passed", "failed", "skipped"))
        for outcome in outcomes:
            count = outcome.count
            counts = (count.passed, count.failed, count.skipped)
            writer.writerow((outcome.name, f"{outcome.seconds:.1f}", *counts))
    return path


def chosen(names: tuple[str, ...], tier: str, folder: Path) -> Iterator[Check]:
    """Return the checks whose names begin so; those of the tier without any names."""
    for check in all_checks(folder):
        if check.name.startswith(names) if names else check.tier == tier:
            yield check


def main() -> None:
    """Run the checks, print a table of their times, what failed, and the sum."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="only the checks whose names begin so")
    parser.add_argument("--tier", choices=(QUICK, FULL), default=QUICK, help="which checks to run")
    wanted = parser.parse_args()
    outcomes: list[Outcome] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="incastle-test-") as folder:
        checks = chosen(tuple(wanted.names), wanted.tier, Path(folder))
        for has_tests, group in groupby(checks, key=lambda check: check.has_tests):
            with ThreadPoolExecutor(1 if has_tests else TOGETHER) as pool:
                outcomes += pool.map(execute, group)
    print("\n=== summary")
    for outcome in outcomes:
        print(f"{outcome.name:32} {outcome.seconds:6.1f} s   {outcome.count}")
    print(f"{'all':32} {time.monotonic() - began:6.1f} s")
    if not wanted.names:
        print(f"times: {keep_times(wanted.tier, outcomes)}")
    for outcome in outcomes:
        for line in SECOND_TRY.findall(outcome.output):
            print(f"{outcome.name}: {line}")
        for line in outcome.failures():
            print(f"failed: {outcome.name}: {' '.join(line.split())}")
    total = sum((outcome.count for outcome in outcomes), Count())
    print("", total, sep="\n")
    sys.exit(1 if total.failed else 0)


if __name__ == "__main__":
    main()
