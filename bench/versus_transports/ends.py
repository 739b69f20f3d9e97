"""Runs the two programs of a measurement, and measures what they cost.

Costs are counted alike for all programs: processor time as the kernel charges it to the process,
all threads; memory at its peak (`VmHWM`). What the kernel does elsewhere is counted by machine.py.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from machine import Meanwhile, Meter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

READY_S, GRACE_S, SHORTLY_S, POLL_S = 10.0, 1.0, 0.2, 0.05
KIB = 1024


class FailedError(Exception):
    """A measurement that did not come about, and why."""


@dataclass(frozen=True)
class Cost:
    """The CPU time and memory of one endpoint."""

    cpu_s: float
    peak_bytes: int


@dataclass(frozen=True)
class Outcome:
    """Output and cost of both endpoints, and the load of the machine meanwhile."""

    client_output: str
    server_output: str
    client: Cost
    server: Cost
    meanwhile: Meanwhile


class Process:
    """A program, its output in a file, its memory looked at from time to time."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.command = command
        self.output = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - likewise
        self.peak_bytes = 0
        self.cpu_s = 0.0
        self.popen = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=self.errors,
            env=os.environ | environment,
        )

    def ended(self) -> bool:
        """Look whether it has ended, and how much memory it has if not."""
        if self.popen.returncode is None:
            self._look_at_memory()
            pid, status, used = os.wait4(self.popen.pid, os.WNOHANG)
            if pid:
                self.popen.returncode = os.waitstatus_to_exitcode(status)
                self.cpu_s = used.ru_utime + used.ru_stime
        return self.popen.returncode is not None

    def wait(self, seconds: float) -> bool:
        """Wait for its end, up to a limit; return whether it came."""
        end = time.monotonic() + seconds
        while not self.ended():
            if time.monotonic() > end:
                return False
            time.sleep(POLL_S)
        return True

    def end(self) -> None:
        """Let it end, as politely as it lets us."""
        for how in (None, signal.SIGINT, signal.SIGKILL):
            if how is not None:
                self.popen.send_signal(how)
            if self.wait(SHORTLY_S if how is None else GRACE_S):
                return

    def close(self) -> None:
        """End it, and discard what it printed."""
        self.end()
        self.output.close()
        self.errors.close()

    def printed(self) -> str:
        """Return what it has printed."""
        return whole(self.output)

    def complaint(self) -> str:
        """Return the last line of what it wrote to its standard error, else of its output."""
        lines = (whole(self.errors) or self.printed()).strip().splitlines()
        return lines[-1] if lines else "nothing was printed"

    def cost(self) -> Cost:
        """Return what it used, after its end."""
        return Cost(self.cpu_s, self.peak_bytes)

    def _look_at_memory(self) -> None:
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{self.popen.pid}/status").read_text(encoding="ascii")
            # A process that is ending has no memory any more.
            for line in text.splitlines():
                if line.startswith("VmHWM:"):
                    self.peak_bytes = max(self.peak_bytes, int(line.split()[1]) * KIB)


def whole(file: IO[bytes]) -> str:
    """Read a file that another process writes, without moving its position."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace")


def measured(
    server: Sequence[str],
    client: Sequence[str],
    environment: Mapping[str, str],
    limit_s: float,
) -> Outcome:
    """Start a server, run a client to its end, and end the server."""
    with contextlib.ExitStack() as stack:
        waiting = started(stack, server, environment)
        end = time.monotonic() + READY_S
        # A server that is ready prints a line.
        while "\n" not in waiting.printed():
            if waiting.ended() or time.monotonic() > end:
                raise FailedError(f"the server: {waiting.complaint()}")
            time.sleep(POLL_S)
        meter = Meter()
        calling = started(stack, client, environment)
        end = time.monotonic() + limit_s
        while not calling.ended():
            waiting.ended()  # looks at its memory
            if time.monotonic() > end:
                raise FailedError(f"not done after {limit_s:g} s")
            time.sleep(POLL_S)
        if calling.popen.returncode != 0:
            raise FailedError(f"the client: {calling.complaint()}")
        waiting.end()
        meanwhile = meter.stop(calling.cpu_s + waiting.cpu_s)
        costs = calling.cost(), waiting.cost()
        return Outcome(calling.printed(), waiting.printed(), *costs, meanwhile)


def started(
    stack: contextlib.ExitStack, command: Sequence[str], environment: Mapping[str, str]
) -> Process:
    """Start a program that is ended with the stack, whatever happens."""
    process = Process(command, environment)
    stack.callback(process.close)
    return process
