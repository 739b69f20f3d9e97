"""Which engine computes: results of two builds are never mixed, whatever version both bear."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from incastle import _engine


@cache
def engine_build() -> str:
    """Name the engine that computes: its version and the hash of its native module."""
    content = Path(_engine.__file__).read_bytes()
    return f"{_engine.__version__}-{hashlib.blake2b(content, digest_size=4).hexdigest()}"
