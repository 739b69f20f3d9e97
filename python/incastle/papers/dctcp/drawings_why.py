"""The figures of dctcp that show causes and sensitivities: what was varied, and what it changed."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import polars as pl

from incastle.reproduction import lasting

from . import curves, measures, plan, why
from .plan import ALGORITHMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from incastle.reproduction.papers import Observations


# ---- convergence, incast


def long_windows(runs: Observations) -> pl.DataFrame:
    """Give window, algorithm, seed, deviation_percent, jain, spread_percent."""
    rows = [
        (
            window,
            label,
            seed,
            measures.worst_share(shares),
            measures.least_jain(shares),
            100 * math.sqrt(measures.variance(shares)),
        )
        for key, window in why.LONG_WINDOWS.items()
        for name, label in ALGORITHMS.items()
        for seed, shares in enumerate(_shares(runs, key, window, name), 1)
    ]
    columns = ["window", "algorithm", "seed", "deviation_percent", "jain", "spread_percent"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def _shares(runs: Observations, key: str, window: str, name: str) -> list[measures.Shares]:
    prefix = "convergence/" if window == "512 KB" else f"why/convergence/{key}/"
    found = runs.names(f"{prefix}{name}")
    return measures.shares(runs, found[0]) if found else []


def draw_long_windows(figure: Figure, data: pl.DataFrame) -> None:
    """Draw fairness and variation over the receive window."""
    figure.set_size_inches(7.2, 2.8)
    panels = figure.subplots(1, 3)
    places = data["window"].unique(maintain_order=True).to_list()
    titles = {
        "deviation_percent": "largest deviation (%)",
        "jain": "least index of Jain",
        "spread_percent": "standard deviation (%)",
    }
    for axes, (column, title) in zip(panels, titles.items(), strict=True):
        curves.dots(axes, data, "window", places, column)
        axes.set_ylabel(title)
        axes.set_xlabel("receive window")
        if column == "deviation_percent":
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)


def windows(runs: Observations) -> pl.DataFrame:
    """Give series, n, seed, mean_ms, timeouts_percent of TCP with static buffers."""
    rows = []
    for key, window in why.WINDOWS.items():
        prefix = "incast/static" if window == "64 KiB" else f"why/window/{key}"
        found = curves.points(runs, f"{prefix}/tcp/rto=10ms/", f"windows of {window}")
        rows += [row for row in found if row[1] <= max(why.WINDOW_SERVERS)]
    return lasting.table(rows, ["series", "n", "seed", "mean_ms", "timeouts_percent"])


# ---- all-to-all incast


def all_varied(runs: Observations) -> pl.DataFrame:
    """Give setting, algorithm (TCP), seed, value (95th percentile, ms), timeouts_percent."""
    cases = {"as it is": "all", **{one.words: f"why/all/{key}" for key, one in why.ALL.items()}}
    rows = [
        (words, "TCP", seed, measures.quantile(0.95)(run), measures.with_timeouts(run))
        for words, place in cases.items()
        for name in runs.names(f"{place}/tcp")
        for seed, run in enumerate(runs[name], 1)
    ]
    return lasting.table(rows, _VARIED)


_VARIED = ["setting", "algorithm", "seed", "value", "timeouts_percent"]


def draw_varied(value: str) -> Callable[[Figure, pl.DataFrame], None]:
    """Draw a value and the share of queries with a timeout for each setting."""
    return functools.partial(_draw_varied, value=value)


def _draw_varied(figure: Figure, data: pl.DataFrame, value: str) -> None:
    figure.set_size_inches(7.2, 3.2)
    panels = figure.subplots(1, 2)
    places = data["setting"].unique(maintain_order=True).to_list()
    words = {"value": value, "timeouts_percent": "queries with a timeout (%)"}
    for axes, (column, title) in zip(panels, words.items(), strict=True):
        curves.dots(axes, data, "setting", places, column)
        axes.set_ylabel(title)
        axes.set_xticks(range(len(places)), places, rotation=35, ha="right", fontsize=8)
    panels[0].set_ylim(bottom=0)
    # Where nobody has a timeout the axis still shows a few per cent.
    most = max(5, panels[1].get_ylim()[1])
    panels[1].set_ylim(-0.04 * most, most)
    panels[0].legend(loc="lower left")


def memories(runs: Observations) -> pl.DataFrame:
    """Give memory, algorithm, seed, p95_ms, timeouts_percent of all-to-all incast."""
    rows = [
        (memory, label, seed, measures.quantile(0.95)(run), measures.with_timeouts(run))
        for key, memory in why.MEMORIES.items()
        for name, label in ALGORITHMS.items()
        for seed, run in enumerate(
            runs[f"all/{name}" if memory == "4 MB" else f"why/memory/{key}/{name}"], 1
        )
    ]
    return lasting.table(rows, ["memory", "algorithm", "seed", "p95_ms", "timeouts_percent"])


def draw_memories(figure: Figure, data: pl.DataFrame) -> None:
    """Draw completion and timeouts over the switch's memory."""
    figure.set_size_inches(7.2, 2.8)
    panels = figure.subplots(1, 2)
    places = data["memory"].unique(maintain_order=True).to_list()
    for axes, column in zip(panels, ("p95_ms", "timeouts_percent"), strict=True):
        curves.dots(axes, data, "memory", places, column)
        axes.set_ylim(bottom=0 if column == "p95_ms" else -3)
        axes.set_xlabel("memory of the switch")
    panels[0].set_ylabel("95th percentile of completion (ms)")
    panels[1].set_ylabel("queries with a timeout (%)")
    panels[1].legend(loc="upper right")


# ---- buffer pressure


def pressure_varied(runs: Observations) -> pl.DataFrame:
    """Give setting, algorithm, seed, value (95th percentile with / without), timeouts_percent."""
    varied = {one.words: f"why/pressure/{key}" for key, one in why.PRESSURE.items()}
    rows = [
        (words, ALGORITHMS[name], seed, value, measures.with_timeouts(run))
        for words, place in {"as it is": "pressure", **varied}.items()
        for name in ALGORITHMS
        for beside in runs.names(f"{place}/beside/{name}")
        for seed, (run, value) in enumerate(
            zip(runs[beside], measures.slowdown(runs, place, name), strict=True), 1
        )
    ]
    return lasting.table(rows, _VARIED)


# ---- hosts of today


def today(runs: Observations) -> pl.DataFrame:
    """Give experiment, algorithm, seed, p95_ms, timeouts_percent."""
    cases = [
        *((f"incast, n = {n}", f"dynamic/{{}}/rto=10ms/n={n}") for n in plan.SERVERS_TODAY),
        ("all-to-all", "all/{}"),
        ("pressure, without", "pressure/alone/{}"),
        ("pressure, with", "pressure/beside/{}"),
    ]
    places = [(words, f"today/{pattern}") for words, pattern in cases]
    places.append(("64 KiB, without", "why/today/alone/{}"))
    places.append(("64 KiB, with", "why/today/beside/{}"))
    rows = [
        (words, label, seed, measures.quantile(0.95)(run), measures.with_timeouts(run))
        for words, pattern in places
        for name, label in ALGORITHMS.items()
        for found in runs.names(pattern.format(name))
        for seed, run in enumerate(runs[found], 1)
    ]
    return lasting.table(rows, ["experiment", "algorithm", "seed", "p95_ms", "timeouts_percent"])


def draw_today(figure: Figure, data: pl.DataFrame) -> None:
    """Draw completion and timeouts of each experiment."""
    figure.set_size_inches(7.2, 3.4)
    panels = figure.subplots(1, 2)
    places = data["experiment"].unique(maintain_order=True).to_list()
    for axes, column in zip(panels, ("p95_ms", "timeouts_percent"), strict=True):
        curves.dots(axes, data, "experiment", places, column)
        axes.set_ylim(bottom=0 if column == "p95_ms" else -0.7)
        axes.set_xticks(range(len(places)), places, rotation=35, ha="right", fontsize=8)
    panels[0].set_ylabel("95th percentile of completion (ms)")
    panels[1].set_ylabel("queries with a timeout (%)")
    panels[0].legend(loc="best")
