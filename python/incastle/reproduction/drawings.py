"""Drawings that declarations name: curves and traces in panels, dots by category, bars, maps.

Each is data alone, so that another process can draw it; it sees only the figure's table. A row
without a seed is no run's: the paper's own value, or a theory's, drawn as a line without a band.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from incastle.reproduction import figures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LETTER, _HANDLE = 0.0083, 0.6
"""About the width of a letter for each point of its size, and of a legend's line, in inches."""
_PAPER = "the paper"
_MARKERS = "os^DvPx*"
_DASHED = (0, (4, 3))


@dataclass(frozen=True)
class Look:
    """How the axes of a panel look."""

    title: str = ""
    """In the place of the names of the panel's values."""
    label: str = ""
    line: float | None = None
    top: float | None = None
    bottom: float | Literal["auto"] = 0
    scale: str = "linear"
    width: float = 1
    ticks: Sequence[float] = ()
    """Of the values, as far as they reach."""
    marks: Sequence[tuple[Any, ...]] = ()
    """Vertical lines: where, with which name, and how high that stands, in shares of the axes."""


@dataclass(frozen=True)
class Panel:
    """A panel: its title, its data, the column it shows, its look."""

    title: str
    data: pl.DataFrame
    y: str
    look: Look


@dataclass(frozen=True)
class Panels(ABC):
    """A drawing in panels.

    Panels are those of the columns `y`, of the values of the columns `across` and `down`, or of
    both: a grid, whose columns have titles. `looks` are by the name of a panel's column or value,
    or "" for all; `styles` by the name that a series is shown under.
    """

    y: tuple[str, ...] = ("value",)
    across: str | list[str] = ""
    down: str = ""
    series: str = "series"
    everywhere: list[str] = field(default_factory=list)
    """Values of `across` that have no panel: they are in all others."""
    columns: int = 0
    size: tuple[float, float] = (7.2, 2.6)
    """Of the whole figure: its width, and the height of a row."""
    looks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    styles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """Labels of the values of `across`, `down` and `series`."""
    entry: str = "{}"
    """How a series is called, with its value in braces."""
    legend: str = ""
    share_x: bool = False
    share_y: Literal["", "all", "row", "none"] = ""
    """Which panels have one vertical axis; "": those that look alike."""
    pad: float = 6
    """Between a panel and its title, in points."""
    sideways: bool = False
    """Whether values go to the right."""

    def __call__(self, figure: Figure, data: pl.DataFrame) -> None:
        """Draw it."""
        data = self._named(data)
        panels = self._panels(data)
        columns = self._columns(data)
        rows = math.ceil(len(panels) / columns)
        figure.set_size_inches(self.size[0], 0.6 + self.size[1] * rows)
        grid = figure.subplots(
            rows,
            columns,
            squeeze=False,
            width_ratios=[panel.look.width for panel in panels[:columns]],
            sharex=self.share_x,
            sharey=self.share_y or self._shared(panels, columns),
        )
        shown: dict[str, Any] = {}
        sizes = (figures.TITLE, figures.TITLE, figures.TEXT, figures.TEXT, figures.SMALL)
        font = sizes[min(columns, len(sizes)) - 1]
        wide = int(0.85 * self.size[0] / columns / (_LETTER * font))
        for axes, panel in zip_longest(grid.flat, panels):
            if panel is None:
                axes.set_visible(False)
                continue
            for name, handle in self.draw(axes, panel).items():
                shown.setdefault(name, handle)
            axes.set_title(_wrapped(panel.title, wide), fontsize=font, pad=self.pad)
        for axes, panel in zip(grid.flat, panels, strict=False):
            self.limit(axes, panel)  # after all are drawn: the first of shared axes would fix them
        self._name_axes(figure, grid, panels)
        self._legend(figure, shown)

    def _name_axes(self, figure: Figure, grid: Any, panels: Sequence[Panel]) -> None:  # noqa: ANN401
        """Name the axes: below the panels and to their left, there once if all share both."""
        columns = grid.shape[1]
        labels = [panel.look.label for panel in panels]
        once = self.share_x and len(set(labels)) == 1 and bool(labels[0])
        for place, (axes, label) in enumerate(zip(grid.flat, labels, strict=False)):
            if place >= len(panels) - columns:
                axes.tick_params(labelbottom=True)  # also above an empty place
            elif not self.sideways:
                axes.set_xlabel("")
            if not once and (place % columns == 0 or label != labels[place - 1]):
                self.name_values(axes, label)
        if once:
            figure.supylabel(labels[0], fontsize=figures.TEXT)

    def _legend(self, figure: Figure, shown: Mapping[str, Any]) -> None:
        """Name the series below the panels, those of the paper last."""
        if len(shown) > 1:
            names = sorted(shown, key=lambda name: name.startswith(_PAPER))
            figure.legend(
                [shown[name] for name in names],
                names,
                loc="outside lower center",
                ncols=legend_columns(names, self.size[0]),
                title=self.legend or None,
            )

    @abstractmethod
    def draw(self, axes: Axes, panel: Panel) -> dict[str, Any]:
        """Draw a panel; return the handle of each series."""

    def limit(self, axes: Axes, panel: Panel) -> None:
        """Limit the axis of the values."""
        look = panel.look
        if look.scale != "log":
            limits = axes.set_xlim if self.sideways else axes.set_ylim
            limits(None if look.bottom == "auto" else look.bottom, look.top)
        _ticks(axes.xaxis if self.sideways else axes.yaxis, look.ticks)

    def name_values(self, axes: Axes, label: str) -> None:
        """Name the axis of the values; the name of a row stands above it."""
        axis = axes.xaxis if self.sideways else axes.yaxis
        axis.set_label_text(label, fontsize=figures.SMALLER if "\n" in label else None)

    def style(self, name: object, place: int) -> dict[str, Any]:
        """Give the style of a series."""
        found = self.styles.get(str(name)) or {"marker": _MARKERS[place % len(_MARKERS)]}
        colour = found.get("color", "")
        known = getattr(figures, colour.upper(), figures.SERIES[place % len(figures.SERIES)])
        ls = found.get("ls", "-")
        return {**found, "color": known, "ls": tuple(ls) if isinstance(ls, list) else ls}

    def _named(self, data: pl.DataFrame) -> pl.DataFrame:
        """Give the data with the names that are shown."""
        across = self.across if isinstance(self.across, list) else [self.across]
        columns = [one for one in dict.fromkeys([*across, self.down, self.series]) if one in data]
        if self.names:
            data = data.with_columns(pl.col(columns).cast(pl.String).replace(self.names))
        if self.entry != "{}":
            data = data.with_columns(pl.format(self.entry, self.series).alias(self.series))
        if isinstance(self.across, list):
            data = data.with_columns(pl.concat_str(across, separator="\n").alias("across"))
        return data

    def _panels(self, data: pl.DataFrame) -> list[Panel]:
        downs = _values(data, self.down) if self.down else [None]
        across_column = self._across
        acrosses = self._acrosses(data) or [None]
        found: list[Panel] = []
        for down in downs:
            for y in self.y:
                for across in acrosses:
                    here = [
                        pl.col(column).is_in([value, *self.everywhere])
                        for column, value in ((self.down, down), (across_column, across))
                        if column
                    ]
                    look = self._look(y, across, down)
                    if self._grid and down not in {None, look.label}:
                        look = replace(look, label=f"{down}\n{look.label}")
                    below = self._grid and len(found) >= len(acrosses)
                    title = "" if below else look.title or str(across or down or "")
                    part = data.filter(*here) if here else data
                    found.append(Panel(title if title != look.label else "", part, y, look))
        return found

    def _look(self, *names: object) -> Look:
        merged: dict[str, Any] = {}
        for name in ("", *names):
            merged |= self.looks.get(str(name), {})
        return Look(**merged)

    def _shared(self, panels: Sequence[Panel], columns: int) -> Literal["all", "row", "none"]:
        """Give which panels have one vertical axis: those of the same number."""
        if self.sideways or self._grid:
            return "row"
        looks = [replace(one.look, title="", ticks=(), marks=()) for one in panels]
        rows = [looks[first : first + columns] for first in range(0, len(looks), columns)]
        if not looks[0].label or any(len(set(row)) > 1 for row in rows):
            return "none"
        return "all" if len(set(looks)) == 1 else "row"

    @property
    def _grid(self) -> bool:
        """Tell whether the columns of panels have names of their own, and the rows, too."""
        return bool(self.across) and (bool(self.down) or len(self.y) > 1)

    def _columns(self, data: pl.DataFrame) -> int:
        return self.columns or len(self._acrosses(data)) or len(self.y)

    def _acrosses(self, data: pl.DataFrame) -> list[Any]:
        found = _values(data, self._across) if self.across else []
        return [value for value in found if value not in self.everywhere]

    @property
    def _across(self) -> str:
        return "across" if isinstance(self.across, list) else self.across


@dataclass(frozen=True)
class Curves(Panels):
    """Curves over x: the median over the seeds as a line, their range as a band.

    `how` is `spread`, or `line` or `step` for data of one seed; `distribution` has x upwards.
    """

    x: str = "n"
    x_label: str = ""
    x_scale: str = "linear"
    x_ticks: Sequence[float] = ()
    left: float | None = None
    how: str = "spread"
    together: Mapping[str, list[str]] = field(default_factory=dict)
    """By panel: columns that are its series."""
    own: str = ""
    """How the legend calls the series that a panel is of, and is named after."""
    through_origin: Mapping[str, float] = field(default_factory=dict)
    """Lines to compare with, by name: y for each x."""

    def __call__(self, figure: Figure, data: pl.DataFrame) -> None:
        """Draw it."""
        if not self.together:
            super().__call__(figure, data)
            return
        panels = {column: panel for panel, columns in self.together.items() for column in columns}
        index = [name for name in data.columns if name not in panels]
        long = data.unpivot([*panels], index=index, variable_name="series")
        long = long.with_columns(pl.col("series").replace(panels).alias("panel"))
        replace(self, across="panel", together={})(figure, long)

    def draw(self, axes: Axes, panel: Panel) -> dict[str, Any]:
        """Draw each series, then the axes."""
        for place, name in enumerate(_values(panel.data, self.series) if self.series else [""]):
            part = panel.data.filter(pl.col(self.series) == name) if self.series else panel.data
            own = self.series == self.across and name not in self.everywhere
            label = self.own if own else str(name)
            self._series(axes, part, panel.y, {"label": label, **self.style(label, place)})
        xs = panel.data[self.x].unique().sort()
        for name, slope in self.through_origin.items():
            axes.plot(xs, slope * xs, color=figures.GREY, ls=":", label=name)
        self._axes(axes, panel)
        shown = {str(line.get_label()): line for line in axes.lines}
        return {name: line for name, line in shown.items() if name and not name.startswith("_")}

    def limit(self, axes: Axes, panel: Panel) -> None:
        """Limit the axis of the values, or that of the shares."""
        if self.how == "distribution":
            axes.set_ylim(0, 1.02)
        else:
            super().limit(axes, panel)

    def _series(self, axes: Axes, data: pl.DataFrame, y: str, style: dict[str, Any]) -> None:
        seeds = "seed" in data.columns
        theirs = data.filter(pl.col("seed").is_null()).sort(self.x) if seeds else data.clear()
        ours = data.drop_nulls("seed") if seeds else data
        plain = {key: of for key, of in style.items() if key not in {"marker", "ms"}} | {"lw": 0.9}
        if ours.is_empty():
            pass
        elif self.how == "distribution":
            distribution(axes, ours, y, style)
        elif self.how == "spread":
            figures.spread(axes, ours, self.x, y, clip_on=False, **style)
        else:
            drawing = "steps-post" if self.how == "step" else "default"
            axes.plot(ours[self.x], ours[y], drawstyle=drawing, **plain)
        if len(theirs):
            hollow = {"ls": ":", "mfc": "none", "label": f"{style['label']}, {_PAPER}"}
            style = {**style, **(hollow if len(ours) else {})}
            axes.plot(theirs[self.x], theirs[y], clip_on=False, **style)

    def _axes(self, axes: Axes, panel: Panel) -> None:
        look = panel.look
        if look.line is not None:
            axes.axhline(look.line, color=figures.GREY, lw=0.9, ls=_DASHED)
        for at, text, *y in look.marks:
            figures.mark(axes, at, text, y=y[0] if y else 0.02)
        axes.set_xlabel(self.x_label)
        if self.x_scale in {"servers", "log"}:
            ticks = panel.data[self.x].unique().sort().to_list()
            axes.set_xscale("log", base=2 if self.x_scale == "servers" else 10)
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.minorticks_off()
        if self.x_ticks:
            axes.set_xticks(self.x_ticks)
        if self.left is not None:
            axes.set_xlim(left=self.left)
        if self.how == "distribution":
            _scale(axes.xaxis, _wide(panel.data[panel.y]) if look.scale == "wide" else look.scale)
            return
        _scale(axes.yaxis, look.scale)


@dataclass(frozen=True)
class Dots(Panels):
    """Dots or bars by category: the median over the seeds and their range to the upper ends."""

    series: str = "algorithm"
    category: tuple[str, ...] = ("setting",)
    category_label: str = ""
    bars: bool = False
    each: bool = False
    """Whether each seed has a mark."""
    rotation: float = 0

    def draw(self, axes: Axes, panel: Panel) -> dict[str, Any]:
        """Draw each series beside the others."""
        data = panel.data.with_columns(pl.concat_str(self.category, separator=", ").alias("_place"))
        places, names = _values(data, "_place"), _values(data, self.series)
        shown = {}
        for place, name in enumerate(names):
            shift = (place - (len(names) - 1) / 2) * (0.8 if self.bars else 0.5) / len(names)
            style = self.style(name, place)
            for at, category in enumerate(places):
                part = data.filter(pl.col("_place") == category, pl.col(self.series) == name)
                handle = self._dot(axes, part, panel.y, (at + shift, 0.8 / len(names)), style)
                if handle is not None:
                    shown[str(name)] = handle
        self._axes(axes, panel, places)
        return shown

    def _dot(
        self,
        axes: Axes,
        data: pl.DataFrame,
        y: str,
        at: tuple[float, float],
        style: dict[str, Any],
    ) -> Any:  # noqa: ANN401  an artist
        theirs = data.filter(pl.col("seed").is_null()) if "seed" in data.columns else data.clear()
        for value in theirs[y].drop_nulls():
            hollow: dict[str, Any] = {"ls": "", "marker": "o", "mfc": "none", "color": figures.GREY}
            axes.plot(*self._turned(at[0], value), **hollow)
        ours = data.filter(pl.col("seed").is_not_null()) if "seed" in data.columns else data
        values = ours[y].drop_nulls().drop_nans()
        if values.is_empty():
            return None
        if self.each:
            marked = ours.filter(pl.col(y).is_finite())
            marks = {**style, "ls": ""}
            figures.bars(axes, marked, y, [at[0]] * len(marked), style["color"])
            return axes.plot([at[0]] * len(marked), marked[y], **marks)[0]
        middle = float(values.median())  # type: ignore[arg-type]
        tops = ours.select(figures.top(ours, y)).to_series().drop_nulls().drop_nans()
        low, high = min(values), max(tops)
        lines = axes.hlines if self.sideways else axes.vlines
        handle: Any
        if self.bars:
            handle = axes.bar(at[0], middle, at[1], color=style["color"])
            lines(at[0], low, high, color="white", lw=2)
        else:
            (handle,) = axes.plot(*self._turned(at[0], middle), **{**style, "ls": ""})
        lines(at[0], low, high, color=figures.BLACK if self.bars else style["color"], lw=1.0)
        if figures.without_end(ours, y).any():
            ((x,), (y_,)) = self._turned(at[0], middle)
            figures.arrows(axes, [(x, y_)], style["color"], sideways=self.sideways)
        return handle

    def _turned(self, place: float, value: float) -> tuple[list[float], list[float]]:
        return ([value], [place]) if self.sideways else ([place], [value])

    def _axes(self, axes: Axes, panel: Panel, places: list[str]) -> None:
        ticks = range(len(places))
        if self.sideways:
            axes.set_yticks(ticks, places, fontsize=figures.SMALL)
            axes.set_ylim(len(places) - 0.5, -0.5)
            _scale(axes.xaxis, panel.look.scale)
        else:
            side = "right" if self.rotation else "center"
            axes.set_xticks(ticks, places, rotation=self.rotation, ha=side, fontsize=figures.SMALL)
            axes.set_xlabel(self.category_label)
            axes.set_xlim(-0.6, len(places) - 0.4)
            _scale(axes.yaxis, panel.look.scale)
            axes.grid(visible=False, axis="x")


@dataclass(frozen=True)
class Stacked(Panels):
    """Bars over x, with a part for each series."""

    x: str = "n"
    x_label: str = ""
    whole: str = ""
    """The column whose parts are shown as shares of their sum, which stands above the bar."""

    def draw(self, axes: Axes, panel: Panel) -> dict[str, Any]:
        """Draw a bar for each x."""
        data, y = panel.data, pl.col(panel.y)
        total = y.sum().over(self.x)
        if panel.y == self.whole:
            shares = pl.when(total > 0).then(100 * y / total).otherwise(0)
            sums = data.select(self.x, total.alias("total")).unique(self.x, maintain_order=True)
            for place, count in enumerate(sums["total"]):
                text = f"{count:.{1 if 0 < count < 10 else 0}f}"  # noqa: PLR2004
                axes.text(place, 103, text, fontsize=figures.SMALLEST, rotation=90, ha="center")
            data = data.with_columns(shares.alias(panel.y))
        xs = _values(data, self.x)
        floor, shown = [0.0] * len(xs), {}
        for place, name in enumerate(_values(data, self.series)):
            heights = data.filter(pl.col(self.series) == name)[panel.y].to_list()
            colour = self.style(name, place)["color"]
            shown[str(name)] = axes.bar(range(len(xs)), heights, bottom=floor, color=colour)
            floor = [a + b for a, b in zip(floor, heights, strict=True)]
        axes.set_xticks(range(len(xs)), [str(x) for x in xs], fontsize=figures.SMALLER)
        axes.set_xlabel(self.x_label)
        axes.grid(visible=False, axis="x")
        return shown


@dataclass(frozen=True)
class Maps(Panels):
    """A value by colour over x and another column; crossed where it is below `line`."""

    x: str = "n"
    x_label: str = ""
    other: str = "other"
    unit: str = ""

    def draw(self, axes: Axes, panel: Panel) -> dict[str, Any]:
        """Draw a map; what was not run is hatched."""
        data, look = panel.data, panel.look
        xs, ys = (data[name].unique().sort().to_list() for name in (self.x, self.other))
        cells = {(y, x): v for x, y, v in data.select(self.x, self.other, panel.y).iter_rows()}
        values = [[math.nan if cells[y, x] is None else cells[y, x] for x in xs] for y in ys]
        axes.set_facecolor("#e4e4e4")
        axes.patch.set_hatch("////")
        axes.patch.set_edgecolor("white")
        axes.imshow(values, origin="lower", aspect="auto", cmap="cividis", vmin=0, vmax=look.top)
        for y, row in enumerate(values):
            for x, value in enumerate(row):
                if look.line is not None and value < look.line:
                    axes.plot(x, y, marker="x", color="black", ms=5.6, mew=2.6)
                    axes.plot(x, y, marker="x", color="white", ms=4.4, mew=1.2)
        axes.grid(visible=False)
        axes.set_xticks(range(len(xs)), [str(x) for x in xs], fontsize=figures.SMALLER)
        axes.set_yticks(range(len(ys)), [str(y) for y in ys], fontsize=figures.SMALLER)
        axes.set_xlabel(self.x_label)
        return {}

    def limit(self, axes: Axes, panel: Panel) -> None:
        """Leave the axes: they are those of the cells."""

    def __call__(self, figure: Figure, data: pl.DataFrame) -> None:
        """Draw the maps with one scale of colours, each with the cells of all."""
        panels = data.select(self.down, self.across).unique(maintain_order=True)
        for column in (self.x, self.other):
            panels = panels.join(data.select(column).unique(), how="cross")
        super().__call__(figure, panels.join(data, on=panels.columns, how="left"))
        image = figure.axes[0].images[0]
        figure.colorbar(image, ax=figure.axes, label=self.unit, shrink=0.5, aspect=30)


def distribution(axes: Axes, data: pl.DataFrame, value: str, style: Mapping[str, Any]) -> None:
    """Draw the quantiles of a value, shares `x` upwards: median over the seeds, and their range.

    From the first quantile on that has no upper end, an arrow says so.
    """
    points = (
        data.group_by("x")
        .agg(
            pl.col(value).median().alias("median"),
            pl.col(value).min().alias("low"),
            figures.top(data, value).max().alias("high"),
        )
        .sort("x")
    )
    plain = {key: of for key, of in style.items() if key not in {"marker", "ms"}}
    axes.plot(points["median"], points["x"], **plain)
    axes.fill_betweenx(
        points["x"], points["low"], points["high"], color=style["color"], alpha=0.2, lw=0
    )
    endless = set(data.filter(figures.without_end(data, value))["x"])
    rows = points.select("median", "x").iter_rows()
    first = [row for row in rows if row[1] in endless][:1]
    figures.arrows(axes, first, style["color"], sideways=True)


def legend_columns(labels: Sequence[str], width: float = 7.2) -> int:
    """Give how many columns of a legend fit below a figure."""
    return max(1, min(4, int(width / (_HANDLE + figures.TEXT * _LETTER * max(map(len, labels))))))


def _wrapped(title: str, width: int) -> str:
    """Break the lines of a title between words."""
    lines = title.split("\n")
    options: Any = {"break_on_hyphens": False, "break_long_words": False}
    return "\n".join(fill(line, width, **options) for line in lines)


def _values(data: pl.DataFrame, column: str) -> list[Any]:
    return data[column].unique(maintain_order=True).to_list()


def _wide(values: pl.Series) -> str:
    """Give a logarithmic scale where values reach over more than a decade."""
    low, high = values.min() or 1, values.max() or 0
    return "log" if float(high) > 10 * float(low) else "linear"  # type: ignore[arg-type]


def _ticks(axis: Any, ticks: Sequence[float]) -> None:  # noqa: ANN401  an axis of matplotlib
    """Set the ticks that lie within the limits."""
    low, high = axis.get_view_interval()
    if ticks:
        axis.set_ticks([tick for tick in ticks if low <= tick <= high])
        axis.minorticks_off()


def _scale(axis: Any, scale: str) -> None:  # noqa: ANN401  an axis of matplotlib
    """Scale an axis: "symlog" is linear up to 1; plain numbers and several of them."""
    from matplotlib.ticker import LogLocator  # noqa: PLC0415  slow to import: only to draw

    if scale == "linear":
        return
    name = axis.axis_name
    options = {"linthresh": 1} if scale == "symlog" else {}
    getattr(axis.axes, f"set_{name}scale")(scale, **options)
    if scale == "log":
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:,g}")
    axis.set_minor_locator(LogLocator(subs=()))
