"""Text files line by line, and what is wrong or left out in which line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from incastle.errors import IncastleError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WHOLE = re.compile(r"\d{1,18}", re.ASCII)
"""Whole numbers, as long as the engine's 64 bits hold them all."""

LONGEST = 60
"""Characters of a line that a message repeats."""


class BrokenFile(IncastleError):  # noqa: N818  reads well where it is caught
    """A file that is not what it should be: where, and what was expected.

    Attributes:
        file: the file as it was named.
        line: the line, from 1; 0 where the whole file is meant.
        message: what was found and what was expected.

    """

    def __init__(self, file: str, line: int, message: str) -> None:
        super().__init__(file, line, message)
        self.file = file
        self.line = line
        self.message = message

    def __str__(self) -> str:
        """Return place and message."""
        return f"{self.file}:{self.line}: {self.message}" if self.line else self._without_line()

    def _without_line(self) -> str:
        return f"{self.file}: {self.message}"


@dataclass(frozen=True)
class Note:
    """Content of a file that the scenario lacks."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        """Return place and message."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: warning: {self.message}"


@dataclass
class Lines:
    """A file's lines, and what was noted while reading them."""

    file: str
    lines: list[str]
    notes: list[Note] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Lines:
        """Read a text file.

        Raises:
            OSError: it cannot be read.
            BrokenFile: it is no text.

        """
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            message = f"not a UTF-8 file (byte {error.start} is not)"
            raise BrokenFile(str(path), 0, message) from None
        return cls(str(path), text.split("\n"))

    def filled(self) -> Iterator[tuple[int, str]]:
        """Return the lines that are not blank, with their numbers."""
        return ((number, line) for number, line in enumerate(self.lines, 1) if line.strip())

    @property
    def last(self) -> int:
        """The number of the last line that is not blank, at least 1."""
        return max((number for number, _ in self.filled()), default=1)

    def fail(self, line: int, message: str) -> NoReturn:
        """Refuse the file."""
        raise BrokenFile(self.file, line, message)

    def note(self, line: int, message: str) -> None:
        """Remember what cannot be had here."""
        self.notes.append(Note(self.file, line, message))

    def whole(self, line: int, text: str, what: str, minimum: int = 0) -> int:
        """Read a whole number.

        Raises:
            BrokenFile: it is none, or too small.

        """
        if WHOLE.fullmatch(text) is None or int(text) < minimum:
            bound = f" from {minimum}" if minimum else ""
            self.fail(line, f"{what} must be a whole number{bound}, found {shown(text)}")
        return int(text)


def shown(text: str) -> str:
    """Quote what was found, not all of a long line."""
    text = text.strip()
    return f'"{text[:LONGEST]}..."' if len(text) > LONGEST else f'"{text}"'
