"""Scenarios of the tests of worlds in real time, and what runs must not leave behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TWO_FLOWS = Path(__file__).parents[2] / "examples" / "two-flows.toml"
STAR = {
    "name": "workloads",
    "run": {"duration": "1 s"},
    "network": {
        "topology": "star",
        "senders": 3,
        "receivers": 0,
        "rate": "100 Mbit/s",
        "delay": "200 us",
    },
    "transport": {"congestion": "cubic"},
}
ERRORS = "errors"
"""The file with the standard error stream of a run."""
BETWEEN_TWO = {"from": "sender:0", "to": "sender:1", "rate": "8 Mbit/s", "message": "1 KB"}


def end_at_random(folder: Path, how: signal.Signals, times: int, world: str = "linux") -> None:
    """End runs at random moments of their start and of their network; look for what is left."""
    command = [sys.executable, "-m", "incastle", "run", str(TWO_FLOWS), "--world", world]
    command += ["--dilate", "100", "--out", str(folder / "result")]
    command += ["--set", "transport.congestion=cubic"]
    draws = random.Random(1)  # noqa: S311  instants, not secrets
    devices = devices_here()
    for number in range(times):
        with started(command, folder) as process:
            if number % 2:
                assert has_network(process.pid)
            moment = draws.uniform(0, 2)
            time.sleep(moment)
            namespaces = namespaces_of(process.pid)
            process.send_signal(how)
            where = where_it_hangs(process)
        assert not where, f"{number}: {moment:.3f} s: {where}\n{(folder / ERRORS).read_text()}"
        assert not (folder / "result").exists()
        assert gone(process.pid), f"after {how.name}: {members(process.pid)}"
        assert not pinned() & namespaces
        assert devices_here() == devices


@contextmanager
def started(command: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command in a separate session; it is killed if it is not over at the end.

    Its errors are in a file of the folder. If it is aborted, Python writes there where its threads
    are.
    """
    with (folder / ERRORS).open("wb") as file:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | {"PYTHONFAULTHANDLER": "1"},
            start_new_session=True,
            stderr=file,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def where_it_hangs(process: subprocess.Popen[bytes]) -> str:
    """Return the processes of a session that does not end within a minute, after aborting it."""
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        found = "\n".join(members(process.pid))
        process.send_signal(signal.SIGABRT)
        time.sleep(1)
        return found
    return ""


def has_network(session: int) -> bool:
    """Return whether a session has network namespaces within a minute."""
    for _ in range(600):
        if namespaces_of(session):
            return True
        time.sleep(0.1)
    return False


def gone(session: int) -> bool:
    """Return whether all processes of a session end within seconds."""
    for _ in range(100):
        if not members(session):
            return True
        time.sleep(0.1)
    return False


def members(session: int) -> list[str]:
    """Return the command lines of a session's processes; those that have ended do not count."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            # The fields behind the name: state, parent, group, session (proc_pid_stat(5)).
            state, _, _, of = (place / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(of) == session and state != "Z":
                found.append((place / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def namespaces_of(session: int) -> set[str]:
    """Return the network namespaces that processes of a session hold open."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            of = (place / "stat").read_text().rpartition(")")[2].split()[3]
            if int(of) == session:
                links = [str(one.readlink()) for one in (place / "fd").iterdir()]
                found |= {link for link in links if link.startswith("net:")}
        except OSError:
            continue
    return found


def pinned() -> set[str]:
    """Return the network namespaces that a mount keeps."""
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    return {line.split()[3] for line in mounts.splitlines() if line.split()[3].startswith("net:")}


def devices_here() -> set[str]:
    """Return the TUN devices outside the namespaces of runs."""
    return {one.parent.name for one in Path("/sys/class/net").glob("*/tun_flags")}
