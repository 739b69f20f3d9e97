"""Two network namespaces with the router of crates/testbed between them.

Needs the rights to make namespaces, `ip`, and /dev/net/tun. Everything is removed at the end,
whatever happens; namespaces left by a process that was killed have its number in their names.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LEFT, RIGHT = "10.77.0.1", "10.77.0.2"
DEVICE = "tun0"
# More packets than any sender here has under way: what waits for the router is not dropped.
DEVICE_QUEUE = "10000"
NUMBERS = itertools.count()
# A real-time priority, so that no other process delays the router.
ROUTER_LEVEL = 40
Report = dict[str, Any]


class UnavailableError(Exception):
    """Something is missing on this machine; the message names it."""


def ip(*arguments: str) -> None:
    """Run `ip`; raise an error where this machine does not permit it."""
    program = shutil.which("ip")
    if program is None:
        raise UnavailableError("needs ip (Debian: iproute2; make system)")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UnavailableError(f"needs the rights for network namespaces: {done.stderr.strip()}")


def namespace(name: str, address: str, stack: contextlib.ExitStack) -> None:
    """Make a namespace with a TUN device, until the stack ends."""
    ip("netns", "add", name)
    stack.callback(ip, "netns", "delete", name)
    ip("-n", name, "link", "set", "lo", "up")
    ip("-n", name, "tuntap", "add", DEVICE, "mode", "tun")
    ip("-n", name, "link", "set", DEVICE, "txqueuelen", DEVICE_QUEUE)
    # No chatter of IPv6's own in the counts.
    quiet = f"/proc/sys/net/ipv6/conf/{DEVICE}/disable_ipv6"
    subprocess.run(
        ["ip", "netns", "exec", name, "sh", "-c", f"echo 1 > {quiet}"],  # noqa: S607
        check=False,
        stderr=subprocess.DEVNULL,
    )
    ip("-n", name, "address", "add", f"{address}/24", "dev", DEVICE)
    ip("-n", name, "link", "set", DEVICE, "up")


@dataclass
class Network:
    """The namespaces, and the running router."""

    left: str
    right: str
    router: subprocess.Popen[str]

    def on_left(self, command: Sequence[str]) -> list[str]:
        """Return the command as it is run in the left namespace."""
        return ["ip", "netns", "exec", self.left, *command]

    def on_right(self, command: Sequence[str]) -> list[str]:
        """Return the command as it is run in the right namespace."""
        return ["ip", "netns", "exec", self.right, *command]

    def measured(self) -> Report:
        """Return what the router measured since the last call."""
        requests, reports = self.router.stdin, self.router.stdout
        if requests is None or reports is None:
            raise UnavailableError("the router has no pipes")
        requests.write("\n")
        requests.flush()
        found: Report = json.loads(reports.readline())
        return found


def priority(level: int) -> list[str]:
    """Return a prefix by which a program runs before others, where that is allowed."""
    program = shutil.which("chrt")
    if program is None:
        return []
    prefix = [program, "-f", str(level)]
    allowed = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    return prefix if allowed.returncode == 0 else []


@contextlib.contextmanager
def network(router: str, *options: str) -> Iterator[Network]:
    """Make both namespaces and run the router between them."""
    if not Path("/dev/net/tun").exists():
        raise UnavailableError("needs /dev/net/tun")
    left, right = (f"incastle-{os.getpid()}-{next(NUMBERS)}" for _ in range(2))
    with contextlib.ExitStack() as stack:
        namespace(left, LEFT, stack)
        namespace(right, RIGHT, stack)
        devices = (f"{left}/{DEVICE}", f"{right}/{DEVICE}")
        process = stack.enter_context(
            subprocess.Popen(
                [*priority(ROUTER_LEVEL), router, *devices, *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        stack.callback(process.kill)
        if process.stdout is None or process.stdout.readline().strip() != "ready":
            raise UnavailableError("the router could not attach to its devices")
        yield Network(left, right, process)
