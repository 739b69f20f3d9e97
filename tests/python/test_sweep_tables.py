"""What `incastle sweep` prints: its tables, and its progress where there is no terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import incastle as ic
from incastle import terminal
from incastle.analysis.measures import groups_of
from incastle.commands import many_runs
from incastle.runner import Progress
from incastle.sweeps.progress import SweepProgress
from incastle.terminal import aligned

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from conftest import Output

    Cli = Callable[..., Output]


def test_each_group_of_flows_has_its_own_row(cli: Cli, folder: Path) -> None:
    settings = ("--set", "network.senders=2,3", "--seeds", "2", "--out", "two")
    output = cli("sweep", "small.toml", *settings)
    assert output.status == 0, output.err
    first, _, second = output.out.partition("each group of flows")
    assert "FCT" not in first, "no percentile of all flows together"
    assert "FCT" in second
    rows = [line.split()[:2] for line in second.splitlines() if line[:1] in {"2", "3"}]
    assert rows == [["2", "long"], ["2", "short"], ["3", "long"], ["3", "short"]]
    assert groups_of(ic.Sweep.load(folder / "two").frame.columns) == ["long", "short"]


def test_numbers_are_whole_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    long = "1234567890" * 3
    table = aligned(None, *("x" * 30 for _ in range(9)))
    table.add_row(*(long for _ in range(9)))
    many_runs.titled("wide", table)
    assert capsys.readouterr().out.count(long) == 9


def test_progress_is_lines_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "EVERY_S", 0.0)
    with many_runs.sweep_bar("web [x]") as show:
        show(SweepProgress(total=8, finished=2, failed=1))
        show(SweepProgress(total=8, finished=8))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("web [x]: 25%, 2 of 8 runs, 1 failed, ")
    with terminal.progress_bar("reproduce") as line_of:
        line_of(Progress(1, 4, 0.25, 1.0))
        line_of(Progress(4, 4, 1.0, 1.0))
    assert capsys.readouterr().err == "reproduce: 25%, 1 of 4 runs\n"
