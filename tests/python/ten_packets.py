"""Ten packets over a link that fails for a moment, and the sums of an explained path."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from incastle.explanation.record import PS_PER_S

if TYPE_CHECKING:
    import incastle as ic

US = PS_PER_S / 1e6

TEN = """\
name = "ten"
[run]
duration = "100 ms"
[network]
topology = "star"
senders = 1
rate = "1 Gbit/s"
delay = "50 us"
[network.links.receivers]
delay = "1 us"
[transport]
preset = "ns-2-2010"
initial_window = "10 packets"
delayed_ack_count = 1
handshake = false
min_rto = "10 ms"
initial_rto = "10 ms"
[flows.one]
workload = "bulk"
from = "sender:0"
to = "receiver"
size = "14600 B"
start_spread = "0 s"
[measure]
events = ["one:0"]
"""
"""Ten packets of 12 us each. Packet k is sent at the switch from 62 us + 12 k us on, reaches the
receiver at 75 us + 12 k us, and its ACK (0.32 us a link) the sender at 126.64 us + 12 k us."""


def cut(*times: float, between: tuple[str, str] = ("switch", "receiver"), us: float = 1) -> str:
    """Give links that fail for a moment, at these instants in microseconds."""
    failures = [
        f'[network.failures.at-{number}]\nbetween = ["{between[0]}", "{between[1]}"]\n'
        f'down = "{time:g} us"\nup = "{time + us:g} us"\n'
        for number, time in enumerate(times)
    ]
    return "".join(failures)


def check_sums(why: ic.Explanation) -> None:
    """Check that the path begins and ends with the transfer, without a gap or an overlap."""
    pieces = why.path.pieces
    assert pieces[0].begins == round(why.began_s * PS_PER_S)
    assert all(a.ends == b.begins for a, b in pairwise(pieces))
    assert all(one.span > 0 for one in pieces)
    if why.complete:
        assert pieces[-1].ends == round((why.ended_s or 0.0) * PS_PER_S)
