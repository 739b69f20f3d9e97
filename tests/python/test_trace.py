"""`incastle report --trace`: a Perfetto trace, read with Perfetto's own classes, against tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

import incastle as ic
from incastle.report import trace
from incastle.report.tracks import nanoseconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Output

INCAST = """
name = "incast"
[run]
duration = "600 ms"
[network]
topology = "star"
senders = 12
rate = "1 Gbit/s"
[switch]
buffer = "32 KiB"
[flows.storage]
workload = "barrier-incast"
from = "senders"
to = "receiver"
sru = "64 KiB"
rounds = 2
"""
MEASURED = """
[measure]
events = { flows = "all" }
queue = { every = "100 us" }
window = ["storage:0", "storage:1"]
timeouts = true
"""
ROOT = "incast, seed 1"


@dataclass
class Read:
    """A trace as its reader sees it: the events of each track, in order of time.

    Attributes:
        slices: begin, end, name and the numbers of arrows, by the path of the track.
        instants: instant, name, arrows and details, by the path of the track.
        counters: instant and value, by the path of the track.

    """

    slices: dict[tuple[str, ...], list[tuple[int, int, str, list[int]]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    instants: dict[tuple[str, ...], list[tuple[int, str, list[int], dict[str, Any]]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    counters: dict[tuple[str, ...], list[tuple[int, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def named(self, beginning: str) -> list[tuple[int, str, list[int], dict[str, Any]]]:
        """Return the instants whose names begin so."""
        return [
            one for all_ in self.instants.values() for one in all_ if one[1].startswith(beginning)
        ]


def read(place: Path) -> Read:
    parsed, found = Trace(), Read()
    parsed.ParseFromString(place.read_bytes())
    names: dict[int, str] = {}
    keys: dict[int, str] = {}
    tracks: dict[int, tuple[str, ...]] = {0: ()}
    events = []
    for packet in parsed.packet:
        names |= {one.iid: one.name for one in packet.interned_data.event_names}
        keys |= {one.iid: one.name for one in packet.interned_data.debug_annotation_names}
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            tracks[track.uuid] = (*tracks[track.parent_uuid], track.name)
        if packet.HasField("track_event"):
            events.append((packet.timestamp, packet.track_event))
    assert len(set(tracks.values())) == len(tracks), "no two tracks have one name"
    begun: dict[int, list[Any]] = defaultdict(list)
    # Perfetto's trace processor sorts events by time, those of one instant as they come.
    for at, event in sorted(events, key=lambda pair: pair[0]):
        path, arrows = tracks[event.track_uuid][1:], list(event.flow_ids)
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            begun[event.track_uuid].append((at, names[event.name_iid], arrows))
        elif event.type == TrackEvent.TYPE_SLICE_END:
            began, name, of = begun[event.track_uuid].pop()
            found.slices[path].append((began, at, name, of))
        elif event.type == TrackEvent.TYPE_INSTANT:
            details = {
                keys[one.name_iid]: getattr(one, one.WhichOneof("value"))
                for one in event.debug_annotations
            }
            found.instants[path].append((at, names[event.name_iid], arrows, details))
        else:
            assert event.type == TrackEvent.TYPE_COUNTER
            found.counters[path].append((at, event.double_counter_value))
    assert not any(begun.values()), "each slice has an end"
    return found


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[ic.Result, Read]:
    """Return an incast with a complete record, and its trace."""
    result = ic.run(ic.Scenario.from_text(INCAST + MEASURED))
    place = tmp_path_factory.mktemp("trace") / "incast.pftrace"
    assert trace.write(result, place) == []
    assert result.totals["timeouts"] > 0, "it has timeouts"
    return result, read(place)


def test_drops_timeouts_and_packets_are_those_of_the_tables(
    recorded: tuple[ic.Result, Read],
) -> None:
    result, found = recorded
    drops, packets = (
        dict(result.links.select("port", name).iter_rows()) for name in ("drops", "packets")
    )
    for port in packets:
        instants = found.instants[("Ports", port)]
        assert sum(name.startswith("dropped ") for _, name, *_ in instants) == drops[port]
        assert len(found.slices[("Ports", port)]) == packets[port]
    assert len(found.named("timeout")) == len(result.timeouts) == result.flows["timeouts"].sum()
    repaired = len(found.named("resent "))
    assert repaired == result.flows["retransmissions"].sum() > 0
    counts = result.events.group_by("event").len().iter_rows()
    shown = Counter(name.split()[0] for all_ in found.instants.values() for _, name, *_ in all_)
    in_another_way = {"queued", "written", "delivered"}
    assert shown == {event: count for event, count in counts if event not in in_another_way}


def test_a_port_sends_one_packet_at_a_time_for_as_long_as_it_takes(
    recorded: tuple[ic.Result, Read],
) -> None:
    result, found = recorded
    slices = found.slices[("Ports", "switch->receiver")]
    spans = [(begin, end) for begin, end, *_ in slices]
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    # 1,460 B and 40 B of headers at 1 Gbit/s.
    assert max(end - begin for begin, end in spans) == 12_000
    busy = sum(end - begin for begin, end in spans) / nanoseconds(result.totals["simulated_s"])
    port = result.links.filter(port="switch->receiver")
    assert busy == pytest.approx(port["utilisation"].item(), rel=1e-3)


def test_transfers_and_rounds_are_slices_with_their_times(
    recorded: tuple[ic.Result, Read],
) -> None:
    result, found = recorded
    of_flows = result.transfers.filter(pl.col("kind") != "round")
    expected = Counter(
        (nanoseconds(begin), nanoseconds(end))
        for begin, end in of_flows.select("started_s", "completed_s").iter_rows()
    )
    got = [one for path, all_ in found.slices.items() if path[0] == "Flows" for one in all_]
    assert Counter((begin, end) for begin, end, *_ in got) == expected
    assert [name for *_, name, _ in found.slices[("Rounds", "storage:0")]] == ["round 0", "round 1"]


def test_counters_have_the_values_of_the_tables_at_each_instant(
    recorded: tuple[ic.Result, Read],
) -> None:
    result, found = recorded
    flow = "storage:0, sender:0 to receiver"
    cases = (
        (("Ports", "switch->receiver", "queue (packets)"), "queue_samples", "packets"),
        (("Ports", "switch->receiver", "queue (bytes)"), "queue_samples", "bytes"),
        (("Flows", flow, "cwnd (bytes)"), "windows", "cwnd_bytes"),
    )
    for path, table, column in cases:
        owner = pl.col("port") == path[1] if path[0] == "Ports" else pl.col("flow") == 0
        rows = result.table(table).filter(owner).drop_nulls(column).select("time_s", column)
        values = dict(found.counters[path])
        current = None
        for at, value in rows.iter_rows():
            current = values.get(nanoseconds(at), current)
            assert current == value, (path, at)
        assert 1 < len(values) <= len(rows)


def test_arrows_lead_packets_to_their_end_and_drops_to_their_repair(
    recorded: tuple[ic.Result, Read],
) -> None:
    result, found = recorded
    chains: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for all_ in found.instants.values():
        for at, name, arrows, _ in all_:
            for arrow in arrows:
                chains[arrow].append((at, name.split()[0]))
    hops = Counter(arrow for all_ in found.slices.values() for *_, of in all_ for arrow in of)
    kinds = {arrow: [name for _, name in sorted(steps)] for arrow, steps in chains.items()}
    packets = [steps for arrow, steps in kinds.items() if arrow in hops]
    assert len(packets) == result.events["event"].is_in(["sent", "resent"]).sum()
    assert all(
        steps[0] in {"sent", "resent"} and steps[-1] in {"received", "dropped"} for steps in packets
    )
    assert set(hops.values()) == {1, 2}, "dropped by the switch, or sent on by it"
    losses = [steps for arrow, steps in kinds.items() if arrow not in hops]
    assert sum(steps.count("dropped") for steps in losses) == result.totals["drops"]
    assert all(steps[0] == "dropped" and "resent" in steps for steps in losses)
    assert sum(steps.count("timeout") for steps in losses) == len(result.timeouts)


def test_without_a_record_the_trace_has_the_slowest_flows_and_says_what_it_lacks(
    cli: Callable[..., Output], tmp_path: Path
) -> None:
    scenario, result = tmp_path / "incast.toml", tmp_path / "result"
    scenario.write_text(INCAST)
    assert cli("run", str(scenario), "--out", str(result)).status == 0
    output = cli("report", str(result), "--trace")
    assert output.status == 0, output.err
    place = result / "report.pftrace"
    assert output.out.split() == [str(result / "report.html"), str(place)]
    assert 'write queue = { every = "100 us" }' in output.err
    assert "of other flows than the 5 slowest: under [measure], write events" in output.err
    assert 'href="report.pftrace"' in (result / "report.html").read_text(encoding="utf-8")
    found = read(place)
    senders = [path for path in found.instants if path[0] == "Flows" and path[-1] == "sender"]
    assert len(senders) == 5
    assert found.counters[("Ports", "switch->receiver", "queue that packets found (bytes)")]
    assert len([path for path in found.slices if path[0] == "Flows"]) == 12
    assert ic.Result.load(result).totals["drops"] > len(found.named("dropped ")) > 0


def test_timeouts_of_flows_without_a_record_are_those_of_their_table(tmp_path: Path) -> None:
    result = ic.run(ic.Scenario.from_text(f"{INCAST}[measure]\ntimeouts = true\n"))
    lacks = trace.write(result, tmp_path / "t.pftrace")
    assert "packets, drops and timers: under [measure]" in lacks[-1]
    timeouts = read(tmp_path / "t.pftrace").named("timeout")
    assert sorted(at for at, *_ in timeouts) == list(map(nanoseconds, result.timeouts["time_s"]))
    assert {one[3]["kind"] for one in timeouts} == set(result.timeouts["kind"])


def test_pauses_are_slices_of_their_port(tmp_path: Path) -> None:
    scenario = ic.load("examples/roce-incast.toml").with_overrides(
        {"run.duration": "3 ms", "measure.until": "3 ms", "measure.pauses": True}
    )
    result = ic.run(scenario)
    assert trace.write(result, tmp_path / "t.pftrace")
    found = read(tmp_path / "t.pftrace")
    slices = [one for path, all_ in found.slices.items() if "paused" in path[-1] for one in all_]
    assert len(slices) == len(result.table("pause_record")) > 0


def test_a_trace_is_of_one_run(cli: Callable[..., Output], tmp_path: Path) -> None:
    five, swept = tmp_path / "five", tmp_path / "swept"
    assert cli("run", "small.toml", "--seeds", "2", "--out", str(five)).status == 0
    output = cli("report", str(five), "--trace")
    assert output.status == 2
    assert "these are 2 seeds: name one of them, as seed-1 in their folder" in output.err
    words = ("sweep", "small.toml", "--set", "network.senders=2,4", "--out", str(swept))
    assert cli(*words).status == 0
    output = cli("report", str(swept), "--trace")
    assert output.status == 2
    assert f"--trace is of one run, and {swept} is a sweep" in output.err
    assert not list(tmp_path.rglob("report.*"))
