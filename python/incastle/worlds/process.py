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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incastle.worlds.counterpart import WorldError

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = (sys.executable, "-m", "incastle.worlds.program", "--experiment")
LOOK_S = 0.1
"""Seconds between two looks at the program."""


def outcome(
    experiment: dict[str, Any], real_s: float, progress: Callable[[float], object]
) -> dict[str, Any]:
    """Run an experiment that takes `real_s` seconds; `progress` is called with those passed.

    Raises:
        WorldError: the program refused it, or the machine does.

    """
    with tempfile.TemporaryDirectory(prefix="incastle-") as folder:
        file = Path(folder) / "experiment.json"
        file.write_text(json.dumps(experiment), encoding="utf-8")
        result, errors = Path(folder) / "outcome.json", Path(folder) / "errors"
        with result.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(
                [*COMMAND, str(file)], stdin=subprocess.PIPE, stdout=out, stderr=err
            )
            try:
                _wait(process, real_s, progress)
            finally:
                process.kill()
                process.wait()
                if process.stdin is not None:
                    process.stdin.close()
        if process.returncode != 0:
            raise WorldError(_why(errors.read_text(encoding="utf-8", errors="replace")))
        found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        return found


def _wait(
    process: subprocess.Popen[bytes], real_s: float, progress: Callable[[float], object]
) -> None:
    began = time.monotonic()
    while process.poll() is None:
        progress(min(real_s, time.monotonic() - began))
        try:
            process.wait(timeout=LOOK_S)
        except subprocess.TimeoutExpired:
            continue


def _why(errors: str) -> str:
    """Return the program's message, with the remedy where rights are missing."""
    lines = errors.strip().splitlines() or ["the soft switch ended without a message"]
    message = lines[-1].removeprefix("softswitch: ")
    if "ermitted" in message or "ermission" in message:
        return f"{message}: --world linux needs root (sudo) and /dev/net/tun"
    return message
