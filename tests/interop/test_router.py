"""The router between two network namespaces, with plain UDP: marks, drops, counts.

Its counters are compared with the packets that arrive; no time is asserted. Skipped without the
rights for namespaces.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from network import RIGHT, Network, UnavailableError, network
from programs import our_programs

# The router keeps real time: other busy tests make it late.
pytestmark = pytest.mark.alone

UDP_ENDPOINT = [sys.executable, str(Path(__file__).with_name("udp_endpoint.py"))]
NOT_ECT, ECT1, ECT0, CE = 0, 1, 2, 3
COUNTERS = ("arrived", "left", "marked", "dropped_full", "dropped_early")
# A packet of 1500 bytes takes 0.6 ms: even a slow machine sends faster, so that a queue grows.
RATE = "20 Mbit/s"


class Result(NamedTuple):
    """The router's counters of the forward direction, and the packets received by ECN field."""

    forward: dict[str, Any]
    received: list[int]


def drained(net: Network, count: int) -> dict[str, Any]:
    """Wait until all of a burst has left the router or was dropped, and return its counters."""
    total: Counter[str] = Counter()
    longest = 0
    for _ in range(600):
        measured = net.measured()
        forward = measured["forward"]
        assert measured["refused"] == 0
        total.update({name: forward[name] for name in COUNTERS})
        longest = max(longest, forward["queue_packets"]["max"])
        if total["left"] + total["dropped_full"] + total["dropped_early"] >= count:
            break
        time.sleep(0.1)
    assert total["arrived"] == count
    return {**total, "queue_packets": {"max": longest}}


def blast(net: Network, count: int, ecn: int) -> Result:
    """Send a burst through the router, and return the counters of both."""
    net.measured()
    with subprocess.Popen(
        net.on_right([*UDP_ENDPOINT, "receive", RIGHT]), stdout=subprocess.PIPE, text=True
    ) as receiver:
        try:
            assert receiver.stdout
            assert receiver.stdout.readline().strip() == "ready"
            command = net.on_left([*UDP_ENDPOINT, "send", RIGHT, str(count), str(ecn)])
            subprocess.run(command, check=True, timeout=60)
            forward = drained(net, count)
            end = net.on_left([*UDP_ENDPOINT, "end", RIGHT])
            subprocess.run(end, check=True, timeout=60)
            received: list[int] = json.loads(receiver.stdout.readline())
        finally:
            receiver.kill()
    return Result(forward, received)


def through(count: int, ecn: int, *options: str) -> Result:
    """Send a burst through a router with these options."""
    try:
        with network(our_programs()["router"], "--rate", RATE, *options) as net:
            return blast(net, count, ecn)
    except UnavailableError as why:
        pytest.skip(str(why))


@pytest.mark.parametrize("ecn", [ECT0, ECT1])
def test_ect_packets_are_marked_above_the_threshold(ecn: int) -> None:
    options = ("--queue", "threshold", "--marking-threshold", "15 packets", "--delay", "1 ms")
    forward, received = through(500, ecn, *options)
    assert (forward["dropped_full"], forward["dropped_early"]) == (0, 0)
    # A header with a wrong checksum would not arrive.
    assert sum(received) == 500
    assert 0 < received[CE] == forward["marked"]
    assert received[ecn] == 500 - received[CE]
    # Sixteen waited, and one was sent, before the first mark.
    assert received[ecn] >= 17
    assert forward["queue_packets"]["max"] >= 16


def test_a_threshold_leaves_others_alone_or_drops_them() -> None:
    options = ("--queue", "threshold", "--marking-threshold", "15 packets")
    forward, received = through(300, NOT_ECT, *options)
    assert (forward["marked"], received) == (0, [300, 0, 0, 0])
    forward, received = through(300, NOT_ECT, *options, "--drop-not-ect")
    assert forward["dropped_early"] > 0
    assert received[NOT_ECT] == forward["left"] == 300 - forward["dropped_early"]
    # A packet that finds 16 waiting is dropped: never more than 16 wait.
    assert forward["queue_packets"]["max"] == 16


def test_red_with_one_threshold_marks_or_drops() -> None:
    red = ("--queue", "red", "--min-th", "15 packets", "--max-th", "15 packets", "--w-q", "1")
    forward, received = through(300, ECT0, *red)
    assert 0 < received[CE] == forward["marked"]
    forward, received = through(300, NOT_ECT, *red)
    assert received[NOT_ECT] == 300 - forward["dropped_early"] < 300
    # Packets are dropped from 15 on, so that 15 is the maximum.
    assert forward["queue_packets"]["max"] == 15


def test_a_full_buffer_drops() -> None:
    forward, received = through(500, ECT0, "--queue", "drop-tail", "--buffer", "50 packets")
    assert forward["dropped_full"] > 0
    assert received[ECT0] == 500 - forward["dropped_full"]
    # One of the fifty is being sent.
    assert forward["queue_packets"]["max"] == 49


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["tun0", "x/tun0"], "namespace and a device"),
        (["no-such/tun0", "no-such/tun1"], "cannot attach to tun0 in namespace no-such"),
        (["a/b", "c/d", "--rate", "0 Mbit/s"], "above zero"),
        (["a/b", "c/d", "--queue", "red", "--min-th", "20 packets"], "must not be above"),
        (["a/b", "c/d", "--queue", "codel"], "drop-tail, threshold, red"),
    ],
)
def test_bad_input_is_reported(words: list[str], complaint: str) -> None:
    command = [our_programs()["router"], *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stdout == ""
