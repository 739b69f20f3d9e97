"""What `incastle sweep` prints: its tables, and its progress where there is no terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl
import pytest

import incastle as ic
from incastle import terminal
from incastle.analysis.completions import how_to_complete
from incastle.analysis.measures import groups_of
from incastle.analysis.seeds import over_seeds
from incastle.commands import many_runs
from incastle.commands.sweep import of_seeds
from incastle.runner import Progress
from incastle.sweeps.progress import SweepProgress
from incastle.terminal import aligned

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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


def test_a_cell_without_an_upper_bound_has_the_mean_of_the_lower_ones() -> None:
    frame = pl.DataFrame(
        {
            "completion_p99_s": [None, 0.2, None],
            "completion_p99_low_s": [0.01, 0.2, 0.03],
            "completion_p99_high_s": [math.inf, 0.2, math.inf],
        }
    )
    (row,) = over_seeds(frame, [], "completion_p99_s").iter_rows(named=True)
    assert row["mean_from"] == 0
    assert of_seeds(row, 1e-3) == "\u2265 80\n[dim]\u2265 10[/]"


def test_what_covers_the_whole_run_is_named_so(cli: Cli, folder: Path) -> None:
    """Rates of the whole run stand beside times of the measured interval."""
    words = ("sweep", "small.toml", "--set", "network.senders=2,3", "--seeds", "2")
    whole = cli(*words, "--out", "whole")
    assert "whole run" not in whole.out.partition("FCT")[0]
    part = cli(*words, "--set", "measure.until=15 ms", "--out", "part")
    first, _, second = part.out.partition("each group of flows")
    assert "whole run" in first
    assert "whole run" in second.partition("\n\n")[0]
    assert (folder / "part").is_dir()


def test_a_remedy_that_is_taken_is_not_advised() -> None:
    assert "set [measure] until before the end" in how_to_complete(1.0, 1.0)
    taken = how_to_complete(0.5, 1.0)
    assert "until before the end" not in taken
    assert "an earlier [measure] until, or a longer run.duration" in taken


def test_numbers_are_whole_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    long = "1234567890" * 3
    table = aligned(None, *("x" * 30 for _ in range(9)))
    table.add_row(*(long for _ in range(9)))
    many_runs.titled("wide", table)
    assert capsys.readouterr().out.count(long) == 9


@pytest.mark.parametrize("width", range(12, 60))
def test_titles_end_no_line_between_a_number_and_its_unit(
    width: int, capsys: pytest.CaptureFixture[str]
) -> None:
    title = "Flow completion times of web, transfers that began from 0 s to 25 ms, 6 of 22"
    terminal.output().print(aligned(title, "x" * width))
    head, *_ = capsys.readouterr().out.split("x", 1)
    empty, *lines = head.splitlines()
    assert not empty.strip()
    assert " ".join(" ".join(lines).split()) == title
    assert all(len(line.rstrip()) <= width for line in lines)
    # Each word that follows a number stands on its line.
    assert all(any(pair in line for line in lines) for pair in ("0 s", "25 ms", "6 of"))


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


LOSSLESS = """
name = "r"
[run]
duration = "1 ms"
[network]
topology = "star"
senders = 2
rate = "10 Gbit/s"
delay = "1 us"
[switch]
buffer = { shared = "1 MB", alpha = 1.0 }
queue = { kind = "priorities" }
pfc = { priorities = [3] }
[transport]
kind = "rdma"
traffic_class = 3
congestion = "timely"
[flows.a]
workload = "bulk"
from = "senders"
to = "receiver"
"""


def test_a_mistake_of_some_combinations_names_the_first(cli: Cli, folder: Path) -> None:
    (folder / "r.toml").write_text(LOSSLESS, encoding="utf-8")
    keys = ("--set", "network.senders=2,128", "--set", "transport.min_rate=1 Mbit/s,2 Mbit/s")
    output = cli("sweep", "r.toml", *keys)
    assert output.status == 2
    words = "nothing is left to share (with network.senders=128, transport.min_rate=1 Mbit/s and 1 "
    assert words in " ".join(output.err.split())
