"""The command line: what it prints, where, and with which exit status."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

import incastle as ic
from conftest import MEASURED, SMALL, Output, start
from incastle.analysis.confidence import interval
from incastle.commands import run
from incastle.commands.app import COMMANDS, command
from incastle.units import between

if TYPE_CHECKING:
    from collections.abc import Callable

    Cli = Callable[..., Output]


def test_run_shows_tables_and_writes_a_result(cli: Cli, folder: Path) -> None:
    output = cli("run", "small.toml")
    assert output.status == 0, output.err
    words = ("small", "long", "short", "min to max", "switch->receiver", "packet-hops/s")
    for word in words:
        assert word in output.out
    (place,) = (folder / "results").iterdir()
    assert place.name.startswith("small-")
    assert f"written to results/{place.name}" in output.err
    assert ic.Result.load(place).digest.startswith(place.name.removeprefix("small-"))


def test_threads_of_one_run(cli: Cli) -> None:
    output = cli("run", "small.toml", "--threads", "2")
    assert output.status == 0, output.err
    assert output.err.startswith("threads = 2: this scenario has ")
    assert "runs on 1" in output.err
    assert "runs on 1" not in cli("run", "small.toml", "--threads", "2", "--seeds", "2").err


def test_json_is_all_there_is_on_standard_output(cli: Cli, folder: Path) -> None:
    output = cli("run", "small.toml", "--json", "--out", "one")
    summary = json.loads(output.out)
    assert summary["digest"] == ic.Result.load(folder / "one").digest
    assert summary["directory"] == "one"
    assert summary["totals"]["packet_hops"] > 0
    assert {key: summary[key] for key in ("name", "seed", "version", "interrupted")} == {
        "name": "small",
        "seed": 1,
        "version": ic.__version__,
        "interrupted": False,
    }


def test_settings_and_seed(cli: Cli, folder: Path) -> None:
    changes = ("--set", "run.duration=7 ms", "--set", "network.senders = 3", "--seed", "9")
    assert cli("run", "small.toml", *changes, "--out", "one").status == 0
    text = (folder / "one" / "scenario.toml").read_text()
    resolved = tomllib.loads(text)
    assert resolved["run"] == {"duration": "7 ms", "stop": "duration", "seed": 9}
    assert resolved["network"]["senders"] == 3


def test_seeds_run_in_a_row_each_in_a_directory(cli: Cli, folder: Path) -> None:
    output = cli("run", "small.toml", "--seed", "5", "--seeds", "3", "--out", "many")
    assert output.status == 0
    assert sorted(path.name for path in (folder / "many").iterdir()) == [
        "seed-5",
        "seed-6",
        "seed-7",
    ]
    for word in (
        "min",
        "median",
        "max",
        "95 % interval of mean",
        "Flow completion times, all transfers, 3 runs",
        "99th",
    ):
        assert word in output.out
    assert "Goodput of flows, whole run, 3 runs together" in output.out
    frames = [ic.Result.load(folder / "many" / f"seed-{seed}").observed for seed in (5, 6, 7)]
    assert not any(frame["fct_s"].null_count() for frame in frames)
    means = [fmean(frame["fct_s"]) for frame in frames]
    low, high = interval(means) or (0, 0)
    spread = next(line for line in output.out.splitlines() if "mean FCT" in line)
    assert between(low, high, "s") in spread
    assert between(min(means), max(means), "s") in spread
    as_list = json.loads(cli("run", "small.toml", "--seeds", "2", "--json").out)
    assert [one["seed"] for one in as_list] == [1, 2]
    alone = json.loads(cli("run", "small.toml", "--seed", "2", "--json", "--out", "x").out)
    assert alone["digest"] == as_list[1]["digest"]


def test_failed_links_are_reported(cli: Cli) -> None:
    link = ("--set", "network.failures.one.between=['sender:0', 'switch']")
    times = [("--set", f"network.failures.one.{key}") for key in ("down=5 ms", "up=10 ms")]
    output = cli("run", "small.toml", *link, *times[0], *times[1])
    assert output.status == 0
    assert "packets lost on failed links" in output.out
    assert 'no path between "sender:0" and "receiver" from 5 ms to 10 ms' in output.err
    cut_off = cli("check", "small.toml", *link)
    assert cut_off.status == 2
    assert 'no path between "sender:0" and "receiver", from the beginning' in cut_off.err


def test_existing_directory(cli: Cli, folder: Path) -> None:
    assert cli("run", "small.toml", "--out", "one").status == 0
    again = cli("run", "small.toml", "--out", "one", "--seed", "2")
    assert (again.status, again.out) == (2, ""), "reported before the run"
    assert "one already exists" in again.err
    (folder / "one" / "mark").touch()
    same = cli("run", "small.toml", "--out", "one")
    assert same.status == 0
    assert same.err == "the same result is already in one, nothing is replaced\n"
    assert (folder / "one" / "mark").exists()
    assert cli("run", "small.toml", "--out", "one", "--force").status == 0
    assert not (folder / "one" / "mark").exists()


def test_a_result_is_the_same_on_any_number_of_threads(cli: Cli) -> None:
    fabric = str(Path(__file__).parents[2] / "examples" / "fat-tree.toml")
    first = cli("run", fabric, "--threads", "1", "--out", "one")
    assert first.status == 0, first.err
    for threads in ("2", "3"):
        again = cli("run", fabric, "--threads", threads, "--out", "one")
        assert again.status == 0, again.err
        assert again.err.endswith("the same result is already in one, nothing is replaced\n")


def test_existing_directory_that_only_looks_the_same(cli: Cli, folder: Path) -> None:
    assert cli("run", "small.toml", "--out", "one").status == 0
    summary = folder / "one" / "summary.json"
    text = summary.read_text()
    summary.write_text(text.replace(ic.Result.load(folder / "one").digest, "0" * 16))
    again = cli("run", "small.toml", "--out", "one")
    assert again.status == 2
    assert "one already exists" in again.err
    summary.write_text(text.replace(f'"version": "{ic.__version__}"', '"version": "0.0"'))
    assert cli("run", "small.toml", "--out", "one").out == "", "by another version: reported before"


def test_seeds_go_into_no_folder_of_others(cli: Cli, folder: Path) -> None:
    assert cli("run", "small.toml", "--out", "one").status == 0
    (folder / "foreign").mkdir()
    (folder / "foreign" / "thesis.tex").touch()
    for place, inside in (("one", "flows.parquet"), ("foreign", "thesis.tex")):
        for force in ((), ("--force",)):
            output = cli("run", "small.toml", "--seeds", "2", "--out", place, *force)
            assert (output.status, output.out) == (2, "")
            assert f"{place} already exists and has {inside} in it" in output.err
        assert not (folder / place / "seed-1").exists()
    (folder / "many").mkdir()
    assert cli("run", "small.toml", "--seeds", "1", "--out", "many").status == 0
    more = cli("run", "small.toml", "--seeds", "2", "--out", "many")
    assert more.status == 0
    assert "1 of them: the same result is already in many" in more.err
    output = cli("run", "small.toml", "--force", "--out", "many")
    assert output.status == 2
    assert "it holds 2 results: name one of them, as many/seed-1, many/seed-2" in output.err


def test_python_instead_of_a_scenario_is_reported_once(cli: Cli, folder: Path) -> None:
    (folder / "mine.py").write_text("class Mine:\n    pass\n")
    output = cli("run", "mine.py")
    assert output.status == 2
    assert "mine.py: error: this is a file of Python, not a scenario" in output.err
    assert 'congestion = "mine.py:CLASS"' in output.err
    assert "TOML" not in output.err


def test_same_run_again_finds_its_result(cli: Cli, folder: Path) -> None:
    first = json.loads(cli("run", "small.toml", "--json").out)
    mark = folder / first["directory"] / "mark"
    mark.touch()
    again = cli("run", "small.toml", "--json")
    assert again.status == 0
    assert again.err == f"the same result is already in {first['directory']}, nothing is replaced\n"
    assert json.loads(again.out)["directory"] == first["directory"]
    assert mark.exists()
    assert cli("run", "small.toml", "--force").status == 0
    assert not mark.exists()


def test_same_digest_with_other_measurements_is_not_the_same_result(cli: Cli, folder: Path) -> None:
    first = json.loads(cli("run", "small.toml", "--json").out)
    again = cli("run", "small.toml", "--json", "--set", "measure.window=long")
    assert again.status == 2
    assert f"{first['directory']} already exists" in again.err
    assert json.loads(again.out)["digest"] == first["digest"]
    assert json.loads(again.out)["directory"] is None
    (folder / first["directory"] / "summary.json").write_text("[]")
    assert cli("run", "small.toml").status == 2


def test_same_seeds_again_find_their_results(cli: Cli) -> None:
    assert "2 results written to results" in cli("run", "small.toml", "--seeds", "2").err
    again = cli("run", "small.toml", "--seeds", "3")
    assert again.status == 0
    assert "1 result written" in again.err
    assert "2 of them: the same result is already in results" in again.err


BROKEN = {
    "a wrong unit": ("network.rate=1 Gbyte/s", "network.rate"),
    "a negative rate": ("network.rate=-1 Gbit/s", "network.rate"),
    "zero senders": ("network.senders=0", "network.senders"),
    "an unknown algorithm": ("transport.congestion=dctpc", "dctcp"),
    "an unknown topology": ("network.topology=stra", "star"),
    "an unknown workload": ("flows.long.workload=bluk", "bulk"),
    "an unreachable host": ("flows.long.to=nobody", "nobody"),
    "a duration of zero": ("run.duration=0 s", "run.duration"),
    "a parameter out of its range": ("transport.g=2", "transport.g"),
    "an unknown key": ("transport.min_rt=1 ms", "min_rto"),
    "far too many flows": ("flows.long.count=4000000000", "1000000"),
    "a wrong type": ("network.senders=many", "network.senders"),
}


@pytest.mark.parametrize(("setting", "hint"), BROKEN.values(), ids=BROKEN)
def test_broken_scenario(cli: Cli, folder: Path, setting: str, hint: str) -> None:
    output = cli("run", "small.toml", "--set", setting)
    assert (output.status, output.out) == (2, "")
    assert setting.partition("=")[0].rpartition(".")[2] in output.err
    assert hint in output.err
    assert "Traceback" not in output.err
    assert not (folder / "results").exists()


def test_broken_file_is_reported_with_line_and_column(cli: Cli, folder: Path) -> None:
    text = SMALL.replace("marking_threshold", "mark_abvoe").replace("128 KiB", "128 potatoes")
    (folder / "broken.toml").write_text(text)
    output = cli("check", "broken.toml", "small.toml")
    assert output.status == 2
    for key, text_there in (("mark_abvoe", "marking_threshold"), ("potatoes", "128")):
        line = 1 + text[: text.index(key)].count("\n")
        assert f"broken.toml:{line}:" in output.err
        assert text_there in output.err
    assert "2 mistakes" in output.err, "a misspelt key, a wrong unit"
    assert "small.toml: correct" in output.out


def test_not_toml(cli: Cli, folder: Path) -> None:
    (folder / "broken.toml").write_text('name = "x\n')
    output = cli("check", "broken.toml")
    assert output.status == 2
    assert "broken.toml:1:" in output.err


def test_check_prints_the_complete_scenario(cli: Cli, scenario: ic.Scenario) -> None:
    output = cli("check", "small.toml", "--resolved")
    assert output.out == scenario.resolved


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "nothing.toml"), "nothing.toml: No such file"),
        (("run", "."), "Is a directory"),
        (("check", "nothing.toml"), "nothing.toml: No such file"),
        (("run",), "SCENARIO"),
        (("run", "small.toml", "--set", "senders"), "KEY=VALUE"),
        (("run", "small.toml", "--set", "=4"), "KEY=VALUE"),
        (("run", "small.toml", "--seeds", "0"), "--seeds"),
        (("run", "small.toml", "--seeds", "many"), "--seeds"),
        (("run", "small.toml", "--seed", "-1"), "--seed"),
        (("run", "small.toml", "--threads", "0"), "--threads"),
        (("run", "small.toml", "--out", "small.toml"), "small.toml already exists"),
        (("run", "small.toml", "--out", "small.toml/x"), "not a directory"),
        (("run", "small.toml", "--out", ".", "--force"), "is the working folder"),
        (("run", "small.toml", "--nonsense"), "--nonsense"),
        (("plot", "nowhere", "queue"), "nowhere does not exist"),
        (("plot", ".", "queue"), "not a result"),
        (("plot", "."), "incastle plot . KIND: the kinds are slowdown, fct, queue"),
        (("run", "small"), "small: No such file or directory: did you mean small.toml?"),
        (("run", "nowhere"), "nowhere: No such file or directory\n"),
        (("list", "fruit"), "fruit"),
        (("fly",), "fly"),
        (("reproduce", "--quick", "--full"), "together"),
        (("reproduce", "no-such-paper"), "no-such-paper"),
        (("bench", "--scenario", "foo"), "--scenario foo: neither a file nor a benchmark"),
        (("bench", "--scenario", "."), "there are star-20, star-2, dcudp-20, dcudp-20-congested"),
        (("run", "small.toml", "--set", "network.rate=1 Gbits"), "'network.rate=1 Gbits': error"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    cli: Cli, arguments: tuple[str, ...], message: str
) -> None:
    output = cli(*arguments)
    assert (output.status, output.out) == (2, "")
    assert message in output.err
    assert "Traceback" not in output.err
    assert len(output.err.splitlines()) <= 3


@pytest.mark.skipif(sys.platform == "win32", reason="/proc is Linux's")
def test_directory_that_cannot_be_written(cli: Cli) -> None:
    for place in ("/proc/incastle/result", "/proc/incastle"):
        output = cli("run", "small.toml", "--out", place)
        assert (output.status, output.out) == (2, ""), "reported before the run"
        assert output.err.startswith("error: /proc/incastle: ")


def test_run_that_fails_leaves_no_empty_directory(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    def stop(*_: Any) -> None:
        raise ic.Interrupted([None, None])

    monkeypatch.setattr(run, "run_many", stop)
    (folder / "old").mkdir()
    for out in ("many", "deep/many", "old/many"):
        assert cli("run", "small.toml", "--seeds", "2", "--out", out).status == 130
    assert cli("run", "small.toml").status == 130
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {"old"}
    assert list((folder / "old").iterdir()) == []


def test_full_disk(cli: Cli, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    output = cli("run", "small.toml", "--out", "one")
    assert output.status == 2
    assert "one: No space left on device" in output.err
    assert "packet-hops/s" in output.out, "what was measured is shown all the same"
    assert {path.name for path in folder.iterdir()} == {"small.toml", "long.toml"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_full_disk_behind_standard_output(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        process = start(folder, "schema", stdout=full.fileno())
        _, err = process.communicate()
    assert process.returncode == 2
    assert err == "error: standard output: No space left on device\n"


def test_engine_that_stops_a_run(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any) -> None:
        raise ic.RunError("small, seed 1: more than 10 million events at 0.5 s")

    monkeypatch.setattr(run, "run_many", stop)
    output = cli("run", "small.toml")
    assert (output.status, output.err) == (
        2,
        "error: small, seed 1: more than 10 million events at 0.5 s\n",
    )


@pytest.mark.parametrize("defect", [ic.InternalError("queue below zero"), ZeroDivisionError("x")])
def test_defect_asks_for_a_report(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, defect: Exception
) -> None:
    def fail(*_: Any) -> None:
        raise defect

    monkeypatch.setattr(run, "run_many", fail)
    output = cli("run", "small.toml")
    assert output.status == 3
    assert str(defect) in output.err
    assert "Please report it" in output.err
    assert "Traceback" not in output.err


def test_version(cli: Cli) -> None:
    assert cli("--version").out == f"incastle {ic.__version__}\n"


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("algorithms", {"new-reno", "dctcp", "cubic"}),
        ("queues", {"drop-tail", "red", "threshold"}),
        ("topologies", {"star", "dumbbell", "tree", "leaf-spine", "fat-tree", "clos", "graph"}),
        ("workloads", {"bulk", "cbr", "on-off", "barrier-incast", "poisson", "flow-list"}),
        ("papers", {"dctcp-ns2"}),
        ("plots", {"queue", "window", "goodput"}),
    ],
)
def test_lists(cli: Cli, what: str, names: set[str]) -> None:
    entries = json.loads(cli("list", what, "--json").out)
    assert names <= {entry["name"] for entry in entries}
    assert all(entry["description"] for entry in entries)
    shown = cli("list", what).out
    assert all(name in shown for name in names)


def test_list_of_everything(cli: Cli) -> None:
    output = cli("list")
    assert output.status == 0
    assert all(word in output.out for word in ("algorithms", "dctcp", "star", "dctcp-ns2"))


def test_list_of_measures(cli: Cli) -> None:
    names = [one["name"] for one in json.loads(cli("list", "measures", "--json").out)]
    assert {"goodput", "completion_p99", "queue_mean", "timeouts"} <= set(names)
    assert len(names) == len(set(names))


def test_schema_is_json_that_knows_the_tables(cli: Cli) -> None:
    schema = json.loads(cli("schema").out)
    assert {"run", "network", "switch", "transport", "flows"} <= set(schema["properties"])


def test_help_of_all_commands_has_the_first_line_of_each() -> None:
    for name, line in COMMANDS.items():
        assert (command(name)[0].__doc__ or "").partition("\n")[0] == line


@pytest.mark.parametrize(
    "command",
    ["run", "check", "list", "plot", "sweep", "find", "estimate", "reproduce", "bench", "schema"],
)
def test_help_has_examples(cli: Cli, command: str) -> None:
    output = cli(command, "--help")
    assert output.status == 0
    assert f"incastle {command}" in output.out.partition("Examples:")[2]
    assert command in cli().out


def test_what_a_path_is_when_it_is_no_result(cli: Cli) -> None:
    assert cli("run", "small.toml", "--out", "out/one").status == 0
    assert cli("sweep", "small.toml", "--set", "network.senders=4", "--out", "swept").status == 0
    for arguments, message in (
        (("explain", "small.toml"), "small.toml is not a result directory: it is a scenario; `inc"),
        (("plot", "swept", "queue"), "the sweep swept keeps the summary alone"),
        (("diff", "out/one", "swept"), "swept is neither a result nor a report: it is a sweep"),
        (("plot", "out", "queue"), "it holds 1 results: name one of them, as out/one"),
        (("sweep", "out/one", "--plot", "x=a y=b"), "is not a sweep: it is the result of one run"),
        (("run", "out/one"), "the scenario in it is out/one/scenario.toml"),
    ):
        output = cli(*arguments)
        assert (output.status, output.out) == (2, "")
        assert message in output.err


def test_plot(cli: Cli, folder: Path) -> None:
    (folder / "measured.toml").write_text(SMALL + MEASURED)
    cli("run", "measured.toml", "--out", "one")
    output = cli("plot", "one", "queue")
    assert (output.status, output.out) == (
        0,
        "one/queue.png, drawn from samples (queue_samples.parquet); 4 idle ports are not drawn\n",
    )
    assert cli("plot", "one", "window", "--out", "w.pdf").status == 0
    assert (folder / "w.pdf").exists()


def test_bench(cli: Cli) -> None:
    output = cli("bench", "--json", "--scenario", "small.toml", "--scenario", "small.toml")
    rows = json.loads(output.out)
    assert [row["scenario"] for row in rows] == ["small", "small"]
    assert rows[0]["digest"] == rows[1]["digest"]
    for row in rows:
        assert row["packet_hops_per_s"] == pytest.approx(row["packet_hops"] / row["wall_s"])
        assert 0 < row["data_packets_per_s"] < row["packet_hops_per_s"]
        assert row["simulated_s"] == pytest.approx(0.02)
        assert 1e6 < row["peak_memory_bytes"] < 1e9
        assert 0 < row["wall_s"] < row["process_wall_s"]
        assert row["events"] > 0
    assert "per second" in cli("bench", "--scenario", "small.toml").out


def test_bench_of_a_broken_scenario(cli: Cli, folder: Path) -> None:
    (folder / "broken.toml").write_text(SMALL.replace("senders = 4", "senders = 0"))
    output = cli("bench", "--scenario", "broken.toml")
    assert (output.status, output.out) == (2, "")
    assert "broken.toml:" in output.err


def test_quiet_where_there_is_no_terminal(folder: Path) -> None:
    process = start(folder, "run", "small.toml", "--json", "--out", "one")
    out, err = process.communicate()
    assert json.loads(out)["name"] == "small"
    assert err == "written to one\n"


def test_reader_that_goes_away(folder: Path) -> None:
    process = start(folder, "schema")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.wait()
    process.stderr.close()
