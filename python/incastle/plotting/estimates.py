"""The figure of an estimate: how slowdowns are distributed, one curve per size class."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from incastle.analysis.completions import SIZE_CLASSES, class_name
from incastle.errors import PlotError
from incastle.plotting.style import canvas, form_of, line, save

if TYPE_CHECKING:
    from pathlib import Path

    from incastle.results import Result


def draw(result: Result, place: Path) -> None:
    """Draw the share of transfers above each slowdown, both axes logarithmic.

    Raises:
        PlotError: the file's name does not end in a format, or nothing was completed.
        OSError: it cannot be written.

    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    form_of(place)  # refused before it is drawn
    observed = result.observed
    if observed["slowdown"].count() == 0:
        raise PlotError(f"{result.name}: no transfer was completed, so there is nothing to draw")
    with canvas() as figure:
        axes = figure.add_subplot()
        for number, (low, high) in enumerate(zip_longest((0, *SIZE_CLASSES), SIZE_CLASSES)):
            of = observed.filter(pl.col("bytes") >= low)
            if high is not None:
                of = of.filter(pl.col("bytes") < high)
            if of.is_empty():
                continue
            # Unfinished flows are above every measured slowdown: the curve ends at their share.
            slowdowns = of["slowdown"].drop_nulls().sort()
            above = 1 - pl.int_range(len(slowdowns), eager=True) / len(of)
            left = len(of) - len(slowdowns)
            name = class_name(low) + (f" ({left:,} of {len(of):,} unfinished)" if left else "")
            axes.step(slowdowns, above, where="post", label=name, **line(number))
        axes.set(xscale="log", yscale="log", xlabel="slowdown", ylabel="share of transfers above")
        axes.legend(title="size")
        save(figure, place)
