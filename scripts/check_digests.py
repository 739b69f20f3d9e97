# ruff: noqa: INP001
"""Compares the digests of all examples and of the papers' quick runs with tests/digests.csv.

A digest is the hash of everything that happened in a simulation. Renaming or moving code changes
none. Where a change of the model does, `--write` writes the list anew, and the commit has the
reason.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import incastle as ic

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "digests.csv"
COLUMNS = ("of", "experiment", "seed", "digest")
MOST = 10
"""Differences that are shown."""

Run = tuple[str, str, str]


def of_examples() -> Iterator[tuple[Run, str]]:
    """Run each scenario of examples/ with its own seed."""
    for path in sorted((ROOT / "examples").glob("*.toml")):
        result = ic.run(ic.load(path))
        yield ("examples", path.stem, str(result.seed)), result.digest


def of_papers(folder: Path) -> Iterator[tuple[Run, str]]:
    """Run `incastle reproduce --quick`, and read what each paper's report names."""
    command = [str(Path(sys.executable).parent / "incastle"), "reproduce", "--quick"]
    done = subprocess.run(
        [*command, "--out", str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stderr}")
    for path in sorted(folder.glob("*/runs.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                yield (path.parent.name, row["experiment"], row["seed"]), row["digest"]


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
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the report of the papers")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="incastle-digests-") as folder:
        found = dict([*of_examples(), *of_papers(arguments.out or Path(folder))])
    if arguments.write:
        write(found)
        print(f"{len(found):,} digests in {LIST.relative_to(ROOT)}")
        return
    wrong = differences(found, expected())
    for line in wrong[:MOST]:
        print(line)
    if wrong:
        sys.exit(f"{len(wrong):,} of {len(found):,} digests differ from tests/digests.csv")
    print(f"{len(found):,} digests are those of tests/digests.csv")


if __name__ == "__main__":
    main()
