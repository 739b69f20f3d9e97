"""The terminal: tables on standard output, everything else on standard error.

Standard output carries results only, so that it can be piped; messages, warnings and progress bars
go to standard error; without a terminal progress is a line now and then.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
import time
import warnings
from contextlib import contextmanager, nullcontext, redirect_stdout
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import ConsoleOptions
    from rich.progress import Progress
    from rich.segment import Segment

    from incastle import runner
    from incastle.errors import Diagnostic, ScenarioError

PIPE_WIDTH = 150
"""Columns where there is no terminal to ask."""

EXCERPT = 100
"""Columns of a line of a file below a diagnostic."""

NUMBER = re.compile(r"(\d) (?=\S)")
"""The end of a number, and the space before its unit."""

EVERY_S = 10.0
"""Between two lines of progress where there is no terminal for a bar."""

SLOW_CHECKS = 500
"""Combinations whose check takes long enough for a bar."""


def output() -> Console:
    """Return standard output, made anew because tests and pipes replace it."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def errors() -> Console:
    """Return standard error."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def error(message: str) -> None:
    """Report what is wrong."""
    errors().print(f"[bold red]error:[/] {escape(message)}")


def note(message: str) -> None:
    """Print a note."""
    errors().print(escape(message))


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Report warnings of the package without its source line; show others unchanged."""
    if category is UserWarning and file is None:
        errors().print(f"[yellow]warning:[/] {escape(str(message))}")
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
        (file or sys.stderr).write(text)


def diagnostics(found: Sequence[Diagnostic], *, excerpts: bool = False) -> None:
    """Show mistakes and warnings, each with its place and what would be right.

    With `excerpts` the line of the file stands below each, and a mark under its place.
    """
    console = errors()
    for one in found:
        colour = "yellow" if one.severity == "warning" else "red"
        console.print(
            f"[bold]{escape(one.place)}:[/] [{colour}]{one.severity}:[/] {escape(one.message)}"
        )
        if excerpts:
            for line in _excerpt(one):
                console.print(f"[dim]{escape(line)}[/]")
        for line in (one.help or "").splitlines():
            console.print(f"    {escape(line)}")


def _excerpt(one: Diagnostic) -> tuple[str, ...]:
    """Return the line of a diagnostic and a mark under its place; nothing where there is none."""
    try:
        lines = Path(one.file).read_text(encoding="utf-8-sig").splitlines() if one.line else []
        line = lines[one.line - 1].expandtabs(1)
    except (OSError, ValueError, IndexError):
        return ()
    if not line.strip():
        return ()
    # The end of a long line would wrap.
    first = max(0, one.column - EXCERPT // 2)
    shown, margin = line[first : first + EXCERPT], f"{one.line:>5} | "
    mark = " " * (one.column - 1 - first)
    return f"{margin}{shown}", f"{' ' * (len(margin) - 2)}| {mark}^"


def scenario_error(broken: ScenarioError, *, excerpts: bool = False) -> None:
    """Show all mistakes of a scenario and their number."""
    diagnostics(broken.diagnostics, excerpts=excerpts)
    count = sum(one.severity != "warning" for one in broken.diagnostics)
    if count > 1:
        note(f"{count} mistakes")


def print_json(value: object) -> None:
    """Print JSON, and nothing else, on standard output.

    Infinity, the upper end of what unfinished transfers could raise without limit, becomes null:
    JSON cannot express it.
    """
    print(json.dumps(_expressible(value), indent=2, allow_nan=False))


def _expressible(value: Any) -> Any:  # noqa: ANN401  any JSON
    if isinstance(value, dict):
        return {key: _expressible(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_expressible(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def figure_first(
    figure: Path | None, draw: Callable[[Path], object], show: Callable[[], object]
) -> None:
    """Draw into a file, if there is one, then print; what cannot be drawn is printed all the same.

    A reader such as `head` may end the command while it prints.
    """
    try:
        if figure is not None:
            draw(figure)
            note(f"drawn: {figure}")
    finally:
        show()


@contextmanager
def json_alone(as_json: bool) -> Iterator[None]:
    """Send what controllers print to standard error where standard output has JSON alone."""
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        yield


@contextmanager
def bars() -> Iterator[Progress | None]:
    """Yield room for bars with the time left, or None where nobody would see them."""
    console = errors()
    if not (console.is_terminal and sys.stderr.isatty()):
        yield None
        return
    from rich.progress import (  # noqa: PLC0415  slow to import
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    left = (TimeRemainingColumn(elapsed_when_finished=True), TextColumn("{task.fields[runs]}"))
    with Progress(*columns, *left, console=console, transient=True) as shown:
        yield shown


@contextmanager
def progress_bar(what: str, units: str = "runs") -> Iterator[Callable[[runner.Progress], None]]:
    """Yield a callable that draws a bar with the time left; without a terminal it prints lines."""
    with bars() as shown:
        if shown is None:
            yield _lines(what, units)
            return
        task = shown.add_task(escape(what), total=1.0, runs="")
        yield lambda state: shown.update(task, completed=state.fraction, runs=_runs(state, units))


def _lines(what: str, units: str) -> Callable[[runner.Progress], None]:
    """Return a callable that prints how far it has come, a line each `EVERY_S`."""
    printed = time.monotonic()

    def show(state: runner.Progress) -> None:
        nonlocal printed
        now = time.monotonic()
        if now - printed >= EVERY_S and state.fraction < 1:
            printed = now
            note(", ".join(filter(None, (f"{what}: {state.fraction:.0%}", _runs(state, units)))))

    return show


def _runs(state: runner.Progress, units: str) -> str:
    return f"{state.finished} of {state.total} {units}" if state.total > 1 else ""


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """Yield a callable that draws a bar of things done, or None where nobody would see it."""
    with bars() as shown:
        if shown is None or total < SLOW_CHECKS:
            yield None
            return
        task = shown.add_task(what, total=total, runs="")
        yield lambda done: shown.update(task, completed=done)


class Title(Text):
    """The title of a table, below an empty line: lines end between words, not before a unit."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Yield its lines."""
        # Rich breaks at a no-break space, too; textwrap does not.
        kept = NUMBER.sub("\\1\N{NO-BREAK SPACE}", self.plain)
        for line in ("", *textwrap.wrap(kept, options.max_width)):
            shown = Text(line.replace("\N{NO-BREAK SPACE}", " "), self.style)
            yield from shown.__rich_console__(console, options)


def aligned(title: str | None, *columns: str) -> Table:
    """Make a table whose first column is text and whose others are numbers."""
    table = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title=None if title is None else Title(Text.from_markup(title).plain, "bold"),
        title_justify="left",
    )
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left", overflow="fold")
    return table
