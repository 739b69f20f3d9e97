"""The answer: under which reading which of the paper's figures appear, and what else was tried.

Three tables: every named reading with the values that decide figures 6a, 6b, 7b and 8 and Jain's
index; every combination of readings; and other values of what is open. Shaded are figures that
appear: what they show lies in the bands of its claims, which are those of claims.toml.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from incastle.reproduction import claims
from incastle.reproduction.papers import FigureSpec

from . import plan
from .measures import OF_READING
from .plan import MANY, MAP_SENDERS, SHORT_MS
from .readings import BASE, DCTCP, ENDS, SHOWN, TCP, combinations
from .runs import (
    Values,
    burst,
    calm_after,
    mean_queue,
    number,
    of,
    queue,
    share_after,
    throughput,
)
from .tables import DrawTable, frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from incastle.reproduction.claims import Band
    from incastle.reproduction.papers import Observation, Observations

    from .readings import Reading, System
    from .tables import Cell

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
def bands() -> dict[str, Band]:
    """Read the band of each claim."""
    known = claims.load(Path(__file__).parent / "claims.toml")
    return {claim.id: claim.band for claim in known}


def as_taken(runs: Observations) -> pl.DataFrame:
    """Give the mean values of every reading that is shown; shaded are figures that appear whole."""
    table = frame(
        _cell(system.label, column, fmean(OF_READING[name](runs, system)), name)
        for system in SHOWN
        for name, column in COLUMNS.items()
    )
    of_figure = ("row", pl.col("column").str.split(", ").list.first())
    return table.with_columns(shaded=pl.col("in_band").all().over(*of_figure))


def _cell(row: str, column: str, value: float, *judged: str) -> Cell:
    inside = all(bands()[name].contains(value) for name in judged) if judged else None
    return row, column, value, inside


# ---- every combination


def row_of(reading: Reading) -> str:
    """Name a row of the map: what the switch does, then what the sender does."""
    marker = {"threshold": "threshold", "red": "RED marks", "red-drop": "RED drops"}
    control = "control ECT" if reading.control == "ect" else "control not ECT"
    law = "printed law" if reading.law == "printed" else reading.growth
    return f"{marker[reading.marker]}, {control}: {law}, floor {reading.floor}"


def combined(runs: Observations) -> pl.DataFrame:
    """Give what decides figures 6a, 6b, 7b and 8 under every combination, in groups of columns."""
    ends = {end: name for name, end in ENDS.items()}
    cells: list[Cell] = []
    for reading in combinations(plan.floors(runs.length)):
        end = ends[reading.exit, reading.window]
        cells += _combination(runs, row_of(reading), end, reading)
    order = list(ENDS)
    return frame(sorted(cells, key=lambda cell: order.index(cell[1].partition(", ")[0])))


def _combination(runs: Observations, row: str, end: str, reading: Reading) -> Iterator[Cell]:
    base = f"map/{reading.key}"
    seconds = plan.EXTENTS[runs.length].map_s
    least = min(
        fmean(of(runs, f"{base}/long/n={n}", lambda run: throughput(run, seconds)))
        for n in MAP_SENDERS
    )
    yield _cell(row, f"{end}, 6a", least, "fig6a-dcudp")
    yield _cell(row, f"{end}, 6b", _ahead(runs, base), "fig6b-dcudp-tcp")
    many = runs[f"{base}/long/n={MANY}"]
    small = fmean(number(queue(run, seconds / 2).mean()) for run in many)
    yield row, f"{end}, 7b", small, _looks_like_7b(many, seconds)
    taken = of(runs, f"{base}/after", lambda run: share_after(run, "dcudp", seconds))
    yield _cell(row, f"{end}, 8", fmean(taken), "fig8-dcudp")


def _ahead(runs: Observations, base: str) -> float:
    """Give the share of n and seeds at which it is ahead of both TCP and DCTCP in 10 ms."""

    def short(name: str) -> Values:
        return of(runs, name, lambda run: throughput(run, SHORT_MS / 1e3))

    won = []
    for n in MAP_SENDERS:
        others = [short(f"long/{other.key}/n={n}") for other in (TCP, DCTCP)]
        # The map may have fewer seeds: those that both have are compared.
        mine = short(f"{base}/long/n={n}")
        won += [100.0 * (a > max(b, c)) for a, b, c in zip(mine, *others, strict=False)]
    return fmean(won)


def _looks_like_7b(many: Sequence[Observation], seconds: float) -> bool:
    """Tell whether the queue of 20 senders bursts, falls quickly, and stays small and stable."""
    half = [queue(run, seconds / 2) for run in many]
    values = {
        "fig7-burst": fmean(burst(run, seconds) for run in many),
        "fig7-quickly": fmean(calm_after(run, seconds) for run in many),
        "fig7-small": fmean(number(one.mean()) for one in half),
        "fig7-stable": fmean(number(one.std(ddof=0)) for one in half),
    }
    return all(bands()[name].contains(value) for name, value in values.items())


def appearing(table: pl.DataFrame) -> dict[tuple[str, str], set[str]]:
    """Give the figures that appear, by row of the map and end of congestion mode."""
    found: dict[tuple[str, str], set[str]] = {}
    for row, column, _, inside in table.iter_rows():
        end, _, figure = column.partition(", ")
        here = found.setdefault((row, end), set())
        if inside:
            here.add(figure)
    return found


# ---- what else is open


def variants(runs: Observations) -> pl.DataFrame:
    """Give every system's values for each other value of what is open, and as taken."""
    cells: list[Cell] = []
    for system in (BASE, TCP, DCTCP):
        cells += _open(runs, "as taken", system, "")
        for place, (variant, (systems, _)) in enumerate(plan.VARIANTS.items()):
            if system in systems:
                cells += _open(runs, variant, system, f"open/{place}/")
    return frame(cells)


def _open(runs: Observations, variant: str, system: System, base: str) -> Iterator[Cell]:
    row = f"{'DCUDP' if system is BASE else system.label}: {variant}"
    seconds = plan.seconds(runs.length)
    ended = plan.ended(runs.length)
    for n in MAP_SENDERS:
        name = f"{base}long/{system.key}/n={n}"
        values = of(runs, name, lambda run: throughput(run, seconds))
        yield row, f"6a, n = {n}, Gbit/s", fmean(values), None
    for n in MAP_SENDERS:
        name = f"{base}long/{system.key}/n={n}"
        values = of(runs, name, lambda run: throughput(run, SHORT_MS / 1e3))
        yield row, f"6b, n = {n}, Gbit/s", fmean(values), None
    queues = of(runs, f"{base}long/{system.key}/n={MANY}", mean_queue)
    yield row, "7, mean, (packets)", fmean(queues), None
    name = f"{base}after/{system.key}"
    taken = of(runs, name, lambda run: share_after(run, system.scenarios, ended))
    yield row, "8, share of, link (%)", fmean(taken), None


FIGURES = (
    FigureSpec(
        number="answer",
        kind="table",
        title="Which reading gives which figure?",
        caption="Mean over the seeds, for the default and for each reading that differs from it as "
        "its name says. Bold is what lies in the band of its claim; green is a figure that "
        "appears: all its columns are bold.",
        uses=("long/", "after/", "bursts/"),
        claims=(),
        data=as_taken,
        draw=DrawTable(width=9.5),
    ),
    FigureSpec(
        number="answer-map",
        kind="table",
        title="Which combination of readings gives which figure?",
        caption="A row is what the switch does, whether control packets are ECN-capable, the "
        "growth (or the printed law) and the floor; a group of columns is how congestion mode "
        "ends. Green: that figure appears. 6a: least throughput with 1, 4 and 20 senders "
        "(Gbit/s); 6b: share of them ahead of both TCP and DCTCP in 10 ms (%); 7b: mean queue of "
        "20 senders in the second half (packets), green where it also bursts at first, falls "
        "quickly and is stable; 8: share of the link taken after the other's end (%).",
        uses=("map/", "long/tcp/", "long/dctcp/"),
        claims=(),
        data=combined,
        draw=DrawTable(width=9.5, font=7, height=0.19, grouped=True),
    ),
    FigureSpec(
        number="answer-open",
        kind="table",
        title="What do other values of what is open change?",
        caption="DCUDP in its default reading, TCP and DCTCP (K = 10); 6b is the throughput after "
        "10 ms.",
        uses=("open/", "long/", "after/"),
        claims=(),
        data=variants,
        draw=DrawTable(width=9.0),
    ),
)
