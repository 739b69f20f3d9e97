"""The one style of all figures, and how one becomes a file.

Files are the same byte for byte from the same data: no dates, no random ids. A file is written
whole or not at all.

Colours are those of Okabe and Ito, which stay apart for colour-blind readers and in grey; series
differ in marker or line style as well.
"""

from __future__ import annotations

import io
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from incastle.errors import PlotError
from incastle.storage.files import scratch_file

if TYPE_CHECKING:
    from collections.abc import Iterator
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
FORMATS = ("png", "svg", "pdf")

_SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
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
    "savefig.facecolor": "white",
    "savefig.dpi": 160,
}
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "Incastle"},
    "png": {"Software": "Incastle"},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "Incastle", "Producer": None},
}


@contextmanager
def canvas() -> Iterator[Figure]:
    """Yield an empty figure; all that is drawn in the block, and saved there, has the one style."""
    import matplotlib as mpl  # noqa: PLC0415  slow to import: only where figures are drawn

    mpl.use("agg")
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(_SETTINGS):  # type: ignore[arg-type]
        yield Figure()


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
    form = path.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise PlotError(f"{path} must end in one of {', '.join('.' + name for name in FORMATS)}")
    return form


def save(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all, in the format of its name; within `canvas`.

    Raises:
        PlotError: it is none of ours.
        OSError: the file cannot be written.

    """
    picture = encode(figure, form_of(path))
    with scratch_file(path) as scratch:
        scratch.write_bytes(picture)
