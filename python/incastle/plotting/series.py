"""What is drawn: series of runs, each with one label; the runs of a series differ in their seeds.

Results whose scenarios agree are one series. Without labels the parameters that differ name them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from incastle.analysis.parameters import of_series, told_apart
from incastle.errors import PlotError
from incastle.plotting.style import SERIES

if TYPE_CHECKING:
    from typing import TypeAlias

    import polars as pl

    from incastle.analysis.parameters import Value
    from incastle.results import Result

    Drawn: TypeAlias = (
        "Result | Cells | Sequence[Result | Cells] | Mapping[str, Result | Sequence[Result]]"
    )


MAX_SERIES = len(SERIES)
"""More cannot be told apart by colours, markers and line styles."""


@runtime_checkable
class Cells(Protocol):
    """A sweep: its combinations, each with its values by key and its runs."""

    def cells(self, tables: Sequence[str]) -> list[tuple[dict[str, Any], list[Result]]]:
        """Return those that have one of these tables."""


@dataclass(frozen=True)
class Series:
    """Runs that are one curve.

    Attributes:
        label: its name in legends; empty where there is one series alone.
        runs: one for each seed.

    """

    label: str
    runs: tuple[Result, ...]

    @property
    def first(self) -> Result:
        """The run that stands for all where only one can be drawn."""
        return self.runs[0]

    @property
    def seeds(self) -> str:
        """Its seeds in words."""
        if len(self.runs) == 1:
            return f"seed {self.first.seed}"
        return f"{len(self.runs)} seeds"

    def named(self, name: str) -> str:
        """Return the label of one of several curves of this series."""
        return ", ".join(filter(None, (self.label, name)))

    def table(self, name: str, remedy: str) -> list[tuple[Result, pl.DataFrame]]:
        """Return a table of each run, with zeros for empty bins; it has rows.

        Raises:
            TableMissing: a run has no such table.
            PlotError: it is empty; the message ends in the remedy.

        """
        frames = [(one, one.over_time(name)) for one in self.runs]
        if all(frame.is_empty() for _, frame in frames):
            raise nothing(self.first, f"its table {name} is empty", remedy)
        return frames


def nothing(result: Result, why: str, remedy: str) -> PlotError:
    """Return the error of a result that cannot be drawn: whose, why, and what to do."""
    whose = f"{result.name}, seed {result.seed}"
    return PlotError(f"there is nothing to draw of {whose}: {why}; {remedy}")


def series_of(
    drawn: Drawn, labels: Sequence[str] | None = None, tables: Sequence[str] = ()
) -> list[Series]:
    """Sort results into series, in their order.

    Args:
        drawn: what is drawn.
        labels: names of the series, in their order.
        tables: of which a sweep must have kept one.

    Raises:
        PlotError: there are no results, too many, or not one label for each series.
        TypeError: what is drawn is none of these.

    """
    check(drawn)
    if isinstance(drawn, Mapping):
        series = [
            Series(label, tuple(of) if isinstance(of, Sequence) else (of,))
            for label, of in drawn.items()
        ]
    else:
        series = _grouped(drawn, tables)
    if not series:
        raise PlotError("there is nothing to draw: no result is given")
    check_number(len(series), "series")
    if labels:
        if len(labels) != len(series):
            there = ", ".join(one.label or one.first.name for one in series)
            raise PlotError(
                f"{len(labels)} labels for {len(series)} series ({there}): give one for each"
            )
        series = [Series(label, one.runs) for label, one in zip(labels, series, strict=True)]
    return series


def check(drawn: object) -> None:
    """Refuse what is neither results nor sweeps.

    Raises:
        TypeError: the message has what is taken.

    """
    whole = list(drawn.values()) if isinstance(drawn, Mapping) else [drawn]
    parts = [one for of in whole for one in (of if isinstance(of, list | tuple) else [of])]
    for one in parts:
        if not (isinstance(one, Cells) or hasattr(one, "over_time")):
            path = f": ic.Result.load({one!r}) reads a result, ic.Sweep.load a sweep"
            raise TypeError(
                f"a figure is drawn of results, a sweep, or results by their labels, not of {one!r}"
                + (path if isinstance(one, str | os.PathLike) else "")
            )


def check_number(count: int, what: str, cells: Sequence[Mapping[str, Value]] = ()) -> None:
    """Refuse more curves than can be told apart; choose among these combinations of a sweep.

    Raises:
        PlotError: the message has how to choose.

    """
    if count <= MAX_SERIES:
        return
    remedy = "draw fewer results"
    keys = [key for key in (cells[0] if cells else ()) if len({one.get(key) for one in cells}) > 1]
    if keys:
        remedy = (
            "choose points of the sweep, KEY=VALUE after the kind (in Python where={KEY: VALUE}), "
            f"as {keys[0]}={cells[0][keys[0]]}"
        )
    raise PlotError(f"{count} {what}, and {MAX_SERIES} can be told apart: {remedy}")


def _grouped(
    drawn: Result | Cells | Sequence[Result | Cells], tables: Sequence[str]
) -> list[Series]:
    """Put the runs that differ in their seeds alone together, and name them by what differs."""
    groups: list[tuple[dict[str, Value], list[Result]]] = []
    every = drawn if isinstance(drawn, Sequence) else [drawn]
    for one in every:
        if isinstance(one, Cells):
            groups += one.cells(tables)
            continue
        parameters = of_series(one.scenario)
        fitting = [
            runs
            for known, runs in groups
            if known == parameters and one.seed not in {run.seed for run in runs}
        ]
        if fitting:
            fitting[0].append(one)
        else:
            groups.append((parameters, [one]))
    swept = groups if all(isinstance(one, Cells) for one in every) else []
    check_number(len(groups), "series", [values for values, _ in swept])
    if len(groups) == 1:
        return [Series("", tuple(groups[0][1]))]
    names = told_apart([parameters for parameters, _ in groups])
    names = names or [f"run {number}" for number in range(1, len(groups) + 1)]
    return [Series(name, tuple(runs)) for name, (_, runs) in zip(names, groups, strict=True)]
