"""What a picture shows, as short text: panels, titles, axes, curves, reference lines, legends.

Positions and sizes are left out, and so is whatever depends on fonts; `test_pictures.py` compares
this text with an expected one.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.ticker import FixedLocator

from incastle.plotting import style

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

_NAMES = {
    value.lower(): name.lower()
    for name, value in vars(style).items()
    if isinstance(value, str) and value.startswith("#")
}
_MANY = 12
"""More texts than these are a table's cells: they are counted."""


def structure(figure: Figure) -> list[str]:
    """Give the lines of text of a figure."""
    lines = []
    if figure.get_supxlabel() or figure.get_supylabel():
        lines.append(f"axes of all: {figure.get_supxlabel()!r}, {figure.get_supylabel()!r}")
    for axes in figure.axes:
        if axes.get_visible():
            lines += _panel(axes)
    for legend in figure.legends:
        lines.append(_legend(legend))
    return lines


def _panel(axes: Axes) -> Iterator[str]:
    yield f"panel {_plain(axes.get_title('left') or axes.get_title())!r}"
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        turned = ", inverted" if axis.get_inverted() else ""
        scale = f"{axis.get_scale()} {low:.3g} to {high:.3g}{turned}"
        yield f"  {name} {_plain(axis.get_label_text())!r}, {scale}{_ticks(axis)}"
    references = [line for line in axes.lines if line.get_transform() != axes.transData]
    for line in references:
        across = line.get_transform() == axes.get_yaxis_transform()
        at = line.get_ydata() if across else line.get_xdata()
        yield f"  line at {'y' if across else 'x'} = {float(at[0]):.4g}, {_look(line)}"  # type: ignore[index, arg-type]
    curves = [line for line in axes.lines if line not in references]
    yield from _counted("curve", map(_look, curves))
    yield from _counted("marks in", map(_colour, (one.get_facecolor() for one in axes.patches)))
    kinds = [
        ("lines" if isinstance(one, LineCollection) else "bands", one) for one in axes.collections
    ]
    colours = (
        one.get_edgecolor() if kind == "lines" else one.get_facecolor() for kind, one in kinds
    )
    yield from _counted(
        "spread:", (f"{kind} {_colour(of)}" for (kind, _), of in zip(kinds, colours, strict=True))
    )
    texts = [one.get_text() for one in axes.texts if one.get_text()]
    if texts:
        yield f"  texts: {len(texts)}" if len(texts) > _MANY else f"  texts: {', '.join(texts)}"
    legend = axes.get_legend()
    if legend is not None:
        yield f"  {_legend(legend)}"


def _counted(what: str, looks: Iterable[str]) -> Iterator[str]:
    for look, count in Counter(looks).items():
        yield f"  {what} {look}" + (f" ({count})" if count > 1 else "")


def _ticks(axis: Any) -> str:
    if not isinstance(axis.get_major_locator(), FixedLocator):
        return ""
    labels = [label.get_text() for label in axis.get_ticklabels()]
    return f", ticks {' / '.join(map(_plain, labels))}"


def _legend(legend: Legend) -> str:
    title = legend.get_title().get_text()
    entries = [
        f"{text.get_text()} ({_handle(handle)})"
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)
    ]
    return f"legend {title + ': ' if title else ''}{'; '.join(entries)}"


def _handle(handle: Any) -> str:
    if isinstance(handle, BarContainer):
        handle = handle.patches[0]
    return _look(handle) if hasattr(handle, "get_marker") else _colour(handle.get_facecolor())


def _look(line: Line2D) -> str:
    marker, dash = line.get_marker(), line.get_linestyle()
    filled = "hollow " if line.get_markerfacecolor() == "none" else ""
    return " ".join(
        [_colour(line.get_color()), f"{filled}{marker}" if marker != "None" else "-", str(dash)]
    )


def _colour(colour: Any) -> str:
    if len(colour) and not isinstance(colour, str) and not isinstance(colour[0], float):
        colour = colour[0]
    found = to_hex(colour)
    return _NAMES.get(found, found)


def _plain(text: str) -> str:
    return text.replace("\n", " | ")
