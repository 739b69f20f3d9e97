"""Controllers that run and are probably not what was meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import incastle as ic
from test_controllers import Fixed, own

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Output

    Cli = Callable[..., Output]


class _Packets(ic.Controller):
    def on_ack(self, ack: ic.Ack) -> None:
        del ack
        self.cwnd_bytes = 10


class _Returns(ic.Controller):
    def on_ack(self, ack: ic.Ack) -> float:  # type: ignore[override]
        return self.cwnd_bytes + ack.acked_bytes


class _NoWindow(Fixed):
    def window(self) -> None:
        return


class _Slow(Fixed):
    def pacing(self) -> float:
        return 10


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (_Packets, "_Packets.cwnd_bytes ended at 10, below a segment (1460 B), for every conn"),
        (_Returns, "_Returns.on_ack returns a value, which is not used: set self.cwnd_bytes"),
        (_NoWindow, "_NoWindow.window() always returns None, which is no limit: return bytes"),
        (_Slow, "_Slow.pacing() returned 10, less than a packet in the whole run: it is in bits"),
    ],
)
def test_what_is_probably_not_meant_is_a_warning(kind: type, answer: str) -> None:
    found = [one for one in ic.run(own(), controllers={"own": kind}).warnings if answer in one]
    assert len(found) == 1
    assert found[0].startswith('the controller "own": ')


class _Helps(Fixed):
    def on_congestion(self, event: ic.CongestionEvent) -> bool | None:
        return self.on_loss(event)

    def on_loss(self, event: ic.CongestionEvent) -> bool | None:
        return super().on_congestion(event)

    def pacing(self) -> float | None:
        return None


class _Rate(_NoWindow):
    def pacing(self) -> float:
        return 1e8


@pytest.mark.parametrize("kind", [Fixed, _Helps, _Rate])
def test_what_is_meant_has_no_warning(kind: type) -> None:
    assert not any("controller" in one for one in ic.run(own(), controllers={"own": kind}).warnings)


@pytest.mark.parametrize(
    ("method", "right"),
    [
        ("on_loss", 'write on_congestion(self, event) and look for event.kind == "loss"'),
        ("on_packet_sent", "write on_sent(self, now, size_bytes)"),
    ],
)
def test_hooks_of_other_interfaces_are_refused(method: str, right: str) -> None:
    kind: Any = type("Mine", (Fixed,), {method: lambda *_: None})
    with pytest.raises(ic.ControllerError) as raised:
        ic.run(own(), controllers={"own": kind})
    assert f"Mine.{method} is never called: {right}" in str(raised.value)


def test_check_finds_a_class_without_on_ack(folder: Path, cli: Cli) -> None:
    (folder / "mine.py").write_text(
        "import incastle as ic\n\n\nclass Mine(ic.Controller):\n    def window(self):\n"
        "        return 10000\n"
    )
    output = cli("check", "small.toml", "--set", "transport.congestion=mine.py:Mine")
    assert output.status == 2
    assert "the class Mine lacks on_ack\n" in output.err
    assert "write def on_ack(self, ack)" in output.err
