"""`diff`: selects the comparison for two paths, or reports that there is none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from incastle.difference.reports import ReportDiff
from incastle.difference.results import ResultDiff
from incastle.errors import ResultError
from incastle.results import Result
from incastle.storage.places import CLAIMS, SUMMARY, described

if TYPE_CHECKING:
    import os

RESULT, REPORT = "a result", "a report"
WANTED = "a result is what `incastle run` writes, a report what `incastle reproduce` writes"


def diff(
    a: str | os.PathLike[str], b: str | os.PathLike[str], *, verify: bool = True
) -> ResultDiff | ReportDiff:
    """Compare two results, or two reports.

    Args:
        a: a directory that `incastle run` or `Result.save` wrote, or `incastle reproduce`.
        b: another one of the same kind.
        verify: of results, hold every file against its hash.

    Raises:
        ResultError: one of them is neither, or they are not of one kind, or cannot be read.

    """
    first, second = Path(a), Path(b)
    kinds = (_kind(first), _kind(second))
    if kinds[0] != kinds[1]:
        raise ResultError(
            f"{first} is {kinds[0]} and {second} is {kinds[1]}: "
            "only two of one kind can be compared"
        )
    if kinds[0] == RESULT:
        one, other = (Result.load(place, verify=verify) for place in (first, second))
        return ResultDiff(one, other, (first, second))
    return ReportDiff.load(first, second)


def _kind(place: Path) -> str:
    if (place / SUMMARY).is_file():
        return RESULT
    if (place / CLAIMS).is_file():
        return REPORT
    if not place.exists():
        raise ResultError(f"{place} does not exist; {WANTED}")
    raise ResultError(f"{place} is neither a result nor a report: {described(place) or WANTED}")
