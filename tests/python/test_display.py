"""Rich display in notebooks: results and scenarios as HTML."""

from __future__ import annotations

import base64
import html
import io
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest
from matplotlib.image import imread

import incastle as ic
from conftest import MEASURED, SMALL
from incastle.browser import link, server
from incastle.display.html import NOT_IN_THE_LAB

if TYPE_CHECKING:
    from pathlib import Path


class Fixed(ic.Controller):
    """A window that never changes."""

    def on_ack(self, ack: ic.Ack) -> None:
        """Do nothing."""


@pytest.fixture(scope="module")
def scenario() -> ic.Scenario:
    return ic.Scenario.from_text(SMALL)


@pytest.fixture(scope="module")
def result(scenario: ic.Scenario) -> ic.Result:
    return ic.run(scenario)


def cells(shown: str) -> dict[str, str]:
    """Read the table of totals."""
    found = re.findall(r"<th.*?>(.*?)</th><td.*?>(.*?)</td>", shown)
    return dict(found)


def image(shown: str) -> bytes:
    (found,) = re.findall('src="data:image/png;base64,(.*?)"', shown)
    return base64.b64decode(found)


def test_a_result_is_a_figure_and_its_totals(result: ic.Result) -> None:
    shown = result._repr_html_()
    assert "small: DCTCP, star (senders 4, receivers 1)" in shown
    assert f"Seed 1, 20 ms simulated, digest {result.digest}" in shown
    height, width, _ = imread(io.BytesIO(image(shown))).shape
    assert width > height > 100
    totals = cells(shown)
    assert totals["flows"] == "5"
    assert totals["marks"] == f"{result.totals['marks']:,}"
    assert result.totals["marks"] > 0
    assert totals["timeouts"] == "0"
    assert "pauses by PFC" not in totals, "there is no PFC"
    assert "<code>ic.lab(result)</code> opens it in the lab" in shown
    assert not re.search(r"https?://|<script|<link|@import|url\(", shown)


def test_its_figure_is_the_first_that_has_data(result: ic.Result, scenario: ic.Scenario) -> None:
    sampled = ic.run(ic.Scenario.from_text(SMALL + MEASURED))
    assert sampled.digest == result.digest
    of_samples, of_transfers = (image(one._repr_html_()) for one in (sampled, result))
    assert of_samples != of_transfers
    without = {name: frame for name, frame in result.tables.items() if name != "transfers"}
    of_queues = image(replace(result, tables=without)._repr_html_())
    assert len({of_samples, of_transfers, of_queues}) == 3
    empty = {**without, "transfers": result.transfers.clear()}
    assert image(replace(result, tables=empty)._repr_html_()) == of_queues
    bare = replace(result, tables={"summary": pl.DataFrame()})._repr_html_()
    assert "<img" not in bare
    assert cells(bare)["flows"] == "5"
    assert scenario.seed == 1


def test_what_went_wrong_is_shown(result: ic.Result) -> None:
    stopped = replace(result, interrupted=True, warnings=("a < b",))._repr_html_()
    assert f"digest {result.digest}, interrupted" in stopped
    assert "Warning: a &lt; b" in stopped


def test_a_scenario_is_its_facts_and_its_text(scenario: ic.Scenario) -> None:
    changed = scenario.with_overrides({"network.senders": 8, "switch.buffer": "64 KiB"})
    shown = changed._repr_html_()
    assert "small: DCTCP, star (senders 8, receivers 1)" in shown
    assert "Seed 1, 20 ms to simulate" in shown
    assert html.unescape(shown).partition("<pre>")[2].startswith(SMALL.strip() + "</pre>")
    assert "<code>network.senders = 8</code>" in shown
    assert "<code>switch.buffer = &#34;64 KiB&#34;</code>" in shown
    assert "Changed" not in scenario._repr_html_()
    assert "<code>ic.lab(scenario)</code> opens it in the lab" in shown


def test_controllers_in_python_do_not_run_in_the_lab(scenario: ic.Scenario) -> None:
    own = scenario.with_overrides(
        {"transport.congestion": "custom", "transport.controller": "fixed"}
    ).with_controllers({"fixed": Fixed})
    for shown in (own._repr_html_(), ic.run(own)._repr_html_()):
        assert NOT_IN_THE_LAB in shown
        assert "ic.lab" not in shown


def test_the_lab_opens_a_result(
    result: ic.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "index.html").touch()
    monkeypatch.setattr(server, "PAGE", tmp_path)
    assert link.opened(ic.lab(result).fragment)["text"] == result.scenario
