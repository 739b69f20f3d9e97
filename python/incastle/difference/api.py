"""`diff`: selects the comparison for two paths, or reports that there is none."""

from __future__ import annotations

import os
from pathlib import Path

from incastle.difference.reports import ReportDiff
from incastle.difference.results import ResultDiff
from incastle.errors import ResultError
from incastle.results import Result
from incastle.storage.places import CLAIMS, SUMMARY, described

RESULT, REPORT = "a result", "a report"
WANTED = "a result is what `incastle run` writes, a report what `incastle reproduce` writes"


def diff(
    a: Result | str | os.PathLike[str],
    b: Result | str | os.PathLike[str],
    *,
    verify: bool = True,
) -> ResultDiff | ReportDiff:
    """Compare two results, or two reports.

    Args:
        a: a result; or a directory that `incastle run` or `Result.save` wrote, or
            `incastle reproduce`.
        b: another one of the same kind.
        verify: of results, hold every file against its hash.

    Raises:
        TypeError: one of them is something else.
        ResultError: one of them is neither, or they are not of one kind, or cannot be read.

    """
    first, second = _side(a), _side(b)
    kinds = (_kind(first), _kind(second))
    if kinds[0] != kinds[1]:
        raise ResultError(
            f"{first} is {kinds[0]} and {second} is {kinds[1]}: "
            "only two of one kind can be compared"
        )
    if isinstance(first, Path) and isinstance(second, Path) and kinds[0] == REPORT:
        return ReportDiff.load(first, second)
    one, other = (
        Result.load(side, verify=verify) if isinstance(side, Path) else side
        for side in (first, second)
    )
    for result in (one, other):
        if result.world.get("comparable") is False:
            from incastle.worlds.api import why_not  # noqa: PLC0415  slow to import

            raise ResultError(
                f"the run of {result.name!r} in the world {result.world['name']} is not "
                f"comparable: {why_not(result.world)}; "
                f"--dilate {result.world['dilation_needed']} would do"
            )
    places = (side if isinstance(side, Path) else None for side in (first, second))
    return ResultDiff(one, other, (next(places), next(places)))


def _side(given: object) -> Result | Path:
    if isinstance(given, str | os.PathLike):
        return Path(given)
    if isinstance(given, Result):
        return given
    raise TypeError(f"a result or its directory is expected, found {given!r}")


def _kind(place: Result | Path) -> str:
    if isinstance(place, Result) or (place / SUMMARY).is_file():
        return RESULT
    if (place / CLAIMS).is_file():
        return REPORT
    if not place.exists():
        raise ResultError(f"{place} does not exist; {WANTED}")
    raise ResultError(f"{place} is neither a result nor a report: {described(place) or WANTED}")
