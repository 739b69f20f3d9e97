"""The stored part of a run: its tables, sent by workers as Parquet, so that they are small.

The content depends on the run alone: no time of day, no machine, no number of workers.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incastle.analysis.measures import OF_QUEUE_PAIRS, measure
from incastle.errors import InternalError
from incastle.storage.parts import SUMMARY
from incastle.toml import as_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from incastle.errors import RunError
    from incastle.results import Result
    from incastle.scenario import Value


@dataclass(frozen=True)
class Failure:
    """A run that gave no result: why, and whether that is a defect of Incastle."""

    message: str
    internal: bool = False

    @classmethod
    def of(cls, error: RunError) -> Failure:
        """Return the failure that an error of the engine is."""
        return cls(error.message, isinstance(error, InternalError))


@dataclass(frozen=True)
class Wanted:
    """The stored part of a run.

    Attributes:
        values: its swept values by key.
        kinds: what the columns of these keys hold.
        tables: tables in addition to the summary.

    """

    values: dict[str, Value]
    kinds: dict[str, str]
    tables: tuple[str, ...]

    def of_result(self, result: Result) -> dict[str, pl.DataFrame]:
        """Return the rows of each table, the swept values and the seed in front.

        Raises:
            TableMissing: the scenario does not request a table.

        """
        import polars as pl  # noqa: PLC0415  slow to import: only where frames are made

        row = {"digest": result.digest, **measure(result)}
        types = {name: _type(name, result) for name in row}
        columns = [pl.Series(name, [value], types[name]) for name, value in row.items()]
        frames = {SUMMARY: pl.DataFrame(columns)}
        frames |= {name: result.table(name) for name in self.tables}
        return {name: self._with_head(frame, result.seed) for name, frame in frames.items()}

    def _with_head(self, frame: pl.DataFrame, seed: int) -> pl.DataFrame:
        import polars as pl  # noqa: PLC0415  slow to import: only where frames are made

        types: dict[str, Any] = {"integer": pl.Int64, "number": pl.Float64, "boolean": pl.Boolean}
        head = {
            key: (in_column([value], self.kinds[key])[0], types.get(self.kinds[key], pl.String))
            for key, value in self.values.items()
        }
        head["seed"] = (seed, pl.UInt64)
        columns = [
            pl.Series(name, [value], type_).new_from_index(0, frame.height)
            for name, (value, type_) in head.items()
        ]
        return pl.DataFrame([*columns, *frame.get_columns()])


def in_column(values: Sequence[Value], kind: str) -> list[Any]:
    """Return values as the column of their key holds them."""
    return [as_words(value) if kind == "text" else value for value in values]


def packed(tables: Mapping[str, pl.DataFrame]) -> dict[str, bytes]:
    """Make tables ready to travel."""
    return {name: _parquet(frame) for name, frame in tables.items()}


def unpacked(tables: Mapping[str, bytes]) -> dict[str, pl.DataFrame]:
    """Return tables that have travelled."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are made

    return {name: pl.read_parquet(io.BytesIO(content)) for name, content in tables.items()}


def _parquet(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file, compression="zstd", statistics=False)
    return file.getvalue()


def _type(name: str, result: Result) -> Any:  # noqa: ANN401  a type of polars
    """Return a column's type: the summary's own for totals; counts whole, the rest with a point."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are made

    if name == "digest":
        return pl.String
    if name in result.totals:
        return result.summary.schema[name]
    last = name.rpartition(".")[2]
    whole = {"completed", "rounds", "retransmissions", "timeouts", "marks", "drops"}
    return pl.UInt64 if last in whole or name in OF_QUEUE_PAIRS else pl.Float64
