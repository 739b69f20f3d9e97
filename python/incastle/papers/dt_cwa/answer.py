"""The answer: under which reading Sreekumari's +59 % and +43 % appear, and what else was tried.

Two tables of changes against DCTCP, in %: of every reading as taken, and of the readings that
differ most under other values of what Sreekumari leaves open.
"""

from __future__ import annotations

import math
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from incastle.analysis.ends import apart, ends, rising, shown, size
from incastle.reproduction import lasting
from incastle.reproduction.cells import Cells

from .readings import DCTCP, MARKERS, READINGS, SWITCH_ALONE, reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

    from incastle.analysis.ends import Value
    from incastle.analysis.expressions import Choice, Scope
    from incastle.reproduction.declarations import Declarations
    from incastle.reproduction.papers import Observations

BANDS = {30: (49, 69), 55: (33, 53)}
"""The bands of claims.toml, in %, for the numbers of flows with a number in the paper."""
WHATS = {"ftp": "long flows", "total": "queries, 1 MB / n", "unit": "queries, 64 KB"}
MAX = "max"
_SCHEMA = ["setting", "reading", "what", "n", "dctcp_mbit_s", "change_percent", "in_band", "column"]


def _throughput(what: str, system: str = "{s}") -> str:
    """Give the expression of a system's throughput, of long flows or of queries."""
    path = f"{{place}}{what}/{system}/n={{n}}"
    return f"throughput('{path}', seconds)" if what == "ftp" else f"query_throughput('{path}')"


def _mean(scope: Scope, text: str) -> Value:
    return rising(fmean, scope.seeds(text))


def _dctcp(scope: Scope, what: str) -> Value:
    return _mean(scope, _throughput(what, "dctcp"))


def _change(scope: Scope, what: str) -> Value:
    return _mean(scope, f"100 * ({_throughput(what)} / {_throughput(what, 'dctcp')} - 1)")


def _row(scope: Scope, setting: str, what: str) -> tuple[Any, ...]:
    n, mean = scope.names["n"], _change(scope, what)
    low, high = BANDS[n]
    inside = low <= ends(mean).low and ends(mean).high <= high
    label = scope.names["s"].of["label"]
    column = f"{WHATS[what]}, n = {n}, ({'+59 %' if n == min(BANDS) else '+43 %'})"
    return setting, label, WHATS[what], n, _dctcp(scope, what), mean, inside, column


def max_change(scope: Scope, what: str) -> tuple[Value, int]:
    """Give the greatest mean change of queries over all numbers of flows, and at which it is.

    Where unfinished flows leave changes open: at which its lower end is greatest.
    """
    means = {n: _change(scope.having(n=n), what) for n in scope.names["many"]}
    at = max(means, key=lambda n: (ends(means[n]).low, n))
    return rising(max, means.values()), at


def as_taken(declared: Declarations, runs: Observations) -> pl.DataFrame:
    """Give every reading's change, with DCTCP's throughput in its row, and the greatest over n."""
    scope = declared.scope(runs).having(place="")
    rows = [
        _row(scope.having(s=system, n=n), "as taken", what)
        for system in READINGS
        for what in WHATS
        for n in BANDS
    ]
    for system in READINGS:
        for what in [what for what in WHATS if what != "ftp"]:
            value, n = max_change(scope.having(s=system), what)
            dctcp = _dctcp(scope.having(n=n), what)
            column = f"{WHATS[what]}, {MAX}, (at n)"
            label = system.of["label"]
            rows.append(("as taken", label, WHATS[what], n, dctcp, value, False, column))
    return lasting.table(rows, _SCHEMA)


def variants(declared: Declarations, runs: Observations) -> pl.DataFrame:
    """Give the chosen readings' changes for each other value of what is open."""
    scope = declared.scope(runs)
    chosen = [one for one in READINGS if one.of["reaction"] in scope.names["chosen"]]
    rows = [
        _row(scope.having(s=system, n=n, place=f"variant/{v.of['place']}/"), str(v), what)
        for v in scope.names["variants"]
        for what in WHATS
        for n in BANDS
        for system in chosen
    ]
    return lasting.table(rows, _SCHEMA)


# ---- the drawings


def draw_as_taken(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a table: a row for each reading, DCTCP's throughput on top."""
    ordered = data.sort(data["column"].str.contains(MAX), maintain_order=True)
    Cells(width=8.2)(figure, _cells([*_of_dctcp(ordered), *_of_readings(ordered)]))


def _of_dctcp(data: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for row in data.unique("column", maintain_order=True).iter_rows(named=True):
        if MAX not in row["column"]:
            yield _cell("DCTCP (Mbit/s)", row["column"], _dctcp_of(row))


def _of_readings(data: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for row in data.iter_rows(named=True):
        where = f" ({row['n']})" if MAX in row["column"] else ""
        text = shown(lasting.read(row, "change_percent"), partial(_signed, digits=1))
        yield _cell(row["reading"], row["column"], text + where, inside=row["in_band"])


_GAIN = 1.0
"""Percent: from here on a change is printed black."""


def draw_variants(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a table: a row for each setting, with DCTCP's throughput and the range of changes."""
    cells = []
    for (setting, column), part in data.group_by("setting", "column", maintain_order=True):
        rows = list(part.iter_rows(named=True))
        lows, highs = apart([lasting.read(row, "change_percent") for row in rows])
        maximum = "∞" if math.isinf(max(highs)) else _signed(max(highs), 0)
        text = f"{_dctcp_of(rows[0])} Mbit/s\n{_signed(min(lows), 0)} to {maximum} %"
        cell = _cell(setting, column, text, inside=any(part["in_band"]))
        cells.append({**cell, "faint": max(highs) < _GAIN})
    Cells(width=8.6, height=0.36)(figure, _cells(cells))


def _cell(row: object, column: object, text: str, *, inside: bool = False) -> dict[str, Any]:
    return {"row": row, "column": column, "text": text, "in_band": inside}


def _cells(cells: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(cells, infer_schema_length=None)


def _dctcp_of(row: dict[str, Any]) -> str:
    return shown(lasting.read(row, "dctcp_mbit_s"), "{:.0f}".format)


def _signed(value: float, digits: int) -> str:
    """Print a change with its sign; what rounds to zero has none."""
    text = f"{value:+.{digits}f}"
    return text.lstrip("+-") if float(text) == 0 else text


# ---- what the notes quote


def _number(value: Value, digits: int = 1) -> str:
    return shown(value, lambda one: f"{one:.{digits}f}")


def sender(declared: Declarations, runs: Observations) -> dict[str, str]:
    """Give how far the query completion time is from that under DCTCP's sender, in %.

    Both at the same thresholds; the largest, over the kinds, readings and numbers of flows.
    """
    scope, found = declared.scope(runs), [0.0]
    pairs = [(s, a) for a, m in zip(SWITCH_ALONE, MARKERS, strict=True) for s in _of_marker(m)]
    for kind in scope.names["query_kinds"]:
        for n in scope.names["many"]:
            for ours, alone in pairs:
                path = f"query_completion('{kind}/{{one}}/n={n}')"
                both = (path.replace("{one}", one) for one in (ours, alone))
                found.append(size(_mean(scope, "100 * ({} / {} - 1)".format(*both))))  # type: ignore[arg-type]
    return {"sender": _number(rising(max, found))}


def _of_marker(marker: str) -> list[Choice]:
    return [one for one in READINGS if one.of["marker"] == marker]


def answer_facts(declared: Declarations, runs: Observations) -> dict[str, str]:
    """Give the least throughput of DCTCP, and the greatest changes of long flows and queries."""
    scope = declared.scope(runs).having(place="")
    flows = scope.names["flows"]
    changes = [_change(scope.having(s=one, n=n), "ftp") for one in READINGS for n in flows]
    value, at = max_change(scope.having(s=reading("around-k", "subtract")), "total")
    smallest = min(ends(_dctcp(scope.having(s=DCTCP, n=n), "ftp")).low for n in flows)
    return {
        "min": _number(smallest, 0),
        "max": _number(rising(max, [*changes, 0.0])),
        "best": _number(value, 0),
        "best_at": str(at),
    }


def open_facts(declared: Declarations, runs: Observations) -> dict[str, str]:
    """List the settings under which a number appears, and give the greatest change."""
    found = variants(declared, runs)
    hits = [
        f"{row['setting']} ({row['reading']}, {row['what']}, n = {row['n']})"
        for row in found.filter(found["in_band"]).iter_rows(named=True)
    ]
    largest = found.row(found["change_percent"].arg_max() or 0, named=True)
    return {
        "hits": "; ".join(hits) or "none",
        "count": str(len(hits)),
        "all": str(len(found)),
        "max": _number(lasting.read(largest, "change_percent"), 0),
        "max_where": ", ".join(
            (*(largest[one] for one in ("setting", "reading", "what")), f"n = {largest['n']}")
        ),
    }
