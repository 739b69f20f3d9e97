"""Small SVG: it looks the same, with fewer bytes."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest

from incastle.plotting import small_svg as svg
from incastle.plotting.style import canvas, encode


def test_a_small_svg_keeps_words_styles_and_transformations() -> None:
    style = "fill: none; opacity: 0.18"
    whole = (
        '<?xml version="1.0"?>\n<svg>\n <metadata>us</metadata>'
        "<defs><style>*{a: b}</style></defs>\n"
        f' <g id="used"><path d="M 1.2345 2\nL 3.97 4 \nz" style="{style}"/></g>\n'
        ' <g id="idle"><g/><use xlink:href="#used" x="7.777" transform="scale(0.0125)" '
        f'style="{style}"/></g>\n'
        ' <text style="font: 9px \'DejaVu Sans\'; fill: #used" x="3.04" '
        'transform="rotate(-0 3.04 5)">0.125 of 1 M 2</text>\n</svg>'
    )
    assert svg.squeezed(whole) == (
        "<svg><defs><style>*{a: b}.a0{fill:none;opacity:0.18}</style></defs>"
        '<g id="i0"><path d="m1.2 2 2.8 2z" class="a0"/></g>'
        '<use href="#i0" x="7.7" transform="scale(0.0125)" class="a0"/>'
        '<text style="font: 9px \'DejaVu Sans\', Verdana, sans-serif; fill: #used" x="3">'
        "0.125 of 1 M 2</text></svg>"
    )


def test_what_is_clipped_alike_has_a_class() -> None:
    path = '<path d="M 0 0 L 1 0" clip-path="url(#c)" style="fill: none"/>'
    whole = f'<svg><style></style><clipPath id="c"></clipPath>{path}{path}</svg>'
    assert ".a0{fill:none;clip-path:url(#i0)}" in svg.squeezed(whole)
    assert svg.squeezed(whole).count('class="a0"') == 2


@pytest.mark.parametrize(
    ("path", "small"),
    [
        ("M 10 20 L 10.5 20 L 9.5 19.75 ", "m10 20 .5 0-1-.2"),
        # Rounded points, not rounded distances: 0.04 five times are two tenths.
        ("M 0 0 L 0.04 0 L 0.08 0 L 0.12 0 L 0.16 0 L 0.2 0", "m0 0 0 0 .1 0 0 0 .1 0 0 0"),
        # A close leads back to the last move.
        ("M 1 1 L 2 1 z M 3 3 L 4 3 Z", "m1 1 1 0zm2 2 1 0z"),
        ("M 0 1.5 C 0.4 1.5 0.8 1.3 1 1 L 2 2", "m0 1.5c.4 0 .8-.2 1-.5l1 1"),
        ("M 0 0 Q 1 0 1 1", "m0 0q1 0 1 1"),
        ("M 1e-3 -2 L 0 0", "m0-2 0 2"),
        ("M 0 0 A 1 1 0 0 0 2 2", "M 0 0 A 1 1 0 0 0 2 2"),
        ("", ""),
    ],
)
def test_paths_are_relative(path: str, small: str) -> None:
    assert svg.relative(path) == small


def test_symbols_of_a_curve_are_markers_of_one_path() -> None:
    symbol = '<defs><path id="s" d="M -2 0 L 2 0"/></defs>'
    uses = [f'<use xlink:href="#s" x="{x}" y="{y}" style="fill: red"/>' for x, y in PLACES]
    small = svg.squeezed(f"<svg><style></style>{symbol}{''.join(uses)}<text/>{uses[0]}</svg>")
    used = '<use href="#i0"'
    assert (
        f'<marker id="m0" overflow="visible" markerUnits="userSpaceOnUse">{used} class="a0"/>'
        '</marker><path d="m1 5 1 0 1 .5-3 3" style="marker:url(#m0);fill:none"/>'
        f'<text/>{used} x="1" y="5" class="a0"/></svg>'
    ) in small


PLACES = ((1, 5), (2, 5), (3, 5.5), (0, 8.5))


def test_letters_have_their_font_once() -> None:
    words = "<text style=\"font-size: {}px; font-family: 'DejaVu Sans'; fill: red\">{}</text>"
    both = "".join(words.format(size, size) * 2 for size in (8, 9))
    assert svg.squeezed(f"<svg><style></style>{both}</svg>") == (
        "<svg><style>text{font-family:'DejaVu Sans', Verdana, sans-serif;}"
        ".a0{font-size:8px;fill:red}.a1{font-size:9px;fill:red}</style>"
        '<text class="a0">8</text><text class="a0">8</text>'
        '<text class="a1">9</text><text class="a1">9</text></svg>'
    )


def test_a_small_picture_is_whole() -> None:
    """Elements are closed, and each name that is referred to is there once."""
    with mpl.rc_context({"svg.fonttype": "none"}), canvas() as figure:
        plain, empty, image = figure.subplots(1, 3)
        plain.plot(range(9), range(9), "o-", label="TCP")
        plain.scatter(range(9), range(9), c=range(9), marker="^", alpha=0.5)
        plain.fill_between(range(9), range(9), [9] * 9, alpha=0.2)
        plain.annotate("", (1, 1), xytext=(5, 5), arrowprops={"arrowstyle": "->"})
        plain.legend()
        empty.set_axis_off()
        empty.text(0.5, 0.5, "x < y & z", rotation=90)
        image.imshow([[1, 2], [3, 4]])
        whole = encode(figure, "svg").decode()
    small = svg.squeezed(whole)
    assert len(small) < len(whole) / 2
    root = ET.fromstring(small)  # noqa: S314  our own
    names = [name for one in root.iter() if (name := one.get("id"))]
    assert len(set(names)) == len(names)
    assert set(re.findall(r'(?:href="|url\()#([\w.-]+)', small)) == set(names)
    assert {"TCP", "x < y & z"} <= {one.text for one in root.iter()}
