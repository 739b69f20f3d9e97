"""Mistakes of a controller are reported with its class, method, time and line."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

import incastle as ic
from conftest import SMALL, Output
from test_controllers import FIXED, Fixed, own

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Cli = Callable[..., Output]

PAIR = {"next_timer": lambda _: 0.001, "on_timer": lambda *_: None}
NO_PACE = {"pacing": lambda _: None}


def broken(method: str) -> type[ic.Controller]:
    """Give a controller that has a mistake in one method."""

    def fail(self: ic.Controller, *_: object) -> float:
        return 1 / int(self.mss_bytes * 0)

    marks = {"cwnd_bytes": 80 * 1460} if method == "on_congestion" else {}
    return type("Broken", (Fixed,), PAIR | NO_PACE | marks | {method: fail})


@pytest.mark.parametrize(
    "method",
    ["on_ack", "on_congestion", "window", "on_sent", "pacing", "on_timer", "next_timer"],
)
def test_an_exception_names_method_time_and_the_line_of_the_user(method: str) -> None:
    marked = own({"transport.ecn": "classic", "switch.queue.marking_threshold": "1 packets"})
    with pytest.raises(ic.ControllerError) as raised:
        ic.run(marked, controllers={"own": broken(method)})
    message = str(raised.value)
    assert f'small, seed 1: the controller "own" (Broken) raised in {method}' in message
    assert "return 1 / int(self.mss_bytes * 0)" in message
    assert message.endswith("ZeroDivisionError: division by zero")
    assert "controllers/sources.py" not in message
    asked_first = method in {"window", "pacing", "next_timer"}
    assert ("of simulated time" in message) is not asked_first


@pytest.mark.parametrize(
    ("method", "value", "reason"),
    [
        ("window", -1, "window() gave -1; expected bytes, 0 or more, or None"),
        ("window", math.nan, "window() gave nan; expected bytes"),
        ("window", "much", "window() gave 'much'; expected bytes"),
        ("window", True, "window() gave True; expected bytes"),
        ("pacing", 0, "pacing() gave 0; expected bits per second, 1 or more, or None"),
        ("pacing", math.inf, "pacing() gave inf; expected bits per second"),
        ("next_timer", math.nan, "next_timer() gave nan; expected the second of an instant"),
        ("pacing", True, "pacing() gave True; expected bits per second"),
        ("next_timer", False, "next_timer() gave False; expected the second of an instant"),
        ("next_timer", -1.0, "next_timer() gave -1.0; expected the second of an instant"),
        ("on_congestion", 7, "gave 7; expected True (it slowed down), False, or None"),
    ],
)
def test_a_value_that_is_none(method: str, value: object, reason: str) -> None:
    kind = type("Broken", (Fixed,), PAIR | {method: lambda *_: value})
    marked = own({"transport.ecn": "classic", "switch.queue.marking_threshold": "1 packets"})
    with pytest.raises(ic.ControllerError) as raised:
        ic.run(marked, controllers={"own": kind})
    assert reason in str(raised.value)


def test_what_beginners_forget_is_reported() -> None:
    bare = type("Bare", (Fixed,), {"__init__": lambda self, _: self.__dict__.update(mine=1)})
    with pytest.raises(ic.ControllerError, match=r"begin __init__ with super\(\).__init__\(conn"):
        ic.run(own(), controllers={"own": bare})
    slip = type("Slip", (Fixed,), {"on_ack": lambda _, ack: ack.rtt})
    reason = "did you mean rtt_s[?] there are acked_bytes, after_timeout"
    with pytest.raises(ic.ControllerError, match=reason):
        ic.run(own(), controllers={"own": slip})


def test_a_timer_that_stays_where_it_is() -> None:
    kind = type("Broken", (Fixed,), PAIR)
    reason = r"next_timer\(\) at 1 ms of simulated time gave 0.001"
    with pytest.raises(ic.ControllerError, match=reason):
        ic.run(own(), controllers={"own": kind})


def test_what_is_no_controller_is_refused_before_the_run() -> None:
    cases: list[tuple[Any, str]] = [
        (7, 'the controller "own" is 7; a class is expected'),
        (ic.Controller, "the class Controller lacks on_ack"),
        (object, "lacks on_ack and on_congestion and window; incastle.Controller has all"),
        (type("Half", (Fixed,), {"on_timer": lambda *_: None}), "the class Half lacks next_timer"),
    ]
    for kind, reason in cases:
        with pytest.raises(ic.ControllerError, match=reason):
            ic.run(own(), controllers={"own": kind})
    with pytest.raises(ic.IncastleError, match='unknown controller "own"'):
        ic.run(own())


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("none.py:Fixed", "small.toml:25:14: error: none.py: No such file or directory"),
        ("fixed.py:Fxied", "its classes are Fixed"),
        ("fixed.py:", 'name one as in "fixed.py:Fixed"'),
        ("torn.py:Fixed", "torn.py:1: '(' was never closed"),
        ("binary.py:Fixed", "binary.py: not a UTF-8 file"),
    ],
)
def test_a_file_that_is_none(written: str, reason: str, folder: Path, cli: Cli) -> None:
    (folder / "fixed.py").write_text(FIXED)
    (folder / "torn.py").write_text("class Fixed(\n")
    (folder / "binary.py").write_bytes(b"\xff")
    (folder / "small.toml").write_text(SMALL.replace('"dctcp"', f'"{written}"'))
    for command in (("check",), ("run", "--out", "out")):
        output = cli(*command, "small.toml")
        assert output.status == 2
        assert reason in output.err


def test_a_file_that_raises_when_it_is_executed(folder: Path, cli: Cli) -> None:
    (folder / "raises.py").write_text("class Fixed:\n    pass\n\nnumber = [][1]\n")
    setting = ("--set", "transport.congestion=raises.py:Fixed")
    assert cli("check", "small.toml", *setting).status == 0, "to check does not execute"
    output = cli("run", "small.toml", *setting, "--out", "out")
    assert output.status == 2
    assert "raises.py cannot be used:" in output.err
    assert "number = [][1]" in output.err
    assert "IndexError: list index out of range" in output.err
    assert "incastle" not in output.err.replace("incastle_controller", "")


LEAVES = """\
import sys

import incastle as ic


class Leaves(ic.Controller):
    def on_ack(self, ack):
        sys.exit(3)
"""


def test_sys_exit_is_a_fault_and_not_the_end(folder: Path, cli: Cli) -> None:
    (folder / "leaves.py").write_text(LEAVES)
    output = cli(
        "run", "small.toml", "--set", "transport.congestion=leaves.py:Leaves", "--out", "o"
    )
    assert output.status == 2
    assert 'the controller "leaves.py:Leaves" raised in on_ack at 162.177136 us' in output.err
    assert 'leaves.py", line 8, in on_ack' in output.err
    assert output.err.rstrip().endswith("sys.exit(3)\nSystemExit: 3")
    among = "transport.congestion=leaves.py:Leaves,dctcp"
    output = cli("sweep", "small.toml", "--set", among, "--out", "swept")
    assert output.status == 2
    assert "1 run in swept\nerror: 1 run failed:" in output.err
    (folder / "leaves.py").write_text(LEAVES + "\n\nsys.exit(4)\n")
    output = cli(
        "run", "small.toml", "--set", "transport.congestion=leaves.py:Leaves", "--out", "o"
    )
    assert output.status == 2
    assert "leaves.py cannot be used:" in output.err
    assert output.err.rstrip().endswith("SystemExit: 4")


HEAD = """\
import incastle as ic


class Mine(ic.Controller):
    def __init__(self, connection, beta=0.5, *, gain=1.0):
        super().__init__(connection)

"""
ON_ACK = HEAD + "    def on_ack(self, ack):\n        pass\n"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (HEAD, 'mine.py:4: the controller "mine.py:Mine": the class Mine lacks on_ack'),
        (
            ON_ACK.replace("def on", "async def on"),
            "Mine.on_ack is async, which is never executed; expected def on_ack(self, ack)",
        ),
        (
            ON_ACK.replace("pass", "yield"),
            "Mine.on_ack has a yield, with which it is never executed; expected def on_ack(self",
        ),
        (
            ON_ACK.replace("(self, ack)", "(self)"),
            'mine.py:8: the controller "mine.py:Mine": Mine has on_ack(self); expected def on_ack',
        ),
        (
            ON_ACK + "\n    def on_sent(self, now, size: int, more: int):\n        pass\n",
            "Mine has on_sent(self, now, size, more); expected def on_sent(self, now, size_bytes)",
        ),
    ],
)
def test_a_method_that_cannot_be_called_is_reported_with_its_line(
    source: str, reason: str, folder: Path, cli: Cli
) -> None:
    (folder / "mine.py").write_text(source)
    output = cli("run", "small.toml", "--set", "transport.congestion=mine.py:Mine", "--out", "out")
    assert output.status == 2
    assert reason in output.err
    assert not (folder / "out").exists()


def test_arguments_may_have_other_names_and_defaults() -> None:
    class Loose(Fixed):
        def on_ack(self, *one: ic.Ack, times: int = 1) -> None:
            assert len(one) == times

    assert ic.run(own(), controllers={"own": Loose}).totals["delivered_bytes"] > 0


@pytest.mark.parametrize(
    ("source", "known"),
    [
        (ON_ACK, "did you mean beta? it has beta, gain"),
        (ON_ACK + "\n\nclass Heir(Mine):\n    pass\n", "did you mean beta? it has beta, gain"),
        (ON_ACK.replace("connection, beta=0.5, *, gain=1.0", "connection"), "it has none at all"),
        (
            (
                "from incastle import Controller\n\n\nclass Heir(Controller):\n"
                "    def on_ack(self, ack):\n        pass\n"
            ),
            "it has none",
        ),
    ],
)
def test_a_parameter_that_is_misspelt_is_reported_with_its_place(
    source: str, known: str, folder: Path, cli: Cli
) -> None:
    (folder / "mine.py").write_text(source)
    name = "mine.py:Heir" if "Heir" in source else "mine.py:Mine"
    text = SMALL.replace('"dctcp"', f'"{name}"\nparameters = {{ beat = 1 }}')
    (folder / "small.toml").write_text(text)
    for command in (("check",), ("run", "--out", "out")):
        output = cli(*command, "small.toml")
        assert output.status == 2
        place = f'small.toml:26:16: error: the controller "{name}" has no parameter beat'
        assert place in output.err
        assert known in output.err


def test_a_parameter_of_a_class_in_no_file() -> None:
    class Tuned(Fixed):
        def __init__(self, connection: ic.Connection, beta: float = 1.0) -> None:
            super().__init__(connection)
            self.cwnd_bytes *= beta

    given = own({"transport.parameters": {"beta": 0.5}})
    assert ic.run(given, controllers={"own": Tuned}).totals["delivered_bytes"] > 0
    with pytest.raises(ic.ScenarioError, match=r"no parameter beat\n.*did you mean beta[?]"):
        ic.run(own({"transport.parameters": {"beat": 0.5}}), controllers={"own": Tuned})


def test_parameters_that_show_only_when_it_is_made(folder: Path, cli: Cli) -> None:
    loose = ON_ACK.replace("beta=0.5, *, gain=1.0", "**more")
    (folder / "mine.py").write_text(loose.replace("(connection)\n", "(connection, **more)\n"))
    values = ("transport.congestion=mine.py:Mine", "transport.parameters.beat=2")
    given = ("--set", values[0], "--set", values[1])
    assert cli("check", "small.toml", *given).status == 0
    output = cli("run", "small.toml", *given, "--out", "out")
    assert output.status == 2
    assert "unexpected keyword argument 'beat'" in output.err
    assert "Traceback" in output.err


TALKS = ON_ACK.replace("pass", 'print("an ACK")')


@pytest.mark.parametrize(
    "command",
    [
        ("run", "small.toml", "--out", "o"),
        ("run", "small.toml", "--seeds", "2", "--out", "o"),
        ("sweep", "small.toml", "--out", "o"),
        ("find", "small.toml", "--largest", "network.senders=2,3", "--where", "goodput > 1 bit/s"),
    ],
)
def test_json_stands_alone_whatever_a_controller_prints(
    command: tuple[str, ...], folder: Path, cli: Cli
) -> None:
    (folder / "mine.py").write_text("print('begun')\n" + TALKS)
    (folder / "small.toml").write_text(SMALL.replace('"dctcp"', '"mine.py:Mine"'))
    output = cli(*command, "--json")
    assert output.status == 0, output.err
    assert json.loads(output.out)
    assert "an ACK\n" in output.err
    if command[0] == "run" and "--seeds" not in command:
        assert "an ACK\n" in cli(*command, "--force").out, "where nobody reads JSON, it is output"
        again = cli("explain", "o", "--json")
        assert json.loads(again.out)
        assert "an ACK\n" in again.err


class _Camel(ic.Controller):
    def onAck(self, ack: ic.Ack) -> None:  # noqa: N802  the mistake
        self.cwnd_bytes += ack.acked_bytes


class _Late(Fixed):
    def onTimer(self, now: ic.ControllerContext) -> None:  # noqa: N802  the mistake
        self.late = now


class _Short(ic.Controller):
    def on_ack(self, ack: ic.Ack) -> None:
        self.cwnd = self.cwnd_bytes + ack.acked_bytes


class _Reader(ic.Controller):
    def on_ack(self, ack: ic.Ack) -> None:
        self.cwnd_bytes = self.cwnd + ack.acked_bytes  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (_Camel, "the class _Camel lacks on_ack: onAck should be on_ack"),
        (_Late, "_Late.onTimer is never called: did you mean on_timer?"),
        (_Short, "_Short sets cwnd, which has no effect: did you mean cwnd_bytes?"),
        (_Reader, "did you mean cwnd_bytes? there are connection,"),
    ],
)
def test_other_names_of_hooks_and_windows(kind: type[ic.Controller], answer: str) -> None:
    with pytest.raises(ic.ControllerError) as raised:
        ic.run(own(), controllers={"own": kind})
    assert answer in str(raised.value)
