"""A sweep's directory: one Parquet dataset per table, with one file per finished run.

    sweep.json       version, keys and their values, seeds, tables
    scenario.toml    the complete scenario of the first combination, every default written out
    failures.json    the runs that gave no result in the last call, and why
    summary/         one row per run: swept keys, seed, digest, totals, measures
    flows/, ...      further tables, where they were asked for, with the same first columns

A file appears under its name when it is whole, and the one in `summary` last: a run is finished
when that is there. Whoever reads a folder of the dataset while a sweep goes on meets whole files
only; unfinished ones are in a folder of their own. One sweep at a time writes here.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from incastle import _engine
from incastle.errors import ResultError, unreadable
from incastle.files import scratch_file
from incastle.places import described
from incastle.sweeps.values import as_words, kind_of, takes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from incastle.scenario import Value
    from incastle.sweeps.plan import Run, Source

HEADER, SCENARIO, FAILURES = "sweep.json", "scenario.toml", "failures.json"
SUMMARY = "summary"
UNFINISHED, LOCK = ".unfinished", ".lock"
OURS = frozenset({HEADER, SCENARIO, FAILURES, UNFINISHED, LOCK})
"""What lies in the directory beside the tables and figures."""

END_OF_PARQUET = b"PAR1"


@dataclass
class Header:
    """What sweep.json holds.

    Attributes:
        version: the version of Incastle that computes it.
        name: the scenario's name.
        kinds: what the column of each swept key holds.
        values: the values of each key, in their order.
        seeds: the seeds, in their order.
        tables: the tables that are kept of each run, beside the summary.
        first: the settings of the combination that scenario.toml has.

    """

    version: str
    name: str
    kinds: dict[str, str]
    values: dict[str, list[Value]]
    seeds: list[int]
    tables: list[str]
    first: list[tuple[str, str]] = field(default_factory=list)

    @property
    def keys(self) -> list[str]:
        """The swept keys."""
        return list(self.kinds)

    def merged(self, other: Header) -> Header:
        """Give this with the values and seeds of another one added."""
        values = {key: _union(self.values[key], other.values[key]) for key in self.keys}
        seeds = _union(self.seeds, other.seeds)
        return replace(self, values=values, seeds=seeds)


class Dataset:
    """The directory of one sweep."""

    def __init__(self, directory: Path, header: Header) -> None:
        self.directory = directory
        self.header = header

    @classmethod
    def load(cls, directory: Path) -> Dataset:
        """Open what an earlier sweep wrote.

        Raises:
            ResultError: it is missing, or something else.

        """
        path = directory / HEADER
        if not path.is_file():
            if not directory.exists():
                raise ResultError(f"{directory} does not exist")
            why = described(directory) or f"it has no {HEADER}"
            raise ResultError(f"{directory} is not a sweep: {why}")
        try:
            header = Header(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise unreadable(path, error) from None
        header.first = [(key, text) for key, text in header.first]
        return cls(directory, header)

    @classmethod
    def begin(cls, directory: Path, header: Header, resolved: str) -> Dataset:
        """Make a new one in an empty or emptied folder; `resolved` is the first scenario."""
        (directory / SUMMARY).mkdir(exist_ok=True)
        dataset = cls(directory, header)
        with dataset._whole(directory / SCENARIO) as scratch:
            scratch.write_text(resolved, encoding="utf-8")
        dataset.write_header()
        return dataset

    def check_continues(self, wanted: Header, source: Source) -> None:
        """Refuse to go on with another version, other keys, tables or another scenario.

        Raises:
            ResultError: says what is different.
            ScenarioError: the scenario has mistakes now.

        """
        here, there = f"{self.directory} was begun", "--resume goes on with the same only"
        if self.header.version != wanted.version:
            ours = f"by Incastle {self.header.version}, this is {wanted.version}"
            raise ResultError(f"{here} {ours}: results of two versions are not mixed")
        if sorted(self.header.keys) != sorted(wanted.keys):
            keys = ", ".join(self.header.keys) or "no key"
            raise ResultError(f"{here} with {keys}: {there}")
        if wanted.tables and sorted(self.header.tables) != sorted(wanted.tables):
            tables = ",".join(self.header.tables) or "no further table"
            raise ResultError(f"{here} with {tables} beside the summary: {there}")
        for key, kind in self.header.kinds.items():
            if not takes(kind, wanted.kinds[key]):
                what = f"{kind} values of {key}"
                raise ResultError(f"{here} with {what}, which the new ones are not")
        resolved = source.scenario(self.header.first).resolved
        line = _first_difference(self.directory / SCENARIO, resolved)
        if line is not None:
            raise ResultError(f"{here} with another scenario: {line}. Choose another --out")

    def write_header(self) -> None:
        """Write sweep.json, for whoever reads the dataset or goes on with it."""
        with self._whole(self.directory / HEADER) as scratch:
            text = json.dumps(asdict(self.header), indent=2) + "\n"
            scratch.write_text(text, encoding="utf-8")

    @property
    def is_empty(self) -> bool:
        """Whether no run is finished."""
        return not any((self.directory / SUMMARY).glob("*.parquet"))

    def holds(self, run: Run) -> bool:
        """Tell whether a run is finished; a file that a crash of the machine cut off is not."""
        path = self._path(SUMMARY, run)
        try:
            with path.open("rb") as file:
                file.seek(-len(END_OF_PARQUET), os.SEEK_END)
                return file.read() == END_OF_PARQUET
        except OSError:
            return False

    def keep(self, run: Run, tables: Mapping[str, bytes]) -> None:
        """Write the tables of a finished run; its summary comes last.

        Raises:
            OSError: a file cannot be written; the run is then not finished.

        """
        for name in sorted(tables, key=lambda name: name == SUMMARY):
            path = self._path(name, run)
            path.parent.mkdir(exist_ok=True)
            with self._whole(path) as scratch:
                scratch.write_bytes(tables[name])

    def write_failures(self, failures: Sequence[tuple[Run, str]]) -> None:
        """Write the runs that gave no result, or nothing where there are none."""
        path = self.directory / FAILURES
        if not failures:
            path.unlink(missing_ok=True)
            return
        found = [
            {"values": run.values, "seed": run.seed, "error": message} for run, message in failures
        ]
        with self._whole(path) as scratch:
            scratch.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")

    def frame(self, table: str = SUMMARY, runs: Iterable[Run] | None = None) -> pl.DataFrame:
        """Give a table of all finished runs, or of these, in the order of values and seeds.

        Raises:
            ResultError: there is none, or it cannot be read.

        """
        import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

        folder = self.directory / table
        names = (
            [path.name for path in folder.glob("*.parquet")]
            if runs is None
            else [self._path(table, run).name for run in runs]
        )
        if not names:
            raise ResultError(self._no_table(table))
        try:
            frames = [pl.read_parquet(folder / name) for name in names]
        except (OSError, pl.exceptions.PolarsError) as error:
            raise unreadable(folder, error) from None
        # Groups of flows, and with them columns, may differ from run to run.
        return self._ordered(pl.concat(frames, how="diagonal"))

    def _ordered(self, frame: pl.DataFrame) -> pl.DataFrame:
        import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

        ranks = []
        for key in self.header.keys:
            words = in_column(self.header.values[key], self.header.kinds[key])
            places = {word: place for place, word in enumerate(words)}
            ranks.append(pl.col(key).replace_strict(places, return_dtype=pl.Int64))
        return frame.sort(*ranks, "seed", maintain_order=True)

    def _no_table(self, table: str) -> str:
        there = sorted(
            path.name
            for path in self.directory.iterdir()
            if path.is_dir() and path.name not in OURS and any(path.glob("*.parquet"))
        )
        if table not in there and there:
            return f"{self.directory} has no table {table!r}: it has {', '.join(there)}"
        return f"{self.directory} has no finished run"

    def _path(self, table: str, run: Run) -> Path:
        return self.directory / table / f"{run.name}.parquet"

    @contextmanager
    def _whole(self, path: Path) -> Iterator[Path]:
        folder = self.directory / UNFINISHED
        try:
            folder.mkdir(exist_ok=True)
            with scratch_file(path, folder) as scratch:
                yield scratch
        except OSError as error:
            # The place that the user knows, not the one beside it.
            error.filename, error.filename2 = str(path), None
            raise


def in_column(values: Sequence[Value], kind: str) -> list[Any]:
    """Give values as the column of their key holds them."""
    return [as_words(value) if kind == "text" else value for value in values]


def check_place(directory: Path) -> None:
    """Refuse a directory that is there and is no sweep.

    Raises:
        ResultError: says what it is.

    """
    if directory.exists() and not directory.is_dir():
        raise ResultError(f"{directory} is not a directory")
    if directory.is_dir() and any(path.name != LOCK for path in directory.iterdir()):
        Dataset.load(directory)


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Make a directory, keep other sweeps from it, remove what killed ones left unfinished.

    Raises:
        ResultError: another sweep is at work there, or a file is in the way.
        OSError: nothing can be written there.

    """
    made = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise ResultError(f"{directory}: {error.filename} is not a directory") from None
    with (directory / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResultError(f"another sweep is writing to {directory}") from None
        except OSError:
            pass  # a file system without locks: then the user has to see to it
        shutil.rmtree(directory / UNFINISHED, ignore_errors=True)
        try:
            yield
        finally:
            shutil.rmtree(directory / UNFINISHED, ignore_errors=True)
            # Where nothing came of it, nothing is left.
            if made and [path.name for path in directory.iterdir()] == [LOCK]:
                (directory / LOCK).unlink()
                for folder in made:
                    folder.rmdir()


def clear(directory: Path) -> None:
    """Remove an earlier sweep's results from its directory, and nothing else.

    Raises:
        ResultError: it holds something that no sweep wrote.

    """
    tables = {SUMMARY}
    if (directory / HEADER).exists():
        tables |= set(Dataset.load(directory).header.tables)
    for path in directory.iterdir():
        figure = path.suffix in {".png", ".svg", ".pdf"}
        if path.name not in OURS | tables and not figure:
            raise ResultError(f"{path} was not written by a sweep: nothing is replaced")
    for path in directory.iterdir():
        if path.name in tables:
            shutil.rmtree(path)
        elif path.name in {HEADER, SCENARIO, FAILURES}:
            path.unlink()


def new_header(
    name: str,
    values: Mapping[str, list[Value]],
    seeds: Sequence[int],
    tables: Sequence[str],
    first: Sequence[tuple[str, str]],
) -> Header:
    """Give the header of a new sweep by this version."""
    kinds = {key: kind_of(some) for key, some in values.items()}
    return Header(
        *(_engine.__version__, name, kinds, dict(values), list(seeds), list(tables), list(first))
    )


def _union(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    return [*old, *(one for one in new if one not in old)]


def _first_difference(path: Path, resolved: str) -> str | None:
    """Say where a complete scenario differs from the one in a file, or none."""
    try:
        before = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"{path.name} is missing"
    now = resolved.splitlines()
    for old, new in zip([*before, ""], [*now, ""], strict=False):
        if old != new:
            return f"there {old or 'nothing'!r}, now {new or 'nothing'!r}"
    return None
