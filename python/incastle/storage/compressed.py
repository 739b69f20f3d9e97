"""Tables of a report as compressed CSV: what is long and read seldom.

Polars, pandas and R read NAME.csv.gz as they read NAME.csv; `zcat` prints it. The bytes do not
depend on the day, but may on the version of zlib.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

CSV = ".csv.gz"


def write_csv(path: Path, text: str) -> None:
    """Write a table."""
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def read_csv(path: Path) -> str:
    """Return the text of a table.

    Raises:
        OSError: it cannot be read, or is not compressed.
        EOFError: its end is missing.
        UnicodeDecodeError: it is no text.

    """
    return gzip.decompress(path.read_bytes()).decode()
