"""`incastle diff`: what differs between two results, or two reports."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  typer looks at it
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from incastle import terminal
from incastle.analysis import completions
from incastle.commands.options import AsJson, Unverified  # noqa: TC001  typer looks at it
from incastle.units import si

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from rich.table import Table

    from incastle.difference.reports import ClaimChange, ReportDiff
    from incastle.difference.results import ResultDiff
    from incastle.difference.values import Change, Value

EXAMPLES = (
    "incastle diff results/dctcp-12ab34cd results/dctcp-56ef78ab",
    "incastle diff results/one results/two --figure diff.png",
    "incastle diff report-of-0.1 report",
)

MAX_ROWS = 20
"""Rows of a table without --all."""

UNITS = {"_bit_s": "bit/s", "_bytes": "B", "_s": "s"}
"""Ends of names that are units."""


def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="Directory of a result or of a report.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Directory of the same kind.")],
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw both into this .png, .svg or .pdf file."),
    ] = None,
    as_json: AsJson = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Print all rows of long tables.")
    ] = False,
    unverified: Unverified = False,
) -> None:
    """Show what differs between two results, or between two reports.

    For results: parameters, totals, groups of flows, switch ports, curves. For reports: runs by
    their digests, claims with measured values and verdicts, data of figures; use it to compare two
    versions of Incastle. Changes are from A to B.
    """
    from incastle.difference import api  # noqa: PLC0415
    from incastle.difference import drawing as draw  # noqa: PLC0415
    from incastle.plotting import style  # noqa: PLC0415  only here

    if figure is not None:
        style.form_of(figure)  # refused before the tables, not after them
    compared = api.diff(a, b, verify=not unverified)

    def print_it() -> None:
        if as_json:
            terminal.print_json(compared.as_json())
        else:
            show(compared, everything=everything)

    terminal.figure_first(figure, lambda path: draw.save(compared, path), print_it)


def show(diff: ResultDiff | ReportDiff, *, everything: bool) -> None:
    """Show a comparison as tables, of each the first rows unless `everything`."""
    from incastle.difference import results  # noqa: PLC0415  only here

    max_rows = None if everything else MAX_ROWS
    if isinstance(diff, results.ResultDiff):
        _results(diff, max_rows)
    else:
        _reports(diff, max_rows)


def _results(diff: ResultDiff, max_rows: int | None) -> None:
    console = terminal.output()
    for side, one, place in zip("AB", (diff.a, diff.b), diff.places, strict=True):
        state = ", [yellow]interrupted[/]" if one.interrupted else ""
        where = escape(str(place or "(in memory)"))
        console.print(
            f"[bold]{side}[/]  {where}  {escape(one.name)}  seed {one.seed}  "
            f"digest {one.digest}  Incastle {one.version}{state}",
            soft_wrap=True,
        )
    console.print(
        "identical runs: every event of every port and flow is equal"
        if diff.same_course
        else "different runs"
    )
    tables = [
        _changes("Parameters", "key", diff.parameters, max_rows),
        _changes("Totals", "total", diff.totals, max_rows),
        _frame("Groups of flows", diff.groups, max_rows),
        _frame("Switch ports", diff.ports, max_rows),
        _curves(diff.curves, max_rows),
    ]
    for table in tables:
        if table is not None:
            console.print(table)
    for side, names in zip("AB", diff.only_in, strict=True):
        if names:
            console.print(f"only {side} has the table{'s' * (len(names) > 1)} {', '.join(names)}")
    if not any((*tables, *diff.only_in)):
        console.print("nothing differs")


def _changes(
    title: str, what: str, changes: Sequence[Change], max_rows: int | None
) -> Table | None:
    if not changes:
        return None
    table = terminal.aligned(_titled(title, len(changes), max_rows), what, "A", "B", "change")
    for one in changes[:max_rows]:
        table.add_row(escape(one.name), _value(one.a), _value(one.b), _percent(one.relative))
    return table


def _frame(title: str, frame: pl.DataFrame, max_rows: int | None) -> Table | None:
    if frame.is_empty():
        return None
    key = frame.columns[0]
    table = terminal.aligned(
        _titled(title, len(frame), max_rows), key, "measure", "A", "B", "change"
    )
    table.columns[1].justify = "left"
    for row in frame.head(max_rows if max_rows is not None else len(frame)).iter_rows(named=True):
        name, unit = _unit(row["measure"])
        values = (_between(row[side], row.get(f"{side}_high", row[side]), unit) for side in "ab")
        table.add_row(escape(row[key]), escape(name), *values, _percent(row["relative"]))
    return table


def _between(low: float | None, high: float | None, unit: str) -> str:
    """Write a value, or the range in which unfinished transfers leave it."""
    if low is not None and low != high:
        return completions.shown(low, high, unit)
    return si(low, unit) if unit else _value(low)


def _curves(frame: pl.DataFrame, max_rows: int | None) -> Table | None:
    if frame.is_empty():
        return None
    columns = ("table", "column", "rows of A", "of B", "mean of A", "of B", "apart by\n(RMS)")
    table = terminal.aligned(_titled("Curves", len(frame), max_rows), *columns, "furthest")
    table.columns[1].justify = "left"
    for row in frame.head(max_rows if max_rows is not None else len(frame)).iter_rows(named=True):
        furthest = "" if row["furthest"] is None else f"{row['furthest']:+.4g}, {row['where']}"
        table.add_row(
            row["table"],
            row["column"],
            *(f"{row[name]:,}" for name in ("rows_a", "rows_b")),
            *(_value(row[name]) for name in ("mean_a", "mean_b")),
            "other instants" if row["rms"] is None else _value(row["rms"]),
            escape(furthest),
        )
    return table


def _reports(diff: ReportDiff, max_rows: int | None) -> None:
    console = terminal.output()
    for side, claims, place in zip("AB", (diff.a, diff.b), diff.places, strict=True):
        console.print(f"[bold]{side}[/]  {escape(str(place))}  {len(claims)} claims")
    tables = [_runs(diff), _claims(diff.claims, max_rows), _figures(diff, max_rows)]
    for table in tables:
        if table is not None:
            console.print(table)
    changed = sum(one.verdict_changed for one in diff.claims)
    apart = sum(one.apart for one in diff.claims)
    console.print(
        f"claims that differ: {len(diff.claims)}, with another verdict: {changed}, apart: {apart} "
        "(95 % intervals that do not meet)"
        if diff.claims
        else "all claims are the same"
    )


def _runs(diff: ReportDiff) -> Table | None:
    if not diff.runs:
        return None
    columns = ("paper", "identical", "different", "only in A", "only in B")
    table = terminal.aligned("Runs", *columns)
    for one in diff.runs:
        counts = (one.same, one.other, one.only_a, one.only_b)
        table.add_row(escape(one.paper), *(f"{count:,}" for count in counts))
    return table


def _claims(claims: Sequence[ClaimChange], max_rows: int | None) -> Table | None:
    if not claims:
        return None
    ordered = sorted(claims, key=_weight)
    columns = ("claim", "A", "B", "change", "verdict")
    table = terminal.aligned(_titled("Claims", len(ordered), max_rows), *columns)
    table.columns[-1].justify = "left"
    for one in ordered[:max_rows]:
        values = (_with_unit(one, value) for value in one.measured)
        change = _percent(one.relative) + (" apart" if one.apart else "")
        table.add_row(escape(f"{one.paper}: {one.id}"), *values, change, _verdict(one))
    return table


def _weight(one: ClaimChange) -> tuple[bool, bool, bool, float]:
    """Other verdicts first, then what is apart, then the largest changes."""
    alone = one.a is None or one.b is None
    return not one.verdict_changed, alone, not one.apart, -abs(one.relative or 0.0)


def _with_unit(one: ClaimChange, value: float | None) -> str:
    from incastle.reproduction.claims import number  # noqa: PLC0415  only here

    return "-" if value is None else escape(f"{number(value)} {one.unit}")


def _verdict(one: ClaimChange) -> str:
    a, b = one.verdicts
    if a is None or b is None:
        return f"only {'B' if a is None else 'A'}: {a or b}"
    if a != b:
        return f"[bold red]{a} -> {b}[/]"
    others = len(one.cases)
    return f"{a}; {others} case{'s' * (others > 1)} differ{'s' * (others == 1)}" if others else a


def _figures(diff: ReportDiff, max_rows: int | None) -> Table | None:
    if not diff.figures:
        return None
    title = _titled("Figures with other data", len(diff.figures), max_rows)
    table = terminal.aligned(title, "figure", "what differs", "most", "in the column")
    table.columns[1].justify = table.columns[3].justify = "left"
    for one in diff.figures[:max_rows]:
        most_in = ("" if one.relative is None else f"{100 * one.relative:.3g} %", one.column or "")
        table.add_row(escape(f"{one.paper}: {one.name}"), escape(one.what), *most_in)
    return table


def _titled(title: str, count: int, max_rows: int | None) -> str:
    return (
        f"{title}, {max_rows} of {count} (--all has the others)"
        if max_rows and count > max_rows
        else title
    )


def _unit(measure: str) -> tuple[str, str]:
    """Take the unit from the end of a name."""
    for suffix, unit in UNITS.items():
        if measure.endswith(suffix):
            return measure.removesuffix(suffix), unit
    return measure, ""


def _value(value: Value) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return f"{value:,.0f}"
    return f"{value:,.6g}" if isinstance(value, float) else escape(str(value))


def _percent(change: float | None) -> str:
    return "" if change is None else f"{100 * change:+.3g} %"
