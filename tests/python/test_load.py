"""The offered load: what `check` and `run` print of it, and where it is kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import incastle as ic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Output

    Cli = Callable[..., Output]

FABRIC = """
[run]
duration = "200 us"
[network]
topology = "leaf-spine"
leaves = 4
spines = 4
hosts_per_leaf = 12
rate = "10 Gbit/s"
delay = "1 us"
[transport]
min_rto = "200 ms"

[flows.search]
workload = "poisson"
from = "all"
to = "all"
sizes = "1460 B"
load = 0.5
"""
"""3 to 1: of 47 other hosts 36 are in other racks: 12 x 0.5 x 36 / 47 links of traffic pass 4."""

UPLINKS = 1.5 * 36 / 47
FULL = 1500 / 1460
"""A full packet on the wire, over what the application gave."""


@pytest.fixture
def three_to_one(folder: Path) -> str:
    (folder / "three.toml").write_text(FABRIC)
    return "three.toml"


def lines(out: str) -> list[str]:
    """Give the lines with single spaces: tables are as wide as they need to be."""
    return [" ".join(line.split()) for line in out.splitlines()]


def test_check_shows_each_tier_and_warns(cli: Cli, three_to_one: str) -> None:
    output = cli("check", three_to_one)
    assert output.status == 0
    assert "three.toml: correct, with 1 warning\n" in output.out
    assert "Offered load, on average" in output.out
    found = lines(output.out)
    hosts = "hosts both 48 of 48 50.0 % 51.4 % 51.4 % host:0->leaf:0"
    uplinks = "uplinks both 16 of 16 114.9 % 118.0 % 118.0 % leaf:0->spine:0"
    assert hosts in found
    assert uplinks in found
    line = 1 + FABRIC[: FABRIC.index("load = 0.5")].count("\n")
    assert f"three.toml:{line}:8: warning: this group offers 118.0 % of" in output.err
    assert 'load = 0.423 makes it 100 %; load_of = "uplinks"' in output.err
    # Nothing but the scenario where that is asked for.
    assert "Offered" not in cli("check", three_to_one, "--resolved").out


def test_what_is_below_is_not_warned_of(cli: Cli, three_to_one: str) -> None:
    output = cli("check", three_to_one, "--set", "flows.search.load_of=uplinks")
    assert "uplinks both 16 of 16 50.0 % 51.4 % 51.4 % leaf:0->spine:0" in lines(output.out)
    assert output.err == ""
    output = cli("check", three_to_one, "--set", "network.oversubscription=1:1")
    assert "uplinks both 16 of 16 38.3 % 39.3 % 39.3 % leaf:0->spine:0" in lines(output.out)
    assert output.err == ""


def test_a_tier_that_is_not_there(cli: Cli, three_to_one: str) -> None:
    output = cli("check", three_to_one, "--set", "flows.search.load_of=core")
    assert output.status == 2
    assert "this network has no core links" in output.err
    assert 'valid: "hosts", "uplinks"' in output.err


def test_run_shows_and_keeps_it(cli: Cli, three_to_one: str, folder: Path) -> None:
    output = cli("run", three_to_one, "--out", "one")
    assert "uplinks both 16 of 16 114.9 % 118.0 % 118.0 % leaf:0->spine:0" in lines(output.out)
    assert "this group offers 118.0 %" in output.out.partition("Warnings")[2]
    kept = ic.Result.load(folder / "one")
    assert kept.offered_load == ic.load(folder / "three.toml").offered_load
    hosts, uplinks = kept.offered_load["together"]
    assert hosts["wire"] == pytest.approx(0.5 * FULL)
    assert uplinks == {
        "tier": "uplinks",
        "direction": "both",
        "links": 16,
        "of": 16,
        "application": pytest.approx(UPLINKS),
        "wire": pytest.approx(UPLINKS * FULL),
        "max": pytest.approx(UPLINKS * FULL),
        "max_link": "leaf:0->spine:0",
    }
    output = cli("run", three_to_one, "--json", "--out", "two")
    assert json.loads(output.out)["offered_load"] == kept.offered_load
    assert any("this group offers 118.0 %" in one for one in json.loads(output.out)["warnings"])
    assert "Offered load" in cli("run", three_to_one, "--seeds", "2", "--out", "seeds").out


def test_a_list_of_flows_draws_nothing(cli: Cli, folder: Path) -> None:
    rows = ["start_s,source,destination,bytes"]
    rows += [f"{at},sender:0,receiver,1000000" for at in (0.5, 0.6)]
    (folder / "flows.csv").write_text("\n".join(rows), encoding="utf-8")
    text = (folder / "small.toml").read_text(encoding="utf-8").partition("[flows.")[0]
    listed = 'workload = "flow-list"\nfrom = "senders"\nto = "receiver"\ntransfers = "flows.csv"\n'
    (folder / "list.toml").write_text(f"{text}[flows.list]\n{listed}", encoding="utf-8")
    output = cli("run", "list.toml", "--set", "run.duration=2 s", "--out", "list")
    assert output.status == 0, output.err
    assert "at random" not in output.out


def test_run_says_what_it_drew(cli: Cli, three_to_one: str, folder: Path) -> None:
    drawn = {}
    for sizes in ("16 KB", "websearch"):
        output = cli("run", three_to_one, "--set", f"flows.search.sizes={sizes}", "--out", sizes)
        kept = ic.Result.load(folder / sizes)
        [group] = kept.offered_load["groups"]
        expected = group["application_bytes_s"] * kept.totals["simulated_s"]
        drawn[sizes] = kept.transfers["bytes"].sum() / expected
        apart = abs(drawn[sizes] - 1) > 0.05
        words = (
            f"this run drew {100 * drawn[sizes]:.0f} % (search) of the bytes that the load above"
        )
        assert (words in output.out) == apart, drawn
    assert abs(drawn["16 KB"] - 1) < 0.05 < abs(drawn["websearch"] - 1)
    web_search = ("--set", "flows.search.sizes=websearch")
    output = cli("run", three_to_one, *web_search, "--seeds", "2", "--out", "seeds")
    runs = [ic.Result.load(folder / "seeds" / f"seed-{seed}") for seed in (1, 2)]
    shares = [float(run.transfers["bytes"].sum()) / run.totals["simulated_s"] for run in runs]
    shares = [share / group["application_bytes_s"] for share in shares]
    low, high = (f"{100 * share:.0f}" for share in sorted(shares))
    assert f"at random: these 2 runs drew {low} to {high} % (search) of the bytes" in output.out


def test_groups_have_rows_of_their_own(cli: Cli, three_to_one: str) -> None:
    more = "{ workload = 'cbr', from = 'host:0', to = 'host:1', rate = '1 Gbit/s' }"
    output = cli("check", three_to_one, "--set", f"flows.steady={more}")
    found = lines(output.out)
    assert "steady hosts both 1 of 48 10.0 % 10.3 % 10.3 % host:0->leaf:0" in found
    assert "uplinks both 0 of 16" in found
    assert "all together hosts both" in " ".join(found)
    load = ic.load("three.toml", [("flows.steady", more)]).offered_load
    assert [one["group"] for one in load["groups"]] == ["search", "steady"]


def test_what_adapts_is_named(cli: Cli) -> None:
    output = cli("check", "small.toml")
    assert "offered load of long (bulk)" in output.out
    assert "adapts to the network" in output.out


def test_help_says_what_is_checked(cli: Cli) -> None:
    words = " ".join(cli("check", "--help").out.replace("│", " ").split())
    assert "offered load on average, for each tier" in words
