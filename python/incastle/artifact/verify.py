"""Verifies an artifact: its files by their hashes, then its results by running all of it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incastle import _engine, runner, terminal
from incastle.artifact.layout import (
    DECLARATION,
    PAPERS,
    REPORT,
    RESULTS,
    ArtifactError,
    check_sums,
)
from incastle.artifact.pack import declared, read_declaration, read_header
from incastle.difference.reports import ReportDiff
from incastle.reproduction import main
from incastle.reproduction.papers import Length, discover
from incastle.reproduction.report import Asked
from incastle.results import Result
from incastle.scenario import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Verification:
    """What a second run gave.

    Attributes:
        lines: what was compared, in words.
        is_same: whether all of it is the same.
        reports: both reports side by side; None of results.

    """

    lines: list[str]
    is_same: bool
    reports: ReportDiff | None = None


def check_files(crate: Path) -> dict[str, Any]:
    """Compare the files with their hashes; return the declaration of the artifact.

    Raises:
        ArtifactError: a file was changed, or another version of Incastle packed it.

    """
    count = check_sums(crate)
    declaration = read_declaration(crate / DECLARATION, ("kind", "command"))
    if declaration["version"] != _engine.__version__:
        raise ArtifactError(
            f"{crate} was packed by Incastle {declaration['version']}, and this is "
            f"{_engine.__version__}: verify it with that version"
        )
    return {**declaration, "files": count}


def run_again(crate: Path, kind: str, out: Path, threads: int) -> Verification:
    """Run all of an artifact again and compare.

    Args:
        crate: the artifact, whose files were checked.
        kind: of its declaration.
        out: where a report is written.
        threads: runs at the same time.

    Raises:
        ArtifactError: the installed papers are not those of the artifact.
        Interrupted: Ctrl-C.

    """
    if kind == RESULTS:
        return _results(crate / RESULTS, threads)
    header = read_header(crate / REPORT)
    _check_papers(crate / PAPERS, header["papers"])
    asked = Asked(header["papers"], header["figure"], Length(header["length"]))
    main.make_report(asked, out, threads)
    return _reports(ReportDiff.load(crate / REPORT, out))


def _check_papers(place: Path, names: list[str]) -> None:
    """Refuse papers that are declared otherwise here: other claims or scenarios, one version."""
    shipped = discover()
    for name in names:
        if name not in shipped:
            raise ArtifactError(f"this build of Incastle has no paper {name}")
        folder = shipped[name].folder
        here, there = declared(folder), declared(place / name)
        same = set(here) & set(there)
        other = set(here) ^ set(there)
        other |= {
            one for one in same if (folder / one).read_bytes() != (place / name / one).read_bytes()
        }
        if other:
            raise ArtifactError(
                f"{PAPERS}/{name}/{min(other)} is not that of this Incastle, although both are "
                f"{_engine.__version__}: install the build that the artifact was packed with"
            )


def _reports(diff: ReportDiff) -> Verification:
    changed = sum(one.verdict_changed or None in (one.a, one.b) for one in diff.claims)
    runs = [(one.same, one.other + one.only_a + one.only_b) for one in diff.runs]
    same, other = (sum(counts) for counts in zip(*runs, strict=True))
    claims = len(diff.a)
    lines = [
        f"verdicts: {claims - changed:,} of {claims:,} are the same",
        f"values: {claims - len(diff.claims):,} of {claims:,} are the same",
        f"digests of runs: {same:,} of {same + other:,} are the same",
        f"data of figures: {len(diff.figures) or 'none'} differ",
    ]
    return Verification(lines, not (diff.claims or other or diff.figures), diff)


def _results(place: Path, threads: int) -> Verification:
    first = [Result.load(folder) for folder in sorted(place.iterdir())]
    scenarios = [load(folder / "scenario.toml") for folder in sorted(place.iterdir())]
    with terminal.progress_bar("verify") as progress:
        second = runner.run_many(scenarios, threads, progress)
    differences = [line for a, b in zip(first, second, strict=True) for line in _differences(a, b)]
    same = sum(a.digest == b.digest for a, b in zip(first, second, strict=True))
    lines = [f"digests of runs: {same:,} of {len(first):,} are the same", *differences]
    return Verification(lines, not differences)


def _differences(a: Result, b: Result) -> Iterator[str]:
    if a.digest != b.digest:
        yield f"{a.name}, seed {a.seed}: digest {a.digest} was packed, {b.digest} came out"
    # The summary counts the engine's events, which depend on the number of threads.
    for name in sorted((a.tables.keys() | b.tables.keys()) - {"summary"}):
        if not (name in a.tables and name in b.tables and a.table(name).equals(b.table(name))):
            yield f"{a.name}, seed {a.seed}: the table {name} is another"
