"""`incastle report`: one page about a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl
from matplotlib.image import imread

import incastle as ic
from incastle.explanation import api
from incastle.report import page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from conftest import Output

INCAST = """
[run]
duration = "300 ms"
stop = "when-done"
[network]
topology = "star"
senders = 12
rate = "1 Gbit/s"
[switch]
buffer = "32 KiB"
[flows.storage]
workload = "barrier-incast"
from = "senders"
to = "receiver"
sru = "64 KiB"
rounds = 2
"""


def test_the_page_has_scenario_figures_tables_and_the_slowest_flows(
    cli: Callable[..., Output], tmp_path: Path
) -> None:
    scenario = tmp_path / "incast.toml"
    scenario.write_text(INCAST)
    result = tmp_path / "result"
    assert cli("run", str(scenario), "--out", str(result)).status == 0
    output = cli("report", str(result))
    assert output.status == 0, output.err
    assert output.out.strip() == str(result / "report.html")
    text = (result / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|<script|<link|@import|url\(", text)
    assert 'buffer = "32 KiB"' in text.replace("&#34;", '"')
    assert text.count("data:image/png;base64,") >= 3
    assert text.count("<section>") == page.FLOWS
    assert "Switch ports, " in text
    assert "retransmission timeout" in text
    assert cli("run", str(scenario), "--out", str(result), "--force").status == 0


def test_the_page_names_the_algorithm_and_the_network(
    cli: Callable[..., Output], tmp_path: Path
) -> None:
    scenario = tmp_path / "incast.toml"
    scenario.write_text(INCAST)
    for seeds in ("1", "2"):
        out = tmp_path / seeds
        assert cli("run", str(scenario), "--seeds", seeds, "--out", str(out)).status == 0
        output = cli("report", str(out))
        assert output.status == 0, output.err
        text = (out / "report.html").read_text(encoding="utf-8")
        assert "<h1>incast: NewReno, star (senders 12, receivers 1)</h1>" in text
        # Without samples the queue over time would be its distribution once more.
        assert text.count("from the time-weighted histogram") == 1
        assert ("Flow completion times over the seeds" in text) is (seeds == "2")
        assert ("The slowest flows: seed " in text) is (seeds == "2")
    scenario.write_text(INCAST.replace("64 KiB", "32 KiB"))
    assert cli("run", str(scenario), "--out", str(tmp_path / "2" / "seed-3")).status == 0
    output = cli("report", str(tmp_path / "2"))
    assert output.status == 2
    assert "holds results of different scenarios" in output.err


def test_flows_before_the_warmup_are_not_the_slowest(
    cli: Callable[..., Output], tmp_path: Path
) -> None:
    scenario, out = tmp_path / "incast.toml", tmp_path / "out"
    scenario.write_text(INCAST + '[measure]\nwarmup = "1 ms"\n')
    assert cli("run", str(scenario), "--out", str(out)).status == 0
    result = ic.Result.load(out)
    late = set(result.observed.filter(pl.col("kind") != "round")["flow"])
    assert len(result.observed) < len(result.transfers)
    why = [ic.explain(result), *map(ic.explain, [result] * len(late), sorted(late))]
    assert all(one.began_s >= 0.001 for one in why)
    assert set(api.slowest_flows(result, 12)) == late


def test_a_sweep_is_a_page_with_its_table_and_measures(
    cli: Callable[..., Output], tmp_path: Path
) -> None:
    out = tmp_path / "swept"
    lists = ("--set", "network.senders=2,4", "--set", "transport.congestion=dctcp,cubic")
    assert cli("sweep", "small.toml", *lists, "--seeds", "2", "--out", str(out)).status == 0
    output = cli("report", str(out))
    assert output.status == 0, output.err
    text = (out / "report.html").read_text(encoding="utf-8")
    assert "<h1>small, by network.senders and transport.congestion</h1>" in text
    assert text.count("<tr><td>2</td><td>DCTCP</td>") >= 1, "as figures name it"
    assert ".wide::-webkit-scrollbar {" in text
    assert "FCT by network.senders" in text
    assert "queue by network.senders" in text
    assert "<section>" not in text
    assert cli("sweep", "small.toml", *lists, "--seeds", "2", "--out", str(out)).status == 0


def test_a_page_has_a_name_of_a_page(cli: Callable[..., Output], tmp_path: Path) -> None:
    output = cli("report", str(tmp_path), "--out", "page.pdf")
    assert output.status == 2
    assert "--out page.pdf: must end in .html" in output.err


def test_flows_without_an_end_are_not_explained(
    cli: Callable[..., Output], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = tmp_path / "bulk.toml"
    bulk = INCAST.replace("barrier-incast", "bulk")
    scenario.write_text(re.sub(r"(sru|rounds|stop) = .*\n", "", bulk))
    result, out = tmp_path / "result", tmp_path / "page.html"
    monkeypatch.chdir(tmp_path)
    assert cli("run", str(scenario), "--set", "run.duration=5 ms", "--out", str(result)).status == 0
    assert cli("report", str(result), "--out", str(out)).status == 0
    assert "No flow of this run has an end." in out.read_text(encoding="utf-8")


def test_an_explanation_is_drawn_in_the_style_and_the_size_that_are_wanted(
    cli: Callable[..., Output], tmp_path: Path
) -> None:
    result, small = ic.run(ic.Scenario.from_text(INCAST)), tmp_path / "small.png"
    result.save(tmp_path / "result")
    words = ("explain", str(tmp_path / "result"))
    figure = ("--plot", str(small), "--style", "ieee", "--size", "3.5x3")
    output = cli(*words, *figure)
    assert output.status == 0, output.err
    assert imread(small).shape[:2] == (900, 1050)
    output = cli(*words, "--style", "ieee")
    assert output.status == 2
    assert "--style and --size are of --plot" in output.err
