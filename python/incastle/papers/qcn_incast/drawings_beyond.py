"""Figures of qcn-incast beyond the paper: where collapse begins, completion, timeouts, remedies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from incastle import ends
from incastle.reproduction import figures, lasting
from incastle.reproduction.papers import FigureSpec

from .curves import STYLES, in_decades, legend_columns, over_servers
from .plan import (
    ANSWER_S,
    BARRIER_RTOS,
    DESYNC,
    DESYNC_BUFFER,
    DESYNC_SERVERS,
    MAPS,
    REMEDY_BUFFER,
    REMEDY_SERVERS,
    TRACED,
    remedies,
)
from .points import BUFFERS, RTOS, SERVERS, SYSTEMS, point
from .runs import COLLAPSE, LINK, RUN, goodput, kinds, seconds, timeouts_per_flow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incastle.ends import Value
    from incastle.reproduction.papers import Observation, Observations


# ---- where collapse begins


def collapse_map(runs: Observations) -> pl.DataFrame:
    """Give system, rto, buffer (KiB), n and the mean goodput over the seeds."""
    rows = []
    for system in MAPS:
        for rto, words in RTOS.items():
            for buffer in BUFFERS:
                for n in SERVERS:
                    name = point(system, rto, buffer, n)
                    if name in runs.runs:
                        values = [goodput(run) for run in runs[name]]
                        mean = sum(values) / len(values)
                        rto_min = words.replace("us", "µs")
                        rows.append((SYSTEMS[system].label, rto_min, buffer, n, mean))
    schema = ["system", "rto_min", "buffer_kib", "n", "goodput_mbit_s"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def draw_map(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a row of maps for each system, a column for each RTO_min; a cross where collapsed."""
    systems = data["system"].unique(maintain_order=True).to_list()
    rtos = data["rto_min"].unique(maintain_order=True).to_list()
    buffers, counts = (data[column].unique().sort().to_list() for column in ("buffer_kib", "n"))
    figure.set_size_inches(7.2, 0.6 + 1.15 * len(systems))
    grid = figure.subplots(len(systems), len(rtos), squeeze=False, sharex=True, sharey=True)
    image = None
    for row, system in zip(grid, systems, strict=True):
        for axes, rto in zip(row, rtos, strict=True):
            part = data.filter((pl.col("system") == system) & (pl.col("rto_min") == rto))
            cells = {(b, n): v for b, n, v in part.select(data.columns[2:]).iter_rows()}
            values = [[cells.get((b, n), math.nan) for n in counts] for b in buffers]
            axes.set_facecolor("#e4e4e4")  # what was not run
            axes.patch.set_hatch("////")
            axes.patch.set_edgecolor("white")
            image = axes.imshow(
                values, origin="lower", aspect="auto", cmap="cividis", vmin=0, vmax=LINK
            )
            _outline(axes, values)
            axes.grid(visible=False)
        row[0].set_ylabel(f"{_named(system)}\nbuffer (KiB)", fontsize=7)
        row[0].set_yticks(range(len(buffers)), map(str, buffers), fontsize=7)
    for axes, rto in zip(grid[0], rtos, strict=True):
        axes.set_title(f"RTO_min {rto}", fontsize=9)
    for axes in grid[-1]:
        axes.set_xticks(range(len(counts)), map(str, counts), fontsize=7)
        axes.set_xlabel("servers")
    if image is not None:
        figure.colorbar(image, ax=grid, label="goodput (Mbit/s)", shrink=0.5, aspect=30)


def _named(system: str) -> str:
    """Name a variant as one of QCN, without what it consists of."""
    variant, colon, _ = system.partition(":")
    return f"QCN {variant}" if colon else system


def _outline(axes: Axes, values: list[list[float]]) -> None:
    """Cross the settings that have collapsed, white on black to be seen on every colour."""
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            if value < COLLAPSE:
                axes.plot(x, y, marker="x", color="black", ms=5.6, mew=2.6)
                axes.plot(x, y, marker="x", color="white", ms=4.4, mew=1.2)


# ---- barriers: completion, and the timeouts behind it


def completion(run: Observation) -> tuple[Value, Value]:
    """Give mean and 99th percentile of the completion of a round, in milliseconds."""
    rounds = lasting.begun(run, run["rounds"])
    return lasting.mean(rounds), lasting.quantile(rounds, 0.99)


def completions(runs: Observations) -> pl.DataFrame:
    """Give system, rto_min, n, seed, mean_ms, p99_ms."""
    rows = [
        (SYSTEMS[system].label, RTOS[rto], n, seed, *completion(run))
        for rto in BARRIER_RTOS
        for system in MAPS
        for n, seed, run in _barriers(runs, system, rto)
    ]
    schema = ["system", "rto_min", "n", "seed", "mean_ms", "p99_ms"]
    return lasting.table(rows, schema, infer_schema_length=None)


def _barriers(runs: Observations, system: str, rto: str) -> Iterator[tuple[int, int, Observation]]:
    for n in SERVERS:
        name = point(system, rto, TRACED, n, "barrier/")
        for seed, run in enumerate(runs.runs.get(name, ()), 1):
            yield n, seed, run


def draw_completion(figure: Figure, data: pl.DataFrame) -> None:
    """Draw mean and 99th percentile in rows, RTO_min in columns."""
    rtos = data["rto_min"].unique(maintain_order=True).to_list()
    figure.set_size_inches(7.2, 5.4)
    grid = figure.subplots(2, len(rtos), squeeze=False, sharex=True, sharey=True)
    rows = (("mean_ms", "mean (ms)"), ("p99_ms", "99th percentile (ms)"))
    for row, (column, label) in zip(grid, rows, strict=True):
        for axes, rto in zip(row, rtos, strict=True):
            part = data.filter(pl.col("rto_min") == rto)
            for system in part["system"].unique(maintain_order=True):
                one = part.filter(pl.col("system") == system)
                figures.spread(axes, one, "n", column, label=_named(system), **_style(system))
            counts = part["n"].unique().sort().to_list()
            ideal = [1e3 * ANSWER_S * n for n in counts]
            axes.plot(counts, ideal, color=figures.GREY, ls=":", label="link never idle")
            in_decades(axes, "log")
            over_servers(axes, counts)
        row[0].set_ylabel(label)
    for axes, rto in zip(grid[0], rtos, strict=True):
        axes.set_title(f"RTO_min {rto}")
    for axes in grid[-1]:
        axes.set_xlabel("servers")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)


def _style(system: str) -> dict[str, Any]:
    """Give a system's style, dashed where QCN is below it."""
    notifies = any(one.label == system and one.notifies for one in SYSTEMS.values())
    return STYLES[system] | {"clip_on": False} | ({"ls": "--"} if notifies else {})


_KINDS = {
    "full-window": ("a whole window was lost", figures.RED),
    "last-packet": ("the last packets were lost", figures.BLUE),
    "lost-retransmission": ("a retransmission was lost", figures.ORANGE),
    "few-duplicates": ("too few duplicate ACKs", figures.SKY),
    "spurious": ("last transmission not dropped", figures.GREY),
}
_TENTHS = 10
"""Counts below are written with a decimal."""
_KIND_SYSTEMS = (("tcp", "200ms"), ("tcp", "10ms"), ("sack", "200ms"), ("dctcp", "200ms"),
                 ("I", "200ms"), ("V", "200ms"))  # fmt: skip


def timeout_kinds(runs: Observations) -> pl.DataFrame:
    """Give system, rto_min, n, kind: timeouts per flow in 20 s, idle share of the link in %.

    Means over the seeds. A timeout without a dropped segment is spurious, whatever its form.
    """
    rows = []
    for system, rto in _KIND_SYSTEMS:
        found: dict[int, list[Observation]] = {}
        for n, _, run in _barriers(runs, system, rto):
            found.setdefault(n, []).append(run)
        for n, seeds in found.items():
            for kind in _KINDS:
                counted = [_of_kind(run, kind, n) for run in seeds]
                count, idle = (sum(column) / len(seeds) for column in zip(*counted, strict=True))
                rows.append((SYSTEMS[system].label, RTOS[rto], n, kind, count, idle))
    schema = ["system", "rto_min", "n", "kind", "timeouts_per_flow", "idle_percent"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _of_kind(run: Observation, kind: str, n: int) -> tuple[float, float]:
    named = kinds()
    chosen = run["timeouts"].filter(named == kind)
    length = seconds(run)
    idle = float(chosen["idle_s"].sum() or 0)
    return len(chosen) / n * RUN / length, 100 * idle / length


def draw_kinds(figure: Figure, data: pl.DataFrame) -> None:
    """Draw stacked bars over n: the kinds' shares with the count of all, and the idle time."""
    panels = data.select("system", "rto_min").unique(maintain_order=True).rows()
    figure.set_size_inches(7.2, 4.8)
    grid = figure.subplots(2, len(panels), squeeze=False, sharex=True, sharey="row")
    total = pl.col("timeouts_per_flow").sum().over("n")
    share = pl.when(total > 0).then(100 * pl.col("timeouts_per_flow") / total).otherwise(0)
    for column, (system, rto) in enumerate(panels):
        part = data.filter((pl.col("system") == system) & (pl.col("rto_min") == rto))
        part = part.with_columns(share.alias("share_percent"), total.alias("total"))
        above, below = grid[0][column], grid[1][column]
        _stack(above, part, "share_percent")
        _stack(below, part, "idle_percent")
        counts = part.unique("n", maintain_order=True)
        for place, count in enumerate(counts["total"]):
            text = f"{count:.{1 if 0 < count < _TENTHS else 0}f}"
            above.text(place, 103, text, fontsize=6, rotation=90, ha="center")
        above.set_title(f"{_named(system)}\n{rto}\n", fontsize=8)
        below.set_xticks(range(len(counts)), counts["n"].cast(pl.String), fontsize=7)
        below.set_xlabel("servers", fontsize=8)
    grid[0][0].set_ylim(0, 100)
    grid[0][0].set_ylabel("% of the timeouts")
    grid[1][0].set_ylabel("link idle for them (%)")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=legend_columns(labels))


def _stack(axes: Axes, data: pl.DataFrame, value: str) -> None:
    """Draw a bar for each n, with a part for each kind."""
    places = range(data["n"].n_unique())
    floor = [0.0] * len(places)
    for kind, (words, colour) in _KINDS.items():
        heights = data.filter(pl.col("kind") == kind)[value].to_list()
        axes.bar(places, heights, bottom=floor, color=colour, label=words)
        floor = [a + b for a, b in zip(floor, heights, strict=True)]
    axes.grid(visible=False, axis="x")


# ---- desynchronised timeouts


def desynchronised(runs: Observations) -> pl.DataFrame:
    """Give series, n, seed, goodput_mbit_s, slowdown_p99 (99th percentile / the link's time)."""
    rows = []
    labels = {"equal": "all alike", "drawn": "drawn from 1 to 1.5 times"}
    for name in DESYNC:
        for n in DESYNC_SERVERS:
            found = runs.runs.get(point("tcp", "200us", DESYNC_BUFFER, n, f"desync/{name}/"), ())
            for seed, run in enumerate(found, 1):
                slow = ends.ratio(completion(run)[1], 1e3 * ANSWER_S * n)
                rows.append((labels[name], n, seed, goodput(run), slow, timeouts_per_flow(run)))
    schema = ["series", "n", "seed", "goodput_mbit_s", "slowdown_p99", "timeouts_per_flow"]
    return lasting.table(rows, schema, infer_schema_length=None)


def draw_desynchronised(figure: Figure, data: pl.DataFrame) -> None:
    """Draw goodput, slowdown and timeouts over n."""
    figure.set_size_inches(7.2, 3.2)
    panels = (
        ("goodput_mbit_s", "goodput (Mbit/s)"),
        ("slowdown_p99", "99th percentile\n/ link's time"),
        ("timeouts_per_flow", "timeouts per flow\nin 20 s"),
    )
    styles: tuple[dict[str, Any], ...] = (
        {"color": figures.RED, "marker": "s"},
        {"color": figures.BLUE, "marker": "o"},
    )
    grid = figure.subplots(1, len(panels))
    for axes, (column, label) in zip(grid, panels, strict=True):
        for series, style in zip(data["series"].unique(maintain_order=True), styles, strict=True):
            one = data.filter(pl.col("series") == series)
            figures.spread(axes, one, "n", column, label=series, clip_on=False, **style)
        over_servers(axes, data["n"].unique().sort().to_list())
        axes.set_ylim(bottom=0)
        axes.set_title(label, fontsize=9)
        axes.set_xlabel("servers")
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, title="timeouts")


# ---- what an operator can do


def side_by_side(runs: Observations) -> pl.DataFrame:
    """Give remedy, n, seed, goodput_mbit_s, slowdown_mean, slowdown_p99, timeouts_per_flow."""
    rows = []
    for n in REMEDY_SERVERS:
        for name, (system, rto, _) in remedies(n).items():
            found = runs.runs.get(point(system, rto, REMEDY_BUFFER, n, f"remedy/{name}/"), ())
            for seed, run in enumerate(found, 1):
                slow = [ends.ratio(value, 1e3 * ANSWER_S * n) for value in completion(run)]
                rows.append((name, n, seed, goodput(run), *slow, timeouts_per_flow(run)))
    schema = ["remedy", "n", "seed", "goodput_mbit_s", "slowdown_mean", "slowdown_p99"]
    schema.append("timeouts_per_flow")
    return lasting.table(rows, schema, infer_schema_length=None)


def draw_side_by_side(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a row for each remedy, a marker for each number of servers."""
    names = data["remedy"].unique(maintain_order=True).to_list()
    counts = data["n"].unique().sort().to_list()
    figure.set_size_inches(7.2, 0.9 + 0.3 * len(names))
    panels = (
        ("goodput_mbit_s", "goodput (Mbit/s)", "linear", (0, 250, 500, 750)),
        ("slowdown_p99", "99th percentile\n/ link's time", "log", (1, 2, 5, 10, 20, 50)),
        ("timeouts_per_flow", "timeouts per flow\nin 20 s", "symlog", (0, 1, 10, 100, 1000)),
    )
    grid = figure.subplots(1, len(panels), sharey=True)
    colours = (figures.SKY, figures.BLUE, figures.PURPLE, figures.RED)
    medians = data.group_by("remedy", "n", maintain_order=True).median()
    for axes, (column, label, scale, ticks) in zip(grid, panels, strict=True):
        for place, n in enumerate(counts):
            part = medians.filter(pl.col("n") == n)
            y = [names.index(name) for name in part["remedy"]]
            colour, marker = colours[place % 4], "osD^"[place % 4]
            style = {"ls": "", "marker": marker, "color": colour, "clip_on": False}
            axes.plot(part[column], y, label=f"{n} servers", **style)
            figures.bars(axes, part, column, y, colour, sideways=True)
        axes.set_title(label, fontsize=9)
        axes.set_xscale(scale, **({"linthresh": 1} if scale == "symlog" else {}))
        low, high = axes.get_xlim()
        if scale != "log":
            low = 0
        axes.set_xticks([tick for tick in ticks if low <= tick <= high])
        axes.xaxis.set_major_formatter("{x:g}")
        axes.tick_params(axis="x", labelsize=7)
        axes.minorticks_off()
        axes.set_xlim(low, high)
    grid[0].set_yticks(range(len(names)), names)
    grid[0].invert_yaxis()
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(counts))


FIGURES = (
    FigureSpec(
        number="beyond-map",
        title="Where collapse begins",
        caption="Goodput over servers and buffer, a row for each remedy and a column for each "
        "RTO_min; mean over the seeds. Crosses: below 500 Mbit/s. Hatched: not run at "
        "this length of the report.",
        uses=tuple(f"{system}/rto={rto}/" for system in MAPS for rto in RTOS),
        claims=(),
        data=collapse_map,
        draw=draw_map,
    ),
    FigureSpec(
        number="beyond-completion",
        title="Completion of a request",
        caption="From the client's request until the last answer is complete, buffer 128 KiB: "
        "mean, and 99th percentile of the rounds of a run. Dotted: the answers' time on the link. "
        "A run in which no round was completed has no value.",
        uses=("barrier/",),
        claims=(),
        data=completions,
        draw=draw_completion,
    ),
    FigureSpec(
        number="beyond-kinds",
        title="Timeouts by kind, and what they cost",
        caption="Buffer 128 KiB. Above, the share of each kind in the timeouts, and over each bar "
        "how many there are per flow in 20 s; below, the time for which the link to the client was "
        "idle while they were waited for, in % of the run, shared among timeouts that overlap. "
        "Means over the seeds.",
        uses=tuple(f"barrier/{system}/rto={rto}/" for system, rto in _KIND_SYSTEMS),
        claims=(),
        data=timeout_kinds,
        draw=draw_kinds,
    ),
    FigureSpec(
        number="beyond-desync",
        title="RTO_min 200 µs, timeouts alike and desynchronised",
        caption=f"NewReno, {DESYNC_BUFFER} KiB, up to 512 servers. Desynchronised: each timeout is "
        "drawn from 1 to 1.5 times its value (Vasudevan et al. 2009). Of a run in which no round "
        "was completed there is a lower end alone.",
        uses=("desync/",),
        claims=(),
        data=desynchronised,
        draw=draw_desynchronised,
    ),
    FigureSpec(
        number="beyond-remedies",
        title="What an operator can do",
        caption=f"A switch of {REMEDY_BUFFER} KiB per port; NewReno with an RTO_min of 200 ms "
        "where nothing else is said; median over the seeds. Staggered: each server is asked at a "
        "random time within the time that all answers take on the link. Of a run in which no "
        "round was completed there is a lower end alone.",
        uses=("remedy/",),
        claims=(),
        data=side_by_side,
        draw=draw_side_by_side,
    ),
)
