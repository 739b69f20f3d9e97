"""Result directories: scenario.toml, summary.json, one Parquet file per table, captures.

With them are the files of a user's controllers, where scenario.toml looks for them.
summary.json has the hash of every file, and one of itself; loading checks them, so that a changed
bit is reported and never read as another number. A directory is there when it is complete and on
the disk, not before (`files`). Nothing is ever replaced that is not recognisably an earlier result.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incastle import _engine
from incastle.errors import ResultError, unreadable
from incastle.storage.files import put_in_place, recover, scratch_folder, set_aside
from incastle.storage.hashes import SEAL, check_file, check_seal, file_hash, sealed
from incastle.storage.names import no_plain_path, unseen
from incastle.storage.places import SUMMARY, described

if TYPE_CHECKING:
    from collections.abc import Callable

    from incastle.results import Result
    from incastle.scenario import Scenario

SCENARIO = "scenario.toml"
CAPTURES = "captures"
"""The folder of captures, each NAME.pcapng."""
LAYOUT = 2
"""Of the directory; the first had no hashes."""
ENTRIES: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "version": str,
    "seed": int,
    "digest": str,
    "interrupted": bool,
    "wall_s": (int, float),
    "totals": dict,
}
"""Keys of a summary."""
OF_SEEDS = re.compile(r"\.|seed-\d+(-interrupted)?$")
"""Names in a folder with one result per seed: those, and hidden files."""
OPTIONAL: dict[str, type] = {"warnings": list, "sources": list, "offered_load": dict, "world": dict}
OF_THE_FILES: dict[str, type] = {"layout": int, "files": dict, SEAL: str}
"""Entries of summary.json that are no part of the result."""
OF_THE_DAY = {"wall_s", "warnings"}
"""Entries of the summary that may differ where the result is the same: how long it took, and where
in which file a warning's place is."""


def file_name(name: str) -> str:
    """Make a name fit for a file: everything but letters, digits, `.`, `_` and `-` becomes `-`."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "unnamed"


def prepare_place(directory: Path, *, force: bool) -> None:
    """Check, before a long run, that a result can be put there; create its parent.

    What killed processes have left of their work on it is put in order before.

    Raises:
        ResultError: the directory exists (and `force` is false, or it is no result), or its name
            is not fit.
        OSError: its parent cannot be made or written.

    """
    if (why := unseen(directory.name)) is not None:
        raise ResultError(f"{why}: choose another --out")
    if directory.resolve() == Path.cwd():
        raise ResultError(
            f"{directory} is the working folder, which a result would replace: "
            "name a folder in it, such as --out first"
        )
    if directory.is_symlink():
        raise ResultError(
            f"{directory} is a symbolic link to {directory.readlink()}, which nothing replaces: "
            "name what it leads to, or another --out"
        )
    recover(directory)
    if directory.exists():
        _check_replaceable(directory, force=force)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise ResultError(f"{directory}: {error.filename} is not a directory") from None
    try:
        # Tried: permission bits do not cover read-only or special file systems.
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
    if directory.is_dir() and not any(directory.iterdir()):
        return
    if not force:
        raise ResultError(f"{directory} already exists{_what_it_holds(directory)}")
    if not _is_ours(directory):
        why = _described(directory)
        raise ResultError(
            f"{directory} exists and is not a result, so --force leaves it alone"
            + (f": {why}" if why else "")
        )


def _described(directory: Path) -> str | None:
    """Describe what is no result, unless all that is known of it is somebody's summary.json."""
    return None if (directory / SUMMARY).is_file() else described(directory)


def _is_ours(directory: Path) -> bool:
    """Return whether a directory is a result, maybe damaged: others have a summary.json, too."""
    if (directory / SUMMARY).is_file() and (directory / SCENARIO).is_file():
        return True
    try:
        _summary(directory / SUMMARY)
    except (OSError, ValueError):
        return False
    return True


def _what_it_holds(directory: Path) -> str:
    """Describe why a directory is refused, and the remedy."""
    otherwise = "choose another --out, or --force (in Python another name, or force=True)"
    if not _is_ours(directory):
        why = _described(directory)
        return f" and is not a result{f' ({why})' if why else ''}: choose another --out"
    try:
        files = _summary(directory / SUMMARY)["files"]
    except (OSError, ValueError, KeyError):
        return f": {otherwise}"
    for name, expected in files.items():
        try:
            check_file(directory / name, expected)
        except (OSError, ValueError):
            return f", and its {name} was changed or lost: --force makes it again"
    return f", with another run, or the same one measured otherwise: {otherwise}"


def may_hold(directory: Path, scenario: Scenario) -> bool:
    """Tell, before a run, whether a directory has the result of this scenario by this version.

    `holds` checks it after the run.
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
    """Return whether a directory has this result: same course, same scenario, files intact.

    The digest is not enough: it is the same whatever is measured.
    """
    try:
        summary = _summary(directory / SUMMARY)
        scenario = (directory / SCENARIO).read_text(encoding="utf-8")
        for name, expected in summary["files"].items():
            check_file(directory / name, expected)
    except (OSError, ValueError):
        return False
    return (
        _lasting(result.to_summary()) == _lasting(summary)
        and scenario == result.scenario
        and set(summary["files"]) == set(_files(result))
    )


def _files(result: Result) -> list[str]:
    """Return the names of the files of a result, without that of the summary."""
    tables = (f"{name}.parquet" for name in result.tables)
    captures = (f"{CAPTURES}/{name}.pcapng" for name in result.captures)
    return [SCENARIO, *result.sources, *tables, *captures]


def _lasting(summary: dict[str, Any]) -> dict[str, Any]:
    passing = OF_THE_DAY | OF_THE_FILES.keys()
    return {key: value for key, value in summary.items() if key not in passing}


def save(result: Result, directory: Path, *, force: bool) -> Path:
    """Write a result; see `Result.save`."""
    files = _files(result)
    for name in files:
        _check_name(name)
    if len(set(files)) < len(files):
        twice = next(name for name in files if files.count(name) > 1)
        raise ResultError(f"{twice} would be two files of the result")
    prepare_place(directory, force=force)
    try:
        with scratch_folder(directory) as scratch:
            _write(result, scratch)
            put_in_place(scratch, directory)
    except OSError as error:
        # A failed write (a full disk) does not name its file by itself.
        error.filename, error.filename2 = str(directory), None
        raise
    return directory


def _check_name(name: str) -> None:
    """Refuse a name of a file that could lead out of the directory, or shows as another.

    Raises:
        ResultError: reports why.

    """
    if (why := no_plain_path(name)) is not None:
        raise ResultError(f"{why}; it cannot be a file of a result")


def _write(result: Result, scratch: Path) -> None:
    (scratch / SCENARIO).write_text(result.scenario, encoding="utf-8")
    for name, text in result.sources.items():
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch / name).write_text(text, encoding="utf-8")
    for name, frame in result.tables.items():
        # Written to memory first: for a full disk polars raises its own exception, no OSError.
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        (scratch / f"{name}.parquet").write_bytes(buffer.getbuffer())
    if result.captures:
        (scratch / CAPTURES).mkdir()
    for name, content in result.captures.items():
        (scratch / CAPTURES / f"{name}.pcapng").write_bytes(content)
    hashes = {name: file_hash(scratch / name) for name in _files(result)}
    entries = sealed({**result.to_summary(), "layout": LAYOUT, "files": hashes})
    (scratch / SUMMARY).write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _summary(path: Path, *, verify: bool = True) -> dict[str, Any]:
    """Read a summary; what is none is a `ValueError`."""
    fields = json.loads(_text(path))
    if not isinstance(fields, dict):
        raise ValueError("it is no summary of a run")  # noqa: TRY004  of the file, not of an argument
    if lacking := ENTRIES.keys() - fields.keys():
        raise ValueError(f"it lacks {', '.join(sorted(lacking))}")
    if not fields.keys() & {"layout", SEAL}:
        raise ValueError(
            "an earlier Incastle wrote it, without hashes of the files, and this one does not read "
            f"that: `incastle run` of its {SCENARIO} makes the result again"
        )
    if verify:
        check_seal(fields)
    allowed = ENTRIES | OPTIONAL | OF_THE_FILES
    for name, value in fields.items():
        if name not in allowed or not isinstance(value, allowed[name]):
            raise ValueError(f"its entry {name} is none of a summary by {_engine.__version__}")
    if lacking := OF_THE_FILES.keys() - fields.keys():
        raise ValueError(f"it lacks {', '.join(sorted(lacking))}")
    if fields["layout"] != LAYOUT:
        raise ValueError(f"its layout is {fields['layout']}, this Incastle reads {LAYOUT}")
    return fields


def load(directory: Path, *, verify: bool = True) -> dict[str, Any]:
    """Read a result directory into the fields of `Result`; see `Result.load`."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are made

    if not (directory / SUMMARY).is_file():
        raise ResultError(_no_result(directory))

    def read(path: Path, reader: Callable[[Path], Any]) -> Any:  # noqa: ANN401
        try:
            return reader(path)
        # For bytes that are no Parquet at all, polars panics, which is no Exception.
        except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as no:
            raise unreadable(path, no, _again(directory, path)) from None

    fields = read(directory / SUMMARY, lambda path: _summary(path, verify=verify))
    hashes: dict[str, str] = fields["files"]
    sources: list[str] = fields.get("sources", [])
    tables: dict[str, pl.DataFrame] = {}
    captures: dict[str, bytes] = {}
    for name in dict.fromkeys((SCENARIO, *sources, *hashes)):
        _check_name(name)
        path = directory / name
        _check_no_link(directory, name)
        if verify:
            read(path, partial(check_file, expected=hashes.get(name, "")))
        if name.endswith(".parquet"):
            tables[path.stem] = read(path, pl.read_parquet)
        elif path.suffix == ".pcapng":
            captures[path.stem] = read(path, Path.read_bytes)
    return {
        **{name: value for name, value in fields.items() if name not in OF_THE_FILES},
        "warnings": tuple(fields.get("warnings", ())),
        "scenario": read(directory / SCENARIO, _text),
        "sources": {name: read(directory / name, _text) for name in sources},
        "tables": tables,
        "captures": captures,
    }


def _again(directory: Path, broken: Path) -> str:
    """Name the command that makes a damaged result again, from the scenario in it."""
    whole = directory / SCENARIO
    if not whole.is_file():
        return ""
    if broken.name in {SUMMARY, SCENARIO}:
        return f"restore it, or run {whole} with another --out"
    command = "estimate" if (directory / "crossed_links.parquet").is_file() else "run"
    words = ("incastle", command, str(whole), "--out", str(directory), "--force")
    return f"`{shlex.join(words)}` makes the result again"


def _no_result(directory: Path) -> str:
    """Describe what is at a place that has no summary."""
    if not directory.exists():
        if (old := set_aside(directory)) is not None:
            return (
                f"{directory} does not exist: a --force that was killed left the earlier result in "
                f"{old}; rename that, or give the same command again"
            )
        return f"{directory} does not exist"
    if directory.is_file() and (directory.parent / SUMMARY).is_file():
        return f"{directory} is a file of a result: name its folder, {directory.parent}"
    again = _again(directory, directory / SUMMARY)
    without = f"it has no {SUMMARY}" + (f"; {again}" if again else "")
    return f"{directory} is not a result directory: {described(directory) or without}"


def _check_no_link(directory: Path, name: str) -> None:
    """Refuse a file that is elsewhere, by a symbolic link in its path.

    Raises:
        ResultError: names the link.

    """
    path = directory
    for part in name.split("/"):
        path /= part
        if path.is_symlink():
            raise ResultError(f"{path} is a symbolic link: the files of a result are in it")
