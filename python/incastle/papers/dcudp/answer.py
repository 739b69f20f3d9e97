"""The answer: under which reading which of the paper's figures appear.

Two tables, of every named reading and of every combination. Shaded are figures that appear: what
they show lies in the bands of claims.toml.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from math import isnan
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from incastle.reproduction import claims, figures
from incastle.reproduction.cells import Cells
from incastle.reproduction.statistics import number

from .readings import BASE, ENDS, SHOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from matplotlib.figure import Figure

    from incastle.analysis.expressions import Choice, Scope
    from incastle.reproduction.claims import Band, Claim
    from incastle.reproduction.declarations import Declarations
    from incastle.reproduction.papers import Observations

Cell: TypeAlias = tuple[str, str, float, bool | None]
_SCHEMA = {"row": pl.String, "column": pl.String, "value": pl.Float64, "in_band": pl.Boolean}
COLUMNS = {
    "fig6a-dcudp": "6a, least, (Gbit/s)",
    "fig6a-tcp": "6a, TCP, less (%)",
    "fig6b-dcudp-tcp": "6b, ahead of, TCP (%)",
    "fig6b-dcudp-dctcp": "6b, ahead of, DCTCP (%)",
    "fig7-burst": "7b, burst, (times)",
    "fig7-quickly": "7b, small, after (ms)",
    "fig7-small": "7b, mean, (packets)",
    "fig7-stable": "7b, deviation, (packets)",
    "fig8-dcudp": "8, share of, link (%)",
    "abstract-fair": "Jain's, index",
    "text-dcudp-loss": "loss, (%)",
}
FIGURES_ASKED = ("6a", "6b", "7b", "8")


@cache
def known_claims() -> list[Claim]:
    """Read the claims."""
    return claims.load(Path(__file__).parent / "claims.toml")


@cache
def bands() -> dict[str, Band]:
    """Read the band of each claim."""
    return {claim.id: claim.band for claim in known_claims()}


def of_reading(declared: Declarations, scope: Scope, claim: str, system: Choice) -> float:
    """Give what a claim measures of a reading of DCUDP, on average over the seeds."""
    return fmean(declared.of_case(claim, scope.having(s=system), "{s.label}"))


def as_taken(declared: Declarations, runs: Observations) -> pl.DataFrame:
    """Give the mean values of every reading that is shown; shaded are figures that appear whole."""
    scope = declared.scope(runs)
    table = frame(
        _cell(system.of["label"], column, of_reading(declared, scope, name, system), name)
        for system in SHOWN
        for name, column in COLUMNS.items()
    )
    of_figure = ("row", pl.col("column").str.split(", ").list.first())
    return table.with_columns(shaded=pl.col("in_band").all().over(*of_figure))


OTHERS = ("dcudp-r", "dctcp", "udt")
"""Systems next to the default reading, in the table of the revised control."""
MODES = ("fig8-mode",)
"""Claims about the paper's modes, which the others do not have."""
COUNTERS = ("text-dcudp-loss", "text-packets")
"""Claims that need UDT's counters, which a TCP does not have."""
AGAINST = {
    "dctcp": (
        "fig6b-dcudp-dctcp",
        "fig7-dctcp-least",
        "fig7-throughput",
        "text-newcomer-dcudp",
        "text-rtt-dcudp",
        "abstract-fairer-dctcp",
        "abstract-converges-dctcp",
        "abstract-throughput",
    ),
    "udt": ("text-faster",),
}
"""Claims that compare with a system itself."""


def revised(declared: Declarations, runs: Observations) -> pl.DataFrame:
    """Give each claim about DCUDP: its value under the default reading, and of other systems."""
    scope = declared.scope(runs)
    systems = {str(one): one for one in scope.names["systems"]}
    chosen = {"DCUDP": BASE, **{systems[key].of["label"]: systems[key] for key in OTHERS}}
    return frame(
        _cell(claim.id, column, of_reading(declared, scope, claim.id, system), claim.id)
        for claim in known_claims()
        if BASE.of["label"] in claim.cases
        for column, system in chosen.items()
        if _applies(claim.id, system)
    )


def _applies(claim: str, system: Choice) -> bool:
    if system == BASE:
        return True
    without = COUNTERS if system.of["kind"] == "tcp" else ()
    return claim not in (*MODES, *AGAINST.get(str(system), ()), *without)


def frame(cells: Iterable[Cell]) -> pl.DataFrame:
    """Give the table of these cells."""
    return pl.DataFrame(list(cells), schema=_SCHEMA, orient="row")


def _cell(row: str, column: str, value: float, claim: str) -> Cell:
    return row, column, value, bands()[claim].contains(value)


def combined(declared: Declarations, runs: Observations) -> pl.DataFrame:
    """Give what decides figures 6a, 6b, 7b and 8 under every combination, in groups of columns."""
    scope = declared.scope(runs)
    order = list(ENDS)
    cells = [
        cell
        for reading in scope.names["combinations"]
        if reading.of["floor"] in scope.names["floors"]
        for cell in _combination(scope.having(s=reading), reading.of)
    ]
    return frame(sorted(cells, key=lambda cell: order.index(cell[1].partition(", ")[0])))


_LEAST = "throughput('map/{s}/long/n={n}', map_s)"
_SHORT = "throughput('map/{s}/long/n={n}', 0.01)"
_BEST = "max(throughput('long/{other}/n={n}', 0.01) for other in systems['tcp', 'dctcp'])"
_MANY = "'map/{s}/long/n=20', map_s"
_OF_7B = {
    "fig7-burst": f"burst({_MANY})",
    "fig7-quickly": f"calm_after({_MANY})",
    "fig7-small": "queue_mean('map/{s}/long/n=20', map_s / 2, inf)",
    "fig7-stable": "queue_deviation('map/{s}/long/n=20', map_s / 2)",
}


def _combination(scope: Scope, of: Mapping[str, Any]) -> Iterator[Cell]:
    row, end = of["row"], of["end"]

    def mean(text: str) -> float:
        return fmean(scope.seeds(text))

    least = min(mean(_LEAST.replace("{n}", str(n))) for n in scope.names["map_senders"])
    yield _cell(row, f"{end}, 6a", least, "fig6a-dcudp")
    won = mean(f"mean(100.0 if {_SHORT} > {_BEST} else 0.0 for n in map_senders)")
    yield _cell(row, f"{end}, 6b", won, "fig6b-dcudp-tcp")
    values = {claim: mean(text) for claim, text in _OF_7B.items()}
    inside = all(bands()[name].contains(value) for name, value in values.items())
    yield row, f"{end}, 7b", values["fig7-small"], inside
    yield _cell(
        row, f"{end}, 8", mean("share_after('map/{s}/after', 'dcudp', map_s)"), "fig8-dcudp"
    )


def draw_map(figure: Figure, data: pl.DataFrame) -> None:
    """Draw the figures that appear: a row for each law, three exits for each switch."""
    cells = []
    for (row, end), found in appearing(data).items():
        switch, _, law = row.partition(": ")
        words = "\n".join(sorted(found))
        names = (switch.replace(", ", "\n"), end.replace("exit printed", "exit\nprinted"))
        cells.append((switch, ", ".join(names), law, words))
    table = pl.DataFrame(cells, ["switch", "column", "row", "text"], orient="row")
    table = table.sort("switch", maintain_order=True).with_columns(
        value=None, in_band=pl.col("text") != "", text=pl.col("text").replace("", "-")
    )
    Cells(width=9.5, font=figures.SMALLER, height=0.3, grouped=True)(figure, table)


def appearing(table: pl.DataFrame) -> dict[tuple[str, str], set[str]]:
    """Give the figures that appear, by row of the map and end of congestion mode."""
    found: dict[tuple[str, str], set[str]] = {}
    for row, column, _, inside in table.iter_rows():
        end, _, figure = column.partition(", ")
        here = found.setdefault((row, end), set())
        if inside:
            here.add(figure)
    return found


def map_facts(declared: Declarations, runs: Observations) -> dict[str, str]:
    """Count in how many combinations each figure appears, and which appear together."""
    found = appearing(combined(declared, runs))
    alone = Counter(figure for figures in found.values() for figure in figures)
    most = max(len(figures) for figures in found.values())
    sets = Counter(
        " and ".join(sorted(figures)) for figures in found.values() if len(figures) == most
    )
    both = sum({"6a", "7b"} <= figures for figures in found.values())
    return {
        **{f"n{figure}": str(alone[figure]) for figure in FIGURES_ASKED},
        "all": str(len(found)),
        "max": str(most),
        "best": ", ".join(f"{name} in {times}" for name, times in sorted(sets.items())),
        "with_7b": _places(found, {"7b"}),
        "with_8": _places(found, {"6a", "8"}),
        "both": str(both),
    }


def _places(found: Mapping[tuple[str, str], set[str]], asked: set[str]) -> str:
    """Count the combinations that give these figures, by what the switch and the packets do."""
    groups = Counter(row.partition(":")[0] for (row, _), given in found.items() if asked <= given)
    listed = [f"{group} ({times})" for group, times in sorted(groups.items())]
    return "; ".join(listed) or "no reading"


def default_facts(declared: Declarations, runs: Observations) -> dict[str, str]:
    """List the figures that the default reading gives."""
    table = as_taken(declared, runs).filter(row="default", in_band=False)
    missing = {column.partition(",")[0] for column in table["column"]}
    return {"appear": ", ".join(sorted({*FIGURES_ASKED} - missing)) or "none"}


def waiting(declared: Declarations, runs: Observations) -> dict[str, str]:
    """Count the runs in which TCP's constant sender has no window after the other's end."""
    scope = declared.scope(runs)
    found = [isnan(number(one)) for one in scope.seeds("window_after('after/tcp', ended)")]
    ended = scope.evaluate("1e3 * ended")
    return {"waiting": str(sum(found)), "seeds": str(len(found)), "ended": f"{ended:g}"}
