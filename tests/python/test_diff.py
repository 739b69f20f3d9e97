"""Comparing two results, and two reports."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import incastle as ic
from conftest import MEASURED, SMALL
from incastle.analysis.parameters import flat
from incastle.difference import drawing as draw
from incastle.difference.reports import ReportDiff
from incastle.difference.results import ResultDiff
from incastle.difference.values import changes, relative
from incastle.storage.compressed import write_csv
from incastle.units import si

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Output

    Cli = Callable[..., Output]


@pytest.fixture(scope="module")
def other() -> ic.Result:
    """Give a run of the same scenario with another marking threshold."""
    return ic.run(ic.Scenario.from_text((SMALL + MEASURED).replace("20 packets", "5 packets")))


@pytest.fixture
def both(tmp_path: Path, result: ic.Result, other: ic.Result) -> tuple[Path, Path]:
    return result.save(tmp_path / "a"), other.save(tmp_path / "b")


def compared(both: tuple[Path, Path]) -> ResultDiff:
    found = ic.diff(*both)
    assert isinstance(found, ResultDiff)
    return found


def test_values_that_differ_are_named_with_their_change() -> None:
    a = flat({"x": 1, "table": {"y": [1, "b"], "z": True}, "same": float("nan")})
    b = flat({"x": 2, "table": {"y": [1, "c"]}, "same": float("nan"), "new": "n"})
    found = {one.name: (one.a, one.b, one.relative) for one in changes(a, b)}
    assert found == {
        "x": (1, 2, 1.0),
        "table.y": ('[1, "b"]', '[1, "c"]', None),
        "table.z": (True, None, None),
        "new": (None, "n", None),
    }
    assert relative(0, 5) is None
    assert relative(-2.0, -1.0) == 0.5
    assert relative(True, 2) is None


def test_the_same_result_differs_in_nothing(tmp_path: Path, result: ic.Result, cli: Cli) -> None:
    a, b = result.save(tmp_path / "a"), replace(result, wall_s=9.0).save(tmp_path / "b")
    found = compared((a, b))
    assert found.same_course
    assert not found.parameters
    assert not found.totals
    assert found.groups.is_empty()
    assert found.ports.is_empty()
    assert found.curves.is_empty()
    reason = cli("diff", str(a), str(b))
    assert reason.status == 0
    assert "identical runs" in reason.out
    assert reason.out.rstrip().endswith("nothing differs")


def test_parameters_totals_groups_and_ports_agree_with_the_tables(
    both: tuple[Path, Path], result: ic.Result, other: ic.Result
) -> None:
    found = compared(both)
    assert not found.same_course
    changed = {one.name: (one.a, one.b) for one in found.parameters}
    assert changed == {"switch.queue.marking_threshold": ("20 packets", "5 packets")}
    totals = {one.name: (one.a, one.b) for one in found.totals}
    assert totals["marks"] == (result.totals["marks"], other.totals["marks"])
    assert all(a != b for a, b in totals.values())
    for one, side in ((result, "a"), (other, "b")):
        marks = one.flows.filter(pl.col("group") == "long")["marks"].sum()
        row = found.groups.filter(pl.col("group") == "long", pl.col("measure") == "marks")
        assert row[side].to_list() == [marks]
        queue = one.links.filter(pl.col("port") == "switch->receiver")["mean_queue_packets"]
        row = found.ports.filter(
            pl.col("port") == "switch->receiver", pl.col("measure") == "mean_queue_packets"
        )
        assert row[side].to_list() == queue.to_list()
        assert row["relative"][0] < -0.3


def test_curves_are_compared_at_the_same_instants(
    both: tuple[Path, Path], result: ic.Result, other: ic.Result
) -> None:
    curves = compared(both).curves
    row = curves.filter(pl.col("table") == "queue_samples", pl.col("column") == "packets")
    gaps = other.queue_samples["packets"].cast(float) - result.queue_samples["packets"]
    assert row["rms"][0] == pytest.approx(float((gaps**2).mean()) ** 0.5)  # type: ignore[arg-type]
    assert abs(row["furthest"][0]) == gaps.abs().max()
    place = result.queue_samples.row(int(gaps.abs().arg_max() or 0), named=True)
    assert row["where"][0] == f"{place['port']} at {si(place['time_s'], 's', 6)}"
    # Windows have a row per change: at other instants in another course.
    windows = curves.filter(pl.col("table") == "windows", pl.col("column") == "cwnd_bytes")
    assert windows["rms"].to_list() == [None]
    assert windows["mean_b"][0] == pytest.approx(other.windows["cwnd_bytes"].mean())


def test_a_table_of_one_result_is_reported(tmp_path: Path, result: ic.Result, cli: Cli) -> None:
    tables = {name: table for name, table in result.tables.items() if name != "windows"}
    a, b = result.save(tmp_path / "a"), replace(result, tables=tables).save(tmp_path / "b")
    assert compared((a, b)).only_in == (["windows"], [])
    assert "only A has the table windows" in cli("diff", str(a), str(b)).out


def test_the_command_shows_tables_writes_json_and_draws(
    both: tuple[Path, Path], tmp_path: Path, cli: Cli
) -> None:
    picture = tmp_path / "diff.svg"
    reason = cli("diff", *map(str, both), "--figure", str(picture))
    assert reason.status == 0
    for line in ("different runs", "Parameters", "Totals", "Groups of flows", "Switch ports"):
        assert line in reason.out
    assert "20 packets  5 packets" in reason.out
    assert picture.read_bytes().startswith(b"<?xml")
    output = json.loads(cli("diff", *map(str, both), "--json").out)
    assert output["kind"] == "results"
    assert output["a"]["totals"]["marks"] != output["b"]["totals"]["marks"]
    assert output["parameters"][0]["name"] == "switch.queue.marking_threshold"


def entry(name: str, measured: float | None, verdict: str, **other: Any) -> dict[str, Any]:
    interval = other.pop("interval", None)
    return {
        "paper": "p",
        "id": name,
        "unit": "ms",
        "band": "1 to 2",
        "measured": measured,
        "interval": interval,
        "verdict": verdict,
        **other,
    }


def write_report(
    folder: Path, claims: list[dict[str, Any]], digests: dict[str, str], data: str
) -> Path:
    (folder / "p").mkdir(parents=True)
    (folder / "claims.json").write_text(json.dumps(claims))
    rows = [f"{name},1,{digest},incastle run x" for name, digest in digests.items()]
    runs = "\n".join(["experiment,seed,digest,command", *rows])
    write_csv(folder / "p" / "runs.csv.gz", runs)
    write_csv(folder / "p" / "figure-1.csv.gz", data)
    return folder


@pytest.fixture
def reports(tmp_path: Path) -> tuple[Path, Path]:
    first = [
        entry("same", 1.5, "holds"),
        entry("moved", 1.5, "holds", interval=[1.4, 1.6]),
        entry("turned", 1.9, "holds", interval=[1.85, 1.95]),
        entry("gone", 1.0, "holds"),
        entry("unknown", None, "unclear"),
    ]
    second = [
        entry("same", 1.5, "holds"),
        entry("moved", 1.53, "holds", interval=[1.5, 1.56]),
        entry("turned", 3.8, "fails", interval=[3.7, 3.9]),
        entry("new", 1.0, "holds"),
        entry("unknown", None, "unclear"),
    ]
    digests = {"x": "aa", "y": "bb", "only": "cc"}
    a = write_report(tmp_path / "a", first, digests, "who,v\ns,1\nt,3\n")
    b = write_report(tmp_path / "b", second, {"x": "aa", "y": "b2"}, "who,v\ns,1\nt,4\n")
    return a, b


def test_reports_are_compared_by_runs_claims_and_data(reports: tuple[Path, Path]) -> None:
    found = ic.diff(*reports)
    assert isinstance(found, ReportDiff)
    (runs,) = found.runs
    counts = (runs.same, runs.other, runs.only_a, runs.only_b, runs.experiments)
    assert counts == (1, 1, 1, 0, ("y",))
    claims = {one.id: one for one in found.claims}
    assert set(claims) == {"moved", "turned", "gone", "new"}
    assert (claims["moved"].verdict_changed, claims["moved"].apart) == (False, False)
    assert claims["moved"].relative == pytest.approx(0.02)
    assert (claims["turned"].verdict_changed, claims["turned"].apart) == (True, True)
    assert claims["gone"].verdicts == ("holds", None)
    (figure,) = found.figures
    assert figure.column == "v"
    assert figure.relative == pytest.approx(0.5)


def test_a_claim_differs_by_a_case_that_does_not_decide_it(tmp_path: Path, cli: Cli) -> None:
    def report(side: str, second: float) -> str:
        values = {"8 servers": 1.5, "16 servers": second}
        cases = [
            {"case": name, "measured": value, "verdict": "holds"} for name, value in values.items()
        ]
        claims = [entry("part", 1.5, "holds") | {"cases": cases}]
        return str(write_report(tmp_path / side, claims, {"x": "aa"}, "who,v\ns,1\n"))

    names = report("a", 1.8), report("b", 1.9)
    found = ic.diff(*names)
    assert isinstance(found, ReportDiff)
    assert [(one.id, one.cases) for one in found.claims] == [("part", ("16 servers",))]
    assert "holds; 1 case differs" in cli("diff", *names).out


def test_the_command_shows_other_verdicts_first(reports: tuple[Path, Path], cli: Cli) -> None:
    picture = reports[0].parent / "r.png"
    reason = cli("diff", *map(str, reports), "--figure", str(picture))
    assert reason.status == 0
    lines = [line for line in reason.out.splitlines() if line.startswith("p: ")]
    assert lines[0].startswith("p: turned")
    assert lines[0].rstrip().endswith("holds -> fails")
    assert "claims that differ: 4, with another verdict: 1, apart: 1" in reason.out
    assert picture.read_bytes().startswith(b"\x89PNG")
    same = cli("diff", str(reports[0]), str(reports[0]))
    assert "all claims are the same" in same.out
    output = json.loads(cli("diff", *map(str, reports), "--json").out)
    assert [one["id"] for one in output["claims"]] == ["moved", "turned", "gone", "new"]


def test_what_cannot_be_compared_is_reported_with_what_can(
    both: tuple[Path, Path], reports_elsewhere: Path, tmp_path: Path, cli: Cli
) -> None:
    a, b = map(str, both)
    (tmp_path / "empty").mkdir()
    for pair, words in (
        ((a, str(reports_elsewhere)), "only two of one kind can be compared"),
        ((a, str(tmp_path / "empty")), "is neither a result nor a report"),
        ((str(tmp_path), b), "holds 2 results: name one of them"),
        ((a, str(tmp_path / "nothing")), "does not exist"),
    ):
        reason = cli("diff", *pair)
        assert (reason.status, reason.out) == (2, "")
        assert words in reason.err
    reason = cli("diff", a, b, "--figure", "x.gif")
    assert reason.status == 2
    assert "must end in one of .png, .svg, .pdf" in reason.err


@pytest.fixture
def reports_elsewhere(tmp_path: Path) -> Path:
    folder = tmp_path / "deep" / "er" / "report"
    return write_report(folder, [entry("same", 1.5, "holds")], {}, "v\n1\n")


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ("{", "no JSON in line 1: "),
        ('[{"paper": "p"}]', "it lacks 'id'"),
        ("7", "it is no list of claims"),
        ("{}", "it is no list of claims"),
    ],
)
def test_a_broken_report_is_reported(
    reports: tuple[Path, Path], broken: str, why: str, cli: Cli
) -> None:
    (reports[1] / "claims.json").write_text(broken)
    reason = cli("diff", *map(str, reports))
    assert reason.status == 2
    assert f"claims.json cannot be read: {why}" in reason.err


def test_a_figure_without_anything_to_draw_is_refused(reports: tuple[Path, Path]) -> None:
    same = ReportDiff.load(reports[0], reports[0])
    with pytest.raises(ic.PlotError, match="nothing to draw"):
        draw.save(same, reports[0].parent / "none.png")
