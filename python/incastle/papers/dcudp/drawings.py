"""The drawing of figure 8-b: a row of colours for each reading, where panels would be too many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incastle.reproduction import figures

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

LINK = 1000
"""Mbit/s of the link, the end of the scale."""
ROW = 0.22
"""The height of a row, in inches."""


def draw_readings(figure: Figure, data: pl.DataFrame) -> None:
    """Draw what the constant sender gets over time, a row for each reading."""
    rows = data.filter(series="constant rate").partition_by("panel", maintain_order=True)
    names = [row["panel"][0] for row in rows]
    figure.set_size_inches(7.2, 1.4 + ROW * len(rows))
    axes = figure.subplots()
    times = rows[0]["x"].sort().to_list()
    end = times[-1] + (times[1] - times[0])  # times are those at which intervals begin
    image = axes.imshow(
        [row.sort("x")["y"].to_list() for row in rows],
        aspect="auto",
        cmap="cividis",
        vmin=0,
        vmax=LINK,
        extent=(0, end, len(rows) - 0.5, -0.5),
        interpolation="nearest",
    )
    for place in range(1, len(rows)):
        axes.axhline(place - 0.5, color="white", lw=1.5)
    axes.axvline(end / 2, color=figures.RED, lw=1.2, ls=(0, (4, 3)))
    axes.set_yticks(range(len(names)), names, fontsize=figures.SMALL)
    axes.set_xlabel("time (s); dashed: the bulk transfer ends")
    axes.grid(visible=False)
    figure.colorbar(image, ax=axes, label="throughput of the constant sender (Mbit/s)", aspect=30)
