"""The network namespaces that processes hold, so that tests see what a program has left."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path


def held_namespaces(process: int | None = None) -> set[str]:
    """Return the inodes of network namespaces that a process holds open, or that anything holds.

    A namespace lives as long as a process is in it or has it open, or a mount names it.
    """
    found = set()
    for folder in Path("/proc").glob("[0-9]*" if process is None else str(process)):
        places = [] if process else [folder / "ns" / "net"]
        with contextlib.suppress(OSError):
            places += (folder / "fd").iterdir()
        for place in places:
            with contextlib.suppress(OSError):
                found.add(str(place.readlink()))
    if process is None:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").split()
        found.update(word for word in mounts if word.startswith("net:["))
    return {name for name in found if name.startswith("net:[")}


def are_released(namespaces: set[str]) -> bool:
    """Return whether nothing holds these namespaces any more; a running `ip` ends soon."""
    for _ in range(100):
        if namespaces.isdisjoint(held_namespaces()):
            return True
        time.sleep(0.1)
    return False
