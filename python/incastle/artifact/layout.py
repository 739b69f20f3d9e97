"""The files of an artifact, and their hashes: what was changed since it was packed is refused.

SHA256SUMS has a line per file, as `sha256sum --check` reads it. Leaves out intent: a change of a
file can include its line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from incastle.errors import IncastleError
from incastle.storage.hashes import file_hash
from incastle.storage.names import no_plain_path

if TYPE_CHECKING:
    from pathlib import Path

SUMS = "SHA256SUMS"
DECLARATION = "artifact.json"
"""What was run, by which version, and where: `verify` reads it."""
REPORT, RESULTS, PAPERS = "report", "results", "papers"
"""Folders: the report, results, and the declarations of papers."""
MAX_NAMED = 5
"""Files that a message names."""
DIGITS = 64
"""Of a SHA-256."""


class ArtifactError(IncastleError):
    """What cannot be packed, or an artifact that was changed or is of another version."""


def files_of(folder: Path) -> list[str]:
    """Return the files of a folder, below it, by their names in it."""
    inside = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(path.relative_to(folder).as_posix() for path in inside)


def write_sums(folder: Path) -> None:
    """Write the hash of each file of a folder."""
    lines = [f"{file_hash(folder / name)}  {name}\n" for name in files_of(folder)]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def check_sums(folder: Path) -> int:
    """Compare the files of a folder with their hashes; return their number.

    Raises:
        ArtifactError: a file was changed, is missing or was added: the message names it.

    """
    expected = _sums(folder)
    found = [name for name in files_of(folder) if name != SUMS]
    wrong = {
        "changed since it was packed (its SHA-256 is another)": [
            name for name in found if name in expected and not _is_whole(folder, name, expected)
        ],
        "missing": sorted(expected.keys() - set(found)),
        f"not in {SUMS}": [name for name in found if name not in expected],
    }
    if any(wrong.values()):
        parts = [f"{_named(names)}: {what}" for what, names in wrong.items() if names]
        raise ArtifactError(f"{folder} is not as it was packed; {'; '.join(parts)}")
    return len(expected)


def _sums(folder: Path) -> dict[str, str]:
    path = folder / SUMS
    if not path.is_file() or not (folder / DECLARATION).is_file():
        raise ArtifactError(f"{folder} is no artifact of `incastle pack`: it has no {SUMS}")
    sums = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        digest, _, name = line.partition("  ")
        why = no_plain_path(name) if len(digest) == DIGITS else "expected a SHA-256 and a name"
        if why is not None:
            raise ArtifactError(f"{path}:{number}: {why}")
        sums[name] = digest
    return sums


def _is_whole(folder: Path, name: str, expected: dict[str, str]) -> bool:
    path = folder / name
    return not path.is_symlink() and file_hash(path) == expected[name]


def _named(names: list[str]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
