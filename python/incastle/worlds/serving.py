"""A control of ours in the kernel for as long as a command runs, or until Ctrl-C."""

from __future__ import annotations

import subprocess
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from incastle import terminal
from incastle.scenario import Scenario
from incastle.worlds import kernel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PATIENCE_S = 5.0
"""Seconds that a command has to end after it was asked to."""
LOOK_S = 0.05


def serve(congestion: str, settings: Sequence[tuple[str, str]], command: Sequence[str]) -> int:
    """Register a control, run the command, and return its exit status.

    Raises:
        KernelError: the kernel does not take the control.
        ScenarioError: there is no such control, or a setting is wrong.
        ControllerError: the controller failed; the command was ended.

    """
    text = kernel.scenario_of({"congestion": congestion})
    scenario = Scenario(text, "transport", tuple(settings))
    transport = scenario.to_dict()["flows"]["all"]["transport"]
    name = kernel.name_of(transport)
    if name in kernel.NAMES.values():
        control = kernel.register(transport["congestion"])
        with closing(control), _running(name, command) as process:
            while not _ended(process):
                time.sleep(LOOK_S)
    else:
        bridge = kernel.Bridge(scenario)
        with closing(bridge), _running(bridge.name, command) as process:
            try:
                bridge.serve(lambda: _ended(process))
            finally:
                terminal.note(kernel.described(bridge.statistics()))
    return 0 if process is None else process.returncode


def _ended(process: subprocess.Popen[bytes] | None) -> bool:
    return process is not None and process.poll() is not None


@contextmanager
def _running(name: str, command: Sequence[str]) -> Iterator[subprocess.Popen[bytes] | None]:
    """Run a command beside this process; it ends with the block."""
    terminal.note(f"the kernel has {name}; a socket gets it by TCP_CONGESTION (iperf3: -C {name})")
    if not command:
        yield None
        return
    try:
        process = subprocess.Popen(command)
    except OSError as why:
        raise kernel.KernelError(f"{command[0]}: {why.strerror}") from None
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
        process.wait()
