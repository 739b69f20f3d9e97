"""The structure of a picture as short text: panels, titles, axes, curves, lines, legends.

Positions, sizes and limits are left out: fonts and values decide them. Panels that follow each
other and differ in their titles alone have one line.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any

from matplotlib.colors import to_hex
from matplotlib.ticker import FixedLocator

from incastle.plotting import style

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

_COLOURS = {
    value.lower(): name.lower()
    for name, value in vars(style).items()
    if isinstance(value, str) and value.startswith("#")
}
_MANY = 12
"""More texts than these are a table's cells: they are counted."""


def structure(figure: Figure) -> list[str]:
    """Give the lines of text of a figure."""
    panels = [axes for axes in figure.axes if axes.get_visible()]
    lines = []
    for body, alike in groupby(panels, key=_body):
        titles = [_plain(axes.get_title("left") or axes.get_title()) for axes in alike]
        lines.append(f"{', '.join(map(repr, titles))}: {body}")
    named = [f"named once: {text!r}" for text in (figure.get_supxlabel(), figure.get_supylabel())]
    legends = [*figure.legends, *filter(None, (axes.get_legend() for axes in panels))]
    return [*lines, *(one for one in named if not one.endswith("''")), *map(_legend, legends)]


def _body(axes: Axes) -> str:
    fixed = [line for line in axes.lines if line.get_transform() != axes.transData]
    curves = [_look(line) for line in axes.lines if line not in fixed]
    bars = [_colour(one.get_facecolor()) for one in axes.patches]
    texts = [_plain(one.get_text()) for one in axes.texts if one.get_text()]
    parts = [_axis("x", axes.xaxis), _axis("y", axes.yaxis), *map(_reference, _few(fixed))]
    parts += _counted("curves", curves), _counted("bars", bars)
    parts.append(f"{len(texts)} texts" if len(texts) > _MANY else "/".join(texts))
    return "; ".join(filter(None, parts))


def _few(lines: list[Line2D]) -> list[Line2D]:
    """Leave out the lines between the rows of a table."""
    return lines if len(lines) <= _MANY else []


def _axis(name: str, axis: Axis) -> str:
    scale = axis.get_scale().replace("linear", "")
    ticks = ""
    if isinstance(axis.get_major_locator(), FixedLocator):
        ticks = f"[{'/'.join(_plain(one.get_text()) for one in axis.get_ticklabels())}]"
    turned = "inverted" if axis.get_inverted() else ""
    return " ".join(filter(None, [name, repr(_plain(axis.get_label_text())), scale, turned, ticks]))


def _reference(line: Line2D) -> str:
    xs, ys = (list(map(float, values)) for values in (line.get_xdata(), line.get_ydata()))  # type: ignore[arg-type]
    at = f"x = {xs[0]:.4g}" if xs[0] == xs[-1] else f"y = {ys[0]:.4g}"
    return f"{at} {_look(line)}"


def _counted(what: str, looks: Iterable[str]) -> str:
    found = [f"{n} x {one}" if n > 1 else one for one, n in Counter(looks).items()]
    return f"{what} {', '.join(found)}" if found else ""


def _legend(legend: Legend) -> str:
    title = _plain(legend.get_title().get_text())
    pairs = zip(legend.get_texts(), legend.legend_handles, strict=True)
    entries = "; ".join(f"{_plain(text.get_text())} = {_handle(of)}" for text, of in pairs)
    return f"legend {title!r}: {entries}" if title else f"legend: {entries}"


def _handle(handle: Any) -> str:
    return _look(handle) if hasattr(handle, "get_marker") else _colour(handle.get_facecolor())


def _look(line: Line2D) -> str:
    hollow = "hollow" if line.get_markerfacecolor() == "none" else ""
    shape = (str(one) for one in (line.get_marker(), line.get_linestyle()))
    parts = [_colour(line.get_color()), hollow, *(one for one in shape if one != "None")]
    return " ".join(filter(None, parts))


def _colour(colour: Any) -> str:
    found = to_hex(colour)
    return _COLOURS.get(found, found)


def _plain(text: str) -> str:
    return text.replace("\n", " | ")
