"""`incastle.plot`: the standard figures as functions.

>>> import incastle as ic
>>> ic.plot.slowdown([a, b], style="ieee", out="slowdown.pdf")   # doctest: +SKIP
>>> ic.plot.fct({"ours": ours, "DCTCP": theirs}, ccdf=True)      # doctest: +SKIP

Each takes a result, a sweep that kept the tables, a sequence of both, or results by their labels.
Results that differ in their seeds alone are one curve. Each returns matplotlib's figure, and writes
`out`, a .png, .svg or .pdf file, if it is given: that file has the fonts that IEEE and ACM want.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from incastle.plotting import options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Unpack

    from matplotlib.figure import Figure

    from incastle.plotting.series import Drawn
    from incastle.scenario import Value

__all__ = [
    "draw",
    "fairness",
    "fct",
    "queue",
    "queue_cdf",
    "slowdown",
    "timeline",
    "total_goodput",
    "utilisation",
]


class Choices(TypedDict, total=False):
    """The arguments of `draw` that all kinds take."""

    out: str | os.PathLike[str] | None
    by: str | None
    labels: Sequence[str] | None
    title: str | None
    style: str
    size: tuple[float, float] | None
    percentiles: Sequence[str] | None
    bins: int | Sequence[int] | None
    ccdf: bool
    groups: str | Sequence[str] | None
    pool: bool
    ports: str | Sequence[str] | None
    where: Mapping[str, Value | Sequence[Value]] | None


def draw(
    results: Drawn,
    kind: str,
    *,
    out: str | os.PathLike[str] | None = None,
    by: str | None = None,
    labels: Sequence[str] | None = None,
    title: str | None = None,
    style: str = "screen",
    size: tuple[float, float] | None = None,
    percentiles: Sequence[str] | None = None,
    bins: int | Sequence[int] | None = None,
    ccdf: bool = False,
    groups: str | Sequence[str] | None = None,
    pool: bool = False,
    ports: str | Sequence[str] | None = None,
    where: Mapping[str, Value | Sequence[Value]] | None = None,
) -> Figure:
    """Draw a kind of plot.

    Args:
        results: what is drawn.
        kind: one of `incastle list plots`.
        out: a file to write; folders of its name that do not exist are made.
        by: of a sweep: the key that is the horizontal axis, such as `flows.web.load`.
        labels: names of the series in legends; without them what differs between scenarios.
        title: above the figure; by default the scenario's name, in the columns of papers none.
        style: `screen`, `ieee` (3.5 inches wide), `acm` (3.33 inches) or `slides`.
        size: width and height in inches.
        percentiles: of slowdowns by size, a panel each: of `median`, `p95`, `p99`, `p99_9`; by
            default the first three. Over a key there are measures such as `slowdown_p99`.
        bins: of slowdowns by size: how many bins of equal counts, by default 10, or the bytes at
            which bins begin.
        ccdf: of FCTs and `queue-cdf`: the share above a value, on a logarithmic axis.
        groups: of slowdowns and FCTs: patterns of groups of flows, such as `search`.
        pool: of the same: all groups together, not a panel for each.
        ports: of queues: patterns of ports, such as `leaf:*->host:0`; in `queue-cdf` the ports of
            a pattern are one curve.
        where: of a sweep: values of its keys, one or several: `{"flows.web.load": 0.5}`.

    Raises:
        PlotError: no such kind, style, port or format, more than eight series, or there is nothing
            to draw.
        TableMissing: a result lacks the table; the message has the remedy.
        OSError: the file cannot be written.
        TypeError: `results` are none.

    """
    from incastle.plotting import kinds  # noqa: PLC0415  slow to import: only to draw

    chosen = options.Options(
        by=by,
        **options.with_defaults(
            None if percentiles is None else tuple(percentiles),
            bins if bins is None or isinstance(bins, int) else tuple(bins),
        ),
        ccdf=ccdf,
        groups=options.as_sequence(groups),
        pool=pool,
        ports=options.as_sequence(ports),
        title=title,
        size=size,
        style=style,
        where=options.as_words(where or {}),
    )
    if not (out is None or isinstance(out, str | os.PathLike)):
        raise TypeError(f"out is the name of a file, such as 'figure.pdf', found {out!r}")
    place = None if out is None else Path(out)
    figure, _ = kinds.draw(results, kind, chosen, labels=labels, out=place)
    return figure


def slowdown(results: Drawn, **choices: Unpack[Choices]) -> Figure:
    """Draw percentiles of slowdowns by flow size, or with `by` over a key of a sweep; see `draw`.

    Each group of flows has panels of its own. Points are means over the seeds, thin bars their
    95 % intervals. Hollow points stand for sizes with unfinished flows; a wide pale bar without a
    point is what these leave open, an arrow has no upper bound.
    """
    return draw(results, "slowdown", **choices)


def fct(results: Drawn, **choices: Unpack[Choices]) -> Figure:
    """Draw the distribution of completion times, a panel for flows and rounds; see `draw`."""
    return draw(results, "fct", **choices)


def queue(results: Drawn, **choices: Unpack[Choices]) -> Figure:
    """Draw queues over time; of several series the one busiest port of all; see `draw`."""
    return draw(results, "queue", **choices)


def queue_cdf(results: Drawn, **choices: Unpack[Choices]) -> Figure:
    """Draw the distribution of queues, weighted by time; see `draw`."""
    return draw(results, "queue-cdf", **choices)


def total_goodput(results: Drawn, **choices: Unpack[Choices]) -> Figure:
    """Draw the goodput of all receivers together over time; see `draw`."""
    return draw(results, "total-goodput", **choices)


def fairness(results: Drawn, **choices: Unpack[Choices]) -> Figure:
    """Draw Jain's index of the flows' throughput over time; see `draw`."""
    return draw(results, "fairness", **choices)


def utilisation(results: Drawn, **choices: Unpack[Choices]) -> Figure:
    """Draw the utilisation of each link as a heat map by tiers; see `draw`."""
    return draw(results, "utilisation", **choices)


def timeline(results: Drawn, **choices: Unpack[Choices]) -> Figure:
    """Draw each flow or response from its beginning to its end; see `draw`."""
    return draw(results, "timeline", **choices)
