"""tshark reads our captures of RoCEv2, telemetry and pauses, and the CRC is computed here."""

from __future__ import annotations

import struct
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
import pytest

import incastle as ic
from programs import tshark

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BASE = """
[run]
duration = "20 ms"
[network]
topology = "star"
senders = 4
rate = "10 Gbit/s"
delay = "1 us"
[transport]
kind = "rdma"
traffic_class = 3
control_class = 6
mtu = "1024 B"
[measure]
pcap = { ports = "all", snaplen = "2000 B" }
"""

LOSSLESS = """
[switch]
buffer = { shared = "1 MB" }
[switch.queue]
kind = "priorities"
marks.data = { priorities = [3], marking = "step", marking_threshold = "10 KB" }
[switch.pfc]
priorities = [3]
xoff = "20 KB"
xon = "10 KB"
"""

MESSAGES = """
[flows.write]
workload = "bulk"
from = "sender:0"
to = "receiver"
size = "200 KB"
[flows.send]
workload = "bulk"
from = "sender:1"
to = "receiver"
size = "200001 B"
transport = { verb = "send" }
[flows.read]
workload = "bulk"
from = "sender:2"
to = "receiver"
size = "200 KB"
transport = { verb = "read" }
[flows.hpcc]
workload = "bulk"
from = "sender:3"
to = "receiver"
size = "200 KB"
transport = { congestion = "hpcc" }
"""

LOSSY = """
[switch]
buffer = "20 KB"
[flows.write]
workload = "bulk"
from = "sender:0..1"
to = "receiver"
size = "200 KB"
"""

# The payload is zeros, in which tshark finds other protocols.
PLAIN = [word for name in ("rpcordma", "smb_direct") for word in ("--disable-protocol", name)]
CHECKED = ["-o", "ip.check_checksum:TRUE"]
FIELDS = [
    *("_ws.malformed", "_ws.expert.message", "ip.checksum.status", "frame.interface_name"),
    *("frame.time_epoch", "frame.len", "vlan.priority", "ip.dsfield.ecn", "udp.srcport"),
    *("infiniband.bth.opcode", "infiniband.bth.padcnt", "infiniband.bth.destqp"),
    *("infiniband.bth.a", "infiniband.bth.psn", "infiniband.reth.dmalen"),
    *("infiniband.aeth.syndrome", "infiniband.aeth.msn"),
]
GOOD = "1"
SEND, WRITE, READ_REQUEST, READ_RESPONSE = (0, 1, 2), (6, 7, 8), 12, (13, 14, 15)
ACK, CNP = 17, 129
CREDITS_INVALID, SEQUENCE_ERROR = 31, 96
WITH_RETH, WITH_AETH = {6, 10, 12}, {13, 15, 16, 17}
ETHERNET, IP, UDP, BTH, CRC, INT = 14 + 4, 20, 8, 12, 4, 42
CE = 3
DELAY_NS = 1_000
# 10 Gbit/s, on which packets have no framing.
NS_PER_BYTE = 0.8


@dataclass
class Packet:
    """A packet of RoCEv2 as tshark reads it."""

    interface: str
    ns: int
    length: int
    priority: int
    ecn: int
    port: int
    opcode: int
    padding: int
    to: int
    asks: bool
    psn: int
    message: int | None
    syndrome: int | None
    msn: int | None

    @property
    def extended(self) -> int:
        """Bytes between BTH and payload."""
        reth, aeth = self.opcode in WITH_RETH, self.opcode in WITH_AETH
        return 16 * (reth or self.opcode == CNP) + 4 * aeth

    @property
    def size(self) -> int:
        """Bytes of the simulated packet, which has neither Ethernet's header nor padding."""
        return self.length - ETHERNET - self.padding

    @property
    def payload(self) -> int:
        """Bytes of payload, telemetry included."""
        headers = ETHERNET + IP + UDP + BTH + self.extended + CRC
        return self.length - headers - self.padding


def number(text: str) -> int | None:
    return int(text, 0) if text else None


def nanoseconds(epoch: str) -> int:
    seconds, _, fraction = epoch.partition(".")
    return int(seconds) * 10**9 + int(fraction)


def read(file: Path) -> Iterator[Packet]:
    for row in tshark(file, FIELDS, *CHECKED, *PLAIN):
        assert row[:2] == ["", ""], "nothing is malformed, no expert has a remark"
        if row[9]:
            assert row[2] == GOOD
            interface, epoch, *texts = row[3:]
            length, priority, ecn, port, opcode, padding, to = (int(text, 0) for text in texts[:7])
            asks, psn, *extended = texts[7:]
            message, syndrome, msn = map(number, extended)
            yield Packet(
                *(interface, nanoseconds(epoch), length, priority, ecn, port, opcode, padding, to),
                *(asks in {"1", "True"}, int(psn), message, syndrome, msn),
            )


@pytest.fixture(scope="module")
def lossless() -> ic.Result:
    return ic.run(ic.Scenario.from_text(BASE + LOSSLESS + MESSAGES))


@pytest.fixture(scope="module")
def files(lossless: ic.Result, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return save(lossless, tmp_path_factory.mktemp("lossless"))


def save(result: ic.Result, folder: Path) -> dict[str, Path]:
    files = {name: folder / f"{name}.pcapng" for name in result.captures}
    for name, file in files.items():
        file.write_bytes(result.captures[name])
    return files


@pytest.fixture(scope="module")
def at_receiver(files: dict[str, Path]) -> list[Packet]:
    return list(read(files["switch-receiver"]))


def queue_pairs(result: ic.Result) -> dict[str, tuple[int, int]]:
    """Return those of each flow, at its sender and at its receiver, by its group."""
    groups = result.flows["group"]
    return {group: (2 * flow + 2, 2 * flow + 3) for flow, group in enumerate(groups)}


def of_group(result: ic.Result, group: str) -> dict[str, int]:
    """Return the row of a group's only flow in the table of queue pairs."""
    flow = result.flows["group"].to_list().index(group)
    pairs = result.table("queue_pairs")
    row: dict[str, int] = pairs.row(by_predicate=pl.col("flow") == flow, named=True)
    return row


def frames(content: bytes) -> Iterator[bytes]:
    """Return the frames of a capture, with a reader of its own."""
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == 6:
            kept, whole = struct.unpack_from("<II", content, at + 20)
            assert kept == whole
            yield content[at + 28 : at + 28 + kept]
        at += length


def test_frames_are_those_of_the_links(lossless: ic.Result, files: dict[str, Path]) -> None:
    names = ["frame.interface_name", "_ws.malformed", "_ws.expert.message"]
    rows = [row for file in files.values() for row in tshark(file, names, *PLAIN)]
    assert {tuple(row[1:]) for row in rows} == {("", "")}
    counted = dict(lossless.links.select("port", "packets").iter_rows())
    assert Counter(row[0] for row in rows) == {port: n for port, n in counted.items() if n}


@pytest.mark.parametrize(
    ("group", "opcodes", "size", "int_bytes"),
    [
        ("write", WRITE, 200_000, 0),
        ("send", SEND, 200_001, 0),
        ("read", READ_RESPONSE, 200_000, 0),
        ("hpcc", WRITE, 200_000, INT),
    ],
)
def test_messages_are_whole(
    lossless: ic.Result,
    at_receiver: list[Packet],
    group: str,
    opcodes: tuple[int, int, int],
    size: int,
    int_bytes: int,
) -> None:
    sender, receiver = queue_pairs(lossless)[group]
    data = [one for one in at_receiver if one.to == receiver]
    assert {one.interface for one in data} == {"switch->receiver"}
    first, middle, last = opcodes
    count = -(-size // 1024)
    assert [one.opcode for one in data] == [first, *[middle] * (count - 2), last]
    assert [one.psn for one in data] == list(range(count))
    assert sum(one.payload - int_bytes for one in data) == size
    assert {one.port for one in data} == {49_152 + sender}
    assert {one.priority for one in data} == {3}
    is_write = first == WRITE[0]
    assert [one.message for one in data] == [size if is_write else None, *[None] * (count - 1)]
    # The last packet of a message asks for an ACK; so does one that fills the window.
    assert data[-1].asks == (first != READ_RESPONSE[0])
    assert any(one.asks for one in data[:-1]) == (group == "hpcc")
    assert {one.padding for one in data[:-1]} == {-(1024 + int_bytes) % 4}
    assert data[-1].padding == -(size % 1024 + int_bytes) % 4


def test_a_read_is_requested(lossless: ic.Result, at_receiver: list[Packet]) -> None:
    sender, receiver = queue_pairs(lossless)["read"]
    (request,) = [one for one in at_receiver if one.opcode == READ_REQUEST]
    assert (request.to, request.port) == (sender, 49_152 + receiver)
    assert (request.psn, request.message) == (0, 200_000)
    responses = [one for one in at_receiver if one.to == receiver]
    assert request.ns < responses[0].ns
    ends = responses[0], responses[-1]
    assert {(one.syndrome, one.msn) for one in ends} == {(CREDITS_INVALID, 1)}


@pytest.mark.parametrize("group", ["write", "send", "hpcc"])
def test_each_packet_is_acknowledged(
    lossless: ic.Result, at_receiver: list[Packet], group: str
) -> None:
    sender, receiver = queue_pairs(lossless)[group]
    sent = {one.psn: one.ns for one in at_receiver if one.to == receiver}
    acks = [one for one in at_receiver if one.to == sender and one.opcode == ACK]
    assert [one.psn for one in acks] == sorted(sent)
    assert all(one.ns > sent[one.psn] + DELAY_NS for one in acks)
    assert {one.syndrome for one in acks} == {CREDITS_INVALID}
    # The message is complete with its last packet.
    assert [one.msn for one in acks] == [0] * (len(acks) - 1) + [1]
    assert {(one.interface, one.priority) for one in acks} == {("receiver->switch", 6)}
    assert len(acks) == of_group(lossless, group)["acks_sent"]


@pytest.mark.parametrize("group", ["write", "send", "read", "hpcc"])
def test_marks_cause_notifications(
    lossless: ic.Result, at_receiver: list[Packet], group: str
) -> None:
    sender, receiver = queue_pairs(lossless)[group]
    marked = [one.ns for one in at_receiver if one.to == receiver and one.ecn == CE]
    expected: list[int] = []
    for ns in marked:
        # At most one within 50 us.
        if not expected or ns >= expected[-1] + 50_000:
            expected.append(ns)
    cnps = [one for one in at_receiver if one.to == sender and one.opcode == CNP]
    assert len(cnps) == len(expected) == of_group(lossless, group)["cnps_sent"] > 0
    for cnp, ns in zip(cnps, expected, strict=True):
        # Behind at most one other packet of its host.
        wait = cnp.ns - ns - DELAY_NS
        assert 0 < wait <= 2 * cnp.length * NS_PER_BYTE
        assert (cnp.psn, cnp.padding, cnp.payload, cnp.priority) == (0, 0, 0, 6)


def test_pauses_stop_the_sender(lossless: ic.Result, files: dict[str, Path]) -> None:
    ports = lossless.links["port"].to_list()
    times = [f"macc.cbfc.pause_time.c{priority}" for priority in range(8)]
    fields = ["frame.time_epoch", "eth.src", "eth.dst", "frame.len", "macc.cbfc.enbv", *times]
    counted = lossless.pauses.filter(pl.col("priority") == 3)
    for sender in range(3):
        file = files[f"sender-{sender}-switch"]
        rows = tshark(file, fields, "-Y", "macc.opcode == 0x0101")
        port = ports.index(f"switch->sender:{sender}") + 1
        source, to = f"06:00:00:00:00:{port:02x}", "01:80:c2:00:00:01"
        assert {tuple(row[1:4]) for row in rows} == {(source, to, "60")}
        assert {int(row[4], 0) for row in rows} == {1 << 3}
        quanta = [[int(text) for text in row[5:]] for row in rows]
        assert [sum(row) for row in quanta] == [row[3] for row in quanta]
        # They alternate: none is as long as half the greatest time.
        assert [row[3] for row in quanta] == [65_535, 0] * (len(rows) // 2)
        ends = [nanoseconds(row[0]) + DELAY_NS for row in rows]
        begun = [
            one.ns - one.size * NS_PER_BYTE
            for one in read(file)
            if one.interface.startswith("sender")
        ]
        paused = 0
        for begin, end in zip(ends[::2], ends[1::2], strict=True):
            paused += end - begin
            assert not [ns for ns in begun if begin + 1 < ns < end - 1]
        row = counted.row(by_predicate=pl.col("port") == f"sender:{sender}->switch", named=True)
        assert (row["pause_frames"], row["resume_frames"]) == (len(rows) / 2, len(rows) / 2)
        assert row["pauses"] > 0
        assert paused == pytest.approx(row["paused_s"] * 1e9, abs=len(rows))


def masked(packet: bytes) -> bytes:
    """Return an IPv4 packet as the invariant CRC covers it: ones where routers change it."""
    changed = bytearray(packet)
    for at in (1, 8, 10, 11, 26, 27, 32):
        changed[at] = 0xFF
    return b"\xff" * 8 + changed


def test_invariant_crcs(lossless: ic.Result) -> None:
    seen = 0
    for content in lossless.captures.values():
        for frame in frames(content):
            if frame[12:14] == b"\x81\x00":
                packet, crc = frame[18:-4], frame[-4:]
                assert zlib.crc32(masked(packet)) == int.from_bytes(crc, "little")
                seen += 1
    assert seen > 2_000


def telemetry(frame: bytes) -> bytes:
    bth = ETHERNET + IP + UDP
    extended = 16 * (frame[bth] in WITH_RETH) + 4 * (frame[bth] in WITH_AETH)
    return frame[bth + BTH + extended :][:INT]


def test_telemetry(lossless: ic.Result, at_receiver: list[Packet]) -> None:
    sender, receiver = queue_pairs(lossless)["hpcc"]
    bytes_at_receiver = frames(lossless.captures["switch-receiver"])
    by_psn: dict[str, dict[int, bytes]] = defaultdict(dict)
    last = 0
    for one, frame in zip(at_receiver, bytes_at_receiver, strict=True):
        if one.to not in {sender, receiver} or one.opcode == CNP:
            continue
        by_psn[one.interface][one.psn] = telemetry(frame)
        if one.to == receiver:
            hops, word = struct.unpack_from(">HQ", telemetry(frame))
            ns, sent, queue = word >> 37 & 0xFFFFFF, word >> 17 & 0xFFFFF, word & 0x1FFFF
            assert (hops, word >> 61) == (1, 5), "one switch, 10 Gbit/s"
            assert telemetry(frame)[10:] == bytes(INT - 10)
            # The switch sends it from that instant on.
            assert ns == pytest.approx(one.ns - one.size * NS_PER_BYTE, abs=1)
            assert sent * 128 >= last
            last = sent * 128
            assert queue * 80 < 100_000
    # ACKs return what the data had.
    assert by_psn["receiver->switch"] == by_psn["switch->receiver"]
    for frame in frames(lossless.captures["sender-3-switch"]):
        if frame[12:14] == b"\x81\x00" and frame[ETHERNET + IP + UDP] in WRITE:
            assert telemetry(frame) == bytes(INT)


def test_naks(tmp_path: Path) -> None:
    result = ic.run(ic.Scenario.from_text(BASE + LOSSY))
    files = save(result, tmp_path)
    packets = list(read(files["switch-receiver"]))
    lossy = result.flows.filter(pl.col("drops") > 0)
    assert len(lossy) > 0
    for flow, repeated in lossy.select("flow", "retransmissions").iter_rows():
        sender, receiver = 2 * flow + 2, 2 * flow + 3
        # 200,000 bytes are 196 packets, each accepted once, in order.
        expected, naks = 0, []
        for one in packets:
            if one.to == receiver and one.psn == expected:
                expected += 1
            elif one.to == sender and one.syndrome == SEQUENCE_ERROR:
                naks.append(one)
                assert (one.opcode, one.psn, one.msn) == (ACK, expected, 0)
        counted = result.table("queue_pairs").filter(pl.col("flow") == flow)["naks_sent"].item()
        assert expected == 196
        assert len(naks) == counted > 0
        sent = [one for one in read(files[f"sender-{flow}-switch"]) if one.to == receiver]
        assert len(sent) - len({one.psn for one in sent}) == repeated > 0
        for nak in naks:
            assert nak.psn in [one.psn for one in sent if one.ns > nak.ns], "go-back-N"
