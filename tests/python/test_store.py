"""Result directories: all or nothing, and nothing replaced that is not a result."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import incastle as ic
from incastle.storage import results as store
from incastle.storage.hashes import sealed


def test_existing_directory_needs_force(result: ic.Result, tmp_path: Path) -> None:
    place = result.save(tmp_path / "one")
    (place / "mark").touch()
    with pytest.raises(ic.ResultError, match="already exists"):
        result.save(place)
    assert (place / "mark").exists()
    result.save(place, force=True)
    assert not (place / "mark").exists()
    assert ic.Result.load(place).digest == result.digest
    assert list(tmp_path.iterdir()) == [place], "nothing else is left over"


def test_force_leaves_alone_what_is_no_result(result: ic.Result, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work")
    with pytest.raises(ic.ResultError, match="is not a result"):
        result.save(precious, force=True)
    with pytest.raises(ic.ResultError, match="is not a result"):
        result.save(precious / "thesis.txt", force=True)
    assert (precious / "thesis.txt").read_text() == "years of work"


def test_empty_directory_may_be_replaced(result: ic.Result, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert ic.Result.load(result.save(tmp_path / "empty", force=True)).digest == result.digest


def test_full_disk_leaves_nothing(
    result: ic.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left") as failed:
        result.save(tmp_path / "one")
    assert failed.value.filename == str(tmp_path / "one")
    assert list(tmp_path.iterdir()) == []


def test_really_full_disk_leaves_nothing(result: ic.Result, tiny_disk: Path) -> None:
    with pytest.raises(OSError, match="No space left"):
        result.save(tiny_disk / "one")
    assert list(tiny_disk.iterdir()) == []


def test_failed_replacement_keeps_the_old_result(
    result: ic.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = result.save(tmp_path / "one")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        result.save(place, force=True)
    assert ic.Result.load(place).digest == result.digest
    assert list(tmp_path.iterdir()) == [place]


def test_result_is_readable_by_others_as_the_umask_says(result: ic.Result, tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("no umask here")
    old = os.umask(0o022)
    try:
        place = result.save(tmp_path / "one")
    finally:
        os.umask(old)
    assert place.stat().st_mode & 0o777 == 0o755


def test_load_what_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(ic.ResultError, match="does not exist"):
        ic.Result.load(tmp_path / "none")
    with pytest.raises(ic.ResultError, match="not a result"):
        ic.Result.load(tmp_path)


@pytest.mark.parametrize("victim", ["summary.json", "flows.parquet"])
def test_load_what_is_damaged(result: ic.Result, tmp_path: Path, victim: str) -> None:
    place = result.save(tmp_path / "one")
    (place / victim).write_bytes(b"{ not what it was")
    with pytest.raises(ic.ResultError, match=f"one/{victim} cannot be read: "):
        ic.Result.load(place)


@pytest.mark.parametrize(
    ("written", "output"),
    [
        ("{", "no JSON in line 1: "),
        ("7", "it is no summary of a run"),
        ('{"name": "one", "seed": 1}', "it lacks digest, interrupted, totals, version, wall_s"),
        ({"seed": "x"}, "its entry seed is none of a summary by "),
        ({"new": 1}, "its entry new is none of a summary by "),
        ({"layout": 3}, "its layout is 3, this Incastle reads 2"),
    ],
)
def test_load_a_summary_that_is_none(
    result: ic.Result, tmp_path: Path, written: str | dict[str, Any], output: str
) -> None:
    place = result.save(tmp_path / "one")
    if isinstance(written, str):
        (place / "summary.json").write_text(written)
    else:
        entries = json.loads((place / "summary.json").read_text()) | written
        del entries["sha256"]
        (place / "summary.json").write_text(json.dumps(sealed(entries)))
    with pytest.raises(ic.ResultError, match=rf"one/summary\.json cannot be read: {output}"):
        ic.Result.load(place)


def test_load_what_has_lost_its_scenario(result: ic.Result, tmp_path: Path) -> None:
    place = result.save(tmp_path / "one")
    (place / "scenario.toml").unlink()
    output = r"one/scenario\.toml cannot be read: No such file or directory"
    with pytest.raises(ic.ResultError, match=output):
        ic.Result.load(place)


@pytest.mark.parametrize(
    ("name", "file"),
    [("incast-20", "incast-20"), ("a b/c", "a-b-c"), ("../x", "x"), ("..", "unnamed")],
)
def test_names_become_file_names(name: str, file: str) -> None:
    assert store.file_name(name) == file
