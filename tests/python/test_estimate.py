"""`incastle estimate` and `ic.estimate`: results, resumption, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest
from typer.testing import CliRunner

import incastle as ic
from incastle.cluster import estimates as on_dask
from incastle.cluster.dask import WrongVersion
from incastle.commands.app import application
from incastle.errors import PlotError, ResultError, ScenarioError
from incastle.estimates import api

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from distributed import LocalCluster

    from conftest import Output

    Cli = Callable[..., Output]

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
queue = { kind = "threshold", marking_threshold = "65 packets" }
[transport]
congestion = "dctcp"
min_rto = "200 ms"
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


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Give two workers in threads of this process: what travels is the same."""
    from distributed import LocalCluster  # noqa: PLC0415  slow to import

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
    ) as made:
        yield made


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


def test_an_estimate_has_no_course_to_explain(scenario: ic.Scenario) -> None:
    result = ic.estimate(scenario)
    for flow in (None, 0):
        with pytest.raises(ic.ResultError, match="is an estimate: each link was simulated by its"):
            ic.explain(result, flow)


def test_a_stopped_estimate_goes_on(scenario: ic.Scenario, tmp_path: Path) -> None:
    whole = ic.estimate(scenario)
    place = tmp_path / "half"

    def stop(share: float) -> None:
        if share > 0:
            raise KeyboardInterrupt

    # Progress is reported twenty times a second: a small estimate may be over before.
    slow = scenario.with_overrides({"flows.web.stop": "90 ms"})
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


def test_a_broken_file_is_reported(scenario: ic.Scenario, tmp_path: Path) -> None:
    place = tmp_path / "broken"
    place.write_text("not a database, but long enough to be looked at as one " * 4)
    with pytest.raises(ResultError, match="broken cannot be read"):
        ic.estimate(scenario, file=place, resume=True)
    assert ic.estimate(scenario, 1, file=place, force=True).totals["flows"] > 0


def test_the_command_writes_a_result(file: Path, tmp_path: Path) -> None:
    place, figure = tmp_path / "out", tmp_path / "slowdowns.svg"
    call = ["estimate", str(file), "--links", "2", "--out", str(place), "--figure", str(figure)]
    shown = CliRunner().invoke(application("estimate"), call)
    assert shown.exit_code == 0, shown.output
    assert "links simulated" in shown.stdout
    assert "99.9th" in shown.stdout
    assert figure.read_text().startswith("<?xml")
    result = ic.Result.load(place)
    output = CliRunner().invoke(application("estimate"), [*call[:-2], "--json", "--force"])
    summary = json.loads(output.stdout)
    assert summary["digest"] == result.digest
    assert summary["completions"][0]["slowdown_p99"] > 1


def test_a_run_and_its_estimate_show_slowdowns(file: Path, tmp_path: Path, cli: Cli) -> None:
    places = [str(tmp_path / name) for name in ("estimate", "run")]
    for command, place in zip(("estimate", "run"), places, strict=True):
        reason = cli(command, str(file), "--out", place)
        assert "Slowdowns (FCT / ideal FCT)" in reason.out
        assert "100 KB to 1 MB" in reason.out
    several = cli("run", str(file), "--seeds", "2", "--out", str(tmp_path / "seeds"))
    assert "Slowdowns (FCT / ideal FCT), all transfers, 2 runs together" in several.out
    compared = json.loads(cli("diff", *places, "--json").out)["groups"]
    assert {"flow slowdown_median", "flow slowdown_p99"} <= {one["measure"] for one in compared}


def test_an_interrupt_is_reported_with_how_to_go_on(
    file: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "take_apart", press)
    place = tmp_path / "one"
    early = cli("estimate", str(file), "--out", str(place))
    assert (early.status, early.out) == (130, "")
    assert early.err == "error: interrupted before links were simulated\n"
    (tmp_path / "one.unfinished").touch()
    again = cli("estimate", str(file), "--out", str(place), "--resume")
    assert again.status == 130
    assert f"; --resume goes on with {place}.unfinished" in again.err
    monkeypatch.setattr("incastle.commands.estimate.load_scenario", press)
    before = cli("estimate", str(file), "--out", str(place))
    assert (before.status, before.out, before.err) == (130, "", "error: interrupted\n")


def test_a_wrong_figure_is_reported_before_the_estimate(file: Path, tmp_path: Path) -> None:
    place = tmp_path / "out"
    with pytest.raises(PlotError, match="must end in one of"):
        CliRunner().invoke(
            application("estimate"),
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
        ic.estimate(scenario.with_overrides({key: value}))
    assert advice in str(refused.value)


def test_values_that_make_no_sense(scenario: ic.Scenario) -> None:
    with pytest.raises(ValueError, match="links = 0"):
        ic.estimate(scenario, 0)
    with pytest.raises(ValueError, match="threads = 0"):
        ic.estimate(scenario, threads=0)


def test_a_cluster_gives_the_same_estimate(
    cluster: LocalCluster, scenario: ic.Scenario, file: Path, tmp_path: Path
) -> None:
    here = ic.estimate(scenario, 3)
    shares: list[float] = []
    there = ic.estimate(scenario, 3, on=cluster, progress=shares.append)
    assert there.transfers.equals(here.transfers)
    assert there.totals == here.totals
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    address = cluster.scheduler_address
    call = ["estimate", str(file), "--links", "3", "--on", address, "--out", str(tmp_path / "out")]
    shown = CliRunner().invoke(application("estimate"), call)
    assert shown.exit_code == 0, shown.output
    assert ic.Result.load(tmp_path / "out").digest == here.digest


def test_what_a_cluster_has_done_stays(
    cluster: LocalCluster, scenario: ic.Scenario, tmp_path: Path
) -> None:
    place = tmp_path / "half"

    def stop(share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(ic.EstimateStopped, match="--resume goes on"):
        ic.estimate(scenario, on=cluster, progress=stop, file=place)
    # Here goes on what was begun there.
    finished = ic.estimate(scenario, file=place, resume=True)
    assert finished.digest == ic.estimate(scenario).digest


def test_links_go_together_until_they_are_worth_a_task() -> None:
    # 100 in all: 1 in 200 is half of one.
    jobs = [(0, 90), (1, 9), *((number, 0) for number in range(2, 7)), (7, 1)]
    found = list(on_dask.bundles(jobs, whole=200))
    assert [bundle.numbers for bundle in found] == [(0,), (1,), (2, 3, 4, 5, 6, 7)]
    assert sum(bundle.share for bundle in found) == pytest.approx(0.5)


def test_work_of_another_build_is_refused() -> None:
    other = f"{ic.__version__}-beef"
    with pytest.raises(WrongVersion, match=f"this is {other}"):
        on_dask.simulate_links(other, "", None, [])


def test_a_cluster_that_is_not_there(scenario: ic.Scenario) -> None:
    with pytest.raises(ic.ClusterError, match="unknown address scheme"):
        ic.estimate(scenario, on="http://localhost:8786")


def test_nothing_stays_of_an_estimate_that_came_to_nothing(file: Path, tmp_path: Path) -> None:
    place = tmp_path / "out"
    call = ["estimate", str(file), "--links", "2", "--out", str(place)]
    lost = CliRunner().invoke(application("estimate"), [*call, "--on", "http://localhost:8786"])
    assert lost.exit_code != 0
    assert list(tmp_path.glob("out*")) == []
    assert CliRunner().invoke(application("estimate"), call).exit_code == 0


@pytest.mark.parametrize(
    ("setting", "output"),
    [("flows.web.stop=1 ns", "no flow begins"), ("network.delay=60 ms", "no flow was completed")],
)
def test_no_flow_at_all_is_reported(
    file: Path, tmp_path: Path, cli: Cli, setting: str, output: str
) -> None:
    reason = cli("estimate", str(file), "--out", str(tmp_path / "out"), "--set", setting)
    assert (reason.status, output in reason.err) == (0, True), reason
