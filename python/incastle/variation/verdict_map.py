"""The figure of a paper's robustness: claims by variants, each cell a verdict.

A dot marks a verdict that is not the one as taken, so that the figure reads without colours.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from incastle.reproduction import figures
from incastle.reproduction.claims import Verdict

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    Verdict.HOLDS: figures.BLUE,
    Verdict.PARTLY: figures.SKY,
    Verdict.UNCLEAR: "#cccccc",
    Verdict.FAILS: figures.RED,
    Verdict.BASE: figures.PURPLE,
}
CELL = 0.17
"""Inches."""


def draw(figure: Figure, data: pl.DataFrame) -> None:
    """Draw the map; the first column is as taken."""
    from matplotlib.colors import ListedColormap  # noqa: PLC0415  slow to import: only to draw

    claims = data["claim"].unique(maintain_order=True).to_list()
    columns = data.filter(claim=claims[0]).select("parameter", "value").rows()
    order = list(COLOURS)
    cells = [
        [order.index(Verdict(one)) for one in data.filter(claim=name)["verdict"]] for name in claims
    ]
    figure.set_size_inches(3.2 + CELL * len(columns), 2.2 + CELL * len(claims))
    axes = figure.subplots()
    axes.imshow(cells, cmap=ListedColormap(list(COLOURS.values())), vmin=-0.5, vmax=4.5)
    turned = [
        (at % len(columns), at // len(columns)) for at, one in enumerate(data["turned"]) if one
    ]
    if turned:
        across, down = zip(*turned, strict=True)
        axes.scatter(across, down, s=5, color=figures.BLACK)
    _label(axes, claims, columns)
    _legend(figure, {Verdict(one) for one in data["verdict"]})


def _label(axes: Axes, claims: list[str], columns: list[tuple[Any, ...]]) -> None:
    """Name rows and columns, and divide the parameters."""
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.set_yticks(range(len(claims)), claims, fontsize=figures.SMALLEST)
    values = [value for _, value in columns]
    axes.set_xticks(range(len(columns)), values, fontsize=figures.SMALLEST, rotation=90)
    begin = 0
    for name, group in groupby(parameter for parameter, _ in columns):
        end = begin + len(list(group))
        axes.axvline(end - 0.5, color="white", lw=2)
        style: dict[str, Any] = {"rotation": 45, "ha": "left", "va": "bottom"}
        axes.text((begin + end - 1) / 2, -0.8, name, fontsize=figures.SMALLER, **style)
        begin = end


def _legend(figure: Figure, verdicts: set[Verdict]) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415  slow to import: only to draw
    from matplotlib.patches import Patch  # noqa: PLC0415

    shown: list[Any] = [
        Patch(color=colour, label=str(verdict))
        for verdict, colour in COLOURS.items()
        if verdict in verdicts
    ]
    dot: dict[str, Any] = {"marker": ".", "ls": "", "color": figures.BLACK}
    shown.append(Line2D([], [], label="not as taken", **dot))
    figure.legend(
        handles=shown, loc="outside lower center", ncols=len(shown), fontsize=figures.SMALL
    )
