"""DCTCP and CUBIC at one port: in one queue marked above K, and in a queue each.

Two long flows of each, and a message of 20 KB of each, again and again. In two queues deficit round
robin serves them in turn, and each queue has its own K; CUBIC without ECN hears no mark in either.
"""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import TYPE_CHECKING

import polars as pl

from incastle.analysis.ends import rising, shown
from incastle.reproduction import figures, lasting
from incastle.reproduction.papers import FigureSpec

from .measures import mean_queue, number, queries
from .plan import COEXIST, ECN, EXTENTS, QUEUES, coexistence

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from incastle.analysis.ends import Value
    from incastle.reproduction.papers import Observation, Observations

P95 = 0.95
SERIES = {
    ("one", "off"): "one queue, CUBIC without ECN",
    ("one", "classic"): "one queue, CUBIC with ECN",
    ("two", "off"): "two queues, CUBIC without ECN",
    ("two", "classic"): "two queues, CUBIC with ECN",
}
_STYLES = (
    {"color": figures.RED, "marker": "s"},
    {"color": figures.ORANGE, "marker": "D", "ls": "--"},
    {"color": figures.BLUE, "marker": "o"},
    {"color": figures.SKY, "marker": "^", "ls": "--"},
)
_TICKS_MS = (1, 2, 5, 10, 20, 50, 100)
PANELS = {
    "share": "DCTCP's share of the\nlong flows' bytes (%)",
    "queue": "mean queue (packets)",
    "dctcp_ms": "20 KB by DCTCP,\n95th percentile (ms)",
    "cubic_ms": "20 KB by CUBIC,\n95th percentile (ms)",
}


def share(run: Observation) -> float:
    """Give DCTCP's part of what the four long flows deliver, in %."""
    inside = run["throughput"].filter(pl.col("time_s") >= COEXIST - 1e-9)
    groups = inside.join(run["flows"].select("flow", "group"), on="flow")
    dctcp = groups.filter(pl.col("group") == "dctcp")
    return 100 * number(dctcp["bytes"].sum()) / number(groups["bytes"].sum())


def _message(run: Observation, kind: str) -> Value:
    return lasting.quantile(queries(run, f"{kind}-message"), P95)


def numbers(run: Observation) -> tuple[Value, ...]:
    """Give the numbers of `PANELS`."""
    return share(run), mean_queue(run), _message(run, "dctcp"), _message(run, "cubic")


def over_k(runs: Observations) -> pl.DataFrame:
    """Give queues, ecn, k, seed and the numbers of `PANELS`."""
    rows = [
        (queues, ecn, k, seed, *numbers(run))
        for queues in QUEUES
        for ecn in ECN
        for k in EXTENTS[runs.length].thresholds
        for seed, run in enumerate(runs[coexistence(queues, ecn, k)], 1)
    ]
    return lasting.table(rows, ["queues", "ecn", "k", "seed", *PANELS])


def draw(figure: Figure, data: pl.DataFrame) -> None:
    """Draw a panel for each number, a curve for each way to share the port."""
    figure.set_size_inches(7.2, 5.4)
    thresholds = data["k"].unique().sort().to_list()
    panels = figure.subplots(2, 2, sharex=True).flat
    for axes, (column, label) in zip(panels, PANELS.items(), strict=True):
        for ((queues, ecn), words), style in zip(SERIES.items(), _STYLES, strict=True):
            part = data.filter((pl.col("queues") == queues) & (pl.col("ecn") == ecn))
            figures.spread(axes, part, "k", column, label=words, **style)
        axes.set_xscale("log")
        axes.set_xticks(thresholds, [str(k) for k in thresholds], fontsize=8)
        axes.minorticks_off()
        if column.endswith("ms"):
            axes.set_yscale("log")
            axes.set_yticks(_TICKS_MS, [str(tick) for tick in _TICKS_MS])
            axes.minorticks_off()
        else:
            axes.set_ylim(bottom=0)
        axes.set_title(label, fontsize=9)
    for axes in figure.axes[2:]:
        axes.set_xlabel("K (packets)")
    figure.axes[0].axhline(50, color=figures.GREY, lw=0.9, ls=(0, (4, 3)))
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)


def facts(runs: Observations) -> dict[str, str]:
    """Give for each way its numbers at K = 20, and the range of DCTCP's share over all K.

    Medians over the seeds, as the figure has them.
    """
    found = {}
    for queues, ecn in SERIES:
        at_20 = [numbers(run) for run in runs[coexistence(queues, ecn, 20)]]
        medians = (rising(median, column) for column in zip(*at_20, strict=True))
        for panel, value in zip(PANELS, medians, strict=True):
            digits = 0 if panel == "queue" else 1
            found[f"{queues}_{ecn}_{panel}"] = shown(value, partial(_written, digits=digits))
        shares = [
            median(share(run) for run in runs[coexistence(queues, ecn, k)])
            for k in EXTENTS[runs.length].thresholds
        ]
        found[f"{queues}_{ecn}_least"] = f"{min(shares):.1f}"
        found[f"{queues}_{ecn}_most"] = f"{max(shares):.1f}"
    return found


def _written(value: float, digits: int) -> str:
    return f"{value:.{digits}f}"


FIGURE = FigureSpec(
    number="coexistence",
    title="DCTCP and CUBIC at one port, in one queue and in two",
    caption="Two long flows of each and messages of 20 KB of each, a buffer of 350 KB; one queue "
    "is marked above K, two are served in turn and each is marked above K. Without ECN CUBIC hears "
    "no marks. Median over the seeds and their range. Dashed: equal shares.",
    uses=("coexistence/",),
    claims=(),
    data=over_k,
    draw=draw,
)
