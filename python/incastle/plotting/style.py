"""The one style of all figures, and how one becomes a file.

Files are the same byte for byte from the same data: no dates, no random ids. A file is written
whole or not at all.

Colours are those of Okabe and Ito, which stay apart for colour-blind readers and in grey; series
differ in marker or line style as well.
"""

from __future__ import annotations

import io
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from incastle.errors import PlotError
from incastle.storage.files import scratch_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, SKY, RED, PURPLE, BLACK = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#56B4E9",
    "#D55E00",
    "#CC79A7",
    "#000000",
)
OLIVE = "#999933"
"""Not theirs: their eighth, a yellow, is too pale for a line on white."""
GREY = "#6b6b6b"
SERIES = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, BLACK, OLIVE)
"""The order in which lines get colours."""
MARKERS = "osD^vP*X"
DASHES: tuple[Any, ...] = (
    "-",
    (0, (4.5, 1.5)),
    (0, (1, 1)),
    (0, (5, 1.5, 1, 1.5)),
    (0, (8, 2)),
    (0, (2.5, 1)),
    (0, (5, 1.5, 1, 1.5, 1, 1.5)),
    (0, (1, 2.5)),
)
"""In the order of `SERIES`: black and white print has no colours."""
THIN = 0.9
"""Width of lines over time, which go up and down."""
FORMATS = ("png", "svg", "pdf")


@dataclass(frozen=True)
class Style:
    """Where figures go, and so their measures.

    Attributes:
        size: width and height in inches.
        font: size of the font in points; titles have one more, legends one less.
        row: height of a further row of panels in inches.
        letter: width of a letter, as a share of the font's size.
        form: the format that such figures usually have.
        settings: what else is different there, in matplotlib's terms.

    """

    size: tuple[float, float]
    font: float
    row: float = 1.4
    letter: float = 0.5
    form: str = "png"
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def is_column(self) -> bool:
        """Whether it is a column of a paper: its caption is the title, panels are stacked."""
        return self.size[0] < MIN_PAGE_IN


MIN_PAGE_IN = 5.0
_COLUMN = {
    "font.family": "STIXGeneral",
    "lines.linewidth": 1.1,
    "lines.markersize": 3.5,
    "axes.linewidth": 0.6,
    "legend.handlelength": 1.8,
    "legend.columnspacing": 1.2,
    "savefig.dpi": 300,
}
STYLES = {
    "screen": Style((7.2, 4.0), 9),
    "ieee": Style((3.5, 2.3), 8, 0.85, 0.41, "pdf", _COLUMN),
    "acm": Style((3.33, 2.2), 8, 0.85, 0.41, "pdf", _COLUMN),
    "slides": Style((10.0, 5.6), 16, 1.0, settings={"lines.linewidth": 2.5, "lines.markersize": 8}),
}
"""By the names that --style takes. IEEE's column is 3.5 inches wide, that of ACM 3.33."""
TITLE, TEXT, SMALL, SMALLER, SMALLEST = (
    STYLES["screen"].font + more for more in (1, 0, -1, -2, -2.5)
)
"""Sizes of letters in figures of papers, whose panels may be many."""

_SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "incastle",
    # Type 42: IEEE and ACM refuse matplotlib's default, Type 3.
    "pdf.fonttype": 42,
    "savefig.facecolor": "white",
    "savefig.dpi": 160,
}
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "Incastle"},
    "png": {"Software": "Incastle"},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "Incastle", "Producer": None},
}


@contextmanager
def canvas(style: str = "screen", size: tuple[float, float] | None = None) -> Iterator[Figure]:
    """Yield an empty figure, of the style's size unless another one is given, in inches.

    All that is drawn in the block, and saved there, has one style.

    Raises:
        PlotError: no such style.

    """
    import matplotlib as mpl  # noqa: PLC0415  slow to import: only where figures are drawn

    mpl.use("agg")
    from matplotlib.figure import Figure  # noqa: PLC0415

    if style not in STYLES:
        raise PlotError(unknown(f"no style {style!r}", style, STYLES))
    chosen = STYLES[style]
    fonts = {
        "font.size": chosen.font,
        "axes.titlesize": chosen.font + 1,
        "figure.titlesize": chosen.font + 1,
        "figure.labelsize": chosen.font,
        "legend.fontsize": chosen.font - 1,
        "legend.title_fontsize": chosen.font - 1,
    }
    with mpl.rc_context(_SETTINGS | fonts | chosen.settings):  # type: ignore[arg-type]
        yield Figure(figsize=size or chosen.size)


def setting(name: str) -> float:
    """Return a number of the style that `canvas` has set, in matplotlib's terms."""
    import matplotlib as mpl  # noqa: PLC0415  slow to import: only where figures are drawn

    settings: Any = mpl.rcParams
    return float(settings[name])


def look(place: int) -> dict[str, Any]:
    """Return colour, line style and marker of the series at a place: each alone is unique."""
    return {
        "color": SERIES[place % len(SERIES)],
        "linestyle": DASHES[place % len(DASHES)],
        "marker": MARKERS[place % len(MARKERS)],
    }


def line(place: int) -> dict[str, Any]:
    """Return the same for a curve of many points, which has no markers."""
    return {**look(place), "marker": ""}


def unknown(what: str, name: str, names: Iterable[str]) -> str:
    """Describe a name that does not exist, with the nearest ones or else all."""
    import difflib  # noqa: PLC0415  only here

    near = difflib.get_close_matches(name, names, 3, 0.5)
    return (
        f"{what}: did you mean {' or '.join(near)}?"
        if near
        else (f"{what}: there are {', '.join(names)}")
    )


def encode(figure: Figure, form: str) -> bytes:
    """Return the content of the figure's file in one of `FORMATS`."""
    file = io.BytesIO()
    figure.savefig(file, format=form, metadata=_METADATA[form])
    return file.getvalue()


def form_of(path: Path) -> str:
    """Return the format of a file's name.

    Raises:
        PlotError: it is none of ours.

    """
    if not path.name:
        raise PlotError("the name of the figure's file is empty")
    form = path.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise PlotError(f"{path} must end in one of {', '.join('.' + name for name in FORMATS)}")
    return form


def check_file(path: Path) -> None:
    """Refuse the name of a figure's file before the runs that it shows.

    Raises:
        PlotError: it has another format, or its folder takes no files.

    """
    form_of(path)
    folder = next(one for one in path.absolute().parents if one.exists())
    if not os.access(folder, os.W_OK):
        raise PlotError(f"{path}: {folder} takes no files from you: choose another folder")


def save(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all, in the format of its name; within `canvas`.

    Folders of its name that do not exist are made.

    Raises:
        PlotError: it is none of ours.
        OSError: the file cannot be written.

    """
    picture = encode(figure, form_of(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    with scratch_file(path) as scratch:
        scratch.write_bytes(picture)
