"""The machine, and its load by other programs during a measurement."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
IDLE, IOWAIT, STEAL, GUEST = 3, 4, 7, 8
KTHREADD = 2


@dataclass(frozen=True)
class Meanwhile:
    """How processor time was spent during a measurement.

    Attributes:
        kernel_s: CPU time of kernel threads and interrupts, charged to no program. On a busy
            machine other programs cause some of it.
        others: share of CPU time that other programs used.
        stolen: share of CPU time that the hypervisor gave to other machines.

    """

    kernel_s: float
    others: float
    stolen: float


class Meter:
    """Counts from its construction on."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.busy, self.stolen = machine_seconds()
        self.programs = programs_seconds()

    def stop(self, ours_s: float) -> Meanwhile:
        """Return what happened; `ours_s` is what both programs used."""
        length = (time.monotonic() - self.begun) * (os.cpu_count() or 1)
        busy, stolen = machine_seconds()
        programs = programs_seconds() - self.programs
        kernel = busy - self.busy - programs
        return Meanwhile(
            kernel_s=max(kernel, 0.0),
            others=max(programs - ours_s, 0.0) / length,
            stolen=(stolen - self.stolen) / length,
        )


def machine_seconds() -> tuple[float, float]:
    """Return how long processors were busy, all together, and taken away by the host."""
    fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
    ticks = [int(field) for field in fields[:GUEST]]
    busy = sum(ticks) - ticks[IDLE] - ticks[IOWAIT] - ticks[STEAL]
    return busy * TICK_S, ticks[STEAL] * TICK_S


def programs_seconds() -> float:
    """Return what all programs used, those that ended through their parents."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has just ended
            continue
        fields = text.rpartition(")")[2].split()
        parent = int(fields[1])
        if parent != KTHREADD and int(path.parent.name) != KTHREADD:
            total += sum(map(int, fields[11:15]))
    return total * TICK_S


def description() -> dict[str, str | int | float]:
    """Return what the machine is, and how busy it was in the last minute."""
    return {
        "processor": processor(),
        "processors": os.cpu_count() or 1,
        "kernel": platform.release(),
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "load": os.getloadavg()[0],
    }


def processor() -> str:
    """Return the processor's name."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
