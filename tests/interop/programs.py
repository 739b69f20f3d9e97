"""Builds and runs the programs of these tests: ours, the UDT library's (peer.cc), and tshark.

A program that cannot be built here skips its tests, with the reason. Every test ends its
processes, in failure too.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
DISSECTOR = ROOT / "wireshark" / "dcudp.lua"
# Longer than any program's own limit: only one that hangs meets it.
PATIENCE_S = 200
Report = dict[str, Any]


@functools.cache
def our_programs() -> dict[str, str]:
    """Build `dcudp`, `softswitch` and those of crates/testbed; return their paths by name."""
    crates = ("dcudp", "softswitch", "testbed")
    packages = [word for crate in crates for word in ("--package", f"incastle-{crate}")]
    command = ["cargo", "build", "--locked", *packages, "--bins"]
    done = subprocess.run(
        [*command, "--message-format=json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    built = map(json.loads, done.stdout.splitlines())
    return {one["target"]["name"]: one["executable"] for one in built if one.get("executable")}


def tshark(capture: Path, names: list[str], *options: str) -> list[list[str]]:
    """Return these fields of a capture as tshark reads them with our dissector, a row per packet.

    Values of one field are joined by ';'.
    """
    program = shutil.which("tshark")
    if program is None:
        pytest.skip("needs tshark (make system)")
    command = [
        program,
        "-r",
        str(capture),
        "-X",
        f"lua_script:{DISSECTOR}",
        *options,
        "-T",
        "fields",
    ]
    command += ["-E", "aggregator=;", *(word for name in names for word in ("-e", name))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Errors of Lua appear here; so does a warning for the user root.
    assert "lua" not in done.stderr.lower(), done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


@functools.cache
def library_peer() -> str:
    """Compile peer.cc against the UDT library, and return its path."""
    compiler = shutil.which("c++")
    if compiler is None or not Path("/usr/include/udt/udt.h").exists():
        pytest.skip("needs a C++ compiler and the UDT library (Debian: libudt-dev; make system)")
    # In cargo's target folder, so that `cargo clean` removes it.
    folder = Path(our_programs()["relay"]).parent / "interop"
    folder.mkdir(exist_ok=True)
    program, source = folder / "peer", HERE / "peer.cc"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        flags = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror"]
        # Others may compile it at the same time, or run it already: it appears whole.
        built = folder / f"peer-{os.getpid()}"
        command = [compiler, *flags, "-o", str(built), str(source), "-ludt", "-lpthread"]
        subprocess.run(command, check=True)
        built.replace(program)
    return str(program)


class Process:
    """A program that prints "ready" and its addresses, and at its end one line of JSON."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = command
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process
        self.popen = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )

    def ready(self) -> list[int]:
        """Wait for its first line, and return the ports of its addresses."""
        assert self.popen.stdout
        words = self.popen.stdout.readline().split()
        assert words[:1] == ["ready"], self.errors_written()
        return [int(address.rpartition(":")[2]) for address in words[1:]]

    def report(self) -> Report:
        """End its input, wait for its end, and return what it reported."""
        output, _ = self.popen.communicate(timeout=PATIENCE_S)
        assert self.popen.returncode == 0, self.errors_written()
        found: Report = json.loads(output.splitlines()[-1])
        return found

    def errors_written(self) -> str:
        """Return what it wrote to its standard error."""
        self.errors.seek(0)
        return f"{' '.join(self.command)}: {self.errors.read()}"

    def end(self) -> None:
        """End it if it still runs."""
        self.popen.kill()
        self.popen.communicate()
        self.errors.close()


@contextlib.contextmanager
def running(command: Sequence[str]) -> Iterator[Process]:
    """Run a program, and end it in any case."""
    process = Process(command)
    try:
        yield process
    finally:
        process.end()


def free_port() -> int:
    """Return a free UDP port of the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
