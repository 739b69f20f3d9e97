"""Fixtures: a small scenario, and the command line in this process and in another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

import incastle as ic
from incastle.commands import app
from incastle.reproduction.papers import Length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# A shell that starts this in the background has its children ignore interrupts; tests of them would
# then wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

# As in Rust: INCASTLE_TESTS=full runs all examples, a number that many. Time limits would depend
# on other programs.
COUNT = os.environ.get("INCASTLE_TESTS", "quick")
settings.register_profile(
    "incastle",
    max_examples=int(COUNT) if COUNT.isdigit() else {"quick": 25, "full": 100}[COUNT],
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("incastle")

SMALL = """\
name = "small"

[run]
duration = "20 ms"
seed = 1

[network]
topology = "star"
senders = 4
rate = "1 Gbit/s"
delay = "25 us"

[switch]
buffer = "128 KiB"

[switch.queue]
kind = "threshold"
marking_threshold = "20 packets"

[host]
jitter = "2 us"

[transport]
kind = "tcp"
congestion = "dctcp"
handshake = false
min_rto = "200 ms"

[flows.long]
workload = "bulk"
from = "senders"
to = "receiver"

[flows.short]
workload = "bulk"
from = "sender:0"
to = "receiver"
size = "64 KB"
"""

WEB = """\
name = "web"
network = { topology = "star", senders = 4, rate = "10 Gbit/s", delay = "25 us" }
transport = { congestion = "dctcp", min_rto = "10 ms", delayed_ack_timeout = "1 ms" }
run = { duration = "60 ms" }

[flows.web]
workload = "poisson"
from = "senders"
to = "receiver"
sizes = "hadoop"
load = 0.2

[measure]
slowdown = true
"""
"""Flows of many sizes, for figures of FCTs."""

MEASURED = """
[measure]
queue = { every = "100 us" }
window = ["long:0", "long:1"]
throughput = { every = "1 ms" }
"""

LENGTHS = [
    Length.QUICK,
    *(pytest.param(one, marks=pytest.mark.slow) for one in (Length.DEFAULT, Length.FULL)),
]
"""The lengths of a reproduction, for tests that take long at those above quick."""

LONG = SMALL.replace("20 ms", "10000 s")
"""So long that only an interrupt ends it."""


@dataclass(frozen=True)
class Output:
    """The exit status of a command, and what it printed."""

    status: int
    out: str
    err: str


@pytest.fixture
def scenario() -> ic.Scenario:
    return ic.Scenario.from_text(SMALL)


@pytest.fixture(scope="session")
def result() -> ic.Result:
    return ic.run(ic.Scenario.from_text(SMALL + MEASURED))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a working directory with small.toml and long.toml in it."""
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "long.toml").write_text(LONG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Output]:
    """Return a function that runs a command line in this process: fast, and no error is hidden."""
    del folder

    def call(*arguments: str) -> Output:
        monkeypatch.setattr(sys, "argv", ["incastle", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            app.main()
        captured = capsys.readouterr()
        return Output(int(left.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a file system of 16 KB, where this system allows it."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(tmp_path)]
    try:
        made = subprocess.run(mount, check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        made = False
    if not made:
        pytest.skip("a small file system can be made by the superuser only")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)  # noqa: S607


def with_finished_runs(report: Path) -> Path:
    """Link the quick runs that scripts/check_digests.py has just done into a report, if there."""
    finished = Path(os.environ.get("INCASTLE_RUNS", "absent"))
    if finished.is_dir():
        report.mkdir(parents=True)
        (report / "runs").symlink_to(finished)
    return report


def start(folder: Path, *arguments: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    """Start the command line in a separate process."""
    return subprocess.Popen(
        [sys.executable, "-m", "incastle", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100"},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )
