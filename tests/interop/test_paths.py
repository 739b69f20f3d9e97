"""DCUDP on real sockets: paths with a bottleneck of 100 Mbit/s and 2 ms between two namespaces.

One that marks above 14 packets (th_max = 15), one that never marks, one that clears the ECN field.
Endpoints and router get a higher priority than other programs where that is allowed. Skipped
without the rights for namespaces.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from network import RIGHT, Network, UnavailableError, network, priority
from programs import our_programs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# The router keeps real time: other busy tests make it late.
pytestmark = pytest.mark.alone

TCP_ENDPOINT = [sys.executable, str(Path(__file__).with_name("tcp_endpoint.py"))]
DCUDP_LEVEL = 20
RATE_BITS = 100_000_000
PATH = ("--rate", "100 Mbit/s", "--delay", "1 ms")
MARKING = (*PATH, "--queue", "threshold", "--marking-threshold", "14 packets")
UNMARKED = (*PATH, "--queue", "drop-tail", "--buffer", "100 packets")
SHORT = 30
"""Packets: the median queue of a run is short up to this."""
RUNS, ALLOWED_LONG = 5, 2
"""Runs of two marked flows, all of which count, and how many of them may have a long queue.

Whether a flow leaves congestion mode on top of the other and fills the buffer for a while is a
matter of chance (docs/validation.md). If that befalls one run in ten, the test fails in less than
one call of a hundred (binomial); if it befalls most runs, it fails in most calls.
"""
Report = dict[str, Any]


@contextlib.contextmanager
def path(*options: str) -> Iterator[Network]:
    """Run a network with a DCUDP server on its right side."""
    with contextlib.ExitStack() as stack:
        try:
            net = stack.enter_context(network(our_programs()["router"], *options))
        except UnavailableError as why:
            pytest.skip(str(why))
        serve = ["bench", "--serve", "--listen", f"{RIGHT}:9000", "--insecure"]
        server = start(stack, net.on_right(dcudp(*serve)))
        assert server.stdout
        assert f" on {RIGHT}:9000" in server.stdout.readline()
        yield net


def dcudp(*words: str) -> list[str]:
    """Return the command of the program `dcudp`."""
    return [*priority(DCUDP_LEVEL), our_programs()["dcudp"], *words]


def start(stack: contextlib.ExitStack, command: Sequence[str]) -> subprocess.Popen[str]:
    """Start a program that is killed when the stack is closed."""
    process = stack.enter_context(
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    )
    stack.callback(process.kill)
    return process


def flow(seconds: int, *words: str) -> list[str]:
    """Return the command of a sender."""
    words = ("--capacity", "100 Mbit/s", "--interval", "100 ms", "--json", *words)
    return dcudp("bench", f"{RIGHT}:9000", "--insecure", "--time", f"{seconds} s", *words)


def report(process: subprocess.Popen[str]) -> Report:
    """Wait until a sender is finished, and return its report."""
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    found: Report = json.loads(output)
    return found


@pytest.mark.slow
def test_marks_bring_congestion_mode_and_keep_the_queue_short() -> None:
    with path(*MARKING) as net, contextlib.ExitStack() as stack:
        # Below the rate of the bottleneck nothing is marked, and nothing is controlled.
        alone = report(start(stack, net.on_left(flow(2, "--rate", "40 Mbit/s"))))
        before = net.measured()["forward"]
        assert before["ect"] > 0
        assert alone["control"] == "dcudp"
        medians = [marked_queue(stack, net) for _ in range(RUNS)]
    # The queue could grow to a thousand packets.
    assert sum(median > SHORT for median in medians) <= ALLOWED_LONG, medians


def marked_queue(stack: contextlib.ExitStack, net: Network) -> int:
    """Return the median queue of two flows that are marked, and controlled."""
    net.measured()
    both = [start(stack, net.on_left(flow(4))) for _ in range(2)]
    time.sleep(4)
    during = net.measured()["forward"]
    reports = [report(one) for one in both]
    assert {one["control"] for one in reports} == {"dcudp"}
    assert during["marked"] > 0
    modes = [{interval["mode"] for interval in one["intervals"]} for one in reports]
    assert all("congestion" in seen for seen in modes)
    median: int = during["queue_packets"]["p50"]
    return median


class Share(NamedTuple):
    """Shares of a bottleneck, and the loss rate."""

    tcp: float
    dcudp: list[Report]
    loss: float


def shared_with_tcp(*options: str) -> Share:
    """Run two DCUDP flows and one of kernel TCP, and measure after the first two seconds."""
    with path(*options) as net, contextlib.ExitStack() as stack:
        receiver = start(stack, net.on_right([*TCP_ENDPOINT, "receive", RIGHT]))
        assert receiver.stdout
        assert receiver.stdin
        assert receiver.stdout.readline().strip() == "ready"
        start(stack, net.on_left([*TCP_ENDPOINT, "send", RIGHT]))
        flows = [start(stack, net.on_left(flow(11))) for _ in range(2)]
        bytes_read = []
        for wait in (2, 8):
            time.sleep(wait)
            seen = net.measured()
            receiver.stdin.write("\n")
            receiver.stdin.flush()
            bytes_read.append(int(receiver.stdout.readline()))
        forward = seen["forward"]
        tcp = (bytes_read[1] - bytes_read[0]) * 8 / seen["seconds"] / RATE_BITS
        reports = [report(one) for one in flows]
    lost = forward["dropped_full"] + forward["dropped_early"]
    return Share(tcp, reports, lost / forward["arrived"])


@pytest.mark.slow
def test_a_path_that_never_marks_is_shared_with_tcp() -> None:
    share = shared_with_tcp(*UNMARKED)
    assert share.tcp >= 0.10
    assert share.loss < 0.05


@pytest.mark.slow
def test_a_path_that_clears_ecn_gets_udts_control_and_is_shared_with_tcp() -> None:
    share = shared_with_tcp(*UNMARKED, "--bleach")
    assert {one["control"] for one in share.dcudp} == {"udt"}
    assert share.tcp >= 0.10
    assert share.loss < 0.05
