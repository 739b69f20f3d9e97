"""Why a message of RDMA took its time: pacing, pauses of PFC with their roots, go-back-N, READs."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import incastle as ic
from incastle.explanation.record import PS_PER_S
from incastle.pauses import notes_of
from queue_pair import ONE
from ten_packets import check_sums, cut

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Output

CONTROLS = ("dcqcn", "timely", "hpcc", "rate-dctcp")

TREE = """\
name = "tree"
run = { duration = "4 ms" }
transport = { kind = "rdma", congestion = "timely", traffic_class = 3 }

[network]
topology = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 5
rate = "100 Gbit/s"
delay = "1 us"

[network.links.leaf-spine]
rate = "800 Gbit/s"

[switch]
buffer = { shared = "1 MB", alpha = 1.0 }
queue = { kind = "priorities", marks = { rdma = { priorities = [3], k_min = "100 KB", \
k_max = "400 KB", p_max = 0.2 } } }
pfc = { priorities = [3] }

[flows.incast]
workload = "bulk"
from = "host:0..3"
to = "host:5"
size = "1 MB"
start_spread = "0 s"

[flows.victim]
workload = "bulk"
from = "host:4"
to = "host:6"
size = "200 KB"
start_spread = "0 s"
"""
"""The incast's leaf pauses the spine, that the leaf of the senders, and that the victim, too."""


def explained(text: str, flow: str = "one:0", **keys: object) -> ic.Explanation:
    """Run, explain, and check that the parts add up to the FCT."""
    overrides = {key.replace("__", "."): value for key, value in keys.items()}
    result = ic.run(ic.Scenario.from_text(text).with_overrides(overrides))  # type: ignore[arg-type]
    why = ic.explain(result, flow)
    check_sums(why)
    if why.complete:
        row = result.transfers.row(by_predicate=pl.col("flow") == why.flow, named=True)
        fct = round(row["completed_s"] * PS_PER_S) - round(row["started_s"] * PS_PER_S)
        assert why.path.span == fct
    return why


def ns(*spans: float) -> int:
    """Give the sum of some spans of nanoseconds in picoseconds."""
    return round(sum(spans) * 1000)


def test_the_last_packet_of_a_write_waits_for_the_ones_before_it() -> None:
    why = explained(ONE)
    assert why.path.by_kind() == {
        "propagation": ns(2000),
        "own": (4156 + 4140) * 80,
        "serialisation": 2 * 1852 * 80,
        # The switch sends the longer ones before it.
        "queue": (4156 + 4140 - 4140 - 1852) * 80,
    }


def test_a_slower_queue_pair_waits_for_its_pacing() -> None:
    why = explained(ONE, transport__max_rate="25 Gbit/s")
    assert why.path.by_kind() == {
        "pacing": (4156 + 4140) * 320,
        "propagation": ns(2000),
        "serialisation": 2 * 1852 * 80,
    }


def test_a_read_asks_first() -> None:
    why = explained(ONE, transport__verb="read")
    # The request has 60 bytes; the first and the last response have an AETH of 4.
    assert why.path.by_kind() == {
        "propagation": ns(4000),
        "own": (4144 + 4140) * 80,
        "serialisation": 2 * (1856 + 60) * 80,
        "queue": (4140 + 4144 - 4140 - 1856) * 80,
    }


def test_a_window_costs_round_trips() -> None:
    why = explained(ONE, transport__window="4 KiB", transport__congestion="dcqcn")
    # A packet, its ACK of 48 bytes, the next one: three trips.
    assert [one.number for one in why.path.flights] == [0, 1, 2]
    assert why.path.by_kind() == {
        "propagation": ns(3 * 2000 + 2 * 2000),
        "serialisation": 2 * (4156 + 4140 + 1852 + 2 * 48) * 80,
    }


def test_lost_packets_are_repeated_with_all_after_them() -> None:
    # 20 packets, of 332.48, 18 times 331.2 and 177.6 ns. At 2.4 us the first is on the wire to the
    # receiver, and three are at the switch.
    why = explained(ONE + cut(2.4, us=0.1), flows__one__size="80 KB")
    # Packet 4 arrives after 332.48 + 3 x 331.2 + 2 x 331.2 + 2000 ns. Its NAK, of 3.84 ns, takes
    # 2007.68 ns; then packet 18 is being sent for 297.92 ns more. The last packet waits for the 19
    # before it, and at the switch for the rest of the one before it.
    assert why.path.by_kind() == {
        "repetition": ns(332.48, 18 * 331.2),
        "propagation": ns(3 * 2000),
        "own": ns(332.48, 3 * 331.2, 297.92),
        "serialisation": 2 * ns(331.2, 3.84, 177.6),
        "queue": ns(332.48, -177.6),
    }
    texts = [step.text for step in why.story]
    assert "1 NAK received; sent again from packet 19 (PSN 0) on" in texts
    assert [one.number for one in why.path.flights] == [4, 38]


def test_a_lost_tail_waits_for_the_acknowledgement_timeout() -> None:
    # The third packet is on the wire to the switch until 1.81 us, the second until 1.66 us.
    failing = cut(1.7, between=("sender:0", "switch"), us=0.1)
    why = explained(ONE + failing, transport__ack_timeout="1 ms")
    assert why.headline == "1 of 1.01 ms: one retransmission timeout"
    # The second packet behind the first one, its ACK, the timer, the third packet again.
    assert why.path.by_kind() == {
        "timeout": ns(1e6),
        "propagation": ns(3 * 2000),
        "serialisation": 2 * ns(331.2, 3.84, 148.16),
        "own": ns(332.48),
        "queue": ns(1.28),
    }
    [chain] = why.chains
    assert [step.text for step in chain.steps] == [
        "packet 2 (PSN 2) dropped at sender:0->switch: the link was down",
        "no acknowledgement for 1 ms: the retransmission timer expired",
        "sent again as packet 3, received after 2.3 us",
    ]


def test_packets_of_other_queue_pairs_are_a_wait_in_the_nic() -> None:
    # By turns: each of the first two packets is followed by one of the other.
    other = ONE.partition("\n[flows.one]")[2]
    why = explained(f"{ONE}\n[flows.other]{other}")
    assert why.path.by_kind()["own"] == (4156 + 4140) * 80
    assert why.path.by_kind()["nic"] == (4156 + 4140) * 80
    [turn] = why.turns
    assert (turn.port, turn.waited) == ("sender:0->switch", (4156 + 4140) * 80)
    [sender] = turn.others
    assert (sender.name, sender.packets, sender.sent) == ("other:0", 2, turn.waited)
    text = "waited 664 ns for its turn at sender:0->switch, which sent 2 packets of other:0"
    assert text in [step.text for step in why.story]
    assert why.as_json()["turns"][0]["queue_pairs"][0]["name"] == "other:0"


def test_a_record_of_the_flow_alone_names_no_other_queue_pair() -> None:
    other = ONE.partition("\n[flows.one]")[2]
    text = f'{ONE}\n[flows.other]{other}\n[measure]\nevents = ["one:0"]\n'
    why = explained(text)
    assert not why.source.rerun
    assert why.path.by_kind()["nic"] > 0
    assert why.turns == ()


def test_others_of_a_nic_send_for_the_whole_wait() -> None:
    more = "".join(
        f'\n[flows.more-{number}]\nworkload = "bulk"\nfrom = "host:4"\nto = "host:{to}"\n'
        f'size = "150 KB"\nstart_spread = "0 s"\n'
        for number, to in enumerate((6, 7, 8, 9, 7))
    )
    why = explained(TREE + more, "victim:0", transport__congestion="dcqcn")
    [turn] = why.turns
    assert turn.waited == why.path.by_kind()["nic"]
    assert sum(one.sent for one in turn.others) == pytest.approx(turn.waited, abs=20_000)
    assert {one.name for one in turn.others} == {f"more-{number}:0" for number in range(5)}
    assert "packets of 5 other queue pairs, most of more-" in turn.text


@pytest.mark.parametrize(
    ("verb", "lost"),
    [
        # The third packet is on the wire to the switch until 1.81 us, the second until 1.66 us.
        ("write", cut(1.7, between=("sender:0", "switch"), us=0.1)),
        ("send", cut(1.7, between=("sender:0", "switch"), us=0.1)),
        # The request arrives after 2.01 us.
        ("read", cut(3.71, between=("sender:0", "switch"), us=0.1)),
    ],
)
def test_the_pending_timer_of_a_queue_pair_expires_in_a_longer_run(verb: str, lost: str) -> None:
    keys = {"transport__ack_timeout": "1 ms", "transport__verb": verb}
    why = explained(ONE + lost, run__duration="0.5 ms", **keys)
    assert not why.complete
    waits = "RTO of 1 ms pending (ack_timeout)"
    assert why.headline.endswith(f"nothing more arrived until the run ended; {waits}")
    assert why.pending is not None
    whole = explained(ONE + lost, **keys)
    assert whole.complete
    assert [chain.timer.at for chain in whole.chains] == [why.pending.at]


@pytest.mark.parametrize("verb", ["write", "send", "read"])
def test_pending_timers_after_losses_of_an_incast_expire_in_a_longer_run(verb: str) -> None:
    scenario = ic.Scenario.from_text(TREE).with_overrides(
        {
            "switch.pfc.pause_frames": False,
            "transport.congestion": "rate-dctcp",
            "transport.verb": verb,
            "transport.ack_timeout": "1 ms",
            "measure.events": {"flows": "all", "max_events": 1_000_000},
        }
    )
    short, whole = (
        ic.run(scenario.with_overrides({"run.duration": span})) for span in ("0.8 ms", "4 ms")
    )
    timers = whole.table("events").filter(pl.col("event") == "ack-timeout")
    first = dict(timers.group_by("flow").agg(pl.col("time_s").min()).iter_rows())
    waits = {flow: ic.explain(short, flow).pending for flow in range(5)}
    pending = {flow: one.at for flow, one in waits.items() if one is not None}
    assert len(pending) > 1
    assert pending == {flow: round(first[flow] * PS_PER_S) for flow in pending}


def test_a_queue_pair_that_failed_waits_for_no_timer() -> None:
    scenario = ic.Scenario.from_text(ONE + cut(2.6, us=50_000))
    limited = scenario.with_overrides(
        {"transport.ack_timeout": "100 us", "transport.retry_limit": 2}
    )
    why = ic.explain(ic.run(limited))
    assert why.pending is None
    assert why.headline.endswith(
        "nothing more arrived until the run ended; its queue pair had failed"
    )


def test_flows_without_a_timeout_may_wait_for_one(cli: Callable[..., Output]) -> None:
    Path("one.toml").write_text(ONE + cut(2.6, us=50_000), encoding="utf-8")
    assert cli("run", "one.toml", "--out", "one").status == 0
    words = " ".join(cli("explain", "one", "--timeouts").err.split())
    assert "no flow of one had a retransmission timeout before the run ended" in words
    assert "1 unfinished flow that lost packets may wait for one" in words
    Path("one.toml").write_text(ONE, encoding="utf-8")
    assert cli("run", "one.toml", "--out", "whole").status == 0
    words = " ".join(cli("explain", "whole", "--timeouts").err.split())
    assert "may wait" not in words


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("verb", ["write", "send", "read"])
def test_parts_add_up_under_each_control(control: str, verb: str) -> None:
    keys = {"transport__congestion": control, "transport__verb": verb}
    if control == "hpcc":
        keys["switch__telemetry"] = True  # type: ignore[assignment]
    for flow in ("incast", "victim:0"):
        why = explained(TREE, flow, **keys)
        assert why.complete
        assert "application" not in why.path.by_kind()


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("verb", ["write", "read"])
def test_parts_add_up_with_losses(control: str, verb: str) -> None:
    keys: dict[str, object] = {
        "transport__congestion": control,
        "transport__verb": verb,
        "transport__ack_timeout": "200 us",
        "transport__retry_limit": "unlimited",
        "switch__pfc__pause_frames": False,
        "run__duration": "40 ms",
    }
    if control == "hpcc":
        keys["switch__telemetry"] = True
    why = explained(TREE, "incast", **keys)
    parts = why.path.by_kind()
    assert "application" not in parts
    # HPCC's window keeps WRITEs from losses; READs have none.
    is_lossless = control == "hpcc" and verb == "write"
    assert is_lossless or {"repetition", "timeout"} & parts.keys()


@pytest.mark.parametrize("control", CONTROLS)
def test_parts_add_up_in_the_order_of_hpccs_simulator(control: str) -> None:
    keys: dict[str, object] = {"transport__congestion": control, "run__compat": "hpcc-ns3"}
    keys["run__duration"] = "40 ms"
    if control == "hpcc":
        keys["switch__telemetry"] = True
    why = explained(TREE, "victim:0", **keys)
    assert why.complete
    assert "application" not in why.path.by_kind()


def test_drops_above_headroom_name_its_port_as_the_table_does() -> None:
    keys: dict[str, object] = {
        "transport__congestion": "rate-dctcp",
        "transport__ack_timeout": "200 us",
        "switch__pfc__headroom": "1 KB",
    }
    why = explained(TREE, "incast:0", **keys)
    overrides = {key.replace("__", "."): value for key, value in keys.items()}
    result = ic.run(ic.Scenario.from_text(TREE).with_overrides(overrides))  # type: ignore[arg-type]
    table = result.pauses.filter(pl.col("headroom_drops") > 0)["port"].to_list()
    found = {port for step in why.story for port in re.findall(r"headroom of (\S+) was", step.text)}
    # Its data come from its host, by the first leaf to the spine, and from there to the last leaf.
    assert found == {"leaf:0->host:0", "spine:0->leaf:0", "leaf:1->spine:0"}
    assert found <= set(table)
    [note] = notes_of(result)
    assert re.findall(r"headroom of (\S+), priority 3", note)[0] in table


def test_a_record_without_pauses_is_not_enough() -> None:
    scenario = ic.Scenario.from_text(TREE).with_overrides({"measure.events": ["victim:0"]})
    again = ic.explain(ic.run(scenario), "victim:0")
    assert again.source.rerun
    with_pauses = ic.run(scenario.with_overrides({"measure.pauses": True}))
    why = ic.explain(with_pauses, "victim:0")
    assert not why.source.rerun
    assert why.path.by_kind() == again.path.by_kind()


def test_a_flow_may_be_paused_when_the_run_ends() -> None:
    why = explained(TREE, "victim:0", transport__congestion="dcqcn", run__duration="35 us")
    assert not why.complete
    last = why.path.pieces[-1]
    assert (last.kind, last.where, last.ends) == ("paused", "spine:0->leaf:1", ns(35_000))


def test_a_victim_was_paused_by_a_switch_because_of_the_root() -> None:
    why = explained(TREE, "victim:0", transport__congestion="dcqcn")
    assert why.path.by_kind()["paused"] > 0
    record = ic.run(
        ic.Scenario.from_text(TREE).with_overrides(
            {"measure.pauses": True, "transport.congestion": "dcqcn"}
        )
    ).table("pause_record")
    assert {one.root for one in why.pauses} == {"leaf:1->host:5"}
    for wait in why.pauses:
        rows = record.filter(pl.col("port") == wait.port)
        longest = float((rows["end_s"] - rows["begin_s"]).sum()) * PS_PER_S
        assert 0 < wait.waited <= longest + 1
        text = next(step.text for step in why.story if f" at {wait.port}, paused" in step.text)
        by = wait.port.partition("->")[2]
        assert f"paused by {by}" in text
        assert "leaf:1->host:5" in text
    nic = next(one for one in why.pauses if one.port == "host:4->leaf:0")
    assert (nic.congested, nic.depth) == ("leaf:0->spine:0", 3)


@pytest.mark.parametrize("verb", ["write", "read"])
def test_the_root_may_be_the_port_to_the_receiver_of_the_flow(verb: str) -> None:
    own, victim = (explained(TREE, flow, transport__verb=verb) for flow in ("incast", "victim:0"))
    # All pauses have one root; it leads to the receiver of the incast, not to that of the victim.
    for why in (own, victim):
        assert {one.root for one in why.pauses} == {"leaf:1->host:5"}
    assert (own.hosts[1], victim.hosts[1]) == ("host:5", "host:6")
    assert "root leaf:1->host:5, the port to its own receiver, where" in own.headline
    steps = [step.text for step in own.story if "paused by" in step.text]
    assert steps
    assert all("(the port to its receiver)" in text for text in steps)
    assert all(one["is_own_root"] for one in own.as_json()["pauses"])
    assert "receiver" not in victim.headline
    assert not any("its receiver" in step.text for step in victim.story)
    assert not any(one["is_own_root"] for one in victim.as_json()["pauses"])


def test_a_flow_that_never_sends_waits_for_the_pause_of_its_host() -> None:
    # The NIC of the victim's receiver pauses from the beginning, and so does the victim's host.
    late = {"flows.late": {**LATE, "from": "host:4", "to": "host:7"}}
    storm = {"network.pause_storms.broken": {"of": "host:6", "until": "10 ms"}}
    scenario = ic.Scenario.from_text(TREE).with_overrides({**late, **storm, "run.duration": "1 ms"})
    why = ic.explain(ic.run(scenario), "late:0")
    check_sums(why)
    assert not why.complete
    assert why.path.by_kind() == {"paused": ns(500_000)}
    [wait] = why.pauses
    assert (wait.port, wait.root) == ("host:4->leaf:0", "host:6->leaf:1")
    assert why.headline.startswith("500 of 500 us: paused by PFC")


LATE = {"workload": "bulk", "size": "10 KB", "start": "500 us", "start_spread": "0 s"}


def test_a_failed_link_is_no_wait_for_a_turn() -> None:
    failed = {"between": ["sender:0", "switch"], "down": "500 ns", "up": "40 us"}
    why = explained(ONE, network__failures__cut=failed)
    down = why.path.by_kind()["down"]
    assert ns(39_000) < down <= ns(39_500)
    assert "nic" not in why.path.by_kind()
    assert "waiting for a link that is down" in why.headline


BROKEN = """
[network.pause_storms.broken]
of = "receiver"
until = "1 us"

[switch]
buffer = { shared = "1 MiB" }
queue = { kind = "priorities" }
pfc = { priorities = [3] }
"""


def test_a_broken_nic_is_the_cause_of_its_pause() -> None:
    why = explained(ONE + BROKEN, measure__pauses=True)
    # A frame of 64 bytes comes at 1005.12 ns and pauses for 65535 quanta, 335.5392 us; the last
    # packet comes at 1811.84 ns.
    waited = ns(1005.12, 335_539.2, -1811.84)
    assert why.path.by_kind()["paused"] == waited
    [wait] = why.pauses
    assert (wait.port, wait.root) == ("switch->receiver", "receiver->switch")
    assert wait.waited == waited
    assert wait.text.endswith("paused by receiver since 0.001005 ms: its NIC is broken")


def test_pauses_are_parts_of_paths_at_hosts_and_switches() -> None:
    why = explained(TREE, "victim:0", transport__congestion="dcqcn")
    paused = why.path.paused
    assert all(a.ends <= b.begins for a, b in pairwise(paused))
    for piece in paused:
        assert piece.pause is not None
        assert piece.pause.begins <= piece.begins < piece.ends <= piece.pause.ends
        assert (piece.where, piece.priority) == (piece.pause.port, piece.pause.priority)


def test_json_and_the_command_name_the_pauses(cli: Callable[..., Output]) -> None:
    Path("tree.toml").write_text(TREE, encoding="utf-8")
    assert cli("run", "tree.toml", "--out", "tree").status == 0
    printed = cli("explain", "tree", "--flow", "victim", "--json")
    found = json.loads(printed.out)
    assert [one["port"] for one in found["pauses"]]
    assert sum(one["waited_s"] for one in found["pauses"]) == pytest.approx(
        sum(one["seconds"] for one in found["parts"] if one["part"] == "paused")
    )
    printed = cli("explain", "tree", "--flow", "victim", "--plot", "why.svg")
    assert "paused by PFC" in printed.out
    assert Path("why.svg").exists()


def test_every_packet_of_a_queue_pair_is_recorded() -> None:
    keys = {"measure.events": {"flows": "all", "max_events": 1_000_000}}
    result = ic.run(ic.Scenario.from_text(TREE).with_overrides(keys))
    pairs = result.table("queue_pairs")
    events = result.table("events")
    for row in pairs.iter_rows(named=True):
        of_flow = events.filter(pl.col("flow") == row["flow"])
        data = of_flow.filter(
            pl.col("event").is_in(["sent", "resent"]) & (pl.col("kind") == "write")
        )
        assert len(data) == row["data_packets_sent"]
        arrived = of_flow.filter((pl.col("event") == "received") & (pl.col("kind") == "write"))
        assert len(arrived) == len(data)
        # At three switches.
        hops = of_flow.filter(
            pl.col("event").is_in(["queued", "marked"]) & (pl.col("kind") == "write")
        )
        assert len(hops) == 3 * len(data)
        acks = of_flow.filter((pl.col("event") == "sent") & (pl.col("kind") == "ack"))
        assert len(acks) == row["acks_sent"]
