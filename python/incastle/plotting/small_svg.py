"""Makes the SVG of a figure small, for pages with many: about a sixth of matplotlib's.

Letters are text already (`svg.fonttype`). Places keep a tenth of a pixel, paths are relative,
equal symbols are markers of one path, styles that occur more than once become classes, names are
short, and what has no effect is left out: metadata, ids that nobody refers to, groups without
attributes, turns by no angle. Leaves out: words and styles, whose numbers are no places.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FONT = "'DejaVu Sans'"
FONTS = f"{FONT}, Verdana, sans-serif"
"""Of letters: that of the other formats, and one as wide that other systems have."""

_FAMILY = f"font-family:{FONTS};"

_NO_EFFECT = (
    r"<\?xml[^>]*\?>|<!DOCTYPE[^>]*>|<metadata>.*?</metadata>"
    r"|<!--.*?-->|<g\b[^>]*/>"
    r'| transform="rotate\(-?0 [^"]*\)"'
)
_CLIPPED = r' clip-path="([^"]*)" style="([^"]*)"'
_USE = r'<use href="#(\w+)" x="([^"]*)" y="([^"]*)"((?: class="[^"]*"| style="[^"]*")?)/>'
_USES = rf"{_USE}(?:<use href=\"#\1\" x=\"[^\"]*\" y=\"[^\"]*\"\4/>){{2,}}"
"""A symbol in three places or more, one after the other."""
_REFERENCE = r'(href="#|url\(#)([\w.-]+)'
_AS_IT_IS = 'overflow="visible" markerUnits="userSpaceOnUse"'
_NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
_ENDS = {"M": 2, "L": 2, "Q": 4, "C": 6}
"""Numbers after a path's commands; the last two are the point that it leads to."""


def squeezed(text: str) -> str:
    """Return an SVG that looks the same."""
    text = re.sub(r"\s*\n\s*", " ", text).replace("> <", "><").replace(FONT, FONTS)
    text = re.sub(_NO_EFFECT, "", text).replace("xlink:href", "href")
    text = re.sub(r' xmlns:xlink="[^"]*"', "", text)
    text = re.sub(r' (?:x|y|width|height)="[^"]*"', _rounded, text)
    text = re.sub(r' d="([^"]*)"', lambda found: f' d="{relative(found[1])}"', text)
    text = re.sub(_CLIPPED, r' style="\2;clip-path:\1"', _with_short_names(text))
    return _with_markers(_without_groups(_with_classes(text)))


def _rounded(place: re.Match[str]) -> str:
    return re.sub(r"(\.\d)\d+", r"\1", place[0]).replace(".0", "")


def relative(path: str) -> str:
    """Write a path with the distance of each point from the last one, in tenths of a pixel.

    Distances are those of rounded points: no error adds up. Other commands than `_ENDS` and the
    close are none of matplotlib's, and stay as they are with all that the path has.
    """
    tokens = re.findall(rf"[A-Za-z]|{_NUMBER}", path)
    if not {token for token in tokens if token.isalpha()} <= {*_ENDS, "z", "Z"}:
        return path
    return "".join(_steps(iter(tokens)))


def _steps(tokens: Iterator[str]) -> Iterator[str]:
    here, begin = [0, 0], [0, 0]
    before = ""
    for command in tokens:
        if command in "zZ":
            here, before = list(begin), ""
            yield "z"
            continue
        places = [round(10 * float(next(tokens))) for _ in range(_ENDS[command])]
        steps = [place - here[axis % 2] for axis, place in enumerate(places)]
        here = places[-2:]
        if command == "M":
            begin = list(here)
        # Lines that follow a move or lines need no letter.
        silent = command == "L" and before in {"M", "L"}
        yield ("" if silent else command.lower()) + _written(steps, apart=silent)
        before = command


def _written(tenths: list[int], *, apart: bool) -> str:
    """Write numbers one after the other; a minus sign parts them as well as a space."""
    text = ""
    for number in tenths:
        whole, tenth = divmod(abs(number), 10)
        digits = f"{whole or ''}{f'.{tenth}' if tenth else ''}" or "0"
        sign = "-" if number < 0 else (" " if text or apart else "")
        text += sign + digits
    return text


def _with_short_names(text: str) -> str:
    """Name what is referred to by short ids; what is not has none."""
    used = dict.fromkeys(name for _, name in re.findall(_REFERENCE, text))
    short = {name: f"i{number}" for number, name in enumerate(used)}

    def named(found: re.Match[str]) -> str:
        return f' id="{short[found[1]]}"' if found[1] in short else ""

    text = re.sub(r' id="([^"]*)"', named, text)
    return re.sub(_REFERENCE, lambda found: f"{found[1]}{short[found[2]]}", text)


def _with_classes(text: str) -> str:
    counts = Counter(re.findall(r' style="([^"]*)"', text))
    names = {
        style: f"a{number}"
        for number, style in enumerate(style for style, count in counts.items() if count > 1)
    }
    for style, name in names.items():
        text = text.replace(f' style="{style}"', f' class="{name}"')
    rules = "".join(f".{name}{{{_tight(style)}}}" for style, name in names.items())
    family = f"text{{{_FAMILY}}}" if _FAMILY in rules else ""
    return text.replace("</style>", f"{family}{rules.replace(_FAMILY, '')}</style>", 1)


def _tight(style: str) -> str:
    return style.replace(": ", ":").replace("; ", ";")


def _without_groups(text: str) -> str:
    """Leave out groups without attributes: they only nest."""
    parts, kept = [], []
    for part in re.split(r"(<g\b[^>]*>|</g>)", text):
        if part.startswith("<g"):
            kept.append(part != "<g>")
        if part == "</g>":
            if kept.pop():
                parts.append(part)
        elif part != "<g>":
            parts.append(part)
    return "".join(parts)


def _with_markers(text: str) -> str:
    """Draw a symbol in many places as the marker at the points of one path.

    A marker has no scale, and is not clipped (SVG 1.1, section 11.6).
    """
    known: dict[str, str] = {}

    def marked(found: re.Match[str]) -> str:
        places = [(x, y) for _, x, y, _ in re.findall(_USE, found[0])]
        symbol = f'<use href="#{found[1]}"{found[4]}/>'
        name = known.setdefault(symbol, f"m{len(known)}")
        path = relative("M" + "L".join(f" {x} {y} " for x, y in places))
        first = f'<marker id="{name}" {_AS_IT_IS}>{symbol}</marker>' if name not in defined else ""
        defined.add(name)
        return f'{first}<path d="{path}" style="marker:url(#{name});fill:none"/>'

    defined: set[str] = set()
    return re.sub(_USES, marked, text)
