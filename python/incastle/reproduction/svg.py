"""Makes the SVG of a figure small, for pages with many: about a third of matplotlib's.

Letters are text already (`svg.fonttype`). Places keep a tenth of a pixel, styles that occur more
than once become classes, and what nobody refers to has no id. Leaves out: words, styles and
transformations, whose numbers are no places.
"""

from __future__ import annotations

import re
from collections import Counter

FONT = "'DejaVu Sans'"
FONTS = f"{FONT}, Verdana, sans-serif"
"""Of letters: that of the other formats, and one as wide that other systems have."""


def squeezed(text: str) -> str:
    """Return an SVG that looks the same."""
    text = re.sub(r"\s*\n\s*", " ", text).replace("> <", "><").replace(FONT, FONTS)
    text = re.sub(r' (?:d|x|y|width|height)="[^"]*"', _rounded, text)
    used = set(re.findall(r"#([\w.-]+)", text))
    text = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", text)
    return _with_classes(text)


def _rounded(place: re.Match[str]) -> str:
    return re.sub(r"(\.\d)\d+", r"\1", place[0])


def _with_classes(text: str) -> str:
    counts = Counter(re.findall(r' style="([^"]*)"', text))
    names = {
        style: f"a{number}"
        for number, style in enumerate(style for style, count in counts.items() if count > 1)
    }
    for style, name in names.items():
        text = text.replace(f' style="{style}"', f' class="{name}"')
    rules = "".join(f".{name}{{{style}}}" for style, name in names.items())
    return text.replace("</style>", f"{rules}</style>", 1)
