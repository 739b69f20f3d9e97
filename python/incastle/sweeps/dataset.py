"""A sweep's directory: Parquet files with many runs each, and one file with the valid parts.

    sweep.json       version, build, keys and their values, seeds, tables; the parts, with the
                     hash of each file
    sweep.json.copy  the same: where one of the two is damaged, the other one is read
    scenario.toml    the complete scenario of the first combination, every default written out
    failures.json    the runs that gave no result in the last call, and why
    summary/         one row per run: swept keys, seed, digest, totals, measures
    flows/, ...      further tables, where --tables names them, with the same first columns
    runs/            which runs the parts have

Finished runs are written in parts (`parts`), at most a second or a thousand runs after they were
finished; a part counts when it is on the disk and in sweep.json. Small parts are put together while
the sweep goes on and at its end, when all runs are put in the order of their values: the files of a
finished sweep do not depend on the order in which runs were finished. Readers of a folder of the
dataset meanwhile meets whole files only; unfinished ones are in a separate folder. While parts
are put together, rows may be in two files for a moment: `Sweep.load` counts them once.

One sweep at a time writes here.
"""

from __future__ import annotations

import errno
import fcntl
import json
import shutil
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from incastle import _engine, interrupts
from incastle.analysis.outcome import in_column
from incastle.build import engine_build
from incastle.errors import ResultError, unreadable
from incastle.results import HOW_TO_ASK
from incastle.storage import parts as module
from incastle.storage.files import scratch_file
from incastle.storage.hashes import SEAL, check_seal, hash_of, sealed
from incastle.storage.names import unseen
from incastle.storage.parts import RUNS, SUMMARY, UNFINISHED, Index, Part
from incastle.storage.places import HEADER, described
from incastle.sweeps.values import kind_of, takes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from incastle.scenario import Value
    from incastle.sweeps.plan import Run, Source

COPY = f"{HEADER}.copy"
SCENARIO, FAILURES = "scenario.toml", "failures.json"
LOCK = ".lock"
OURS = frozenset({HEADER, COPY, SCENARIO, FAILURES, UNFINISHED, LOCK, RUNS})
"""Files of the directory in addition to the tables and figures."""
TABLES = tuple(dict.fromkeys(("flows", "transfers", "rounds", "queues", "links", *HOW_TO_ASK)))
"""Tables that can be kept in addition to the summary."""
LAYOUT = 2
"""Of the directory; the first had a file for each run and table."""

BATCH, BATCH_S, BATCH_BYTES = 1_000, 1.0, 64_000_000
"""Runs, seconds and memory of finished runs that are not written yet: what a crash can cost."""
MAX_SMALL = 64
"""Parts of fewer runs than they could have, before they are put together."""


@dataclass
class Header:
    """The plan in sweep.json.

    Attributes:
        version: the version of Incastle that computes it.
        build: the build of the engine: results of two are not mixed.
        name: the scenario's name.
        kinds: what the column of each swept key holds.
        values: the values of each key, in their order.
        seeds: the seeds, in their order.
        tables: the tables that are kept of each run in addition to the summary.
        first: the settings of the combination that scenario.toml has.
        scenario: the hash of scenario.toml.

    """

    version: str
    build: str
    name: str
    kinds: dict[str, str]
    values: dict[str, list[Value]]
    seeds: list[int]
    tables: list[str]
    first: list[tuple[str, str]] = field(default_factory=list)
    scenario: str = ""

    @property
    def keys(self) -> list[str]:
        """The swept keys."""
        return list(self.kinds)

    def merged(self, other: Header) -> Header:
        """Return this with the values and seeds of another one added."""
        values = {key: _union(self.values[key], other.values[key]) for key in self.keys}
        seeds = _union(self.seeds, other.seeds)
        return replace(self, values=values, seeds=seeds)


class Dataset:
    """The directory of one sweep.

    Attributes:
        directory: where it is.
        header: what is swept.
        parts: those that count.
        order_of: by which values all runs are in order, in as few parts as can be; none if they are
            not.
        damaged: files that `repair` found lost or changed.
        verify: hold files against their hashes when they are read.

    """

    def __init__(self, directory: Path, header: Header) -> None:
        self.directory = directory
        self.header = header
        self.parts: list[Part] = []
        self.order_of: str | None = None
        self.damaged: list[Path] = []
        self.verify = True
        self._places: dict[str, tuple[Part, int]] | None = None
        self._batch = _Batch()

    @classmethod
    def load(cls, directory: Path, *, verify: bool = True, repair: bool = False) -> Dataset:
        """Open what an earlier sweep wrote; with `repair` from the copy if sweep.json is damaged.

        Raises:
            ResultError: it is missing, something else, or was changed.

        """
        path, copy = directory / HEADER, directory / COPY
        if not path.is_file() and not copy.is_file():
            if not directory.exists():
                raise ResultError(f"{directory} does not exist")
            why = described(directory) or f"it has no {HEADER}"
            raise ResultError(f"{directory} is not a sweep: {why}")
        try:
            found = cls._read(path, verify=verify)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            if repair:
                with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
                    found = cls._read(copy, verify=verify)
                    found.damaged.append(path)
                    return found
                raise unreadable(path, error, "nor can its copy: --force starts anew") from None
            raise unreadable(path, error, "--resume repairs it") from None
        found.verify = verify
        return found

    @classmethod
    def _read(cls, path: Path, *, verify: bool) -> Dataset:
        entries = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(entries, dict):
            raise ValueError("it is no description of a sweep")  # noqa: TRY004  of the file
        if not entries.keys() & {"layout", SEAL} and "values" in entries:
            raise ResultError(
                f"{path}: an earlier Incastle wrote this sweep, in a layout that this one does not "
                "read: choose another --out, or --force replaces it"
            )
        if verify:
            check_seal(entries)
        if entries["layout"] != LAYOUT:
            raise ValueError(f"its layout is {entries['layout']}, this Incastle reads {LAYOUT}")
        header = Header(**{one.name: entries[one.name] for one in fields(Header)})
        header.first = [(key, text) for key, text in header.first]
        dataset = cls(path.parent, header)
        dataset.parts = [Part(**part) for part in entries["parts"]]
        dataset.order_of = entries["order_of"]
        return dataset

    @classmethod
    def begin(cls, directory: Path, header: Header, resolved: str) -> Dataset:
        """Make a new one in an empty or emptied folder; `resolved` is the first scenario."""
        (directory / SUMMARY).mkdir(exist_ok=True)
        dataset = cls(directory, replace(header, scenario=hash_of(resolved.encode())))
        dataset._write_scenario(resolved)
        dataset.write_header()
        return dataset

    def check_continues(self, wanted: Header, source: Source) -> None:
        """Refuse to go on with another build, other keys, tables or another scenario.

        Raises:
            ResultError: reports the difference.
            ScenarioError: the scenario has mistakes now.

        """
        here, there = f"{self.directory} was begun", "--resume goes on with the same only"
        mixed = "are not mixed: choose another --out, or --force"
        if self.header.version != wanted.version:
            ours = f"by Incastle {self.header.version}, this is {wanted.version}"
            raise ResultError(f"{here} {ours}: results of two versions {mixed}")
        if self.header.build != wanted.build:
            ours = f"by the build {self.header.build} of Incastle, this is {wanted.build}"
            raise ResultError(f"{here} {ours}: results of two builds {mixed}")
        if sorted(self.header.keys) != sorted(wanted.keys):
            keys = ", ".join(self.header.keys) or "no key"
            raise ResultError(f"{here} with {keys}: {there}")
        if wanted.tables and sorted(self.header.tables) != sorted(wanted.tables):
            tables = ",".join(self.header.tables) or "no further table"
            raise ResultError(f"{here} with {tables} and the summary: {there}")
        for key, kind in self.header.kinds.items():
            if not takes(kind, wanted.kinds[key]):
                what = f"{kind} values of {key}"
                raise ResultError(f"{here} with {what}, which the new ones are not")
        resolved = source.scenario(self.header.first).resolved
        if hash_of(resolved.encode()) != self.header.scenario:
            line = _first_difference(self.directory / SCENARIO, resolved)
            raise ResultError(f"{here} with another scenario: {line}. Choose another --out")

    def find_damage(self) -> list[Part]:
        """Return the parts of which a file is lost or was changed; `damaged` has the files."""
        found = {part.name: part.damaged(self.directory) for part in self.parts}
        self.damaged += [path for path in found.values() if path is not None]
        return [part for part in self.parts if found[part.name] is not None]

    def repair(self, broken: Sequence[Part], source: Source) -> None:
        """Let parts not count any more, so that their runs are missing, and put the rest right.

        Raises:
            OSError: sweep.json cannot be written.

        """
        self._count([part for part in self.parts if part not in broken], self.order_of)
        resolved = source.scenario(self.header.first).resolved
        path = self.directory / SCENARIO
        if not path.is_file() or path.read_bytes() != resolved.encode():
            self.damaged.append(path)
            self._write_scenario(resolved)

    def write_header(self) -> None:
        """Write sweep.json, for readers of the dataset and for --resume."""
        entries = {
            **asdict(self.header),
            "layout": LAYOUT,
            "order_of": self.order_of,
            "parts": [asdict(part) for part in self.parts],
        }
        text = json.dumps(sealed(entries), indent=2) + "\n"
        for name in (COPY, HEADER):
            with self._whole(self.directory / name) as scratch:
                scratch.write_text(text, encoding="utf-8")

    def _write_scenario(self, resolved: str) -> None:
        with self._whole(self.directory / SCENARIO) as scratch:
            scratch.write_text(resolved, encoding="utf-8")

    def _count(self, parts: list[Part], order_of: str | None) -> None:
        """Let these parts count from now on; files of others go."""
        self.parts, self.order_of, self._places = parts, order_of, None
        self.write_header()
        tables = [SUMMARY, RUNS, *self.header.tables]
        module.remove_others(self.directory, tables, parts)

    @property
    def is_empty(self) -> bool:
        """Whether no run is finished."""
        return not self.parts and not self._batch.runs

    @property
    def size(self) -> int:
        """How many runs are finished and written."""
        return sum(part.runs for part in self.parts)

    def holds(self, run: Run) -> bool:
        """Return whether a run is finished."""
        return run.name in self._finished() or run.name in self._batch.runs

    def _finished(self) -> dict[str, tuple[Part, int]]:
        """Return the part and row of each run that is written."""
        if self._places is None:
            self._places = {
                name: (part, row)
                for part in self.parts
                for row, name in enumerate(Index.of(part, self.directory).names)
            }
        return self._places

    def keep(self, run: Run, tables: Mapping[str, pl.DataFrame]) -> None:
        """Take the tables of a finished run, which are written with those of others.

        Raises:
            OSError: they cannot be written; the runs that were not are not finished then.

        """
        self._batch.add(run.name, tables)
        self.write_when_due()

    def write_when_due(self) -> None:
        """Write what was finished since, if it is enough, or a second old.

        Raises:
            OSError: it cannot be written.

        """
        if self._batch.is_due:
            self.write_finished()

    def write_finished(self) -> None:
        """Write what was finished since.

        Raises:
            OSError: it cannot be written.

        """
        batch, self._batch = self._batch, _Batch()
        if batch.runs:
            with interrupts.put_off():
                self._write(batch)

    def _write(self, batch: _Batch) -> None:
        part = module.write(self.directory, list(batch.runs), batch.tables())
        finished = self._finished()
        self.parts.append(part)
        self.order_of = None
        self.write_header()
        finished.update((name, (part, row)) for row, name in enumerate(batch.runs))
        small = [part for part in self.parts if part.runs < module.MAX_RUNS]
        if len(small) >= MAX_SMALL:
            self._regroup(small)

    def put_in_order(self) -> None:
        """Put all runs in the order of values and seeds, in as few parts as can be.

        On a full disk they stay as they are, which is as good.

        Raises:
            OSError: files cannot be written for another reason.

        """
        self.write_finished()
        if not self.in_order and self.parts:
            self._regroup(self.parts, self._values())

    @property
    def in_order(self) -> bool:
        """Whether all runs are in the order of the header's values."""
        return self.order_of == self._values()

    def _values(self) -> str:
        return hash_of(json.dumps(self.header.values).encode())

    def _regroup(self, some: Sequence[Part], order_of: str | None = None) -> None:
        try:
            together = module.regroup(self.directory, some, self._order(some))
        except OSError as error:
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                return
            raise
        others = [part for part in self.parts if part not in some]
        self._count([*others, *together], order_of)

    def _order(self, some: Sequence[Part]) -> pl.DataFrame:
        """Return `part` and `row` of each run, in the order of values and seeds."""
        columns = [*self.header.keys, "seed"]
        heads = [
            part.read(self.directory, SUMMARY, columns)
            .with_row_index("row")
            .with_columns(pl.lit(number).cast(pl.Int64).alias("part"))
            for number, part in enumerate(some)
        ]
        return self._ordered(pl.concat(heads)).select("part", "row")

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

    def frame(self, table: str = SUMMARY) -> pl.DataFrame:
        """Return a table of all finished runs, in the order of values and seeds.

        Raises:
            ResultError: there is none, or a file was lost or changed: the message names it.

        """
        if table not in {SUMMARY, *self.header.tables}:
            there = ", ".join([SUMMARY, *self.header.tables])
            raise ResultError(f"{self.directory} has no table {table!r}: it has {there}")
        while True:
            if not self.parts:
                raise ResultError(f"{self.directory} has no finished run")
            try:
                read = [part.read(self.directory, table, verify=self.verify) for part in self.parts]
            except FileNotFoundError as error:
                self._read_again(error)
                continue
            return self._ordered(module.joined(read), is_sorted=self.in_order)

    def _read_again(self, lost: FileNotFoundError) -> None:
        """See whether parts were put together since sweep.json was read; if not, one is lost."""
        now = Dataset.load(self.directory, verify=self.verify)
        if now.parts == self.parts:
            raise ResultError(f"{lost.filename} is lost: --resume makes its runs again") from None
        self.parts, self.order_of, self.header = now.parts, now.order_of, now.header

    def rows(self, runs: Sequence[Run]) -> list[dict[str, Any]]:
        """Return the rows of some finished runs in the summary.

        Raises:
            ResultError: one of them cannot be read.

        """
        self.write_finished()
        places = [self._finished()[run.name] for run in runs]
        frames = {part.name: part.read(self.directory, SUMMARY) for part, _ in places}
        columns = module.common_columns([dict(frame.schema) for frame in frames.values()])
        empty: dict[str, Any] = dict.fromkeys(columns)
        return [empty | frames[part.name].row(row, named=True) for part, row in places]

    def _ordered(self, frame: pl.DataFrame, *, is_sorted: bool = False) -> pl.DataFrame:
        if is_sorted:
            return frame
        ranks = []
        for key in self.header.keys:
            words = in_column(self.header.values[key], self.header.kinds[key])
            places = {word: place for place, word in enumerate(words)}
            ranks.append(pl.col(key).replace_strict(places, return_dtype=pl.Int64))
        return frame.sort(*ranks, "seed", maintain_order=True)

    @contextmanager
    def _whole(self, path: Path) -> Iterator[Path]:
        folder = self.directory / UNFINISHED
        folder.mkdir(exist_ok=True)
        with scratch_file(path, folder) as scratch:
            yield scratch


class _Batch:
    """Finished runs that are not written yet."""

    def __init__(self) -> None:
        self.runs: dict[str, Mapping[str, pl.DataFrame]] = {}
        self.bytes = 0.0
        self.since = 0.0

    def add(self, name: str, tables: Mapping[str, pl.DataFrame]) -> None:
        """Add the tables of a run."""
        self.since = self.since if self.runs else time.monotonic()
        self.runs[name] = tables
        self.bytes += sum(frame.estimated_size() for frame in tables.values())

    @property
    def is_due(self) -> bool:
        """Whether it is time to write them."""
        return bool(self.runs) and (
            len(self.runs) >= BATCH
            or self.bytes >= BATCH_BYTES
            or time.monotonic() - self.since >= BATCH_S
        )

    def tables(self) -> dict[str, list[pl.DataFrame]]:
        """Return the frames of each table."""
        first = next(iter(self.runs.values()))
        return {table: [tables[table] for tables in self.runs.values()] for table in first}


def check_place(directory: Path) -> None:
    """Refuse a directory that is there and is no sweep, and a name that shows as another.

    Raises:
        ResultError: reports what it is.

    """
    if (why := unseen(directory.name)) is not None:
        raise ResultError(f"{why}: choose another --out")
    if directory.exists() and not directory.is_dir():
        raise ResultError(f"{directory} is not a directory")
    inside = [path.name for path in directory.iterdir()] if directory.is_dir() else []
    if set(inside) - {LOCK} and not {HEADER, COPY} & set(inside):
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
    tables = {SUMMARY, RUNS, *TABLES}
    for path in directory.iterdir():
        figure = path.suffix in {".png", ".svg", ".pdf"}
        foreign = path.name in tables and not _is_table(path)
        if foreign or (path.name not in OURS | tables and not figure):
            raise ResultError(f"{path} was not written by a sweep: nothing is replaced")
    # First the file that makes the rest valid.
    for name in (HEADER, COPY, SCENARIO, FAILURES):
        (directory / name).unlink(missing_ok=True)
    for path in directory.iterdir():
        if path.name in tables:
            shutil.rmtree(path)


def _is_table(path: Path) -> bool:
    return path.is_dir() and all(one.suffix == module.ENDING for one in path.iterdir())


def new_header(
    name: str,
    values: Mapping[str, list[Value]],
    seeds: Sequence[int],
    tables: Sequence[str],
    first: Sequence[tuple[str, str]],
) -> Header:
    """Return the header of a new sweep by this version."""
    kinds = {key: kind_of(some) for key, some in values.items()}
    return Header(
        version=_engine.__version__,
        build=engine_build(),
        name=name,
        kinds=kinds,
        values=dict(values),
        seeds=list(seeds),
        tables=list(tables),
        first=list(first),
    )


def _union(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    return [*old, *(one for one in new if one not in old)]


def _first_difference(path: Path, resolved: str) -> str | None:
    """Describe the first difference of a complete scenario from the one in a file, if any."""
    try:
        before = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"{path.name} is missing"
    now = resolved.splitlines()
    for old, new in zip([*before, ""], [*now, ""], strict=False):
        if old != new:
            return f"there {old or 'nothing'!r}, now {new or 'nothing'!r}"
    return None
