"""Files and folders that are whole or not there: written next to their place, then renamed.

A full disk or a Ctrl-C leaves nothing half-written, and no reader ever meets a part. What is
renamed is on the disk before, so that a power cut leaves the old or the new. A folder that replaces
another is exchanged with it in one step (Linux: renameat2(2) with RENAME_EXCHANGE). Where the file
system has no such step the old one is set aside first, as `.NAME-XXXXXXXX.old`; a process that is
killed just then leaves the name without a folder, and `recover` puts the old one back.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from incastle import interrupts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

UNFINISHED, ASIDE = ".part", ".old"
"""How the names of folders end that are being filled, and that are being replaced."""
AT_FDCWD, RENAME_EXCHANGE = -100, 2
CANNOT_EXCHANGE = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP})


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, written to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_all(folder: Path) -> None:
    """Have everything in a folder written to the disk, and itself."""
    for path in folder.rglob("*"):
        sync(path)
    sync(folder)


@contextmanager
def scratch_file(path: Path, folder: Path | None = None, *, durable: bool = True) -> Iterator[Path]:
    """Yield a place to write to; the file there becomes `path` at the end of the block.

    After an exception it is removed, and `path` is what it was. The place is next to `path`, or in
    `folder`, which must be on the same file system. An error (a full disk) names `path`, the
    user's name for the place. Where it is not durable a power cut may leave neither, or a part:
    for what is checked when it is read, and can be made again.
    """
    scratch = (folder or path.parent) / f".{path.name}.{os.getpid()}.part"
    try:
        yield scratch
        if durable:
            sync(scratch)
        scratch.replace(path)
        if durable:
            sync(path.parent)
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise
    finally:
        scratch.unlink(missing_ok=True)


@contextmanager
def scratch_folder(place: Path) -> Iterator[Path]:
    """Yield an empty folder next to `place`, to be filled and put in place.

    What is still there at the end of the block is removed. While the block lasts the folder is
    locked: one that is not is left from a process that was killed.
    """
    parent = place.absolute().parent
    try:
        scratch = Path(tempfile.mkdtemp(prefix=f".{place.name}-", suffix=UNFINISHED, dir=parent))
    except OSError as error:
        error.filename = str(place)
        raise
    lock = os.open(scratch, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # mkdtemp makes a folder for its owner only; ours is as readable as any other.
        umask = os.umask(0)
        os.umask(umask)
        scratch.chmod(0o777 & ~umask)
        yield scratch
    finally:
        os.close(lock)
        shutil.rmtree(scratch, ignore_errors=True)


def put_in_place(scratch: Path, place: Path, keep: Sequence[str] = ()) -> None:
    """Rename a scratch folder to `place`; a folder of that name takes its place, or goes.

    What that folder has under the names `keep` moves over to the new one. A process that is killed
    meanwhile leaves it where `recover`, with the same names, finds it.

    Raises:
        OSError: it cannot be renamed; then `place` is what it was.

    """
    sync_all(scratch)
    # Between the exchange and the moves the new folder lacks what is to be kept.
    with interrupts.put_off():
        if not place.exists():
            scratch.rename(place)
        elif exchange(scratch, place):
            _move(keep, scratch, place)
        else:
            _replace_in_steps(scratch, place, keep)
    sync(place)
    sync(place.absolute().parent)


def _move(names: Sequence[str], source: Path, place: Path) -> None:
    """Move what a folder has under these names to another that does not have it."""
    for name in names:
        if (source / name).exists() and not (place / name).exists():
            (source / name).rename(place / name)


def exchange(first: Path, second: Path) -> bool:
    """Exchange two names in one step; false where the system or the file system cannot.

    Raises:
        OSError: one of them is not there, or may not be renamed.

    """
    import ctypes  # noqa: PLC0415  slow to import

    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    names = (os.fsencode(first.absolute()), os.fsencode(second.absolute()))
    if renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in CANNOT_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), str(second))


def _replace_in_steps(scratch: Path, place: Path, keep: Sequence[str]) -> None:
    parent = place.absolute().parent
    old = Path(tempfile.mkdtemp(prefix=f".{place.name}-", suffix=ASIDE, dir=parent))
    place.rename(old)
    try:
        scratch.rename(place)
    except OSError:
        old.rename(place)
        raise
    _move(keep, old, place)
    shutil.rmtree(old, ignore_errors=True)


def set_aside(place: Path) -> Path | None:
    """Return the folder that an interrupted replacement of `place` has left, if that is gone."""
    return None if place.exists() else next(iter(_left(place, ASIDE)), None)


def recover(place: Path, keep: Sequence[str] = ()) -> None:
    """Put in order what killed processes have left of their work on `place`.

    A folder that was set aside gets its name back, unless another one bears it; what was not filled
    to its end is removed, unless somebody is at work on it. What either has under the names `keep`,
    and `place` has not, moves there before.

    Raises:
        OSError: it cannot be renamed.

    """
    old = set_aside(place)
    if old is not None:
        old.rename(place)
    unfinished = [folder for folder in _left(place, UNFINISHED) if _is_left(folder)]
    for folder in (*_left(place, ASIDE), *unfinished):
        if place.is_dir():
            _move(keep, folder, place)
        shutil.rmtree(folder, ignore_errors=True)


def _left(place: Path, ending: str) -> list[Path]:
    parent = place.absolute().parent
    # As mkdtemp makes them; `.a-b-XXXXXXXX.part` is of `a-b`, not of `a`.
    name = re.compile(rf"\.{re.escape(place.name)}-[a-z0-9_]{{8}}{re.escape(ending)}")
    if not parent.is_dir():
        return []
    return sorted(path for path in parent.iterdir() if name.fullmatch(path.name) and path.is_dir())


def _is_left(folder: Path) -> bool:
    """Return whether no process has locked a folder; false where that cannot be determined."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
