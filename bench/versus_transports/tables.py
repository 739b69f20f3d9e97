"""The tables: medians of the measurements, in Markdown, with what the machine did meanwhile."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from records import Record

if TYPE_CHECKING:
    from collections.abc import Iterable

MEGA = 1e6
BUSY = 0.05
WARNING = "The machine was busy: these figures prove the programs, not the transports"
Column = tuple[str, Callable[[list[Record]], str]]


def everything(document: dict[str, Any], records: list[Record]) -> str:
    """Return all of it."""
    parts = [heading(document, records)]
    for offloads in (False, True):
        rows = [
            one for one in records if (one.how, one.offloads, one.loss) == ("send", offloads, 0.0)
        ]
        parts.append(f"### Offloads {'on' if offloads else 'off'}\n\n{table(TRANSFER, rows)}")
    pings = [one for one in records if one.how == "ping"]
    parts.append(f"### Round trips of 64 B\n\n{table(PINGS, pings)}")
    lossy = [one for one in records if one.loss > 0]
    if lossy:
        share = f"{lossy[0].loss:.0%} of all packets lost in both directions, offloads off"
        parts.append(f"### {share}\n\n{table(LOSSY, lossy)}")
    failures = sorted(
        {f"{one.transport}, {one.how}: {one.failure}" for one in records if one.failure}
    )
    left_out = [f"{name}: {reason}" for name, reason in document["left_out"].items()]
    if failures or left_out:
        lines = [f"- {line}" for line in [*left_out, *failures]]
        parts.append("Not measured:\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def heading(document: dict[str, Any], records: list[Record]) -> str:
    """Return what was measured, where, and how busy it was there."""
    machine, plan = document["machine"], document["plan"]
    versions = ", ".join(
        f"{name} {version}" for name, version in document["versions"].items() if version
    )
    others = [one.others for one in records if one.others is not None]
    stolen = [one.stolen for one in records if one.stolen is not None]
    busy = "nothing was measured"
    if others:
        busy = (
            f"other programs had {statistics.median(others):.1%} of the machine in the median of "
            f"the measurements, {max(others):.1%} at most; its host took away "
            f"{max(stolen):.1%} at most"
        )
        if statistics.median(others) > BUSY:
            busy += f". **{WARNING}**"
    return (
        f"{machine['processors']} processors of {machine['processor']}, {machine['system']}, "
        f"Linux {machine['kernel']}, {machine['date']}. Load at the beginning "
        f"{machine['load']:.2f}; {busy}.\n{versions}. Medians of {plan['repeats']}; transfers of "
        f"{plan['seconds']} s, {plan['pings']} round trips."
    )


def table(columns: tuple[Column, ...], records: list[Record]) -> str:
    """Return a row per transport, in the order in which they were measured."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.transport, []).append(record)
    lines = [
        "| | " + " | ".join(name for name, _ in columns) + " |",
        "|---|" + "--:|" * len(columns),
    ]
    for name, group in groups.items():
        done = [record for record in group if record.failure is None]
        cells = [cell(done) if done else "-" for _, cell in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def median(values: Iterable[float | None]) -> float:
    """Return the median of what is there."""
    return statistics.median(value for value in values if value is not None)


def goodput(group: list[Record]) -> str:
    """Return the median with its extremes."""
    values = [one.gbit_s for one in group if one.gbit_s is not None]
    # Low rates have two significant digits, high ones two decimals.
    digits = 2 if median(values) >= 1 else 3
    shown = f"{median(values):.{digits}f}"
    if len(values) > 1:
        shown += f" ({min(values):.{digits}f} to {max(values):.{digits}f})"
    lost = [one.lost for one in group if one.lost is not None]
    return shown + (f", {median(lost):.0%} lost" if lost else "")


def cost(*names: str) -> Callable[[list[Record]], str]:
    """Return a cell of processor time per gigabyte."""
    return lambda group: f"{median(one.per_gigabyte(*names) for one in group):.3f}"


def goodput_per_cpu(group: list[Record]) -> str:
    """Return the cell of goodput per second of the processor, both ends and the kernel."""
    return f"{8 / median(one.per_gigabyte(*ALL) for one in group):.2f}"


def memory(name: str) -> Callable[[list[Record]], str]:
    """Return a cell of memory."""
    return lambda group: f"{median(getattr(one, name) for one in group) / MEGA:.0f}"


def packet_size(group: list[Record]) -> str:
    """Return the cell of what crossed the link."""
    return f"{median(one.packet_bytes for one in group):.0f}"


def latency(name: str, *, offloads: bool) -> Callable[[list[Record]], str]:
    """Return a cell of round trips."""

    def cell(group: list[Record]) -> str:
        values = [getattr(one, name) for one in group if one.offloads == offloads]
        return f"{median(values):.0f}" if values else "-"

    return cell


ALL = ("sender_cpu_s", "receiver_cpu_s", "kernel_cpu_s")
TRANSFER: tuple[Column, ...] = (
    ("goodput, Gbit/s", goodput),
    ("sender, CPU s/GB", cost("sender_cpu_s")),
    ("receiver, CPU s/GB", cost("receiver_cpu_s")),
    ("with the kernel, CPU s/GB", cost(*ALL)),
    ("Gbit per CPU s", goodput_per_cpu),
    ("sender, MB", memory("sender_bytes")),
    ("receiver, MB", memory("receiver_bytes")),
    ("B per packet", packet_size),
)
PINGS: tuple[Column, ...] = (
    ("off: p50, us", latency("p50_us", offloads=False)),
    ("off: p99, us", latency("p99_us", offloads=False)),
    ("on: p50, us", latency("p50_us", offloads=True)),
    ("on: p99, us", latency("p99_us", offloads=True)),
)
LOSSY: tuple[Column, ...] = (
    ("goodput, Gbit/s", goodput),
    ("with the kernel, CPU s/GB", cost(*ALL)),
)
