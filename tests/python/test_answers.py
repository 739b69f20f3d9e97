"""What the command line and Python answer to wrong input: the finding, and the remedy."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import incastle as ic
from incastle import usage
from incastle.sweeps.values import axis_from_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Output

    Cli = Callable[..., Output]

SENDERS = ("--largest", "network.senders=2,4")
CONGESTION = "transport.congestion"
CUBIC = ("find", "small.toml", "--set", f"{CONGESTION}=cubic")
WRONG: list[tuple[tuple[str, ...], str]] = [
    (("check", "small.toml", "--set", "network.bandwidth=1 Gbit/s"), "did you mean rate?"),
    (("check", "small.toml", "--set", "transport.congestion=TcpCubic"), 'did you mean "cubic"?'),
    (("check", "small.toml", "--set", "transport.congestion=vegas"), "TCP Vegas is not modelled"),
    (("check", "small.toml", "--set", "flows.lnog.count=2"), 'did you mean "long"?'),
    (("run", "small.toml", "--set", "network.senders=5,10"), "sweep` takes several values"),
    (("simulate", "small.toml"), "no command simulate: did you mean run?"),
    (("rnu", "small.toml"), "no command rnu: did you mean run?"),
    (("list", "algorithmz"), "did you mean algorithms?"),
    (("run", "small.toml", "--seed", "abc"), "--seed abc: a whole number is expected"),
    (("run", "small.toml", "--seed", "-3"), "--seed -3: at least 0 is expected"),
    (("run", "small.toml", "--json", "yes"), "unexpected: yes"),
    (("run", "small.toml", "other.toml"), "unexpected: other.toml; one scenario at a time"),
    (
        ("run", "small.toml", "--set", "run.duration=10", "ms"),
        'unexpected: ms; a value with blanks has quotes: --set "run.duration=10 ms"',
    ),
    (
        ("find", "small.toml", *SENDERS, "--where", "drops", "==", "0"),
        'unexpected: == 0; a value with blanks has quotes: --where "drops == 0"',
    ),
    (
        ("sweep", "small.toml", "--set", "network.senders=1-10"),
        "several values are written, each in turn, as 1..10",
    ),
    (("run", "small.toml", "--json=yes"), "--json has no value: write it alone"),
    (("run", "small.toml", "--out", ""), "--out needs a value"),
    (("run", "small.toml", "--out"), "--out needs a value"),
    (("run", "small.toml", "--out", "."), "is the working folder"),
    (("sweep", "small.toml", "--set", "network.senders=2", "--figure", "a.pdf"), "of --plot"),
    (("estimate", "small.toml", "--out", "."), "is the working folder"),
    (("run", "small.toml", "--sed", "3"), "no option --sed: did you mean"),
    (("run",), "SCENARIO is missing"),
    (("run", "smal.toml"), "did you mean small.toml?"),
    (("find", "small.toml", *SENDERS, "--where", "utilisation > 99"), "did you mean 99 %?"),
    (
        ("find", "small.toml", *SENDERS, "--where", "drops == 0 or marks == 0"),
        "joined by and alone",
    ),
    (("find", "small.toml", "--largest", "x=1,2", "--where", "drops == 0"), "--largest x=1: error"),
    (("find", "small.toml", "--minimize", "drops", "--over", "x"), "--over x: expected KEY=VALUES"),
    (
        ("find", "small.toml", *SENDERS, "--where", "drops == 0", "--trials", "3"),
        "--trials is of --maximize and --minimize: --largest bisects",
    ),
    (
        ("find", "small.toml", "--largest", f"{CONGESTION}=dctcp,cubic", "--where", "drops == 0"),
        "needs numbers or quantities in ascending order, found dctcp, cubic",
    ),
    (
        ("find", "small.toml", "--largest", "network.senders=4,2", "--where", "drops == 0"),
        "needs numbers or quantities in ascending order, found 4, 2",
    ),
    (
        ("find", "small.toml", "--minimize", "slowdown_p99", "--over", "network.senders=2,4"),
        "slowdown_p99 is not measured: under [measure], write slowdown = true",
    ),
    (
        (*CUBIC, "--largest", "transport.g=0.1,0.2", "--where", "drops == 0"),
        "--largest transport.g: it has no effect here",
    ),
    (
        (*CUBIC, "--minimize", "drops", "--over", "transport.g=0.001..0.999", "--trials", "2"),
        "--over transport.g: it has no effect here",
    ),
    (("run", "small.toml", "--seeds", "1,2,3"), "for 1, 2 and 3 write --seed 1 --seeds 3"),
    (("sweep", "small.toml", "--seeds", "1..3"), "for 1, 2 and 3 write --seed 1 --seeds 3"),
    (("explain", "none", "--all"), "--all is of --timeouts"),
]


@pytest.mark.parametrize(("words", "answer"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_the_remedy_is_in_the_message(cli: Cli, words: tuple[str, ...], answer: str) -> None:
    output = cli(*words)
    assert output.status == 2
    assert answer in output.err
    assert not output.out
    assert "internal error" not in output.err


def test_a_closed_standard_output_is_no_defect(folder: Path) -> None:
    command = f"{sys.executable} -m incastle list algorithms >&-"
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, stderr=subprocess.PIPE, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_key_of_a_sweep_is_reported_once(cli: Cli) -> None:
    output = cli("sweep", "small.toml", "--set", "transport.rto_min=1,2,3")
    assert output.err.count("unknown key") == 1
    assert "did you mean min_rto?" in output.err


def test_check_shows_the_line(cli: Cli, folder: Path) -> None:
    text = (folder / "small.toml").read_text().replace('rate = "1 G', 'bandwith = "1 G')
    (folder / "wrong.toml").write_text(text)
    output = cli("check", "wrong.toml")
    assert output.status == 2
    assert '   10 | bandwith = "1 Gbit/s"\n      | ^\n' in output.err


def test_check_as_json(cli: Cli, folder: Path) -> None:
    output = cli("check", "small.toml", "--json")
    assert output.status == 0
    assert json.loads(output.out) == [{"file": "small.toml", "correct": True, "findings": []}]
    (folder / "wrong.toml").write_text("[run]\nduration = 10 ms\n")
    output = cli("check", "small.toml", "wrong.toml", "--json")
    assert (output.status, output.err) == (2, "")
    right, wrong = json.loads(output.out)
    assert right["correct"]
    assert not wrong["correct"]
    (finding,) = wrong["findings"]
    assert finding["line"] == 2
    assert finding["help"] == 'strings have quotes: duration = "10 ms"'


@pytest.mark.parametrize("name", ["algorithm", "topology", "plot", "Papers"])
def test_the_singular_of_a_list_is_enough(cli: Cli, name: str) -> None:
    output = cli("list", name)
    assert output.status == 0, output.err


def test_the_last_unit_is_that_of_all() -> None:
    def words(text: str) -> list[str]:
        return [choice.text for choice in axis_from_text("flows.long.size", text).choices]

    assert words("10,50,100 KB") == ["10 KB", "50 KB", "100 KB"]
    assert words("1 MB,10,50 KB") == ["1 MB", "10 KB", "50 KB"]
    assert words("1,2..3 ms") == ["1 ms", "2 ms", "3 ms"]
    assert words("1..3 ms") == ["1 ms", "2 ms", "3 ms"]


def test_an_empty_folder_takes_a_result(cli: Cli, folder: Path) -> None:
    (folder / "empty").mkdir()
    assert cli("run", "small.toml", "--out", "empty").status == 0
    assert ic.Result.load(folder / "empty").name == "small"


def test_figures_are_drawn_before_anything_is_printed(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("run", "small.toml", "--out", "one").status == 0
    assert cli("run", "small.toml", "--out", "two", "--seed", "2").status == 0

    def closed(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("incastle.commands.diff.show", closed)
    monkeypatch.setattr("incastle.commands.explain._show", closed)
    cli("diff", "one", "two", "--figure", "diff.png")
    cli("explain", "one", "--plot", "why.png")
    assert Path("diff.png").is_file()
    assert Path("why.png").is_file()


def test_force_is_not_proposed_for_a_foreign_folder(cli: Cli, folder: Path) -> None:
    """Others write a summary.json as well: their folder stays as it is."""
    for name in ("notes.txt", "summary.json"):
        (folder / name.partition(".")[0]).mkdir()
        (folder / name.partition(".")[0] / name).write_text("{}")
    for place in ("notes", "summary"):
        output = cli("run", "small.toml", "--out", place)
        assert output.status == 2
        assert f"{place} already exists and is not a result: choose another --out" in output.err
        assert "--force" not in output.err
        output = cli("run", "small.toml", "--out", place, "--force")
        assert output.status == 2
        assert "--force leaves it alone" in output.err
        assert len(list((folder / place).iterdir())) == 1


@pytest.mark.parametrize("lost", [True, False], ids=["lost", "changed"])
def test_a_damaged_result_names_the_command_that_makes_it_again(cli: Cli, *, lost: bool) -> None:
    assert cli("run", "small.toml", "--out", "one").status == 0
    queues = Path("one/queues.parquet")
    if lost:
        queues.unlink()
    else:
        queues.write_bytes(b"nothing")
    output = cli("explain", "one")
    assert output.status == 2
    assert "one/queues.parquet cannot be read" in output.err
    command = "incastle run one/scenario.toml --out one --force"
    assert f"`{command}` makes the result again" in output.err
    assert cli(*command.split()[1:]).status == 0
    assert cli("explain", "one").status == 0


def test_find_reports_keys_without_effect_that_are_set(cli: Cli) -> None:
    words = ("--largest", "network.senders=2,3", "--where", "flows > 0", "--seeds", "1")
    output = cli(*CUBIC, "--set", "transport.g=0.5", *words)
    assert output.status == 0
    assert "g has no effect here" in output.err


def test_flows_by_group_and_several(cli: Cli) -> None:
    assert cli("run", "small.toml", "--out", "one").status == 0
    assert "short:" in cli("explain", "one", "--flow", "short").out
    both = cli("explain", "one", "--flow", "long:0", "--flow", "long:1", "--json")
    assert [one["name"] for one in json.loads(both.out)] == ["long:0", "long:1"]
    wrong = cli("explain", "one", "--flow", "lnog:1")
    assert wrong.status == 2
    assert "did you mean long:1?" in wrong.err


@pytest.mark.parametrize("values", ["a=1", ["a"], None])
def test_a_sweep_takes_a_dictionary(scenario: ic.Scenario, values: Any) -> None:
    with pytest.raises(TypeError, match="write a dictionary such as"):
        ic.sweep(scenario, values)


def test_load_takes_a_dictionary(folder: Path) -> None:
    loaded = ic.load(folder / "small.toml", {"network.senders": 3, "run.duration": "5 ms"})
    assert (loaded["network.senders"], loaded.duration_s) == (3, 0.005)
    assert ic.load("small.toml", [("run.seed", "7")]).seed == 7
    for wrong in ("run.seed=7", [("run.seed", 7)], 7):
        with pytest.raises(TypeError, match="overrides are a dictionary"):
            ic.load("small.toml", wrong)  # type: ignore[arg-type]


def test_a_scenario_that_is_not_there(folder: Path) -> None:
    with pytest.raises(ic.IncastleError, match=r"did you mean .*small\.toml\?") as found:
        ic.load(folder / "smal.toml")
    assert isinstance(found.value, FileNotFoundError)


def test_other_words_for_commands_lead_to_commands() -> None:
    from incastle.commands.app import COMMANDS  # noqa: PLC0415  slow to import

    assert set(usage.OTHER_COMMANDS.values()) <= set(COMMANDS)
    assert not set(usage.OTHER_COMMANDS) & set(COMMANDS)


def test_a_swept_key_without_effect_is_refused(cli: Cli) -> None:
    # A key of CUBIC.
    sweep = ("sweep", "small.toml", "--set", "transport.fast_convergence=true,false")
    output = cli(*sweep)
    assert output.status == 2
    assert "--set transport.fast_convergence: it has no effect here, all 2 values" in output.err
    # The scenario of a result gives each group of flows its transport.
    assert cli("run", "small.toml", "--out", "whole").status == 0
    output = cli("sweep", "whole/scenario.toml", "--set", "transport.congestion=dctcp,cubic")
    assert output.status == 2
    assert "--set transport.congestion: it has no effect here, all 2 values" in output.err
    both = cli(*sweep, "--set", "transport.congestion=dctcp,cubic", "--set", "run.duration=2 ms")
    assert both.status == 0, both.err


def test_figures_of_sweeps_take_the_last_part_of_a_key(cli: Cli) -> None:
    sweep = ("sweep", "small.toml", "--set", "network.senders=2,3", "--set", "run.duration=2 ms")
    output = cli(*sweep, "--plot", "x=senders y=goodput", "--out", "swept")
    assert output.status == 0, output.err
    again = cli("sweep", "swept", "--plot", "x=senders y=goodput", "--figure", "again.png")
    assert again.status == 0, again.err
    assert Path("again.png").is_file()


CONTROLLER = """\
import incastle as ic


class Fixed(ic.Controller):
    def on_ack(self, ack: ic.Ack) -> None:
        self.window = 15_000
"""


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (gzip.compress(b"[run]", mtime=0), "a gzip file"),
        ("[run]".encode("utf-16"), "text in UTF-16"),
        (b"PAR1\xff\xff", "a table (Parquet)"),
        (b"# \xb5s", "not a UTF-8 file (byte 2 is not)\n    save it as UTF-8"),
        (b'{"run": {"duration": "2 s"}}', "this is JSON"),
        (b"run:\n  duration: 2 s\n", "this is YAML"),
        (b"", "the file is empty"),
    ],
)
def test_a_file_that_is_no_scenario_is_named(
    cli: Cli, folder: Path, content: bytes, kind: str
) -> None:
    (folder / "other.toml").write_bytes(content)
    output = cli("check", "other.toml")
    assert output.status == 2
    assert kind in output.err


def test_a_controller_in_the_working_folder(cli: Cli, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "mine.toml").write_text((folder / "small.toml").read_text())
    (folder / "mine.py").write_text(CONTROLLER)
    check = ("check", "sub/mine.toml", "--set")
    output = cli(*check, "transport.congestion=mine.py:Fixed")
    assert output.status == 0, output.err
    assert 'name one as in "mine.py:Fixed"' in cli(*check, "transport.congestion=mine.py").err
    missing = cli(*check, "transport.congestion=other.py:Fixed")
    assert f"looked for in {folder / 'sub'}, the scenario's folder, and {folder}" in missing.err


@pytest.mark.usefixtures("folder")
def test_an_interrupted_run_says_why_slowdowns_are_empty() -> None:
    from incastle.commands.run import _without_ideals  # noqa: PLC0415  slow to import

    whole = ic.run(ic.load("small.toml", {"measure.slowdown": True}))
    assert _without_ideals(whole) is None
    gone = whole.transfers.with_columns(ideal_fct_s=None, slowdown=None)
    whole.tables["transfers"] = gone
    assert "ideal FCTs are computed after the run" in (_without_ideals(whole) or "")
