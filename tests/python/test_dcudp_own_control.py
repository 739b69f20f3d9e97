"""`dcudp --cc FILE.py:CLASS`: a class of Python controls a transfer on real sockets."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONTROLLER = """
from incastle import Controller


class Fixed(Controller):
    def on_ack(self, ack):
        self.cwnd_bytes = 20 * self.mss_bytes


class Broken(Controller):
    def on_ack(self, ack):
        raise ValueError("no such luck")
"""
PROGRAM = (sys.executable, "-m", "incastle.dcudp")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Serve a folder; give the address."""
    (tmp_path / "there").mkdir()
    (tmp_path / "own.py").write_text(CONTROLLER, encoding="utf-8")
    (tmp_path / "data").write_bytes(bytes(300_000))
    command = [*PROGRAM, "serve", "there", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        try:
            line = next(one for one in process.stdout if one.startswith("serving"))
            yield line.split()[-1]
        finally:
            process.terminate()


def send(folder: Path, peer: str, control: str) -> subprocess.CompletedProcess[str]:
    """Send the file under a control."""
    command = [*PROGRAM, "send", "data", peer, "--cc", control]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )


def test_a_class_moves_a_file_and_one_that_fails_says_where(tmp_path: Path, server: str) -> None:
    done = send(tmp_path, server, "own.py:Fixed")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "there" / "data").read_bytes() == bytes(300_000)
    assert "accurate" not in done.stderr
    (tmp_path / "there" / "data").unlink()
    broken = send(tmp_path, server, "own.py:Broken")
    assert broken.returncode == 1
    assert 'the controller "own.py:Broken" raised in on_ack at' in broken.stderr
    assert "no such luck" in broken.stderr


@pytest.mark.parametrize(
    ("control", "complaint"),
    [("own.py:Missing", "Missing"), ("absent.py:Fixed", "absent.py"), ("vegas", "possible values")],
)
def test_a_control_that_is_not_there_has_one_message(
    tmp_path: Path, server: str, control: str, complaint: str
) -> None:
    done = send(tmp_path, server, control)
    assert done.returncode == 2, done.stderr
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
