"""Waits for tail loss probes and for the reordering timer, with times by hand."""

from __future__ import annotations

import pytest

import incastle as ic
from ten_packets import TEN, US, check_sums, cut


def by_time(lost: float, detection: str) -> ic.Explanation:
    """Explain with RACK-TLP, where a packet is lost that is at the switch at that instant."""
    keys = {"transport.preset": "linux", "transport.loss_detection": detection}
    why = ic.explain(ic.run(ic.Scenario.from_text(TEN + cut(lost)).with_overrides(keys)))
    check_sums(why)
    assert why.chains == ()
    return why


@pytest.mark.parametrize(
    ("detection", "waited", "headline"),
    [
        # Packets 0 to 3 leave at 0, 4 to 9 at 12, 24 ... 72 us: round trips of 126.64, 138.64,
        # 150.64 and six of 162.64 us, SRTT is 148.4188 us; the probe waits for two of those.
        ("rfc", 296.8376, "297 of 594 us: waiting for tail loss probes"),
        # For a single packet min_rto more, but not beyond the RTO.
        ("linux", 10_000, "10 of 10.3 ms: waiting for tail loss probes"),
    ],
)
def test_a_lost_tail_waits_for_a_probe(detection: str, waited: float, headline: str) -> None:
    why = by_time(178, detection)
    # As with a timeout: packet 8 and its ACK at 222.64 us, the timer, packet 9 again.
    assert why.path.by_kind()["probe"] == round(waited * US)
    assert [one.number for one in why.path.flights] == [8, 10]
    assert why.headline == headline
    assert [step.text for step in why.story][2:] == [
        "tail loss probe: packet 10 (bytes 13,140 to 14,600) again",
        "packet 10 (bytes 13,140 to 14,600) brings the last byte",
    ]


@pytest.mark.parametrize(
    ("detection", "waited", "headline"),
    [
        # Packet 8 left at 60 us, the round trip of 9 was 162.64, the shortest 126.64 us, of which a
        # quarter is the reordering window: 254.3 us, and the last ACK came at 234.64.
        ("rfc", 19.66, "202 of 329 us: on links, in 2 trips one after the other, 1 for repairs"),
        # 2 ms more.
        ("linux", 2_019.66, "2.02 of 2.33 ms: waiting for the reordering timer"),
    ],
)
def test_a_loss_before_the_last_packet_waits_for_the_reordering_timer(
    detection: str, waited: float, headline: str
) -> None:
    why = by_time(166, detection)
    assert why.path.by_kind()["reordering"] == round(waited * US)
    assert [one.number for one in why.path.flights] == [9, 10]
    assert why.headline == headline
    assert [step.text for step in why.story][2:5] == [
        "1 duplicate ACK",
        "reordering timer expired: 1 packet lost",
        "fast retransmit: packet 10 (bytes 11,680 to 13,140) again",
    ]


def test_a_probe_may_be_new_data() -> None:
    # The window of two packets is lost with two more to send.
    keys = {"transport.preset": "rfc", "transport.initial_window": "2 packets"}
    keys["flows.one.size"] = "5840 B"
    scenario = ic.Scenario.from_text(TEN + cut(70, us=13)).with_overrides(keys)
    texts = [step.text for step in ic.explain(ic.run(scenario)).story]
    assert "tail loss probe: packet 2 (bytes 2,920 to 4,380), new data" in texts
