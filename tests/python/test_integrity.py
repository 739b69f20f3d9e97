"""Stored results are what was written: each changed bit is reported, names lead nowhere else."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import incastle as ic
from conftest import SMALL, Output
from incastle.reproduction import run_cache
from incastle.reproduction.papers import Observation
from incastle.storage import files, names
from incastle.storage import results as store
from incastle.storage.delays import kept
from incastle.storage.hashes import sealed
from test_controllers import FIXED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Cli = Callable[..., Output]


@pytest.fixture(scope="module")
def little(result: ic.Result) -> ic.Result:
    return replace(
        result,
        scenario="[run]\nseed = 1\n",
        tables={"transfers": result.transfers.select("group", "completed_s")},
        sources={"own.py": "K = 1\n"},
        captures={"a->b": b"\x0a\x0d\x0d\x0a"},
    )


def flips(path: Path) -> Iterator[tuple[int, int]]:
    """Change each bit of a file in turn, and put it back."""
    content = path.read_bytes()
    try:
        for byte in range(len(content)):
            for bit in range(8):
                changed = bytearray(content)
                changed[byte] ^= 1 << bit
                path.write_bytes(changed)
                yield byte, bit
    finally:
        path.write_bytes(content)


def is_same(one: ic.Result, other: ic.Result) -> bool:
    """Compare all that two results have."""
    tables = one.tables.keys() == other.tables.keys() and all(
        one.tables[name].equals(other.tables[name]) for name in one.tables
    )
    rest = ("name", "seed", "digest", "version", "wall_s", "interrupted", "totals", "scenario")
    more = ("warnings", "sources", "captures")
    return tables and all(getattr(one, name) == getattr(other, name) for name in (*rest, *more))


@pytest.mark.slow
def test_every_flipped_bit_of_a_result_is_refused_or_changes_nothing(
    little: ic.Result, tmp_path: Path
) -> None:
    place = little.save(tmp_path / "one")
    assert is_same(ic.Result.load(place), little)
    output = refused = unnamed = 0
    for path in sorted(path for path in place.rglob("*") if path.is_file()):
        for byte, bit in flips(path):
            output += 1
            try:
                loaded = ic.Result.load(place)
            except ic.ResultError as error:
                refused += 1
                unnamed += str(path) not in str(error)
            else:
                assert is_same(loaded, little), f"bit {bit} of byte {byte} of {path.name}"
    assert unnamed == 0
    assert refused > 0.98 * output > 10_000, "what is not refused is white space of summary.json"


def test_a_result_can_be_read_without_its_hashes(
    result: ic.Result, tmp_path: Path, cli: Cli
) -> None:
    place = result.save(tmp_path / "one")
    text = (place / "scenario.toml").read_text()
    (place / "scenario.toml").write_text(f"# mine\n{text}")
    with pytest.raises(ic.ResultError, match=r"one/scenario\.toml cannot be read: it was changed"):
        ic.Result.load(place)
    assert ic.Result.load(place, verify=False).scenario.startswith("# mine")
    assert cli("plot", str(place), "queue").status == 2
    assert cli("plot", str(place), "queue", "--unverified").status == 0


@pytest.mark.slow
def test_nothing_panics_without_hashes_either(little: ic.Result, tmp_path: Path) -> None:
    place = little.save(tmp_path / "one")
    seen = 0
    for _ in flips(place / "transfers.parquet"):
        seen += 1
        if seen % 16:
            continue
        with suppress(ic.ResultError):
            ic.Result.load(place, verify=False)
    assert seen > 1000


def test_lost_file_of_a_result_is_named(result: ic.Result, tmp_path: Path) -> None:
    place = result.save(tmp_path / "one")
    (place / "flows.parquet").unlink()
    with pytest.raises(ic.ResultError, match=r"one/flows\.parquet cannot be read: No such file"):
        ic.Result.load(place)


def test_result_of_the_layout_before_is_refused_in_a_sentence(
    result: ic.Result, tmp_path: Path
) -> None:
    place = result.save(tmp_path / "one")
    (place / "summary.json").write_text(json.dumps(result.to_summary()))
    with pytest.raises(ic.ResultError, match="an earlier Incastle wrote it, without hashes"):
        ic.Result.load(place)


def test_result_that_was_changed_is_not_the_same(cli: Cli, folder: Path) -> None:
    once = ("run", "small.toml", "--out", "one")
    assert cli(*once).status == 0
    assert "already in one" in cli(*once).err
    (folder / "one" / "flows.parquet").write_bytes(b"PAR1")
    again = cli(*once)
    assert (again.status, "already exists" in again.err) == (2, True)
    assert "was changed or lost: --force makes it again" in again.err
    assert cli(*once, "--force").status == 0
    assert ic.Result.load(folder / "one").flows.height == 5


@pytest.mark.slow
def test_cached_run_with_a_flipped_bit_is_run_again_or_the_same(tmp_path: Path) -> None:
    cache = run_cache.RunCache(tmp_path)
    one = Observation({"flows": pl.DataFrame({"a": [1, 2, 3]})}, "1234", "x = 1")
    cache.keep("x = 1", one)
    (path,) = cache.folder.iterdir()
    known = 0
    for byte, bit in flips(path):
        found = cache.load("x = 1")
        if found is not None:
            known += 1
            same = found.digest == one.digest and found.tables.keys() <= one.tables.keys()
            equal = all(found.tables[name].equals(one.tables[name]) for name in found.tables)
            assert (same, equal) == (True, True), f"bit {bit} of byte {byte}"
    assert known < 8 * path.stat().st_size / 2


def test_delays_of_a_link_with_another_hash_are_not_known(tmp_path: Path) -> None:
    path = tmp_path / "e.unfinished"
    with kept(path, "x = 1", resume=False, force=False) as there:
        there.keep(1, b"one")
        there.keep(2, b"two")
        with there.database:
            there.database.execute("update delays set content = ? where number = 2", (b"twp",))
    with kept(path, "x = 1", resume=True, force=False) as there:
        assert there.intact() == {1: b"one"}
        there.keep(2, b"two")
        assert there.intact() == {1: b"one", 2: b"two"}


def test_estimate_of_another_build_is_not_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "e.unfinished"
    with kept(path, "x = 1", resume=False, force=False) as there:
        there.keep(1, b"one")
    monkeypatch.setattr("incastle.storage.delays.engine_build", lambda: f"{ic.__version__}-beef")
    with (
        pytest.raises(ic.ResultError, match="another scenario, seed or build"),
        kept(path, "x = 1", resume=True, force=False),
    ):
        pass


# ---- names

WRONG = [
    "/etc/passwd",
    "../own.py",
    "a/../../own.py",
    "a//own.py",
    "./own.py",
    "",
    "a/",
    "C:\\own.py",
    "C:/own.py",
    "a\\own.py",
    "exe\u202egpj.py",
    "a\u2028b.py",
    "a\u2029b.py",
    "a\u2066b.py",
    "a\u200bb.py",
    "a\x1b[2J.py",
    "a\nb.py",
]


@pytest.mark.parametrize("name", WRONG)
def test_sources_stay_in_the_directory(result: ic.Result, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "own.py"
    outside.write_text("secret")
    with pytest.raises(ic.ResultError, match="it cannot be a file of a result"):
        replace(result, sources={name: "K = 1"}).save(tmp_path / "in" / "one")
    assert outside.read_text() == "secret"
    place = replace(result, sources={"own.py": "K = 1"}).save(tmp_path / "in" / "two")
    entries = json.loads((place / "summary.json").read_text())
    del entries["sha256"]
    hashes = {**entries["files"], name: entries["files"].pop("own.py")}
    forged = sealed({**entries, "sources": [name], "files": hashes})
    (place / "summary.json").write_text(json.dumps(forged))
    for verify in (True, False):
        with pytest.raises(ic.ResultError, match="it cannot be a file of a result"):
            ic.Result.load(place, verify=verify)


def test_sources_behind_a_link_are_refused(result: ic.Result, tmp_path: Path) -> None:
    place = replace(result, sources={"a/own.py": "K = 1"}).save(tmp_path / "one")
    shutil.move(place / "a", tmp_path / "elsewhere")
    (place / "a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ic.ResultError, match="one/a is a symbolic link"):
        ic.Result.load(place)


def test_sources_do_not_take_the_place_of_tables(result: ic.Result, tmp_path: Path) -> None:
    with pytest.raises(ic.ResultError, match=r"flows\.parquet would be two files"):
        replace(result, sources={"flows.parquet": "K = 1"}).save(tmp_path / "one")


def test_a_controller_is_kept_under_a_plain_name(tmp_path: Path) -> None:
    (tmp_path / "fixed.py").write_text(FIXED)
    (tmp_path / "small.toml").write_text(SMALL)
    loaded = ic.load(tmp_path / "small.toml", [("transport.congestion", "./fixed.py:Fixed")])
    made = ic.run(loaded)
    assert list(made.sources) == ["fixed.py"]
    assert ic.Result.load(made.save(tmp_path / "one")).sources == {"fixed.py": FIXED}
    hidden = tmp_path / "fi\u202exed.py"
    hidden.write_text(FIXED)
    with pytest.raises(ic.ScenarioError, match=r"U\+202E, RIGHT-TO-LEFT OVERRIDE"):
        ic.load(tmp_path / "small.toml", [("transport.congestion", f"{hidden.name}:Fixed")])


@pytest.mark.parametrize("command", [("run",), ("sweep", "--set", "network.senders=2,3")])
@pytest.mark.parametrize("letter", ["\u202e", "\u2028", "\u2067"])
def test_places_with_invisible_names_are_refused(
    cli: Cli, folder: Path, command: tuple[str, ...], letter: str
) -> None:
    reason = cli(*command, "small.toml", "--out", f"one{letter}two")
    assert reason.status == 2
    assert f"U+{ord(letter):04X}" in reason.err
    assert letter not in reason.err
    assert not (folder / f"one{letter}two").exists()


@pytest.mark.parametrize("name", ["own.py", "a/b.py", "é.py", ".own.py", "..a", "שלום.py"])
def test_plain_names_pass(name: str) -> None:
    assert names.no_plain_path(name) is None


# ---- replacing


def test_files_are_on_the_disk_before_they_get_their_names(
    result: ic.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    real, rename = os.fsync, os.rename

    def fsync(descriptor: int) -> None:
        done.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    def renamed(*arguments: Any, **more: Any) -> None:
        done.append("renamed")
        rename(*arguments, **more)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", renamed)
    place = result.save(tmp_path / "one")
    before, after = done[: done.index("renamed")], done[done.index("renamed") :]
    written = {path.name for path in place.iterdir()}
    assert written <= {Path(path).name for path in before}
    assert any(path.endswith(".part") for path in before), "the folder, too"
    assert str(tmp_path) in after


KILLED = """
import os, signal, sys
from pathlib import Path
import incastle as ic
from incastle.storage import files

how, place = sys.argv[1:]
result = ic.run(ic.load("small.toml"), seed=2)
calls = 0

def killing(real):
    def call(*arguments, **more):
        global calls
        calls += 1
        if calls == (2 if how == "steps" else 1):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **more)
    return call

if how == "steps":
    files.exchange = lambda *_: False
    Path.rename = killing(Path.rename)
else:
    files.shutil.rmtree = killing(files.shutil.rmtree)
result.save(place, force=True)
"""


def killed(how: str) -> None:
    """Replace `one` in a process that is killed: between two renames, or after the exchange."""
    done = subprocess.run([sys.executable, "-c", KILLED, how, "one"], check=False)
    assert done.returncode == -signal.SIGKILL


def test_killed_after_the_exchange_the_new_result_is_there(
    cli: Cli, folder: Path, tmp_path: Path
) -> None:
    if not files.exchange(*(exchanged(tmp_path, name) for name in ("x", "y"))):
        pytest.skip("this file system cannot exchange two names")
    assert cli("run", "small.toml", "--out", "one").status == 0
    killed("exchange")
    assert ic.Result.load(folder / "one").seed == 2
    (left,) = folder.glob(".one-*")
    assert ic.Result.load(left).seed == 1, "the old one, which nobody has removed"
    assert cli("run", "small.toml", "--out", "one", "--force").status == 0
    assert list(folder.glob(".one-*")) == []


def exchanged(folder: Path, name: str) -> Path:
    place = folder / name
    place.mkdir()
    return place


def test_killed_between_two_renames_the_old_result_is_named_and_comes_back(
    cli: Cli, folder: Path
) -> None:
    assert cli("run", "small.toml", "--out", "one").status == 0
    killed("steps")
    assert not (folder / "one").exists()
    with pytest.raises(ic.ResultError, match=r"left the earlier result in .*\.one-.*\.old"):
        ic.Result.load("one")
    again = cli("run", "small.toml", "--out", "one")
    assert (again.status, "already in one" in again.err) == (0, True), again.err
    assert ic.Result.load("one").seed == 1
    assert list(folder.glob(".one-*")) == []


def test_folder_that_somebody_fills_is_not_removed(folder: Path, result: ic.Result) -> None:
    with files.scratch_folder(folder / "one") as scratch:
        (scratch / "x").touch()
        store.prepare_place(folder / "one", force=True)
        assert (scratch / "x").exists()
    assert list(folder.glob(".one-*")) == []
    assert result.save(folder / "one").is_dir()


def test_symbolic_link_is_not_replaced(cli: Cli, folder: Path) -> None:
    assert cli("run", "small.toml", "--out", "one").status == 0
    (folder / "link").symlink_to("one")
    (folder / "dangling").symlink_to("nowhere")
    for name in ("link", "dangling"):
        reason = cli("run", "small.toml", "--seed", "2", "--out", name, "--force")
        assert reason.status == 2
        assert f"{name} is a symbolic link to" in reason.err
        assert (folder / name).is_symlink()
    assert ic.Result.load(folder / "one").seed == 1
