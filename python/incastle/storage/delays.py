"""The delays of links that have been simulated, on the disk until the estimate is whole.

A database of SQLite: each link is there wholly or not at all, whatever ends the process. Each has
a hash: one that was changed since is simulated again.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from incastle.build import engine_build
from incastle.errors import ResultError
from incastle.storage.hashes import hash_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TABLES = """
create table of (content text not null);
create table delays (number integer primary key, content blob not null, hash text not null);
"""


class Kept:
    """Delays of links by the engine's number for each: in a file, or in memory alone."""

    def __init__(self, database: sqlite3.Connection, path: Path | None) -> None:
        self.database = database
        self.path = path
        self.is_empty = True

    def intact(self) -> dict[int, bytes]:
        """Return all intact delays; remove the others."""
        there = list(self.database.execute("select number, content, hash from delays"))
        changed = [
            (number,) for number, content, expected in there if expected != _hash(number, content)
        ]
        with self.database:
            self.database.executemany("delete from delays where number = ?", changed)
        return {number: content for number, content, _ in there if (number,) not in changed}

    def keep(self, number: int, content: bytes) -> None:
        """Add a link.

        Raises:
            OSError: it cannot be written.

        """
        try:
            with self.database:
                row = (number, content, _hash(number, content))
                self.database.execute("insert into delays values (?, ?, ?)", row)
        except sqlite3.Error as error:
            raise OSError(None, str(error), str(self.path)) from None
        self.is_empty = False

    def remove(self) -> None:
        """Remove the file: the estimate is whole."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


@contextmanager
def kept(path: Path | None, scenario: str, *, resume: bool, force: bool) -> Iterator[Kept]:
    """Open the file of an estimate of this scenario; without a path nothing outlasts the block.

    Raises:
        ResultError: the file is there, and neither `resume` nor `force` is given; or it belongs to
            another scenario or build, or cannot be read.
        OSError: nothing can be written there.

    """
    fresh = False
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and force and not resume:
            path.unlink()
        if path.exists() and not resume:
            raise ResultError(
                f"{path} holds an unfinished estimate: --resume goes on with it, "
                "--force starts anew"
            )
        fresh = not path.exists()
    try:
        database = sqlite3.connect(":memory:" if path is None else path)
        try:
            _check(database, path, _content(scenario))
            store = Kept(database, path)
            try:
                yield store
            finally:
                if fresh and store.is_empty:
                    store.remove()
        finally:
            database.close()
    except sqlite3.OperationalError as error:
        raise OSError(None, str(error), str(path)) from None
    except sqlite3.DatabaseError as error:
        raise ResultError(f"{path} cannot be read: {error}") from None


def _content(scenario: str) -> str:
    return hash_of(f"{engine_build()}\n{scenario}".encode())


def _hash(number: int, content: bytes) -> str:
    return hash_of(b"%d\n%b" % (number, content))


def _check(database: sqlite3.Connection, path: Path | None, content: str) -> None:
    """Make the tables of a new file; check what an earlier one is of."""
    names = {name for (name,) in database.execute("select name from sqlite_master")}
    if not names:
        with database:
            for statement in TABLES.split(";"):
                database.execute(statement)
            database.execute("insert into of values (?)", (content,))
        return
    if not {"of", "delays"} <= names or list(database.execute("select content from of")) != [
        (content,)
    ]:
        raise ResultError(
            f"{path} is of another scenario, seed or build of Incastle: choose another --out, or "
            "--force"
        )
