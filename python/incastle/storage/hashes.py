"""Hashes of stored files: what was changed since it was written is refused, not misread.

Each stored folder has one JSON file that is *sealed*: it holds the SHA-256 of every other file, and
of its entries. `sha256sum` checks the files as well.

Leaves out intent: a change of a file can include its hash.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SEAL = "sha256"
"""The entry that has the hash over all others."""
DAMAGED = "it was changed since it was written (its SHA-256 is another)"


def hash_of(content: bytes) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file.

    Raises:
        OSError: it cannot be read.

    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_file(path: Path, expected: str) -> None:
    """Refuse a file with another hash.

    Raises:
        OSError: it cannot be read.
        ValueError: it was changed.

    """
    if file_hash(path) != expected:
        raise ValueError(DAMAGED)


def sealed(entries: dict[str, Any]) -> dict[str, Any]:
    """Add the hash of some entries to them."""
    return {**entries, SEAL: _content_hash(entries)}


def check_seal(entries: dict[str, Any]) -> None:
    """Refuse entries that are not those that were sealed.

    Raises:
        ValueError: one of them was changed, or the hash.

    """
    others = {name: value for name, value in entries.items() if name != SEAL}
    if entries.get(SEAL) != _content_hash(others):
        raise ValueError(DAMAGED)


def _content_hash(entries: dict[str, Any]) -> str:
    # Numbers are written as Python reads them back, so that reading and writing changes nothing.
    return hash_of(json.dumps(entries, sort_keys=True, separators=(",", ":")).encode())
