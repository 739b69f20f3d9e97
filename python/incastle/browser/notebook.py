"""The lab in the output of a notebook: the whole page inside a frame, without a server.

The frame is sandboxed: its scripts reach neither the notebook nor the network. Scripts and styles
stand in the document, so its content security policy names them by their hashes (CSP level 3).
"""

from __future__ import annotations

import base64
import hashlib
import html
from typing import TYPE_CHECKING

from incastle.browser import link, server
from incastle.results import Result
from incastle.scenario import Scenario, load

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = '<script defer src="./lab.js"></script>'
STYLE = '<link rel="stylesheet" href="./lab.css">'
HEIGHT = 820


class Lab:
    """The lab with a scenario; a notebook shows it as the value of a cell."""

    def __init__(self, scenario: Scenario, height: int = HEIGHT) -> None:
        self.fragment = link.fragment(scenario.resolved)
        self.height = height
        self._name = scenario.name

    def _repr_html_(self) -> str:
        frame = f'width="100%" height="{self.height}" sandbox="allow-scripts allow-downloads"'
        style = 'style="border: 1px solid #ccd"'
        document = html.escape(page(self.fragment))
        return f'<iframe title="Incastle lab" {frame} {style} srcdoc="{document}"></iframe>'

    def __repr__(self) -> str:
        """Say what it is where nothing can be shown."""
        return f"<the lab with {self._name!r}: a notebook shows it>"


def lab(scenario: Scenario | Result | str | Path, height: int = HEIGHT) -> Lab:
    """Open a scenario, or that of a result, in the lab, inside a notebook.

    The page runs the engine in the browser, with the digests of `run`; it needs neither a server
    nor the network. Outside notebooks, `incastle lab` opens it.

    Args:
        scenario: a scenario, a result or a file.
        height: of the frame, in pixels.

    Raises:
        IncastleError: the page is not built (`make lab`; wheels have it).

    """
    server.require_page()
    if isinstance(scenario, Result):
        scenario = Scenario.from_text(scenario.scenario)
    checked = scenario if isinstance(scenario, Scenario) else load(scenario)
    return Lab(checked, height)


def page(fragment: str) -> str:
    """Return the page as one document, which opens what a link has."""
    server.require_page()
    text, script, style = (
        (server.PAGE / name).read_text(encoding="utf-8")
        for name in ("index.html", "lab.js", "lab.css")
    )
    # The end of a script may not stand within it.
    script = script.replace("</script", "<\\/script")
    for part, inside in ((SCRIPT, ""), (STYLE, f"<style>{style}</style>")):
        text = replaced(text, part, inside)
    opened = f'<meta name="incastle-link" content="{fragment}" />'
    text = replaced(text, "<title>", f"{opened}\n    <title>")
    text = replaced(text, "script-src 'self'", f"script-src {digest(script)}")
    text = replaced(text, "style-src 'self'", f"style-src {digest(style)}")
    return replaced(text, "</body>", f"<script>{script}</script></body>")


def replaced(text: str, part: str, other: str) -> str:
    """Replace a part that the page must have once."""
    before, found, after = text.partition(part)
    if not found or part in after:
        raise AssertionError(f"the page of the lab has {part!r} once")
    return before + other + after


def digest(text: str) -> str:
    """Return the hash of a script or style as the policy has it."""
    hashed = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{hashed}'"
