"""Two results side by side: parameters, totals, groups of flows, switch ports, curves.

Equal digests mean that both took the same course; then nothing but what was measured of it can
differ. Leaves out: spreads over seeds; those are for sweeps and reports.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path  # noqa: TC003  a field
from typing import TYPE_CHECKING, Any

from incastle.analysis import completions
from incastle.analysis.parameters import flat, with_tables
from incastle.difference.values import Change, changes, differing
from incastle.errors import ResultError
from incastle.units import si

if TYPE_CHECKING:
    import polars as pl

    from incastle.results import Result

COUNTERS = ("delivered_bytes", "retransmissions", "timeouts", "marks", "drops")
OF_PORTS = ("utilisation", "mean_queue_packets", "max_queue_packets", "marks", "drops")
NAMES = ("flow", "port", "host", "switch", "group", "index")
"""Columns that identify a row; the others are measured."""


@dataclass(frozen=True)
class ResultDiff:
    """Differences between two results.

    Attributes:
        a, b: the results.
        places: their directories; None of a result in memory.

    """

    a: Result
    b: Result
    places: tuple[Path | None, Path | None]

    @property
    def same_course(self) -> bool:
        """Whether every event of every port and flow was the same."""
        return self.a.digest == self.b.digest

    @cached_property
    def parameters(self) -> list[Change]:
        """Keys of the complete scenarios whose values differ."""
        both = [flat(tomllib.loads(one.scenario)) for one in (self.a, self.b)]
        return changes(*with_tables(both))

    @cached_property
    def totals(self) -> list[Change]:
        """Totals that differ."""
        return changes(self.a.totals, self.b.totals)

    @cached_property
    def groups(self) -> pl.DataFrame:
        """Differences by group of flows: group, measure, a, a_high, b, b_high, relative.

        Where unfinished transfers could change a value, `a` and `a_high` are its ends, and there is
        no relative change; elsewhere they are equal.
        """
        return differing(_groups(self.a), _groups(self.b), ["group", "measure"])

    @cached_property
    def ports(self) -> pl.DataFrame:
        """Differences at switch ports, the longest queues first: port, measure, a, b, relative."""
        return differing(_ports(self.a), _ports(self.b), ["port", "measure"])

    @cached_property
    def curves(self) -> pl.DataFrame:
        """Tables over time that both have: how far their values are from each other.

        table, column, rows_a, rows_b, mean_a, mean_b, rms and furthest (of the differences at the
        same instants of the same series; null where the instants are not the same), where.
        """
        import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

        tables = self.a.tables
        timed = [name for name, table in tables.items() if "time_s" in table.columns]
        rows = [
            row
            for name in timed
            if name in self.b.tables and self.b.tables[name].columns == tables[name].columns
            for row in _curves(name, *_over_time(name, self.a, self.b))
        ]
        schema: dict[str, Any] = {"table": pl.String, "column": pl.String}
        schema |= dict.fromkeys(("rows_a", "rows_b"), pl.Int64)
        schema |= dict.fromkeys(("mean_a", "mean_b", "rms", "furthest"), pl.Float64)
        return pl.DataFrame(rows, {**schema, "where": pl.String}, orient="row")

    @property
    def only_in(self) -> tuple[list[str], list[str]]:
        """Tables that one result alone has: those of `a`, those of `b`."""
        a, b = self.a.tables.keys(), self.b.tables.keys()
        return sorted(a - b), sorted(b - a)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        sides = zip("ab", (self.a, self.b), self.places, strict=True)
        return {
            "kind": "results",
            **{name: _summary(one, place) for name, one, place in sides},
            "same_course": self.same_course,
            "parameters": [one.as_json() for one in self.parameters],
            "totals": [one.as_json() for one in self.totals],
            **{name: getattr(self, name).to_dicts() for name in ("groups", "ports", "curves")},
            "tables_only_in": dict(zip("ab", self.only_in, strict=True)),
        }


def _summary(result: Result, place: Path | None) -> dict[str, Any]:
    return {"directory": None if place is None else str(place), **result.to_summary()}


def _groups(result: Result) -> pl.DataFrame:
    """Return group, measure, value and high: of flows, and of transfers by their kind."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    goodput = pl.col("goodput_bit_s").mean().alias("mean_goodput_bit_s")
    frames = []
    if "flows" in result.tables:
        counters = (pl.col(name).sum() for name in COUNTERS)
        groups = result.flows.group_by("group", maintain_order=True)
        flows = groups.agg(pl.len().alias("flows"), goodput, *counters)
        rows = _long(flows, "group", pl.col("measure"))
        frames.append(rows.with_columns(high="value"))
    if "transfers" in result.tables:
        frames.append(_transfers(result.observed))
    columns = dict.fromkeys(("value", "high"), pl.Float64)
    empty = pl.DataFrame(schema={"group": pl.String, "measure": pl.String, **columns})
    return pl.concat([empty, *frames])


def _transfers(observed: pl.DataFrame) -> pl.DataFrame:
    """Return the same of transfers; `value` and `high` are the ends of a statistic."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    columns = completions.statistics_of("fct_s", ("mean", "median", "p99"), "", "_s")
    if "slowdown" in observed.columns:
        columns += completions.statistics_of("slowdown", ("median", "p99"), "slowdown_")
    kinds = observed.group_by("group", "kind", maintain_order=True).agg(
        *completions.counts(), *columns
    )
    ends = {name: completions.ends_of(name) for name in kinds.columns}
    ends = {name: both for name, both in ends.items() if both[0] in kinds.columns}
    named = pl.concat_str(pl.col("kind"), pl.lit(" "), pl.col("measure"))
    lows, highs = (
        kinds.drop(name for both in ends.values() for name in both).with_columns(
            pl.lit(kinds[both[side]]).alias(name) for name, both in ends.items()
        )
        for side in (0, 1)
    )
    low, high = (_long(frame, ["group", "kind"], named) for frame in (lows, highs))
    return low.with_columns(high=high["value"]).drop("kind").drop_nulls()


def _ports(result: Result) -> pl.DataFrame:
    """Return port, measure and value of switch ports."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    if "links" not in result.tables or "queues" not in result.tables:
        return pl.DataFrame(schema={"port": pl.String, "measure": pl.String, "value": pl.Float64})
    ports = result.switch_ports.sort("mean_queue_packets", descending=True, maintain_order=True)
    return _long(ports.select("port", *OF_PORTS), "port", pl.col("measure"))


def _long(frame: pl.DataFrame, keys: str | list[str], measure: pl.Expr) -> pl.DataFrame:
    """Return a row per value; the values of one key stay together."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    places = frame.with_row_index("place")
    index = ["place", *([keys] if isinstance(keys, str) else keys)]
    rows = places.unpivot(index=index, variable_name="measure", value_name="value")
    rows = rows.sort("place", maintain_order=True).drop("place")
    return rows.with_columns(measure.alias("measure"), pl.col("value").cast(pl.Float64))


def _over_time(name: str, a: Result, b: Result) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a table of both with its empty bins; without them where they are far too many."""
    try:
        return a.over_time(name), b.over_time(name)
    except ResultError:
        return a.table(name), b.table(name)


def _curves(name: str, a: pl.DataFrame, b: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Compare the columns of one table over time."""
    whose = [column for column in a.columns if column in NAMES]
    values = [
        column
        for column, kind in a.schema.items()
        if kind.is_numeric() and column != "time_s" and column not in whose
    ]
    rows = []
    for column in values:
        if a[column].equals(b[column]) and len(a) == len(b):
            continue
        means = (_mean(a, column), _mean(b, column))
        rows.append((name, column, len(a), len(b), *means, *_apart(a, b, whose, column)))
    return rows


def _mean(frame: pl.DataFrame, column: str) -> float | None:
    mean = frame[column].mean()
    return None if mean is None else float(mean)  # type: ignore[arg-type]


def _apart(
    a: pl.DataFrame, b: pl.DataFrame, whose: list[str], column: str
) -> tuple[float | None, float | None, str | None]:
    """Return RMS, largest and place of the differences, where both have the same instants."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    keys = ["time_s", *whose]
    if len(a) != len(b) or not a.select(keys).equals(b.select(keys)) or a.is_empty():
        return None, None, None
    difference = b[column].cast(pl.Float64) - a[column].cast(pl.Float64)
    place = difference.abs().arg_max()
    if place is None:
        return None, None, None
    row = a.row(place, named=True)
    where = " ".join([*(str(row[name]) for name in whose), f"at {si(row['time_s'], 's', 6)}"])
    rms = (difference**2).mean()
    return float(rms) ** 0.5, float(difference[place]), where  # type: ignore[arg-type]
