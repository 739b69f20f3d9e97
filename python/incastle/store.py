"""Result directories: scenario.toml, summary.json, one Parquet file per table, captures.

Beside them are the files of controllers of one's own, where scenario.toml looks for them.
A directory is there when it is complete, not before (`files`). Nothing is ever replaced that is
not recognisably an earlier result.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incastle import _engine
from incastle.errors import ResultError, unreadable
from incastle.files import scratch_folder
from incastle.places import described

if TYPE_CHECKING:
    from collections.abc import Callable

    from incastle.results import Result
    from incastle.scenario import Scenario

SUMMARY = "summary.json"
SCENARIO = "scenario.toml"
CAPTURES = "captures"
"""The folder of captures, each NAME.pcapng."""
ENTRIES: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "version": str,
    "seed": int,
    "digest": str,
    "interrupted": bool,
    "wall_s": (int, float),
    "totals": dict,
}
"""What a summary has."""
OF_SEEDS = re.compile(r"\.|seed-\d+(-interrupted)?$")
"""What may be in a folder with one result per seed: those, and what is hidden."""
OPTIONAL: dict[str, type] = {"warnings": list, "sources": list, "offered_load": dict}
OF_THE_DAY = {"wall_s", "warnings"}
"""Entries of the summary that may differ where the result is the same: how long it took, and where
in which file a warning's place is."""


def file_name(name: str) -> str:
    """Make a name fit for a file: everything but letters, digits, `.`, `_` and `-` becomes `-`."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "unnamed"


def prepare_place(directory: Path, *, force: bool) -> None:
    """Check, before a long run, that a result can be put there; create its parent.

    Raises:
        ResultError: the directory exists (and `force` is false, or it is no result).
        OSError: its parent cannot be made or written.

    """
    if directory.is_symlink() or directory.exists():
        _check_replaceable(directory, force=force)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise ResultError(f"{directory}: {error.filename} is not a directory") from None
    try:
        # Tried, not asked: permission bits do not tell of read-only or special file systems.
        Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent)).rmdir()
    except OSError as error:
        reason = f"nothing can be written in {directory.parent} ({error.strerror})"
        raise OSError(error.errno, reason, str(directory)) from None


def check_folder_of_seeds(folder: Path) -> None:
    """Refuse a folder for one result per seed that has anything else in it.

    Raises:
        ResultError: names what is in it.

    """
    inside = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if foreign := [name for name in inside if not OF_SEEDS.match(name)]:
        raise ResultError(
            f"{folder} already exists and has {foreign[0]} in it, so it is no folder of results "
            "of --seeds: choose another --out"
        )


def _check_replaceable(directory: Path, *, force: bool) -> None:
    if not force:
        raise ResultError(f"{directory} already exists: choose another --out, or --force")
    empty = directory.is_dir() and not any(directory.iterdir())
    if not empty and not (directory / SUMMARY).is_file():
        why = described(directory)
        raise ResultError(
            f"{directory} exists and is not a result, so --force leaves it alone"
            + (f": {why}" if why else "")
        )


def may_hold(directory: Path, scenario: Scenario) -> bool:
    """Tell, before a run, whether a directory has the result of this scenario by this version.

    `holds` tells after it whether it does.
    """
    try:
        summary = json.loads((directory / SUMMARY).read_text(encoding="utf-8"))
        text = (directory / SCENARIO).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    return (
        isinstance(summary, dict)
        and summary.get("version") == _engine.__version__
        and text == scenario.resolved
    )


def holds(directory: Path, result: Result) -> bool:
    """Tell whether a directory has this very result: same course, same scenario, every table.

    The digest alone does not tell: it is the same whatever is measured.
    """
    try:
        summary = json.loads((directory / SUMMARY).read_text(encoding="utf-8"))
        scenario = (directory / SCENARIO).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    return (
        isinstance(summary, dict)
        and _lasting(result.to_summary()) == _lasting(summary)
        and scenario == result.scenario
        and all((directory / f"{name}.parquet").is_file() for name in result.tables)
        and all(_capture(directory, name).is_file() for name in result.captures)
    )


def _capture(directory: Path, name: str) -> Path:
    return directory / CAPTURES / f"{name}.pcapng"


def _lasting(summary: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in summary.items() if key not in OF_THE_DAY}


def save(result: Result, directory: Path, *, force: bool) -> Path:
    """Write a result; see `Result.save`."""
    prepare_place(directory, force=force)
    try:
        with scratch_folder(directory) as scratch:
            _write(result, scratch)
            _put_in_place(scratch, directory)
    except OSError as error:
        # A failed write (a full disk) does not name its file by itself.
        error.filename = str(directory)
        raise
    return directory


def _write(result: Result, scratch: Path) -> None:
    (scratch / SCENARIO).write_text(result.scenario, encoding="utf-8")
    for name, text in result.sources.items():
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch / name).write_text(text, encoding="utf-8")
    for name, frame in result.tables.items():
        # By way of memory: of a full disk polars tells in words of its own, not by an OSError.
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        (scratch / f"{name}.parquet").write_bytes(buffer.getbuffer())
    if result.captures:
        (scratch / CAPTURES).mkdir()
    for name, content in result.captures.items():
        _capture(scratch, name).write_bytes(content)
    text = json.dumps(result.to_summary(), indent=2) + "\n"
    (scratch / SUMMARY).write_text(text, encoding="utf-8")


def _put_in_place(scratch: Path, directory: Path) -> None:
    """Rename, after moving an earlier result into the scratch directory's fate."""
    if directory.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{directory.name}-old-", dir=directory.parent))
        directory.rename(old / "result")
        try:
            scratch.rename(directory)
        except OSError:
            (old / "result").rename(directory)
            raise
        finally:
            shutil.rmtree(old, ignore_errors=True)
    else:
        scratch.rename(directory)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _fields(path: Path) -> dict[str, Any]:
    """Read a summary; what is none is a `ValueError`."""
    fields = json.loads(_text(path))
    if not isinstance(fields, dict):
        raise ValueError("it is no summary of a run")  # noqa: TRY004  of the file, not of an argument
    if lacking := ENTRIES.keys() - fields.keys():
        raise ValueError(f"it lacks {', '.join(sorted(lacking))}")
    allowed = ENTRIES | OPTIONAL
    for name, value in fields.items():
        if name not in allowed or not isinstance(value, allowed[name]):
            raise ValueError(f"its entry {name} is none of a summary by {_engine.__version__}")
    return fields


def load(directory: Path) -> dict[str, Any]:
    """Read a result directory into the fields of `Result`."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are made

    if not (directory / SUMMARY).is_file():
        if not directory.exists():
            raise ResultError(f"{directory} does not exist")
        why = described(directory) or f"it has no {SUMMARY}"
        raise ResultError(f"{directory} is not a result directory: {why}")

    def read(path: Path, reader: Callable[[Path], Any]) -> Any:  # noqa: ANN401
        try:
            return reader(path)
        except (OSError, ValueError, pl.exceptions.PolarsError) as error:
            raise unreadable(path, error) from None

    fields: dict[str, Any] = read(directory / SUMMARY, _fields)
    scenario = read(directory / SCENARIO, _text)
    sources = {name: read(directory / name, _text) for name in fields.get("sources", ())}
    parquet = sorted(directory.glob("*.parquet"))
    tables = {path.stem: read(path, pl.read_parquet) for path in parquet}
    files = sorted((directory / CAPTURES).glob("*.pcapng"))
    captures = {path.stem: read(path, Path.read_bytes) for path in files}
    warnings = tuple(fields.get("warnings", ()))
    found = {"scenario": scenario, "sources": sources, "tables": tables, "captures": captures}
    return {**fields, "warnings": warnings, **found}
