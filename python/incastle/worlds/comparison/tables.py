"""The printed form of comparisons: a table, the state of the machine, Markdown, JSON."""

from __future__ import annotations

import math
import platform
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from incastle import terminal
from incastle.units import si
from incastle.worlds.comparison.verdicts import GOALS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incastle.worlds.comparison.campaign import Campaign
    from incastle.worlds.comparison.verdicts import Finding, Row

LABELS = dict(zip(GOALS, ("goodput", "mean queue", "median FCT", "p99 FCT"), strict=True))
UNITS = dict(zip(GOALS, ("bit/s", "packets", "s", "s"), strict=True))
COLUMNS = ("case", "measure", "simulated", "real", "ratio", "goal", "")
VERDICTS = {True: "met", False: "missed", None: "not compared"}
COLOURS = {True: "[green]met[/]", False: "[bold red]missed[/]", None: "[yellow]not compared[/]"}


def to_json(rows: Sequence[Row], campaign: Campaign, met: bool | None) -> dict[str, Any]:
    """Return all that was measured."""
    return {
        "cases": [row.to_dict() for row in rows],
        "runs": campaign.runs,
        "interrupted": campaign.interrupted,
        "met": met,
    }


def show(rows: Sequence[Row], campaign: Campaign) -> None:
    """Print the table, what was not compared, and the line of totals."""
    console = terminal.output()
    table = terminal.aligned("The simulator and other worlds", *COLUMNS)
    table.columns[1].justify = table.columns[-1].justify = "left"
    for row in rows:
        for place, one in enumerate(row.findings):
            name = escape(row.name) if place == 0 else ""
            table.add_row(name, *_cells(one), COLOURS[one.met])
    if table.row_count:
        console.print(table)
    for reason, names in _reasons(rows).items():
        console.print(escape(f"{', '.join(names)}: {reason}"), soft_wrap=True)
    if state := machine(rows):
        console.print(escape(state), soft_wrap=True)
    console.print(_total(rows, campaign), soft_wrap=True)


def markdown(rows: Sequence[Row], campaign: Campaign) -> str:
    """Return the same for a page: one row per case, a column per measure."""
    names = " | ".join(f"{label}: simulated, real" for label in LABELS.values())
    lines = [f"| case | {names} | |", f"|---|{'--:|' * len(LABELS)}---|"]
    for row in rows:
        if not row.findings:
            continue
        by_name = {one.measure: one for one in row.findings}
        cells = [_pair(by_name.get(name)) for name in LABELS]
        missed = [LABELS[one.measure] for one in row.findings if one.met is False]
        verdict = "not comparable" if row.why_not else "missed: " + ", ".join(missed)
        lines.append(
            f"| {row.name} | {' | '.join(cells)} | {verdict if missed or row.why_not else 'met'} |"
        )
    notes = [f"- {', '.join(names)}: {why}" for why, names in _reasons(rows).items()]
    tail = [machine(rows) or "", "", _total(rows, campaign)]
    return "\n".join([*lines, "", *notes, *([""] if notes else []), *tail]) + "\n"


def machine(rows: Sequence[Row]) -> str | None:
    """Describe the machine during the runs."""
    worlds = [world for row in rows for world in row.compared.worlds]
    if not worlds:
        return None
    late = [world["lateness"]["p99_us"] for world in worlds]
    stalls = [world["stalled_share"] for world in worlds]
    loads = [world["load"] for world in worlds]
    dilations = sorted({world["dilation"] for world in worlds})
    stolen = sum(world["stolen_s"] for world in worlds)
    return "; ".join(
        (
            f"kernel {worlds[0]['kernel']}, {platform.machine()}, {worlds[0]['cores']} cores",
            f"dilation {', '.join(map(str, dilations))}",
            f"load before a run {median(loads):.1f} in the median, {max(loads):.1f} at most",
            f"p99 lateness {median(late):.1f} us in the median, {max(late):.0f} us at most",
            f"the switch stood still for {_share(stalls)} at most",
            f"{stolen:.1f} s stolen by the host of the machine",
        )
    )


def _share(parts: Sequence[float]) -> str:
    return f"{100 * median(parts):.2g} % of the time in the median, {100 * max(parts):.2g} %"


def _cells(one: Finding) -> tuple[str, ...]:
    goal = f"{100 * GOALS[one.measure]:.0f} %"
    values = (_number(value, one.measure) for value in (one.simulated, one.real))
    return (LABELS[one.measure], *values, _ratio(one), goal)


def _pair(one: Finding | None) -> str:
    if one is None:
        return ""
    real = _number(one.real, one.measure)
    ratio = f"{_ratio(one)}"
    shown = f"**{ratio}**" if one.met is False else ratio
    return f"{_number(one.simulated, one.measure)}, {real} ({shown})"


def _number(value: float, measure: str) -> str:
    if math.isinf(value):
        return "unfinished"
    unit = UNITS[measure]
    return f"{value:.3g}" if unit == "packets" else si(value, unit, 3)


def _ratio(one: Finding) -> str:
    return f"{one.ratio:.3f}" if math.isfinite(one.ratio) else "-"


def _reasons(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return why cases were skipped or are no comparison, with their names."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.why_not:
            word = "skipped: " if row.compared.skipped else ""
            found.setdefault(word + row.why_not, []).append(row.name)
    return found


def _total(rows: Sequence[Row], campaign: Campaign) -> str:
    judged = [one.met for row in rows for one in row.findings if one.met is not None]
    skipped = sum(row.compared.skipped is not None for row in rows)
    late = sum(bool(row.why_not) and not row.compared.skipped for row in rows)
    parts = [f"{len(rows)} cases", f"{campaign.runs} runs made now"]
    parts += [f"{skipped} skipped"] if skipped else []
    parts += [f"{late} not comparable"] if late else []
    return f"{', '.join(parts)}: {sum(judged)} of {len(judged)} goals met"
