"""`incastle validate`: what it prints, its exit status, and the simulations behind it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hpcc_files import CONFIG, FLOWS, SPREAD, changed, put_case, put_shard
from hpcc_files import oracle as oracle_data
from incastle.errors import InternalError, Interrupted, RunError
from incastle.validation import goals, simulate
from incastle.validation.cases import read_cases
from incastle.validation.compare import Measure, Outcome, measure_of, seeds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conftest import Output
    from incastle.validation.simulate import Job, OnEnd

    Cli = Callable[..., Output]
    Results = Callable[[Job], Outcome | RunError]

EXAMPLES = Path(__file__).parents[2] / "examples" / "validate"


def scaled(by: float) -> Results:
    """Return results that are those of the other simulator times a number."""

    def result(job: Job) -> Outcome:
        return Outcome(tuple(flow.fct_ns and flow.fct_ns * by for flow in job.case.flows))

    return result


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Callable[[Results], None]:
    """Return a function that replaces the engine by results of each job."""

    def replace(result: Results) -> None:
        def with_results(jobs: Sequence[Job], _threads: int | None, on_end: OnEnd) -> None:
            for index, job in enumerate(jobs):
                on_end(index, result(job))

        monkeypatch.setattr(simulate, "with_engine", with_results)

    return replace


@pytest.fixture
def oracle(folder: Path) -> Path:
    """Make a folder of cases: a shard and a case on paths of DCQCN, and one of HPCC."""
    place = folder / "oracle"
    put_shard(place, "shard1")
    put_case(place, "star-dcqcn")
    put_case(place, "star-hpcc", changed(("CC_MODE 1", "CC_MODE 3")))
    (place / "spread-dcqcn.csv").write_text(SPREAD)
    return place


def test_goals_that_are_met(cli: Cli, oracle: Path, simulated: Callable[[Results], None]) -> None:
    simulated(scaled(1.0005))
    output = cli("validate", str(oracle))
    assert (output.status, output.err) == (0, "")
    rows = output.out.splitlines()
    kinds = [line.split()[:5] for line in rows if line.split()[2:3] in (["seeds"], ["spread"])]
    assert kinds == [["shards", "dcqcn", "seeds", "1", "3"], ["paths", "dcqcn", "spread", "1", "3"]]
    assert any(
        line.startswith("paths   hpcc     per-flow      1      3      0.05 %") for line in rows
    )
    # A run for HPCC, five and twenty seeds for DCQCN.
    assert rows[-1].startswith("3 cases, 9 flows, 26 runs in ")
    assert rows[-1].endswith(": 3 of 3 goals met")


def test_a_goal_that_is_missed(
    cli: Cli, oracle: Path, simulated: Callable[[Results], None]
) -> None:
    simulated(scaled(1.005))
    output = cli("validate", str(oracle))
    assert output.status == 1
    assert "paths   hpcc     median difference: below 0.1 %" in output.out
    assert "miss it alone: star-hpcc (--by-case has every case)" in output.out
    assert output.out.splitlines()[-1].endswith(": 2 of 3 goals met")


def test_without_goals_nothing_is_judged(
    cli: Cli, oracle: Path, simulated: Callable[[Results], None]
) -> None:
    simulated(scaled(2))
    (oracle / "goals.toml").write_text("not read")
    output = cli("validate", str(oracle), "--no-goals")
    assert output.status == 0
    assert "Goals" not in output.out
    assert "goals met" not in output.out


def test_a_folder_has_its_own_goals(
    cli: Cli, oracle: Path, simulated: Callable[[Results], None]
) -> None:
    simulated(scaled(2))
    goal = '[[goal]]\nmeasure = "per-flow"\nmedian = 1\nwithin = "100 %"\nshare = "95 %"\n'
    (oracle / "goals.toml").write_text(goal)
    output = cli("validate", str(oracle))
    assert output.status == 1  # a difference of 100 % is not below 100 %
    simulated(scaled(1.9))
    output = cli("validate", str(oracle))
    assert output.status == 0
    assert "seeds: no goal" in output.out
    assert output.out.splitlines()[-1].endswith(": 1 of 1 goals met")


def test_cases_are_chosen_and_shown_one_by_one(
    cli: Cli, oracle: Path, simulated: Callable[[Results], None]
) -> None:
    simulated(scaled(1))
    output = cli("validate", str(oracle), "--cases", "star-*", "--by-case")
    rows = output.out.partition("Cases")[2].splitlines()
    assert [line.split()[0] for line in rows if line.startswith("star-")] == [
        "star-dcqcn",
        "star-hpcc",
    ]
    assert output.out.splitlines()[-1].startswith("2 cases, 6 flows, 6 runs in ")


def test_json_has_the_controls_and_the_cases(
    cli: Cli, oracle: Path, simulated: Callable[[Results], None]
) -> None:
    simulated(scaled(1.005))
    output = cli("validate", str(oracle), "--json")
    found: dict[str, Any] = json.loads(output.out)
    assert (output.status, found["met"], found["runs"]) == (1, False, 26)
    assert [(row["control"], row["met"]) for row in found["controls"]] == [
        ("dcqcn", True),
        ("dcqcn", True),
        ("hpcc", False),
    ]
    assert [(case["case"], case["seeds"]) for case in found["cases"]] == [
        ("shard1", 20),
        ("star-dcqcn", 5),
        ("star-hpcc", 1),
    ]
    assert found["cases"][2]["difference_median"] == pytest.approx(0.005)


def test_the_figure_is_drawn_and_a_wrong_name_refused_first(
    cli: Cli, oracle: Path, folder: Path, simulated: Callable[[Results], None]
) -> None:
    simulated(scaled(1))
    output = cli("validate", str(oracle), "--figure", "fcts.png")
    assert (output.status, output.err) == (0, "drawn: fcts.png\n")
    assert (folder / "fcts.png").stat().st_size > 1000
    output = cli("validate", str(oracle), "--figure", "fcts.txt")
    assert (output.status, output.out) == (2, "")


def test_the_variable_names_the_folder(
    cli: Cli,
    oracle: Path,
    simulated: Callable[[Results], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulated(scaled(1))
    monkeypatch.delenv("INCASTLE_ORACLE", raising=False)
    output = cli("validate")
    assert output.status == 2
    assert "DIR is missing: name a folder of cases, or set INCASTLE_ORACLE" in output.err
    monkeypatch.setenv("INCASTLE_ORACLE", str(oracle))
    assert cli("validate").status == 0


def test_bad_input_has_its_place(cli: Cli, oracle: Path) -> None:
    (oracle / "shard1.conf").write_text(CONFIG.replace("CC_MODE 1", "CC_MOD 1"))
    output = cli("validate", "oracle")
    assert (output.status, output.out) == (2, "")
    assert output.err == 'error: oracle/shard1.conf:6: no key "CC_MOD": did you mean CC_MODE?\n'
    output = cli("validate", "oracle", "--cases", "shrad1")
    assert output.err == (
        "error: oracle: no case is named shrad1; there are shard1, star-dcqcn, star-hpcc\n"
    )
    (oracle / "goals.toml").write_text("[[goal]]\nmeasure = 'drop'\n")
    output = cli("validate", "oracle")
    assert output.err == "error: oracle/goals.toml:2: measure: no 'drop': did you mean drops?\n"


@pytest.mark.parametrize(
    ("failure", "options", "status"),
    [(RunError, (), 1), (RunError, ("--no-goals",), 2), (InternalError, (), 3)],
)
def test_a_failed_run_is_named_and_the_others_are_compared(
    cli: Cli,
    oracle: Path,
    simulated: Callable[[Results], None],
    failure: type[RunError],
    options: tuple[str, ...],
    status: int,
) -> None:
    def result(job: Job) -> Outcome | RunError:
        fails = job.case.name == "star-dcqcn" and job.seed == 2
        return failure("too many events") if fails else scaled(1)(job)

    simulated(result)
    output = cli("validate", str(oracle), *options)
    assert output.status == status
    assert "error: star-dcqcn: too many events" in output.err
    assert output.out.splitlines()[-1].startswith("2 cases, 6 flows, 26 runs, 1 cases failed in ")


def test_ctrl_c_prints_the_cases_that_are_finished(
    cli: Cli, oracle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(jobs: Sequence[Job], _threads: int | None, on_end: OnEnd) -> None:
        for index in range(22):  # the shard, and two of five seeds
            on_end(index, scaled(1)(jobs[index]))
        raise Interrupted

    monkeypatch.setattr(simulate, "with_engine", stopped)
    output = cli("validate", str(oracle))
    assert output.status == 130
    assert "error: interrupted: 1 of 3 cases were finished" in output.err
    assert output.out.splitlines()[-1].startswith("1 cases, 3 flows, 22 runs in ")


def test_the_engine_gives_fcts_in_the_order_of_the_flows(tmp_path: Path) -> None:
    """HPCC: 90 B of headers. The file does not have the flows in the order of their starts."""
    fcts = SPLIT.format(4_000_000_000)
    text = changed(("CC_MODE 1", "CC_MODE 3"), ("STOP_TIME 1.25", "STOP_TIME 1.001"))
    put_shard(tmp_path, "late", text, fcts)
    (case,) = read_cases(tmp_path)
    (comparison,) = simulate.compare([case]).comparisons
    assert [flow.number for flow in case.flows] == [2, 0, 1]
    last, first, endless = comparison.outcomes[0].fcts_ns
    # 1090 B over 10 Gbit/s take 871 ns, and over 100 Tbit/s none.
    assert first == pytest.approx(2000 + 871)
    assert last == pytest.approx(2000 + 3 * 871)
    assert endless is None
    assert comparison.unfinished == (1, 0)


def test_flows_of_several_priorities_keep_their_places(tmp_path: Path) -> None:
    place = put_case(tmp_path, "two", changed(("CC_MODE 1", "CC_MODE 8")))
    (place / "flows.txt").write_text(FLOWS.replace("1 1 2 3", "1 1 2 5"))
    (case,) = read_cases(tmp_path)
    (outcome,) = simulate.compare([case]).comparisons[0].outcomes
    # The third flow is alone: nine packets of 1048 B at 25 Gbit/s.
    assert outcome.fcts_ns[2] == pytest.approx(9 * 335 + 335 + 2000)


def test_random_losses_are_compared_over_seeds(tmp_path: Path) -> None:
    text = changed(("CC_MODE 1", "CC_MODE 8"))
    put_case(tmp_path / "paths", "lossy", text + "ERROR_RATE_PER_LINK 0.01\n")
    put_case(tmp_path / "paths", "whole", text)
    put_shard(tmp_path / "shards", "shard", text + "ERROR_RATE_PER_LINK 0.01\n")
    lossy, whole = read_cases(tmp_path / "paths")
    (shard,) = read_cases(tmp_path / "shards")
    found = [(measure_of(case), len(seeds_of(case))) for case in (lossy, whole, shard)]
    assert found == [(Measure.DROPS, 5), (Measure.PER_FLOW, 1), (Measure.DROPS, 5)]
    lost = [outcome.drops for outcome in simulate.compare([lossy]).comparisons[0].outcomes]
    assert len(lost) == 5
    assert sum(lost) > 0


def test_what_is_not_simulated_is_refused(cli: Cli, oracle: Path) -> None:
    (oracle / "star-hpcc" / "config.txt").write_text(CONFIG + "LINK_DOWN 9 0 3\n")
    output = cli("validate", "oracle")
    assert output.status == 2
    assert output.err.startswith("error: oracle/star-hpcc/config.txt: LINK_DOWN 0 3: hosts 0 and 1")


SPLIT = """\
flow,src,dst,size_B,start_ns,fct_ns,ideal_ns
0,0,1,1000,1000100000,2800,2800
1,0,2,{},1000500000,3,3
2,0,2,2000,1000000000,4400,4400
"""


def store_and_forward(size: int, rates: tuple[int, int]) -> int:
    """Return the FCT of packets of 1000 B and 48 B of header over two links of 1000 ns.

    Transmission times are cut to whole nanoseconds, as in HPCC's simulator.
    """
    first_free = second_free = 0
    for left in range(size, 0, -1000):
        bits = 8 * (min(left, 1000) + 48)
        first, second = (bits * 10**9 // rate for rate in rates)
        first_free += first
        second_free = max(second_free, first_free + 1000) + second
    return second_free + 1000


def test_the_example_meets_all_goals(cli: Cli) -> None:
    output = cli("validate", str(EXAMPLES))
    assert (output.status, output.err) == (0, "")
    # All four FCTs are equal; twenty seeds are for cases that may be random.
    assert output.out.splitlines()[-1].startswith("2 cases, 4 flows, 2 runs in ")
    assert output.out.splitlines()[-1].endswith(": 2 of 2 goals met")
    assert output.out.count(" 0 % ") >= 4


def test_some_cases_of_the_oracle_meet_the_goals(cli: Cli) -> None:
    """One case of each kind, or nearly so."""
    for folder, *patterns in (
        ("ns3-rdma", "shard1", "shard3", "shard7", "shard12"),
        ("ns3-rdma-paths", "star-1to1-25g-*", "star-8to1-25g-*", "hol-*-trunk25g-timely-*"),
    ):
        chosen = [word for pattern in patterns for word in ("--cases", pattern)]
        output = cli("validate", str(oracle_data() / folder), *chosen)
        assert output.status == 0, output.out


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "goals"), [("ns3-rdma", 4), ("ns3-rdma-paths", 5)])
def test_all_cases_of_the_oracle_meet_the_goals(cli: Cli, folder: str, goals: int) -> None:
    output = cli("validate", str(oracle_data() / folder))
    assert output.status == 0, output.out
    assert output.out.splitlines()[-1].endswith(f": {goals} of {goals} goals met")


def test_the_example_follows_by_arithmetic() -> None:
    shard, star = read_cases(EXAMPLES)
    for case in (shard, star):
        rates = {link.a.number: link.rate for link in case.topology.links}
        for flow in case.flows:
            expected = store_and_forward(flow.bytes, (rates[flow.source], rates[flow.destination]))
            assert flow.fct_ns == flow.ideal_ns == expected
    assert [flow.fct_ns for flow in star.flows] == [5 * 838 + 838 + 2000]


def test_the_page_has_the_built_in_goals(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "validate.md").read_text()
    block = page.partition("```toml\n[[goal]]")[2].partition("```")[0]
    (tmp_path / "goals.toml").write_text(f"[[goal]]{block}")
    assert goals.read_goals(tmp_path) == goals.read_file(goals.BUILT_IN)
