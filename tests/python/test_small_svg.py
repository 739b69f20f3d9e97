"""Small SVG: the figure of matplotlib's, with fewer bytes."""

from __future__ import annotations

import base64
import io
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.path import Path
from matplotlib.transforms import IdentityTransform
from PIL import Image

from incastle.plotting.style import canvas, encode
from incastle.small_svg import MAGNIFICATION, POINTS_PER_INCH, HatchError, Pen, small_svg

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

M, L, Q, C, Z = Path.MOVETO, Path.LINETO, Path.CURVE3, Path.CURVE4, Path.CLOSEPOLY


@pytest.mark.parametrize(
    ("points", "codes", "small"),
    [
        ([(10, 20), (10.5, 20), (9.5, 19.75)], None, "m10 20h.5l-1-.2"),
        # Rounded points, not rounded distances: 0.04 five times are two tenths.
        ([(0.04 * n, 0) for n in range(6)], None, "m0 0h.1.1"),
        ([(0, 0), (0.2, 0.3), (1.2, 0.6), (12, 0.6)], None, "m0 0 .2.3 1 .3h10.8"),
        # A close leads back to the last move.
        ([(1, 1), (2, 1), (0, 0), (3, 3), (3, 4)], [M, L, Z, M, L], "m1 1h1zm2 2v1"),
        (
            [(0, 1.5), (0.4, 1.5), (0.8, 1.3), (1, 1), (2, 2)],
            [M, C, C, C, L],
            "m0 1.5c.4 0 .8-.2 1-.5l1 1",
        ),
        ([(0, 0), (1, 0), (1, 1)], [M, Q, Q], "m0 0q1 0 1 1"),
    ],
)
def test_paths_are_relative(
    points: list[tuple[float, float]], codes: list[int] | None, small: str
) -> None:
    drawn = Pen().draw(Path(points, codes), IdentityTransform(), simplify=False)
    assert drawn.path == small


def test_the_grid_of_an_axis_is_one_path_and_so_are_its_ticks() -> None:
    few = drawn(lambda axes: axes.set_xticks([0, 1]))
    many = drawn(lambda axes: axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1]))
    assert many.count("<path") == few.count("<path")


def test_a_curve_and_its_symbols_are_one_path() -> None:
    text = drawn(lambda axes: axes.plot([0, 1, 2], [0, 2, 1], "s-", color="#0072b2", lw=1.4))
    (name,) = re.findall(r"stroke:#0072b2;stroke-width:1\.4;marker:url\(#(\w+)\)", text)
    assert f'<marker markerUnits="userSpaceOnUse" id="{name}"><path style="fill:#0072b2;' in text


def test_two_symbols_at_one_place_are_both_there() -> None:
    def draw(axes: Axes) -> None:
        for colour, size in (("#000001", 5.6), ("#fffffe", 4.4)):
            axes.plot(0.5, 0.5, "x", color=colour, ms=size)

    text = drawn(draw)
    for colour in ("#000001", "#fffffe"):
        (name,) = re.findall(rf'id="(\w+)"><path style="stroke:{colour}', text)
        assert len(re.findall(rf"marker:url\(#{name}\)", text)) == 1


def test_lines_that_are_seen_through_stay_apart() -> None:
    opaque = drawn(lambda axes: axes.vlines([1, 2, 3], 0, 1, color="#d55e00"))
    clear = drawn(lambda axes: axes.vlines([1, 2, 3], 0, 1, color="#d55e00", alpha=0.5))
    assert clear.count("<path") == opaque.count("<path") + 2


def test_an_image_stands_upright_in_its_axes() -> None:
    text = drawn(lambda axes: axes.imshow([[0, 0], [1, 1]], cmap="gray", interpolation="none"))
    (data,) = re.findall(r'<image [^>]*href="data:image/png;base64,(.*?)"', text)
    image = Image.open(io.BytesIO(base64.b64decode(data))).convert("L")
    assert [image.getpixel((5, y)) for y in (5, image.height - 5)] == [0, 255]


def test_pixels_are_drawn_on_no_larger_canvas_than_the_figure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    widths: list[float] = []
    original: Any = RendererAgg.__init__

    def noted(self: RendererAgg, width: float, height: float, dpi: float) -> None:
        widths.append(width)
        original(self, width, height, dpi)

    monkeypatch.setattr(RendererAgg, "__init__", noted)
    with canvas() as figure:
        axes = figure.subplots()
        axes.plot(range(3), rasterized=True)
        small_svg(figure)
        inches = figure.get_size_inches()[0]
    assert max(widths) == pytest.approx(inches * MAGNIFICATION * POINTS_PER_INCH)


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(HatchError):
        drawn(lambda axes: axes.patch.set_hatch("///"))


def test_a_small_picture_is_whole() -> None:
    """Names that are referred to are there once, and letters are text."""
    with mpl.rc_context({"svg.fonttype": "none"}), canvas() as figure:
        plain, empty, third = figure.subplots(1, 3)
        plain.plot(range(9), range(9), "o-", label="TCP")
        plain.scatter(range(9), range(9), c=range(9), marker="^", alpha=0.5)
        plain.fill_between(range(9), range(9), [9] * 9, alpha=0.2)
        plain.annotate("", (1, 1), xytext=(5, 5), arrowprops={"arrowstyle": "->"})
        plain.legend()
        empty.set_axis_off()
        empty.text(0.5, 0.5, "x < y & z", rotation=90)
        third.set_title("$x^2$")
        whole, small = encode(figure, "svg").decode(), small_svg(figure)
    assert len(small) < len(whole) / 4
    root = ET.fromstring(small)  # noqa: S314  our own
    names = [name for one in root.iter() if (name := one.get("id"))]
    assert len(set(names)) == len(names)
    assert set(re.findall(r"url\(#(\w+)\)", small)) == set(names)
    assert {"TCP", "x < y & z"} <= {one.text for one in root.iter()}
    words = [re.findall(r">([^<>\s][^<>]*)</text>", text) for text in (whole, small)]
    assert words[0] == words[1]


def drawn(draw: Callable[[Axes], Any]) -> str:
    with canvas() as figure:
        draw(figure.subplots())
        return small_svg(figure)
