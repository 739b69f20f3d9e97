"""Templates of pages: one setting for all."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Environment


@cache
def templates(folder: Path) -> Environment:
    """Return the templates of a folder; they escape HTML, and unknown names are errors."""
    import jinja2  # noqa: PLC0415  slow to import: only where a page is written

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
