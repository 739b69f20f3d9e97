"""The exceptions that Incastle raises.

Every exception that Incastle raises on purpose derives from `IncastleError`, so that one `except`
clause catches them all; `Interrupted` alone derives from `KeyboardInterrupt`, because it is one.
All of them pickle. `exit_status` is what the command line returns for them.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from incastle.results import Result


class IncastleError(Exception):
    """Something that the user can put right: bad input, a place that cannot be written."""

    exit_status: ClassVar[int] = 2


@dataclass(frozen=True)
class Diagnostic:
    """One mistake in a scenario, or a warning about it.

    Attributes:
        severity: "error" (the scenario cannot run) or "warning".
        file: the file as it was named, or the override (`--set a.b=1`).
        line: the line, from 1; 0 where there is none, as for an override.
        column: the column in characters, from 1; 0 where there is none.
        key: the key concerned, in full (`flows.storage.count`); empty for a syntax error.
        message: what was found.
        help: the remedy, or None.

    """

    severity: str
    file: str
    line: int
    column: int
    key: str
    message: str
    help: str | None = None

    @property
    def place(self) -> str:
        """`file:line:column`; or the override alone, quoted for a shell."""
        if self.line:
            return f"{self.file}:{self.line}:{self.column}"
        option, space, setting = self.file.partition(" ")
        is_option = space and option.startswith("--")
        return f"{option} {shlex.quote(setting)}" if is_option else self.file

    @property
    def in_one_line(self) -> str:
        """`place: message`, without the help."""
        kind = "warning: " if self.severity == "warning" else ""
        return f"{self.place}: {kind}{self.message}"

    def __str__(self) -> str:
        """`place: message`, and the help on a separate line."""
        return f"{self.in_one_line}\n  {self.help}" if self.help else self.in_one_line


class ScenarioError(IncastleError, ValueError):
    """A scenario with mistakes: all of them, in the order of the file.

    Attributes:
        diagnostics: the mistakes, each with its place; at least one.

    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(tuple(diagnostics))
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)

    def __str__(self) -> str:
        """Return every mistake, one after the other."""
        return "\n".join(str(diagnostic) for diagnostic in self.diagnostics)


class ResultError(IncastleError):
    """A result directory that cannot be read, or must not be replaced."""


def unreadable(path: Path, error: BaseException, advice: str = "") -> ResultError:
    """Describe why a file cannot be read, and the remedy, without Python's terms."""
    if isinstance(error, OSError):
        why = error.strerror or str(error)
    elif isinstance(error, json.JSONDecodeError):
        why = f"no JSON in line {error.lineno}: {error.msg}"
    elif isinstance(error, UnicodeDecodeError):
        why = "not a UTF-8 file"
    elif isinstance(error, KeyError):
        why = f"it lacks {error}"
    else:
        why = str(error)
    return ResultError(f"{path} cannot be read: {why}" + (f"; {advice}" if advice else ""))


class ScenarioNotFound(IncastleError, FileNotFoundError):  # noqa: N818  reads well where it is caught
    """There is no scenario file of this name; the message has the nearest that there is."""

    def __str__(self) -> str:
        """Name the file and the reason."""
        return f"{self.filename}: {self.strerror}"


class TableMissing(IncastleError, AttributeError):  # noqa: N818  reads well where it is caught
    """A table that this result does not have, because its scenario did not ask for it."""


class PlotError(IncastleError):
    """A plot that cannot be drawn from this result."""


class RunError(IncastleError, RuntimeError):
    """The engine stopped a run: an endless loop without delay, a limit exceeded.

    Attributes:
        results: what the other runs of the same call gave, None where there is nothing.

    """

    def __init__(self, message: str, results: Sequence[Result | None] = ()) -> None:
        super().__init__(message, tuple(results))
        self.message = message
        self.results: tuple[Result | None, ...] = tuple(results)

    def __str__(self) -> str:
        """Return the message alone."""
        return self.message


class ControllerError(RunError):
    """A user's controller lacks a method, raised, or returned an invalid window.

    The message has the class, the method, the simulated time, and the traceback of your code.
    """


class ClusterError(IncastleError):
    """A cluster that cannot be reached, or whose workers cannot be used."""


class InternalError(RunError):
    """A defect of Incastle: an invariant of the engine did not hold. Please report it."""

    exit_status: ClassVar[int] = 3


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run. The engine has stopped; what was finished is here.

    Attributes:
        results: one per requested run: finished, or None.
        partial: the runs that were under way, up to the moment of the interrupt
            (`Result.interrupted` is true for them). A run whose controller did not come back is
            not among them.
        within: file, line and method of a controller of your own that did not come back.

    """

    def __init__(
        self,
        results: Sequence[Result | None] = (),
        partial: Sequence[Result] = (),
        within: str | None = None,
    ) -> None:
        super().__init__(tuple(results), tuple(partial), within)
        self.results: tuple[Result | None, ...] = tuple(results)
        self.partial: tuple[Result, ...] = tuple(partial)
        self.within = within

    def __str__(self) -> str:
        """Describe how far it came."""
        done = sum(result is not None for result in self.results)
        return f"interrupted: {done} of {len(self.results)} runs were finished{self._where()}"

    def _where(self) -> str:
        return f"; a controller did not come back: {self.within}" if self.within else ""
