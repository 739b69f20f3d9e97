"""Parts of a sweep's dataset: for some runs one Parquet file per table, each with its hash.

    summary/NAME.parquet     one row per run
    flows/NAME.parquet, ...  the rows of each run, run by run
    runs/NAME.parquet        the runs of the part in that order: their names, and how many rows each
                             has in every further table

NAME follows from the names of the runs in their order, and of the columns. Nothing here is ever
changed, only added and removed. sweep.json alone lists the parts (`dataset`), so
that what a killed process has added or not removed does not count.
"""

from __future__ import annotations

import hashlib
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from incastle.errors import unreadable
from incastle.storage.files import scratch_file, sync
from incastle.storage.hashes import check_file, hash_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

SUMMARY, RUNS = "summary", "runs"
UNFINISHED = ".unfinished"
ENDING = ".parquet"
PART_NAME = re.compile(r"[0-9a-f]{20}\.parquet")

MAX_RUNS = 10_000
MAX_ROWS = 1_000_000
"""Maxima of a part: runs, and rows in any table unless one run alone has more."""

PLACE = " place"
"""A column while rows are put in order; no table has one of this name."""


@dataclass(frozen=True)
class Part:
    """A part: its name, how many runs it has, and the hash of its file in each folder."""

    name: str
    runs: int
    hashes: dict[str, str]

    def path(self, directory: Path, table: str) -> Path:
        """Return the place of one of its files."""
        return directory / table / f"{self.name}{ENDING}"

    def files(self, directory: Path) -> Iterator[Path]:
        """Return the places of all its files."""
        return (self.path(directory, table) for table in self.hashes)

    def damaged(self, directory: Path) -> Path | None:
        """Return the first file that is lost or was changed, or none."""
        for table, expected in self.hashes.items():
            path = self.path(directory, table)
            try:
                check_file(path, expected)
            except (OSError, ValueError):
                return path
        return None

    def read(
        self,
        directory: Path,
        table: str,
        columns: Sequence[str] | None = None,
        *,
        verify: bool = True,
    ) -> pl.DataFrame:
        """Read one of its files.

        Raises:
            FileNotFoundError: it is not there.
            ResultError: it was changed, or cannot be read; `--resume` makes its runs again.

        """
        path = self.path(directory, table)
        try:
            if verify:
                check_file(path, self.hashes[table])
            return pl.read_parquet(path, columns=list(columns) if columns is not None else None)
        except FileNotFoundError:
            raise
        except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as no:
            raise unreadable(path, no, "--resume makes its runs again") from None

    def schema(self, directory: Path, table: str) -> dict[str, Any]:
        """Return the columns of one of its files, and their types."""
        return dict(pl.read_parquet_schema(self.path(directory, table)))


def name_of(runs: Sequence[str], columns: Mapping[str, Iterable[str]]) -> str:
    """Return the name of a part with these runs in this order, and these columns in its tables."""
    text = [*runs, *(f"{table} {name}" for table, names in columns.items() for name in names)]
    return hashlib.blake2b("\n".join(text).encode(), digest_size=10).hexdigest()


def write(
    directory: Path, runs: Sequence[str], tables: Mapping[str, Sequence[pl.DataFrame]]
) -> Part:
    """Write a part: of each table the rows of each run. It does not count before sweep.json has it.

    Raises:
        OSError: a file cannot be written.

    """
    counts = {
        table: [frame.height for frame in frames]
        for table, frames in tables.items()
        if table != SUMMARY
    }
    whole = {table: joined(frames) for table, frames in tables.items()}
    return _write_files(directory, list(runs), counts, whole)


def _write_files(
    directory: Path,
    runs: list[str],
    counts: Mapping[str, Sequence[int]],
    tables: Mapping[str, pl.DataFrame],
) -> Part:
    name = name_of(runs, {table: frame.columns for table, frame in tables.items()})
    rows = [pl.Series(table, some, pl.UInt64) for table, some in counts.items()]
    index = pl.DataFrame([pl.Series(RUNS, runs, pl.String), *rows])
    part = Part(name, index.height, {})
    try:
        for table, frame in {**tables, RUNS: index}.items():
            part.hashes[table] = _write_file(part.path(directory, table), frame, directory)
    except OSError:
        for path in part.files(directory):
            path.unlink(missing_ok=True)
        raise
    return part


def _write_file(place: Path, frame: pl.DataFrame, directory: Path) -> str:
    """Write a file, on the disk when this returns; give its hash."""
    buffer = io.BytesIO()
    # One chunk: the bytes follow from the rows alone, not from how they came together.
    frame.rechunk().write_parquet(buffer, compression="zstd", statistics=False)
    content = buffer.getvalue()
    place.parent.mkdir(exist_ok=True)
    (directory / UNFINISHED).mkdir(exist_ok=True)
    with scratch_file(place, directory / UNFINISHED) as scratch:
        scratch.write_bytes(content)
    return hash_of(content)


def joined(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Put frames below each other; where their columns differ, a missing one is null."""
    schemas = {tuple(frame.schema.items()) for frame in frames}
    if len(schemas) == 1:
        return pl.concat(frames)
    columns = common_columns([dict(some) for some in schemas])
    return pl.concat([_with_columns(frame, columns) for frame in frames])


def common_columns(schemas: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the columns of several tables together, in an order that does not depend on theirs.

    Where they differ, columns of groups of flows (GROUP.MEASURE) come last, by name: they alone
    differ between runs. Swept keys, with points in them as well, come before the seed.
    """
    if all(list(schema.items()) == list(schemas[0].items()) for schema in schemas):
        return schemas[0]
    together: dict[str, Any] = {}
    for schema in sorted(schemas, key=list):
        together |= {name: kind for name, kind in schema.items() if name not in together}
    names = list(together)
    keys = names[: names.index("seed") + 1]
    grouped = sorted(name for name in names if "." in name and name not in keys)
    return {name: together[name] for name in names if name not in grouped} | {
        name: together[name] for name in grouped
    }


def _with_columns(frame: pl.DataFrame, columns: Mapping[str, Any]) -> pl.DataFrame:
    there = set(frame.columns)
    return frame.select(
        pl.col(name) if name in there else pl.lit(None, kind).alias(name)
        for name, kind in columns.items()
    )


@dataclass(frozen=True)
class Index:
    """The runs of a part in their order, and how many rows each has in every further table."""

    names: list[str]
    rows: dict[str, Any]

    @classmethod
    def of(cls, part: Part, directory: Path) -> Index:
        """Read the index of a part."""
        frame = part.read(directory, RUNS)
        rows = {name: frame[name].to_numpy() for name in frame.columns if name != RUNS}
        return cls(frame[RUNS].to_list(), rows)


def regroup(directory: Path, parts: Sequence[Part], order: pl.DataFrame) -> list[Part]:
    """Write the runs of some parts anew, in an order, in as few parts as can be.

    Args:
        directory: of the dataset.
        parts: intact parts.
        order: one row per run, in the order that is wanted: `part`, an index of `parts`, and `row`
            in it.

    Returns:
        The parts that take their place; one that is among them already is not written again.

    Raises:
        OSError: a file cannot be written.

    """
    indices = [Index.of(part, directory) for part in parts]
    of_part, of_row = order["part"].to_numpy(), order["row"].to_numpy()
    tables = [table for table in parts[0].hashes if table != RUNS]
    columns = {
        table: common_columns([part.schema(directory, table) for part in parts]) for table in tables
    }
    there = {part.name: part for part in parts}
    found = []
    for begin, end in _slices(indices, of_part, of_row):
        picked = _Picked(directory, parts, indices, of_part[begin:end], of_row[begin:end])
        runs = picked.names()
        name = name_of(runs, columns)
        if name in there:
            found.append(there[name])
            continue
        whole = {table: picked.rows(table, columns[table]) for table in tables}
        found.append(_write_files(directory, runs, picked.counts(), whole))
    return found


def _slices(indices: Sequence[Index], of_part: Any, of_row: Any) -> Iterator[tuple[int, int]]:  # noqa: ANN401  arrays
    """Divide an order of runs into parts that are not too large."""
    offsets = np.cumsum([0, *(len(index.names) for index in indices)])
    places = offsets[of_part] + of_row
    rows = [
        np.concatenate([index.rows[table] for index in indices]).astype(np.int64)[places]
        for table in indices[0].rows
    ]
    most = np.max(rows, axis=0).tolist() if rows else [1] * len(places)
    begin = held = 0
    for end, more in enumerate(most):
        if end > begin and (end - begin >= MAX_RUNS or held + more > MAX_ROWS):
            yield begin, end
            begin, held = end, 0
        held += more
    yield begin, len(most)


@dataclass(frozen=True)
class _Picked:
    """Some runs of some parts, in an order."""

    directory: Path
    parts: Sequence[Part]
    indices: Sequence[Index]
    of_part: Any
    of_row: Any

    def _each(self) -> Iterator[tuple[Index, int]]:
        for part, row in zip(self.of_part.tolist(), self.of_row.tolist(), strict=True):
            yield self.indices[part], row

    def names(self) -> list[str]:
        """Return the names of the runs."""
        return [index.names[row] for index, row in self._each()]

    def counts(self) -> dict[str, list[int]]:
        """Return how many rows each run has in each further table."""
        return {
            table: [int(index.rows[table][row]) for index, row in self._each()]
            for table in self.indices[0].rows
        }

    def rows(self, table: str, columns: Mapping[str, Any]) -> pl.DataFrame:
        """Return the rows of the runs in a table, run by run."""
        frames = []
        for part in np.unique(self.of_part).tolist():
            index = self.indices[part]
            (mine,) = np.nonzero(self.of_part == part)
            places = np.full(len(index.names), -1)
            places[self.of_row[mine]] = mine
            if table in index.rows:
                places = np.repeat(places, index.rows[table].astype(np.int64))
            frame = self.parts[part].read(self.directory, table)
            kept = _with_columns(frame, columns).with_columns(pl.Series(PLACE, places))
            frames.append(kept.filter(pl.col(PLACE) >= 0))
        return pl.concat(frames).sort(PLACE, maintain_order=True).drop(PLACE)


def remove_others(directory: Path, tables: Iterable[str], parts: Sequence[Part]) -> None:
    """Remove files of parts that do not count (any more), and nothing else."""
    named = {f"{part.name}{ENDING}" for part in parts}
    for table in tables:
        folder = directory / table
        others = [path for path in folder.glob(f"*{ENDING}") if path.name not in named]
        for path in others:
            if PART_NAME.fullmatch(path.name):
                path.unlink(missing_ok=True)
        if others:
            sync(folder)
