"""Draws a figure as a small SVG, for pages with many: about an eighth of matplotlib's.

A renderer for matplotlib, in the place of its own for SVG. Letters are text, and places keep a
tenth of a pixel. Lines of one style are one path, where they follow each other or belong to one
axis; symbols of a curve are markers of its path. Leaves out: links, ids, and hatches, which are an
error.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from dataclasses import dataclass, field
from io import BytesIO
from itertools import groupby
from string import ascii_letters
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np
from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.backends.backend_mixed import MixedModeRenderer
from matplotlib.colors import to_hex
from matplotlib.path import Path
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Affine2D, Transform
from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.text import Text

POINTS_PER_INCH = 72
MAGNIFICATION = 2
"""Pixels of an image for each of the figure's."""
_INHERITED = (
    'fill="none" stroke-linejoin="round" stroke-linecap="square" '
    "font-family=\"'DejaVu Sans',Verdana,sans-serif\""
)
"""What most elements have. The font is that of the other formats, or one as wide elsewhere."""
_AXIS = "matplotlib.axis"
"""What matplotlib calls the group of an axis: its grid, ticks and their labels."""
_MARKER = 'marker markerUnits="userSpaceOnUse"'
"""Without these units it grows with the width of its line."""
_COMMANDS = {Path.MOVETO: "m", Path.LINETO: "l", Path.CURVE3: "q", Path.CURVE4: "c"}
_ANCHORS = {"center": "middle", "right": "end"}


class HatchError(ValueError):
    """A figure with hatches, which this renderer does not draw."""


def small_svg(figure: Figure) -> str:
    """Return a figure as SVG.

    Raises:
        HatchError: it has hatches.

    """
    dpi, figure.dpi = figure.dpi, POINTS_PER_INCH
    try:
        width, height = figure.get_size_inches()
        renderer = _Renderer(POINTS_PER_INCH * width, POINTS_PER_INCH * height)
        dpi_of_images = MAGNIFICATION * POINTS_PER_INCH
        # Parts that matplotlib draws as pixels, such as a bar of colours, become images.
        mixed: Any = MixedModeRenderer(figure, width, height, dpi_of_images, renderer)  # type: ignore[no-untyped-call]
        figure.draw(mixed)
    finally:
        figure.dpi = dpi
    return renderer.svg()


@dataclass
class Pen:
    """Writes a path: each point by its distance from the last one, in tenths of a pixel.

    Distances are those of rounded points: no error adds up.
    """

    path: str = ""
    _here: Sequence[int] = (0, 0)
    _begin: Sequence[int] = (0, 0)
    _last: str = ""
    """The command that numbers without a letter repeat."""

    @property
    def is_closed(self) -> bool:
        """Whether it has ended where it began."""
        return self._last == "z"

    def draw(self, path: Path, transform: Transform, **cleaning: Any) -> Pen:  # noqa: ANN401
        """Draw a path, cleaned as by matplotlib's `iter_segments`."""
        for points, code in path.iter_segments(transform, **cleaning):
            if code == Path.CLOSEPOLY:
                self.path += "z"
                self._here, self._last = self._begin, "z"
            else:
                self._step(_COMMANDS[code], points)
        return self

    def line(self, points: Iterable[Iterable[float]]) -> Pen:
        """Draw a line from point to point, which continues what is drawn already."""
        for point in points:
            self._step("l" if self.path else "m", point)
        return self

    def _step(self, command: str, points: Iterable[float]) -> None:
        places = [round(10 * place) for place in points]
        steps = [place - self._here[axis % 2] for axis, place in enumerate(places)]
        if command == "m":
            self._begin = places
        elif command == "l" and not all(steps):
            if not any(steps):
                return
            command, steps = ("v", steps[1:]) if steps[1] else ("h", steps[:1])
        if command != self._last:
            self.path += command
        for tenths in steps:
            self._write(tenths)
        # Lines that follow a move need no letter.
        self._here, self._last = places[-2:], "l" if command == "m" else command

    def _write(self, tenths: int) -> None:
        """Write a number, apart from the last one: by a space, its sign, or a second point."""
        whole, tenth = divmod(abs(tenths), 10)
        digits = f"{whole or ''}{f'.{tenth}' if tenth else ''}" or "0"
        apart = self.path[-1].isalpha() or (not whole and tenth and self.path[-2] == ".")
        self.path += ("-" if tenths < 0 else "" if apart else " ") + digits


@dataclass
class _Element:
    """A path, or a text or an image with its place as attributes."""

    style: str
    clip: str
    pen: Pen = field(default_factory=Pen)
    tag: str = "path"
    place: str = ""
    text: str = ""

    def written(self, look: str = "") -> str:
        place = self.place or f' d="{self.pen.path}"'
        return f"<{self.tag}{look}{place}" + (f">{self.text}</text>" if self.text else "/>")


class _Renderer(RendererBase):
    def __init__(self, width: float, height: float) -> None:
        super().__init__()
        self._size = (width, height)
        self._page = (0.0, 0.0, width, height)
        self._flip = Affine2D().scale(1, -1).translate(0, height)
        self._elements: list[_Element] = []
        self._axis: int | None = None
        self._defined: dict[tuple[str, str], str] = {}

    def svg(self) -> str:
        """Return what was drawn. Styles that occur more than once are classes."""
        runs = [
            (*key, list(run))
            for key, run in groupby(self._elements, lambda one: (one.clip, one.style))
        ]
        counts = Counter(style for _, style, _ in runs)
        looks = {style: f' style="{style}"' for style in counts}
        rules = "marker{overflow:visible}"
        for place, style in enumerate(style for style, count in counts.items() if count > 1):
            looks[style] = f' class="{_name(place)}"'
            rules += f".{_name(place)}{{{style}}}"
        body = ""
        for clip, of_clip in groupby(runs, lambda run: run[0]):
            drawn = "".join(_run(looks[style], run) for _, style, run in of_clip)
            body += f'<g clip-path="{clip}">{drawn}</g>' if clip else drawn
        definitions = "".join(
            f'<{tag} id="{name}">{content}</{tag.split()[0]}>'
            for (tag, content), name in self._defined.items()
        )
        width, height = (f"{side:g}" for side in self._size)
        return (
            f'<svg width="{width}pt" height="{height}pt" viewBox="0 0 {width} {height}" '
            f'xmlns="http://www.w3.org/2000/svg" {_INHERITED}><style>{rules}</style>'
            f"{definitions}{body}</svg>"
        )

    # ---- what matplotlib calls

    def get_canvas_width_height(self) -> tuple[float, float]:
        return self._size

    def get_text_width_height_descent(
        self,
        s: str,
        prop: FontProperties,
        ismath: Any,  # noqa: ANN401
    ) -> tuple[float, float, float]:
        return text_to_path.get_text_width_height_descent(s, prop, ismath)

    def open_group(self, s: str, gid: str | None = None) -> None:  # noqa: ARG002
        if s == _AXIS:
            self._axis = len(self._elements)

    def close_group(self, s: str) -> None:
        if s == _AXIS:
            self._axis = None

    def draw_path(
        self,
        gc: GraphicsContextBase,
        path: Path,
        transform: Transform,
        rgbFace: Any = None,  # noqa: ANN401, N803
    ) -> None:
        if gc.get_hatch():
            raise HatchError
        # Filled shapes must not be joined, nor transparent lines: they darken where they overlap.
        style, is_line = _style(gc, rgbFace), rgbFace is None
        pen = self._pen(gc, style, alone=not is_line or "opacity" in style)
        clip = self._page if is_line else None
        pen.draw(path, transform + self._flip, clip=clip, simplify=is_line and path.should_simplify)

    def draw_markers(
        self,
        gc: GraphicsContextBase,
        marker_path: Path,
        marker_trans: Transform,
        path: Path,
        trans: Transform,
        rgbFace: Any = None,  # noqa: ANN401, N803
    ) -> None:
        if not trans.transform(path.vertices).any():  # an area: matplotlib's marker at the origin
            super().draw_markers(gc, marker_path, marker_trans, path, trans, rgbFace)
            return
        symbol = Pen().draw(marker_path, marker_trans + Affine2D().scale(1, -1), simplify=False)
        face = rgbFace if symbol.is_closed else None
        content = f'<path style="{_style(gc, face)}" d="{symbol.path}"/>'
        marker = f"marker:{self._defined_as(_MARKER, content)}"
        segments = path.iter_segments(trans + self._flip, simplify=False)
        points = [places[-2:] for places, _ in segments if len(places)]
        if not points:
            return
        last, alone = self._elements[-1], Pen().line(points)
        same = (last.pen.path, last.clip) == (alone.path, self._clip(gc))
        if same and "marker" not in last.style:
            last.style += f";{marker}"  # at the points of its own line
        else:
            self._pen(gc, marker).line(points)

    def draw_text(
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: Any = False,  # noqa: ANN401
        mtext: Text | None = None,
    ) -> None:
        if ismath:
            super().draw_text(gc, x, y, s, prop, angle, ismath, mtext)
            return
        style = [f"font-size:{prop.get_size():g}px", *_colour("fill", gc.get_rgb())]
        if prop.get_weight() not in {"normal", 400}:
            style.append(f"font-weight:{prop.get_weight()}")
        if mtext is not None and (angle == 0 or mtext.get_rotation_mode() == "anchor"):
            # Its side is where matplotlib put it, with the font of the reader.
            ax, ay = mtext.get_transform().transform(mtext.get_unitless_position())
            turn = np.deg2rad(angle)
            down = np.array([np.sin(turn), np.cos(turn)])
            x, y = (ax, self._size[1] - ay) + down * (down @ (x - ax, y - self._size[1] + ay))
            anchor = _ANCHORS.get(mtext.get_horizontalalignment())
            style += [f"text-anchor:{anchor}"] if anchor else []
        at = f"{x:.1f}".removesuffix(".0"), f"{y:.1f}".removesuffix(".0")
        place = (
            ' x="{}" y="{}"'
            if angle == 0
            else f' transform="translate({{}} {{}})rotate({-angle:g})"'
        )
        self._elements.append(
            _Element(
                *(";".join(style), self._clip(gc)),
                tag="text",
                place=place.format(*at),
                text=escape(s),
            )
        )

    def get_image_magnification(self) -> float:
        return MAGNIFICATION

    def draw_image(
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        im: Any,  # noqa: ANN401
        transform: Transform | None = None,  # noqa: ARG002
    ) -> None:
        png = BytesIO()
        Image.fromarray(im[::-1]).save(png, "png", optimize=True)  # its first row is the lowest
        height, width = (pixels / MAGNIFICATION for pixels in im.shape[:2])
        place = (
            f' x="{x:g}" y="{self._size[1] - y - height:g}" width="{width:g}" height="{height:g}"'
            f' href="data:image/png;base64,{b64encode(png.getvalue()).decode()}"'
        )
        style = "image-rendering:auto"
        self._elements.append(_Element(style, self._clip(gc), tag="image", place=place))

    # ---- what they share

    def _pen(self, gc: GraphicsContextBase, style: str, *, alone: bool = False) -> Pen:
        """Return the pen of a path of this style, of a new one or of one that it continues."""
        clip = self._clip(gc)
        if not alone:
            for one in self._elements[-1 if self._axis is None else self._axis :]:
                if (one.style, one.clip) == (style, clip) and one.tag == "path":
                    return one.pen
        self._elements.append(_Element(style, clip))
        return self._elements[-1].pen

    def _clip(self, gc: GraphicsContextBase) -> str:
        path: Any
        path, transform = gc.get_clip_path()
        if path is None and (rectangle := gc.get_clip_rectangle()) is not None:
            path = Path.unit_rectangle()
            transform = Affine2D().scale(*rectangle.size).translate(*rectangle.min)
        if path is None or transform is None:
            return ""
        shape = Pen().draw(path, transform + self._flip, simplify=False)
        return self._defined_as("clipPath", f'<path d="{shape.path}"/>')

    def _defined_as(self, tag: str, content: str) -> str:
        """Return the reference to a definition."""
        name = self._defined.setdefault((tag, content), _name(len(self._defined)))
        return f"url(#{name})"


def _run(look: str, run: Sequence[_Element]) -> str:
    """Write elements of one style."""
    if len(run) == 1:
        return run[0].written(look)
    return f"<g{look}>{''.join(one.written() for one in run)}</g>"


def _name(place: int) -> str:
    """Return a short name, another one for each place."""
    more, letter = divmod(place, len(ascii_letters))
    return f"{ascii_letters[letter]}{more or ''}"


def _style(gc: GraphicsContextBase, face: Any) -> str:  # noqa: ANN401
    """Return how a path looks, as far as it differs from what is inherited."""
    whole = gc.get_alpha() if gc.get_forced_alpha() else None
    style = [] if face is None else _colour("fill", face, whole)
    if width := gc.get_linewidth():
        style += _colour("stroke", gc.get_rgb(), whole)
        style += [f"stroke-width:{width:g}"] if width != 1 else []
        offset, dashes = gc.get_dashes()
        if dashes is not None:
            lengths: Any = dashes
            style.append(f"stroke-dasharray:{','.join(f'{length:g}' for length in lengths)}")
            style += [f"stroke-dashoffset:{offset:g}"] if offset else []
        if gc.get_joinstyle() != "round":
            style.append(f"stroke-linejoin:{gc.get_joinstyle()}")
        if gc.get_capstyle() != "projecting":
            style.append(f"stroke-linecap:{gc.get_capstyle()}")
    return ";".join([*style, *([] if whole in {None, 1} else [f"opacity:{whole:g}"])])


def _colour(name: str, colour: Any, whole: float | None = None) -> list[str]:  # noqa: ANN401
    """Return a colour, and how far it covers what is below unless the whole path does so."""
    alpha = colour[3] if len(colour) > 3 and whole is None else 1  # noqa: PLR2004
    text = to_hex(colour)
    short = f"#{text[1::2]}" if text[1::2] == text[2::2] else text
    return [f"{name}:{short}", *([] if alpha == 1 else [f"{name}-opacity:{alpha:g}"])]
