"""Files and folders that are whole or not there: written beside their place, then renamed.

A full disk or a Ctrl-C leaves nothing half-written, and no reader ever meets a part.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def scratch_file(path: Path, folder: Path | None = None) -> Iterator[Path]:
    """Give a place to write to; the file there becomes `path` at the end of the block.

    After an exception it is removed, and `path` is what it was. The place is beside `path`, or in
    `folder`, which must be on the same file system.
    """
    scratch = (folder or path.parent) / f".{path.name}.{os.getpid()}.part"
    try:
        yield scratch
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


@contextmanager
def scratch_folder(place: Path) -> Iterator[Path]:
    """Give an empty folder beside `place`, to be filled and renamed.

    What is still there at the end of the block is removed.
    """
    scratch = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.absolute().parent))
    try:
        # mkdtemp makes a folder for its owner only; ours is as readable as any other.
        umask = os.umask(0)
        os.umask(umask)
        scratch.chmod(0o777 & ~umask)
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
