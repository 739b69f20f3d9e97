"""What a sweep gives: frames, failures, the directory, a figure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incastle.errors import Interrupted
from incastle.sweeps import picture
from incastle.sweeps.dataset import Dataset, Header

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from incastle.scenario import Value
    from incastle.sweeps.outcome import Failure
    from incastle.sweeps.plan import Run
    from incastle.sweeps.progress import SweepProgress


class SweepStopped(Interrupted):
    """Ctrl-C during a sweep. What was finished is in its directory.

    Attributes:
        progress: how far it came.
        directory: where.

    """

    def __init__(self, progress: SweepProgress, directory: Path) -> None:
        super().__init__()
        self.args = (progress, directory)
        self.progress = progress
        self.directory = directory

    def __str__(self) -> str:
        """Say how far it came."""
        done = self.progress.finished - self.progress.failed
        return f"interrupted: {done} of {self.progress.total} runs are in {self.directory}"


@dataclass(frozen=True, eq=False)
class Sweep:
    """What a sweep gave.

    Attributes:
        frame: one row per finished run: swept keys, seed, digest, totals, measures. In the order of
            the values and seeds, whatever the order in which they were finished.
        tables: the further tables that were kept, with the swept keys and the seed in front.
        failures: the runs of this call that gave no result, and why.
        header: the keys with their values, the seeds.
        directory: where the dataset is, or None if it was not kept.
        found: runs that an earlier call had finished.

    """

    frame: pl.DataFrame
    tables: dict[str, pl.DataFrame]
    failures: tuple[tuple[Run, Failure], ...]
    header: Header
    directory: Path | None = None
    found: int = 0

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Sweep:
        """Read what a sweep, finished or not, has written.

        Raises:
            ResultError: the directory is no sweep, or holds no finished run.

        """
        dataset = Dataset.load(Path(directory))
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
        names = () if nothing else dataset.header.tables
        tables = {name: dataset.frame(name) for name in names}
        return cls(frame, tables, tuple(failures), dataset.header, directory, found)

    def to_json(self) -> dict[str, Any]:
        """Give what `incastle sweep --json` prints."""
        return {
            "directory": None if self.directory is None else str(self.directory),
            "keys": self.header.values,
            "seeds": self.header.seeds,
            "found": self.found,
            "failures": [
                {"values": run.values, "seed": run.seed, "error": failure.message}
                for run, failure in self.failures
            ],
            "runs": self.frame.to_dicts(),
        }

    def plot(
        self,
        x: str,
        y: str,
        hue: str | None = None,
        where: Mapping[str, Value] | None = None,
        out: str | os.PathLike[str] | None = None,
    ) -> Figure:
        """Draw a measure over a swept key: the median over the seeds, and their range as a band.

        Args:
            x: a swept key.
            y: a measure, as `goodput` or `completion_p99`.
            hue: a swept key that makes one curve per value.
            where: values of further swept keys, which must be fixed.
            out: a .png, .svg or .pdf file to write.

        Raises:
            PlotError: no such key or measure, or a key that is neither drawn nor fixed.

        """
        fixed = {key: str(value) for key, value in (where or {}).items()}
        axes = picture.Axes(x, y, hue, fixed)
        return picture.draw(self, axes, None if out is None else Path(out))
