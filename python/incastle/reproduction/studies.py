"""The studies of papers that lie in the folder of a report, below `studies/PAPER/`.

`incastle.variation` writes them. A report that is written again keeps them, and shows the sentences
of those that its engine has made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incastle.build import engine_build

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "studies"
"""Below the folder of a report."""


@dataclass(frozen=True)
class Kept:
    """A study that lies in the folder of a report."""

    kind: str
    title: str
    href: str
    words: tuple[str, ...]


def kept(report: Path, paper: str) -> list[Kept]:
    """Return the studies of a paper that this engine has made there; a broken one is none."""
    found = []
    for path in sorted((report / FOLDER / paper).glob("*.json")):
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["engine"] == engine_build():
                href = f"{FOLDER}/{paper}/{data['kind']}.html"
                found.append(Kept(data["kind"], data["title"], href, tuple(data["words"])))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found
