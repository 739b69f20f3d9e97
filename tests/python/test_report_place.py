"""The place of a report: what it replaces, and what it keeps when it is stopped or killed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from incastle.errors import IncastleError
from incastle.reproduction import main as reproduce
from incastle.reproduction import report
from incastle.storage import files
from test_report import NAME, FakeEngine, drawing_engine, engine, quick

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["drawing_engine", "engine"]


def test_a_part_does_not_replace_a_report_that_holds_more(
    engine: FakeEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert reproduce.main([NAME], length="quick") == 0
    whole = (tmp_path / "report-quick" / "index.html").read_bytes()
    engine.ran.clear()
    assert reproduce.main([NAME], figure="1", length="quick") == 0
    assert not engine.ran, "the finished runs are those of the whole report"
    assert (tmp_path / "report-quick" / "index.html").read_bytes() == whole
    page = (tmp_path / "report-quick-part" / "index.html").read_text(encoding="utf-8")
    assert "quick length, figure 1 alone." in page
    told = capsys.readouterr()
    assert "report-quick also holds the other figures: this report goes to report" in told.err
    assert "The report: report-quick-part/index.html" in told.out
    with pytest.raises(IncastleError, match="report-quick also holds the other figures: choose"):
        reproduce.main([NAME], figure="1", length="quick", out="report-quick")
    with pytest.raises(IncastleError, match="report-quick also holds dctcp-ns2: choose"):
        reproduce.main(["comparison"], length="quick", out="report-quick")


@pytest.mark.parametrize("step", ["sync_all", "exchange"])
def test_an_interrupt_while_the_report_is_exchanged_loses_no_run(
    step: str, engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "report"
    quick(out, figure="1")

    def interrupted(*_: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(files, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            quick(out, figure="1")
    engine.ran.clear()
    quick(out, figure="1")
    assert not engine.ran


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_killed_exchange_loses_no_run(
    can_exchange: bool, engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "report"
    quick(out, figure="1")
    runs = {path.name for path in (out / "runs").rglob("*")}

    class KilledError(Exception):
        """Stands for the end of the process: nothing is put in order after it."""

    def killed(*_: Any, **__: Any) -> None:
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(files, "_move", killed)
        patched.setattr(shutil, "rmtree", lambda *_, **__: None)
        if not can_exchange:
            patched.setattr(files, "exchange", lambda *_: False)
        with pytest.raises(KilledError):
            quick(out, figure="1")
    assert not (out / "runs").exists()
    engine.ran.clear()
    quick(out, figure="1")
    assert not engine.ran
    assert {path.name for path in (out / "runs").rglob("*")} == runs
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report"]


def test_an_old_report_is_replaced_whole(engine: FakeEngine, tmp_path: Path) -> None:
    out = tmp_path / "report"
    quick(out, figure="2")
    (out / NAME / "left-over.svg").write_text("old")
    quick(out, figure="2")
    assert not (out / NAME / "left-over.svg").exists()
    assert len(engine.ran) == 6  # figure 2 and its two speeds, each with TCP and DCTCP


def test_a_report_that_cannot_be_finished_leaves_the_old_one(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "report"
    quick(out, figure="1")
    page = (out / "index.html").read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(report, "_pages", full)
    with pytest.raises(OSError, match="No space"):
        quick(out, figure="1")
    assert (out / "index.html").read_bytes() == page
    assert len(engine.ran) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report"]


def test_other_peoples_files_are_left_alone(engine: FakeEngine, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(IncastleError, match="is not a report"):
        quick(tmp_path)
    with pytest.raises(IncastleError, match="not a folder"):
        quick(tmp_path / "thesis.tex")
    assert not engine.ran
