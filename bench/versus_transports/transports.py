"""The transports: how each is built, started, understood, and what it is called in the tables."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ends import FailedError
from lab import ADDRESSES

if TYPE_CHECKING:
    from ends import Outcome

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORK = HERE / "work"
PORT = "9000"
CAPACITY = "40 Gbit/s"
"""The capacity for Incastle's transports: a veth pair has no rate, and reports 10 Gbit/s."""
COMPILER = ("c++", "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror")
PASSPHRASE = {"PEER_PASSPHRASE": "a passphrase of this benchmark"}


@dataclass(frozen=True)
class Goodput:
    """Application bytes that arrived, and the time they took at the receiver.

    Attributes:
        bytes, seconds: from the first byte to the last.
        sent: bytes sent, where a transport may lose some.

    """

    bytes: int
    seconds: float
    sent: int | None = None


@dataclass(frozen=True)
class Pings:
    """Round trips of 64 bytes."""

    count: int
    p50_us: float
    p99_us: float


@dataclass(frozen=True)
class Transport:
    """A transport: its arguments for the server and for either client.

    Attributes:
        name: its name in the tables.
        part: the program to build for it.
        user_space: whether it runs in user space, not in the kernel.
        reliable: whether it delivers all data.
        losses: whether it is measured with losses too.

    """

    name: str
    part: str
    environment: dict[str, str] = field(default_factory=dict)
    user_space: bool = True
    reliable: bool = True
    losses: bool = False
    encrypted: bool = False

    def server(self, how: str) -> list[str]:
        """Return the command of a server for `send` or `ping`."""
        del how
        return [str(WORK / self.part), "serve", ADDRESSES["receiver"], PORT]

    def client(self, how: str, amount: str) -> list[str]:
        """Return the command of a client: `send` for `amount` seconds, or `amount` times `ping`."""
        return [str(WORK / self.part), how, ADDRESSES["receiver"], PORT, amount]

    def goodput(self, outcome: Outcome) -> Goodput:
        """Read what the receiver reports."""
        return Goodput(**report(outcome.server_output))

    def pings(self, outcome: Outcome) -> Pings:
        """Read what the client reports."""
        return Pings(**report(outcome.client_output))


@dataclass(frozen=True)
class Quinn(Transport):
    """Quinn, whose server hands its certificate over in a file."""

    def server(self, how: str) -> list[str]:
        """Return the command of a server."""
        return [*super().server(how), str(WORK / "certificate.der")]

    def client(self, how: str, amount: str) -> list[str]:
        """Return the command of a client."""
        *arguments, last = super().client(how, amount)
        return [*arguments, str(WORK / "certificate.der"), last]


@dataclass(frozen=True)
class Tcp(Transport):
    """The kernel's TCP: iperf3 for throughput, a program of ours for ping-pong."""

    def server(self, how: str) -> list[str]:
        """Return the command of a server."""
        if how == "ping":
            return super().server(how)
        return ["iperf3", "-s", "-1", "--forceflush", "-B", ADDRESSES["receiver"], "-p", PORT]

    def client(self, how: str, amount: str) -> list[str]:
        """Return the command of a client."""
        if how == "ping":
            return super().client(how, amount)
        return ["iperf3", "-c", ADDRESSES["receiver"], "-p", PORT, "-t", amount, "--json"]

    def goodput(self, outcome: Outcome) -> Goodput:
        """Read what iperf3 reports of its server."""
        received = json.loads(outcome.client_output)["end"]["sum_received"]
        return Goodput(received["bytes"], received["seconds"])


@dataclass(frozen=True)
class Ours(Transport):
    """The program `dcudp`."""

    control: str = "dcudp"

    def server(self, how: str) -> list[str]:
        """Return the command of a server: it replies to pings too."""
        del how
        address = f"{ADDRESSES['receiver']}:{PORT}"
        return [str(WORK / "dcudp"), "bench", "--serve", "--listen", address, *self._common()]

    def client(self, how: str, amount: str) -> list[str]:
        """Return the command of a client."""
        what = ["bench", "--time", f"{amount} s"]
        if how == "ping":
            what = ["ping", "--count", amount, "--interval", "0 s", "--size", "64 B"]
        command, *arguments = what
        address = f"{ADDRESSES['receiver']}:{PORT}"
        return [str(WORK / "dcudp"), command, address, "--json", *arguments, *self._common()]

    def goodput(self, outcome: Outcome) -> Goodput:
        """Read what the receiver reports."""
        found = json.loads(outcome.client_output)
        if found["control"] != self.control:
            raise FailedError(f"the control {found['control']} was run")
        return Goodput(found["receiver"]["bytes"], found["receiver"]["seconds"])

    def pings(self, outcome: Outcome) -> Pings:
        """Read what the client reports, without what others do not."""
        found = json.loads(outcome.client_output)
        return Pings(found["count"], found["p50_us"], found["p99_us"])

    def _common(self) -> list[str]:
        safety = ["--key-file", str(WORK / "key")] if self.encrypted else ["--insecure"]
        return ["--cc", self.control, "--capacity", CAPACITY, *safety]


TRANSPORTS = (
    Transport("UDP, GSO x 40", "udp", user_space=False, reliable=False),
    Tcp("TCP", "tcp", user_space=False, losses=True),
    Quinn("quinn", "quinn-peer", encrypted=True, losses=True),
    Transport("UDT4", "udt", losses=True),
    Transport("SRT", "srt", losses=True),
    Transport("SRT, AES-128", "srt", environment=PASSPHRASE, encrypted=True),
    Ours("dcudp, cc udt", "dcudp", control="udt", losses=True),
    Ours("dcudp, cc dcudp", "dcudp", losses=True),
    Ours("dcudp, cc dcudp-r", "dcudp", control="dcudp-r", losses=True),
    Ours("dcudp, cc udt, key", "dcudp", control="udt", encrypted=True),
    Ours("dcudp, cc dcudp, key", "dcudp", encrypted=True),
)


def report(output: str) -> dict[str, Any]:
    """Read the last line of a peer's output."""
    lines = output.strip().splitlines()
    try:
        found: dict[str, Any] = json.loads(lines[-1])
    except (IndexError, ValueError):
        raise FailedError(f"no report: {output.strip()!r}") from None
    return found


def build(part: str) -> str | None:
    """Build what a transport needs, and return why that cannot be, if so."""
    WORK.mkdir(exist_ok=True)
    if part == "dcudp":
        return cargo(ROOT, part, "--package", "incastle-dcudp") or new_key()
    if part == "quinn-peer":
        return cargo(HERE / "peers" / "quinn", part, "--target-dir", str(WORK / "target"))
    if part == "tcp" and shutil.which("iperf3") is None:
        return "iperf3 is not installed"
    return compiled(part)


def compiled(part: str) -> str | None:
    """Compile a peer in C++, unless that is done."""
    sources = [HERE / "peers" / f"{part}.cc", HERE / "peers" / "peer.h"]
    program = WORK / part
    if program.exists() and program.stat().st_mtime > max(s.stat().st_mtime for s in sources):
        return None
    libraries = [f"-l{part}"] if part in {"udt", "srt"} else []
    command = [*COMPILER, "-o", str(program), str(sources[0]), *libraries, "-lpthread"]
    return attempt(command, HERE)


def cargo(folder: Path, name: str, *arguments: str) -> str | None:
    """Build a program in Rust, as optimized as ever, and put a link to it among the others."""
    if shutil.which("cargo") is None:
        return "cargo is not installed"
    command = ["cargo", "build", "--quiet", "--release", "--locked", "--bin", name, *arguments]
    done = subprocess.run(
        [*command, "--message-format=json"], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return f"cargo: {last_line(done.stderr)}"
    built = (json.loads(line) for line in done.stdout.splitlines())
    program = next(one["executable"] for one in built if one.get("executable"))
    link = WORK / name
    link.unlink(missing_ok=True)
    link.symlink_to(program)
    return None


def new_key() -> str | None:
    """Make the key of both ends."""
    key = WORK / "key"
    key.unlink(missing_ok=True)
    with key.open("wb") as file:
        done = subprocess.run([str(WORK / "dcudp"), "key"], stdout=file, check=False)
    return None if done.returncode == 0 else "dcudp key failed"


def attempt(command: list[str], folder: Path) -> str | None:
    """Run a command, and return what went wrong."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        return f"{error.filename} is not installed"
    return last_line(done.stderr) if done.returncode != 0 else None


def last_line(text: str) -> str:
    """Return the first line with an error, else the first line."""
    lines = [line for line in text.splitlines() if "rror" in line] or text.splitlines()
    return lines[0].strip() if lines else "failed, and printed nothing"


def versions() -> dict[str, str]:
    """Return what was measured."""
    packages = ("iperf3", "libudt0", "libsrt1.5-openssl")
    found = {name: printed("dpkg-query", "-W", "-f", "${Version}", name) for name in packages}
    lock = (HERE / "peers" / "quinn" / "Cargo.lock").read_text(encoding="utf-8")
    _, _, behind = lock.partition('name = "quinn"\nversion = "')
    found["quinn"] = behind.partition('"')[0]
    found["dcudp"] = printed("git", "-C", str(ROOT), "describe", "--always", "--dirty")
    return found


def printed(*command: str) -> str:
    """Return what a command prints, nothing where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
