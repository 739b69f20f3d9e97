"""The paper dctcp: its plan, its scenarios, and the arithmetic of its measures, by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import polars as pl
import pytest

from incastle.analysis.ends import Ends, ends
from incastle.analysis.expressions import divide
from incastle.papers import dctcp
from incastle.papers.dctcp import runs as statistics
from incastle.reproduction import claims
from incastle.reproduction.declarations import mean_and_interval
from incastle.reproduction.papers import Length, Observation, Observations
from incastle.reproduction.statistics import jain, query_mean, query_quantile, with_timeouts
from incastle.runner import run as ic_run
from incastle.scenario import load
from synthetic import scenario
from synthetic_dctcp import links, memory, rounds, throughput, timeouts, transfers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from incastle.analysis.ends import Value
    from incastle.analysis.expressions import Choice

PAPER = dctcp.PAPER
ALGORITHMS = ("tcp", "dctcp")
RTOS = ("300ms", "10ms")
# The worker that has this paper's runs.
pytestmark = pytest.mark.xdist_group(PAPER.name)


def run(**tables: pl.DataFrame) -> Observation:
    return Observation(tables, "", scenario(100))


def queries(ms: list[float], timeouts: list[int]) -> Observation:
    return run(rounds=rounds(ms, timeouts))


def axis(name: str, length: Length = Length.FULL) -> tuple[Choice, ...]:
    found: tuple[Choice, ...] = dctcp.DECLARED.names(length)[name]
    return found


# ---- the plan


def test_full_is_as_long_as_the_paper() -> None:
    settings = {one.name: one.overrides for one in PAPER.plan(Length.FULL)}
    assert settings["incast/static/tcp/rto=300ms/n=40"]["flows.query.rounds"] == "1000"
    assert settings["build-up/dctcp"]["flows.short.rounds"] == "1000"
    assert settings["cluster/tcp"]["run.duration"] == "600 s"
    assert settings["convergence/dctcp"]["flows.sender4.start"] == "120 s"
    assert settings["convergence/dctcp"]["flows.sender4.stop"] == "150 s"
    assert {f"incast/dynamic/dctcp/rto=10ms/n={n}" for n in range(1, 41)} <= settings.keys()


def test_the_cluster_is_the_papers() -> None:
    # 45 servers and the rest; 7 queries per second and server to the 44 others; 333 flows per
    # second in all. K = 20 at the ports of 1 Gbit/s, 65 at the one of 10.
    run = next(one for one in PAPER.plan(Length.FULL) if one.name == "cluster/dctcp")
    cluster = load(PAPER.scenario(run), tuple(run.overrides.items()))
    found = {key: cluster[key] for key in CLUSTER}
    assert found == CLUSTER
    tcp = load(PAPER.folder / "scenarios" / "cluster.toml")
    assert "[switch.ports" not in tcp.resolved
    assert tcp["switch.queue.kind"] == "drop-tail"


CLUSTER = {
    "run.duration": "600 s",
    "network.senders": 45,
    "network.links.receivers.rate": "10 Gbit/s",
    "switch.queue.marking_threshold": "20 packets",
    "switch.ports.receivers.queue.kind": "threshold",
    "switch.ports.receivers.queue.marking_threshold": "65 packets",
    "flows.query.workload": "query",
    "flows.query.pairs": "all",
    "flows.query.rate": 7.0,
    "flows.query.interarrival_distribution": "exponential",
    "flows.query.request": "1600 B",
    "flows.query.response_size": "2 KB",
    "flows.background.workload": "poisson",
    "flows.background.flow_rate": 333.0,
    "flows.background.sizes": "websearch",
}


def test_an_interval_of_rates_lies_in_one_phase() -> None:
    for length in Length:
        run = next(one for one in PAPER.plan(length) if one.name == "convergence/tcp")
        every = Fraction(run.overrides["measure.throughput.every"].removesuffix(" s"))
        begin = Fraction(run.overrides["flows.sender1.start"].removesuffix(" s"))
        assert begin == 30 * every


def test_samples_of_the_memory_do_not_grow_with_the_length() -> None:
    for length in (Length.DEFAULT, Length.FULL):
        run = next(one for one in PAPER.plan(length) if one.name == "pressure/beside/tcp")
        every = run.overrides["measure.buffer_occupancy.every"]
        seconds = float(run.overrides["run.duration"].removesuffix(" s")) - 0.2
        assert seconds / (float(every.removesuffix(" us")) / 1e6) == pytest.approx(3000, rel=1e-3)


def test_a_variation_differs_in_what_it_says_alone() -> None:
    runs = {one.name: one.overrides for one in PAPER.plan(Length.FULL)}
    for key in axis("all_varied"):
        changed = key.of["set"].keys() | {"flows.query.rounds"}
        assert differing(runs["all/tcp"], runs[f"why/all/{key}/tcp"]) == changed
    length = {"run.duration", "measure.buffer_occupancy.every"}
    for key in axis("pressure_varied"):
        varied = runs[f"why/pressure/{key}/beside/tcp"]
        assert differing(runs["pressure/beside/tcp"], varied) == key.of["set"].keys() | length
    window = differing(runs["convergence/tcp"], runs["why/convergence/256KB/tcp"])
    assert window == {"transport.receive_window"}


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> set[str]:
    return {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}


def test_four_long_flows_arrive_at_each_of_the_33_hosts() -> None:
    run = next(one for one in PAPER.plan(Length.FULL) if one.name == "why/pressure/four/beside/tcp")
    scenario = load(PAPER.scenario(run), (*run.overrides.items(), ("run.duration", "201 ms")))
    flows = ic_run(scenario).flows.filter(pl.col("group") != "query")
    assert len(flows) == 4 * 33
    assert set(flows["to"].value_counts()["count"]) == {4}
    assert set(flows["from"].value_counts()["count"]) == {4}
    assert flows.filter(pl.col("from") == pl.col("to")).is_empty()


def test_every_length_has_the_servers_that_the_claims_name() -> None:
    for length in Length:
        assert {10, 29, 35, 40} <= set(axis("servers", length))


PARAMETERS = {
    "transport.congestion": "new-reno",
    "transport.recovery": "sack",
    "transport.framing": "ethernet",
    "transport.initial_window": "3 packets",
    "transport.slow_start_after_idle": True,
    "transport.delayed_ack_count": 2,
    "transport.handshake": False,
    "transport.min_rto": "10 ms",
    "network.rate": "1 Gbit/s",
    "network.delay": "25 us",
    "switch.queue.kind": "drop-tail",
}


@pytest.mark.parametrize("path", sorted((PAPER.folder / "scenarios").glob("*.toml")), ids=str)
def test_the_scenarios_say_what_the_paper_says(path: object) -> None:
    scenario = load(str(path))
    assert {key: scenario[key] for key in PARAMETERS} == PARAMETERS


# ---- the measures


def test_an_unfinished_query_counts() -> None:
    # It began at 0.3 s of 100: 99,700 ms or more. Half way between 10 and 12 at both ends.
    seen = queries([8, 10, 12, 0], [0, 0, 1, 1])
    assert with_timeouts(seen) == 50
    assert query_quantile(seen, 0.5) == pytest.approx((11, 11, 1))
    assert query_mean(seen) == pytest.approx((99_730 / 4, math.inf, 1))
    assert query_mean(queries([0], [0])) == pytest.approx((100_000, math.inf, 1))


def test_slower_or_not_is_open_where_a_query_without_background_never_ended() -> None:
    # 95th percentiles of two: with background 20 ms; without, 0.95 of the way from 10 ms to at
    # least 99,900 ms. So the ratio is between 0 and 20 / 94,905.5.
    made = {
        "pressure/beside/tcp": [queries([20.0, 20.0], [0, 0])],
        "pressure/alone/tcp": [queries([10.0, 0], [0, 0])],
    }
    (found,) = PAPER.measures["pressure-tcp"](Observations(Length.QUICK, made))["10:1"]
    assert found == pytest.approx((0, 20 / 94_905.5, 1))


def test_the_least_over_n_has_the_least_ends() -> None:
    # TCP at n = 8: a mean of at least (8 + 99,900) / 2; at n = 10: 12 ms, which nothing changes.
    made = {
        f"incast/static/{name}/rto={rto}/n={n}": [queries(ms, [0, 0])]
        for name in ALGORITHMS
        for rto in RTOS
        for n, ms in ((8, [8.0, 0]), (10, [12.0, 12.0]))
    }
    found = PAPER.measures["static-least"](Observations(Length.QUICK, made))
    assert found["TCP, 10 ms"][0] == pytest.approx((12, 12, 1))


def of_shares(**shares: dict[int, float]) -> Observations:
    """Make static incast of each algorithm with these shares of queries with a timeout, in %."""
    made = {
        f"incast/static/{name}/rto={rto}/n={n}": [
            queries([9.0] * 200, [1] * round(2 * share) + [0] * round(200 - 2 * share))
        ]
        for name, of_servers in shares.items()
        for rto in RTOS
        for n, share in of_servers.items()
    }
    return Observations(Length.DEFAULT, made)


def test_onset_and_joining() -> None:
    # TCP: 0.5 % at 8, 1 % at 10, 80 % at 35. DCTCP: none below 35, 39 % at 35, 60 % at 40.
    tcp: dict[int, float] = {8: 0.5, 10: 1.0, 35: 80.0, 40: 90.0}
    assert PAPER.measures["static-tcp"](of_shares(tcp=tcp)) == {"300 ms": [10], "10 ms": [10]}
    cases: list[tuple[dict[int, float], float]] = [
        ({8: 0, 10: 0, 35: 39, 40: 60}, 40),
        ({8: 0, 10: 0, 35: 40, 40: 60}, 35),
        (dict.fromkeys(tcp, 0.0), math.inf),
    ]
    for dctcp_, joined in cases:
        found = PAPER.measures["static-join"](of_shares(tcp=tcp, dctcp=dctcp_))
        assert found == {"300 ms": [joined], "10 ms": [joined]}
    nobody = of_shares(tcp={1: 0.0}, dctcp={1: 0.0})
    assert PAPER.measures["static-join"](nobody)["10 ms"] == [math.inf]
    assert PAPER.measures["static-tcp"](nobody)["10 ms"] == [math.inf]


def test_shares_of_a_phase() -> None:
    # Two thirds of a phase of 15 s are 20 intervals of 0.5 s. Flow 1 has twice flow 0's packets in
    # phase 1: shares 2/3 and 4/3 of the fair one; Jain (2)^2 / 2 / (4/9 + 16/9) = 0.9.
    seen = statistics.phases(run(throughput=throughput(270, [1, 2, 1, 1, 1], 0.5)), 15)
    assert [len(phase) for phase in seen] == [1, 2, 3, 4, 5, 4, 3, 2, 1]
    assert [len(flow) for flow in seen[1]] == [20, 20]
    assert [flow[0] for flow in seen[1]] == pytest.approx([2 / 3, 4 / 3])
    assert jain([2 / 3, 4 / 3]) == pytest.approx(0.9)


def test_an_interval_in_which_nothing_arrived_counts() -> None:
    rates = throughput(60, [1, 1], 0.5).filter((pl.col("flow") == 0) | (pl.col("time_s") < 20))
    (_, phase, *_) = statistics.phases(run(throughput=pl.concat([rates, late()])), 15)
    # Flow 1 has nothing in all of phase 1's last two thirds, 20 to 30 s: flow 0 has it all.
    assert phase[0] == pytest.approx([2] * 20)
    assert phase[1] == [0] * 20


def late() -> pl.DataFrame:
    """Give all five flows from 30 s on."""
    every = throughput(270, [1, 1, 1, 1, 1], 0.5)
    return every.filter(pl.col("time_s") >= 30)


def test_background_flows_by_size() -> None:
    seen = run(transfers=transfers([5e3, 200e3, 900e3, 1e6], 0.5))
    sizes = {row["size"]: row for row in statistics.background_by_size(seen)}
    assert [row["flows"] for row in sizes.values()] == [1, 0, 2, 1, 0, 2, 1]
    assert sizes["100 KB to 1 MB"]["mean_ms"] == pytest.approx(500.0)
    assert sizes["10 to 100 KB"]["mean_ms"] is None
    # 200 and 900 KB are short messages. A third of 500 KB, from 1 s on, has no end: the 95th of
    # 500, 500, 99,000 ms lies 0.9 of the way to the last.
    never = transfers([500e3], 0)
    both = run(transfers=pl.concat([seen["transfers"], never]))
    assert statistics.short_messages(both) == pytest.approx((500 + 0.9 * 98_500, math.inf, 1))


def test_a_comparison_with_nothing_is_no_value() -> None:
    assert [divide(3, 2), divide(3, 0)] == [1.5, math.inf]
    assert math.isnan(ends(divide(0, 0)).low)


# ---- the base of buffer pressure


def pressure(timeouts: list[int], beside_ms: float) -> Observations:
    names = {
        f"{place}pressure/{kind}/{name}": ms
        for place in ("", "today/")
        for name in ALGORITHMS
        for kind, ms in (("alone", 10.0), ("beside", beside_ms))
    }
    made = {
        name: [queries([ms] * len(timeouts), timeouts if "alone" in name else [0] * len(timeouts))]
        for name, ms in names.items()
    }
    return Observations(Length.DEFAULT, made)


@pytest.mark.parametrize(
    ("failed", "beside_ms", "verdict"),
    [(0, 20.0, "holds"), (0, 19.0, "fails"), (1, 19.0, "fails: base"), (1, 20.0, "fails: base")],
)
def test_pressure_rests_on_queries_without_timeouts(
    failed: int, beside_ms: float, verdict: str
) -> None:
    # One of 100 queries with a timeout is 1 %: not below 1.
    runs = pressure([1] * failed + [0] * (100 - failed), beside_ms)
    known = {one.id: one for one in claims.load(PAPER.folder / "claims.toml")}
    for name in ("pressure-tcp", "today-pressure-tcp"):
        measured, base = PAPER.measures[name](runs), PAPER.bases[name](runs)
        assert str(claims.judge(known[name], measured, base=base).verdict) == verdict


# ---- the facts


def test_means_are_told_with_their_interval() -> None:
    # Mean 12, half an interval 4.9683 (test_claims.py); equal values have none.
    assert mean_and_interval([10, 12, 14], ".1f") == "12.0 [7.0, 17.0]"
    assert mean_and_interval([2.0, 2.0, 2.0], ".2f") == "2.00"
    assert mean_and_interval([3.25], ".1f") == "3.2"
    assert mean_and_interval([math.inf], ".0f") == "none"
    # With ends: the intervals of 10, 12, 14 and of 10, 12, 17 (mean 13; s = 3.6056, half of it
    # 4.3027 * 3.6056 / sqrt(3) = 8.957).
    some: list[Value] = [10.0, 12.0, Ends(14.0, 17.0, 1)]
    assert mean_and_interval(some, ".1f") == "12.0 to 13.0 [4.0, 22.0]"
    assert mean_and_interval([*some[:2], Ends(14.0, math.inf, 1)], ".1f") == "≥ 12.0 [7.0, ∞]"


def test_transfers_with_timeouts_and_where_their_packets_were_lost() -> None:
    # Of five transfers the second and the fourth; one timeout, lost at the receiver's port.
    made = run(rounds=rounds([5.0] * 5, [0, 1, 0, 2, 0]), timeouts=timeouts())
    found = PAPER.facts["buildup-timeouts"](
        Observations(Length.DEFAULT, {"build-up/tcp": [made, made]})
    )
    assert found["transfers"] == "4"
    assert found["early"] == "2"
    assert found["share"] == "40.00"
    assert (found["dropped"], found["count"], found["all"]) == ("2", "2", "10")


def test_the_port_to_the_rest_and_the_places_of_both() -> None:
    made = {
        f"{place}/{name}": [
            run(
                rounds=rounds([20.0] * 4 if name == "tcp" else [10.0] * 4, [0, 0, 0, 1]),
                transfers=transfers([500e3], 2.0 if name == "tcp" else 0.5),
                links=links(),
            )
        ]
        for place in ("cluster", "why/rest")
        for name in ALGORITHMS
    }
    found = PAPER.facts["23-rest"](Observations(Length.DEFAULT, made))
    assert (found["query_even"], found["short_half"]) == ("0.50", "0.25")
    assert (found["used_even"], found["longest_half"], found["tcp_even"]) == ("25.0", "7", "25.0")


def test_half_of_the_background_goes_to_the_rest_or_comes_from_there() -> None:
    run = next(one for one in PAPER.plan(Length.FULL) if one.name == "why/rest/dctcp")
    scenario = load(PAPER.scenario(run), tuple(run.overrides.items()))
    arrivals = {name: scenario[f"flows.{name}.flow_rate"] for name in ("inward", "outward")}
    assert arrivals == {"inward": 83.25, "outward": 83.25}
    assert scenario["flows.background.flow_rate"] == 166.5
    assert scenario["flows.background.from"] == scenario["flows.background.to"] == "senders"


def test_timeouts_by_kind() -> None:
    kinds = ["last-packet"] * 3 + ["full-window"]
    table = pl.DataFrame({"group": ["query"] * 4, "kind": kinds})
    table = table.vstack(pl.DataFrame({"group": ["near"], "kind": ["full-window"]}))
    made = [run(rounds=rounds([9.0], [1]), timeouts=table)] * 2
    runs = Observations(Length.DEFAULT, {"incast/static/tcp/rto=10ms/n=10": made})
    found = PAPER.facts["static-tcp"](runs)
    assert (found["last_packet"], found["lost_retransmission"]) == ("75", "0")
    assert statistics.timeouts_of(made[0], "query", "kind", "full-window") == 1


def test_what_the_switch_stores() -> None:
    made = {
        f"pressure/{kind}/{name}": [
            run(rounds=rounds([10.0], [0]), buffer_occupancy=memory(full=name == "tcp"))
        ]
        for kind in ("alone", "beside")
        for name in ALGORITHMS
    }
    made |= {
        f"why/pressure/{key}/{kind}/{name}": [queries([ms], [0])]
        for key in axis("pressure_varied")
        for kind, ms in (("alone", 8.0), ("beside", 12.0))
        for name in ALGORITHMS
    }
    found = PAPER.facts["pressure-tcp"](Observations(Length.DEFAULT, made))
    assert found["tcp_stored"] == "0.6"
    assert found["tcp_threshold"] == "200"
    assert found["times_2MB"] == "1.50"
