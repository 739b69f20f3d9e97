"""The half of bench/versus_ns3 that needs no ns-3: its lists, its scenarios, the input of ns-3."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

import arrivals
import halves
import incastle as ic
import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Move what the benchmark writes, with its scenarios, to a folder of the test."""
    for name in ("cluster", "star"):
        shutil.copy(halves.HERE / f"{name}.toml", tmp_path)
    monkeypatch.setattr(run, "HERE", tmp_path)
    return tmp_path


def test_a_list_is_ordered_and_exact(tmp_path: Path) -> None:
    listed = [
        arrivals.Arrival(0.25, "sender:1", "receiver", 7),
        arrivals.Arrival(1e-12, "receiver", "sender:0", 10**14),
    ]
    path = tmp_path / "list.csv"
    arrivals.write(path, listed)
    lines = path.read_text(encoding="ascii").splitlines()
    assert lines[1:] == [
        "0.000000000001,receiver,sender:0,100000000000000",
        "0.250000000000,sender:1,receiver,7",
    ]
    assert arrivals.read(path) == sorted(listed)


def test_the_cluster_slice_has_all_requests_answers_and_messages(work: Path) -> None:
    seconds = 0.02
    listed = arrivals.of_cluster(run.CLUSTER, seconds)
    asked = [one for one in listed if one.bytes == arrivals.REQUEST_BYTES]
    # Each query asks the 44 other servers at one instant.
    assert len(asked) % 44 == 0
    assert len(asked) > 0
    answered = {(one.start_s, one.source, one.destination) for one in listed} - {
        (one.start_s, one.source, one.destination) for one in asked
    }
    for one in asked:
        when = one.start_s + arrivals.ANSWER_AFTER_S
        assert when >= seconds or (when, one.destination, one.source) in answered
    folder = run.case("cluster", {"run.duration": f"{seconds:g} s"}, listed)
    assert folder.parent.parent == work
    ours = halves.incastle(folder)
    assert len(ours.completed_s) == len(listed)
    assert sum(end is not None for end in ours.completed_s) > 0.9 * len(listed)


def test_the_star_fills_its_link(work: Path) -> None:
    keys: dict[str, str | int] = {
        "run.duration": "40 ms",
        "measure.warmup": "20 ms",
        "network.senders": 3,
    }
    folder = run.case("star", keys, arrivals.of_star(3))
    assert folder.is_relative_to(work)
    ours = halves.incastle(folder)
    # 20 ms at 1 Gbit/s, 1460 of 1500 bytes.
    assert ours.received_bytes == pytest.approx(2.5e6 * 1460 / 1500, rel=1e-3)
    assert 10 < ours.mean_queue < 25
    assert ours.completed_s == [None] * 3


@pytest.mark.parametrize("name", ["cluster", "star"])
def test_ns3_gets_the_options_of_the_scenario(name: str, work: Path) -> None:
    folder = run.case(name, {}, arrivals.of_star(2))
    assert folder.is_relative_to(work)
    # The scenario is right, so that what is read from it is what Incastle runs.
    assert ic.load(folder / "scenario.toml").warnings == ()
    options = halves.ns3_options(halves.fields_of(folder))
    assert options["senderRate"] == "1Gbps"
    assert options["delay"] == "25us"
    assert options["markAbove"] == "20"
    assert options["seconds"] == "1.0"
    expected = {
        "cluster": ("45", "10Gbps", "462", str(128 << 10), "2", "0.0"),
        "star": ("2", "1Gbps", "2000", str(1 << 20), "1", "0.5"),
    }
    keys = ("senders", "receiverRate", "switchPackets", "receiveWindow", "ackEvery", "from")
    assert tuple(options[key] for key in keys) == expected[name]


def test_what_ns3_cannot_be_told_is_refused() -> None:
    with pytest.raises(ValueError, match="ns-3 takes packets"):
        halves.packets_of("694 KB")
