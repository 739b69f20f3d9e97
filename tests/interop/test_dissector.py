"""The Wireshark dissector agrees with our parser in every packet of a capture of ours.

`dcudp-capture` (crates/testbed) writes a session with its handshake, losses and both modes, one
packet of each kind with every field at its limits, and the fields of each by our parser.
"""

from __future__ import annotations

import json
import struct
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from programs import our_programs, tshark

if TYPE_CHECKING:
    from pathlib import Path

Fields = dict[str, Any]
EVERY = ["_ws.malformed", "_ws.expert.message", "frame.protocols"]


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Fields]]:
    """Make the capture; return the file, and the fields of each packet by our parser."""
    file = tmp_path_factory.mktemp("capture") / "dcudp.pcapng"
    command = [our_programs()["dcudp-capture"], str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return file, [json.loads(line) for line in done.stdout.splitlines()]


def number(word: str) -> int:
    """Read a number as tshark writes it: a flag may be a word."""
    return {"True": 1, "False": 0}[word] if word in {"True", "False"} else int(word, 0)


def test_every_field_of_every_packet(captured: tuple[Path, list[Fields]]) -> None:
    file, expected = captured
    names = sorted({name for fields in expected for name in fields})
    rows = tshark(file, [*names, *EVERY])
    assert len(rows) == len(expected)
    for row, fields in zip(rows, expected, strict=True):
        *values, malformed, expert, protocols = row
        assert (malformed, expert) == ("", "")
        assert protocols.endswith(":dcudp")
        read = {name: value.split(";") for name, value in zip(names, values, strict=True) if value}
        for name, value in fields.items():
            wanted = value if isinstance(value, list) else [value]
            assert [number(one) for one in read[name]] == [int(one) for one in wanted], name


def test_the_capture_has_every_kind_of_packet(captured: tuple[Path, list[Fields]]) -> None:
    file, _ = captured
    rows = tshark(
        file, ["dcudp.type", "dcudp.subtype", "dcudp.place", "dcudp.obs", "ip.dsfield.ecn"]
    )
    kinds = {number(row[0]) for row in rows if row[0]}
    assert kinds == {0, 1, 2, 3, 4, 5, 6, 7, 0x7FFF}
    assert {number(row[1]) for row in rows if row[1]} == {1, 2}
    assert {number(row[2]) for row in rows if row[2]} == {0, 1, 2, 3}
    # The session enters congestion mode by marks that the capture shows.
    assert {number(row[3]) for row in rows if row[3]} == {0, 1}
    assert {number(row[4]) for row in rows} == {0, 2, 3}


def write_pcap(file: Path, *payloads: bytes) -> None:
    """Write UDP packets to port 9000, as raw IP."""
    out = struct.pack(">IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    for payload in payloads:
        udp = struct.pack(">HHHH", 40000, 9000, len(payload) + 8, 0) + payload
        addresses = bytes([10, 0, 0, 1, 10, 0, 0, 2])
        ip = struct.pack(">BBHHHBBH", 0x45, 0, len(udp) + 20, 0, 0, 64, 17, 0) + addresses
        length = len(ip) + len(udp)
        out += struct.pack(">IIII", 0, 0, length, length) + ip + udp
    file.write_bytes(out)


def words(*values: int) -> bytes:
    """Return 32-bit words, big-endian."""
    return struct.pack(f">{len(values)}I", *values)


FORCED = "-d", "udp.port==9000,dcudp"
HEADER = (0, 0, 42)
DAMAGED = {
    "control without its number": words(0x80010000, *HEADER),
    "data without data": words(1, *HEADER),
    "handshake cut short": words(0x80000000, *HEADER, 4, 1),
    "ACK of no length": words(0x80020000, *HEADER, 7, 1, 2),
    "NAK without losses": words(0x80030000, *HEADER, 7),
    "NAK with an open range": words(0x80030000, *HEADER, 7, 0x80000001),
    "NAK with two openings": words(0x80030000, *HEADER, 7, 0x80000001, 0x80000002),
    "drop request cut short": words(0x80070000, *HEADER, 7, 1),
    "unknown subtype": words(0xFFFF0003, *HEADER, 7),
}


def test_damage_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "damaged.pcap"
    write_pcap(file, *DAMAGED.values())
    rows = tshark(file, ["dcudp.malformed", *EVERY], *FORCED)
    for name, row in zip(DAMAGED, rows, strict=True):
        assert row[2] == "No DCUDP packet", name
        assert row[3].endswith(":dcudp"), name


def handshake(connection_type: int, *, offers: bool) -> bytes:
    """Return a handshake for a stream, with or without DCUDP's words."""
    address = (0x0A000001, 0x44435544, 0x00010001, 9) if offers else (0x0A000001, 0, 0, 0)
    kind = connection_type % 2**32
    return words(0x80000000, *HEADER, 4, 1, 100, 1500, 8192, kind, 9, 0xC00C1E, *address)


PLAIN = {
    "ACK": words(0x80020000, 7, 0, 42, 105, 20, 10, 64, 1000, 90000),
    "ACK without rates": words(0x80020000, 8, 0, 42, 105, 20, 10, 64),
    "Light ACK": words(0x80020000, 0, 0, 42, 105),
    "Message drop request": words(0x80070000, 3, 0, 42, 101, 104),
    "NAK": words(0x80030000, 0, 0, 42, 0x80000065, 103),
    "Keep-alive": words(0x80010000, 0, 0, 42, 0),
    "ACK2": words(0x80060000, 7, 0, 42),
    "Data 105": words(105, 0xFFFFFFFF, 0, 42) + b"x",
}


def test_plain_udt_is_shown_as_such(tmp_path: Path) -> None:
    """Without a handshake, and where DCUDP was offered and the response came without its words."""
    file = tmp_path / "plain.pcap"
    fields = ["dcudp.next", "dcudp.lost_last", "dcudp.message", "dcudp.obs", "dcudp.malformed"]
    offered = [handshake(1, offers=True), handshake(-1, offers=True), handshake(-1, offers=False)]
    for before, options in ([], FORCED), (offered[1:], FORCED), (offered, ()):
        write_pcap(file, *before, *PLAIN.values())
        rows = tshark(file, [*fields, "_ws.col.Protocol", "_ws.col.Info"], *options)
        rows = rows[len(before) :]
        for name, (_, _, _, obs, malformed, protocol, info) in zip(PLAIN, rows, strict=True):
            assert (obs, malformed, protocol) == ("", "", "UDT"), name
            assert name.startswith(info), name
        assert [row[0] for row in rows[:3]] == ["105"] * 3
        assert rows[4][1] == "103"
        assert number(rows[7][2]) == 0x1FFFFFFF


def test_accurate_acks_are_shown(tmp_path: Path) -> None:
    """After a handshake that offered them; without one, by the length of an accurate ACK."""
    offer = (0x0A000001, 0x41434B53, 0x01010204, 9)
    answer = (0x0A000001, 0x41434B53, 0x01020308, 7)
    shake = [
        words(0x80000000, *HEADER, 4, 1, 100, 1500, 8192, kind, 9, 0xC00C1E, *address)
        for kind, address in ((1, offer), (2**32 - 1, answer))
    ]
    ack = words(0xFFFF0003, 0x25, 0, 42, 0x123, 0x126, 3, 5, 0x20, 1)
    names = ["arrived", "next", "newest", "delay", "ce", "ect", "lost", "malformed"]
    file = tmp_path / "accurate.pcap"
    for before, options in (shake, ()), ([], FORCED):
        write_pcap(file, *before, ack, PLAIN["ACK"], ack[:36])
        fields = [f"dcudp.{name}" for name in names]
        rows = tshark(file, [*fields, "_ws.col.Protocol", "_ws.col.Info"], *options)[len(before) :]
        assert rows[0] == ["37", "291", "294", "3", "5", "32", "1", "", "UDT", "Accurate ACK"]
        assert rows[1][-2:] == ["UDT", "ACK"]
        assert rows[2][-3] != ""
    write_pcap(file, *shake)
    asked = ["accurate_role", "ack_packets", "ack_per_rtt", "extension_socket"]
    rows = tshark(file, [f"dcudp.hs.{name}" for name in asked])
    assert [[number(one) for one in row] for row in rows] == [[1, 2, 4, 9], [2, 3, 8, 7]]


def test_the_next_connection_of_the_same_ports_is_separate(tmp_path: Path) -> None:
    file = tmp_path / "two.pcap"
    ours = words(0x80020000, 7, 0, 42, 0x80000009, 105, 20, 10, 64, 1000, 90000)
    again = [handshake(1, offers=True), handshake(-1, offers=True), ours]
    write_pcap(file, handshake(-1, offers=False), PLAIN["ACK"], *again)
    rows = tshark(file, ["dcudp.number", "dcudp.next", "dcudp.malformed"], *FORCED)
    assert [rows[1], rows[4]] == [["", "105", ""], ["9", "105", ""]]


def test_in_a_conversation_of_ours_such_a_length_is_damage(tmp_path: Path) -> None:
    file = tmp_path / "ours.pcap"
    write_pcap(file, handshake(-1, offers=True), PLAIN["ACK"])
    rows = tshark(file, ["dcudp.malformed"], *FORCED)
    assert [bool(row[0]) for row in rows] == [False, True]


def test_without_a_handshake_the_port_is_named(tmp_path: Path) -> None:
    file = tmp_path / "data.pcap"
    write_pcap(file, words(5, 0xF8000001, 3, 4) + b"x")
    fields = ["dcudp.sequence", "dcudp.obs", "dcudp.cwr", "dcudp.message"]
    assert tshark(file, fields) in ([["", "", "", ""]], [])
    for option in ("-d", "udp.port==9000,dcudp"), ("-o", "dcudp.ports:9000"):
        [row] = tshark(file, fields, *option)
        assert [number(one) for one in row] == [5, 1, 1, 1]
