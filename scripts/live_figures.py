# ruff: noqa: INP001
"""Live figures of the documentation: a hook of mkdocs that embeds the lab with a scenario.

A line of a page that is nothing but `[CAPTION](SCENARIO.toml "live")` becomes a frame in which the
scenario runs; the site gets a copy of the lab's page, so that readers need no network and no
server. Where the page is not built (`make lab`), the line becomes the command that opens it.
"""

from __future__ import annotations

import html
import re
import shutil
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
# The documentation is built without the package: neither of the two needs the engine.
sys.path.insert(0, str(ROOT / "python"))
from incastle.browser import link, server  # noqa: E402

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

GALLERY = ROOT / "lab" / "src" / "gallery"
FOLDER = "live"
"""The copy of the lab, in the site."""
LINE = re.compile(r'^\[(?P<caption>[^\]\n]+)\]\((?P<path>[^)\s]+\.toml) "live"\)$', re.MULTILINE)


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:  # noqa: ANN401
    """Replace the lines of live figures."""
    return embedded(markdown, page.file.src_uri, page.url, is_built=server.is_built())


def on_post_build(*, config: MkDocsConfig, **_: Any) -> None:  # noqa: ANN401
    """Copy the lab into the site."""
    if server.is_built():
        shutil.copytree(server.PAGE, Path(config.site_dir, FOLDER), dirs_exist_ok=True)


def embedded(markdown: str, source: str, address: str, *, is_built: bool) -> str:
    """Return a page's text with its live figures; `source` and `address` are the page's."""

    def figure(line: re.Match[str]) -> str:
        scenario = (ROOT / "docs" / source).parent.joinpath(line["path"]).resolve()
        if not is_built:
            return _command(line["caption"], scenario, source)
        return _frame(line["caption"], _fragment(scenario), address)

    return LINE.sub(figure, markdown)


def _fragment(scenario: Path) -> str:
    """Return what opens a scenario; those of the gallery bring their sliders."""
    experiment = scenario.stem if scenario.parent == GALLERY else None
    return link.fragment(scenario.read_text(encoding="utf-8"), experiment)


def _frame(caption: str, fragment: str, address: str) -> str:
    lab = f"{'../' * address.count('/')}{FOLDER}/index.html{fragment}"
    words = html.escape(caption)
    return (
        f'<figure class="live"><iframe src="{lab}" title="{words}" loading="lazy"></iframe>\n'
        f'<figcaption>{words} <a href="{lab}" target="_blank">Open it in the whole window</a>'
        "</figcaption></figure>"
    )


def _command(caption: str, scenario: Path, source: str) -> str:
    up = "../" * (len(PurePosixPath(source).parts) - 1)
    path = scenario.relative_to(ROOT).as_posix()
    return f"{caption} [The lab]({up}lab.md) runs it: `incastle lab {path}`."
