"""Live figures of the documentation: what mkdocs' hook makes of their lines."""

from __future__ import annotations

import html
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import incastle as ic
from incastle.browser import link

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LEAST = 3
"""Pages that teach with a live figure."""


@pytest.fixture(scope="module")
def hook() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts/live_figures.py"))


LINE = '[Two flows & a "queue".](../../lab/src/gallery/tcp-dctcp.toml "live")'


def test_a_line_becomes_a_frame_with_its_scenario(hook: dict[str, Any]) -> None:
    text = f"Before.\n\n{LINE}\n\nAfter."
    shown = hook["embedded"](text, "models/dctcp.md", "models/dctcp.html", is_built=True)
    assert shown.startswith("Before.\n\n<figure")
    assert shown.endswith("</figure>\n\nAfter.")
    found = re.findall(r'"\.\./live/index\.html(#[^"]*)"', shown)
    assert len(found) == 2, "the frame, and the whole window"
    opened = link.opened(found[0])
    assert opened["experiment"] == "tcp-dctcp"
    assert opened["text"] == (ROOT / "lab/src/gallery/tcp-dctcp.toml").read_text(encoding="utf-8")
    assert html.unescape(shown).count('Two flows & a "queue".') == 2, "its name, and its caption"


def test_without_the_page_a_line_becomes_the_command(hook: dict[str, Any]) -> None:
    shown = hook["embedded"](LINE, "models/dctcp.md", "models/dctcp.html", is_built=False)
    assert shown == (
        'Two flows & a "queue". [The lab](../lab.md) runs it: '
        "`incastle lab lab/src/gallery/tcp-dctcp.toml`."
    )


def test_scenarios_outside_of_the_gallery_have_no_experiment(hook: dict[str, Any]) -> None:
    line = '[One run.](../examples/incast.toml "live")'
    shown = hook["embedded"](line, "tutorial.md", "tutorial.html", is_built=True)
    (fragment, _) = re.findall(r'"live/index\.html(#[^"]*)"', shown)
    assert "experiment" not in link.opened(fragment)
    within = f"In a sentence: {line}"
    assert hook["embedded"](within, "tutorial.md", "tutorial.html", is_built=True) == within


def test_pages_embed_scenarios_that_exist_and_need_no_other_file(hook: dict[str, Any]) -> None:
    found = {
        page: [(page.parent / line["path"]).resolve() for line in lines]
        for page in DOCS.rglob("*.md")
        if (lines := list(hook["LINE"].finditer(page.read_text(encoding="utf-8"))))
    }
    assert len(found) >= LEAST
    for scenarios in found.values():
        for path in scenarios:
            ic.Scenario.from_text(path.read_text(encoding="utf-8"))
            assert path.is_relative_to(ROOT)
