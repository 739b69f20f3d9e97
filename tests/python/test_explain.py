"""Why a flow took its time: packets lost on purpose, with times by hand; and whole networks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import incastle as ic
from conftest import SMALL
from incastle.explanation import api, rerun
from incastle.explanation import drawing as draw
from incastle.explanation.record import PS_PER_S, RECEIVER, SENDER
from ten_packets import TEN, US, check_sums, cut

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Output

    Cli = Callable[..., Output]

ENDS = (SENDER, RECEIVER)
EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> str:
    return (EXAMPLES / f"{name}.toml").read_text(encoding="utf-8")


def ran(*times: float, **how: object) -> ic.Result:
    return ic.run(ic.Scenario.from_text(TEN + cut(*times, **how)))  # type: ignore[arg-type]


def texts(why: ic.Explanation) -> list[str]:
    return [step.text for chain in why.chains for step in chain.steps]


def test_without_a_loss_the_last_packet_waits_for_the_ones_before_it() -> None:
    why = ic.explain(ran())
    check_sums(why)
    # Nine packets before it at the NIC; 2 links of 12 us; 51 us of path.
    assert why.path.by_kind() == {
        "own": 108 * US,
        "propagation": 51 * US,
        "serialisation": 24 * US,
    }
    assert why.headline == "108 of 183 us: behind its own packets"
    assert why.chains == ()


def test_a_lost_tail_waits_for_the_timer() -> None:
    why = ic.explain(ran(178))
    check_sums(why)
    assert why.headline == "10 of 10.3 ms: one retransmission timeout"
    # The ACK of packet 8 comes at 222.64 us, and starts the timer of 10 ms.
    [chain] = why.chains
    assert (chain.timer.at, chain.timer.waited) == (10_222.64 * US, 10_000 * US)
    assert texts(why) == [
        "packet 9 (bytes 13,140 to 14,600) dropped at switch->receiver: the link was down",
        "nothing beyond it that duplicate ACKs could answer",
        "RTO of 10 ms expired: retransmission timeout",
        "sent again as packet 10, received after 75 us",
    ]
    # Before the timer, packet 8 and its ACK; after it, packet 9 again.
    assert why.path.by_kind()["timeout"] == 10_000 * US
    assert [one.number for one in why.path.flights] == [8, 10]
    assert why.path.span == 10_297.64 * US


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ('loss = { good_to_bad = "0 %", bad_to_good = "1 %", loss_in_good = "99.99 %" }', "lost"),
        ("bit_error_rate = 0.1", "corrupted"),
    ],
)
def test_a_packet_lost_on_the_wire_is_named(key: str, words: str) -> None:
    # The tenth packet has left the switch at 182.64 us.
    degraded = f"""
[network.degraded.wire]
between = ["switch", "receiver"]
direction = "forward"
from = "178 us"
until = "184 us"
{key}
"""
    result = ic.run(ic.Scenario.from_text(TEN + degraded))
    why = ic.explain(result)
    check_sums(why)
    lost = f"packet 9 (bytes 13,140 to 14,600) {words} on the wire of switch->receiver"
    assert texts(why)[0] == lost
    assert why.headline.endswith("one retransmission timeout")
    assert int(result.totals["lost_on_wire"]) + int(result.totals["corrupted"]) == 1


def test_a_loss_in_the_middle_of_a_window_is_repaired_by_three_duplicates() -> None:
    why = ic.explain(ran(118))
    check_sums(why)
    # The third duplicate answers packet 7: 126.64 + 84 = 210.64 us, then 75 us again.
    assert why.path.span == 285.64 * US
    assert [one.number for one in why.path.flights] == [7, 10]
    assert why.headline == "202 of 286 us: on links, in 2 trips one after the other, 1 for repairs"
    output = [step.text for step in why.story]
    assert "fast retransmit: packet 10 (bytes 5,840 to 7,300) again" in output
    assert "3 duplicate ACKs, from here until 0.210640 ms" in output
    assert why.chains == ()


def test_a_lost_retransmission_costs_a_timeout() -> None:
    # Sent again at 210.64 us, it is at the switch from 272.64 us on.
    why = ic.explain(ran(118, 280))
    check_sums(why)
    assert why.headline.endswith("one retransmission timeout")
    assert [chain.timer.cause for chain in why.chains] == ["lost-retransmission"]
    first, duplicates, second = texts(why)[:3]
    assert first == "packet 4 (bytes 5,840 to 7,300) dropped at switch->receiver: the link was down"
    assert duplicates.startswith("5 duplicate ACKs")
    again = "packet 10 (bytes 5,840 to 7,300) (sent again) dropped at switch->receiver"
    assert second == f"{again}: the link was down"
    assert texts(why)[-1] == "sent again as packet 11, received after 75 us"


def test_lost_acks_are_reported_from_lost_data() -> None:
    # The other way round: the long link is the receiver's. Data have left the sender's at 121 us,
    # the first ACK would come there at 125.32 us.
    text = TEN.replace('"50 us"', '"X"').replace('"1 us"', '"50 us"').replace('"X"', '"1 us"')
    failing = cut(122, between=("sender:0", "switch"), us=300)
    why = ic.explain(ic.run(ic.Scenario.from_text(text + failing)))
    check_sums(why)
    # Everything has arrived; only the sender does not know.
    assert why.path.span == 183 * US
    assert why.path.timers == []
    assert texts(why) == [
        "packet 0 (bytes 0 to 1,460) received",
        "10 ACKs dropped at switch->sender:0: the link was down",
        "no duplicate ACK: none of 10 outstanding reported",
        "RTO of 10 ms expired: retransmission timeout",
        "sent again as packet 10, received after 75 us",
    ]


def test_a_lost_tail_of_udt_waits_for_exp() -> None:
    transport = TEN.index("initial_window"), TEN.index("[flows.one]")
    text = f'{TEN[: transport[0]]}kind = "udt"\nhandshake = false\n{TEN[transport[1] :]}'
    text = text.replace("100 ms", "3 s")
    why = ic.explain(ic.run(ic.Scenario.from_text(text + cut(170, us=430))))
    check_sums(why)
    [chain] = why.chains
    assert (chain.timer.event, chain.timer.end) == ("expired", SENDER)
    assert why.headline.endswith("one retransmission timeout")
    # Nothing is sent between the last packet and EXP.
    assert why.path.by_kind()["timeout"] == chain.waited
    assert why.path.timers == [chain.timer]
    assert texts(why)[0].endswith("dropped at switch->receiver: the link was down")
    assert "EXP expired" in texts(why)[-2]
    assert texts(why)[-1].startswith("sent again as packet")


def paced(more: str = "", rate: float = 1e8, window: float | None = None) -> ic.Explanation:
    """Explain ten packets at a rate."""

    class Paced(ic.Controller):
        def on_ack(self, ack: ic.Ack) -> None:
            pass

        def window(self) -> float | None:
            return window

        def pacing(self) -> float:
            return rate

    text = TEN.replace(
        "initial_window", 'congestion = "custom"\ncontroller = "own"\ninitial_window'
    )
    why = ic.explain(ic.run(ic.Scenario.from_text(text + more), controllers={"own": Paced}))
    check_sums(why)
    return why


def test_a_paced_sender_waits_for_its_own_rate() -> None:
    why = paced()
    # Nine packets before it, each with 1460 B at 100 Mbit/s; then the path of the last one.
    assert why.path.by_kind() == {
        "pacing": 9 * 116.8 * US,
        "propagation": 51 * US,
        "serialisation": 24 * US,
    }
    assert why.headline == "1.05 of 1.13 ms: paced at its rate"
    assert [one.number for one in why.path.flights] == [9]
    # A rate above the link's holds nobody: the packets before it do.
    assert paced(rate=2e9).path.by_kind() == {
        "own": 108 * US,
        "propagation": 51 * US,
        "serialisation": 24 * US,
    }


def test_a_paced_sender_may_wait_for_its_window() -> None:
    # Two packets a round trip: the ACK of one comes 126.64 us after it, later than the rate
    # asks for (1460 B at 584 Mbit/s: 20 us). Packet 9 was sent when packet 7 was acknowledged, that
    # after packet 5, and so on; packet 1 had waited for the rate.
    why = paced(rate=584e6, window=2920)
    assert [one.number for one in why.path.flights] == [1, 3, 5, 7, 9]
    assert why.path.by_kind()["pacing"] == 20 * US
    assert why.path.span == (20 + 4 * 126.64 + 75) * US


def test_a_paced_sender_may_wait_for_its_timer_or_its_application() -> None:
    # Packet 9 leaves after nine times 116.8 us, and is at the switch from 62 us later on.
    why = paced(cut(9 * 116.8 + 62))
    assert why.headline.endswith("one retransmission timeout")
    assert why.path.by_kind()["timeout"] == 10_000 * US
    assert why.path.by_kind()["pacing"] == 8 * 116.8 * US


def test_a_result_without_a_record_is_run_again(tmp_path: Path, cli: Cli) -> None:
    kept = ran(178)
    bare = ic.run(ic.Scenario.from_text(TEN + cut(178)).with_overrides({"measure.events": "off"}))
    assert "events" not in bare.tables
    with pytest.raises(ic.TableMissing, match=r"events = \["):
        _ = bare.events
    assert bare.digest == kept.digest
    again, before = ic.explain(bare), ic.explain(kept, "one:0")
    assert (again.source.rerun, before.source.rerun) == (True, False)
    assert {**again.as_json(), "rerun": False} == before.as_json()
    reason = cli("explain", str(bare.save(tmp_path / "bare")), "--flow", "0")
    assert reason.status == 0
    assert "10 of 10.3 ms: one retransmission timeout" in reason.out
    assert f"run again with a record: identical run, digest {bare.digest}" in reason.err


def test_an_ack_and_the_data_behind_it_are_reported_apart() -> None:
    # A server answers at the instant at which it acknowledges the request: the two packets have the
    # same numbers, and into a full port the small one may go where the large one is dropped.
    servers = """
[network]
topology = "star"
senders = 22
rate = "10 Gbit/s"
delay = "10 us"
[switch]
buffer = "100 KB"
[switch.queue]
kind = "threshold"
marking_threshold = "65 packets"
[run]
duration = "80 ms"
[host]
jitter = "1 us"
[transport]
congestion = "dctcp"
min_rto = "10 ms"
delayed_ack_count = 1
[flows.storage]
workload = "barrier-incast"
from = "sender:0..19"
to = "receiver"
sru = "64 KiB"
[flows.long]
workload = "bulk"
from = "sender:20..21"
to = "receiver"
[measure]
events = ["storage"]
"""
    result = ic.run(ic.Scenario.from_text(servers))
    events = result.table("events").filter(pl.col("packet").is_not_null())
    key = ["flow", "end", "packet"]
    taken = events.filter(pl.col("event").is_in(["queued", "marked"])).select(key)
    dropped = events.filter(pl.col("event") == "dropped")
    assert dropped.height > 100
    # There is one switch: it either takes a packet or drops it.
    assert dropped.join(taken, on=key, how="semi").is_empty()
    received = events.filter(pl.col("event") == "received")
    assert received.join(taken, on=key, how="anti").is_empty()


def test_another_course_is_not_explained() -> None:
    bare = ic.run(ic.Scenario.from_text(TEN).with_overrides({"measure.events": "off"}))
    other = replace(bare, digest="0123456789abcdef", version="0.0.9")
    with pytest.raises(ic.ResultError, match=r"by Incastle 0\.0\.9, digest 0123456789abcdef; this"):
        ic.explain(other)
    with pytest.raises(ic.ResultError, match="the same version now runs differently"):
        ic.explain(replace(bare, digest="0123456789abcdef"))
    broken = replace(bare, scenario=bare.scenario.replace("initial_window", "first_window"))
    with pytest.raises(
        ic.ResultError, match=r"files were changed since it was written .*first_win"
    ):
        ic.explain(broken)
    with pytest.raises(ic.ResultError, match=r"0\.0\.9; this is .* cannot read its scenario again"):
        ic.explain(replace(broken, version="0.0.9"))
    with pytest.raises(ic.ResultError, match="was interrupted"):
        ic.explain(replace(bare, interrupted=True))


def test_an_interrupted_run_is_reported(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = ic.run(ic.Scenario.from_text(TEN).with_overrides({"measure.events": "off"}))

    def press(*_: object, **__: object) -> None:
        raise ic.Interrupted

    monkeypatch.setattr(rerun, "run", press)
    reason = cli("explain", str(bare.save(tmp_path / "ten")))
    assert (reason.status, reason.out) == (130, "")
    assert reason.err == (
        "error: interrupted while it was run again with a record; nothing is explained\n"
    )


ANSWERS = """\
name = "answers"
[run]
duration = "60 ms"
[network]
topology = "star"
senders = 1
rate = "1 Gbit/s"
delay = "50 us"
[transport]
congestion = "dctcp"
min_rto = "10 ms"
[flows.one]
workload = "barrier-incast"
from = "sender:0"
to = "receiver"
sru = "64 KiB"
think_time = "25 ms"
request = "100 KB"
[measure]
events = ["one:0"]
"""
"""Both ends send data, and both begin anew with the initial window after each pause."""


def test_what_happens_at_the_receiver_is_reported_as_such() -> None:
    result = ic.run(ic.Scenario.from_text(ANSWERS))
    cuts = result.events.filter(pl.col("event") == "reduced")
    assert "receiver" in cuts["end"]
    record = ic.explain(result).record
    steps = record.story(0, round(0.06 * PS_PER_S))
    at = {end: {round(s * PS_PER_S) for s in cuts.filter(end=end)["time_s"]} for end in ENDS}
    output = [step for step in steps if "the window is cut" in step.text]
    assert output
    for step in output:
        receiver = step.text.startswith("at the receiver: ")
        assert step.at in at["receiver" if receiver else "sender"], step
    assert {step.text.startswith("at the receiver: ") for step in output} == {
        end == "receiver" for end in cuts["end"].unique()
    }


def test_bad_input_is_one_message(tmp_path: Path, cli: Cli) -> None:
    place = str(ran().save(tmp_path / "ten"))
    wrong = {
        ("--flow", "7"): "has no flow 7: there are 0 to 0 (one:0)",
        ("--flow", "two:0"): "has no flow two:0",
        ("--flow", "0", "--timeouts"): "only one of --flow",
        ("--plot", "why.txt"): "why.txt must end in one of",
        ("--timeouts", "--plot", "why.png"): "--plot draws one flow",
    }
    for arguments, message in wrong.items():
        reason = cli("explain", place, *arguments)
        assert (reason.status, reason.out) == (2, ""), arguments
        assert message in reason.err
        assert "Traceback" not in reason.err
    assert "does not exist" in cli("explain", str(tmp_path / "none")).err
    endless = TEN.replace('size = "14600 B"\n', "").replace("100 ms", "1 ms")
    with pytest.raises(ic.ResultError, match="no flow of 'ten' has an end"):
        ic.explain(ic.run(ic.Scenario.from_text(endless)))


def test_unknown_flows_of_a_record_are_mistakes() -> None:
    with pytest.raises(ic.ScenarioError, match='no flows "one:3"'):
        ic.Scenario.from_text(TEN.replace('"one:0"', '"one:3"'))
    with pytest.raises(ic.ScenarioError, match="max_events"):
        ic.Scenario.from_text(TEN.replace('["one:0"]', '{ flows = "all", max_events = 0 }'))


def test_a_record_without_room_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    short = ran(178)
    scenario = ic.Scenario.from_text(TEN + cut(178))
    cut_off = ic.run(
        scenario.with_overrides({"measure.events": {"flows": "all", "max_events": 20}})
    )
    assert cut_off.events["event"][-1] == "full"
    assert len(cut_off.events) == 21
    assert ic.explain(cut_off).headline == ic.explain(short).headline
    monkeypatch.setattr(rerun, "MAX_EVENTS", 30)
    with pytest.raises(ic.ResultError, match="longer than 30 events"):
        ic.explain(cut_off)


@pytest.fixture(scope="module")
def incast() -> ic.Result:
    scenario = ic.load(EXAMPLES / "incast.toml")
    changes = {"transport.congestion": "new-reno", "run.duration": "250 ms"}
    changes["transport.preset"] = "ns-2-2010"  # the recovery with the most timeouts
    return ic.run(
        scenario.with_overrides({**changes, "measure.events": "all", "measure.timeouts": True})
    )


def test_every_answer_of_an_incast_is_explained(incast: ic.Result) -> None:
    flows = incast.flows["flow"].to_list()
    found = api.explain_all(incast, flows, all_timeouts=True)
    for why in found:
        check_sums(why)
    # Every timeout has its chain, of the kind and with the port of the table of timeouts.
    chains = [(why.flow, chain) for why in found for chain in why.chains]
    table = incast.timeouts.sort("flow", "time_s")
    assert [flow for flow, _ in chains] == table["flow"].to_list()
    assert [chain.timer.cause for _, chain in chains] == table["kind"].to_list()
    for (_, chain), port in zip(chains, table["port"], strict=True):
        dropped = [step.text for step in chain.steps if "dropped at" in step.text]
        assert not port or any(f"dropped at {port}: queue 130," in text for text in dropped)
    slow = [why for why in found if why.path.timers and why.complete]
    assert slow
    for why in slow:
        waited = sum(timer.waited for timer in why.path.timers)
        assert why.path.by_kind()["timeout"] <= waited
        assert "retransmission timeout" in why.headline


def test_the_slowest_is_explained_and_drawn(incast: ic.Result, tmp_path: Path, cli: Cli) -> None:
    place = str(incast.save(tmp_path / "incast"))
    picture = tmp_path / "why.svg"
    reason = cli("explain", place, "--plot", str(picture), "--json")
    assert reason.status == 0
    output = json.loads(reason.out)
    lasts = pl.col("completed_s").fill_null(incast.totals["simulated_s"]) - pl.col("started_s")
    responses = incast.transfers.filter(pl.col("kind") == "response")
    longest = responses.select(lasts.max()).item()
    row = responses.filter(pl.col("flow") == output["flow"]).select(lasts.max()).item()
    assert row == longest
    assert sum(part["seconds"] for part in output["parts"]) == pytest.approx(longest)
    assert "waiting for retransmission timeouts" in picture.read_text(encoding="utf-8")
    all_of_them = json.loads(cli("explain", place, "--timeouts", "--json").out)
    assert 0 < len(all_of_them) <= 5
    assert all(one["timeouts"] for one in all_of_them)


SHORT: dict[str, tuple[str, dict[str, str | bool], str]] = {
    "dctcp": (SMALL, {}, "short:0"),
    "sack": (SMALL, {"transport.congestion": "cubic", "transport.recovery": "sack"}, "short:0"),
    "handshake": (SMALL, {"transport.handshake": True}, "short:0"),
    "dcudp": (example("dcudp"), {"run.duration": "40 ms"}, "constant:0"),
    "qcn": (example("qcn-incast"), {"run.duration": "30 ms"}, "storage:0"),
    "fair": (example("fair-queueing"), {"run.duration": "15 ms"}, "storage:1"),
    "poisson": (example("web-search"), {"run.duration": "10 ms"}, "search:3"),
}


@pytest.mark.parametrize("name", SHORT)
def test_under_every_transport_the_course_is_the_same_and_the_parts_add_up(
    name: str, tmp_path: Path
) -> None:
    text, changes, flow = SHORT[name]
    scenario = ic.Scenario.from_text(text).with_overrides({**changes})
    why = ic.explain(ic.run(scenario), flow)  # compares the digests
    check_sums(why)
    assert why.path.span > 0
    sent = why.record.packets(SENDER)
    assert not sent.is_empty()
    assert sent.drop_nulls(["received_s", "dropped_s"]).is_empty()
    draw.save(why, tmp_path / "why.png")


def test_congestion_notifications_and_modes_are_reported() -> None:
    def output(name: str) -> str:
        text, changes, flow = SHORT[name]
        why = ic.explain(ic.run(ic.Scenario.from_text(text).with_overrides({**changes})), flow)
        return "\n".join(step.text for step in why.story)

    assert "congestion notification" in output("qcn")
    assert "rate limiter: down to" in output("qcn")
    assert "congestion mode begins" in output("dcudp")


@pytest.mark.parametrize(
    ("changes", "failures", "waits", "rto_ms"),
    [
        # Ten packets, or the SYN, lost at the switch: no RTT is measured.
        ({}, cut(10, us=400), "RTO of 1 s pending (initial_rto: no RTT was measured)", 1000),
        (
            {"transport.handshake": True},
            cut(10, us=400),
            "RTO of 1 s pending (initial_rto: no RTT was measured)",
            1000,
        ),
        # The tail is lost, and again at 10.22264 ms.
        (
            {"run.duration": "20 ms"},
            cut(178, us=20_000),
            "RTO of 20 ms pending (doubled by the timeout before)",
            20,
        ),
        # The RTO could be longer, as far as the record shows.
        (
            {"run.duration": "0.6 ms"},
            cut(178, us=20_000),
            "RTO of at least 10 ms pending (min_rto)",
            10,
        ),
    ],
)
def test_the_pending_timer_expires_in_a_longer_run(
    changes: dict[str, Any], failures: str, waits: str, rto_ms: int
) -> None:
    text = TEN.replace('initial_rto = "10 ms"\n', "") + failures
    short = ic.Scenario.from_text(text).with_overrides(changes)
    why = ic.explain(ic.run(short))
    assert why.headline.endswith(f"nothing more arrived until the run ended; {waits}")
    assert why.pending is not None
    assert why.story[-1].text.startswith(waits)
    assert why.as_json()["pending"]["rto_s"] == rto_ms / 1000
    whole = ic.explain(ic.run(short.with_overrides({"run.duration": "2 s"})))
    assert whole.pending is None
    assert why.pending.at in [chain.timer.at for chain in whole.chains]


def test_a_flow_whose_packets_move_has_no_pending_timer() -> None:
    scenario = ic.Scenario.from_text(TEN).with_overrides({"run.duration": "120 us"})
    assert ic.explain(ic.run(scenario)).pending is None


def test_run_reports_flows_that_wait_for_the_initial_rto(cli: Cli, folder: Path) -> None:
    (folder / "ten.toml").write_text(TEN.replace('initial_rto = "10 ms"\n', "") + cut(10, us=400))
    output = cli("run", "ten.toml", "--out", "ten")
    assert "1 flow lost every packet sent so far" in output.out
    assert "its RTO is initial_rto (1 s), not min_rto (10 ms)" in output.out
    (folder / "ten.toml").write_text(TEN + cut(178))
    assert "initial_rto" not in cli("run", "ten.toml", "--out", "eleven").out
