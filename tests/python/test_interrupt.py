"""Ctrl-C: the engine stops long before a run would end, and what was finished is kept."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import incastle as ic
from conftest import LONG, SMALL, start
from incastle import interrupts, runner
from test_controllers import Fixed

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

PATIENCE_S = 120.0
"""Only a process that hangs takes so long."""


def interrupt_once(is_time: Callable[[runner.Progress], bool]) -> Callable[[runner.Progress], None]:
    """Return a progress callback that has this process interrupted, once and from outside."""
    sent = threading.Event()

    def progress(state: runner.Progress) -> None:
        if is_time(state) and not sent.is_set():
            sent.set()
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()

    return progress


def has_begun(state: runner.Progress) -> bool:
    return state.simulated_s > 0


def test_one_run_stops_and_is_kept_as_far_as_it_went() -> None:
    with pytest.raises(ic.Interrupted) as stopped:
        ic.run(ic.Scenario.from_text(LONG), progress=interrupt_once(has_begun))
    assert stopped.value.results == (None,)
    (partial,) = stopped.value.partial
    assert partial.interrupted
    assert 0 < partial.totals["simulated_s"] < 10_000
    assert partial.flows.height == 5


def test_finished_runs_are_kept() -> None:
    short = ic.Scenario.from_text(SMALL)
    jobs = [short, ic.Scenario.from_text(LONG), short.with_seed(2)]
    progress = interrupt_once(lambda state: state.finished == 2)
    with pytest.raises(ic.Interrupted, match="2 of 3 runs") as stopped:
        ic.run_many(jobs, threads=2, progress=progress)
    first, second, third = stopped.value.results
    assert first is not None
    assert second is None
    assert third is not None
    assert first.digest == ic.run(short).digest


def test_is_a_keyboard_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt):
        ic.run(ic.Scenario.from_text(LONG), progress=interrupt_once(has_begun))
    assert not issubclass(ic.Interrupted, Exception), "`except Exception` must not swallow it"


def interrupt_running(
    folder: Path, arguments: tuple[str, ...], is_running: Callable[[], bool] | None = None
) -> tuple[int, str, str]:
    """Start the command line, interrupt it while it simulates, and wait for its end."""
    process = start(folder, *arguments)
    threads = Path(f"/proc/{process.pid}/task")
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        # The engine has separate threads.
        if is_running() if is_running else len(list(threads.iterdir())) > 1:
            break
        time.sleep(0.05)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


def test_command_line_keeps_a_single_run_as_far_as_it_went(folder: Path) -> None:
    status, out, err = interrupt_running(folder, ("run", "long.toml", "--json", "--out", "one"))
    assert status == 130
    assert "interrupted after" in err
    assert "Traceback" not in err
    assert json.loads(out)["interrupted"] is True
    assert [path.name for path in folder.iterdir() if path.is_dir()] == ["one-interrupted"]
    assert ic.Result.load(folder / "one-interrupted").interrupted


def test_command_line_keeps_finished_seeds(folder: Path) -> None:
    text = SMALL.replace("20 ms", "500 ms")
    (folder / "half.toml").write_text(text)
    arguments = ("run", "half.toml", "--seeds", "500", "--threads", "2", "--json", "--out", "many")
    first_kept = (folder / "many").glob
    status, out, err = interrupt_running(
        folder, arguments, lambda: any(first_kept("seed-*/summary.json"))
    )
    assert status == 130
    assert "runs were finished" in err
    kept = sorted(path.name for path in (folder / "many").iterdir())
    assert kept
    assert sorted(one["directory"] for one in json.loads(out)) == [f"many/{name}" for name in kept]
    assert not any(ic.Result.load(folder / "many" / name).interrupted for name in kept)


STUCK = """\
import time
from pathlib import Path

import incastle as ic


class Stuck(ic.Controller):
    def on_ack(self, ack):
        Path("stuck").touch()
        while True:
            {what}
"""
OF_STUCK = ("--set", "transport.congestion=stuck.py:Stuck")


@pytest.mark.alone
@pytest.mark.parametrize(
    ("what", "arguments"),
    [
        ("pass", ("run", "small.toml", "--out", "one")),
        ("time.sleep(100)", ("run", "small.toml", "--out", "one")),
        ("pass", ("sweep", "small.toml", "--out", "swept")),
        (
            "pass",
            ("find", "small.toml", "--largest", "network.senders=2,3", "--where", "timeouts == 0"),
        ),
    ],
)
def test_a_controller_that_does_not_come_back_is_ended_by_one_interrupt(
    what: str, arguments: tuple[str, ...], folder: Path
) -> None:
    (folder / "stuck.py").write_text(STUCK.format(what=what))
    status, out, err = interrupt_running(folder, (*arguments, *OF_STUCK), (folder / "stuck").exists)
    assert (status, out) == (130, "")
    assert "error: interrupted: 0 of " in err
    assert re.search(r"a controller did not come back: stuck.py:1[01], in on_ack", err)
    assert "Traceback" not in err


def test_what_is_finished_is_kept_where_a_controller_does_not_come_back(folder: Path) -> None:
    (folder / "stuck.py").write_text(STUCK.format(what="pass"))
    among = ("--set", "transport.congestion=dctcp,stuck.py:Stuck", "--out", "swept")
    status, _, err = interrupt_running(
        folder, ("sweep", "small.toml", *among), (folder / "stuck").exists
    )
    assert status == 130
    assert "interrupted: 1 of 2 runs are in swept; a controller did not come back" in err
    assert ic.Sweep.load(folder / "swept").frame.height == 1


def test_impatience_spares_what_must_not_be_torn(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a result is saved, reminders of a Ctrl-C come and are not heard; then no run begins."""
    monkeypatch.setattr(runner, "PATIENCE_S", 0.01)
    saved: list[str] = []

    def slow(_: int, result: ic.Result) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        until = time.monotonic() + 0.2
        while time.monotonic() < until:
            pass
        saved.append(result.digest)

    own = {"transport.congestion": "custom", "transport.controller": "own"}
    small = ic.Scenario.from_text(SMALL).with_overrides(own).with_controllers({"own": Fixed})
    with pytest.raises(ic.Interrupted) as stopped:
        ic.run_many([small, small.with_seed(2)], on_result=slow)
    assert [one and one.digest for one in stopped.value.results] == [*saved, None]
    assert len(saved) == 1
    assert stopped.value.within is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interrupt_while_a_result_is_handed_over_loses_nothing() -> None:
    short = ic.Scenario.from_text(SMALL)
    finished: list[str] = []

    def slow(_: int, result: ic.Result) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        finished.append(result.digest)

    with pytest.raises(ic.Interrupted) as stopped:
        ic.run_many([short, ic.Scenario.from_text(LONG)], 2, on_result=slow)
    assert finished == [one.digest for one in stopped.value.results if one is not None]
    assert len(finished) == 1


def test_second_interrupt_does_not_wait() -> None:
    def press_twice() -> None:
        with interrupts.put_off():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
            pytest.fail("the second one must not be put off")

    with pytest.raises(KeyboardInterrupt):
        press_twice()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


WHILE_IMPORTING = """
import os, signal, sys

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[0]:
            os.kill(os.getpid(), signal.SIGINT)

sys.argv = sys.argv[1:]
sys.meta_path.insert(0, Press())
from incastle.__main__ import main
main()
"""
"""Presses Ctrl-C when a module is looked for; its name stands in the place of the command's."""


@pytest.mark.parametrize("module", ["incastle.commands.app", "typer", "incastle._engine", "rich"])
def test_interrupt_before_everything_is_imported(module: str) -> None:
    command = [sys.executable, "-c", WHILE_IMPORTING, module, "list", "papers"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (130, "")


def test_interrupt_that_is_ignored_stays_so() -> None:
    ignored = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    command = [sys.executable, "-c", ignored + WHILE_IMPORTING, "typer", "list", "transports"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "dcudp" in done.stdout
