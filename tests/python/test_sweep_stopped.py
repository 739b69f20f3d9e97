"""Sweeps that are killed or interrupted, and go on."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

import incastle as ic
from conftest import SMALL, start
from test_sweep import KEYS, files

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from incastle.scenario import Scenario


PATIENCE_S = 300
"""Only a process that hangs takes so long."""


def slow(folder: Path, runs: int) -> tuple[str, ...]:
    """Write a scenario whose runs take some tens of milliseconds each."""
    (folder / "slow.toml").write_text(SMALL.replace("20 ms", "1 s"))
    return ("sweep", "slow.toml", "--seeds", str(runs), "--jobs", "1", "--out", "s")


def wait_for(process: subprocess.Popen[str], folder: Path, runs: int) -> None:
    """Wait until n runs are finished."""
    deadline = time.monotonic() + PATIENCE_S
    while in_parts(folder / "s") < runs:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def in_parts(directory: Path) -> int:
    """Count the runs of the parts that count."""
    header = directory / "sweep.json"
    parts = json.loads(header.read_text())["parts"] if header.exists() else []
    return sum(part["runs"] for part in parts)


def test_killed_sweep_goes_on_where_it_was(folder: Path) -> None:
    arguments = slow(folder, 100)
    process = start(folder, *arguments)
    wait_for(process, folder, 3)
    process.kill()
    process.communicate()
    before = in_parts(folder / "s")
    assert 3 <= before < 100, "it was killed in the middle"
    partial = ic.Sweep.load(folder / "s").frame
    assert partial.height == before
    again = start(folder, *arguments, "--resume")
    _, err = again.communicate(timeout=PATIENCE_S)
    assert again.returncode == 0, err
    assert f"{before} of them from before" in err
    whole = ic.sweep(ic.load(folder / "slow.toml"), {}, 100, out=folder / "whole").frame
    assert ic.Sweep.load(folder / "s").frame.equals(whole)
    assert partial.equals(whole.join(partial.select("seed"), on="seed", how="semi"))
    assert files(folder / "s") == files(folder / "whole")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_interrupt_keeps_what_is_finished(folder: Path) -> None:
    process = start(folder, *slow(folder, 200))
    wait_for(process, folder, 2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "Traceback" not in err
    kept = ic.Sweep.load(folder / "s").frame.height
    assert 2 <= kept < 200
    assert f"{kept} of 200 runs are in s; --resume does the rest" in err


def test_interrupted_sweep_is_known_from_python(scenario: Scenario, tmp_path: Path) -> None:
    def stop(state: ic.SweepProgress) -> None:
        if state.finished == 3:
            raise KeyboardInterrupt

    with pytest.raises(ic.SweepStopped, match=r"of 8 runs are in") as stopped:
        ic.sweep(scenario, KEYS, 2, threads=1, out=tmp_path / "s", progress=stop)
    assert ic.Sweep.load(tmp_path / "s").frame.height == stopped.value.progress.finished >= 3
