"""A sweep's dataset on the disk: parts, what is lost or changed, large ones, full disks."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import incastle as ic
from conftest import SMALL, Output
from incastle.storage import parts
from incastle.sweeps import dataset, forecast
from incastle.sweeps.plan import Plan, Source
from incastle.sweeps.values import axis_from_text
from test_integrity import flips
from test_sweep import KEYS, counted, files
from test_sweep_stopped import in_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from incastle.scenario import Scenario

    Cli = Callable[..., Output]


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two runs be a batch, and three the most of a part."""
    monkeypatch.setattr(dataset, "BATCH", 2)
    monkeypatch.setattr(parts, "MAX_RUNS", 3)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("table", ["summary", "flows", "runs"])
def test_lost_table_is_reported_and_made_again(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    once = ("sweep", "small.toml", "--set", "network.senders=2..9", "--tables", "flows")
    assert cli(*once, "--out", "s").status == 0
    whole, read = files(folder / "s"), ic.Sweep.load(folder / "s")
    frame, flows = read.frame, read.tables["flows"]
    victim = min((folder / "s" / table).iterdir())
    runs = pl.read_parquet(folder / "s" / "runs" / victim.name).height
    victim.unlink()
    reason = cli(*once, "--out", "s")
    assert reason.status == 2
    assert f"{victim.relative_to(folder)} is lost or was changed" in reason.err
    assert f"--resume makes its {runs} runs again" in reason.err
    if table != "runs":
        with pytest.raises(ic.ResultError, match=rf"{victim.name} is lost: --resume"):
            ic.Sweep.load(folder / "s").tables["flows"]
    done = counted(monkeypatch)
    again = cli(*once, "--out", "s", "--resume")
    assert again.status == 0
    assert len(done) == runs
    assert f"{8 - runs} of them from before" in again.err
    assert "lost or changed since it was written, and made again" in again.err
    assert files(folder / "s") == whole
    assert ic.Sweep.load(folder / "s").frame.equals(frame)
    assert ic.Sweep.load(folder / "s").tables["flows"].equals(flows)


@pytest.mark.slow
def test_every_flipped_bit_of_a_sweep_is_refused_or_changes_nothing(
    scenario: Scenario, tmp_path: Path
) -> None:
    out = tmp_path / "s"
    ic.sweep(scenario, {"network.senders": [2]}, out=out, tables=["transfers"])
    whole = ic.Sweep.load(out)
    output = refused = unnamed = 0
    for path in [*sorted(out.rglob("*.parquet")), out / "sweep.json"]:
        # Of all bits some, by a prime step: the test takes seconds.
        step = 101 if path.stat().st_size < 4000 else 997
        for number, (byte, bit) in enumerate(flips(path)):
            if number % step:
                continue
            output += 1
            try:
                loaded = ic.Sweep.load(out)
                same = loaded.frame.equals(whole.frame) and all(
                    loaded.tables[name].equals(whole.tables[name]) for name in whole.tables
                )
            except ic.ResultError as error:
                refused += 1
                unnamed += str(path) not in str(error) or "--resume" not in str(error)
            else:
                assert same, f"bit {bit} of {byte} of {path}"
                assert loaded.header == whole.header
    assert unnamed == 0
    assert 0.5 * output < refused <= output


@pytest.mark.parametrize("victim", ["sweep.json", "sweep.json.copy", "scenario.toml", "summary"])
def test_resume_repairs_a_changed_file(scenario: Scenario, tmp_path: Path, victim: str) -> None:
    out = tmp_path / "s"
    frame = ic.sweep(scenario, KEYS, 2, out=out).frame
    whole = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    path = out / victim
    path = next(path.iterdir()) if path.is_dir() else path
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    again = ic.sweep(scenario, KEYS, 2, out=out, resume=True)
    assert again.frame.equals(frame)
    assert again.damaged == (() if victim.endswith(".copy") else (path,))
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == whole


def test_hashes_can_be_left_alone(scenario: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "s"
    ic.sweep(scenario, KEYS, 1, out=out)
    (path,) = (out / "summary").iterdir()
    pl.read_parquet(path).with_columns(drops=pl.lit(7)).write_parquet(path)
    with pytest.raises(ic.ResultError, match="changed since it was written"):
        ic.Sweep.load(out)
    assert ic.Sweep.load(out, verify=False).frame["drops"].to_list() == [7] * 4


def test_sweep_of_the_layout_before_is_refused_and_can_be_replaced(cli: Cli, folder: Path) -> None:
    (folder / "s" / "summary").mkdir(parents=True)
    (folder / "s" / "summary" / "0123456789abcdef0123.parquet").write_bytes(b"PAR1PAR1")
    old = {"version": "0.1.0", "name": "small", "kinds": {}, "values": {}, "seeds": [1]}
    (folder / "s" / "sweep.json").write_text(json.dumps({**old, "tables": [], "first": []}))
    for more in ((), ("--resume",)):
        reason = cli("sweep", "small.toml", "--out", "s", *more)
        assert reason.status == 2
        assert (
            "an earlier Incastle wrote this sweep, in a layout that this one does not" in reason.err
        )
    assert cli("sweep", "s").status == 2
    assert cli("sweep", "small.toml", "--out", "s", "--force").status == 0
    assert ic.Sweep.load(folder / "s").frame.height == 1


@pytest.mark.usefixtures("small_parts")
def test_parts_are_put_together_while_a_sweep_goes_on(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "MAX_SMALL", 4)
    monkeypatch.setattr(parts, "MAX_RUNS", 100)
    out, most, seen = tmp_path / "s", 0, []

    def look(state: ic.SweepProgress) -> None:
        nonlocal most
        if not (out / "sweep.json").exists():
            return
        there = json.loads((out / "sweep.json").read_text())["parts"]
        most = max(most, len(there))
        if there:
            seen.append((ic.Sweep.load(out).frame.height, state.finished))

    values = {"network.senders": [2, 3, 4, 5]}
    done = ic.sweep(scenario, values, 6, out=out, tables=["flows"], progress=look)
    assert 1 < most <= 5
    assert all(held <= finished for held, finished in seen)
    assert len(json.loads((out / "sweep.json").read_text())["parts"]) == 1
    assert len(files(out)) == 3
    monkeypatch.undo()
    assert done.frame.equals(ic.sweep(scenario, values, 6, out=tmp_path / "t").frame)


@pytest.mark.usefixtures("small_parts")
def test_files_do_not_depend_on_the_order_of_the_ends(scenario: Scenario, tmp_path: Path) -> None:
    at_once, bit_by_bit = tmp_path / "a", tmp_path / "b"
    values = {"network.senders": [4, 2, 3]}
    ic.sweep(scenario, values, 3, threads=2, out=at_once, tables=["flows"])
    ic.sweep(scenario, {"network.senders": [4, 3]}, [2], out=bit_by_bit, tables=["flows"])
    ic.sweep(scenario, {"network.senders": [4, 2]}, [1], out=bit_by_bit, resume=True)
    ic.sweep(scenario, values, [2, 3, 1], threads=1, out=bit_by_bit, resume=True)
    first, second = ic.Sweep.load(at_once), ic.Sweep.load(bit_by_bit)
    order = ["network.senders", "seed"]
    assert first.frame.sort(order).equals(second.frame.sort(order))
    assert [part["runs"] for part in header(at_once)] == [3, 3, 3]
    fresh = tmp_path / "c"
    ic.sweep(scenario, {"network.senders": [4, 3, 2]}, [2, 1, 3], out=fresh, tables=["flows"])
    assert files(bit_by_bit) == files(fresh)


def header(directory: Path) -> list[dict[str, Any]]:
    """Give the parts of a sweep."""
    found: list[dict[str, Any]] = json.loads((directory / "sweep.json").read_text())["parts"]
    return found


def test_columns_of_groups_that_some_runs_lack_are_null(tmp_path: Path) -> None:
    def frame(seed: int, *names: str) -> pl.DataFrame:
        first = {"net.x": [1], "seed": [seed], "goodput": [1]}
        return pl.DataFrame(first | {name: [2] for name in names})

    one, two, three = frame(1, "b.drops"), frame(2, "b.drops", "a.drops"), frame(3, "a.drops")
    read = parts.write(tmp_path, ["x", "y"], {"summary": [one, two]}).read(tmp_path, "summary")
    assert read.columns == ["net.x", "seed", "goodput", "a.drops", "b.drops"]
    assert read["a.drops"].to_list() == [None, 2]
    whole = parts.joined([one, two, three])
    # Whichever of them came together first.
    assert parts.joined([one, parts.joined([two, three])]).equals(whole)
    assert parts.joined([parts.joined([one, two]), three]).equals(whole)


def test_finished_runs_are_written_within_a_second_while_a_long_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "s"
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    held: list[tuple[float, int]] = []

    def look(state: ic.SweepProgress) -> None:
        if state.finished:
            held.append((clock[0], in_parts(out)))
            clock[0] += 0.6

    ic.sweep(
        ic.Scenario.from_text(SMALL.replace("20 ms", "2 s")),
        {},
        3,
        threads=1,
        out=out,
        progress=look,
    )
    assert max(count for when, count in held if when < 0.5) == 0, "not each run by itself"
    assert max(count for _, count in held) >= 1


def test_a_part_is_on_the_disk_before_it_counts(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        done.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    made = ic.sweep(scenario, {}, 1, out=tmp_path / "s")
    monkeypatch.setattr(os, "fsync", fsync)
    ic.sweep(scenario, {}, 20, out=tmp_path / "s", tables=[], resume=True)
    monkeypatch.undo()
    assert made.frame.height == 1
    summaries = [place for place, path in enumerate(done) if "parquet" in path]
    headers = [place for place, path in enumerate(done) if ".sweep.json." in path]
    assert summaries
    assert max(summaries) < max(headers)
    assert len(summaries) < 20, "once for many runs"


def test_large_sweep_is_not_begun_without_a_question(cli: Cli, folder: Path) -> None:
    reason = cli("sweep", "small.toml", "--set", "network.senders=2..6", "--seeds", "2001")
    assert reason.status == 2
    assert "10,005 runs (5 of network.senders x 2,001 seeds): about " in reason.err
    assert " of disk (from 3 of them" in reason.err
    assert "--yes starts them" in reason.err
    assert not (folder / "results").exists()


@pytest.mark.parametrize(("answer", "status"), [("n\n", 2), ("y\n", 0)])
def test_large_sweep_asks_on_a_terminal(folder: Path, answer: str, status: int) -> None:
    program = (
        "import sys; from incastle.commands import app, sweep;"
        "sweep.MANY = 3;"
        "sys.argv = ['incastle', 'sweep', 'small.toml', '--seeds', '4', '--out', 's']; app.main()"
    )
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=folder, stdin=slave, stdout=slave, stderr=slave
    ) as process:
        os.close(slave)
        os.write(master, answer.encode())
        reason = b""
        try:
            while chunk := os.read(master, 4096):
                reason += chunk
        except OSError:
            pass  # the end of a terminal
        assert process.wait(60) == status, reason
    os.close(master)
    assert b"4 runs (one x 4 seeds): about" in reason
    assert b"Start? [y/N]" in reason
    assert (folder / "s").exists() == (status == 0)


def test_large_sweep_that_is_there_is_not_asked_about(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("incastle.commands.sweep.MANY", 3)
    once = ("sweep", "small.toml", "--seeds", "4", "--out", "s")
    assert cli(*once).status == 2
    assert cli(*once, "--yes").status == 0
    assert "4 of them from before" in cli(*once).err


def test_forecast_counts_what_is_not_over_by_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s.toml").write_text(SMALL.replace("20 ms", "1000 s"))
    monkeypatch.setattr(forecast, "TIME_LIMIT_S", 0.2)
    plan = Plan(Source.read(tmp_path / "s.toml"), (axis_from_text("network.senders", "2,3"),), (1,))
    found = forecast.forecast(plan, 10, [])
    assert found is not None
    assert [one.whole for one in found.samples] == [False, False]
    assert found.seconds > 10 * forecast.TIME_LIMIT_S


def test_repr_is_short(scenario: Scenario, tmp_path: Path) -> None:
    done = ic.sweep(scenario, KEYS, 2, out=tmp_path / "s", tables=["flows"])
    assert repr(done) == (
        "<Sweep 'small': 8 runs over network.senders, transport.congestion, with flows; "
        f"in {tmp_path / 's'}>"
    )


def test_full_disk_while_parts_are_put_together_costs_nothing(
    scenario: Scenario, tiny_disk: Path
) -> None:
    def resize(size: int) -> None:
        mount = ["mount", "-o", f"remount,size={size}", str(tiny_disk)]
        subprocess.run(mount, check=True)

    resize(1_000_000)
    out = tiny_disk / "s"

    def fill(state: ic.SweepProgress) -> None:
        if state.finished == state.total:
            raise KeyboardInterrupt

    with pytest.raises(ic.SweepStopped):
        ic.sweep(scenario, {}, 3, out=out, progress=fill)
    ic.sweep(scenario, {}, 3, out=out, resume=True)
    there = dataset.Dataset.load(out)
    there.order_of = None
    used = sum(path.stat().st_blocks * 512 for path in tiny_disk.rglob("*") if path.is_file())
    resize(used + 4096)
    there.parts = list(reversed(there.parts))
    there.header.seeds.reverse()
    before = ic.Sweep.load(out).frame
    there.put_in_order()
    assert ic.Sweep.load(out).frame.equals(before)


def test_nothing_of_a_killed_regrouping_counts(scenario: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "s"
    ic.sweep(scenario, KEYS, 1, out=out)
    (part,) = (out / "summary").iterdir()
    shutil.copy(part, part.with_name("0123456789abcdef0123.parquet"))
    assert ic.Sweep.load(out).frame.height == 4
    ic.sweep(scenario, KEYS, 1, out=out, resume=True)
    assert [path.name for path in (out / "summary").iterdir()] == [part.name]
