"""Two reports side by side: runs by their digests, claims with their verdicts, data of figures.

Meant for two versions of Incastle, or two lengths. A claim has moved where its measured value is
another; it is apart where the 95 % intervals over the seeds do not meet, so that chance hardly
explains it. Leaves out: reasons and pictures, which follow from the rest.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path  # noqa: TC003  a field
from typing import TYPE_CHECKING, Any

from incastle.difference.values import relative, same
from incastle.errors import ResultError, unreadable
from incastle.storage.compressed import CSV, read_csv
from incastle.storage.places import CLAIMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

RUNS = f"runs{CSV}"


@dataclass(frozen=True)
class ClaimChange:
    """A claim that is different in two reports, or in one of them alone.

    Attributes:
        paper, id, unit: which, and of what its values are.
        a, b: its entries in claims.json, or None.

    """

    paper: str
    id: str
    unit: str
    a: dict[str, Any] | None
    b: dict[str, Any] | None

    @property
    def verdicts(self) -> tuple[str | None, str | None]:
        """The verdict on both sides."""
        return self._both("verdict")

    @property
    def measured(self) -> tuple[float | None, float | None]:
        """The deciding value on both sides."""
        return self._both("measured")

    @property
    def verdict_changed(self) -> bool:
        """Whether the verdicts differ, where both have one."""
        return self.a is not None and self.b is not None and len(set(self.verdicts)) > 1

    @property
    def cases(self) -> tuple[str, ...]:
        """Of several cases those that differ by value or verdict, or that one side alone has."""
        a, b = map(_cases, self._both("cases"))
        if len(a | b) < 2:  # noqa: PLR2004  the claim itself
            return ()
        return tuple(name for name in dict.fromkeys((*a, *b)) if a.get(name) != b.get(name))

    @property
    def relative(self) -> float | None:
        """The change of the measured value, as a share of it."""
        return relative(*self.measured)

    @property
    def apart(self) -> bool:
        """Whether the intervals of the two measured values do not meet."""
        (a, b) = self._both("interval")
        return bool(a and b) and (a[1] < b[0] or b[1] < a[0])

    def as_json(self) -> dict[str, Any]:
        """Return its entry in the JSON of a comparison."""
        sides = zip("ab", self.verdicts, self.measured, strict=True)
        entry: dict[str, Any] = {"paper": self.paper, "id": self.id, "unit": self.unit}
        for side, verdict, measured in sides:
            entry[side] = None if verdict is None else {"verdict": verdict, "measured": measured}
        more = {"relative": self.relative, "apart": self.apart, "cases": self.cases}
        return {**entry, **more}

    def _both(self, name: str) -> tuple[Any, Any]:
        return (self.a or {}).get(name), (self.b or {}).get(name)


@dataclass(frozen=True)
class RunCounts:
    """How many runs of a paper are in both reports with the same course, and how many are not.

    Attributes:
        paper: which.
        same, other: in both, of equal and of different digests.
        only_a, only_b: in one of them alone.
        experiments: those with a run of another course.

    """

    paper: str
    same: int
    other: int
    only_a: int
    only_b: int
    experiments: tuple[str, ...]


@dataclass(frozen=True)
class FigureChange:
    """The data of a figure that are different.

    Attributes:
        paper, name: which.
        what: how they differ, in words.
        column: the column that differs most, where the rows are those of the other.
        relative: by how much at most there, as a share of the column's mean magnitude.

    """

    paper: str
    name: str
    what: str
    column: str | None = None
    relative: float | None = None


@dataclass(frozen=True)
class ReportDiff:
    """Differences between two reports.

    Attributes:
        places: where they lie.
        a, b: their claims, by paper and id.

    """

    places: tuple[Path, Path]
    a: dict[tuple[str, str], dict[str, Any]]
    b: dict[tuple[str, str], dict[str, Any]]

    @classmethod
    def load(cls, a: Path, b: Path) -> ReportDiff:
        """Read the claims of two reports."""
        return cls((a, b), _claims(a), _claims(b))

    @cached_property
    def claims(self) -> list[ClaimChange]:
        """Claims that differ by value, verdict, band or cases, or that one report alone has."""
        names = dict.fromkeys((*self.a, *self.b))
        pairs = ((name, self.a.get(name), self.b.get(name)) for name in names)
        return [
            ClaimChange(*name, (a or b or {}).get("unit", ""), a, b)
            for name, a, b in pairs
            if a is None or b is None or not _equal(a, b)
        ]

    @cached_property
    def runs(self) -> list[RunCounts]:
        """By paper of both reports, how the runs compare."""
        return [
            _count(paper, *(place / paper / RUNS for place in self.places)) for paper in self.papers
        ]

    @cached_property
    def papers(self) -> list[str]:
        """Papers of which both reports have runs."""
        first, second = self.places
        here = sorted(path.parent.name for path in first.glob(f"*/{RUNS}"))
        return [name for name in here if (second / name / RUNS).is_file()]

    @cached_property
    def figures(self) -> list[FigureChange]:
        """Figures of those papers whose data differ."""
        return [change for paper in self.papers for change in _figures(paper, *self.places)]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return {
            "kind": "reports",
            "a": {"directory": str(self.places[0]), "claims": len(self.a)},
            "b": {"directory": str(self.places[1]), "claims": len(self.b)},
            "claims": [one.as_json() for one in self.claims],
            "runs": [vars(one) for one in self.runs],
            "figures": [vars(one) for one in self.figures],
        }


def _claims(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    path = folder / CLAIMS
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
            raise ResultError(f"{path} cannot be read: it is no list of claims")
        return {(entry["paper"], entry["id"]): entry for entry in entries}
    except (OSError, ValueError, KeyError) as error:
        raise unreadable(path, error) from None


def _equal(a: dict[str, Any], b: dict[str, Any]) -> bool:
    alike = all(same(a.get(name), b.get(name)) for name in ("measured", "verdict", "band"))
    return alike and _cases(a.get("cases")) == _cases(b.get("cases"))


def _cases(entries: list[dict[str, Any]] | None) -> dict[str, tuple[Any, Any]]:
    """Return measured value and verdict of each case."""
    return {one["case"]: (one.get("measured"), one.get("verdict")) for one in entries or ()}


def _count(paper: str, a: Path, b: Path) -> RunCounts:
    first, second = _digests(a), _digests(b)
    both = first.keys() & second.keys()
    other = [name for name in first if name in both and first[name] != second[name]]
    return RunCounts(
        paper,
        len(both) - len(other),
        len(other),
        len(first) - len(both),
        len(second) - len(both),
        tuple(dict.fromkeys(experiment for experiment, _ in other)),
    )


def _digests(path: Path) -> dict[tuple[str, str], str]:
    try:
        rows = list(csv.DictReader(io.StringIO(_text(path))))
        return {(row["experiment"], row["seed"]): row["digest"] for row in rows}
    except KeyError as error:
        raise unreadable(path, error) from None


def _figures(paper: str, a: Path, b: Path) -> Iterator[FigureChange]:
    stems = [
        {
            path.name.removesuffix(CSV)
            for path in (place / paper).glob(f"*{CSV}")
            if path.name != RUNS
        }
        for place in (a, b)
    ]
    for stem in sorted(stems[0] | stems[1]):
        for here, place in zip(stems, (a, b), strict=True):
            if stem not in here:
                yield FigureChange(paper, stem, f"{place} does not have it")
        if stem in stems[0] & stems[1]:
            texts = [_text(place / paper / f"{stem}{CSV}") for place in (a, b)]
            if texts[0] != texts[1]:
                yield _figure(paper, stem, *map(_table, texts))


def _text(path: Path) -> str:
    try:
        return read_csv(path)
    except (OSError, EOFError, ValueError) as error:
        raise unreadable(path, error) from None


def _table(text: str) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    return pl.read_csv(io.StringIO(text), infer_schema_length=None)


def _figure(paper: str, stem: str, a: pl.DataFrame, b: pl.DataFrame) -> FigureChange:
    """Compare the data of one figure column by column, where the rows are the same."""
    if a.columns != b.columns:
        return FigureChange(paper, stem, "other columns")
    words = [name for name, kind in a.schema.items() if not kind.is_numeric()]
    if len(a) != len(b):
        return FigureChange(paper, stem, f"{len(a):,} rows and {len(b):,}")
    if not a.select(words).equals(b.select(words)):
        return FigureChange(paper, stem, "rows of other names")
    moves = {name: _move(a[name], b[name]) for name in a.columns if name not in words}
    column = max(moves, key=lambda name: moves[name] or 0.0, default=None)
    moved = sum(not a[name].equals(b[name]) for name in moves)
    what = f"{moved} of {len(moves)} columns of numbers"
    return FigureChange(paper, stem, what, column, moves[column] if column else None)


def _move(a: pl.Series, b: pl.Series) -> float | None:
    """Return the largest difference as a share of the mean magnitude."""
    if not b.dtype.is_numeric():
        return None
    level, most = a.abs().mean(), (b.cast(float) - a.cast(float)).abs().max()
    return float(most) / float(level) if level and most is not None else None  # type: ignore[arg-type]
