"""qcn-incast: its plan, and the arithmetic of its measures, by hand."""

from __future__ import annotations

import functools
import math
import re

import polars as pl
import pytest

from incastle.analysis.ends import ends
from incastle.analysis.expressions import Seeds, divide, each_seed
from incastle.papers import qcn_incast
from incastle.papers.qcn_incast import counters, nearest, rates, runs
from incastle.reproduction import claims
from incastle.reproduction.papers import Length, Observation, Observations
from incastle.scenario import load
from synthetic import observations
from synthetic_qcn import made_up

PAPER = qcn_incast.PAPER
# The worker that has this paper's runs.
pytestmark = pytest.mark.xdist_group(PAPER.name)


@functools.cache
def made_runs() -> Observations:
    """Make them when the first test asks: not every worker does."""
    return observations(PAPER, Length.DEFAULT, made_up)


def names(length: Length) -> dict[str, int]:
    return {one.name: one.seeds for one in PAPER.plan(length)}


# ---- the plan


def test_the_full_plan_is_the_matrix_of_the_paper() -> None:
    planned = names(Length.FULL)
    for system in ("I", "II", "III", "IV", "V", "VI"):
        for rto in ("200ms", "10ms"):
            for buffer in (32, 64, 128, 256):
                for n in (2, 4, 8, 16, 32, 64):
                    assert planned[f"{system}/rto={rto}/b={buffer}/n={n}"] == 5
    lengths = {
        one.overrides["run.duration"]
        for one in PAPER.plan(Length.FULL)
        if one.name.startswith(("tcp/", "I/rto=200ms", "drr/")) and "200us" not in one.name
    }
    assert lengths == {"20 s"}


def test_the_full_plan_has_fewer_seeds_beside_the_matrix() -> None:
    planned = names(Length.FULL)
    assert planned["udp/V/rto=200ms/b=256/n=64"] == 3
    assert planned["tcp/rto=1ms/b=256/n=64"] == 3
    assert planned["every/rto=200ms/b=32/n=64"] == 3
    assert planned["barrier/tcp/rto=1ms/b=256/n=16"] == 2
    # Seeds that both have are compared.
    assert each_seed(divide, Seeds([2, 4, 6]), Seeds([1, 2, 3, 4, 5])) == (2, 2, 2)


def test_the_default_plan_has_four_seeds_for_claims_and_the_quick_one() -> None:
    planned = names(Length.DEFAULT)
    read = {
        name
        for claim in PAPER.measures
        for of_case in PAPER.reads(claim, Length.DEFAULT).values()
        for name in of_case
    }
    for name, seeds in planned.items():
        if name in read:
            assert seeds == (2 if name.startswith("baseline/") else 4), name
        else:
            assert seeds == (1 if name.startswith("open/") else 2), name
    assert set(names(Length.QUICK).values()) == {1}
    assert names(Length.DEFAULT).keys() == names(Length.FULL).keys()


def test_a_point_becomes_its_scenario() -> None:
    name = "udp/VI/rto=200ms/b=64/n=16"
    one = next(one for one in PAPER.plan(Length.FULL) if one.name == name)
    scenario = load(PAPER.scenario(one), tuple(one.overrides.items()))
    assert scenario["network.senders"] == 17
    assert scenario["flows.storage.from"] == "sender:1..16"
    assert scenario["switch.qcn.variant"] == "VI"
    assert scenario["switch.buffer"] == "64 KiB"
    assert (scenario["transport.min_rto"], scenario["transport.initial_rto"]) == ("200 ms",) * 2


# Values of the paper and the experiments' description; the rest is in the resolved scenario.
PARAMETERS = {
    "run.duration": "20 s",
    "network.rate": "1 Gbit/s",
    "network.delay": "25 us",
    "flows.storage.sru": "256 KiB",
    "transport.congestion": "new-reno",
    "transport.mss": "1460 B",
    "transport.initial_window": "2 packets",
    "transport.delayed_ack_count": 1,
    "transport.max_cwnd": "unlimited",
    "transport.min_rto": "200 ms",
    "switch.qcn.sampling": "v2.2",
    "switch.qcn.cp_w": 2.0,
    "switch.qcn.cp_sample_base": "150 KB",
    "host.qcn.rpg_byte_reset": "150 KB",
    "host.qcn.rpg_time_reset": "15 ms",
    "host.qcn.rpg_ai_rate": "5 Mbit/s",
    "host.qcn.rpg_hai_rate": "50 Mbit/s",
    "host.qcn.rpg_min_rate": "5 Mbit/s",
    "host.qcn.rpg_gd": 1 / 128,
}


def test_the_scenario_says_what_the_paper_says() -> None:
    scenario = load(PAPER.folder / "scenarios" / "qcn.toml")
    assert {key: scenario[key] for key in PARAMETERS} == PARAMETERS


# ---- the measures


def test_every_measure_gives_the_cases_of_its_claim_for_every_seed() -> None:
    for claim in claims.load(PAPER.folder / "claims.toml"):
        cases = PAPER.measures[claim.id](made_runs())
        assert set(cases) == set(claim.cases), claim.id
        seeds = 2 if claim.id.startswith("baseline") else 4
        assert {len(values) for values in cases.values()} == {seeds}, claim.id
        claims.judge(claim, cases)


def test_a_setting_that_is_left_out_cannot_be_measured() -> None:
    quick = observations(PAPER, Length.QUICK, made_up)
    shares = PAPER.measures["table1-before"](quick)
    assert [math.isnan(ends(*values).low) for values in shares.values()] == [
        False,
        True,
        False,
        True,
    ]
    assert not math.isnan(ends(*PAPER.measures["fig3-32"](quick)["32 KiB"]).low)


def of_goodput(mbit: float) -> Observation:
    flows = pl.DataFrame({"group": ["storage"], "goodput_bit_s": [mbit * 1e6]})
    return Observation({"flows": flows}, "", "")


def collapse_at(points: dict[int, float]) -> float:
    made = {f"tcp/rto=200ms/b=256/n={n}": [of_goodput(mbit)] for n, mbit in points.items()}
    (found,) = PAPER.measures["fig2-collapse-256"](Observations(Length.QUICK, made))["256 KiB"]
    return ends(found).low


def test_collapse_is_the_least_n_below_half_the_link() -> None:
    assert collapse_at({2: 900, 4: 499, 8: 700, 16: 100}) == 4
    assert collapse_at({2: 900, 4: 500}) == math.inf
    # 40 b / n Mbit/s: 1280 / n at 32 KiB is 640 at 2 and 320 at 4; beside UDP 300 is the line.
    assert PAPER.measures["fig2-collapse-32"](made_runs())["32 KiB"] == [4] * 4
    assert PAPER.measures["fig14-half"](made_runs())["32 KiB"] == [2] * 4


def test_goodput_is_compared_where_somebody_has_collapsed() -> None:
    # 32 KiB: 1280 / n and 200 more with QCN, whose 520 at 4 (seeds: 1 to 4 % more) is no collapse:
    # n = 8 ... 64: (360 + 280 + 240 + 220) / (160 + 80 + 40 + 20) = 1100 / 300.
    assert PAPER.measures["fig4-small"](made_runs())["32 KiB"] == pytest.approx([11 / 3] * 4)
    # TCP alone at 128 KiB: 5120 / n; below 500 from 16 on: (520 + 360 + 280) / (320 + 160 + 80).
    assert PAPER.measures["fig4-large"](made_runs())["128 KiB"] == pytest.approx([1160 / 560] * 4)


def test_counts_are_for_20_seconds() -> None:
    run = made_runs()["II/rto=200ms/b=128/n=8"][0]
    # 2 s with 10 n notifications, twice as many under II; 3 timeouts of each flow.
    assert runs.notifications(run) == 1600
    assert runs.timeouts_per_flow(run) == 30
    # 50 packets of 1490 B on average.
    assert runs.queue_kilobytes(run) == pytest.approx(74.5)
    assert PAPER.measures["table2-fewer"](made_runs())["IV"] == [0.5] * 4


def test_rates_are_weighted_by_time() -> None:
    # Two flows for 2 s. One is at 50 Mbit/s from the start on; the other at the line rate for one
    # second, then at 500.
    run = made_runs()["I/rto=200ms/b=128/n=2"][0]
    table = rates.steps(run)
    assert table["time_s"].to_list() == [0.0, 1.0]
    assert table["until_s"].to_list() == [1.0, 2.0]
    assert table["0"].to_list() == [1000.0, 500.0]
    assert rates.mean_min(run) == 50
    assert rates.share_below(run) == 100
    assert rates.longest_slowest(run) == 100


def test_the_least_rate_passes_from_flow_to_flow() -> None:
    # 0 to 0.5 s: both at 1000; to 1.5 s flow 0 at 100; to 2 s flow 0 at 300, flow 1 at 60.
    changes = pl.DataFrame(
        {
            "time_s": [0.5, 1.5, 1.5],
            "flow": [0, 0, 1],
            "current_bit_s": [100e6, 300e6, 60e6],
        }
    )
    flows = pl.DataFrame({"flow": [0, 1], "group": ["storage"] * 2})
    summary = pl.DataFrame({"simulated_s": [2.0]})
    run = Observation({"rates": changes, "flows": flows, "summary": summary}, "", "")
    # (0.5 x 1000 + 1 x 100 + 0.5 x 60) / 2 = 315; below 80 for the last quarter.
    assert rates.mean_min(run) == pytest.approx(315)
    assert rates.share_below(run) == pytest.approx(25)
    # Flow 0 is least (or level) for 1.5 s of 2.
    assert rates.longest_slowest(run) == pytest.approx(75)


def test_servers_wait_for_the_slowest() -> None:
    # Of 8 servers 7 are done in half of the round: 7 / 8 of 50 %.
    run = made_runs()["I/rto=200ms/b=128/n=8"][0]
    assert rates.waiting(run) == pytest.approx(43.75)
    found = rates.responses(run)
    assert found["round"].max() == 19
    assert (found["over_s"] - found["asked_s"]).to_list() == pytest.approx([0.1] * len(found))


def test_a_round_that_the_end_cuts_off_has_no_slowest_server() -> None:
    run = made_runs()["I/rto=200ms/b=128/n=8"][0]
    last = pl.col("started_s") == pl.col("started_s").max()
    cut = run["transfers"].with_columns(
        pl.when(last & (pl.col("flow") == 7))
        .then(None)
        .otherwise("completed_s")
        .alias("completed_s")
    )
    seen = Observation({**run.tables, "transfers": cut}, "", run.resolved)
    found = rates.responses(seen)
    assert found["round"].max() == 18
    assert len(found) == 19 * 8
    # Up to the end of the run 7 of 8 servers have waited for half of that round, too: 43.75 %.
    assert rates.waiting(seen) == pytest.approx((43.75, 43.75, 1))
    # With one answer of 8 there it is 19 x 7 halves of rounds, and one, of 20 x 8 rounds.
    most = cut.with_columns(
        pl.when(last & (pl.col("flow") > 0))
        .then(None)
        .otherwise("completed_s")
        .alias("completed_s")
    )
    seen = Observation({**run.tables, "transfers": most}, "", run.resolved)
    assert rates.waiting(seen) == pytest.approx((100 * 134 / 320, 100 * 134 / 320, 1))


def test_without_a_collapse_alone_there_is_no_half() -> None:
    def made(alone: float, beside: float) -> Observations:
        found = {}
        for buffer in (32, 64, 128, 256):
            for n in (2, 4, 8, 16, 32, 64):
                found[f"tcp/rto=200ms/b={buffer}/n={n}"] = [of_goodput(alone)]
                found[f"udp/tcp/rto=200ms/b={buffer}/n={n}"] = [of_goodput(beside)]
        return Observations(Length.QUICK, found)

    half = PAPER.measures["fig14-half"]
    assert math.isnan(ends(*half(made(900, 200))["32 KiB"]).low)
    assert half(made(400, 500))["32 KiB"] == [math.inf]


def test_timeouts_have_one_kind_each() -> None:
    # Of a server's three the one that was dropped nowhere is spurious, whatever its form.
    run = made_runs()["barrier/tcp/rto=200ms/b=128/n=8"][0]
    shares = [runs.share_of_kind(run, kind) for kind in ("full-window", "last-packet", "spurious")]
    assert shares == pytest.approx([100 / 3] * 3)
    assert runs.share_of_kind(run, "few-duplicates") == 0


def test_counters_are_read_off_the_intervals() -> None:
    # psi 0 and 63: 150 and 18.5 KB. Halved three times, twice and not at all, within the jitter.
    sampled = pl.DataFrame(
        {
            "time_s": [0.0, 0.001, 0.0025, 0.004],
            "psi": [63, 0, 0, 0],
            "interval_bytes": [18_500 / 8 * 1.14, 150_000 / 4 * 0.86, 75_000, 150_000],
        }
    )
    changes = pl.DataFrame(
        {"byte_stage": [1, 6, 7], "time_stage": [0, 0, 6], "memory": [9.0, 0.5, 2.0]}
    )
    run = Observation({"cnms": sampled, "rates": changes}, "", "")
    assert counters.counter(run)["c"].to_list() == [3, 2, 1, 0]
    assert counters.milliseconds_to_zero(run) == pytest.approx(4)
    assert counters.samples_to_zero(run) == 3
    assert counters.beyond_first_table(run) == 100
    assert counters.remembering(run) == 50
    assert counters.max_memory(run) == 9


def test_completion_has_an_upper_end_without_limit_where_a_round_did_not_end() -> None:
    # 20 rounds of 0.1 s; the last had lasted as long when the run ended.
    run = made_runs()["barrier/tcp/rto=200ms/b=128/n=2"][0]
    assert runs.completion_mean(run) == pytest.approx((100, math.inf, 1))
    assert runs.completion_p99(run) == pytest.approx((100, math.inf, 1))


def test_differences_of_section_9_have_no_sign() -> None:
    def run(gigabits: float, queue: float) -> Observation:
        flows = pl.DataFrame({"delivered_bytes": [int(gigabits * 1e9 / 8)]})
        links = pl.DataFrame({"port": ["switch->receiver"], "mean_queue_packets": [queue]})
        summary = pl.DataFrame({"simulated_s": [1.0]})
        return Observation({"flows": flows, "links": links, "summary": summary}, "", "")

    systems = {"I": (4.0, 20.0), "II": (3.9, 25.0), "IV": (4.0, 20.0)}
    found = {
        f"baseline/{scenario}/{system}": [run(*numbers)]
        for scenario in ("capacity", "output", "input", "stages")
        for system, numbers in systems.items()
    }
    made = Observations(Length.QUICK, found)
    throughput = PAPER.measures["baseline-throughput"](made)
    assert throughput["II, capacity"] == pytest.approx([2.5])
    assert throughput["IV, capacity"] == [0.0]
    assert PAPER.measures["baseline-queue"](made)["II, multi-stage"] == pytest.approx([25.0])


# ---- the nearest readings, the paper's own tables


def test_the_nearest_readings_take_the_places_of_the_variants() -> None:
    again = nearest.instead(made_runs())
    name = "V/rto=200ms/b=64/n=8"
    assert again[name] is not made_runs()[name]
    assert again[name][0] is made_runs()[f"{nearest.NEAREST}{name}"][0]
    assert again["tcp/rto=200ms/b=64/n=8"][0] is made_runs()["tcp/rto=200ms/b=64/n=8"][0]
    shares = nearest.shares(qcn_incast.DECLARED, again)
    assert set(shares) == set(nearest.AGAIN) <= set(PAPER.measures)
    assert all(math.isnan(share) or 0 <= share <= 1 for share in shares.values())


def test_the_paper_values_of_the_claims_are_those_of_its_tables() -> None:
    (claim,) = (
        one for one in claims.load(PAPER.folder / "claims.toml") if one.id == "table2-fewer"
    )
    table = qcn_incast.DECLARED.names(Length.FULL)["table2"]
    least = min(table["II"]["64"], table["III"]["64"])
    stated = [float(text) for text in re.findall(r"\d\.\d+", claim.paper_value)]
    computed = [table[system]["64"] / least for system in ("IV", "V", "VI")]
    assert stated == pytest.approx(computed, abs=0.005)
