"""Pages against what there is: the names of the Python API, and the keys beside those of ns-3."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

import incastle as ic
from incastle import _engine
from incastle.commands.app import COMMANDS, application
from incastle.controllers.base import OPTIONAL, REQUIRED

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).parents[2] / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_page_of_the_api_has_every_name_and_no_other() -> None:
    described = re.findall(r"^::: incastle\.(\w+)$", page("python-api.md"), re.MULTILINE)
    assert len(described) == len(set(described))
    output = {*described, *re.findall(r"`incastle\.(\w+)`", page("python-api.md"))}
    assert output == set(ic.__all__)


def test_what_the_api_describes_has_words() -> None:
    for name in ic.__all__:
        value = getattr(ic, name)
        if not isinstance(value, str):
            assert inspect.getdoc(value), name


def words_of(schema: Any) -> Iterator[str]:
    """Give the keys of the language and the words that they take."""
    if isinstance(schema, dict):
        yield from schema.get("properties", ())
        yield from (word for word in schema.get("enum", ()) if isinstance(word, str))
        yield from [schema["const"]] if isinstance(schema.get("const"), str) else []
        for value in schema.values():
            yield from words_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from words_of(value)


def test_what_stands_beside_ns_3_is_there() -> None:
    applications: list[Any] = [typer.main.get_command(application(name)) for name in COMMANDS]
    options = {
        option.lstrip("-")
        for one in applications
        for command in one.commands.values()
        for parameter in command.params
        for option in parameter.opts
    }
    tables = {name for name, value in vars(ic.Result).items() if isinstance(value, property)}
    known = {
        *words_of(json.loads(_engine.schema())),
        *("incastle", "packets", "us", "long", "receiver"),
        *COMMANDS,
        *options,
        *tables,
        *REQUIRED,
        *OPTIONAL,
    }
    rows = re.findall(r"^\| .+? \| (.+) \|$", page("coming-from-ns-3.md"), re.MULTILINE)[1:]
    assert len(rows) >= 30
    spans = [span for row in rows for span in re.findall(r"`([^`]+)`", row)]
    named = {word for span in spans for word in re.findall(r"[a-z][a-z_-]+", span)}
    assert named <= known, named - known


def scenario_of(name: str, heading: str) -> ic.Scenario:
    """Give the first scenario under a heading of a page."""
    found = re.search(r"```toml\n(.+?)```", page(name).partition(heading)[2], re.DOTALL)
    assert found
    return ic.Scenario.from_text(found[1])


def test_the_start_of_dctcp_is_as_its_page_says() -> None:
    scenario = scenario_of("models/dctcp.md", "### How each parameter moves the result")
    text = page("models/dctcp.md")
    by_g = re.search(r"first 2 ms is (\d+) packets at 1/64, (\d+) at 1/16, (\d+) at 1/4", text)
    by_alpha = re.search(r"first 2 ms (\d+) with 1, (\d+) with 0", text)
    assert by_g
    assert by_alpha
    settings: list[dict[str, float]] = [
        {"transport.g": 1 / 64},
        {"transport.g": 1 / 16},
        {"transport.g": 1 / 4},
        {"transport.initial_alpha": 1},
        {"transport.initial_alpha": 0},
    ]
    results = ic.run_many((scenario, overrides, None) for overrides in settings)
    means = [result.switch_ports["mean_queue_packets"].max() for result in results]
    output = [float(one) for one in (*by_g.groups(), *by_alpha.groups())]
    assert means == pytest.approx(output, abs=1)


def test_delayed_acks_do_to_dctcp_what_its_page_says() -> None:
    scenario = scenario_of("models/dctcp.md", "### How each parameter moves the result")
    rows = re.findall(
        r"^  \| (\d*) ?\| ([124]) \| (0\.\d+) \| 0\.\d+ \| ([\d.]+) \|$",
        page("models/dctcp.md"),
        re.MULTILINE,
    )
    assert len(rows) == 6
    # Those of two flows, which are the sooner simulated.
    for _, delayed_ack_count, share, per_cut in rows[:3]:
        changes: dict[str, str | int] = {
            "run.duration": "400 ms",
            "network.senders": 2,
            "transport.delayed_ack_count": int(delayed_ack_count),
        }
        results = ic.run_many((scenario, changes, seed) for seed in (1, 2, 3))
        marks = [one.flows["marks"].sum() for one in results]
        packets = [one.switch_ports["packets"].max() for one in results]
        cuts = [one.flows["ecn_reductions"].sum() for one in results]
        assert mean_ratio(marks, packets) == pytest.approx(float(share), abs=0.001)
        assert mean_ratio(marks, cuts) == pytest.approx(float(per_cut), abs=0.1)


def mean_ratio(over: list[Any], under: list[Any]) -> float:
    return float(sum(a / b for a, b in zip(over, under, strict=True))) / len(over)


@pytest.mark.slow
def test_the_fabric_of_hpcc_has_the_stated_packet_hops() -> None:
    example = DOCS.parent / "examples" / "hpcc-fabric.toml"
    stated = "25 million packet-hops under HPCC and 18 million under DCQCN"
    assert stated in " ".join(page("rdma.md").split())
    assert stated in " ".join(example.read_text(encoding="utf-8").replace("\n#", "").split())
    for hops, control in re.findall(r"(\d+) million (?:packet-hops )?under (\w+)", stated):
        overrides = {"transport.congestion": control.lower()}
        totals = ic.run(ic.load(example), overrides=overrides).totals
        assert round(totals["packet_hops"] / 1e6) == int(hops)
