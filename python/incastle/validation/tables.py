"""The printed form of a comparison: tables, the line of totals, JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from incastle import terminal
from incastle.units import si
from incastle.validation.verdicts import case_to_dict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.table import Table

    from incastle.validation.simulate import Compared
    from incastle.validation.verdicts import Row

MAX_CASES = 10
"""Cases that are named below the tables, at most."""


def to_json(folder: Path, rows: Sequence[Row], compared: Compared, met: bool | None) -> object:
    """Return all that was measured."""
    return {
        "directory": str(folder),
        "controls": [row.to_dict() for row in rows],
        "cases": [case_to_dict(row, one) for row in rows for one in row.comparisons],
        "failed": [
            {"case": name, "message": str(failure)} for name, failure in compared.failures.items()
        ],
        "runs": compared.runs,
        "interrupted": compared.interrupted,
        "met": met,
    }


def show(rows: Sequence[Row], compared: Compared, wall_s: float, *, by_case: bool) -> None:
    """Print the tables and the line of totals."""
    console = terminal.output()
    if rows:
        _show_tables(rows, by_case=by_case)
    console.print(_total(rows, compared, wall_s), soft_wrap=True)


def _show_tables(rows: Sequence[Row], *, by_case: bool) -> None:
    console = terminal.output()
    console.print(_differences(rows))
    if by_case:
        console.print(_cases(rows))
    if any(row.goal for row in rows):
        console.print(_goals(rows))
        if not by_case and (named := _outside(rows)):
            console.print(escape(named), soft_wrap=True)


def _differences(rows: Sequence[Row]) -> Table:
    """Show what was measured: a row for each layout, control and measure."""
    columns = ("layout", "control", "measure", "cases", "flows", *_MEASURES)
    table = terminal.aligned("FCTs compared with the other simulator's", *columns)
    for column in table.columns[1:3]:
        column.justify = "left"
    for row in rows:
        cells = (str(row.layout), str(row.control), str(row.measure))
        counts = (f"{len(row.comparisons):,}", f"{row.flows:,}")
        table.add_row(*cells, *counts, *_measured(row.to_dict()))
    return table


def _cases(rows: Sequence[Row]) -> Table:
    columns = ("case", "control", "flows", *_MEASURES, "unfinished\nours, theirs", "drops", "goal")
    table = terminal.aligned("Cases", *columns)
    table.columns[1].justify = table.columns[-1].justify = "left"
    for row in rows:
        for one in row.comparisons:
            values = case_to_dict(row, one)
            left = (values["unfinished"], values["unfinished_theirs"])
            table.add_row(
                escape(one.case.name),
                str(row.control),
                f"{values['flows']:,}",
                *_measured(values),
                f"{left[0]:,}, {left[1]:,}" if any(left) else "",
                f"{values['drops']:,}" if values["drops"] else "",
                _verdict(values["met"]),
            )
    return table


_MEASURES = (
    "median\ndifference",
    "95th\npercentile",
    "within\n1 %",
    "p50 slowdown\nours, theirs",
    "p99 slowdown\nours, theirs",
)
"""Columns of both tables."""


def _measured(values: dict[str, Any]) -> tuple[str, ...]:
    pairs = ((values[name], values[f"{name}_theirs"]) for name in ("slowdown_p50", "slowdown_p99"))
    return (
        _share(values["difference_median"]),
        _share(values["difference_p95"]),
        _share(values["within_1_percent"]),
        *(", ".join(_number(one) for one in pair) for pair in pairs),
    )


def _goals(rows: Sequence[Row]) -> Table:
    table = terminal.aligned("Goals", "layout", "control", "demanded", "found", "")
    for place in (1, 2, 4):
        table.columns[place].justify = "left"
    for row in rows:
        if row.goal is None:
            table.add_row(str(row.layout), str(row.control), f"{row.measure}: no goal", "", "")
        for one in row.findings:
            found = _number(one.value) if one.is_ratio else _share(one.value)
            demanded = f"{one.name}: {one.demand}"
            table.add_row(str(row.layout), str(row.control), demanded, found, _verdict(one.met))
    return table


def _outside(rows: Sequence[Row]) -> str:
    """Name cases of missed goals that would miss them alone."""
    names = [
        one.case.name
        for row in rows
        if row.met is False
        for one in row.comparisons
        if row.meets_alone(one) is False
    ]
    if not names:
        return ""
    more = f" and {len(names) - MAX_CASES:,} more" if len(names) > MAX_CASES else ""
    return f"\nmiss it alone: {', '.join(names[:MAX_CASES])}{more} (--by-case has every case)"


def _total(rows: Sequence[Row], compared: Compared, wall_s: float) -> str:
    """Return the last line."""
    cases = len(compared.comparisons)
    flows = sum(row.flows for row in rows)
    parts = [f"{cases:,} cases", f"{flows:,} flows", f"{compared.runs:,} runs"]
    if compared.failures:
        parts.append(f"{len(compared.failures):,} cases failed")
    judged = [row.met for row in rows if row.met is not None]
    verdict = f": {sum(judged)} of {len(judged)} goals met" if judged else ""
    return f"{', '.join(parts)} in {si(wall_s, 's')}{verdict}"


def _verdict(met: bool | None) -> str:
    return {True: "[green]met[/]", False: "[bold red]not met[/]", None: ""}[met]


def _share(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.3g} %" if math.isfinite(value) else "unfinished"


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "unfinished"
