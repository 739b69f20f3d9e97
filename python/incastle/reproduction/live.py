"""Figures that run: links from a report to the lab, for runs that are short enough for a page.

The lab is a folder of static files. A report has a copy of it, so its links work from the disk and
on any web server. Where the page is not built, the report has the commands that open it instead.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incastle.browser import link, server
from incastle.browser.shortest import shortest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from incastle.reproduction.papers import Experiment, Observations

FOLDER = "lab"
"""The copy of the page, in the folder of a report."""
MOST_HOPS = 10_000_000
"""Expected packet-hops of a run that a page offers: a tab simulates two million or more in a
second, and nobody waits longer than some seconds for a figure to move."""
MOST_LINKS = 2
"""Links at a figure: each has a whole scenario, some 600 bytes; a figure may have 1,000 runs."""


@dataclass(frozen=True)
class Live:
    """A run that the lab can open: its experiment's name, and the fragment that opens it."""

    name: str
    fragment: str


def links(experiments: Sequence[Experiment], runs: Observations) -> list[Live]:
    """Return the runs of a figure that the lab can open, with their first seed."""
    short = [one.name for one in experiments if one.cost <= MOST_HOPS]
    return [Live(name, link.fragment(shortest(runs[name][0].resolved))) for name in spread(short)]


def spread(names: Sequence[str], most: int = MOST_LINKS) -> list[str]:
    """Choose a few names at equal distances, the first and the last among them."""
    if len(names) <= most:
        return list(names)
    last = len(names) - 1
    return [names[place * last // (most - 1)] for place in range(most)]


def copy_page(report: Path) -> bool:
    """Copy the lab into the folder of a report; return whether it is built here."""
    if not server.is_built():
        return False
    shutil.copytree(server.PAGE, report / FOLDER)
    return True
