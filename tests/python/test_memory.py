"""Too little memory: reported before a run, and the end of that run alone, in words."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import warnings
from pathlib import Path

import polars as pl
import pytest

import incastle as ic

INCASTLE = Path(sys.executable).with_name("incastle")
LIMIT = 1_700_000_000
"""Bytes of address space: enough for Python, polars and small runs."""

SCENARIO = """\
[run]
duration = "10 ms"
[network]
topology = "star"
senders = 1
rate = "1 Gbit/s"
[transport]
min_rto = "200 ms"
[flows.one]
workload = "bulk"
from = "senders"
to = "receiver"
size = "1 KB"
[measure]
queue = { every = "1 us", ports = ["switch->receiver"] }
"""
GIGANTIC = "40 s"
"""Forty million samples: some 3 GB."""


def limited(*arguments: str, space: int = LIMIT) -> subprocess.CompletedProcess[str]:
    """Run a command in so much address space."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (space, space))

    return subprocess.run(
        [INCASTLE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
        env={"POLARS_MAX_THREADS": "1", "NO_COLOR": "1", "PATH": "/usr/bin:/bin"},
    )


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "samples.toml"
    path.write_text(SCENARIO)
    return str(path)


def test_a_run_that_does_not_fit_is_warned_of_and_ends_with_what_to_reduce(
    file: str, tmp_path: Path
) -> None:
    place = tmp_path / "out"
    done = limited("run", file, "--set", f"run.duration={GIGANTIC}", "--out", str(place))
    assert done.returncode == 2, done.stderr
    # On a slow machine lines of progress are among them.
    warning, error = [
        line for line in done.stderr.splitlines() if line.startswith(("warning:", "error:"))
    ]
    assert warning.startswith("warning: this run may need 2.9 GB of memory")
    assert error.startswith("error: samples, seed 1: out of memory after ")
    for line in (warning, error):
        assert "samples of queues" in line
        assert "is free (limit of the address space, ulimit -v)" in line
        assert line.endswith("to reduce that: a longer measure.queue.every, or fewer ports")
    assert not place.exists()


def test_a_sweep_survives_a_run_that_does_not_fit_and_names_it(file: str, tmp_path: Path) -> None:
    place = tmp_path / "out"
    values = f'run.duration=["10 ms", "{GIGANTIC}", "20 ms", "30 ms"]'
    done = limited("sweep", file, "--set", values, "--jobs", "2", "--out", str(place), "--json")
    assert done.returncode == 2, done.stderr
    assert "2 runs at the same time may need 2.9 GB" in done.stderr
    assert "out of memory after" in done.stderr
    assert "measure.queue.every" in done.stderr
    (failure,) = json.loads(done.stdout)["failures"]
    assert GIGANTIC in str(failure)
    assert "samples, seed 1: out of memory after " in str(failure)
    sweep = ic.Sweep.load(place)
    assert sorted(sweep.frame["run.duration"]) == ["10 ms", "20 ms", "30 ms"]


def test_a_network_that_does_not_fit_is_not_begun(file: str, tmp_path: Path) -> None:
    sets = ("--set", "network.senders=500000", "--set", "measure.queue=off")
    done = limited("run", file, *sets, "--out", str(tmp_path / "out"))
    assert done.returncode == 2, done.stderr
    assert "out of memory before the start: records and tables need 1.5 GB more" in done.stderr
    assert "in all 1.1 GB for 500,001 hosts, 380 MB for 500,000 flows" in done.stderr
    assert "to reduce that: a smaller network" in done.stderr


def test_a_run_that_fits_is_not_warned_of(file: str, tmp_path: Path) -> None:
    done = limited("run", file, "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "memory" not in done.stderr
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ic.run(ic.load(file))
    assert result.queue_samples.select(pl.len()).item() == 10_000
