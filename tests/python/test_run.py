"""Runs from Python: tables, determinism, many at once, progress."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import incastle as ic
from conftest import MEASURED, SMALL
from incastle import _engine

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS = {
    "flows": [
        *("flow", "group", "index", "from", "to", "started_s", "completed_s", "sent_bytes"),
        *("delivered_bytes", "goodput_bit_s", "packets", "retransmissions", "timeouts"),
        *("fast_retransmits", "marks", "drops", "ecn_reductions", "cnms", "send_buffer_drops"),
    ],
    "transfers": [
        *("group", "index", "kind", "flow", "started_s", "completed_s", "fct_s", "bytes"),
        "deadline_s",
    ],
    "queues": ["port", "packets", "seconds"],
    "queue_samples": ["time_s", "port", "packets", "bytes"],
    "goodput": ["time_s", "host", "bytes", "ip_bytes"],
    "links": [
        *("port", "packets", "bytes", "drops", "lost_on_wire", "corrupted", "marks"),
        *("cnms", "utilisation"),
        *("mean_queue_packets", "max_queue_packets", "max_bytes"),
    ],
    "windows": ["time_s", "flow", "cwnd_bytes", "ssthresh_bytes", "alpha", "rtt_s"],
    "throughput": ["time_s", "flow", "bytes"],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_tables_have_their_columns(result: ic.Result, name: str) -> None:
    frame = getattr(result, name)
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == COLUMNS[name]
    assert not frame.is_empty()


def test_summary_is_one_row_of_the_totals(result: ic.Result) -> None:
    assert result.summary.height == 1
    assert result.summary["packet_hops"][0] == result.totals["packet_hops"] > 0


def test_tables_agree_with_each_other(result: ic.Result) -> None:
    assert result.flows["delivered_bytes"].sum() == result.goodput["bytes"].sum()
    assert result.flows["drops"].sum() == result.totals["drops"] == result.links["drops"].sum()
    assert result.flows["marks"].sum() == result.totals["marks"]
    assert result.totals["simulated_s"] == pytest.approx(0.02)
    seconds = result.queues.group_by("port").agg(pl.col("seconds").sum())
    assert seconds["seconds"].to_list() == pytest.approx([0.02] * len(seconds))


def test_missing_values_are_null(result: ic.Result) -> None:
    long = result.flows.filter(pl.col("group") == "long")
    short = result.flows.filter(pl.col("group") == "short")
    assert long["completed_s"].to_list() == [None] * 4
    assert short["completed_s"][0] > short["started_s"][0]


def test_link_is_full_and_no_more(result: ic.Result) -> None:
    port = result.links.filter(pl.col("port") == "switch->receiver")
    assert 0.8 < port["utilisation"][0] <= 1.0


def test_table_that_was_not_asked_for(scenario: ic.Scenario) -> None:
    result = ic.run(scenario)
    assert not hasattr(result, "windows")
    with pytest.raises(ic.TableMissing, match=r"under \[measure\]"):
        result.table("queue_samples")
    with pytest.raises(ic.TableMissing, match=r"it has .*flows"):
        result.table("nothing")


def test_result_says_what_it_is(result: ic.Result) -> None:
    assert (result.name, result.seed, result.interrupted) == ("small", 1, False)
    assert result.version == ic.__version__
    assert len(result.digest) == 16
    assert int(result.digest, 16) >= 0
    assert ic.Scenario.from_text(result.scenario) == ic.Scenario.from_text(SMALL + MEASURED)
    assert "small" in repr(result)


def test_same_digest_twice_on_one_and_two_workers_and_after_pickling(
    scenario: ic.Scenario,
) -> None:
    jobs: list[tuple[ic.Scenario, None, int]] = [(scenario, None, seed) for seed in range(4)]
    alone = [result.digest for result in ic.run_many(jobs, threads=1)]
    assert [result.digest for result in ic.run_many(jobs, threads=1)] == alone
    assert [result.digest for result in ic.run_many(jobs, threads=2)] == alone
    pickled = pickle.loads(pickle.dumps(jobs))
    results = ic.run_many(pickled, threads=2)
    assert [result.digest for result in pickle.loads(pickle.dumps(results))] == alone
    assert len(set(alone)) == 4, "jitter and start times differ from seed to seed"


LEAVES = """\
[run]
duration = "2 ms"

[network]
topology = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
rate = "1 Gbit/s"
delay = "2 us"

[transport]
congestion = "dctcp"
delayed_ack_count = 1

[flows.all]
workload = "poisson"
from = "all"
to = "all"
sizes = "hadoop"
load = 0.4
"""


def test_one_network_on_several_threads(recwarn: pytest.WarningsRecorder) -> None:
    leaves = ic.Scenario.from_text(LEAVES)
    alone, parts = ic.run(leaves), ic.run(leaves, threads=2)
    assert not list(recwarn)
    assert alone.digest == parts.digest
    for name in alone.tables:
        assert alone.tables[name].equals(parts.tables[name]), name
    assert alone.totals == parts.totals


def test_one_thread_alone_says_why(scenario: ic.Scenario) -> None:
    plain = ic.Scenario.from_text(SMALL)
    with pytest.warns(UserWarning, match="^threads = 3: this scenario has .*, runs on 1$"):
        assert ic.run(plain, threads=3).digest == ic.run(plain).digest
    with pytest.raises(ValueError, match="threads = 0: at least one is needed"):
        ic.run(scenario, threads=0)


def test_digest_does_not_depend_on_probes(scenario: ic.Scenario, result: ic.Result) -> None:
    assert ic.run(scenario).digest == result.digest


def test_resolved_scenario_runs_the_same_course(result: ic.Result) -> None:
    assert ic.run(ic.Scenario.from_text(result.scenario)).digest == result.digest


def test_whole_tables_are_the_same_again(result: ic.Result) -> None:
    again = ic.run(ic.Scenario.from_text(SMALL + MEASURED))
    for name, frame in result.tables.items():
        assert frame.equals(again.tables[name]), name


def test_pickled_result_is_the_same(result: ic.Result) -> None:
    again = pickle.loads(pickle.dumps(result))
    assert (again.digest, again.totals) == (result.digest, result.totals)
    assert again.flows.equals(result.flows)


def test_run_many_takes_overrides_and_keeps_the_order(scenario: ic.Scenario) -> None:
    results = ic.run_many(
        [
            (scenario, {"run.duration": "9 ms"}, 5),
            scenario,
            (scenario, {"run.duration": "3 ms"}, None),
        ]
    )
    assert [result.totals["simulated_s"] for result in results] == pytest.approx(
        [0.009, 0.02, 0.003]
    )
    assert [result.seed for result in results] == [5, 1, 1]


def test_run_takes_overrides(scenario: ic.Scenario) -> None:
    changed = ic.run(scenario, 5, overrides={"run.duration": "9 ms"})
    assert changed.seed == 5
    assert changed.totals["simulated_s"] == pytest.approx(0.009)
    with pytest.raises(ic.ScenarioError, match="duration"):
        ic.run(scenario, overrides={"run.durration": "9 ms"})


@pytest.mark.parametrize("name", ["windows", "throughput"])
def test_groups_beside_the_numbers_of_flows(result: ic.Result, name: str) -> None:
    named = result.with_groups(name)
    assert named.columns == [*result.table(name).columns, "group", "index"]
    assert named.select(result.table(name).columns).equals(result.table(name))
    flow = named.row(0, named=True)
    there = result.flows.filter(pl.col("flow") == flow["flow"])
    assert (flow["group"], flow["index"]) == (there["group"][0], there["index"][0])


def test_progress_and_results_as_they_come(scenario: ic.Scenario) -> None:
    seen: list[ic.Progress] = []
    finished: dict[int, str] = {}
    jobs = [
        scenario.with_overrides({"run.seed": seed, "run.duration": "200 ms"}) for seed in range(4)
    ]
    results = ic.run_many(
        jobs, 1, seen.append, lambda index, one: finished.update({index: one.digest})
    )
    assert finished == {index: one.digest for index, one in enumerate(results)}
    assert all(0 <= state.fraction <= 1 and state.total == 4 for state in seen)
    assert [state.simulated_s for state in seen] == sorted(state.simulated_s for state in seen)


def test_a_name_is_no_scenario(scenario: ic.Scenario) -> None:
    calls: list[Callable[[Any], object]] = [
        ic.run,
        lambda name: ic.run(name, controllers={"own": ic.Controller}),
        lambda name: ic.run_many([scenario, name]),
        lambda name: ic.run_many([(name, None, 1)]),
        lambda name: ic.sweep(name, {"network.senders": [2]}),
        ic.estimate,
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"found 'small.toml': incastle.load reads a file"):
            call("small.toml")


def test_no_runs_and_no_threads(scenario: ic.Scenario) -> None:
    assert ic.run_many([]) == []
    with pytest.raises(ValueError, match="at least one"):
        ic.run_many([scenario], threads=0)


def test_exception_in_a_callable_stops_the_runs(scenario: ic.Scenario) -> None:
    class Enough(Exception):  # noqa: N818
        pass

    def stop(*_: object) -> None:
        raise Enough

    with pytest.raises(Enough):
        ic.run_many(
            [scenario, scenario.with_overrides({"run.duration": "10000 s"})], 2, on_result=stop
        )


def test_version_is_the_packages() -> None:
    from importlib.metadata import version  # noqa: PLC0415

    assert ic.__version__ == version("incastle") == _engine.__version__


def test_numbers_reach_polars_without_a_copy(scenario: ic.Scenario) -> None:
    outputs: list[_engine.Output | _engine.Failure] = []
    checked, _ = _engine.parse(SMALL, "small.toml", [])
    assert checked is not None
    _engine.run_many([checked], (1, 1), lambda _, one: outputs.append(one), lambda _: None)
    output = outputs[0]
    assert isinstance(output, _engine.Output)
    for table in output.tables():
        first, second = pl.DataFrame(table), pl.DataFrame(table)
        assert first.equals(second)
        assert first.height == len(table)
        for name, column in first.to_dict().items():
            if column.dtype.is_numeric() and column.len() and not column.null_count():
                assert np.shares_memory(
                    column.to_numpy(allow_copy=False), second[name].to_numpy(allow_copy=False)
                )
    assert scenario.name == checked.name


def test_saved_and_loaded(result: ic.Result, tmp_path: Path) -> None:
    place = result.save(tmp_path / "one")
    names = {path.name for path in place.iterdir()}
    assert names == {"scenario.toml", "summary.json"} | {
        f"{name}.parquet" for name in result.tables
    }
    again = ic.Result.load(place)
    assert again.to_summary() == result.to_summary()
    assert again.scenario == result.scenario
    assert all(frame.equals(result.tables[name]) for name, frame in again.tables.items())


def test_cubic_of_linux_fills_the_link_of_an_example() -> None:
    path = Path(__file__).parents[2] / "examples" / "two-flows.toml"
    settings = {"transport.congestion": "cubic", "switch.queue.kind": "drop-tail"}
    result = ic.run(ic.load(path).with_overrides(settings))
    assert result.totals["drops"] > 0
    assert result.totals["timeouts"] == 0
    bottleneck = result.links.filter(pl.col("port") == "left->right")
    assert bottleneck["utilisation"][0] > 0.99
    # Of 500 Mbit/s 1,460 B in each 1,500 B are data.
    most = 500e6 / 8 * 1460 / 1500
    assert result.flows["delivered_bytes"].sum() >= 0.99 * most
    # No stall: what lacks by any time waits for a retransmission, which takes a round trip with a
    # full queue, 2.5 ms, after the one in which its loss is found.
    sums = result.throughput.group_by("time_s").agg(pl.col("bytes").sum()).sort("time_s")
    assert sums.height == 100
    arrived_s = [bytes_ / most for bytes_ in sums["bytes"].cum_sum()]
    assert max(10e-3 * (at + 1) - one for at, one in enumerate(arrived_s)) < 5e-3
