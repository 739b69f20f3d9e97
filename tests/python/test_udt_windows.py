"""UDT under the window controls of TCP: `kind = "udt"` with `congestion`, over accurate ACKs."""

from __future__ import annotations

from typing import Any

import pytest

import incastle as ic
from incastle.errors import ScenarioError

K = 20
WINDOWS = ("new-reno", "cubic", "dctcp", "d2tcp", "dt-cwa", "prague", "swift", "bbr", "dcudp-r")
CONTROLLER = """
from incastle import Controller


class Fixed(Controller):
    def on_ack(self, ack):
        self.cwnd_bytes = 7 * self.mss_bytes
"""


def scenario(transport: dict[str, Any], **changes: object) -> ic.Scenario:
    """Return two long flows over 1 Gbit/s that share a queue with a threshold."""
    fields: dict[str, Any] = {
        "run": {"duration": "200 ms"},
        "measure": {"warmup": "50 ms"},
        "network": {"topology": "star", "senders": 2, "rate": "1 Gbit/s", "delay": "25 us"},
        "switch": {
            "buffer": "200 packets",
            "queue": {"kind": "threshold", "marking_threshold": f"{K} packets"},
        },
        "host": {"jitter": "1 us"},
        "transport": transport,
        "flows": {"long": {"workload": "bulk", "from": "senders", "to": "receiver"}},
    }
    return ic.Scenario.from_dict({**fields, **changes})


def run(transport: dict[str, Any], **changes: object) -> Any:
    """Run the same."""
    return ic.run(scenario(transport, **changes))


def bottleneck(result: ic.Result) -> dict[str, Any]:
    """Return the row of the port that both flows share."""
    return next(row for row in result.links.to_dicts() if row["port"] == "switch->receiver")


def test_two_flows_of_dctcp_hold_the_queue_where_tcp_holds_it() -> None:
    udt = run({"kind": "udt", "congestion": "dctcp"})
    tcp = run({"kind": "tcp", "congestion": "dctcp"})
    over_udt, over_tcp = bottleneck(udt), bottleneck(tcp)
    assert over_udt["utilisation"] > 0.98
    assert over_udt["drops"] == 0
    assert over_udt["marks"] > 0
    ratio = over_udt["mean_queue_packets"] / over_tcp["mean_queue_packets"]
    assert 0.8 < ratio < 1.25, ratio
    first, second = udt.flows["delivered_bytes"]
    assert 0.8 < first / second < 1.25
    # Under a window the table of windows has what TCP's has.
    assert udt.flows["timeouts"].sum() == 0


def test_without_a_congestion_key_it_is_udts_own_control() -> None:
    plain = run({"kind": "udt"})
    named = run({"kind": "udt", "congestion": "udt"})
    assert plain.digest == named.digest
    # UDT's own control reacts to losses alone: the queue is full.
    assert bottleneck(plain)["drops"] > 0


@pytest.mark.parametrize("control", WINDOWS)
def test_each_window_control_moves_data(control: str) -> None:
    transport = {"kind": "udt", "congestion": control}
    if control == "swift":
        # Its default is meant for shorter paths.
        transport["base_target"] = "200 us"
    result = run(transport, run={"duration": "60 ms"}, measure={"warmup": "10 ms"})
    assert result.totals["delivered_bytes"] > 1_000_000
    counters = result.tables["udt"]
    # Far more than one ACK per SYN of 10 ms: they are accurate.
    assert counters["light_acks_sent"].min() + counters["acks_sent"].min() > 50
    marks = bottleneck(result)["marks"]
    is_capable = control in {"dctcp", "d2tcp", "dt-cwa", "prague", "dcudp-r"}
    assert (marks > 0) == is_capable


def test_parameters_and_the_rate_of_acknowledgements_have_an_effect() -> None:
    base = {"kind": "udt", "congestion": "dctcp"}
    every_second = run(base).tables["udt"]["light_acks_sent"].sum()
    rare = run({**base, "packets_per_ack": 16}).tables["udt"]["light_acks_sent"].sum()
    assert rare < every_second / 2
    gains = [run({**base, "g": g}).digest for g in (0.0625, 0.5)]
    assert gains[0] != gains[1]


def test_a_class_of_python_is_a_control_too(tmp_path: Any) -> None:
    (tmp_path / "fixed.py").write_text(CONTROLLER, encoding="utf-8")
    file = tmp_path / "scenario.toml"
    watched = scenario({"kind": "udt"}, measure={"window": {"flows": "all"}})
    file.write_text(watched.resolved, encoding="utf-8")
    result = ic.run(ic.load(file, {"flows.long.transport.congestion": "fixed.py:Fixed"}))
    # 1500 bytes without 44 of headers.
    assert result.windows["cwnd_bytes"].max() == 10 * 1456
    assert result.windows["cwnd_bytes"].min() == 7 * 1456
    assert result.totals["delivered_bytes"] > 1_000_000


@pytest.mark.parametrize(
    ("transport", "message"),
    [
        ({"congestion": "dctpc"}, 'did you mean "dctcp"'),
        ({"congestion": "reno"}, 'did you mean "new-reno"'),
        ({"congestion": "dcqcn"}, 'kind = "rdma"'),
        ({"congestion": "dctcp", "packets_per_ack": 0}, "at least 1"),
        ({"congestion": "dctcp", "initial_window": "100 B"}, "at least one packet"),
    ],
)
def test_mistakes_have_one_message_with_their_place(
    transport: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario({"kind": "udt", **transport})
    [one] = caught.value.diagnostics
    assert message in str(one)
    assert one.key.rpartition(".")[0].endswith("transport")
    assert one.line > 0


def test_there_is_no_window_control_without_accurate_acks_nor_the_reverse() -> None:
    own = scenario({"kind": "udt", "packets_per_ack": 4})
    [one] = own.warnings
    assert "packets_per_ack has no effect here" in str(one)
    assert "congestion" in str(one)
    fields = scenario({"kind": "udt", "congestion": "cubic"}).to_dict()["transport"]
    assert (fields["packets_per_ack"], fields["acks_per_rtt"]) == (2, 4)


def test_a_control_that_reads_marks_where_none_are_set_is_warned_of() -> None:
    quiet = scenario(
        {"kind": "udt", "congestion": "dctcp"},
        switch={"buffer": "200 packets", "queue": {"kind": "drop-tail"}},
    )
    assert any("never mark" in str(one) for one in quiet.warnings)
