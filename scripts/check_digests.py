# ruff: noqa: INP001
"""Compares the digests of all examples and of the papers' quick runs with tests/digests.csv.

A digest is the hash of everything that happened in a simulation. Renaming or moving code changes
none. Where a change of the model does, `--write` writes the list anew, and the commit has the
reason.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import incastle as ic
from incastle.reproduction.main import choose
from incastle.reproduction.papers import Length, discover
from incastle.reproduction.run_cache import RunCache
from incastle.reproduction.running import Machine, run_all

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "digests.csv"
COLUMNS = ("of", "experiment", "seed", "digest")
MAX_LINES = 10
"""Differences that are shown."""

Run = tuple[str, str, str]


def of_examples() -> Iterator[tuple[Run, str]]:
    """Run each scenario of examples/ with its own seed."""
    for path in sorted((ROOT / "examples").glob("*.toml")):
        result = ic.run(ic.load(path))
        yield ("examples", path.stem, str(result.seed)), result.digest


def of_papers(folder: Path) -> Iterator[tuple[Run, str]]:
    """Run what `incastle reproduce --quick` runs; keep the runs in a folder, as it does."""
    parts = choose(discover(), (), None)
    observed = run_all(parts, Length.QUICK, Machine(RunCache(folder), None))
    for paper, observations in observed.items():
        for experiment, runs in observations.runs.items():
            for seed, one in enumerate(runs, 1):
                yield (paper, experiment, str(seed)), one.digest


def expected() -> dict[Run, str]:
    """Read the list."""
    with LIST.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        return {(row["of"], row["experiment"], row["seed"]): row["digest"] for row in rows}


def write(found: dict[Run, str]) -> None:
    """Write the list."""
    with LIST.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((*run, digest) for run, digest in sorted(found.items()))


def differences(found: dict[Run, str], known: dict[Run, str]) -> list[str]:
    """Name the runs whose digests differ, and those that one side alone has."""
    return [
        f"{' '.join(run)}: {known.get(run, 'not in the list')} -> {found.get(run, 'not run')}"
        for run in sorted(known.keys() | found.keys())
        if known.get(run) != found.get(run)
    ]


def main() -> None:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the list anew")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="keep the runs of the papers")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="incastle-digests-") as folder:
        found = dict([*of_examples(), *of_papers(arguments.runs or Path(folder))])
    if arguments.write:
        write(found)
        print(f"{len(found):,} digests in {LIST.relative_to(ROOT)}")
        return
    wrong = differences(found, expected())
    for line in wrong[:MAX_LINES]:
        print(line)
    if wrong:
        sys.exit(f"{len(wrong):,} of {len(found):,} digests differ from tests/digests.csv")
    print(f"{len(found):,} digests are those of tests/digests.csv")


if __name__ == "__main__":
    main()
