"""A study of a paper: sentences and tables, on the terminal, as JSON and as a page.

They lie in the folder of a report (`incastle.reproduction.studies`): KIND.html, KIND.json, and
perhaps a figure.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from incastle import _engine, terminal
from incastle.build import engine_build
from incastle.reproduction.studies import FOLDER
from incastle.storage.files import scratch_file
from incastle.templates import templates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from incastle.reproduction.papers import Length


@dataclass(frozen=True)
class Table:
    """A table: its title, the names of its columns, and its rows."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    brief: bool = True
    """Whether the terminal shows it, too."""


@dataclass(frozen=True)
class Study:
    """A study: of which paper, which kind, and what it found."""

    paper: str
    kind: str
    title: str
    length: Length
    words: tuple[str, ...]
    tables: tuple[Table, ...]
    data: Mapping[str, Any]
    figure: str = ""
    """The name of its figure, without an ending."""

    def as_json(self) -> dict[str, Any]:
        """Give everything that it found."""
        head = {"paper": self.paper, "kind": self.kind, "length": str(self.length)}
        head |= {"title": self.title, "engine": engine_build()}
        return {**head, "words": list(self.words), **self.data}

    def place(self, report: Path) -> Path:
        """Give the folder of its files."""
        return report / FOLDER / self.paper

    def save(self, report: Path) -> Path:
        """Write its page and its data into the folder of a report; return the page."""
        folder = self.place(report)
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.as_json(), indent=2, ensure_ascii=False, allow_nan=False)
        page = folder / f"{self.kind}.html"
        for path, content in ((folder / f"{self.kind}.json", f"{text}\n"), (page, self._html())):
            with scratch_file(path) as scratch:
                scratch.write_text(content, encoding="utf-8")
        return page

    def _html(self) -> str:
        environment = templates(Path(__file__).parents[1] / "reproduction")
        page = environment.get_template("study.html.jinja")
        return page.render(
            study=asdict(self), version=_engine.__version__, judged=(), verdicts=(), css=str
        )

    def show(self, page: Path) -> None:
        """Print sentences and tables, and where the page is."""
        console = terminal.output()
        for table in self.tables:
            if table.brief and table.rows:
                shown = terminal.aligned(escape(table.title), *table.head)
                for column in shown.columns:
                    column.justify = "left"
                for row in table.rows:
                    shown.add_row(*map(escape, row))
                console.print(shown)
        console.print()
        for sentence in self.words:
            console.print(escape(sentence))
        console.print(f"The page: {escape(str(page))}", soft_wrap=True)
