"""Captures of links: where they go and messages about them; tests/interop reads them."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import incastle as ic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Output

    Cli = Callable[..., Output]

PCAPNG = b"\x0a\x0d\x0d\x0a"
BOTH = ("--set", "measure.pcap=['switch<->receiver', 'sender:1->switch']")


def test_a_result_keeps_its_captures(scenario: ic.Scenario, tmp_path: Path) -> None:
    result = ic.run(scenario, overrides={"measure.pcap": ["switch->receiver"]})
    assert set(result.captures) == {"switch-receiver"}
    assert result.captures["switch-receiver"].startswith(PCAPNG)
    place = result.save(tmp_path / "one")
    file = place / "captures" / "switch-receiver.pcapng"
    assert file.read_bytes() == result.captures["switch-receiver"]
    for again in (ic.Result.load(place), pickle.loads(pickle.dumps(result))):
        assert again.captures == result.captures


def test_without_captures_nothing_is_written(result: ic.Result, tmp_path: Path) -> None:
    assert result.captures == {}
    place = result.save(tmp_path / "one")
    assert not (place / "captures").exists()
    assert ic.Result.load(place).captures == {}


def test_run_says_where_they_are(cli: Cli, folder: Path) -> None:
    output = cli("run", "small.toml", *BOTH, "--out", "one")
    assert output.status == 0
    assert "captures: 2 files for Wireshark in one/captures" in output.err
    names = sorted(path.name for path in (folder / "one" / "captures").iterdir())
    assert names == ["sender-1-switch.pcapng", "switch-receiver.pcapng"]
    assert "captures" not in cli("run", "small.toml", "--out", "two").err
    several = cli("run", "small.toml", *BOTH, "--seeds", "2", "--out", "many")
    assert "captures: 2 files for Wireshark in many/seed-N/captures" in several.err
    assert (folder / "many" / "seed-2" / "captures" / "switch-receiver.pcapng").exists()


def test_a_result_whose_capture_is_gone_is_not_there_already(cli: Cli, folder: Path) -> None:
    assert cli("run", "small.toml", *BOTH, "--out", "one").status == 0
    assert "already in one" in cli("run", "small.toml", *BOTH, "--out", "one").err
    (folder / "one" / "captures" / "switch-receiver.pcapng").unlink()
    assert cli("run", "small.toml", *BOTH, "--out", "one").status == 2


def test_a_link_that_is_not_there_is_reported_with_those_that_are(cli: Cli) -> None:
    output = cli("run", "small.toml", "--set", "measure.pcap=switch->reciever")
    assert output.status == 2
    assert 'no link "switch->reciever"' in output.err
    assert 'did you mean "switch->receiver"?' in output.err
