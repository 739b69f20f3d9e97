"""Runs the program `softswitch`, the very same code as the binary, in a separate process.

Before its arguments, `--register NAME` registers a control of ours in the kernel, and `--bridge
FILE` the bridge to the controller of a scenario (docs/kernel.md). Both last as long as the process.
`--sockets FILE` are the transports of scenarios, and experiments then run over our sockets.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from incastle import _engine
from incastle.errors import ControllerError, IncastleError

if TYPE_CHECKING:
    from incastle.scenario import Scenario

BAD_INPUT = 2
FAILED = 4
"""The exit status after a controller failed; the standard error stream has the whole message."""
REGISTER, BRIDGE, SOCKETS = "--register", "--bridge", "--sockets"
MEASURED = ".measured"
"""The suffix of the file with what a bridge measured."""


class _Bridge(threading.Thread):
    """A bridge in a thread."""

    def __init__(self, file: Path) -> None:
        super().__init__(daemon=True)
        self.file = file
        self.begun, self.ended = threading.Event(), threading.Event()
        self.refused: IncastleError | None = None

    def run(self) -> None:
        """Serve until the end."""
        from incastle.scenario import Scenario  # noqa: PLC0415  slow to import
        from incastle.worlds import kernel  # noqa: PLC0415  likewise

        plan = json.loads(self.file.read_text(encoding="utf-8"))
        try:
            scenario = Scenario.from_text(plan["scenario"], plan["file"])
            bridge = kernel.Bridge(scenario, plan["dilation"])
        except IncastleError as why:
            self.refused = why
            self.begun.set()
            return
        kernel.hurry()
        self.begun.set()
        try:
            bridge.serve(self.ended.is_set)
        except ControllerError as why:
            _leave(FAILED, str(why))
        except OSError as why:
            _leave(BAD_INPUT, f"softswitch: {why}")
        text = json.dumps(bridge.statistics())
        self.file.with_suffix(MEASURED).write_text(text, encoding="utf-8")
        bridge.close()


def _transports(file: Path) -> dict[str, Scenario]:
    """Return name and scenario of each transport in a file."""
    from incastle.scenario import Scenario  # noqa: PLC0415  slow to import

    found = json.loads(file.read_text(encoding="utf-8"))
    return {name: Scenario(text, origin) for name, text, origin in found}


def _over_sockets(words: list[str], transports: dict[str, Scenario]) -> int:
    """Run experiments over our sockets; the message about a controller that failed is printed."""
    from incastle.controllers import faults  # noqa: PLC0415  slow to import
    from incastle.scenario import controllers_of, runnable_form  # noqa: PLC0415  likewise

    parts = [(name, runnable_form(scenario)) for name, scenario in transports.items()]
    status, fault = _engine.sockets_program(words, parts)
    if fault is None:
        return status
    kinds = {
        name: one for each in transports.values() for name, one in controllers_of(each).items()
    }
    text = faults.words_of(fault, kinds[fault.controller].kind, "of the scenario's time")
    print(text, file=sys.stderr, flush=True)
    return FAILED


def _leave(status: int, message: str) -> NoReturn:
    """End the process at once: the soft switch is in another thread."""
    print(message, file=sys.stderr, flush=True)
    os._exit(status)


def main(words: list[str]) -> int:
    """Run it, and return its exit status."""
    held: list[Any] = []
    bridges = []
    transports: dict[str, Scenario] = {}
    try:
        while words[0] in {REGISTER, BRIDGE, SOCKETS}:
            option, value, *words = words
            if option == SOCKETS:
                transports = _transports(Path(value))
                continue
            if option == REGISTER:
                from incastle.worlds import kernel  # noqa: PLC0415  slow to import

                held.append(kernel.register(value))
                continue
            bridges.append(_Bridge(Path(value)))
            bridges[-1].start()
            bridges[-1].begun.wait()
            if bridges[-1].refused is not None:
                raise bridges[-1].refused
        if transports:
            return _over_sockets(["softswitch", *words], transports)
        return _engine.softswitch_program(["softswitch", *words])
    except IncastleError as why:
        print(f"softswitch: {why}", file=sys.stderr)
        return BAD_INPUT
    finally:
        for bridge in bridges:
            bridge.ended.set()
            bridge.join()


if __name__ == "__main__":
    # Ctrl-C reaches the whole group: the process that started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(main(sys.argv[1:]))
