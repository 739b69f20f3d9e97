"""Results of a sweep: frames, failures, the directory, a figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incastle.analysis.measures import TOTALS, find_column, measured
from incastle.analysis.seeds import over_seeds
from incastle.errors import Interrupted, PlotError
from incastle.plotting import sweeps as picture
from incastle.results import Result
from incastle.sweeps.dataset import SCENARIO, Dataset, Header

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from incastle.analysis.outcome import Failure
    from incastle.scenario import Value
    from incastle.sweeps.plan import Run
    from incastle.sweeps.progress import SweepProgress


class SweepStopped(Interrupted):
    """Ctrl-C during a sweep or a search. What was finished is in its directory.

    Attributes:
        progress: how far it came.
        directory: where, or None if nothing was to be kept.

    """

    def __init__(
        self, progress: SweepProgress, directory: Path | None, within: str | None = None
    ) -> None:
        super().__init__(within=within)
        self.args = (progress, directory, within)
        self.progress = progress
        self.directory = directory

    def __str__(self) -> str:
        """Describe how far it came."""
        done = self.progress.finished - self.progress.failed
        where = "were finished" if self.directory is None else f"are in {self.directory}"
        return f"interrupted: {done} of {self.progress.total} runs {where}{self._where()}"


class Tables(Mapping[str, "pl.DataFrame"]):
    """The further tables of a dataset by name: they may be large, and are read one at a time."""

    def __init__(self, dataset: Dataset, names: tuple[str, ...]) -> None:
        self._dataset = dataset
        self._names = names
        self._read: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> pl.DataFrame:
        """Read a table, once."""
        if name not in self._names:
            raise KeyError(name)
        if name not in self._read:
            self._read[name] = self._dataset.frame(name)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        """Return the names."""
        return iter(self._names)

    def __len__(self) -> int:
        """Count the tables."""
        return len(self._names)

    def read_all(self) -> None:
        """Read all while the directory is there."""
        for name in self._names:
            self[name]


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """The results of a sweep.

    Attributes:
        frame: one row per finished run: swept keys, seed, digest, totals, measures. In the order of
            the values and seeds, whatever the order in which they were finished.
        tables: the further tables that were kept, by name, with the swept keys and the seed in
            front; read at their first use.
        failures: the runs of this call that gave no result, and why.
        header: the keys with their values, the seeds.
        directory: where the dataset is, or None if it was not kept.
        found: runs that an earlier call had finished.
        damaged: files of an earlier call that were lost or changed: their runs were made again.

    """

    frame: pl.DataFrame
    tables: Tables
    failures: tuple[tuple[Run, Failure], ...]
    header: Header
    directory: Path | None = None
    found: int = 0
    damaged: tuple[Path, ...] = ()

    @classmethod
    def load(cls, directory: str | os.PathLike[str], *, verify: bool = True) -> Sweep:
        """Read what a sweep, finished or not, has written.

        Args:
            directory: of a sweep.
            verify: hold every file that is read against its hash in sweep.json.

        Raises:
            ResultError: the directory is no sweep, or holds no finished run, or a file was lost or
                changed since: the message names it.

        """
        dataset = Dataset.load(Path(directory), verify=verify)
        return cls.of(dataset, dataset.directory)

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        directory: Path | None,
        failures: Sequence[tuple[Run, Failure]] = (),
        found: int = 0,
    ) -> Sweep:
        """Read a dataset; without a finished run it is empty if all have failed."""
        import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

        nothing = bool(failures) and dataset.is_empty
        frame = pl.DataFrame() if nothing else dataset.frame()
        tables = Tables(dataset, () if nothing else tuple(dataset.header.tables))
        if directory is None:
            tables.read_all()
        damaged = tuple(dataset.damaged)
        return cls(frame, tables, tuple(failures), dataset.header, directory, found, damaged)

    def __repr__(self) -> str:
        """Name, how many runs, the swept keys, the further tables, and where it is."""
        runs = f"{len(self.frame):,} run{'s' if len(self.frame) != 1 else ''}"
        parts = [f"{runs} over {', '.join(self.header.keys) or 'seeds'}"]
        if self.header.tables:
            parts.append(f"with {', '.join(self.header.tables)}")
        if self.failures:
            parts.append(f"{len(self.failures):,} failed")
        return f"<Sweep {self.header.name!r}: {', '.join(parts)}; in {self.place or 'memory'}>"

    @property
    def place(self) -> str | None:
        """The directory as a string, or None."""
        return None if self.directory is None else str(self.directory)

    def to_json(self) -> dict[str, Any]:
        """Return what `incastle sweep --json` prints."""
        return {
            "directory": self.place,
            "keys": self.header.values,
            "seeds": self.header.seeds,
            "found": self.found,
            "failures": [
                {"values": run.values, "seed": run.seed, "error": failure.message}
                for run, failure in self.failures
            ],
            "runs": self.frame.to_dicts(),
        }

    def over_seeds(self, measure: str) -> pl.DataFrame:
        """Return a measure over the seeds, one row per combination.

        The swept keys, runs, low and high (the ends of the mean: equal unless unfinished transfers
        could change it), mean_from and mean_to (the 95 % interval of the mean by Student's t; null
        with one seed), min and max.

        Raises:
            IncastleError: no such measure; the message has the nearest ones.

        """
        column = find_column(measure, measured(self.frame, self.header.keys))
        return over_seeds(self.frame, self.header.keys, column.name)

    def cells(self, tables: Sequence[str] = ()) -> list[tuple[dict[str, Value], list[Result]]]:
        """Return the values of each combination with its runs, as far as their tables were kept.

        Args:
            tables: of which one must have been kept.

        Raises:
            PlotError: none of them was.

        """
        if tables and not set(tables) & set(self.tables):
            kept = ", ".join(self.tables) or "the summary alone"
            raise PlotError(
                f"the sweep {self.place or self.header.name} keeps {kept}: this is drawn from "
                f"{' or '.join(tables)}; do the sweep with --tables {tables[0]}, or draw a "
                "measure of its summary over a key with --by KEY"
            )
        head = [*self.header.keys, "seed"]
        parts = {
            name: table.partition_by(head, as_dict=True, include_key=False)
            for name, table in self.tables.items()
        }
        empty = {name: table.drop(head).clear() for name, table in self.tables.items()}
        found: dict[tuple[Any, ...], list[Result]] = {}
        for row in self.frame.iter_rows(named=True):
            *cell, seed = (row[name] for name in head)
            run = Result(
                name=self.header.name,
                seed=seed,
                digest=row["digest"],
                version=self.header.version,
                wall_s=0.0,
                interrupted=False,
                totals={name: row[name] for name in TOTALS if row.get(name) is not None},
                scenario=self._scenario,
                tables={name: parts[name].get((*cell, seed), empty[name]) for name in parts},
            )
            found.setdefault(tuple(cell), []).append(run)
        keys = self.header.keys
        return [(dict(zip(keys, cell, strict=True)), runs) for cell, runs in found.items()]

    @property
    def _scenario(self) -> str:
        """The complete scenario of the first combination, where the sweep has a directory."""
        place = None if self.directory is None else self.directory / SCENARIO
        return place.read_text(encoding="utf-8") if place is not None and place.exists() else ""

    def plot(
        self,
        x: str,
        y: str,
        hue: str | None = None,
        where: Mapping[str, Value] | None = None,
        out: str | os.PathLike[str] | None = None,
    ) -> Figure:
        """Draw a measure over a swept key.

        A curve is the mean over the seeds, bars are the 95 % interval of the mean, the band is the
        seeds' range. An arrow stands where unfinished transfers could raise a value.

        Args:
            x: a swept key.
            y: a measure, as `goodput` or `completion_p99`.
            hue: a swept key that makes one curve per value.
            where: values of further swept keys, which must be fixed.
            out: a .png, .svg or .pdf file to write.

        Raises:
            PlotError: no such key or measure, or a key that is neither drawn nor fixed.

        """
        keys = self.header.keys
        fixed = {picture.whole_key(key, keys): str(of) for key, of in (where or {}).items()}
        whole_hue = None if hue is None else picture.whole_key(hue, keys)
        axes = picture.Axes(picture.whole_key(x, keys), y, whole_hue, fixed)
        return picture.draw(self, axes, None if out is None else Path(out))
