"""`incastle estimate` and `ic.estimate`: results, resumption, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest
from typer.testing import CliRunner

import incastle as ic
from incastle.cli import app
from incastle.errors import PlotError, ResultError, ScenarioError

if TYPE_CHECKING:
    from pathlib import Path

FABRIC = """
[run]
duration = "100 ms"
[network]
topology = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 4
rate = "10 Gbit/s"
delay = "1 us"
[switch]
queue = { kind = "threshold", mark_above = "65 packets" }
[transport]
congestion = "dctcp"
[flows.web]
workload = "poisson"
sizes = "hadoop"
load = 0.4
from = "hosts"
to = "hosts"
stop = "4 ms"
[measure]
slowdown = true
"""


@pytest.fixture
def scenario() -> ic.Scenario:
    return ic.Scenario.from_text(FABRIC)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fabric.toml"
    path.write_text(FABRIC)
    return path


def test_an_estimate_is_a_result(scenario: ic.Scenario, tmp_path: Path) -> None:
    shares: list[float] = []
    found = ic.estimate(scenario, 3, threads=1, progress=shares.append)
    assert found.digest == ic.estimate(scenario, 3, threads=2).digest
    assert shares == sorted(shares)
    run = ic.run(scenario)
    same = ["group", "index", "kind", "started_s", "bytes"]
    assert found.transfers.select(same).equals(run.transfers.select(same))
    links = found.table("crossed_links")
    assert links["simulated"].sum() == found.totals["links_simulated"] < len(links)
    simulated = links.filter(pl.col("simulated") == 1).group_by("class").len()
    assert simulated.filter(pl.col("len") > 3).is_empty()
    classes = found.completions()
    assert classes["slowdown_p99"].is_not_null().all()
    assert classes.filter(pl.col("slowdown_median") < 1).is_empty()
    again = ic.Result.load(found.save(tmp_path / "kept"))
    assert again.transfers.equals(found.transfers)


def test_a_stopped_estimate_goes_on(scenario: ic.Scenario, tmp_path: Path) -> None:
    whole = ic.estimate(scenario)
    place = tmp_path / "half"

    def stop(share: float) -> None:
        if share > 0:
            raise KeyboardInterrupt

    # Progress is told twenty times a second: a small estimate may be over before.
    slow = scenario.with_({"flows.web.stop": "20 ms"})
    with pytest.raises(ic.EstimateStopped, match="--resume goes on") as stopped:
        ic.estimate(slow, threads=1, progress=stop, file=place)
    assert place.is_file()
    assert 0 < stopped.value.done < stopped.value.total
    with pytest.raises(ResultError, match="--resume goes on with it"):
        ic.estimate(slow, file=place)
    with pytest.raises(ResultError, match="of another scenario"):
        ic.estimate(scenario, file=place, resume=True)
    finished = ic.estimate(slow, file=place, resume=True)
    assert not place.exists()
    assert finished.digest == ic.estimate(slow).digest != whole.digest


def test_a_broken_file_is_told(scenario: ic.Scenario, tmp_path: Path) -> None:
    place = tmp_path / "broken"
    place.write_text("not a database, but long enough to be looked at as one " * 4)
    with pytest.raises(ResultError, match="broken cannot be read"):
        ic.estimate(scenario, file=place, resume=True)
    assert ic.estimate(scenario, 1, file=place, force=True).totals["flows"] > 0


def test_the_command_writes_a_result(file: Path, tmp_path: Path) -> None:
    place, figure = tmp_path / "out", tmp_path / "slowdowns.svg"
    call = ["estimate", str(file), "--links", "2", "--out", str(place), "--figure", str(figure)]
    shown = CliRunner().invoke(app, call)
    assert shown.exit_code == 0, shown.output
    assert "links simulated" in shown.stdout
    assert "99.9th" in shown.stdout
    assert figure.read_text().startswith("<?xml")
    result = ic.Result.load(place)
    told = CliRunner().invoke(app, [*call[:-2], "--json", "--force"])
    summary = json.loads(told.stdout)
    assert summary["digest"] == result.digest
    assert summary["completions"][0]["slowdown_p99"] > 1


def test_a_wrong_figure_is_told_before_the_estimate(file: Path, tmp_path: Path) -> None:
    place = tmp_path / "out"
    with pytest.raises(PlotError, match="must end in one of"):
        CliRunner().invoke(
            app,
            ["estimate", str(file), "--out", str(place), "--figure", "slowdowns.gif"],
            catch_exceptions=False,
        )
    assert not place.exists()


@pytest.mark.parametrize(
    ("setting", "place", "advice"),
    [
        ("network.ecmp=packet", "network.ecmp", 'ecmp = "flow"'),
        ("flows.web.transport.kind=udt", "flows.web.transport.kind", 'kind = "tcp"'),
    ],
)
def test_what_links_cannot_show_is_refused(
    scenario: ic.Scenario, setting: str, place: str, advice: str
) -> None:
    key, _, value = setting.partition("=")
    with pytest.raises(ScenarioError, match=place) as refused:
        ic.estimate(scenario.with_({key: value}))
    assert advice in str(refused.value)


def test_values_that_make_no_sense(scenario: ic.Scenario) -> None:
    with pytest.raises(ValueError, match="links = 0"):
        ic.estimate(scenario, 0)
    with pytest.raises(ValueError, match="threads = 0"):
        ic.estimate(scenario, threads=0)
