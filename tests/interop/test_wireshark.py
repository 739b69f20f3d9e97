"""tshark reads our captures as the simulation counted: numbers, marks, SACK blocks."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
import pytest

import incastle as ic
from programs import ROOT, tshark

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BASE = """
[run]
duration = "300 ms"
[network]
topology = "star"
senders = 3
rate = "1 Gbit/s"
delay = "25 us"
[switch]
buffer = "40 KB"
[switch.queue]
kind = "threshold"
marking_threshold = "8 packets"
"""

TCP = """
[transport]
min_rto = "10 ms"
[flows.marked]
workload = "bulk"
from = "sender:0..1"
to = "receiver"
size = "1 MB"
transport = { congestion = "dctcp", initial_window = "30 packets" }
[flows.lost]
workload = "bulk"
from = "sender:2"
to = "receiver"
size = "1 MB"
transport = { congestion = "cubic" }
[measure]
pcap = { ports = ["switch<->receiver", "sender:0<->switch"], snaplen = "2000 B" }
"""

OVER_UDP = """
[flows.udt]
workload = "bulk"
from = "sender:0"
to = "receiver"
size = "100 KB"
transport = { kind = "udt" }
[flows.dcudp]
workload = "bulk"
from = "sender:1"
to = "receiver"
size = "100 KB"
transport = { kind = "dcudp", traffic_class = 5 }
[flows.plain]
workload = "cbr"
from = "sender:2"
to = "receiver"
rate = "600 Mbit/s"
stop = "3 ms"
transport = { kind = "udp" }
[switch.qcn]
cp_q_eq = "12 KB"
[measure]
qcn = { flows = "all" }
"""

CHECKED = [word for name in ("ip", "tcp", "udp") for word in ("-o", f"{name}.check_checksum:TRUE")]
SOUND = ["_ws.malformed", "_ws.expert.message", "ip.checksum.status"]
GOOD = "1"
WRAP = 2**32


@dataclass
class Segment:
    """A TCP segment as tshark reads it."""

    interface: str
    ns: int
    addresses: tuple[str, str, str, str]
    seq: int
    ack: int
    length: int
    flags: int
    ecn: int
    sacks: list[tuple[int, int]]

    @property
    def after(self) -> int:
        """The sequence number behind its payload."""
        return (self.seq + self.length) % WRAP


def save(result: ic.Result, name: str, folder: Path) -> Path:
    file = folder / f"{name}.pcapng"
    file.write_bytes(result.captures[name])
    return file


FIELDS = [
    *("frame.interface_name", "frame.time_epoch", "ip.src", "ip.dst", "tcp.srcport"),
    *("tcp.dstport", "tcp.seq_raw", "tcp.ack_raw", "tcp.len", "tcp.flags", "ip.dsfield.ecn"),
    *("tcp.options.sack_le", "tcp.options.sack_re"),
]


def segments(file: Path) -> Iterator[Segment]:
    # Our sequence numbers wrap early: absolute ones are compared.
    options = (*CHECKED, "-o", "tcp.relative_sequence_numbers:FALSE")
    for row in tshark(file, [*FIELDS, *SOUND, "tcp.checksum.status"], *options):
        assert row[-2:] == [GOOD, GOOD]
        assert row[-4] == "", "nothing is malformed"
        name, at, *addresses = row[:6]
        seconds, _, nanoseconds = at.partition(".")
        seq, ack, length = (int(value) for value in row[6:9])
        edges = [[int(value) for value in text.split(";") if value] for text in row[11:13]]
        yield Segment(
            interface=name,
            ns=int(seconds) * 10**9 + int(nanoseconds),
            addresses=(addresses[0], addresses[1], addresses[2], addresses[3]),
            seq=seq,
            ack=ack,
            length=length,
            flags=int(row[9], 0),
            ecn=int(row[10], 0),
            sacks=list(zip(*edges, strict=True)),
        )


@pytest.fixture(scope="module")
def tcp() -> ic.Result:
    result = ic.run(ic.Scenario.from_text(BASE + TCP))
    assert result.flows["completed_s"].null_count() == 0
    assert result.flows["drops"].sum() > 0
    return result


@pytest.fixture(scope="module")
def at_receiver(tcp: ic.Result, tmp_path_factory: pytest.TempPathFactory) -> list[Segment]:
    folder = tmp_path_factory.mktemp("receiver")
    # Both directions of a link are in one file, named after the first of them.
    assert set(tcp.captures) == {"switch-receiver", "sender-0-switch"}
    return list(segments(save(tcp, "switch-receiver", folder)))


def counts(result: ic.Result, port: str) -> dict[str, int]:
    return result.links.row(by_predicate=pl.col("port") == port, named=True)


SYN, FIN, ACK, ECE, CWR = 0x02, 0x01, 0x10, 0x40, 0x80
CE, ECT0, ECT1 = 3, 2, 1


def test_frames_marks_and_flags(tcp: ic.Result, at_receiver: list[Segment]) -> None:
    frames = Counter(one.interface for one in at_receiver)
    for port in ("switch->receiver", "receiver->switch"):
        assert frames[port] == counts(tcp, port)["packets"]
    marked = sum(one.ecn == CE for one in at_receiver if one.interface == "switch->receiver")
    assert marked == counts(tcp, "switch->receiver")["marks"] > 0
    echoes = [one for one in at_receiver if one.flags & ECE and not one.flags & SYN]
    assert {one.interface for one in echoes} == {"receiver->switch"}
    assert sum(one.flags & CWR > 0 for one in at_receiver) > 2, "more than those of two SYNs"
    # Everything of DCTCP is ECT, its control packets too; CUBIC's is not.
    assert {one.ecn for one in at_receiver if "10.0.0.3" in one.addresses} == {0}
    assert {one.ecn for one in at_receiver if "10.0.0.3" not in one.addresses} == {ECT0, CE}


def test_every_byte_is_there(tcp: ic.Result, at_receiver: list[Segment]) -> None:
    streams = defaultdict(list)
    for one in at_receiver:
        if one.interface == "switch->receiver":
            streams[one.addresses].append(one)
    delivered = tcp.flows["delivered_bytes"].to_list()
    assert len(streams) == len(delivered) == 3
    for (source, *_), stream in streams.items():
        (first,) = {one.seq for one in stream if one.flags & SYN}
        arrived = {(one.seq - first - 1) % WRAP: one.length for one in stream if one.length}
        expected = 0
        for start in sorted(arrived):
            assert start == expected, "no hole, no overlap"
            expected += arrived[start]
        # 10.0.0.1 is host 0, the sender of flow 0.
        assert expected == delivered[int(source.rpartition(".")[2]) - 1] == 1_000_000


def test_sack_blocks_are_segments_that_arrived(at_receiver: list[Segment]) -> None:
    arrived: dict[tuple[str, ...], set[tuple[int, int]]] = defaultdict(set)
    blocks = 0
    for one in at_receiver:
        source, to, port, to_port = one.addresses
        if one.interface == "switch->receiver":
            arrived[one.addresses].add((one.seq, one.after))
            continue
        known = arrived[to, source, to_port, port]
        for start, end in one.sacks:
            blocks += 1
            assert 0 < (start - one.ack) % WRAP < WRAP // 2, "above what is acknowledged"
            at = start
            # A block is a chain of segments, each seen before its acknowledgement.
            while at != end:
                at = next(after for seq, after in known if seq == at and after != seq)
    assert blocks > 0


def test_retransmissions_as_the_sender_counted(tcp: ic.Result, tmp_path: Path) -> None:
    sent = [
        one.seq
        for one in segments(save(tcp, "sender-0-switch", tmp_path))
        if one.interface == "sender:0->switch" and one.length
    ]
    assert len(sent) - len(set(sent)) == tcp.flows["retransmissions"][0] > 0


def test_times_are_those_of_the_line(at_receiver: list[Segment]) -> None:
    times = [one.ns for one in at_receiver if one.interface == "switch->receiver"]
    assert times == sorted(times)
    # 1500 bytes at 1 Gbit/s, in queues that are rarely empty; pure control packets are shorter.
    intervals = Counter(later - earlier for earlier, later in itertools.pairwise(times))
    assert intervals.most_common(1)[0][0] == 12_000
    assert min(intervals) >= 320


def test_controls_of_today(tmp_path: Path) -> None:
    """Their segments at the sender: frames are sound, codepoints and retransmissions as counted."""
    hosts = {"host:0": "bbr", "host:1": "swift", "host:2": "prague"}
    ports = {"ports": [f"{host}<->leaf:0" for host in hosts], "snaplen": "2000 B"}
    result = ic.run(ic.load(ROOT / "tests" / "worlds.toml"), overrides={"measure.pcap": ports})
    assert result.flows.filter(pl.col("group").is_in(hosts.values()))["retransmissions"].sum() > 0
    for host, group in hosts.items():
        port = f"{host}->leaf:0"
        name = port.replace("->", "-").replace(":", "-")
        seen = [one for one in segments(save(result, name, tmp_path)) if one.interface == port]
        assert len(seen) == counts(result, port)["packets"]
        data = [one for one in seen if one.length]
        repeated = len(data) - len({(one.addresses, one.seq) for one in data})
        flows = result.flows.filter(pl.col("group") == group)
        assert repeated == flows["retransmissions"].sum()
        assert {one.ecn for one in data} == {ECT1 if group == "prague" else 0}


def test_names_and_windows(tcp: ic.Result, tmp_path: Path) -> None:
    file = save(tcp, "sender-0-switch", tmp_path)
    fields = ["ip.src_host", "eth.src", "tcp.flags.syn", "tcp.window_size", "tcp.options.mss_val"]
    rows = tshark(file, fields, "-N", "n")
    assert {row[0] for row in rows} == {"sender:0", "receiver"}
    assert {row[1] for row in rows} == {"02:00:00:00:00:01", "02:00:00:00:00:04"}
    syns = [row for row in rows if row[2] in {"1", "True"}]
    assert [row[4] for row in syns] == ["1460", "1460"]
    # Unlimited is 1 GiB, of which the field with its shift of 14 holds all but 16 KiB.
    assert {row[3] for row in rows if row not in syns} == {str((2**16 - 1) << 14)}


def test_truncated_frames_are_no_damage(tmp_path: Path) -> None:
    text = (BASE + TCP).replace('snaplen = "2000 B"', 'snaplen = "128 B"')
    result = ic.run(ic.Scenario.from_text(text))
    rows = tshark(save(result, "switch-receiver", tmp_path), ["frame.cap_len", "frame.len", *SOUND])
    assert {row[2] for row in rows} == {""}
    assert max(int(row[1]) for row in rows) == 14 + 20 + 32 + 1460
    assert all(int(kept) == min(int(length), 128) for kept, length, *_ in rows)


@pytest.fixture(scope="module")
def over_udp() -> ic.Result:
    ports = 'pcap = { ports = "all", snaplen = "2000 B" }'
    return ic.run(ic.Scenario.from_text(f"{BASE}{OVER_UDP}{ports}\n"))


def test_udt_and_dcudp_are_dissected(over_udp: ic.Result, tmp_path: Path) -> None:
    fields = ["dcudp.sequence", "dcudp.malformed", "udp.checksum.status", "vlan.priority"]
    fields.append("udt.seqno")
    sent = dict(zip(over_udp.flows["group"], over_udp.flows["packets"], strict=True))
    for host, group, priority in ((0, "udt", ""), (1, "dcudp", "5")):
        file = save(over_udp, f"sender-{host}-switch", tmp_path)
        rows = tshark(file, [*SOUND, "frame.protocols", "frame.interface_name", *fields], *CHECKED)
        of_flow = [row for row in rows if "udp" in row[3]]
        for malformed, _, checksum, protocols, _, _, damaged, of_udp, class_, _ in of_flow:
            assert (malformed, damaged, checksum, of_udp) == ("", "", GOOD, GOOD)
            # Plain UDT may be taken by Wireshark's own dissector.
            assert protocols.split(":")[-1 - protocols.endswith(":data")] in {group, "dcudp"}
            assert class_ == priority
        own = [row for row in of_flow if row[4] == f"sender:{host}->switch"]
        assert sum(bool(row[5] or row[9]) for row in own) == sent[group]


def test_datagrams_have_their_numbers(over_udp: ic.Result, tmp_path: Path) -> None:
    file = save(over_udp, "sender-2-switch", tmp_path)
    rows = tshark(file, ["frame.protocols", "udp.length", "udp.payload", *SOUND[:1]])
    numbers = [int(row[2][:16], 16) for row in rows if row[0] == "eth:ethertype:ip:udp:data"]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) == over_udp.flows.filter(pl.col("group") == "plain")["packets"][0]


def test_notifications(over_udp: ic.Result, tmp_path: Path) -> None:
    found = []
    for host in range(3):
        file = save(over_udp, f"sender-{host}-switch", tmp_path)
        rows = tshark(file, ["eth.type", "data.data", "eth.dst", "frame.len", "vlan.etype"])
        for kind, data, to, length, tagged in rows:
            if "0x22e9" in f"{kind};{tagged}":
                assert (to, length) == (f"02:00:00:00:00:0{host + 1}", "60")
                # The flow, the message's type, and the feedback in the last bits of its first word.
                found.append((int(data[:4], 16), int(data[8:12], 16)))
                assert data[4:8] == "22e7"
    notified = over_udp.cnms.filter(pl.col("psi") > 0).select("flow", "psi")
    assert Counter(found) == Counter(notified.iter_rows())
    assert found
