"""The program `softswitch`: a star of three namespaces, with kernel TCP and plain UDP.

Counters are compared with the data; no time is asserted. Skipped without the rights for namespaces.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from namespaces import are_released, held_namespaces
from network import priority
from programs import our_programs

if TYPE_CHECKING:
    from collections.abc import Iterator

# The switch keeps real time: other busy tests make it late.
pytestmark = pytest.mark.alone

RATE = {"rate": "50 Mbit/s", "delay": "1 ms"}
BYTES = 2_000_000
SERVER = """
import socket
listener = socket.create_server(("", 5000))
print("ready", flush=True)
peer, _ = listener.accept()
print(sum(len(data) for data in iter(lambda: peer.recv(65536), b"")), flush=True)
"""
CLIENT = f"""
import socket, sys
with socket.create_connection((sys.argv[1], 5000)) as peer:
    peer.sendall(bytes({BYTES}))
"""


def plan(**changes: Any) -> dict[str, Any]:
    """Return a star whose port to `c` drops and marks."""
    pairs = [(host, "s") for host in "abc"] + [("s", host) for host in "abc"]
    ports: list[dict[str, Any]] = [{"from": a, "to": b, **RATE} for a, b in pairs]
    queue = {"kind": "threshold", "marking_threshold": "5 packets"}
    ports[-1] |= {"buffer": "20 packets", "queue": queue}
    return {"hosts": ["a", "b", "c"], "switches": ["s"], "ports": ports, **changes}


@contextlib.contextmanager
def running(folder: Path, network: dict[str, Any]) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """Run the program; give its process and its hosts."""
    file = folder / "network.json"
    file.write_text(json.dumps(network), encoding="utf-8")
    command = [our_programs()["softswitch"], str(file)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    try:
        assert process.stdout
        assert process.stderr
        line = process.stdout.readline()
        if not line and "ot permitted" in (why := process.stderr.read()):
            pytest.skip(f"needs the rights for network namespaces: {why.strip()}")
        yield process, json.loads(line)["hosts"]
    finally:
        process.kill()
        process.communicate()


def on(host: dict[str, str], *command: str) -> list[str]:
    """Return the command that runs another one on a host."""
    nsenter = shutil.which("nsenter")
    if nsenter is None:
        pytest.skip("needs nsenter (util-linux)")
    return [nsenter, f"--net={host['namespace']}", *command]


def inside(host: dict[str, str], program: str, *words: str) -> list[str]:
    """Return the command that runs a program of Python on a host."""
    return on(host, sys.executable, "-c", program, *words)


def test_kernel_tcp_crosses_the_switch(tmp_path: Path) -> None:
    with running(tmp_path, plan()) as (process, hosts):
        with subprocess.Popen(
            inside(hosts["c"], SERVER), stdout=subprocess.PIPE, text=True
        ) as server:
            try:
                assert server.stdout
                assert server.stdout.readline() == "ready\n"
                client = inside(hosts["a"], CLIENT, hosts["c"]["address"])
                subprocess.run(client, check=True, timeout=60)
                assert server.stdout.readline() == f"{BYTES}\n"
            finally:
                server.kill()
        output, _ = process.communicate(input="\n", timeout=60)
        first, last = map(json.loads, output.splitlines())
        ports = {port["port"]: port for port in first["ports"]}
        assert ports["s->c"]["left_bytes"] > BYTES
        assert ports["s->b"]["arrived"] == ports["b->s"]["arrived"] == 0
        for port in ports.values():
            dropped = port["dropped_full"] + port["dropped_early"]
            # The last packets of a connection may still be on their way.
            assert 0 <= port["arrived"] - port["left"] - dropped <= 3
            assert sum(port["queue_seconds"]) == pytest.approx(first["seconds"])
        # At most 20 are stored, one of which is sent.
        assert ports["s->c"]["queue_packets"]["max"] <= 19
        assert 0 < ports["s->c"]["utilisation"] <= 1
        assert (first["refused"], first["strangers"]) == (0, 0)
        assert last["ports"][-1]["arrived"] <= 3 < first["ports"][-1]["arrived"]


@pytest.mark.parametrize("control", ["dctcp", "dcudp-r"])
def test_our_sockets_get_the_marks_of_the_switch(tmp_path: Path, control: str) -> None:
    """The marks that the receiver counted reach the sender, and its window holds the queue."""
    dcudp = our_programs()["dcudp"]
    network = plan()
    # The queue is that of the port which marks.
    network["ports"][-1]["rate"] = "20 Mbit/s"
    with running(tmp_path, network) as (process, hosts):
        address = f"{hosts['c']['address']}:9000"
        serve = on(hosts["c"], dcudp, "bench", "--serve", "--insecure", "--listen", address)
        with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout
                assert address in server.stdout.readline()
                words = ["--insecure", "--cc", control, "--time", "2 s", "--json"]
                bench = on(hosts["a"], dcudp, "bench", address, *words)
                done = subprocess.run(
                    bench, capture_output=True, text=True, check=False, timeout=120
                )
                assert done.returncode == 0, done.stderr
            finally:
                server.kill()
        output, _ = process.communicate(input="\n", timeout=60)
    found = json.loads(done.stdout)
    assert found["control"] == control
    assert found["receiver"]["bytes"] > 0
    assert sum(one["marks"] for one in found["intervals"]) > 0
    ports = {port["port"]: port for port in json.loads(output.splitlines()[0])["ports"]}
    assert ports["s->c"]["marked"] > 0
    # No other packet of this network is ECN-capable.
    assert ports["s->a"]["ect"] == 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left(tmp_path: Path, how: signal.Signals) -> None:
    with running(tmp_path, plan()) as (process, hosts):
        own = held_namespaces(process.pid)
        assert {f"net:[{Path(host['namespace']).stat().st_ino}]" for host in hosts.values()} <= own
        process.send_signal(how)
        process.wait(timeout=60)
        assert are_released(own)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"hosts": ["a"]}, "there is no node"),
        ({"switches": ["a"]}, "two nodes have the name"),
        ({"speed": 1}, "unknown field `speed`"),
        ({"dilation": 0}, "must be 1 to 100000"),
        ({"mtu": "70 KB"}, "576 to 65535"),
        ({"mtu": "70 parsecs"}, "parsecs"),
        ({"ports": []}, "no path from"),
    ],
)
def test_bad_input_is_reported(tmp_path: Path, changes: dict[str, Any], complaint: str) -> None:
    file = tmp_path / "network.json"
    file.write_text(json.dumps(plan(**changes)), encoding="utf-8")
    command = [our_programs()["softswitch"], str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_no_file_and_no_privileges_are_reported(tmp_path: Path) -> None:
    program = our_programs()["softswitch"]
    done = subprocess.run([program, "no.json"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no.json" in done.stderr
    file = tmp_path / "network.json"
    file.write_text(json.dumps(plan()), encoding="utf-8")
    # A user that nobody is, and so without privileges.
    nobody = ["setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps", "-all"]
    if shutil.which(nobody[0]) is None or not priority(1):
        pytest.skip("needs root, and setpriv (util-linux)")
    tmp_path.chmod(0o755)
    copy = tmp_path / "softswitch"
    shutil.copy(program, copy)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    done = subprocess.run(
        [*nobody, str(copy), str(file)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert "cannot make a network namespace" in done.stderr
    assert len(done.stderr.splitlines()) == 1
