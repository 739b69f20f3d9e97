"""Our controls in the kernel: DCTCP, the bridge, `incastle kernel`, and what is left of them.

They need root and what `make kernel` has built; without, each is skipped with its reason.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import incastle as ic
from incastle.errors import ControllerError
from incastle.worlds import api, counterpart, kernel
from incastle.worlds.counterpart import WorldError
from incastle.worlds.kernel import KernelError

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = Path(__file__).parents[2] / "examples"
DELAY = (EXAMPLES / "my-controller" / "python" / "delay.py").read_text(encoding="utf-8")
BAD = """
import incastle as ic
class Bad(ic.Controller):
    def on_ack(self, ack):
        if ack.snd_una > 100_000:
            self.x
"""
K = 20
LONG = {
    "name": "two-long",
    "run": {"duration": "400 ms"},
    "network": {"topology": "star", "senders": 2, "rate": "100 Mbit/s", "delay": "500 us"},
    "switch": {
        "buffer": "200 packets",
        "queue": {"kind": "threshold", "marking_threshold": f"{K} packets"},
    },
    "transport": {"congestion": "dctcp", "min_rto": "200 ms"},
    "flows": {"bulk": {"workload": "bulk", "from": "senders", "to": "receiver"}},
    "measure": {"warmup": "100 ms"},
}
CLIENT = """
import os, socket, sys, threading, time
name, seconds = sys.argv[1].encode(), float(sys.argv[2])
listener = socket.create_server(("127.0.0.1", 0))
sender = socket.socket()
for one in (listener, sender):
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
sender.connect(listener.getsockname())
sink, _ = listener.accept()
received = 0
def receive():
    global received
    while piece := sink.recv(1 << 16):
        received += len(piece)
thread = threading.Thread(target=receive)
thread.start()
end = time.monotonic() + seconds
while time.monotonic() < end:
    sender.sendall(bytes(1 << 14))
os.system("ss -tin state established")
sender.close()
thread.join()
print("received", received)
"""


@pytest.fixture(scope="module", autouse=True)
def _kernel_takes_them() -> None:
    if not counterpart.AVAILABLE.exists():
        pytest.skip("needs Linux")


@pytest.fixture
def built() -> None:
    """Skip where the kernel or the machine cannot take our controls."""
    try:
        kernel.register("dctcp").close()
    except KernelError as why:
        pytest.skip(str(why))


def real(**transport: Any) -> Any:
    """Run two long flows over the kernel's TCP."""
    fields = {**LONG, "transport": {**LONG["transport"], **transport}}  # type: ignore[dict-item]
    try:
        return api.run_linux(ic.Scenario.from_dict(fields))
    except WorldError as why:
        if "needs root" in str(why) or "iproute2" in str(why):
            pytest.skip(str(why))
        raise


def available() -> list[str]:
    return counterpart.AVAILABLE.read_text(encoding="ascii").split()


def is_gone(name: str) -> bool:
    """Return whether the kernel has lost a control within seconds."""
    for _ in range(100):
        if name not in available():
            return True
        time.sleep(0.1)
    return False


def serving(*words: str, folder: Path) -> subprocess.Popen[str]:
    """Start `incastle kernel`, with a client in a network namespace of its own."""
    command = [sys.executable, "-m", "incastle", "kernel", *words]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def client(folder: Path, name: str, seconds: float) -> list[str]:
    """Return a command that sends over the loopback of a new namespace, and shows its socket."""
    file = folder / "client.py"
    file.write_text(CLIENT, encoding="utf-8")
    line = f"ip link set lo up && exec {sys.executable} {file} {name} {seconds}"
    return ["unshare", "--net", "sh", "-c", line]


@pytest.mark.alone
@pytest.mark.usefixtures("built")
def test_dctcp_in_the_kernel_holds_the_queue_near_k() -> None:
    result = real()
    assert result.world["controls"] == {"bulk": "incastle_dctcp"}
    assert result.totals["marks"] > 0
    assert is_gone("incastle_dctcp")
    if not result.world["comparable"]:
        pytest.skip("the machine was too slow for the network")
    port = result.links.filter(result.links["port"] == "switch->receiver").row(0, named=True)
    # Reno without marks would fill the buffer of 200; with a halved window it would empty the port.
    assert K / 4 < port["mean_queue_packets"] < 2 * K
    assert port["utilisation"] > 0.9
    assert port["drops"] == 0


@pytest.mark.alone
@pytest.mark.usefixtures("built")
def test_a_class_of_python_decides_for_a_scenario(tmp_path: Path) -> None:
    (tmp_path / "delay.py").write_text(DELAY, encoding="utf-8")
    delay = f"{tmp_path / 'delay.py'}:Delay"
    result = real(congestion=delay, parameters={"target_us": 4000.0}, ecn="off")
    bridge = result.world["bridge"]
    assert result.world["controls"] == {"bulk": kernel.BRIDGE}
    assert bridge["connections"] == 4  # each has a controller at both endpoints
    assert bridge["reports"] > 100
    assert bridge["report_to_window"]["p50_s"] > 0
    assert result.totals["delivered_bytes"] > 100_000
    assert result.totals["marks"] == 0
    assert any("report to answer" in note for note in result.warnings)
    assert any("transport.delayed_ack_count" in note for note in result.warnings)
    assert is_gone(kernel.BRIDGE)


@pytest.mark.alone
@pytest.mark.usefixtures("built")
def test_other_parameters_than_the_kernels_use_the_bridge() -> None:
    result = real(g=0.25)
    assert result.world["controls"] == {"bulk": kernel.BRIDGE_ECN}
    assert result.totals["marks"] > 0


@pytest.mark.alone
@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("name", ["incastle_dctcp", kernel.BRIDGE])
def test_ss_names_the_control(tmp_path: Path, name: str) -> None:
    (tmp_path / "delay.py").write_text(DELAY, encoding="utf-8")
    cc = "dctcp" if name == "incastle_dctcp" else "delay.py:Delay"
    with serving("--cc", cc, "--", *client(tmp_path, name, 1), folder=tmp_path) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert name in out, out
    assert int(out.split("received ")[1]) > 0
    assert is_gone(name)


@pytest.mark.alone
@pytest.mark.usefixtures("built")
def test_a_controller_that_raises_ends_with_one_message(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(BAD, encoding="utf-8")
    command = client(tmp_path, kernel.BRIDGE, 60)
    with serving("--cc", "bad.py:Bad", "--", *command, folder=tmp_path) as process:
        _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert err.count("error:") == 1
    assert 'the controller "bad.py:Bad" raised in on_ack' in err
    assert 'File "bad.py"' in err
    assert is_gone(kernel.BRIDGE)
    with pytest.raises(ControllerError, match="raised in on_ack"):
        real(congestion=f"{tmp_path / 'bad.py'}:Bad")


@pytest.mark.alone
@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_however_it_ends(tmp_path: Path, how: signal.Signals) -> None:
    with serving("--cc", "cubic", folder=tmp_path) as process:
        assert process.stderr is not None
        process.stderr.readline()
        assert kernel.BRIDGE in available()
        process.send_signal(how)
        process.wait(timeout=60)
    assert is_gone(kernel.BRIDGE)


@pytest.mark.alone
@pytest.mark.usefixtures("built")
def test_a_connection_without_answers_falls_back(tmp_path: Path) -> None:
    command = client(tmp_path, kernel.BRIDGE, 3)
    (tmp_path / "small.py").write_text(
        "import incastle as ic\n"
        "class Small(ic.Controller):\n"
        "    def on_ack(self, ack):\n"
        "        self.cwnd_bytes = 2 * self.mss_bytes\n",
        encoding="utf-8",
    )
    with serving("--cc", "small.py:Small", folder=tmp_path) as process:
        assert process.stderr is not None
        process.stderr.readline()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sender:
            time.sleep(1)
            process.kill()
            process.wait(timeout=60)
            out, _ = sender.communicate(timeout=120)
    # The connection keeps the control; its window grew from two segments, as NewReno's does.
    assert kernel.BRIDGE in out
    assert max(int(word.split(":")[1]) for word in out.split() if word.startswith("cwnd:")) > 2
    assert is_gone(kernel.BRIDGE)


@pytest.mark.alone
@pytest.mark.usefixtures("built")
def test_a_second_registration_is_refused() -> None:
    first = kernel.register("dctcp")
    try:
        with pytest.raises(KernelError, match="already registered"):
            kernel.register("dctcp")
    finally:
        first.close()


def in_words(work: Callable[[], object]) -> str:
    """Return the message of a refusal: one line, exit status 2."""
    with pytest.raises(KernelError) as raised:
        work()
    assert "\n" not in str(raised.value)
    assert raised.value.exit_status == 2
    return str(raised.value)


def test_without_make_kernel_one_message_has_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == kernel.MODULE else find(name)
    )
    assert "`make kernel` builds them" in in_words(lambda: kernel.register("dctcp"))
    with pytest.raises(WorldError, match="`make kernel` builds it"):
        counterpart._control("bulk", {"congestion": "dctcp"}, ["reno", "cubic"])
    # A kernel with DCTCP of its own does without.
    assert counterpart._control("bulk", {"congestion": "dctcp"}, ["reno", "dctcp"]) == "dctcp"


def test_without_root_one_message_has_the_remedy() -> None:
    if not kernel.is_built():
        pytest.skip("`make kernel` has not been run")
    program = (
        "import os\n"
        "from incastle.worlds import kernel\n"
        "kernel.module()\n"
        "if os.geteuid() == 0: os.seteuid(65534)\n"
        "try: kernel.register('dctcp')\n"
        "except kernel.KernelError as why: print(why)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == "registering a congestion control in the kernel needs root (sudo)\n"


@pytest.mark.usefixtures("built")
def test_a_control_that_needs_samples_of_the_rate_is_refused() -> None:
    text = kernel.scenario_of({"congestion": "bbr"})
    assert "delivery rate" in in_words(lambda: kernel.Bridge(ic.Scenario.from_text(text)))


def test_two_controls_for_one_bridge_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "is_built", lambda: True)
    groups = {
        name: {**LONG["flows"]["bulk"], "transport": {"congestion": name}}  # type: ignore[index]
        for name in ("swift", "d2tcp")
    }
    scenario = ic.Scenario.from_dict({**LONG, "flows": groups})
    with pytest.raises(WorldError, match="flows swift, d2tcp: the bridge to the kernel has one"):
        counterpart.of(scenario)


def test_a_command_that_does_not_exist_is_one_message(tmp_path: Path) -> None:
    if not kernel.is_built() or os.geteuid() != 0:
        pytest.skip("needs root and `make kernel`")
    with serving("--cc", "cubic", "--", "no-such-command", folder=tmp_path) as process:
        _, err = process.communicate(timeout=120)
    if "Linux 6.10" in err:
        pytest.skip(err.splitlines()[-1])
    assert process.returncode == 2
    assert err.count("error:") == 1
    assert "no-such-command: No such file or directory" in err
