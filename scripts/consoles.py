# ruff: noqa: INP001
"""Runs the ```console blocks of a document: the commands behind `$`, and the output below them.

A server runs until the next server starts, or to the end. The system chooses its port, and the test
replaces the document's names of servers and directories. Only words of the output are compared, in
their order, not numbers and units.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import IO

CONSOLE = re.compile(r"^ *```console\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SERVER = re.compile(r"\b(?:127\.0\.0\.1|node7):9000\b")
MEGABYTE = 1_000_000
PATIENCE_S = 120


@dataclass
class Typed:
    """A command, where it stands, and the lines behind it."""

    place: str
    line: str
    shown: list[str]

    @property
    def serves(self) -> bool:
        """Whether it runs until it is stopped."""
        return re.search(r"\bdcudp (serve|bench --serve)\b", self.line) is not None


@dataclass
class Server:
    """A server that runs, with what it writes to."""

    process: subprocess.Popen[str]
    log: IO[str]

    def stop(self) -> None:
        """Stop it as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE_S)
        if self.process.stdout:
            self.process.stdout.close()
        self.log.close()


def typed(document: Path) -> list[Typed]:
    """Return a document's commands in their order."""
    text = document.read_text(encoding="utf-8")
    found: list[Typed] = []
    for block in CONSOLE.finditer(text):
        place = f"{document.name}:{text.count(chr(10), 0, block.start()) + 1}"
        for line in textwrap.dedent(block[1]).splitlines():
            if line.startswith("$ "):
                found.append(Typed(place, line[2:], []))
            elif line.strip():
                found[-1].shown.append(line)
    return found


def words(line: str) -> str:
    """Return a line without its numbers, units and modes, and the space between."""
    line = re.sub(r"\d+(\.\d+)*", "#", line)
    line = re.sub(r"# [TGMKk]?(B|bit/s)\b", r"# \1", line)
    line = re.sub(r"\bus (udp|congestion)\b", "us MODE", re.sub(r" +", " ", line))
    return line.strip()


def missing(shown: list[str], printed: str) -> list[str]:
    """Return the first line that was not printed, or not in its order."""
    lines = iter([words(line) for line in printed.splitlines()])
    return [line for line in shown if words(line) not in lines][:1]


class Session:
    """The commands of one document, in a separate folder."""

    def __init__(self, folder: Path, path: str) -> None:
        self.folder = folder
        self.env = os.environ | {"PATH": path}
        self.server: Server | None = None
        self.address = "127.0.0.1:9"
        for name in ("srv/data", "tmp"):
            (folder / name).mkdir(parents=True)
        for name in ("big.bin", "results.tar"):
            (folder / name).write_bytes(os.urandom(20 * MEGABYTE))

    def here(self, line: str) -> str:
        """Return a line with this test's directories and server."""
        line = re.sub(r"(?<!\S)/(srv/data|tmp)\b", r"\1", line)
        return SERVER.sub(self.address, line)

    def run(self, command: Typed) -> list[str]:
        """Run a command; return what is wrong with it."""
        printed, status = (self.serve if command.serves else self.finish)(command)
        if status:
            return [f"exit status {status}", printed]
        wrong = missing([self.here(line) for line in command.shown], printed)
        messages = [f"the document shows a line that is not printed: {line}" for line in wrong]
        return [*messages, printed] if wrong else []

    def finish(self, command: Typed) -> tuple[str, int]:
        """Run a command to its end; return what it printed, and its exit status."""
        done = subprocess.run(
            ["/bin/sh", "-c", self.here(command.line)],
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return done.stdout, done.returncode

    def serve(self, command: Typed) -> tuple[str, int]:
        """Start a server in the place of the last one; return what it printed first."""
        self.stop()
        log = tempfile.TemporaryFile("w+", dir=self.folder)  # noqa: SIM115 - the server's
        process = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {self.here(command.line)} --listen 127.0.0.1:0"],
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        first = process.stdout.readline() if process.stdout else ""
        self.server = Server(process, log)
        self.address = first.rpartition(" on ")[2].strip() or self.address
        log.seek(0)
        return log.read() + first, process.poll() or 0

    def stop(self) -> None:
        """Stop the server, if one runs."""
        if self.server:
            self.server.stop()
        self.server = None


def try_consoles(document: Path, path: str) -> tuple[int, list[str]]:
    """Run a document's consoles; return how many commands did as shown, and those that did not."""
    failed = []
    commands = typed(document)
    with tempfile.TemporaryDirectory(prefix="incastle-consoles-") as name:
        session = Session(Path(name), path)
        try:
            for command in commands:
                wrong = session.run(command)
                if wrong:
                    failed.append(f"{command.place} {command.line}")
                    print(failed[-1], *wrong, sep="\n")
        finally:
            session.stop()
    return len(commands) - len(failed), failed
