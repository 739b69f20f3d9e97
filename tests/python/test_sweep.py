"""Sweeps: which runs there are, the same results on any threads, resumed, failed, full disks."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import incastle as ic
from conftest import SMALL, Output
from incastle import runner
from incastle.analysis import measures
from incastle.commands import many_runs
from incastle.storage import parts
from incastle.sweeps import dataset, threads
from incastle.sweeps.plan import Plan, Source
from incastle.sweeps.values import axis_from_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from incastle.analysis.outcome import Wanted
    from incastle.scenario import Scenario, Value

    Cli = Callable[..., Output]

KEYS: dict[str, Sequence[Value]] = {
    "network.senders": [2, 3],
    "transport.congestion": ["dctcp", "new-reno"],
}
SETTINGS = (
    *("--set", "network.senders=2,3"),
    *("--set", "transport.congestion=dctcp,new-reno", "--seeds", "2"),
)


@pytest.fixture(scope="module")
def swept() -> ic.Sweep:
    scenario = ic.Scenario.from_text(SMALL)
    return ic.sweep(scenario, KEYS, seeds=2, threads=1, tables=["flows", "goodput"])


def files(directory: Path) -> dict[str, bytes]:
    """Give the content of every file of a dataset's tables."""
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*.parquet")
    }


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("2,4,8", [2, 4, 8]),
        ("2", [2]),
        ("1..4", [1, 2, 3, 4]),
        ("-1..1", [-1, 0, 1]),
        ("0.1..0.3", [0.1, 0.2, 0.3]),
        ("9..11 ms", ["9 ms", "10 ms", "11 ms"]),
        ("1..2,8", [1, 2, 8]),
        ("dctcp, new-reno", ["dctcp", "new-reno"]),
        ("10 ms,1 s", ["10 ms", "1 s"]),
        ('"10 ms","a, b"', ["10 ms", "a, b"]),
        ('["a, b", "c"]', ["a, b", "c"]),
        ('[["sender:0", "sender:1"], "senders"]', [["sender:0", "sender:1"], "senders"]),
        (
            "64 KB,{ shared = '4 MB', alpha = 0.2 }",
            ["64 KB", {"shared": "4 MB", "alpha": 0.2}],
        ),
        ("sender:0..4", ["sender:0..4"]),
        ("true,false", [True, False]),
        ("2024-01-01", ["2024-01-01"]),
    ],
)
def test_lists_of_values(text: str, values: list[Any]) -> None:
    assert [choice.value for choice in axis_from_text("a.b", text).choices] == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2,,4", "missing next to a comma"),
        ("2,4,2", "the value 2 is given twice"),
        ("1..3,2", "the value 2 is given twice"),
        ("4..2", "from 4 to 2 there are 0 values"),
        ("1..99999999", "99,999,999 values"),
        ("[]", "no value"),
    ],
)
def test_lists_of_values_that_are_wrong(text: str, message: str) -> None:
    with pytest.raises(ic.IncastleError, match=message):
        axis_from_text("a.b", text)


def test_every_combination_in_the_order_of_values_and_seeds(swept: ic.Sweep) -> None:
    rows = swept.frame.select(*KEYS, "seed").rows()
    assert rows == [
        (senders, congestion, seed)
        for senders in (2, 3)
        for congestion in ("dctcp", "new-reno")
        for seed in (1, 2)
    ]
    assert swept.frame.schema["network.senders"] == pl.Int64
    assert swept.failures == ()
    assert swept.directory is None


def test_rows_are_the_runs_that_one_would_do_alone(swept: ic.Sweep, scenario: Scenario) -> None:
    for row in swept.frame.iter_rows(named=True):
        alone = ic.run(scenario.with_overrides({key: row[key] for key in KEYS}), row["seed"])
        assert row["digest"] == alone.digest
        assert {name: row[name] for name in alone.totals} == alone.totals
        here = [pl.col(key) == row[key] for key in (*KEYS, "seed")]
        flows = swept.tables["flows"].filter(*here).drop(*KEYS, "seed")
        assert flows.equals(alone.flows)


def test_same_frames_and_files_on_any_number_of_threads(
    swept: ic.Sweep, scenario: Scenario, tmp_path: Path
) -> None:
    for count in (1, 2):
        out = tmp_path / str(count)
        again = ic.sweep(scenario, KEYS, 2, threads=count, tables=["flows", "goodput"], out=out)
        assert again.frame.equals(swept.frame)
        assert all(again.tables[name].equals(swept.tables[name]) for name in swept.tables)
    assert files(tmp_path / "1") == files(tmp_path / "2")
    folders = {name.partition("/")[0] for name in files(tmp_path / "1")}
    assert folders == {"summary", "flows", "goodput", "runs"}
    assert len(files(tmp_path / "1")) == 4, "one part"


def test_each_table_is_a_dataset(swept: ic.Sweep, scenario: Scenario, tmp_path: Path) -> None:
    ic.sweep(scenario, KEYS, 2, tables=["flows"], out=tmp_path / "s")
    order = [*KEYS, "seed"]
    read = pl.read_parquet(tmp_path / "s" / "summary").sort(*order)
    assert read.equals(swept.frame.sort(*order))
    assert pl.read_parquet(tmp_path / "s" / "flows").height == swept.tables["flows"].height


def test_resume_does_the_missing_runs_only(
    swept: ic.Sweep, scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "s"
    ic.sweep(scenario, KEYS, 2, out=out, tables=["flows", "goodput"])
    whole = files(out)
    shutil.rmtree(out)
    ic.sweep(scenario, KEYS, 1, out=out, tables=["flows", "goodput"])
    (out / parts.UNFINISHED).mkdir()
    (out / parts.UNFINISHED / ".part").write_bytes(b"half")
    done = counted(monkeypatch)
    again = ic.sweep(scenario, KEYS, 2, out=out, resume=True)
    assert (len(done), again.found, again.damaged) == (4, 4, ())
    assert files(out) == whole
    assert again.frame.equals(swept.frame)
    assert not (out / parts.UNFINISHED).exists()


@pytest.mark.parametrize(
    ("value", "text"),
    [(2042.0, "2,042"), (5600.4, "5,600"), (999.7, "1,000"), (12.345, "12.3")],
)
def test_numbers_of_a_table_have_three_digits_or_more(value: float, text: str) -> None:
    assert many_runs.quantity("drops", value) == text


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Scenario]:
    """Note what is run."""
    done: list[Scenario] = []
    real = runner.run_each

    def run_each(scenarios: Sequence[Scenario], *rest: Any) -> None:
        done.extend(scenarios)
        real(scenarios, *rest)

    monkeypatch.setattr(runner, "run_each", run_each)
    return done


def test_more_values_and_seeds_are_added(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "s"
    ic.sweep(scenario, {"network.senders": [4, 2]}, 1, out=out)
    done = counted(monkeypatch)
    more = ic.sweep(scenario, {"network.senders": [4, 3]}, 2, out=out, resume=True)
    assert len(done) == 3
    assert more.frame.select("network.senders", "seed").rows() == [
        *((4, 1), (4, 2), (2, 1), (3, 1), (3, 2))
    ]
    assert ic.Sweep.load(out).frame.equals(more.frame)


def test_the_order_of_the_keys_makes_no_other_runs(scenario: Scenario, tmp_path: Path) -> None:
    keys: dict[str, list[int] | list[str]]
    keys = {"network.senders": [2, 3], "run.duration": ["2 ms", "3 ms"]}
    once = ic.sweep(scenario, keys, out=tmp_path / "s")
    turned = dict(reversed(keys.items()))
    again = ic.sweep(scenario, turned, out=tmp_path / "s", resume=True)
    assert (len(once.frame), len(again.frame), again.found) == (4, 4, 4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": {"network.senders": [2, 3]}}, "begun with network.senders, transport"),
        ({"values": {**KEYS, "network.senders": [2.5]}}, "integer values of network.senders"),
        ({"scenario": SMALL.replace("20 packets", "30 packets")}, r"20 packets.*now.*30 packets"),
        ({"tables": ["flows"]}, "no further table"),
        ({"version": "9.9.9"}, r"by Incastle .*, this is 9.9.9"),
        ({"build": "0.0.1-beef"}, r"by the build .* of Incastle, this is 0\.0\.1-beef"),
        ({"resume": False}, "already holds a sweep"),
    ],
)
def test_resume_refuses_what_does_not_fit(
    changes: dict[str, Any],
    message: str,
    scenario: Scenario,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "s"
    ic.sweep(scenario, KEYS, out=out)
    before = files(out)
    other = ic.Scenario.from_text(changes.pop("scenario", SMALL))
    if "version" in changes:
        monkeypatch.setattr(dataset, "_engine", Version(changes.pop("version")))
    if "build" in changes:
        monkeypatch.setattr(dataset, "engine_build", Build(changes.pop("build")))
    values = changes.pop("values", KEYS)
    monkeypatch.setattr(ic.Scenario, "__init__", lenient(ic.Scenario.__init__))
    with pytest.raises(ic.ResultError, match=message):
        ic.sweep(other, values, 2, out=out, **{"resume": True, **changes})
    assert files(out) == before


class Version:
    """Another version of the engine."""

    def __init__(self, version: str) -> None:
        self.__version__ = version


class Build:
    """Another build of the engine, of the same version."""

    def __init__(self, build: str) -> None:
        self.build = build

    def __call__(self) -> str:
        """Name it."""
        return self.build


def lenient(real: Callable[..., None]) -> Callable[..., None]:
    """Take 2.5 senders for three, so that it comes to a comparison of kinds."""

    def init(
        self: Any, text: str, file: str, overrides: tuple[tuple[str, str], ...] = (), *more: Any
    ) -> None:
        three = tuple((key, value.replace("2.5", "3")) for key, value in overrides)
        real(self, text, file, three, *more)

    return init


def test_places_that_are_no_sweep_are_left_alone(scenario: Scenario, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ic.ResultError, match="is not a sweep"):
        ic.sweep(scenario, {}, out=tmp_path)
    with pytest.raises(ic.ResultError, match="is not a directory"):
        ic.sweep(scenario, {}, out=tmp_path / "thesis.txt")
    with pytest.raises(ic.ResultError, match="is not a directory"):
        ic.sweep(scenario, {}, out=tmp_path / "thesis.txt" / "below")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_force_replaces_a_sweep_and_nothing_else(cli: Cli, folder: Path) -> None:
    once = ("sweep", "small.toml", "--set", "network.senders=2,3", "--out", "s")
    assert cli(*once).status == 0
    other = ("sweep", "small.toml", "--set", "run.duration=9 ms", "--out", "s", "--force")
    assert cli(*other).status == 0
    assert ic.Sweep.load(folder / "s").header.keys == ["run.duration"]
    (folder / "s" / "notes.txt").write_text("mine")
    output = cli(*once, "--force")
    assert (output.status, "notes.txt was not written by a sweep" in output.err) == (2, True)
    assert set(files(folder / "s")) == {f"{name}.parquet" for name in part_of(folder / "s")}


def part_of(directory: Path) -> list[str]:
    """Give the files of a sweep without further tables, which has one part."""
    (part,) = json.loads((directory / "sweep.json").read_text())["parts"]
    return [f"{table}/{part['name']}" for table in ("runs", "summary")]


def test_one_sweep_at_a_time_in_a_directory(scenario: Scenario, tmp_path: Path) -> None:
    with (
        dataset.locked(tmp_path / "s"),
        pytest.raises(ic.ResultError, match="another sweep is writing"),
    ):
        ic.sweep(scenario, {}, out=tmp_path / "s")
    assert list(tmp_path.iterdir()) == [], "nothing is left of a sweep that did not begin"


def test_all_mistakes_are_reported_before_the_first_run(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = counted(monkeypatch)
    output = cli(
        *("sweep", "small.toml", "--set", "network.senders=2,-3,4"),
        *("--set", "transport.congestion=dctcp,new-rno", "--set", "run.duratio=1 ms"),
    )
    assert output.status == 2
    assert output.err.count("network.senders=-3") == 1
    assert 'did you mean "new-reno"' in output.err
    assert "did you mean duration" in output.err
    assert done == []
    assert not (folder / "results").exists()


def test_files_that_a_scenario_refers_to_travel_with_it(tmp_path: Path) -> None:
    (tmp_path / "my.cdf").write_text("1000 0\n3000 40\n9000 100\n")
    text = SMALL.replace(
        'workload = "bulk"\nfrom = "senders"\nto = "receiver"',
        'workload = "poisson"\nfrom = "senders"\nto = "receiver"\nload = 0.3\nsizes = "my.cdf"',
    )
    (tmp_path / "s.toml").write_text(text)
    plan = Plan(Source.read(tmp_path / "s.toml"), (axis_from_text("network.senders", "3"),), (7,))
    (run,) = plan.check().runs
    here = run.scenario()
    (tmp_path / "my.cdf").unlink()
    assert ic.run(ic.Scenario.from_text(here.resolved)).digest == ic.run(here).digest
    assert here.seed == 7


def test_measures_are_what_the_tables_say(result: ic.Result) -> None:
    row = measures.measure(result)
    assert result.summary.columns == list(measures.TOTALS)
    delivered = int(result.flows["delivered_bytes"].sum())
    assert row["goodput_bit_s"] == pytest.approx(8 * delivered / 0.02, rel=1e-12)
    rates = result.flows["goodput_bit_s"].to_numpy()
    assert row["fairness"] == pytest.approx(rates.sum() ** 2 / (5 * (rates**2).sum()))
    assert row["flow_goodput_min_bit_s"] == rates.min()
    short = result.flows.filter(pl.col("group") == "short")
    took = short["completed_s"][0] - short["started_s"][0]
    assert row["completed"] == 1
    assert {row[f"completion_{which}_s"] for which in ("mean", "median", "p99")} == {took}
    assert row["round_mean_s"] is None
    assert row["slowdown_p99"] is None
    assert row["long.completed"] == 0
    assert row["long.completion_mean_s"] is None
    assert row["short.goodput_bit_s"] == pytest.approx(8 * 64_000 / 0.02)
    assert row["long.marks"] == result.flows.filter(group="long")["marks"].sum()
    assert list(row) == measures.columns_of(["long", "short"])


def test_measures_of_the_port_with_the_longest_queue(result: ic.Result) -> None:
    row = measures.measure(result)
    port = result.links.filter(pl.col("port") == "switch->receiver").row(0, named=True)
    assert row["utilisation"] == port["utilisation"]
    assert row["queue_mean_packets"] == port["mean_queue_packets"]
    assert row["queue_max_packets"] == port["max_queue_packets"]
    bins = result.queues.filter(pl.col("port") == "switch->receiver").sort("packets")
    share = np.cumsum(bins["seconds"].to_numpy()) / bins["seconds"].sum()
    for name, level in (("median", 0.5), ("p99", 0.99)):
        exceeded = int(np.searchsorted(share, level))
        assert row[f"queue_{name}_packets"] == bins["packets"][exceeded]


def break_runs(monkeypatch: pytest.MonkeyPatch, kind: type[ic.RunError]) -> None:
    """Let runs with three senders fail."""
    real = threads.kept

    def kept(outcome: Any, wanted: Wanted) -> Any:
        if wanted.values.get("network.senders") == 3:
            outcome = kind("small, seed 1: queue below zero")
        return real(outcome, wanted)

    monkeypatch.setattr(threads, "kept", kept)


@pytest.mark.parametrize(("kind", "status"), [(ic.InternalError, 3), (ic.RunError, 2)])
def test_a_failed_run_does_not_end_the_sweep(
    cli: Cli,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[ic.RunError],
    status: int,
) -> None:
    with monkeypatch.context() as broken:
        break_runs(broken, kind)
        output = cli(
            "sweep", "small.toml", "--set", "network.senders=2,3,4", "--out", "s", "--json"
        )
    assert output.status == status
    assert "1 run failed" in output.err
    assert "network.senders=3, seed 1: small, seed 1: queue below zero" in output.err
    assert [row["network.senders"] for row in json.loads(output.out)["runs"]] == [2, 4]
    (failure,) = json.loads((folder / "s" / "failures.json").read_text())
    assert failure["values"] == {"network.senders": 3}
    done = counted(monkeypatch)
    args = ("sweep", "small.toml", "--set", "network.senders=2,3,4", "--out", "s", "--resume")
    assert cli(*args).status == 0
    assert [one["network.senders"] for one in done] == [3]
    assert not (folder / "s" / "failures.json").exists()


def test_sweep_of_which_every_run_fails(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    break_runs(monkeypatch, ic.RunError)
    output = cli("sweep", "small.toml", "--set", "network.senders=3", "--seeds", "12")
    assert output.status == 2
    assert "12 runs failed" in output.err
    assert "and 2 more" in output.err
    assert "Traceback" not in output.err


def test_full_disk_is_reported_and_what_is_finished_stays(
    cli: Cli, tiny_disk: Path, scenario: Scenario
) -> None:
    def resize(size: str) -> None:
        mount = ["mount", "-o", f"remount,size={size}", str(tiny_disk)]
        subprocess.run(mount, check=True)

    resize("1m")
    out = str(tiny_disk / "s")
    small = ("sweep", "small.toml", "--tables", "queues", "--out", out)
    assert cli(*small, "--set", "network.senders=2,3").status == 0
    used = sum(path.stat().st_blocks * 512 for path in tiny_disk.rglob("*") if path.is_file())
    resize(str(used + 8192))
    output = cli(*small, "--set", "network.senders=2..40", "--resume")
    assert output.status == 2
    assert "No space left on device" in output.err
    assert "What is finished stays" in output.err
    kept = ic.Sweep.load(tiny_disk / "s")
    assert kept.frame["network.senders"].to_list() == [2, 3]
    assert kept.frame["digest"][0] == ic.run(scenario.with_overrides({"network.senders": 2})).digest
    assert kept.tables["queues"].height > 0
    resize("1m")
    assert cli(*small, "--set", "network.senders=2..4", "--resume").status == 0
    assert ic.Sweep.load(tiny_disk / "s").frame.height == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "run.seed=1,2"), "--seed gives the first seed"),
        (("--set", "network.senders=2", "--set", "network.senders=3"), "is given twice"),
        (("--set", "network.senders"), "expected KEY=VALUE"),
        (("--set", "network.senders=1..1000", "--seeds", "101"), "101,000 runs"),
        (("--seed", str(2**64 - 1), "--seeds", "2"), "above 18446744073709551615"),
        (("--tables", "flow"), "no table 'flow'"),
        (("--tables", "windows"), r"under [measure], write window"),
        (("--plot", "x=network.senders"), "y=... is missing"),
        (("--plot", "x=network.senders 'y=goodput"), "No closing quotation"),
        (("--plot", "x=network.senders x=goodput"), "x is given twice"),
        (("--plot", "x=a y=goodput"), "'a' is not a swept key: there are none"),
        (("y=goodput",), "one scenario, not 2"),
        (("--figure", "a.bmp"), "must end in one of"),
        (("--set", "network.senders=2", "--plot", "x=network.senders y=goodputt"), "no measure"),
    ],
)
def test_mistakes_are_reported_in_one_message(
    cli: Cli, folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    output = cli("sweep", "small.toml", *arguments)
    assert output.status == 2
    assert message in output.err
    assert output.out == ""
    assert not (folder / "results").exists()


def test_sweep_and_its_figure_from_the_command_line(cli: Cli, folder: Path) -> None:
    axes = ("--plot", "x=network.senders", "y=goodput", "hue=transport.congestion")
    output = cli("sweep", "small.toml", *SETTINGS, *axes)
    assert output.status == 0, output.err
    place = folder / "results" / "small-by-network.senders-transport.congestion"
    assert (place / "goodput-by-network.senders.png").read_bytes().startswith(b"\x89PNG")
    assert "8 runs in results/" in output.err
    frame = ic.Sweep.load(place).frame
    mine = frame.filter(pl.col("network.senders") == 3, pl.col("transport.congestion") == "dctcp")
    goodput = f"{fmean(mine['goodput_bit_s'].to_list()) / 1e6:.0f}"
    assert goodput in output.out
    again = cli("sweep", "small.toml", *SETTINGS)
    assert "8 of them from before" in again.err
    words = "x=network.senders y=queue_mean transport.congestion=dctcp"
    assert cli("sweep", str(place), "--plot", words, "--figure", "q.svg").status == 0
    assert (folder / "q.svg").read_text().startswith("<?xml")
    wrong = cli("sweep", str(place), "--plot", words.replace("queue_mean", "goodputt"))
    assert (wrong.status, wrong.out) == (2, ""), "reported without the table"
    assert "no measure 'goodputt'" in wrong.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("x=network.senders y=goodput", "transport.congestion has 2 values"),
        ("x=network.senders y=goodput transport.congestion=cubic", "it has dctcp, new-reno"),
        ("x=network.senders y=round_mean hue=transport.congestion", "has no value in any"),
    ],
)
def test_figures_that_would_mislead_are_refused(swept: ic.Sweep, words: str, message: str) -> None:
    pairs = dict(word.split("=") for word in words.split())
    x, y, hue = pairs.pop("x"), pairs.pop("y"), pairs.pop("hue", None)
    with pytest.raises(ic.PlotError, match=message):
        swept.plot(x, y, hue, where=pairs)


def test_figure_has_the_means_and_their_intervals(swept: ic.Sweep, tmp_path: Path) -> None:
    figure = swept.plot(
        "network.senders", "goodput", "transport.congestion", out=tmp_path / "f.pdf"
    )
    drawn = figure.axes[0].get_lines()
    named = {
        {"DCTCP": "dctcp", "NewReno": "new-reno"}.get(str(one.get_label())): one for one in drawn
    }
    groups = swept.frame.group_by(*KEYS, maintain_order=True).agg(pl.col("goodput_bit_s").mean())
    for name in ("dctcp", "new-reno"):
        mine = groups.filter(pl.col("transport.congestion") == name)
        assert np.asarray(named[name].get_ydata()) * 1e6 == pytest.approx(
            mine["goodput_bit_s"].to_numpy()
        )
        assert np.asarray(named[name].get_xdata()).tolist() == [2.0, 3.0]
    assert figure.axes[0].get_ylabel() == "goodput (Mbit/s)"
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")


def test_curves_do_not_touch_the_frame(scenario: Scenario) -> None:
    drawn = ic.sweep(scenario, {"network.senders": [2, 3]}, 1).plot("network.senders", "goodput")
    (axes,) = drawn.axes
    (curve,) = axes.get_lines()
    values = np.asarray(curve.get_ydata())
    assert values.max() / values.min() < 1.02, "so close that a share of their range is no room"
    bottom, top = axes.get_ylim()
    assert bottom == 0
    assert 1.05 * values.max() < top < 1.1 * values.max(), "room for a marker"


def test_figure_of_fixed_numbers(scenario: Scenario) -> None:
    values: dict[str, Sequence[Value]] = {"network.senders": [2, 3], "transport.g": [0.5, 1]}
    drawn = ic.sweep(scenario, values, 1).plot(
        "network.senders", "goodput", where={"transport.g": 1}
    )
    assert "small, g = 1: one seed" in drawn.axes[0].get_title(loc="left")
    (curve,) = drawn.axes[0].get_lines()
    assert len(np.asarray(curve.get_xdata())) == 2


def test_axis_of_quantities_is_to_scale(scenario: Scenario) -> None:
    sizes = ["32 KiB", "64 KiB", "128 KiB"]
    drawn = ic.sweep(scenario, {"switch.buffer": sizes}).plot("switch.buffer", "drops")
    axes = drawn.axes[0]
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel() == "buffer (KiB)"
    (curve,) = axes.get_lines()
    assert np.asarray(curve.get_xdata()).tolist() == [32.0, 64.0, 128.0]


def test_progress_counts_found_finished_and_failed(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ic.sweep(scenario, {"network.senders": [2]}, out=tmp_path / "s")
    break_runs(monkeypatch, ic.RunError)
    seen: list[ic.SweepProgress] = []
    values = {"network.senders": [2, 3, 4]}
    ic.sweep(scenario, values, out=tmp_path / "s", resume=True, progress=seen.append)
    first, last = seen[0], seen[-1]
    assert (first.total, first.found, first.finished, first.failed) == (3, 1, 1, 0)
    assert (last.total, last.found, last.finished, last.failed) == (3, 1, 3, 1)
    assert last.fraction == 1.0


def test_start_of_the_command_line_does_not_pay_for_sweeps() -> None:
    program = (
        "import sys; sys.argv = ['incastle', 'sweep', '--help']\n"
        "from incastle.commands import app\n"
        "try: app.main()\n"
        "except SystemExit: pass\n"
        "slow = {'dask', 'distributed', 'optuna', 'polars', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(str(slow) if slow else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
