"""The figures of the cluster benchmark: background flows by size, and queries.

The DCTCP paper shows its background flows by size in one figure, short messages and updates among
them: what a flow is, is told by its size alone. Here as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from incastle.reproduction import figures, lasting

from . import curves, measures, why
from .plan import ALGORITHMS

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from incastle.reproduction.papers import Observations


def background_times(runs: Observations) -> pl.DataFrame:
    """Give algorithm, size, seed, flows, mean_ms, p95_ms."""
    rows = []
    for name, label in ALGORITHMS.items():
        for seed, run in enumerate(runs[f"cluster/{name}"], 1):
            flows = measures.background(run)
            for size, low, high in (*measures.size_bins(), *measures.KINDS):
                these = measures.of_size(flows, low, high)
                mean = lasting.mean(these) if len(these) else None
                row = (label, size, seed, len(these), mean, lasting.quantile(these, 0.95))
                rows.append(row)
    return lasting.table(rows, ["algorithm", "size", "seed", "flows", "mean_ms", "p95_ms"])


def draw_background(figure: Figure, data: pl.DataFrame) -> None:
    """Draw mean and 95th percentile by size, on a logarithmic scale."""
    sizes = data["size"].unique(maintain_order=True).to_list()
    bins = len(measures.size_bins())
    figure.set_size_inches(7.2, 3.6)
    panels = figure.subplots(1, 2, sharey=True)
    titles = {"mean_ms": "mean", "p95_ms": "95th percentile"}
    for axes, (column, title) in zip(panels, titles.items(), strict=True):
        curves.dots(axes, data, "size", sizes, column)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_title(title)
        axes.axvline(bins - 0.5, color=figures.GREY, lw=0.8)
        axes.set_xticks(range(len(sizes)), sizes, rotation=35, ha="right", fontsize=8)
    panels[0].set_ylabel("completion time (ms)")
    panels[0].legend(loc="upper left")


_QUERY_STATISTICS: dict[str, measures.Statistic] = {
    "mean": measures.mean_completion,
    "95th": measures.quantile(0.95),
    "99th": measures.quantile(0.99),
    "99.9th": measures.quantile(0.999),
}


def query_times(runs: Observations) -> pl.DataFrame:
    """Give algorithm, statistic, seed, ms."""
    rows = [
        (label, statistic, seed, of(run))
        for name, label in ALGORITHMS.items()
        for seed, run in enumerate(runs[f"cluster/{name}"], 1)
        for statistic, of in _QUERY_STATISTICS.items()
    ]
    return lasting.table(rows, ["algorithm", "statistic", "seed", "ms"])


def draw_query_times(figure: Figure, data: pl.DataFrame) -> None:
    """Draw mean and percentiles of the queries' completion times."""
    figure.set_size_inches(7.2, 3.0)
    axes = figure.subplots()
    curves.dots(axes, data, "statistic", list(_QUERY_STATISTICS), "ms")
    axes.set_ylabel("completion time (ms)")
    axes.set_xlabel("mean and percentiles of all queries")
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper left")


_REST = {"drawn evenly": "cluster", why.REST.words: "why/rest"}
_REST_VALUES: dict[str, tuple[str, measures.Statistic]] = {
    "query_p95_ms": ("queries, 95th percentile (ms)", measures.quantile(0.95)),
    "short_p95_ms": ("100 KB to 1 MB, 95th (ms)", measures.short_messages),
    "timeouts_percent": ("queries with a timeout (%)", measures.with_timeouts),
}


def rest(runs: Observations) -> pl.DataFrame:
    """Give background, algorithm, seed, query_p95_ms, short_p95_ms, timeouts_percent."""
    rows = [
        (words, label, seed, *(of(run) for _, of in _REST_VALUES.values()))
        for words, place in _REST.items()
        for name, label in ALGORITHMS.items()
        for seed, run in enumerate(runs[f"{place}/{name}"], 1)
    ]
    return lasting.table(rows, ["background", "algorithm", "seed", *_REST_VALUES])


def draw_rest(figure: Figure, data: pl.DataFrame) -> None:
    """Draw queries and short messages for both ways of drawing hosts."""
    figure.set_size_inches(7.2, 2.8)
    panels = figure.subplots(1, 3)
    places = list(_REST)
    for axes, (column, (title, _)) in zip(panels, _REST_VALUES.items(), strict=True):
        curves.dots(axes, data, "background", places, column)
        axes.set_ylabel(title)
        words = [place.replace(" ", "\n", 1) for place in places]
        axes.set_xticks(range(len(places)), words, fontsize=8)
        axes.set_xlim(-0.6, len(places) - 0.4)
        axes.set_ylim(bottom=-0.3 if column == "timeouts_percent" else 0)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
