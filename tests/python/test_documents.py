"""Pages against what there is: the names of the Python API, and the keys beside those of ns-3."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import incastle as ic
from incastle import _engine
from incastle.cli import app
from incastle.controllers.base import OPTIONAL, REQUIRED

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).parents[2] / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_page_of_the_api_has_every_name_and_no_other() -> None:
    described = re.findall(r"^::: incastle\.(\w+)$", page("python-api.md"), re.MULTILINE)
    assert len(described) == len(set(described))
    told = {*described, *re.findall(r"`incastle\.(\w+)`", page("python-api.md"))}
    assert told == set(ic.__all__)


def test_what_the_api_describes_has_words() -> None:
    for name in ic.__all__:
        value = getattr(ic, name)
        if not isinstance(value, str):
            assert inspect.getdoc(value), name


def words_of(schema: Any) -> Iterator[str]:
    """Give the keys of the language and the words that they take."""
    if isinstance(schema, dict):
        yield from schema.get("properties", ())
        yield from (word for word in schema.get("enum", ()) if isinstance(word, str))
        yield from [schema["const"]] if isinstance(schema.get("const"), str) else []
        for value in schema.values():
            yield from words_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from words_of(value)


def test_what_stands_beside_ns_3_is_there() -> None:
    commands: Any = typer.main.get_command(app)
    options = {
        option.lstrip("-")
        for command in commands.commands.values()
        for parameter in command.params
        for option in parameter.opts
    }
    tables = {name for name, value in vars(ic.Result).items() if isinstance(value, property)}
    known = {
        *words_of(json.loads(_engine.schema())),
        *("incastle", "packets", "us", "long", "receiver"),
        *commands.commands,
        *options,
        *tables,
        *REQUIRED,
        *OPTIONAL,
    }
    rows = re.findall(r"^\| .+? \| (.+) \|$", page("coming-from-ns-3.md"), re.MULTILINE)[1:]
    assert len(rows) >= 30
    spans = [span for row in rows for span in re.findall(r"`([^`]+)`", row)]
    named = {word for span in spans for word in re.findall(r"[a-z][a-z_-]+", span)}
    assert named <= known, named - known
