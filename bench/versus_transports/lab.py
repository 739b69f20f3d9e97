"""Two network namespaces joined by a veth pair, with the requested offloads and losses.

Nothing outside of them changes; they, and so the pair, are gone when the laboratory closes. What a
killed run has left is removed by the next one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NEEDED = ("ip", "ethtool", "iptables")
PREFIX = "incastle-bench-"
MTU = 1500
DEVICE = "veth0"
OFFLOADS = ("tso", "gso", "gro", "tx-udp-segmentation")
"""The last one is not among what `gso` switches: without it a super-packet of UDP crosses whole."""
HEADER = 14
"""Of Ethernet."""
ADDRESSES = {"sender": "10.231.0.1", "receiver": "10.231.0.2"}


@dataclass(frozen=True)
class Traffic:
    """Packets and bytes received by the receiver's NIC; with offloads, a super-packet is one."""

    packets: int
    bytes: int

    def __sub__(self, other: Traffic) -> Traffic:
        """Return what arrived in between."""
        return Traffic(self.packets - other.packets, self.bytes - other.bytes)


class Lab:
    """The two namespaces."""

    def __init__(self) -> None:
        self.names = {end: f"{PREFIX}{os.getpid()}-{end}" for end in ADDRESSES}

    def inside(self, end: str, *command: str) -> list[str]:
        """Return a command that runs at one end."""
        return ["ip", "netns", "exec", self.names[end], *command]

    def offloads(self, *, on: bool) -> None:
        """Switch the segmentation and the coalescing of both ends."""
        arguments = [argument for name in OFFLOADS for argument in (name, "on" if on else "off")]
        for end in ADDRESSES:
            must(self.inside(end, "ethtool", "-K", DEVICE, *arguments))

    @contextmanager
    def loss(self, share: float) -> Iterator[None]:
        """Lose packets at random as they arrive, at both ends."""
        rule = f"-m statistic --mode random --probability {share} -j DROP".split()
        ends = list(ADDRESSES) if share > 0 else []
        try:
            for end in ends:
                must(self.inside(end, "iptables", "-w", "-A", "INPUT", *rule))
            yield
        finally:
            for end in ends:
                must(self.inside(end, "iptables", "-w", "-F", "INPUT"))

    def arrived(self) -> Traffic:
        """Return what has arrived at the receiver until now."""
        shown = must(
            ["ip", "-n", self.names["receiver"], "-s", "-j", "link", "show", "dev", DEVICE]
        )
        counts = json.loads(shown)[0]["stats64"]["rx"]
        return Traffic(counts["packets"], counts["bytes"])


@contextmanager
def opened() -> Iterator[Lab]:
    """Make the namespaces, and remove them in any case."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        sys.exit(f"not installed: {', '.join(missing)} (make system)")
    if os.geteuid() != 0:
        sys.exit("network namespaces need root")
    remove_left()
    lab = Lab()
    try:
        build(lab)
        yield lab
    finally:
        for name in lab.names.values():
            command = ["ip", "netns", "del", name]
            subprocess.run(command, check=False, capture_output=True)


def build(lab: Lab) -> None:
    """Make the namespaces and what joins them."""
    left, right = lab.names["sender"], lab.names["receiver"]
    for name in (left, right):
        must(["ip", "netns", "add", name])
    pair = ["type", "veth", "peer", "name", DEVICE, "netns", right]
    must(["ip", "link", "add", DEVICE, "mtu", str(MTU), "netns", left, *pair])
    for end, address in ADDRESSES.items():
        name = lab.names[end]
        must(["ip", "-n", name, "address", "add", f"{address}/24", "dev", DEVICE])
        must(["ip", "-n", name, "link", "set", DEVICE, "mtu", str(MTU), "up"])
        must(["ip", "-n", name, "link", "set", "lo", "up"])


def remove_left() -> None:
    """Remove the namespaces of runs whose process is gone."""
    for line in must(["ip", "netns", "list"]).splitlines():
        name = line.split()[0]
        owner = name.removeprefix(PREFIX).partition("-")[0]
        if name.startswith(PREFIX) and owner.isdigit() and not Path("/proc", owner).exists():
            must(["ip", "netns", "del", name])


def must(command: list[str]) -> str:
    """Run a command and return what it printed; exit with its error where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
