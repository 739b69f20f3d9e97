"""`incastle bench --all` and its page: the list, the turns, the arithmetic, what is shown."""

from __future__ import annotations

import json
import re
import shutil
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import incastle as ic
import page
from incastle.benchmarks import engines, memory, process, rows, suite, turns
from incastle.benchmarks.engines import Run
from incastle.benchmarks.suite import SUITE, Benchmark
from incastle.benchmarks.turns import Measured
from incastle.commands import bench as bench_command
from incastle.errors import IncastleError, InternalError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Output

    Cli = Callable[..., Output]

DOCS = Path(__file__).parents[2] / "docs"


def ran(cpu_s: float, hops: int = 4_000_000, simulated_s: float = 1.0) -> Run:
    return Run(cpu_s, 2 * cpu_s, simulated_s, hops, hops // 4, 10_000_000)


def made_up() -> list[Measured]:
    """Make ours 0.1, 0.2 and 0.4 s, with ten times the hosts or rate ten times the work."""
    found = []
    sizes = {name: size for series in (suite.HOSTS, suite.RATES) for size, name in series.items()}
    for one in SUITE:
        size = sizes.get(one.name, 1)
        runs = [ran(cpu_s * size, 4_000_000 * size) for cpu_s in (0.4, 0.1, 0.2)]
        found.append(Measured(one, "Incastle", tuple(runs)))
        if one.senders:
            found.append(Measured(one, "ns-2", (ran(1.0), ran(0.5), ran(0.8))))
    return found


# ---- the list


@pytest.mark.parametrize("one", SUITE, ids=lambda one: one.name)
def test_every_benchmark_has_a_scenario_of_its_name(one: Benchmark) -> None:
    scenario = ic.load(process.shipped(one.name))
    assert scenario.name == one.name
    assert scenario.warnings == ()
    assert scenario.to_dict()["transport"].get("preset", "") == one.preset


def test_every_scenario_in_the_folder_is_a_benchmark() -> None:
    there = {path.stem for path in process.shipped("star-20").parent.glob("*.toml")}
    assert there == set(suite.BY_NAME)
    assert set(suite.SHORT) <= there


def differing(name: str, other: str) -> set[str]:
    """Name the lines in which two resolved scenarios differ, by their keys."""
    texts = [ic.load(process.shipped(one)).resolved.splitlines() for one in (name, other)]
    lines = set(texts[0]) ^ set(texts[1])
    return {line.partition(" =")[0] for line in lines}


@pytest.mark.parametrize(
    ("series", "key"),
    [
        (suite.FLOWS, {"senders"}),
        (suite.RATES, {"rate", "duration"}),
        (suite.LENGTHS, {"duration"}),
        (suite.HOSTS, {"k", "duration"}),
        ({10: "fat-tree-1024", 100: "fat-tree-1024-100g"}, {"rate", "duration"}),
    ],
)
def test_a_series_differs_in_what_it_is_drawn_over(series: dict[int, str], key: set[str]) -> None:
    first, *others = series.values()
    for other in others:
        assert differing(first, other) == key | {"name"}


def test_the_star_of_linux_differs_in_its_preset() -> None:
    keys = {"recovery", "tail_loss_probe", "dsack", "prr", "f_rto", "loss_detection"}
    keys |= {"abc_limit", "max_rto"}
    assert differing("star-20", "star-20-linux") == keys | {"name", "preset"}


def test_sizes_are_those_of_the_scenarios() -> None:
    def read(name: str, key: str) -> object:
        return ic.load(process.shipped(name))[key]

    assert {n: read(name, "network.senders") for n, name in suite.FLOWS.items()} == {
        n: n for n in suite.FLOWS
    }
    assert {rate: read(name, "network.rate") for rate, name in suite.RATES.items()} == {
        rate: f"{rate} Gbit/s" for rate in suite.RATES
    }
    ports = {hosts: read(name, "network.k") for hosts, name in suite.HOSTS.items()}
    assert all(isinstance(k, int) and k**3 // 4 == hosts for hosts, k in ports.items())
    for one in SUITE:
        if one.senders:
            assert read(one.name, "network.senders") == one.senders


# ---- the turns


class Fake:
    """Counts its runs."""

    def __init__(self, name: str, log: list[str], supports: str = "") -> None:
        self.name = name
        self.log = log
        self.only = supports

    def supports(self, benchmark: Benchmark) -> bool:
        """Tell whether it can run this."""
        return self.only in benchmark.name

    def run(self, benchmark: Benchmark) -> Run:
        """Note it; each takes a second longer than the one before."""
        self.log.append(f"{self.name} {benchmark.name}")
        return ran(len(self.log))


def test_all_take_turns() -> None:
    log: list[str] = []
    output: list[tuple[int, int, str]] = []
    two = (Benchmark("a", ""), Benchmark("b", ""))
    both = [Fake("x", log), Fake("y", log, supports="b")]
    measured = turns.measure(two, both, 2, lambda *state: output.append(state))
    assert log == ["x a", "x b", "y b"] * 2
    assert output[0] == (0, 6, "a, x")
    assert output[-1] == (5, 6, "b, y")
    assert [(one.benchmark.name, one.engine) for one in measured] == [
        *(("a", "x"), ("b", "x"), ("b", "y"))
    ]
    assert [run.cpu_s for run in measured[0].runs] == [1, 4]


def test_other_work_in_another_run_is_a_defect() -> None:
    class Unsteady(Fake):
        def run(self, benchmark: Benchmark) -> Run:
            """Do more each time."""
            return ran(1.0, 100 + len(self.log) if super().run(benchmark) else 0)

    with pytest.raises(InternalError, match="two runs on x did different work"):
        turns.measure((Benchmark("a", ""),), [Unsteady("x", [])], 2)


def test_medians_and_ranges() -> None:
    ours = turns.by_name(made_up(), "Incastle")["star-2"]
    # 4 million packet-hops in 0.4, 0.1 and 0.2 s.
    assert vars(ours.rate) == pytest.approx({"median": 20e6, "minimum": 10e6, "maximum": 40e6})
    assert vars(ours.cost_ns) == pytest.approx({"median": 50, "minimum": 25, "maximum": 100})
    row = ours.as_row()
    assert (row["benchmark"], row["runs"], row["data_packets"]) == ("star-2", 3, 1_000_000)
    assert row["wall_s"]["median"] == pytest.approx(0.4)


def test_exponents() -> None:
    # 1, 10 and 100 times the work in 1, 100 and 10,000 times the time.
    assert turns.exponent([(1, 3), (10, 300), (100, 30_000)]) == pytest.approx(2)
    assert turns.exponent([(5, 7), (50, 7)]) == pytest.approx(0)
    found = rows.exponents(made_up())
    # As many packet-hops in the longer one: its exponent has no meaning there.
    assert (found["hosts"], found["rate"]) == pytest.approx((1, 1))
    few = [one for one in made_up() if one.benchmark.name != "fat-tree-8192"]
    assert "hosts" not in rows.exponents(few)


def test_rows_have_ratios_to_what_was_measured_and_what_was_not() -> None:
    found = [row for row in rows.rows(made_up()) if row.benchmark.name == "star-20"]
    assert [row.engine for row in found] == ["Incastle", "ns-2", "htsim", "ns-3, release build"]
    # Series of rates: ours ten times the work in ten times the time, 20 million per second. ns-2
    # has 4 million in 0.8 s.
    assert [row.ratio for row in found] == [
        None,
        pytest.approx(4.0),
        pytest.approx(20 / 11.7),
        pytest.approx(20 / 0.27),
    ]
    assert [row.measured for row in found] == [True, True, False, False]
    assert [row.goal for row in found] == [25e6, None, None, None]


# ---- the engines


def program(path: Path, says: str, status: int = 0) -> Path:
    """Write a program that notes its arguments and says something."""
    path.write_text(f"#!/bin/sh\necho \"$@\" >> {path}.log\necho '{says}'\nexit {status}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_ns2_is_read(tmp_path: Path) -> None:
    reason = (
        "version 2.35 simulated_s 4 wall_ms 1500 data_packets 10 sent_packets 11 packet_hops 40"
    )
    ns2 = engines.Ns2(str(program(tmp_path / "ns", reason)))
    run = ns2.run(suite.BY_NAME["star-20"])
    assert (run.simulated_s, run.wall_s, run.data_packets, run.packet_hops) == (4, 1.5, 10, 40)
    assert 0 < run.cpu_s < 1
    assert ns2.version == "2.35"
    assert not ns2.supports(suite.BY_NAME["fat-tree-128"])
    (arguments,) = (tmp_path / "ns.log").read_text().splitlines()
    assert arguments.split()[1:] == ["20", "4"]


def test_ns3_is_counted_once(tmp_path: Path) -> None:
    reason = '{"wall_s": 2.0, "user_s": 1.5, "packet_hops": 400, "received": 146000}'
    ns3 = engines.Ns3(program(tmp_path / "replay", reason))
    runs = [ns3.run(suite.BY_NAME["star-2"]) for _ in range(2)]
    assert runs[0] == runs[1]
    assert (runs[0].cpu_s, runs[0].wall_s, runs[0].packet_hops) == (1.5, 2.0, 400)
    assert runs[0].data_packets == 100
    calls = (tmp_path / "replay.log").read_text().splitlines()
    assert ["--measure=1" in call for call in calls] == [False, True, False]
    assert all("--senders=2 " in call for call in calls)


def test_flows_of_ns3_begin_within_a_round_trip(tmp_path: Path) -> None:
    options = engines.ns3_star(suite.BY_NAME["star-20"], tmp_path)
    lines = (tmp_path / "arrivals.csv").read_text().splitlines()
    assert f"--arrivals={tmp_path}/arrivals.csv" in options
    assert lines[0] == "start_s,source,destination,bytes"
    assert lines[20] == "0.000095000000,sender:19,receiver,100000000000000"
    scenario = ic.load(process.shipped("star-20"))
    assert (
        f"--markAbove={scenario['switch.queue.marking_threshold'].removesuffix(' packets')}"
        in options
    )
    assert f"--delay={scenario['network.delay'].replace(' ', '')}" in options


def test_a_tree_of_ns3_has_the_flows_of_ours(tmp_path: Path) -> None:
    options = engines.ns3_tree(suite.BY_NAME["fat-tree-128"], tmp_path)
    assert {"--k=8", "--delay=1us", "--markAbove=15", "--seconds=0.0005"} <= set(options)
    _, *lines = (tmp_path / "arrivals.csv").read_text().splitlines()
    flows = [line.split(",") for line in lines]
    assert [at for at, *_ in flows] == sorted(at for at, *_ in flows)
    hosts = {f"host:{number}" for number in range(128)}
    assert {source for _, source, *_ in flows} == {sink for _, _, sink, _ in flows} == hosts
    assert all(source != sink for _, source, sink, _ in flows)


def test_trees_of_ns3_are_those_of_the_list() -> None:
    ns3 = engines.Ns3(Path("replay"))
    trees = [one.name for one in SUITE if ns3.supports(one) and not one.senders]
    assert trees == list(engines.NS3_TREE_SECONDS)


def test_a_program_that_is_not_there_or_fails(tmp_path: Path) -> None:
    with pytest.raises(IncastleError, match="nothing: No such file"):
        engines.metered([str(tmp_path / "nothing")])
    with pytest.raises(IncastleError, match="left with status 3"):
        engines.metered([str(program(tmp_path / "broken", "", 3))])


@pytest.mark.skipif(shutil.which("ns") is None, reason="needs ns-2 (Debian: ns2)")
def test_the_star_runs_on_ns2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "NS2_SECONDS", 0.02)
    run = engines.Ns2(shutil.which("ns") or "").run(suite.BY_NAME["star-20"])
    # 20 ms at 10 Gbit/s are 16,667 packets of 1500 B, less what the first round trips miss.
    assert 12_000 < run.data_packets < 16_667
    assert run.packet_hops == 4 * run.data_packets


# ---- the command


@pytest.fixture
def alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the small scenario be the only benchmark, and no other engine be there."""
    named = (Benchmark("star-20", "words", goal=5e6, published=(suite.Published("p", 1e6),)),)
    monkeypatch.setattr(suite, "SUITE", named)
    for name in ("FLOW", "PACKET"):
        few = replace(getattr(memory, name), counts=(10, 20))
        monkeypatch.setattr(memory, name, few)
    monkeypatch.setattr(process, "shipped", lambda _: folder / "small.toml")
    monkeypatch.setattr(shutil, "which", lambda _: None)


@pytest.mark.usefixtures("alone")
def test_what_needs_one_thread_is_not_measured_on_two() -> None:
    with pytest.raises(IncastleError, match="all hosts at one switch"):
        engines.TwoThreads().run(suite.SUITE[0])


def test_two_threads_run_the_fabrics_of_rdma(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    divided = [one for one in SUITE if engines.TwoThreads().supports(one)]
    assert [one.name for one in divided] == ["rdma-fabric", "rdma-fabric-pfc"]
    texts = [process.shipped(one.name).read_text() for one in divided]
    small = tmp_path / "small.toml"
    monkeypatch.setattr(process, "shipped", lambda _: small)
    for one, text in zip(divided, texts, strict=True):
        small.write_text(text.replace('duration = "2 ms"', 'duration = "20 us"'))
        two, alone = engines.TwoThreads(), engines.Incastle()
        run = two.run(one)
        assert run.threads == 2
        assert run.packet_hops_per_s == pytest.approx(run.packet_hops / run.wall_s)
        assert run.packet_hops == alone.run(one).packet_hops > 1_000


@pytest.mark.usefixtures("alone")
def test_bench_all(cli: Cli) -> None:
    (row,) = json.loads(cli("bench", "--all", "--repeats", "2", "--json").out)
    assert (row["benchmark"], row["engine"], row["runs"]) == ("star-20", "Incastle", 2)
    assert row["simulated_s"] == pytest.approx(0.02)
    rate = row["packet_hops_per_cpu_s"]
    assert 0 < rate["minimum"] <= rate["median"] <= rate["maximum"]
    assert rate["minimum"] == pytest.approx(row["packet_hops"] / row["cpu_s"]["maximum"])
    shown = cli("bench", "--all", "--repeats", "1").out
    assert "star-20" in shown
    assert "p *" in shown
    assert "* not measured in this run" in shown
    assert re.search(r"^a packet in flight takes .* of memory, goal 64 B$", shown, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--all", "--scenario", "star-2"), "--all and --scenario cannot be used together"),
        (("--repeats", "3"), "--repeats needs --all"),
        (("--ns3", "replay"), "--ns3 needs --all"),
        (("--all", "--repeats", "0"), "--repeats"),
        (("--all", "--ns3", "nowhere"), "--ns3 nowhere: no such program; make bench builds it"),
        (("--all", "--ns3", "."), "--ns3 .: no such program"),
    ],
)
def test_bench_tells_mistakes(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    reason = cli("bench", *arguments)
    assert (reason.status, reason.out) == (2, "")
    assert message in reason.err


def test_the_table_has_all_rows_and_exponents(capsys: pytest.CaptureFixture[str]) -> None:
    bench_command.show_suite(made_up(), [memory.Cost(memory.FLOW, 2_833.3)])
    shown = capsys.readouterr().out
    assert all(one.name in shown for one in SUITE)
    assert (
        "1 to 100 Gbit/s, the star of 20: processor time grows as packet-hops to the 1.00" in shown
    )
    assert "a flow takes 2.83 KB of memory, goal 2 KB" in shown


@pytest.mark.parametrize("one", [memory.FLOW, memory.PACKET], ids=lambda one: one.words)
def test_the_given_number_exists_at_once(one: memory.Memory) -> None:
    few, _ = one.counts
    result = ic.run(ic.Scenario.from_text(one.scenario(few)))
    flows = result.flows
    if one is memory.FLOW:
        assert len(flows) == few
        assert max(flows["started_s"].to_list()) < min(flows["completed_s"].to_list())
    else:
        sent, arrived = (sum(flows[name].to_list()) for name in ("packets", "delivered_bytes"))
        assert sent - arrived / 1472 == pytest.approx(few, rel=0.01)


def test_memory_is_the_difference_of_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(file: Path) -> dict[str, int]:
        assert ic.load(file).name.endswith(f"-{file.stem}")
        return {"peak_memory_bytes": 10**7 + 50 * int(file.stem)}

    monkeypatch.setattr(process, "measure", measured)
    costs = memory.measure()
    assert [cost.bytes for cost in costs] == [50, 50]
    text = page.text(
        made_up(), page.Setting({**setting(0.0).machine}, {}, 0.0, 0.0, 1, tuple(costs))
    )
    assert "One more takes, at the peak: a flow 50 B (goal 2 KB), a packet in flight" in text


# ---- the page


def benchmarks_of(text: str) -> list[str]:
    """Give the benchmarks that a page has rows of, in their order."""
    return re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE)


def test_the_page_has_the_benchmarks_of_the_list() -> None:
    text = (DOCS / page.PAGE).read_text(encoding="utf-8")
    assert benchmarks_of(text) == [one.name for one in SUITE]
    lines = text.splitlines()
    for one in SUITE:
        (row,) = (line for line in lines if line.startswith(f"| `{one.name}` |"))
        cells = [cell.strip() for cell in row.split("|")[1:-1]]
        assert cells[1] == one.words
        assert cells[2] == (f"`{one.preset}`" if one.preset else "")
        assert cells[7] == ("" if one.goal is None else bench_command.million(one.goal))
        for other in one.published:
            assert (
                f"| {other.peer} \\* | {bench_command.million(other.packet_hops_per_s)} |" in text
            )
    for series in rows.GROWTH.values():
        assert re.search(rf"^\| {series.words} \| \d\.\d\d \|$", text, re.MULTILINE)
    assert f"]({page.FIGURE})" in text
    assert (DOCS / page.FIGURE).stat().st_size > 10_000


def setting(others: float) -> page.Setting:
    machine = dict.fromkeys(("processor", "processors", "system", "kernel", "date"), "m")
    return page.Setting(machine, {"ns-2": "2.35"}, others, 0.0, 3)


def test_the_page_is_made_of_what_was_measured(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    page.write(tmp_path, made_up(), setting(0.0))
    text = (tmp_path / page.PAGE).read_text(encoding="utf-8")
    assert benchmarks_of(text) == [one.name for one in SUITE]
    assert (
        "| `star-20` | 20 long flows, 10 Gbit/s | `ns-2-2010` | Incastle | 20 | 10 to 40 |" in text
    )
    assert "|  |  |  | ns-2 | 5 | 4 to 8 | 4 |" in text
    assert "|  |  |  | htsim \\* | 11.7 |  | 1.71 |" in text
    assert "busy" not in text
    assert (tmp_path / page.FIGURE).read_bytes().startswith(b"\x89PNG")


def test_a_busy_machine_is_reported() -> None:
    assert "**The machine was busy**: other programs had 30 %" in page.text(made_up(), setting(0.3))
