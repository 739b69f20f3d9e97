"""Pictures: every kind in every format, and clear words where there is nothing to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import incastle as ic
from incastle import plots

if TYPE_CHECKING:
    from pathlib import Path

MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.mark.parametrize("kind", plots.KINDS)
def test_every_kind(result: ic.Result, kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"{kind}.png"
    assert "parquet" in plots.plot(result, kind, path)
    assert path.stat().st_size > 5000
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", MAGIC)
def test_every_format(result: ic.Result, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"queue.{suffix}"
    plots.plot(result, "queue", path)
    assert path.read_bytes().startswith(MAGIC[suffix])


def test_queue_says_what_it_is_drawn_from(
    result: ic.Result, scenario: ic.Scenario, tmp_path: Path
) -> None:
    assert "samples" in plots.plot(result, "queue", tmp_path / "a.png")
    assert "histogram" in plots.plot(ic.run(scenario), "queue", tmp_path / "b.png")


def test_no_such_kind_or_format(result: ic.Result, tmp_path: Path) -> None:
    with pytest.raises(ic.PlotError, match="there are queue, window"):
        plots.plot(result, "qeue", tmp_path / "a.png")
    with pytest.raises(ic.PlotError, match=r"\.png, \.svg, \.pdf"):
        plots.plot(result, "queue", tmp_path / "a.gif")


def test_nothing_to_draw(scenario: ic.Scenario, tmp_path: Path) -> None:
    plain = scenario.with_({"transport.congestion": "new-reno", "measure.window": "long"})
    with pytest.raises(ic.PlotError, match="alpha"):
        plots.plot(ic.run(plain), "alpha", tmp_path / "a.png")
    with pytest.raises(ic.TableMissing, match="throughput"):
        plots.plot(ic.run(plain), "throughput", tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_more_lines_than_colours(scenario: ic.Scenario, tmp_path: Path) -> None:
    many = scenario.with_({"network.senders": 20, "measure.window": "long"})
    plots.plot(ic.run(many), "window", tmp_path / "a.svg")
    assert "and 12 more" in (tmp_path / "a.svg").read_text()
