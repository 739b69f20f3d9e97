"""The half of bench/versus_transports that needs no namespaces: costs, reports, tables."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import ends
import machine
import tables
import transports
import versus
from ends import Cost, Outcome
from lab import ADDRESSES, Traffic
from machine import Meanwhile
from records import Record

if TYPE_CHECKING:
    from pathlib import Path

READY = "print('ready', flush=True)\n"
WORK = "sum(range(10**7)); x = bytearray(50_000_000); x[::4096] = b'x' * len(x[::4096])\n"
BY_NAME = {one.name: one for one in transports.TRANSPORTS}


def python(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def outcome(client: str = "", server: str = "") -> Outcome:
    costs = Cost(2.0, 30_000_000), Cost(3.0, 20_000_000)
    return Outcome(client, server, *costs, Meanwhile(1.0, 0.01, 0.0))


def test_both_ends_are_charged_for_what_they_use() -> None:
    client = python(f"{WORK}print('done')\nimport time; time.sleep(0.3)")
    server = python(f"{READY}import time; time.sleep(60)")
    found = ends.measured(server, client, {}, 60)
    assert (found.client_output, found.server_output) == ("done\n", "ready\n")
    # 50 MB were touched by one of them; the other is an idle interpreter.
    assert found.client.peak_bytes > 50_000_000 > found.server.peak_bytes > 1_000_000
    assert found.client.cpu_s > found.server.cpu_s > 0


@pytest.mark.parametrize(
    ("server", "client", "limit_s", "words"),
    [
        ("raise SystemExit('port in use')", "", 60, "the server: port in use"),
        ("", "", 60, "the server: nothing was printed"),
        (f"{READY}input()", "raise SystemExit('refused')", 60, "the client: refused"),
        (
            f"{READY}import time; time.sleep(60)",
            "import time; time.sleep(60)",
            1,
            "not done after 1 s",
        ),
    ],
)
def test_failures_are_reported(server: str, client: str, limit_s: float, words: str) -> None:
    with pytest.raises(ends.FailedError, match=words):
        ends.measured(python(server), python(client), {}, limit_s)


def test_no_process_is_left(tmp_path: Path) -> None:
    # A server that does not listen to SIGINT, and says who it is.
    stubborn = "import signal, os, time; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    pid = tmp_path / "pid"
    server = python(
        f"{stubborn}open({str(pid)!r}, 'w').write(str(os.getpid()))\n{READY}time.sleep(60)"
    )
    ends.measured(server, python(""), {}, 60)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_the_machines_time_has_all_its_parts() -> None:
    meter = machine.Meter()
    started = time.process_time()
    while time.process_time() - started < 0.2:
        pass
    found = meter.stop(time.process_time() - started)
    assert found.kernel_s >= 0
    assert 0 <= found.others <= 1.1


def test_reports_are_read() -> None:
    report = 'ready\n{"bytes": 500000000, "seconds": 2.0, "sent": 1000000000}\n'
    goodput = BY_NAME["UDP, GSO x 40"].goodput(outcome(server=report))
    assert (goodput.bytes, goodput.seconds, goodput.sent) == (500_000_000, 2.0, 10**9)
    iperf3 = '{"end": {"sum_sent": {}, "sum_received": {"bytes": 7, "seconds": 2.5}}}'
    goodput = BY_NAME["TCP"].goodput(outcome(client=iperf3))
    assert (goodput.bytes, goodput.seconds) == (7, 2.5)
    ours = '{"control": "udt", "receiver": {"bytes": 9, "seconds": 1.5}, "sender": {}}'
    goodput = BY_NAME["dcudp, cc udt"].goodput(outcome(client=ours))
    assert (goodput.bytes, goodput.seconds) == (9, 1.5)
    # The wrong control would be measured under the name of the other.
    with pytest.raises(ends.FailedError, match="the control udt was run"):
        BY_NAME["dcudp, cc dcudp"].goodput(outcome(client=ours))
    pings = BY_NAME["quinn"].pings(outcome(client='{"count": 5, "p50_us": 60.5, "p99_us": 90}'))
    assert (pings.count, pings.p50_us, pings.p99_us) == (5, 60.5, 90)
    with pytest.raises(ends.FailedError, match="no report: 'ready'"):
        BY_NAME["UDT4"].goodput(outcome(server="ready\n"))


def records() -> list[Record]:
    def transfer(name: str, gbytes: int, *, offloads: bool) -> Record:
        goodput = transports.Goodput(gbytes * 10**9, 4.0)
        record = Record(name, "send", offloads, 0.0)
        return record.with_goodput(goodput, outcome(), Traffic(1000, 1_500_000))

    ping = Record("quinn", "ping", offloads=False, loss=0.0)
    lossy = transfer("UDT4", 1, offloads=False)
    return [
        *(transfer("quinn", gbytes, offloads=False) for gbytes in (1, 2, 4)),
        transfer("SRT", 1, offloads=False).with_failure("refused"),
        ping.with_pings(transports.Pings(100, 60.4, 93.6), outcome()),
        replace(lossy, loss=0.01),
    ]


def document(left_out: dict[str, str]) -> dict[str, Any]:
    return {
        "machine": machine.description(),
        "versions": {"quinn": "1.0"},
        "plan": vars(versus.QUICK),
        "left_out": left_out,
    }


def test_tables_have_medians_and_what_is_missing() -> None:
    shown = tables.everything(document({"TCP": "iperf3 is not installed"}), records())
    lines = shown.splitlines()
    # 2 GB in 4 s are 4 Gbit/s. Sender 2 s, receiver 3 s, the kernel 1 s: 1, 1.5 and 3 s/GB, and
    # 8 Gbit / 3 s; 1, 2 and 4 GB alike for the median.
    row = "| quinn | 4.00 (2.00 to 8.00) | 1.000 | 1.500 | 3.000 | 2.67 | 30 | 20 | 1500 |"
    assert row in lines
    assert "| SRT | - | - | - | - | - | - | - | - |" in lines
    assert "| quinn | 60 | 94 | - | - |" in lines
    assert "| UDT4 | 2.00 | 6.000 |" in lines
    assert "### 1% of all packets lost in both directions, offloads off" in lines
    assert "- TCP: iperf3 is not installed" in lines
    assert "- SRT, send: refused" in lines
    assert tables.WARNING not in shown


def test_a_busy_machine_is_reported() -> None:
    busy = [replace(one, others=0.2) for one in records()]
    assert tables.WARNING in tables.everything(document({}), busy)


def test_what_is_absent_is_not_written() -> None:
    failed = Record("SRT", "send", offloads=True, loss=0.0).with_failure("refused")
    assert failed.fields() == {
        "transport": "SRT",
        "how": "send",
        "offloads": True,
        "loss": 0.0,
        "failure": "refused",
    }


@pytest.mark.parametrize("one", transports.TRANSPORTS, ids=lambda one: one.name)
def test_each_transport_has_commands(one: transports.Transport) -> None:
    for how in ("send", "ping"):
        assert ADDRESSES["receiver"] in " ".join(one.server(how))
        assert "17" in " ".join(one.client(how, "17"))
    assert ("--key-file" in one.server("send")) == (one.encrypted and one.part == "dcudp")
