"""Answers to inputs that look right: what would be lost, or have no effect, is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import incastle as ic
from incastle.plotting import kinds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Output

    Cli = Callable[..., Output]

SENDERS = "network.senders"
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
