"""Drawings that declarations name: curves and traces in panels, dots by category, maps, tables.

Each is data alone, so that another process can draw it; it sees only the figure's table. A row
without a seed is no run's: the paper's own value, or a theory's, drawn as a line without a band.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from itertools import groupby, zip_longest
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from incastle.reproduction import figures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CHARACTER, _HANDLE = 0.075, 0.6
"""About the width of a letter in a legend, and of the line before a label, in inches."""
_MARKERS = "osD^vPx*"
_DASHED = (0, (4, 3))
_LARGE = 10_000


@dataclass(frozen=True)
class Look:
    """How the axes of a panel look."""

    title: str = ""
    """In the place of the names of the panel's values."""
    label: str = ""
    line: float | None = None
    top: float | None = None
    bottom: float | None = 0
    scale: str = "linear"
    width: float = 1
    marks: tuple[tuple[float, str], ...] = ()


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
    both. `looks` are by the name of a panel's column or value, or "" for all.
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
    legend: str = ""
    sideways: bool = False
    """Whether values go to the right."""

    def __call__(self, figure: Figure, data: pl.DataFrame) -> None:
        """Draw it."""
        if isinstance(self.across, list):
            data = data.with_columns(pl.concat_str(self.across, separator=", ").alias("across"))
        panels = self._panels(data)
        columns = self._columns(data)
        rows = math.ceil(len(panels) / columns)
        figure.set_size_inches(self.size[0], 0.6 + self.size[1] * rows)
        widths = [panel.look.width for panel in panels[:columns]]
        grid = figure.subplots(
            rows, columns, squeeze=False, width_ratios=widths, sharey=self._shared(panels)
        )
        shown: dict[str, Any] = {}
        for axes, panel in zip_longest(grid.flat, panels):
            if panel is None:
                axes.set_visible(False)
                continue
            shown |= self.draw(axes, panel)
            axes.set_title(fill(panel.title, round(75 / columns)), fontsize=9 if columns < 4 else 7)  # noqa: PLR2004
        for axes, panel in zip(grid.flat, panels, strict=False):
            self.limit(axes, panel)  # after all are drawn: the first of shared axes would fix them
        for place, panel in enumerate(panels):
            if place < len(panels) - columns and not self.sideways:
                grid.flat[place].set_xlabel("")
            if place % columns == 0 or panel.look.label != panels[place - 1].look.label:
                self.name_values(grid.flat[place], panel.look.label)
        if len(shown) > 1:
            below = legend_columns(list(shown), self.size[0])
            figure.legend(
                list(shown.values()),
                list(shown),
                loc="outside lower center",
                ncols=below,
                title=self.legend or None,
            )

    @abstractmethod
    def draw(self, axes: Axes, panel: Panel) -> dict[str, Any]:
        """Draw a panel; return the handle of each series."""

    def limit(self, axes: Axes, panel: Panel) -> None:
        """Limit the axis of the values."""
        if panel.look.scale != "log":
            axes.set_ylim(panel.look.bottom, panel.look.top)

    def name_values(self, axes: Axes, label: str) -> None:
        """Name the axis of the values."""
        axes.set_ylabel(label)

    def style(self, name: object, place: int) -> dict[str, Any]:
        """Give the style of a series."""
        found = self.styles.get(str(name)) or {"marker": _MARKERS[place % len(_MARKERS)]}
        colour = found.get("color", "")
        known = getattr(figures, colour.upper(), figures.SERIES[place % len(figures.SERIES)])
        ls = found.get("ls", "-")
        return {**found, "color": known, "ls": tuple(ls) if isinstance(ls, list) else ls}

    def _panels(self, data: pl.DataFrame) -> list[Panel]:
        downs = _values(data, self.down) if self.down else [None]
        across_column = self._across
        acrosses = self._acrosses(data) or [None]
        found = []
        for down in downs:
            for y in self.y:
                for across in acrosses:
                    here = [
                        pl.col(column).is_in([value, *self.everywhere])
                        for column, value in ((self.down, down), (across_column, across))
                        if column
                    ]
                    look = self._look(y, across, down)
                    titles = [str(one) for one in (down, across) if one is not None]
                    part = data.filter(*here) if here else data
                    found.append(Panel(look.title or ", ".join(titles), part, y, look))
        return found

    def _look(self, *names: object) -> Look:
        merged: dict[str, Any] = {}
        for name in ("", *names):
            merged |= self.looks.get(str(name), {})
        return Look(**merged)

    def _shared(self, panels: Sequence[Panel]) -> Literal["all", "row", "none"]:
        """Give which panels have one vertical axis: those of the same number."""
        if self.sideways or ((len(self.y) > 1 or self.down) and self.across):
            return "row"
        alike = len({panel.look.label for panel in panels}) == 1 and panels[0].look.label
        return "all" if alike else "none"

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
    how: str = "spread"
    together: bool = False
    """Whether the columns `y` are series of one panel."""

    def __call__(self, figure: Figure, data: pl.DataFrame) -> None:
        """Draw it."""
        if not self.together:
            super().__call__(figure, data)
            return
        index = [name for name in data.columns if name not in self.y]
        long = data.unpivot(self.y, index=index, variable_name="series")
        replace(self, y=("value",), together=False)(figure, long)

    def draw(self, axes: Axes, panel: Panel) -> dict[str, Any]:
        """Draw each series, then the axes."""
        shown = {}
        names = _values(panel.data, self.series) if self.series else [panel.y]
        for place, name in enumerate(names):
            part = panel.data.filter(pl.col(self.series) == name) if self.series else panel.data
            self._series(axes, part, panel.y, {"label": str(name), **self.style(name, place)})
            shown[str(name)] = axes.lines[-1]
        self._axes(axes, panel)
        if self.series in {"", self.across}:  # the panels name their series
            return {name: handle for name, handle in shown.items() if name in self.everywhere}
        return shown

    def limit(self, axes: Axes, panel: Panel) -> None:
        """Limit the axis of the values, or that of the shares."""
        if self.how == "distribution":
            axes.set_ylim(0, 1.02)
        else:
            super().limit(axes, panel)

    def _series(self, axes: Axes, data: pl.DataFrame, y: str, style: dict[str, Any]) -> None:
        seeds = "seed" in data.columns
        theirs = data.filter(pl.col("seed").is_null()).sort(self.x) if seeds else data.clear()
        if len(theirs):
            label = style["label"] if len(theirs) == len(data) else "the paper"
            hollow = {"ls": ":", **style, "mfc": "none", "label": label}
            axes.plot(theirs[self.x], theirs[y], **hollow)
            data = data.drop_nulls("seed")
        if data.is_empty():
            return
        if self.how == "distribution":
            distribution(axes, data, y, style)
        elif self.how == "spread":
            figures.spread(axes, data, self.x, y, clip_on=False, **style)
        else:
            plain = {key: of for key, of in style.items() if key not in {"marker", "ms"}}
            drawing = "steps-post" if self.how == "step" else "default"
            axes.plot(data[self.x], data[y], drawstyle=drawing, **{**plain, "lw": 0.9})

    def _axes(self, axes: Axes, panel: Panel) -> None:
        look = panel.look
        if look.line is not None:
            axes.axhline(look.line, color=figures.GREY, lw=0.9, ls=_DASHED)
        for at, text in look.marks:
            figures.mark(axes, at, text)
        axes.set_xlabel(self.x_label)
        if self.x_scale in {"servers", "log"}:
            ticks = panel.data[self.x].unique().sort().to_list()
            axes.set_xscale("log", base=2 if self.x_scale == "servers" else 10)
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=8)
            axes.minorticks_off()
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

    def limit(self, axes: Axes, panel: Panel) -> None:
        """Limit the axis of the values."""
        if panel.look.scale != "log":
            limits = axes.set_xlim if self.sideways else axes.set_ylim
            limits(panel.look.bottom, panel.look.top)

    def name_values(self, axes: Axes, label: str) -> None:
        """Name the axis of the values."""
        (axes.set_xlabel if self.sideways else axes.set_ylabel)(label)

    def _axes(self, axes: Axes, panel: Panel, places: list[str]) -> None:
        ticks = range(len(places))
        if self.sideways:
            axes.set_yticks(ticks, places, fontsize=8)
            axes.set_ylim(len(places) - 0.5, -0.5)
            _scale(axes.xaxis, panel.look.scale)
        else:
            side = "right" if self.rotation else "center"
            axes.set_xticks(ticks, places, rotation=self.rotation, ha=side, fontsize=8)
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
                axes.text(place, 103, text, fontsize=6, rotation=90, ha="center")
            data = data.with_columns(shares.alias(panel.y))
        xs = _values(data, self.x)
        floor, shown = [0.0] * len(xs), {}
        for place, name in enumerate(_values(data, self.series)):
            heights = data.filter(pl.col(self.series) == name)[panel.y].to_list()
            colour = self.style(name, place)["color"]
            shown[str(name)] = axes.bar(range(len(xs)), heights, bottom=floor, color=colour)
            floor = [a + b for a, b in zip(floor, heights, strict=True)]
        axes.set_xticks(range(len(xs)), [str(x) for x in xs], fontsize=7)
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
        values = [[cells.get((y, x), math.nan) for x in xs] for y in ys]
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
        axes.set_xticks(range(len(xs)), [str(x) for x in xs], fontsize=7)
        axes.set_yticks(range(len(ys)), [str(y) for y in ys], fontsize=7)
        axes.set_xlabel(self.x_label)
        return {}

    def limit(self, axes: Axes, panel: Panel) -> None:
        """Leave the axes: they are those of the cells."""

    def __call__(self, figure: Figure, data: pl.DataFrame) -> None:
        """Draw the maps with one scale of colours."""
        super().__call__(figure, data)
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
    return max(1, min(4, int(width / (_HANDLE + _CHARACTER * max(map(len, labels))))))


def _values(data: pl.DataFrame, column: str) -> list[Any]:
    return data[column].unique(maintain_order=True).to_list()


def _wide(values: pl.Series) -> str:
    """Give a logarithmic scale where values reach over more than a decade."""
    low, high = values.min() or 1, values.max() or 0
    return "log" if float(high) > 10 * float(low) else "linear"  # type: ignore[arg-type]


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


# ---- tables as drawings


@dataclass(frozen=True)
class Cells:
    """A table as a drawing: a row for each system, a column for each number.

    The data has row, column, value and in_band, which is null where there is no band: bold, and
    shaded unless `shaded` says otherwise. `text` is what a cell shows in the place of its value.
    """

    width: float = 7.6
    font: float = 8
    height: float = 0.24
    """Of a row, in inches."""
    grouped: bool = False
    """Columns with the same text before the first ", " are a group, and so are rows before ": "."""

    def __call__(self, figure: Figure, data: pl.DataFrame) -> None:
        """Draw it."""
        rows, columns = _values(data, "row"), _values(data, "column")
        figure.set_size_inches(self.width, 1.1 + self.height * (len(rows) + 1))
        axes = figure.subplots()
        self._frame(axes, rows, columns)
        for cell in data.iter_rows(named=True):
            at = (columns.index(cell["column"]), rows.index(cell["row"]))
            self._cell(axes, at, cell)

    def _frame(self, axes: Axes, rows: list[str], columns: list[str]) -> None:
        """Name rows and columns, without lines of their own."""
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_yticks(range(len(rows)), self._names(rows, ": "), fontsize=self.font)
        labels = [column.replace(", ", "\n") for column in self._names(columns, ", ")]
        axes.set_xticks(range(len(columns)), labels, fontsize=self.font)
        axes.xaxis.tick_top()
        axes.grid(visible=False)
        axes.tick_params(length=0)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        for y in range(len(rows)):
            axes.axhline(y + 0.5, color="#dddddd", lw=0.6)
        if self.grouped:
            self._groups(axes, rows, columns)

    def _names(self, labels: list[str], separator: str) -> list[str]:
        """Leave out what the group says."""
        return [one.rpartition(separator)[2] for one in labels] if self.grouped else labels

    def _groups(self, axes: Axes, rows: list[str], columns: list[str]) -> None:
        """Divide the groups, and name them."""
        style: dict[str, Any] = {
            "textcoords": "offset points",
            "weight": "bold",
            "fontsize": self.font + 1,
        }
        for first, last, name in _groups(columns, ", "):
            axes.axvline(last + 0.5, color="black", lw=0.8)
            place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "xytext": (0, 18)}
            place["ha"] = "center"
            axes.annotate(name, ((first + last) / 2, 1), **place, **style)
        for first, last, name in _groups(rows, ": "):
            axes.axhline(last + 0.5, color="black", lw=0.8)
            place = {"xycoords": ("axes fraction", "data"), "xytext": (-105, 0), "ha": "right"}
            words = name.replace(", ", "\n")
            axes.annotate(words, (0, (first + last) / 2), va="center", **place, **style)

    def _cell(self, axes: Axes, at: tuple[int, int], cell: Mapping[str, Any]) -> None:
        inside = bool(cell["in_band"])
        if cell.get("shaded", inside):
            sides = (at[0] - 0.5, at[0] + 0.5)
            style: dict[str, Any] = {"color": figures.GREEN, "alpha": 0.35, "lw": 0}
            axes.fill_between(sides, at[1] - 0.5, at[1] + 0.5, **style)
        axes.text(
            *at,
            cell.get("text") or printed(cell["value"]),
            ha="center",
            va="center",
            fontsize=self.font,
            weight="bold" if inside else "normal",
            color="black" if inside or not self.grouped else figures.GREY,
        )


def _groups(labels: Iterable[str], separator: str) -> Iterator[tuple[int, int, str]]:
    """Give the first and last place of each group of labels, and its name."""
    places = groupby(enumerate(labels), key=lambda one: one[1].partition(separator)[0])
    for name, group in places:
        members = [place for place, _ in group]
        yield members[0], members[-1], name


def printed(value: float | None) -> str:
    """Print a number with three digits, or whole; what was not measured is a dash."""
    if value is None or math.isnan(value):
        return "-"
    if abs(value) >= _LARGE:
        return f"{value:.0e}"
    return f"{value:.0f}" if abs(value) >= 1_000 else f"{value:.3g}"  # noqa: PLR2004
