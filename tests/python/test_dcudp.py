"""The paper dcudp: its plan, its readings, and the arithmetic of its measures, by hand."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING

import polars as pl
import pytest

from conftest import LENGTHS
from incastle.analysis.ends import ends
from incastle.analysis.expressions import Choice, Scope, quotient
from incastle.papers import dcudp
from incastle.papers.dcudp import answer, runs
from incastle.papers.dcudp.readings import (
    BASE,
    DEFAULT,
    FURTHER,
    NAMED,
    READINGS,
    SHOWN,
    Reading,
    combinations,
)
from incastle.reproduction import claims
from incastle.reproduction.cells import printed
from incastle.reproduction.papers import Length, Observation, Observations
from incastle.reproduction.statistics import jain
from synthetic import observations
from synthetic_dcudp import flows, goodput, links, made_up, queue_samples

PAPER = dcudp.PAPER
DECLARED = dcudp.DECLARED
MEASURES, FACTS = PAPER.measures, PAPER.facts
if TYPE_CHECKING:
    from incastle.reproduction.declarations import Declarations

# The worker that has this paper's runs.
pytestmark = pytest.mark.xdist_group(PAPER.name)
CLAIMS = {claim.id: claim for claim in claims.load(PAPER.folder / "claims.toml")}


def run(**tables: pl.DataFrame) -> Observation:
    return Observation(tables, "", "")


def rows(columns: list[str], *values: tuple[object, ...]) -> pl.DataFrame:
    return pl.DataFrame(list(values), schema=columns, orient="row")


# ---- readings and plan


def test_each_named_reading_differs_in_the_one_place_that_it_names() -> None:
    assert BASE.of["set"] == {}
    assert NAMED["default"] == DEFAULT
    differing = {
        label: [f.name for f in fields(Reading) if getattr(one, f.name) != getattr(DEFAULT, f.name)]
        for label, one in NAMED.items()
    }
    assert differing.pop("default") == []
    assert differing.pop("as printed") == ["law", "exit", "marker"]
    for label, places in differing.items():
        assert len(places) == 1
        assert label.startswith(("K =", places[0]))


def test_the_readings_are_set_by_keys() -> None:
    keys = {system.of["label"]: dict(system.of["set"]) for system in READINGS}
    assert keys["growth per-rtt"] == {"transport.readings.growth": "per-rtt"}
    assert keys["K = 64"] == {"transport.exit_window": "64"}
    assert keys["marker red"]["switch.queue.w_q"] == "0.002"
    assert keys["as printed"].keys() > {
        "transport.readings.control_law",
        "transport.readings.exit",
        "switch.queue.min_th",
    }
    assert "switch.queue.action" not in keys["as printed"]
    further = {label: reading.overrides for label, reading in FURTHER.items()}
    assert further["red drops at th_max"]["switch.queue.action"] == "mark-below-max"
    assert further["control ECT"] == {"transport.ect_on_control": "true"}
    assert further["ACKs without data"] == {"transport.ack_without_data": "true"}


def test_the_map_has_every_combination_once() -> None:
    # 3 markers, control packets ECN-capable or not, 3 laws with growth, 2 floors, 3 ends.
    every = combinations()
    assert len({reading.key for reading in every}) == len(every) == 3 * 2 * 3 * 2 * 3
    assert len({reading.row for reading in every}) == len(every) // 3
    assert DEFAULT in every
    assert {reading for reading in FURTHER.values() if not reading.without_data} <= set(every)


def test_every_length_has_the_senders_that_the_tables_name() -> None:
    for length in Length:
        names = DECLARED.names(length)
        assert {*names["map_senders"], 20} <= set(names["senders"])
    assert DECLARED.names(Length.FULL)["senders"] == tuple(range(1, 21))


def test_the_expected_work_is_what_the_plan_says() -> None:
    work = {
        length: sum(one.cost * one.seeds for one in PAPER.plan(length)) / 1e6 for length in Length
    }
    assert work == pytest.approx(
        {Length.QUICK: 39, Length.DEFAULT: 234, Length.FULL: 2000}, rel=0.1
    )


def test_the_other_transfer_ends_in_the_middle() -> None:
    for length in Length:
        ended = DECLARED.scope(Observations(length)).evaluate("ended")
        (one,) = (e for e in PAPER.plan(length) if e.name == "after/tcp")
        assert one.overrides["flows.ftp.stop"] == f"{1e3 * ended:g} ms"
        assert one.overrides["run.duration"] == f"{2 * ended:g} s"


# ---- every claim, from made-up runs


@pytest.fixture(scope="module")
def made() -> Observations:
    return observations(PAPER, Length.DEFAULT, made_up)


@pytest.mark.parametrize("name", CLAIMS)
def test_every_measure_gives_the_cases_of_its_claim_for_every_seed(
    made: Observations, name: str
) -> None:
    cases = MEASURES[name](made)
    assert set(cases) == set(CLAIMS[name].cases)
    assert {len(values) for values in cases.values()} == {3}
    assert not any(math.isnan(ends(value).low) for values in cases.values() for value in values)
    claims.judge(CLAIMS[name], cases)


def test_throughputs_are_compared(made: Observations) -> None:
    # 98 % less 0.1 % per seed, and half of that link for TCP.
    assert MEASURES["fig6a-dcudp"](made)["default"] == pytest.approx([0.979, 0.978, 0.977])
    # DCTCP begins 2 ms later: of 1000.
    assert MEASURES["fig6a-dctcp"](made)["DCTCP"][0] == pytest.approx(0.979 * 0.998)
    assert MEASURES["fig6a-tcp"](made)["default"][0] == pytest.approx(
        100 * (0.499 * 0.999 / 0.979 - 1), abs=1e-3
    )
    assert MEASURES["fig6a-timeouts"](made) == {"n = 20": [2.0] * 3}
    # TCP has 0.499 of 9 ms, DCTCP 0.979 of 8 ms.
    assert MEASURES["fig6b-tcp-dctcp"](made) == {"TCP": [0.0] * 3}
    assert MEASURES["fig6b-dcudp-dctcp"](made)["K = 4"] == [100.0] * 3
    assert MEASURES["fig6b-overreacting"](made)["DCTCP"] == pytest.approx([25.0] * 3)


def test_queues_are_compared(made: Observations) -> None:
    # Mean queues of 2001 (TCP), 61 (TCP-ECN), 11 (DCTCP) and 21 packets.
    assert MEASURES["fig7-tcp-worst"](made)["TCP-ECN"] == pytest.approx([2001 / 61] * 3)
    assert MEASURES["fig7-dctcp-least"](made)["default"] == pytest.approx([21 / 11] * 3)
    # 800 packets for 20 ms, then 20 and 22 in turn.
    assert MEASURES["fig7-burst"](made)["default"] == pytest.approx([800 / 21] * 3)
    assert MEASURES["fig7-quickly"](made)["default"] == pytest.approx([20.0] * 3)
    assert MEASURES["fig7-small"](made)["default"] == pytest.approx([21.0] * 3)
    assert MEASURES["fig7-stable"](made)["default"] == pytest.approx([1.0] * 3)
    # In 100 ms: 20 samples of 800 and 80 of 21, on average; UDT 1000 and 1001.
    early = (20 * 800 + 80 * 21) / (20 * 1000 + 80 * 1001)
    assert MEASURES["text-faster"](made)["default"] == pytest.approx([early] * 3)


def test_windows_are_compared(made: Observations) -> None:
    # From 20 segments to 40 (K = 50) and 22 (K = 10); in 10 ms, ten steps of 5 round trips.
    assert MEASURES["fig9-50"](made) == {"K = 50": pytest.approx([2.0] * 3)}
    assert MEASURES["fig9-10"](made) == {"K = 10": pytest.approx([1.1] * 3)}
    assert MEASURES["fig9-contrast"](made)["K = 50 against K = 10"] == pytest.approx([10.0] * 3)
    linear = MEASURES["fig8-linear"](made)
    assert linear["DCTCP, K = 10"] == pytest.approx([2 / 50] * 3)
    assert linear["TCP"] == [0.0] * 3


def test_bursts_are_compared(made: Observations) -> None:
    # Of 20 flows seven have 60,001 bytes and thirteen 30,001.
    a, b = 60_001, 30_001
    index = (7 * a + 13 * b) ** 2 / 20 / (7 * a * a + 13 * b * b)
    fairer = MEASURES["abstract-fairer-dctcp"](made)["default"]
    assert fairer[0] == pytest.approx(1 - index)
    assert MEASURES["text-dctcp-unfair"](made)["TCP"][0] == pytest.approx(index - 1)
    assert MEASURES["text-rtt-dctcp"](made)["DCTCP"][0] == pytest.approx(a / b)
    assert MEASURES["text-rtt-dcudp"](made)["default"][0] == pytest.approx(1 - a / b)
    more = 100 * (20 * b / (7 * a + 13 * b) - 1)
    assert MEASURES["abstract-throughput"](made)["default"][0] == pytest.approx(more)


# ---- numbers of one run


def test_throughput_counts_the_milliseconds_before_an_instant() -> None:
    seen = run(goodput=goodput(2, 0.5, 20))
    assert runs.throughput(seen, 0.010) == pytest.approx(0.5 * 8 / 10)
    assert runs.throughput(seen, 0.001) == 0


def test_the_queue_is_small_after_its_first_peak() -> None:
    # Small before the peak does not count; 45 packets are small, 46 are not.
    seen = run(queue_samples=queue_samples([0, 3, 500, 46, 45, 400]))
    assert runs.calm_after(seen, 1.0) == pytest.approx(4.0)
    never = run(queue_samples=queue_samples([100] * 50))
    assert runs.calm_after(never, 0.25) == 250


def test_loss_counts_data_that_neither_arrived_nor_waits() -> None:
    # 1000 sent, 4 x 200 arrived, 150 wait at the end: 50 are lost, whatever else the port dropped.
    arrived = pl.DataFrame({"packets_received": [200] * 4})
    seen = run(
        flows=flows(["cbr"] * 4, 250),
        links=links(700, 1.0),
        udt=arrived,
        queue_samples=queue_samples([0, 900, 150]),
    )
    assert runs.loss(seen) == pytest.approx(5.0)
    # The last sample is older than the end: less than nothing is not lost.
    drained = run(**{**seen.tables, "queue_samples": queue_samples([900])})
    assert runs.loss(drained) == 0


def test_the_share_of_the_link_counts_headers() -> None:
    # 1456 bytes of data are 1500 on the wire: 100 ms of a full link are 12.5 MB of wire.
    data = 12_500_000 * 1456 // 1500 // 10
    came = rows(["time_s", "flow", "bytes"], *[(0.5 + k / 100, 0, data) for k in range(10)])
    seen = run(flows=flows(["cbr", "ftp"]), throughput=came)
    assert runs.share_after(seen, "dcudp", 0.5) == pytest.approx(100, rel=1e-5)
    assert runs.share_after(seen, "tcp", 0.5) == pytest.approx(100 * 1456 / 1460, rel=1e-5)


def test_growth_is_counted_per_round_trip() -> None:
    # 10 ms in steps of 1 ms, round trips of 200 us: 10 ms are 50 of them, 9 steps 90 segments.
    columns = ["time_s", "flow", "cwnd_bytes", "rtt_s"]
    samples = [(0.5 + k / 1000, 0, 1460 * (20 + 10 * k), 2e-4) for k in range(12)]
    growth = runs.growth_per_round_trip(run(windows=rows(columns, *samples)), 0.5)
    assert growth == pytest.approx(90 / 50)


def test_a_window_holds_until_the_next_ack() -> None:
    columns = ["time_s", "flow", "cwnd_bytes", "rtt_s"]

    def growth(*samples: tuple[float, int, int, float]) -> float:
        return runs.growth_per_round_trip(run(windows=rows(columns, *samples)), 0.5)

    # A sender that waits for a timeout has no ACK in the 10 ms: its window does not grow.
    waiting = [(0.46, 0, 1460 * 20, 0.03), (0.66, 0, 1460, 0.03)]
    assert growth(*waiting) == 0
    # From 20 to 22 segments; 2 ms of 1 ms and 8 ms of 4 ms are 2 + 2 round trips.
    held = [(0.49, 0, 1460 * 20, 1e-3), (0.502, 0, 1460 * 22, 4e-3)]
    assert growth(*held) == pytest.approx(2 / 4)
    # Nothing is known before the first ACK.
    assert math.isnan(growth((0.66, 0, 1460, 0.03)))


@pytest.mark.parametrize(
    ("changes", "waited"),
    [
        ([(0.0, "udp")], 0.0),
        ([(0.0, "udp"), (0.1, "congestion"), (0.4, "udp")], 0.0),
        ([(0.0, "udp"), (0.1, "congestion"), (0.53, "udp"), (0.6, "congestion")], 30.0),
        ([(0.0, "udp"), (0.1, "congestion")], 500.0),
    ],
)
def test_the_return_to_udp_mode(changes: list[tuple[float, str]], waited: float) -> None:
    of_others = [(0.0, 1, "congestion"), (0.51, 1, "udp")]
    modes = rows(["time_s", "flow", "mode"], *[(t, 0, m) for t, m in changes], *of_others)
    seen = run(flows=flows(["cbr", "ftp"]), dcudp_modes=modes)
    assert runs.until_udp_mode(seen, 0.5, 1.0) == pytest.approx(waited)


def test_jains_index() -> None:
    assert jain([1, 1, 1, 1]) == 1
    assert jain([1, 0, 0, 0]) == 0.25
    assert math.isnan(jain([0, 0]))


def test_who_delivers_nothing_in_a_burst_counts() -> None:
    # One of two, in the last 25 ms of the first burst; in the second burst nobody: no index.
    came = rows(["time_s", "flow", "bytes"], (0.0, 1, 10), (0.08, 0, 10), (0.1, 1, 1000))
    seen = run(flows=flows(["burst", "burst"]), throughput=came)
    assert runs.jain_of_bursts(seen, 2) == 1
    assert runs.jain_of_bursts(seen, 2, 0.025) == 0.5
    assert runs.burst_bytes(seen, 2) == 20


def test_divisions() -> None:
    assert quotient(1, 0) == math.inf
    assert math.isnan(quotient(0, 0))
    assert quotient(-1, 0) == -math.inf


# ---- the figures


@pytest.mark.parametrize("length", LENGTHS)
def test_each_figure_can_be_drawn(length: Length) -> None:
    from incastle.plotting.style import canvas  # noqa: PLC0415  as slow as drawing

    made = observations(PAPER, length, made_up)
    for one in PAPER.figures:
        data = one.data(made)
        assert len(data)
        with canvas() as figure:
            one.draw(figure, data)


def test_the_answer_is_shaded_by_the_bands(made: Observations) -> None:
    table = answer.as_taken(DECLARED, made)
    assert len(table) == len(SHOWN) * len(answer.COLUMNS)
    assert set(table.filter(in_band=False)["column"]) == {"loss, (%)"}
    assert table["shaded"].equals(table["in_band"])


def test_the_revised_control_has_a_value_for_each_claim_about_dcudp(made: Observations) -> None:
    table = answer.revised(DECLARED, made)
    about = [name for name, claim in CLAIMS.items() if "default" in claim.cases]
    of = {column: set(table.filter(column=column)["row"]) for column in table["column"].unique()}
    assert of["DCUDP"] == set(about)
    assert of["dcudp-r"] == set(about) - {"fig8-mode"}
    assert "fig7-throughput" not in of["DCTCP"]
    assert "text-faster" not in of["UDT"]
    assert not table.filter(column="dcudp-r")["value"].is_nan().any()
    (own,) = table.filter(column="DCUDP", row="fig8-dcudp")["value"]
    scope = DECLARED.scope(made)
    assert own == answer.of_reading(DECLARED, scope, "fig8-dcudp", BASE)


def test_a_figure_of_which_one_column_fails_is_not_shaded(monkeypatch: pytest.MonkeyPatch) -> None:
    made = observations(PAPER, Length.QUICK, made_up)
    of_reading = answer.of_reading

    def fails_small(declared: Declarations, scope: Scope, claim: str, system: Choice) -> float:
        return 1e6 if claim == "fig7-small" else of_reading(declared, scope, claim, system)

    monkeypatch.setattr(answer, "of_reading", fails_small)
    table = answer.as_taken(DECLARED, made)
    of_7b = table.filter(pl.col("column").str.starts_with("7b"))
    assert of_7b["in_band"].sum() == len(of_7b) * 3 // 4
    assert not of_7b["shaded"].any()
    assert table.filter(pl.col("column").str.starts_with("6a"))["shaded"].all()


def test_bands_include_what_they_say() -> None:
    of_tcp = answer.bands()["fig8-tcp"]
    assert (of_tcp.contains(75), of_tcp.contains(75.1)) == (True, False)


def test_the_map_tells_which_figures_appear() -> None:
    cells = [
        ("threshold, control ECT: per-rtt, floor idle", "K = 8, 6a", 0.98, True),
        ("threshold, control ECT: per-rtt, floor idle", "K = 8, 7b", 2000.0, False),
        ("threshold, control ECT: per-rtt, floor idle", "K = 8, 8", 95.0, True),
        ("RED drops, control ECT: per-rtt, floor idle", "K = 64, 7b", 15.0, True),
    ]
    row, other = cells[0][0], cells[3][0]
    found = answer.appearing(answer.frame(cells))
    assert found == {(row, "K = 8"): {"6a", "8"}, (other, "K = 64"): {"7b"}}


def test_the_note_on_the_map_counts(made: Observations) -> None:
    # In made-up runs 6a, 6b and 7b appear everywhere, and 8 nowhere: the map's other transfer ends
    # at 300 ms, before the link becomes free.
    output = FACTS["answer-map"](made)
    assert (output["all"], output["n6a"], output["n7b"], output["both"]) == ("108",) * 4
    assert (output["best"], output["n8"]) == ("6a and 6b and 7b in 108", "0")
    assert output["with_8"] == "no reading"
    assert "RED drops, control not ECT (18)" in output["with_7b"]
    assert FACTS["answer"](made)["appear"] == "6a, 6b, 7b, 8"


def test_facts_are_means_over_the_seeds(made: Observations) -> None:
    # 98 % less 0.1, 0.2 and 0.3 %; mean queues of 21 and 2001 packets.
    assert FACTS["fig6a-dcudp"](made)["many"] == "0.98"
    assert FACTS["fig7-tcp-worst"](made)["dcudp"] == "21"
    assert FACTS["fig7-tcp-worst"](made)["tcp"] == "2,001"
    assert FACTS["fig8-linear"](made) == {"waiting": "0", "seeds": "3", "ended": "500"}
    # TCP has 0.499 and 0.498 for 9 of 10 ms, DCUDP 0.979 and 0.978 for all of them: 2.1799 and
    # 2.1821 times as much. No claim reads these runs: they have two seeds.
    assert FACTS["6-b"](made)["gain"] == "118.10"


def test_numbers_in_tables() -> None:
    shown = {0.97912: "0.979", 2001.4: "2001", 123456.0: "1e+05", None: "-"}
    assert {value: printed(value) for value in shown} == shown
    assert printed(math.nan) == "-"
