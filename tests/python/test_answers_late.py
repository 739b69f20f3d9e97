"""Answers to inputs that look right: what would be lost, or have no effect, is refused."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

import incastle as ic
from incastle.plotting import kinds, style
from incastle.storage import files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Output

    Cli = Callable[..., Output]

SENDERS = "network.senders"
WORD: Any = "1"
TRUE: Any = True
FIVE: Any = 5
TOPOLOGY = "4 1 3\n3\n0 3 10Gbps 1us 0\n1 3 10Gbps 1us 0\n2 3 10Gbps 1us 0\n"


def test_an_import_leaves_results_alone(folder: Path, cli: Cli) -> None:
    (folder / "t.txt").write_text(TOPOLOGY)
    assert cli("run", "small.toml", "--out", "kept").status == 0
    before = (folder / "kept" / "scenario.toml").read_text()
    for more in ((), ("--force",)):
        output = cli("import", "t.txt", "--out", "kept", *more)
        assert output.status == 2
        assert output.err == "error: --out kept: is a result of a run; choose another --out\n"
    assert (folder / "kept" / "scenario.toml").read_text() == before


def test_results_with_and_without_slowdowns_share_a_figure(scenario: ic.Scenario) -> None:
    more: dict[str, Any] = {"measure.slowdown": True, "transport.congestion": "cubic"}
    both = [ic.run(scenario), ic.run(scenario, overrides=more)]
    assert "slowdown" in both[1].observed.columns
    for drawn in (both, both[::-1]):
        assert "transfers" in kinds.draw(drawn, "fct")[1]


def test_results_without_a_common_port_say_so(scenario: ic.Scenario) -> None:
    star = ic.run(scenario)
    other = {"name": "other", "network.topology": "dumbbell"}
    dumbbell = ic.run(scenario, overrides=other)
    for drawn in ([star, dumbbell], [dumbbell, star]):
        for kind in ("queue", "queue-cdf"):
            with pytest.raises(ic.PlotError, match="share no port of a switch: draw each alone"):
                kinds.draw(drawn, kind)


def test_a_searched_key_is_not_set(cli: Cli, folder: Path) -> None:
    assert folder.is_dir()
    search = ("find", "small.toml", "--largest", f"{SENDERS}=2..4", "--where", "drops == 0")
    output = cli(*search, "--set", f"{SENDERS}=3")
    assert output.status == 2
    assert f"{SENDERS} is given by --largest and by --set: leave one out" in output.err


def test_a_string_is_no_list_of_tables(scenario: ic.Scenario) -> None:
    with pytest.raises(TypeError, match=r"found 'flows': write \['flows'\]"):
        ic.sweep(scenario, {SENDERS: [2]}, tables="flows")


@pytest.mark.parametrize(
    ("seeds", "error", "answer"),
    [
        (2.0, TypeError, "seeds are a whole number or a list of them, found 2.0"),
        ("1", TypeError, "a list of them, found '1'"),
        ([1, 1], ValueError, "seeds: 1 is given twice"),
    ],
)
def test_seeds_of_python(
    scenario: ic.Scenario, seeds: Any, error: type[Exception], answer: str
) -> None:
    with pytest.raises(error, match=answer):
        ic.sweep(scenario, {SENDERS: [2]}, seeds)


def test_a_controller_that_no_flow_uses(scenario: ic.Scenario) -> None:
    with pytest.raises(ic.IncastleError, match='no flow uses "mine": set transport'):
        ic.run(scenario, controllers={"mine": type("Mine", (ic.Controller,), {"on_ack": print})})


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (
            lambda one: one.with_overrides({SENDERS: "eight"}),
            'overrides: network.senders = "eight": senders must be a whole number',
        ),
        (
            lambda one: one.with_overrides({"network": {"senders": 8}}),
            'a dictionary replaces the whole table; one key of it is {"network.KEY": VALUE}',
        ),
        (
            lambda one: ic.run(one, overrides={SENDERS: [2, 4]}),
            "several values are for ic.sweep(scenario, {KEY: [VALUE, ...]})",
        ),
        (lambda one: ic.run(one, seed=WORD), 'overrides: run.seed = "1": seed must be'),
        (lambda one: ic.run(one, progress=TRUE), "progress is a function of a Progress, found"),
        (lambda one: ic.plot.queue(ic.run(one), out=FIVE), "out is the name of a file, such as"),
    ],
)
def test_messages_of_python_name_its_arguments(
    scenario: ic.Scenario, call: Callable[[Any], object], answer: str
) -> None:
    with pytest.raises((ic.ScenarioError, TypeError)) as raised:
        call(scenario)
    assert answer in str(raised.value)
    assert "--set" not in str(raised.value)


def test_the_last_part_of_a_swept_key_is_enough(scenario: ic.Scenario) -> None:
    assert ic.sweep(scenario, {SENDERS: [2, 3]}).plot("senders", "goodput").axes


@pytest.mark.parametrize(
    ("key", "values", "meant"),
    [
        ("network.rate", "[1 Gbit/s, 10 Gbit/s]", "1 Gbit/s,10 Gbit/s; one list is written ["),
        ("transport.min_rto", "1ms..10ms", "1..10 ms"),
        (SENDERS, "2:10:2", "2,4,6,8,10"),
        (SENDERS, "2..10/2", "2,4,6,8,10"),
    ],
)
def test_a_sweep_shows_how_values_are_written(
    key: str, values: str, meant: str, folder: Path, cli: Cli
) -> None:
    output = cli("sweep", "small.toml", "--set", f"{key}={values}", "--out", "swept")
    assert output.status == 2
    assert f"several values are written, each in turn, as {meant}" in output.err
    assert "`incastle sweep`" not in output.err
    assert not (folder / "swept").exists()


def test_files_and_damages_of_results_have_a_remedy(folder: Path, cli: Cli) -> None:
    assert cli("run", "small.toml", "--out", "kept").status == 0
    output = cli("explain", "kept/links.parquet")
    assert "kept/links.parquet is a file of a result: name its folder, kept" in output.err
    (folder / "bare").mkdir()
    (folder / "bare" / "scenario.toml").touch()
    with pytest.raises(ic.ResultError, match=r"restore it, or run bare/scenario.toml with another"):
        ic.Result.load("bare")
    for name in ("scenario.toml", "summary.json"):
        whole = (folder / "kept" / name).read_text()
        (folder / "kept" / name).write_text(whole.replace("small", "other"))
        output = cli("plot", "kept", "queue", "--out", "q.png")
        assert output.status == 2
        assert "restore it, or run kept/scenario.toml with another --out" in output.err
        (folder / "kept" / name).write_text(whole)
    with pytest.raises(ic.ResultError, match=r"in Python another name, or force=True"):
        ic.run(ic.load("small.toml"), seed=9).save("kept")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("run", "small.toml", "-o", "kept"), "no option -o: write --out"),
        (("run", "small.toml", "--duration", "1 ms"), "no option --duration: write --set run.dur"),
        (("choose-k", "--rtt", "100 us"), "no option --rtt: write --delay, a quarter"),
        (("schema", "small.toml"), "unexpected: small.toml\n"),
        (("import", "small.toml", "--out", "o"), "a scenario needs no import: incastle run"),
        (("check", "."), ".: Is a directory: name a scenario in it, such as long.toml"),
        (("sweep", "small.toml", "--set", SENDERS, "2,4"), f"small.toml 2,4: --set {SENDERS}=2,4"),
        (("choose-k", "--duration", "20 ms"), "--duration: warmup = 50 ms is not before the end"),
    ],
)
def test_other_words_of_the_command_line(
    words: tuple[str, ...], answer: str, folder: Path, cli: Cli
) -> None:
    assert folder.is_dir()
    output = cli(*words)
    assert output.status == 2
    assert answer in output.err


def test_a_sweep_without_values_says_how_they_are_given(folder: Path, cli: Cli) -> None:
    output = cli("sweep", "small.toml", "--out", "swept")
    assert "one run: --set KEY=VALUES has several values of a key, --seeds N seeds" in output.err
    assert "one run:" not in cli("sweep", "small.toml", "--seeds", "2", "--out", "seeds").err
    assert (folder / "seeds").is_dir()


def test_a_folder_without_write_permission_is_named(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir()
    with patch.object(os, "access", return_value=False), pytest.raises(ic.PlotError) as raised:
        style.check_file(closed / "k.png")
    assert f"{closed} takes no files from you" in str(raised.value)
    refused = PermissionError(errno.EACCES, "Permission denied", ".new-abcd1234.part")
    with (
        patch("tempfile.mkdtemp", side_effect=refused),
        pytest.raises(PermissionError) as error,
        files.scratch_folder(closed / "new"),
    ):
        pass
    assert error.value.filename == str(closed / "new")
