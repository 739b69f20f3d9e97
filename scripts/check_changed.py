# ruff: noqa: INP001
"""Checks what changed: formatting, lints, types, and the unit tests of the changed parts.

For use before each commit (`make check`). Changed is what differs from the last commit, or, where
nothing does, what the last commit changed; `--since REF` compares with another one. A changed crate
is linted, and its unit tests run. So do changed Python tests, and the tests of changed Python
modules (tests/python/test_NAME*.py). Integration tests are left to `make test`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "python"


def lines(*command: str) -> list[str]:
    """Return what a command prints."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def changed(since: str | None) -> set[str]:
    """Return the files that differ, new ones included."""
    new = lines("git", "ls-files", "--others", "--exclude-standard")
    found = {*lines("git", "diff", "--name-only", since or "HEAD"), *new}
    return found or set(lines("git", "diff", "--name-only", "HEAD~1"))


def crates(files: set[str]) -> list[str]:
    """Return the names of the crates with changed files."""
    folders = {Path(name).parts[1] for name in files if name.startswith("crates/")}
    folders.discard("kernel")  # not in the workspace: scripts/kernel.py
    return sorted(f"incastle-{one}" for one in folders if (ROOT / "crates" / one).is_dir())


def python_tests(files: set[str]) -> list[str]:
    """Return the test files that belong to changed modules, or were changed."""
    found = {ROOT / name for name in files if name.startswith("tests/python/test_")}
    modules = [Path(name) for name in files if name.startswith("python/incastle/")]
    for module in modules:
        for word in {module.stem, module.parent.name} - {"__init__", "incastle"}:
            found |= set(TESTS.glob(f"test_{word}*.py"))
    return sorted(str(path) for path in found if path.exists())


def checks(files: set[str]) -> list[list[str]]:
    """Return the commands, the quick ones first."""
    python = [sys.executable, "-m"]
    found = [
        ["cargo", "fmt", "--all", "--check"],
        [*python, "ruff", "format", "--check", "."],
        [*python, "ruff", "check", "."],
        [sys.executable, "scripts/check_crates.py"],
        [sys.executable, "scripts/check_sizes.py"],
        [*python, "mypy"],
    ]
    packages = [word for name in crates(files) for word in ("-p", name)]
    if packages:
        found.append(["cargo", "clippy", "--locked", *packages, "--lib", "--", "-D", "warnings"])
        found.append(["cargo", "test", "--locked", *packages, "--lib", "--bins"])
    tests = python_tests(files)
    if tests:
        marks = ("-m", "not slow and not alone", "-n", str(os.cpu_count() or 1))
        found.append(["make", "--no-print-directory", "setup"])  # with the engine as it is now
        found.append([*python, "pytest", *marks, *tests])
    return found


def main() -> None:
    """Run the commands, and stop at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--since", metavar="REF", help="what changed since this commit")
    files = changed(parser.parse_args().since)
    began = time.monotonic()
    for command in checks(files):
        shown = " ".join(Path(word).name if word == sys.executable else word for word in command)
        print(f"=== {shown}", flush=True)
        done = subprocess.run(command, cwd=ROOT, check=False)
        if done.returncode:
            sys.exit(f"failed: {shown}")
    print(f"{len(files)} changed files checked in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
