"""Finished runs of a reproduction, kept so that none is computed twice.

A run is known by its complete scenario, seed included, and by the build of the engine: its version
and a hash of the native module, so that a rebuilt engine never returns old results. Each run
is one zip file, written under a temporary name and renamed; what cannot be read is run again.

Only the tables that a paper asks for are kept, so this is no replacement for a result directory.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import zipfile
import zlib
from typing import TYPE_CHECKING

import polars as pl

from incastle.build import engine_build
from incastle.reproduction.papers import Observation
from incastle.storage.files import scratch_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from incastle.results import Result

_DIGEST, _SCENARIO = "digest", "scenario.toml"
_TABLE = ".arrows"
"""Arrow's format of streams: polars takes fifty times as long for its files, by a query."""
UNREADABLE = (
    *(OSError, KeyError, ValueError, EOFError),
    # Of a zip file with a changed bit: another compression, a password.
    *(RuntimeError, zipfile.BadZipFile, zlib.error),
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
)


class RunCache:
    """The finished runs in a folder, those of this engine in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / engine_build()

    def __contains__(self, resolved: str) -> bool:
        """Whether the run of a complete scenario is here, readable or not."""
        return self._path(resolved).exists()

    def load(self, resolved: str) -> Observation | None:
        """Give the run of a complete scenario, or none if it is not here or not readable."""
        try:
            with zipfile.ZipFile(self._path(resolved)) as archive:
                tables = {
                    name.removesuffix(_TABLE): pl.read_ipc_stream(io.BytesIO(archive.read(name)))
                    for name in archive.namelist()
                    if name.endswith(_TABLE)
                }
                return Observation(tables, archive.read(_DIGEST).decode(), resolved)
        except UNREADABLE:
            return None

    def keep(self, resolved: str, observation: Observation) -> None:
        """Store a run: all of it or nothing."""
        path = self._path(resolved)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Through memory: a zip file that cannot be written cannot be closed either.
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(_DIGEST, observation.digest)
            archive.writestr(_SCENARIO, resolved)
            for name, table in observation.tables.items():
                archive.writestr(f"{name}{_TABLE}", _arrow(table))
        with scratch_file(path, durable=False) as scratch:
            scratch.write_bytes(content.getbuffer())

    def forget_other_engines(self) -> None:
        """Remove the runs of every other build of the engine."""
        for other in self.folder.parent.glob("*"):
            if other != self.folder:
                shutil.rmtree(other, ignore_errors=True)

    def _path(self, resolved: str) -> Path:
        name = hashlib.blake2b(resolved.encode(), digest_size=16).hexdigest()
        return self.folder / f"{name}.zip"


def observe(result: Result, tables: Iterable[str]) -> Observation:
    """Keep of a result what a paper asks for."""
    return Observation(
        {name: result.over_time(name) for name in tables}, result.digest, result.scenario
    )


def _arrow(table: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    table.write_ipc_stream(file, compression="zstd")
    return file.getvalue()
