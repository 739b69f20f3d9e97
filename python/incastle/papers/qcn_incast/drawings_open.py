"""Figures of qcn-incast that show how much hangs on what the paper leaves open, and section IX."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from incastle.reproduction import figures
from incastle.reproduction.papers import FigureSpec

from .curves import GOODPUT, PAPER, STYLES, Curve, Curves, Draw, Panel
from .drawings import TABLE_2
from .plan import (
    ADAPTIVE_SYSTEMS,
    BASELINE_SYSTEMS,
    BASELINES,
    END_SYSTEMS,
    ENDS,
    MEMORIES,
    NEAREST,
    OPEN_BUFFERS,
    SET_POINT_SYSTEMS,
    SET_POINTS,
    TRACED,
)
from .points import BUFFERS, RTOS, SYSTEMS, VARIANTS
from .runs import (
    baseline_drops,
    baseline_queue,
    baseline_throughput,
    goodput,
    notifications,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from incastle.reproduction.papers import Observations

_NARROW = Panel("goodput (Mbit/s)", GOODPUT.line, 1000)
_AS_TAKEN = "as taken"


def _panel(system: str, buffer: int, rto: str = "200ms") -> str:
    what = SYSTEMS[system].label.partition(":")[0]
    plain = f", {RTOS[rto]}" if not SYSTEMS[system].notifies else ""
    return f"{what}{plain}, {buffer} KiB"


def _aspect(
    number: str,
    title: str,
    caption: str,
    systems: tuple[tuple[str, str], ...],
    buffers: tuple[int, ...],
    values: Mapping[str, str],
    columns: int,
    taken: str = _AS_TAKEN,
) -> FigureSpec:
    """Give a figure with a panel for each system and buffer, and a curve for each value."""
    curves, panels = [], {}
    for system, rto in systems:
        for buffer in buffers:
            panel = _panel(system, buffer, rto)
            panels[panel] = _NARROW
            curves.append(Curve(panel, taken, system, rto, buffer))
            curves += [
                Curve(panel, label, system, rto, buffer, f"open/{value}/")
                for value, label in values.items()
            ]
    uses = tuple(f"{system}/rto={rto}/" for system, rto in systems)
    aspects = {f"open/{value.split('/')[0]}/" for value in values}
    return FigureSpec(
        number=number,
        title=title,
        caption=f"{caption} Goodput; median over the seeds and their range.",
        uses=(*uses, *sorted(aspects)),
        claims=(),
        data=Curves(tuple(curves)),
        draw=Draw(panels, columns=columns, height=2.0),
    )


_SET_POINT = _aspect(
    "open-qeq",
    "Another Q_eq",
    "Q_eq at 20 and 10 % of the buffer, at the standard's 26,000 bytes and at 33,000, at most "
    "half of the buffer; RTO_min 200 ms.",
    tuple((system, "200ms") for system in SET_POINT_SYSTEMS),
    OPEN_BUFFERS,
    {f"qeq/{value}": words for value, words in SET_POINTS.items()},
    2,
    "20 %",
)
_MEMORY_LABELS = {
    "kept": "never falls",
    "cap=1": "cap 1",
    "cap=3": "cap 3",
    "crossing=50": "events at 50 % of the buffer",
}
_MEMORY = _aspect(
    "open-memory",
    "Another memory of congestion in II",
    "As taken: events at 90 % of the buffer, cap 7, one forgotten at each sampling without "
    "congestion; RTO_min 200 ms.",
    (("II", "200ms"),),
    OPEN_BUFFERS,
    {f"memory/{value}": _MEMORY_LABELS[value] for value in MEMORIES},
    2,
)
_ADAPTIVE = _aspect(
    "open-adaptive",
    "The two readings of the memory in IV",
    "Reading A adds psi / 64 for each notification, reading B psi; RTO_min 200 ms.",
    tuple((system, "200ms") for system in ADAPTIVE_SYSTEMS),
    OPEN_BUFFERS,
    {"adaptive/raw": "reading B"},
    2,
    "reading A",
)
_END_LABELS = {
    "delayed": "delayed ACKs (2, 40 ms)",
    "no-restart": "no slow start after idleness",
    "window=20": "window 20 packets",
    "rtt=400us": "RTT 400 µs",
    "rtt=400us,window=20": "RTT 400 µs, window 20",
    "first-rto=3s": "first RTO 3 s",
    "kilobytes": "KB instead of KiB",
}
_ENDS = _aspect(
    "open-ends",
    "Other ends: acknowledgements, windows, delays, connections, units",
    "One thing at a time is not as taken, in one curve two.",
    END_SYSTEMS,
    OPEN_BUFFERS,
    {f"ends/{value}": _END_LABELS[value] for value in ENDS},
    2,
)

# ---- the table of III

_COUNT, _GOODPUT = "notifications in 20 s", "goodput"
_TABLES = (
    ("III, harmonic", "III"),
    ("III, geometric", "III-geometric"),
    ("VI, harmonic", "VI"),
    ("VI, geometric", "VI-geometric"),
)
_DETAIL = FigureSpec(
    number="10-table",
    title="The two readings of detailed sampling's table",
    caption="Notifications in 20 s and goodput at 128 KiB, RTO_min 200 ms; hollow circles, "
    "dotted: table II's values for III.",
    uses=tuple(
        f"{system}/rto=200ms/b={TRACED}/" for system in ("I", *(system for _, system in _TABLES))
    ),
    claims=("table2-detail",),
    data=Curves(
        tuple(
            Curve(panel, series, system, "200ms", TRACED, "", what)
            for panel, what in ((_COUNT, notifications), (_GOODPUT, goodput))
            for series, system in _TABLES
        ),
        ((_COUNT, PAPER, TABLE_2["III"]),),
    ),
    draw=Draw({_COUNT: Panel("notifications", scale="log"), _GOODPUT: _NARROW}),
)

# ---- section IX

_NUMBERS = {
    "throughput of all (Gbit/s)": baseline_throughput,
    "mean queue at the hotspot (packets)": baseline_queue,
    "dropped (% of the packets)": baseline_drops,
}
_BAR = 0.8


def baseline(runs: Observations) -> pl.DataFrame:
    """Give panel (the number), scenario, system, seed, value."""
    rows = [
        (panel, label, system, seed, what(run))
        for panel, what in _NUMBERS.items()
        for scenario, label in BASELINES.items()
        for system in BASELINE_SYSTEMS
        for seed, run in enumerate(runs[f"baseline/{scenario}/{system}"], 1)
    ]
    return pl.DataFrame(rows, schema=["panel", "scenario", "system", "seed", "value"], orient="row")


def draw_baseline(figure: Figure, data: pl.DataFrame) -> None:
    """Draw bars of the median by scenario and system, with the range over the seeds."""
    figure.set_size_inches(7.2, 6.0)
    panels = data["panel"].unique(maintain_order=True).to_list()
    systems = data["system"].unique(maintain_order=True).to_list()
    scenarios = data["scenario"].unique(maintain_order=True).to_list()
    width = _BAR / len(systems)
    for axes, panel in zip(figure.subplots(len(panels), 1, sharex=True), panels, strict=True):
        for place, system in enumerate(systems):
            part = data.filter((pl.col("panel") == panel) & (pl.col("system") == system))
            seeds = part.group_by("scenario", maintain_order=True).agg(
                pl.col("value").median().alias("median"),
                pl.col("value").min().alias("least"),
                pl.col("value").max().alias("largest"),
            )
            x = [i + (place - (len(systems) - 1) / 2) * width for i in range(len(scenarios))]
            style = STYLES[SYSTEMS[system].label]
            axes.bar(x, seeds["median"], width, color=style["color"], label=SYSTEMS[system].label)
            axes.vlines(x, seeds["least"], seeds["largest"], color="white", lw=2)
            axes.vlines(x, seeds["least"], seeds["largest"], color=figures.BLACK, lw=0.8)
        axes.set_title(panel)
        axes.grid(visible=False, axis="x")
    axes.set_xticks(range(len(scenarios)), scenarios)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)


_BASELINE = FigureSpec(
    number="baseline",
    title="Four baseline scenarios, QCN-style",
    caption="Section IX: UDP sources at 10 Gbit/s. Capacity: ten share 10 Gbit/s, of which 0.5 are "
    "left in the middle third. Output hotspot: ten of 0.85 Gbit/s into a port that is served at 2 "
    "Gbit/s then. Input hotspot: four offer 4 Gbit/s each to one port. Multi-stage: four "
    "culprits into such a port behind a second switch, two victims beside them on the first link.",
    uses=("baseline/",),
    claims=(
        *("baseline-throughput", "baseline-queue", "baseline-detailed-throughput"),
        *("baseline-detailed-queue", "baseline-combined-throughput", "baseline-combined-queue"),
    ),
    data=baseline,
    draw=draw_baseline,
)

# ---- the readings that come nearest

_OURS, _THEIRS = "notifications at 128 KiB in 20 s", "the same in the paper (table II)"
_GOODPUTS = {buffer: f"goodput, {buffer} KiB" for buffer in BUFFERS}
_NOTIFIED = Panel("notifications", scale="log")
_NEAREST = FigureSpec(
    number="open-nearest",
    title="The readings that come nearest to the document",
    caption="Found after the results, and judged by no claim: Q_eq at 10 % of the buffer, a memory "
    "of congestion that never falls (II, V), the geometric table (III, VI), reading B (IV, V, VI); "
    "RTO_min 200 ms. Median over the seeds and their range; compare with figure 13-all.",
    uses=(NEAREST, *(f"{system}/" for system in (*VARIANTS, "every", "tcp", "udp"))),
    claims=(),
    data=Curves(
        (
            *(
                Curve(panel, SYSTEMS[one].label, one, "200ms", buffer, NEAREST)
                for buffer, panel in _GOODPUTS.items()
                for one in VARIANTS
            ),
            *(
                Curve(_OURS, SYSTEMS[one].label, one, "200ms", TRACED, NEAREST, notifications)
                for one in VARIANTS
            ),
        ),
        tuple((_THEIRS, SYSTEMS[one].label, TABLE_2[one]) for one in VARIANTS),
    ),
    draw=Draw(
        {**dict.fromkeys(_GOODPUTS.values(), _NARROW), _OURS: _NOTIFIED, _THEIRS: _NOTIFIED},
        columns=2,
        height=2.1,
    ),
)

TABLE = (_DETAIL,)
SECTION_9 = (_BASELINE,)
OPEN = (_SET_POINT, _MEMORY, _ADAPTIVE, _ENDS, _NEAREST)
