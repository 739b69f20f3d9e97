"""Pauses of PFC: their roots, what a run prints of them, and drops of lossless priorities."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import incastle as ic
from incastle import pauses
from incastle.analysis import measures

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Output

INCAST = """\
name = "incast"
network = { topology = "star", senders = 4, rate = "100 Gbit/s", delay = "1 us" }
transport = { kind = "rdma", congestion = "timely", traffic_class = 3 }
run = { duration = "2 ms" }

[switch]
buffer = { shared = "500 KB" }
queue = { kind = "priorities" }
pfc = { priorities = [3] }

[flows.incast]
workload = "bulk"
from = "senders"
to = "receiver"
size = "1 MB"
"""


def scenario(**overrides: str | bool | int | dict[str, str]) -> ic.Scenario:
    keys = {key.replace("__", "."): value for key, value in overrides.items()}
    return ic.Scenario.from_text(INCAST).with_overrides(keys)


def test_pauses_have_their_root() -> None:
    outcome = ic.run(scenario(measure__pauses=True))
    record = outcome.table("pause_record")
    assert set(record["root_port"]) == {"switch->receiver"}
    assert set(record["depth"]) == {1}
    lasted = (record["end_s"].fill_null(2e-3) - record["begin_s"]).sum()
    assert lasted == pytest.approx(outcome.pauses["paused_s"].sum(), rel=1e-9)
    assert len(record) == outcome.totals["pauses"] > 0
    assert outcome.totals["drops"] == 0


def test_a_pause_whose_root_changes_has_a_row_for_each() -> None:
    storm = {"of": "receiver", "from": "200 us", "until": "10 ms"}
    outcome = ic.run(scenario(measure__pauses=True, network__pause_storms__broken=storm))
    record = outcome.table("pause_record")
    assert record["pause"].n_unique() == outcome.totals["pauses"] < len(record)
    # From then on the NIC is the root, also of pauses that had begun before.
    nic = record.filter(pl.col("root_port") == "receiver->switch")
    assert nic["begin_s"].min() == pytest.approx(201e-6, abs=1e-6)
    ends = record["end_s"].fill_null(2e-3)
    late = record.filter(ends > 300e-6)
    assert set(late["root_port"]) == {"receiver->switch"}
    lasted = (ends - record["begin_s"]).sum()
    assert lasted == pytest.approx(outcome.pauses["paused_s"].sum(), rel=1e-9)


def test_the_record_is_made_where_asked() -> None:
    outcome = ic.run(scenario())
    with pytest.raises(ic.TableMissing, match="write pauses = true"):
        outcome.table("pause_record")
    assert outcome.totals["pauses"] == outcome.pauses["pauses"].sum() > 0


def test_a_run_prints_who_was_paused(cli: Callable[..., Output]) -> None:
    Path("incast.toml").write_text(INCAST, encoding="utf-8")
    printed = cli("run", "incast.toml", "--set", "measure.pauses=true")
    assert printed.status == 0
    assert "Ports paused by PFC, whole run" in printed.out
    assert "sender:0->switch" in printed.out
    assert "Roots of the pauses" in printed.out
    assert "misconfiguration" not in printed.out


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("switch.pfc.priorities=[3]", "no ingress port reached XOFF"),
        ("switch.pfc=off", "[switch.pfc] is off"),
        ("switch.pfc.pause_frames=false", "switch.pfc.pause_frames is false"),
    ],
)
def test_a_run_prints_that_nothing_was_paused(
    setting: str, why: str, cli: Callable[..., Output]
) -> None:
    Path("incast.toml").write_text(INCAST, encoding="utf-8")
    options = ("--set", setting, "--set", "switch.buffer.shared=64 MB", "--force")
    unmeasured = cli("run", "incast.toml", *options)
    assert "No port was paused" not in unmeasured.out
    measured = cli("run", "incast.toml", *options, "--set", "measure.pauses=true")
    assert measured.status == 0
    assert f"No port was paused: {why}" in measured.out


def test_drops_of_a_lossless_priority_are_named(cli: Callable[..., Output]) -> None:
    Path("incast.toml").write_text(INCAST, encoding="utf-8")
    small = ("--set", "switch.pfc.headroom=1 KB", "--set", "switch.buffer.shared=300 KB")
    printed = cli("run", "incast.toml", *small)
    assert printed.status == 0
    words = " ".join(printed.out.split())
    assert "packets of lossless priorities were dropped, because headroom was full" in words
    assert "a misconfiguration" in words
    # The check has said so before.
    assert "headroom of 1 KB is too small" in " ".join(printed.err.split())


def test_drops_without_pauses_blame_no_headroom(cli: Callable[..., Output]) -> None:
    Path("incast.toml").write_text(INCAST, encoding="utf-8")
    printed = cli("run", "incast.toml", "--set", "switch.pfc.pause_frames=false")
    words = " ".join(printed.out.split())
    assert "were dropped, because the switches send no pauses" in words
    assert "misconfiguration" not in words


def test_a_sweep_shows_the_paused_share(cli: Callable[..., Output]) -> None:
    Path("incast.toml").write_text(INCAST, encoding="utf-8")
    values = ("--set", "switch.pfc.pause_frames=true,false")
    printed = cli("sweep", "incast.toml", *values, "--json", "--out", "both")
    paused, free = json.loads(printed.out)["runs"]
    outcome = ic.run(scenario())
    ports = 2 * 5  # four senders and a receiver, in both directions
    share = float(outcome.pauses["paused_s"].sum()) / (ports * outcome.totals["simulated_s"])
    assert paused["paused_share"] == pytest.approx(share, rel=1e-12)
    assert 0 < share < 0.4  # four of ten ports were paused for a part of the time
    assert free["paused_share"] == 0
    table = cli("sweep", "both").out
    assert f"{share:.3g}" in table
    words = " ".join(table.split())
    assert "paused share of all ports (their mean: those that were never paused" in words
    # The heading says of which ports.
    assert re.search(r"paused share\s.*\n.*of all ports\s", table)


def test_a_sweep_without_pauses_has_no_column_of_them(cli: Callable[..., Output]) -> None:
    Path("incast.toml").write_text(INCAST, encoding="utf-8")
    values = ("--set", "switch.pfc.pause_frames=false", "--seeds", "2")
    printed = cli("sweep", "incast.toml", *values)
    assert printed.status == 0
    assert "paused" not in printed.out


def test_the_paused_share_of_a_port_is_that_of_its_longest_priority() -> None:
    both = INCAST.replace("priorities = [3]", "priorities = [3, 4]").replace("500 KB", "1 MB")
    both += INCAST.partition("\n[flows.incast]")[2].join(["\n[flows.other]", ""])
    both += 'transport = { kind = "rdma", congestion = "timely", traffic_class = 4 }\n'
    outcome = ic.run(ic.Scenario.from_text(both))
    assert set(outcome.pauses.filter(outcome.pauses["pauses"] > 0)["priority"]) == {3, 4}
    longest = outcome.pauses.group_by("port").agg(pl.col("paused_s").max())["paused_s"]
    expected = float(longest.sum()) / (len(outcome.links) * outcome.totals["simulated_s"])
    assert measures.measure(outcome)["paused_share"] == pytest.approx(expected, rel=1e-12)


def test_headroom_that_was_full_has_a_remedy() -> None:
    [small] = pauses.notes_of(ic.run(scenario(switch__pfc__headroom="2 KB")))
    assert small.endswith('a misconfiguration. switch.pfc.headroom = "auto" is enough.')
    short = ic.run(scenario(switch__pfc__quanta=1, switch__buffer__shared="400 KB"))
    [expired] = pauses.notes_of(short)
    assert 'headroom is "auto", which is enough where pauses last' in expired
