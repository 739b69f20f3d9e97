"""Runs an experiment in the program `softswitch`, and waits for its outcome.

The namespaces live as long as the program, and the program as long as this process: it ends once
its standard input does.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incastle import interrupts
from incastle.errors import ControllerError
from incastle.worlds import program
from incastle.worlds.counterpart import LINUX, WorldError

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = (sys.executable, "-m", "incastle.worlds.program")
BRIDGE_FILE = "bridge.json"
TRANSPORTS_FILE = "transports.json"
LOOK_S = 0.1
"""Seconds between two looks at the program."""
PATIENCE_S = 120.0
"""Namespaces before the experiment and the result after it take a small part of this."""


@dataclass(frozen=True)
class Ours:
    """Our parts of a run: controls that the kernel gets, or transports on sockets.

    Attributes:
        registered: those that run in the kernel, by their names in scenarios.
        bridge: the scenario with the control of the bridge, the name of its file, and the dilation;
            None without a bridge.
        world: the name of the world.
        transports: on sockets: name, text and file of a scenario that has each transport.

    """

    registered: tuple[str, ...] = ()
    bridge: dict[str, Any] | None = None
    world: str = LINUX
    transports: tuple[tuple[str, str, str], ...] = ()

    def words(self, folder: Path) -> list[str]:
        """Return the options of the program; the bridge's are in a file of the folder."""
        words = [word for name in self.registered for word in (program.REGISTER, name)]
        if self.bridge is not None:
            file = folder / BRIDGE_FILE
            file.write_text(json.dumps(self.bridge), encoding="utf-8")
            words += [program.BRIDGE, str(file)]
        if self.transports:
            file = folder / TRANSPORTS_FILE
            file.write_text(json.dumps(self.transports), encoding="utf-8")
            words += [program.SOCKETS, str(file)]
        return words


def outcome(
    experiment: dict[str, Any], ours: Ours, real_s: float, progress: Callable[[float], object]
) -> dict[str, Any]:
    """Run an experiment that takes `real_s` seconds; `progress` is called with those passed.

    Raises:
        WorldError: the program refused it, the machine does, or the program does not end.
        ControllerError: a controller failed.

    """
    with tempfile.TemporaryDirectory(prefix="incastle-") as name:
        folder = Path(name)
        file = folder / "experiment.json"
        file.write_text(json.dumps(experiment), encoding="utf-8")
        command = [*COMMAND, *ours.words(folder), "--experiment", str(file)]
        result, errors = folder / "outcome.json", folder / "errors"
        # Raised within `Popen`, it could leave a lock behind.
        with interrupts.put_off() as stop, result.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=err)
            try:
                in_time = _wait(process, real_s, progress, stop)
            finally:
                process.kill()
                process.wait()
                if process.stdin is not None:
                    process.stdin.close()
        if not in_time:
            raise WorldError(
                f"the soft switch has not ended {PATIENCE_S:g} s after the experiment should have: "
                "it was ended, and nothing is kept"
            )
        if process.returncode != 0:
            text = errors.read_text(encoding="utf-8", errors="replace")
            if process.returncode == program.FAILED:
                raise ControllerError(text.rstrip())
            raise WorldError(_why(text, ours.world))
        found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        measured = (folder / BRIDGE_FILE).with_suffix(program.MEASURED)
        if measured.exists():
            found["bridge"] = json.loads(measured.read_text(encoding="utf-8"))
        return found


def _wait(
    process: subprocess.Popen[bytes],
    real_s: float,
    progress: Callable[[float], object],
    stop: interrupts.Waiting,
) -> bool:
    """Wait for the end of the program, or for Ctrl-C; return whether it came in time."""
    began = time.monotonic()
    while process.poll() is None and not stop.arrived:
        passed_s = time.monotonic() - began
        if passed_s > real_s + PATIENCE_S:
            return False
        progress(min(real_s, passed_s))
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=LOOK_S)
    return True


def _why(errors: str, world: str) -> str:
    """Return the program's message, with the remedy where rights are missing."""
    lines = errors.strip().splitlines() or ["the soft switch ended without a message"]
    message = lines[-1].removeprefix("softswitch: ")
    if "ermitted" in message or "ermission" in message:
        return f"{message}: --world {world} needs root (sudo) and /dev/net/tun"
    return message
