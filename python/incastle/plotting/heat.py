"""The utilisation of a network's links as a heat map: a panel per pair of tiers and direction.

A row is a node of the smaller tier, a cell one of its links to the other tier, in their order.
Several results have a column of panels each; of several seeds a cell is the mean.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from incastle.plotting.series import nothing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incastle.plotting.options import Options
    from incastle.plotting.series import Series

PORT = re.compile(r"(?P<source>.+)->(?P<target>.+)")
COLOURS = "cividis"
"""The same to readers with and without all colours, and it grows brighter in grey."""
MAX_NAMES = 16
"""Rows of a panel that have a name each."""
ROW = 0.16
"""Inches that a row adds to the figure, at most `MAX_NAMES` of them in a panel."""


class Link(NamedTuple):
    """A link: its nodes, and the share of time in which it sends."""

    nodes: tuple[str, str]
    share: float


class Map(NamedTuple):
    """The cells of a panel: its title, the names of its rows, a value in percent for each cell."""

    title: str
    rows: list[str]
    cells: list[list[float]]


def draw(figure: Figure, series: Sequence[Series], options: Options) -> str:
    """Draw the map of each series, and return what it was drawn from."""
    columns = [maps(one) for one in series]
    tiers = max(map(len, columns))
    if options.size is None:
        rows = sum(min(len(one.rows), MAX_NAMES) for one in max(columns, key=len))
        width, height = figure.get_size_inches()
        more = ROW * rows + 0.45 * tiers - height / 2
        figure.set_size_inches(width, max(height * 0.6, height / 2 + more))
    heights = [min(len(one.rows), MAX_NAMES) + 1 for one in max(columns, key=len)]
    grid: Any = figure.subplots(tiers, len(series), squeeze=False, height_ratios=heights)
    pictures = []
    for place, (one, found) in enumerate(zip(series, columns, strict=True)):
        for tier in range(tiers):
            axes: Axes = grid[tier][place]
            if tier >= len(found):
                axes.set_axis_off()
                continue
            label = one.label if tier == 0 else ""
            title = ": ".join(filter(None, (label, found[tier].title)))
            pictures.append(_panel(axes, found[tier], title))
    bar = figure.colorbar(pictures[0], ax=grid.ravel().tolist(), shrink=0.8, pad=0.01)
    bar.set_label("utilisation (%)")
    bar.outline.set_visible(False)
    return "links.parquet" + (", means of the seeds" if len(series[0].runs) > 1 else "")


def _panel(axes: Axes, one: Map, title: str) -> Any:  # noqa: ANN401  of matplotlib
    import numpy as np  # noqa: PLC0415  slow to import: only where figures are drawn

    longest = max(map(len, one.cells))
    cells = np.array([[*row, *[np.nan] * (longest - len(row))] for row in one.cells])
    picture = axes.pcolormesh(cells, vmin=0, vmax=100, cmap=COLOURS, edgecolor="white", lw=0.4)
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_title(title)
    axes.set_xticks([])
    axes.tick_params(length=0)
    step = -(-len(one.rows) // MAX_NAMES)
    places = range(0, len(one.rows), step)
    axes.set_yticks([place + 0.5 for place in places], [one.rows[place] for place in places])
    return picture


def maps(series: Series) -> list[Map]:
    """Return the map of each pair of tiers and direction, in the order of the links.

    Raises:
        PlotError: no port has a name with two nodes.

    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    links = pl.concat(run.links.select("port", "utilisation") for run in series.runs)
    means = links.group_by("port", maintain_order=True).agg(pl.col("utilisation").mean())
    found: dict[tuple[str, str], list[Link]] = {}
    for port, share in means.iter_rows():
        ends = PORT.fullmatch(port)
        if ends is not None:
            source, target = ends["source"], ends["target"]
            found.setdefault((_tier(source), _tier(target)), []).append(
                Link((source, target), share)
            )
    if not found:
        raise nothing(series.first, "its ports have no names of two nodes", "use other kinds")
    return [_map(tiers, cells) for tiers, cells in found.items()]


def _tier(node: str) -> str:
    return node.partition(":")[0]


def _map(tiers: tuple[str, str], links: Sequence[Link]) -> Map:
    """Arrange the links between two tiers: the nodes of the smaller one are the rows."""
    sides = [list(dict.fromkeys(link.nodes[side] for link in links)) for side in (0, 1)]
    side = 0 if len(sides[0]) <= len(sides[1]) else 1
    rows: dict[str, list[float]] = {node: [] for node in sides[side]}
    for link in links:
        rows[link.nodes[side]].append(100 * link.share)
    return Map(f"{tiers[0]} to {tiers[1]}", list(rows), list(rows.values()))
