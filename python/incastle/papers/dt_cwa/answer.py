"""The answer: under which reading Sreekumari's +59 % and +43 % appear, and what else was tried.

Two tables of changes against DCTCP, in percent: of every reading as taken, and of the readings that
differ most under other values of what Sreekumari leaves open.
"""

from __future__ import annotations

import math
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from incastle.ends import apart, ends, rising, shown
from incastle.reproduction import figures, lasting
from incastle.reproduction.papers import FigureSpec

from . import plan
from .measures import ftp_change, query_change, throughputs
from .readings import DCTCP, READINGS
from .runs import change, of, query_throughput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incastle.ends import Value
    from incastle.reproduction.papers import Observations

    from .readings import System
    from .runs import Values

BANDS = {30: (49, 69), 55: (33, 53)}
"""The bands of claims.toml, in percent, for the numbers of flows with a number in the paper."""
WHATS = {"ftp": "long flows", "total": "queries, 1 MB / n", "unit": "queries, 64 KB"}
GREATEST = "greatest"
_SCHEMA = ["setting", "reading", "what", "n", "dctcp_mbit_s", "change_percent", "in_band", "column"]


def _row(
    setting: str, reading: str, what: str, n: int, dctcp: Values, changed: Values
) -> tuple[str, str, str, int, Value, Value, bool, str]:
    low, high = BANDS[n]
    mean = rising(fmean, changed)
    inside = low <= ends(mean).low and ends(mean).high <= high
    beside = rising(fmean, dctcp)
    return setting, reading, WHATS[what], n, beside, mean, inside, _column(what, n)


def _column(what: str, n: int) -> str:
    number = "+59 %" if n == plan.ASKED[0] else "+43 %"
    return f"{WHATS[what]}, n = {n}, ({number})"


def _dctcp(runs: Observations, what: str, n: int) -> Values:
    name = f"{what}/{DCTCP.key}/n={n}"
    return throughputs(runs, name) if what == "ftp" else of(runs, name, query_throughput)


def _change(runs: Observations, what: str, system: System, n: int) -> Values:
    if what == "ftp":
        return ftp_change(runs, system, n)
    return query_change(runs, what, system, n)


def greatest(runs: Observations, what: str, system: System) -> tuple[Value, int]:
    """Give the greatest mean change of queries over all numbers of flows, and at which it is.

    Where unfinished flows leave changes open: at which its lower end is greatest.
    """
    means = {n: rising(fmean, _change(runs, what, system, n)) for n in plan.many(runs.length)}
    at = max(means, key=lambda n: (ends(means[n]).low, n))
    return rising(max, means.values()), at


def as_taken(runs: Observations) -> pl.DataFrame:
    """Give every reading's change, with DCTCP's throughput beside it, and the greatest over n."""
    label = "as taken"
    rows = [
        _row(label, system.label, what, n, _dctcp(runs, what, n), _change(runs, what, system, n))
        for system in READINGS
        for what in WHATS
        for n in plan.ASKED
    ]
    for system in READINGS:
        for what in plan.QUERY_KINDS:
            value, n = greatest(runs, what, system)
            dctcp = rising(fmean, _dctcp(runs, what, n))
            column = f"{WHATS[what]}, {GREATEST}, (at n)"
            rows.append((label, system.label, WHATS[what], n, dctcp, value, False, column))
    return lasting.table(rows, _SCHEMA)


def _of_variant(runs: Observations, place: int, what: str, system: System, n: int) -> Values:
    name = f"variant/{place}/{what}/{system.key}/n={n}"
    return throughputs(runs, name) if what == "ftp" else of(runs, name, query_throughput)


def variants(runs: Observations) -> pl.DataFrame:
    """Give the chosen readings' changes for each other value of what is open."""
    rows = []
    for place, variant in enumerate(plan.VARIANTS):
        for what in WHATS:
            for n in plan.ASKED:
                dctcp = _of_variant(runs, place, what, DCTCP, n)
                rows += [
                    _row(
                        variant,
                        system.label,
                        what,
                        n,
                        dctcp,
                        change(_of_variant(runs, place, what, system, n), dctcp),
                    )
                    for system in plan.chosen(runs.length)
                ]
    return lasting.table(rows, _SCHEMA)


def draw_as_taken(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a table: a row for each reading, DCTCP's throughput on top."""
    names = data["reading"].unique(maintain_order=True).to_list()
    columns = sorted(data["column"].unique(maintain_order=True), key=_is_greatest)
    figure.set_size_inches(8.2, 1.1 + 0.24 * (len(names) + 2))
    axes = figure.subplots()
    _frame(axes, ["DCTCP (Mbit/s)", *names], columns)
    for x, column in enumerate(columns):
        part = data.filter(pl.col("column") == column)
        if not _is_greatest(column):
            _cell(axes, x, 0, _dctcp_of(part.row(0, named=True)), inside=False)
        for y, row in enumerate(part.iter_rows(named=True), 1):
            where = f" ({row['n']})" if _is_greatest(column) else ""
            text = shown(lasting.read(row, "change_percent"), partial(_signed, digits=1))
            _cell(axes, x, y, text + where, inside=row["in_band"])


def draw_variants(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a table: a row for each setting, with DCTCP's throughput and the range of changes."""
    names = data["setting"].unique(maintain_order=True).to_list()
    columns = data["column"].unique(maintain_order=True).to_list()
    figure.set_size_inches(7.6, 1.1 + 0.42 * (len(names) + 1))
    axes = figure.subplots()
    _frame(axes, names, columns)
    for x, column in enumerate(columns):
        for y, name in enumerate(names):
            part = data.filter((pl.col("column") == column) & (pl.col("setting") == name))
            rows = list(part.iter_rows(named=True))
            lows, highs = apart([lasting.read(row, "change_percent") for row in rows])
            most = "∞" if math.isinf(max(highs)) else _signed(max(highs), 0)
            text = f"{_dctcp_of(rows[0])}\n{_signed(min(lows), 0)} to {most}"
            _cell(axes, x, y, text, inside=any(part["in_band"]))


def _dctcp_of(row: dict[str, Any]) -> str:
    return shown(lasting.read(row, "dctcp_mbit_s"), "{:.0f}".format)


def _is_greatest(column: str) -> bool:
    return GREATEST in column


def _signed(value: float, digits: int) -> str:
    """Print a change with its sign; what rounds to zero has none."""
    text = f"{value:+.{digits}f}"
    return text.lstrip("+-") if float(text) == 0 else text


def _frame(axes: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    """Name rows and columns, without lines of their own."""
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    labels = [column.replace(", ", "\n") for column in columns]
    axes.set_xticks(range(len(columns)), labels, fontsize=8)
    axes.xaxis.tick_top()
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    for y in range(len(rows)):
        axes.axhline(y + 0.5, color="#dddddd", lw=0.6)


def _cell(axes: Axes, x: int, y: int, text: str, *, inside: bool) -> None:
    box = {"facecolor": figures.GREEN, "alpha": 0.25, "lw": 0, "pad": 2} if inside else None
    weight = "bold" if inside else "normal"
    axes.text(x, y, text, ha="center", va="center", fontsize=8, weight=weight, bbox=box)


FIGURES = (
    FigureSpec(
        number="answer",
        kind="table",
        title="Where are +59 % and +43 %?",
        caption="DT-CWA's throughput against DCTCP's in percent, for every reading; shaded what "
        "lies within 10 percentage points of the document's number. The first row is DCTCP's own; "
        "the last columns are the greatest change at any number of flows, and at which.",
        uses=("ftp/", "total/", "unit/"),
        claims=(),
        data=as_taken,
        draw=draw_as_taken,
    ),
    FigureSpec(
        number="answer-open",
        kind="table",
        title="Where are +59 % and +43 %, with other values of what is open?",
        caption="DCTCP's throughput in Mbit/s, and below it the least and the greatest change in "
        "percent over nine readings (three pairs of thresholds; subtract, subtract with "
        "notification, printed; at the quick length subtract alone); shaded where any of them is "
        "in the band.",
        uses=("variant/",),
        claims=(),
        data=variants,
        draw=draw_variants,
    ),
)
