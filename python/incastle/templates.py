"""Templates of pages: one setting for all."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Environment


@cache
def templates(folder: Path) -> Environment:
    """Return the templates of a folder; they escape HTML, and unknown names are errors.

    Words between backticks are code, as in Markdown.
    """
    import jinja2  # noqa: PLC0415  slow to import: only where a page is written

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_marked_up,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _marked_up(value: Any) -> Any:  # noqa: ANN401  whatever a template has
    from markupsafe import Markup, escape  # noqa: PLC0415  as jinja2

    if not isinstance(value, str) or isinstance(value, Markup) or "`" not in value:
        return value
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(value))))  # noqa: S704  escaped
