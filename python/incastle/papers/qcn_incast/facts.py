"""Further numbers of qcn-incast, for the sentences of reasons.toml and the notes of paper.toml.

They do not decide a verdict; they show why it is as it is. Each is a text for a name in braces.
"""

from __future__ import annotations

import math
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from . import nearest, rates
from .measures import mean
from .plan import NEAREST, REMEDY_BUFFER, TRACED, remedies
from .points import BUFFERS, SERVERS, point
from .runs import (
    each,
    goodput,
    notifications,
    queue_kilobytes,
    timeouts_per_flow,
    udp_goodput,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from incastle.papers import Observation, Observations

    from .runs import Statistic

Facts: TypeAlias = dict[str, str]
_FOLDER = Path(__file__).parent


def _text(values: Iterable[float], digits: int = 0) -> str:
    """Print the mean of what is finite; a dash where nothing is."""
    finite = [value for value in values if math.isfinite(value)]
    return f"{fmean(finite):,.{digits}f}" if finite else "-"


def _at(runs: Observations, name: str, what: Statistic = goodput, digits: int = 0) -> str:
    return _text(each(runs, name, what), digits)


# ---- why timeouts happen


def _share_of_kinds(*kinds: str) -> Statistic:
    """Give the share of a run's timeouts of these kinds, in per cent."""

    def share(run: Observation) -> float:
        found = run["timeouts"]
        if found.is_empty():
            return math.nan
        return 100 * len(found.filter(pl.col("kind").is_in(kinds))) / len(found)

    return share


def _small_buffer(runs: Observations) -> Facts:
    """Tell what stops two servers at 32 KiB, and what a limit of the window changes."""
    name = point("tcp", "200ms", 32, 2, "barrier/")
    return {
        "goodput_2": _at(runs, point("tcp", "200ms", 32, 2)),
        "timeouts_2": _at(runs, point("tcp", "200ms", 32, 2), timeouts_per_flow),
        "retransmission": _at(runs, name, _share_of_kinds("lost-retransmission")),
        "last": _at(runs, name, _share_of_kinds("last-packet")),
        "whole": _at(runs, name, _share_of_kinds("full-window")),
        "limited_2": _at(runs, point("tcp", "200ms", 32, 2, "open/ends/window=20/")),
        "limited_4": _at(runs, point("tcp", "200ms", 32, 4, "open/ends/window=20/")),
        "wide_2": _at(runs, point("tcp", "200ms", 128, 2)),
        "wide_limited_2": _at(runs, point("tcp", "200ms", 128, 2, "open/ends/window=20/")),
    }


def _first_burst(runs: Observations) -> Facts:
    """Tell what 64 servers do at 32 KiB where every packet is sampled."""
    name = point("every", "200ms", 32, 64, "barrier/")
    return {
        "goodput_64": _at(runs, point("every", "200ms", 32, 64)),
        "goodput_32": _at(runs, point("every", "200ms", 32, 32)),
        "whole": _at(runs, name, _share_of_kinds("full-window")),
        "retransmission": _at(runs, name, _share_of_kinds("lost-retransmission")),
        "timeouts": _at(runs, point("every", "200ms", 32, 64), timeouts_per_flow),
        "short": _at(runs, point("VI", "10ms", 32, 64)),
    }


# ---- what is open in QCN


def _again(runs: Observations) -> Facts:
    """Tell which claims would be in their bands under the nearest readings, and as taken."""
    before = nearest.shares(nearest.taken(runs), _FOLDER)
    after = nearest.shares(nearest.instead(runs), _FOLDER)
    whole = [name for name, share in after.items() if share == 1]
    gained = [name for name in after if after[name] > before[name]]
    lost = [name for name in after if after[name] < before[name]]
    return {
        "judged": str(len(after)),
        "before": str(sum(share == 1 for share in before.values())),
        "after": str(len(whole)),
        "gained": nearest.listed(gained),
        "lost": nearest.listed(lost),
        "out": nearest.listed(name for name, share in after.items() if share == 0),
    }


def _detail(runs: Observations) -> Facts:
    """Tell how little III differs from I as taken, and how much at a lower Q_eq."""
    names = {
        "plain": point("I", "200ms", TRACED, 64),
        "harmonic": point("III", "200ms", TRACED, 64),
        "geometric": point("III-geometric", "200ms", TRACED, 64),
        "near_plain": point("I", "200ms", TRACED, 64, NEAREST),
        "near": point("III", "200ms", TRACED, 64, NEAREST),
    }
    counts = {key: each(runs, name, notifications) for key, name in names.items()}
    found = {f"sent_{key}": _text(values) for key, values in counts.items()}
    found |= {f"goodput_{key}": _at(runs, name) for key, name in names.items()}
    return found


def _memory(runs: Observations) -> Facts:
    """Tell what a memory of congestion that never falls changes in II."""
    kept = "open/memory/kept/"
    found = {}
    for n in (16, 32, 64):
        name = point("II", "200ms", TRACED, n)
        found[f"sent_{n}"] = _at(runs, name, notifications)
        found[f"kept_sent_{n}"] = _at(runs, f"{kept}{name}", notifications)
        found[f"goodput_{n}"] = _at(runs, name)
        found[f"kept_goodput_{n}"] = _at(runs, f"{kept}{name}")
        found[f"timeouts_{n}"] = _at(runs, name, timeouts_per_flow, 1)
        found[f"kept_timeouts_{n}"] = _at(runs, f"{kept}{name}", timeouts_per_flow, 1)
    return found


def _adaptive(runs: Observations) -> Facts:
    """Tell what the two readings of IV do."""
    found = {}
    for n in (8, 32, 64):
        name = point("IV", "200ms", TRACED, n)
        found[f"plain_{n}"] = _at(runs, point("I", "200ms", TRACED, n))
        found[f"scaled_{n}"] = _at(runs, name)
        found[f"raw_{n}"] = _at(runs, f"open/adaptive/raw/{name}")
    small = point("IV", "200ms", 32, 16)
    found["small_16"], found["small_raw_16"] = (
        _at(runs, small),
        _at(runs, f"open/adaptive/raw/{small}"),
    )
    return found


def _combined(runs: Observations) -> Facts:
    """Tell the goodput of V and VI, as taken and under the nearest readings, and their queues."""
    found = {}
    for system in ("V", "VI"):
        for buffer in BUFFERS:
            near = [
                each(runs, point(system, "200ms", buffer, n, NEAREST), goodput) for n in SERVERS
            ]
            means = [fmean(values) for values in near if not math.isnan(values[0])]
            found[f"{system}_{buffer}"] = _text(mean(runs, system, buffer))
            found[f"{system}_{buffer}_near"] = _text(means)
            found[f"{system}_{buffer}_least_near"] = _text([min(means)])
            found[f"{system}_{buffer}_short"] = _text(mean(runs, system, buffer, "10ms"))
        for prefix, key in (("", ""), (NEAREST, "_near")):
            name = point(system, "200ms", 256, 64, prefix)
            found[f"{system}_queue{key}"] = _at(runs, name, queue_kilobytes)
        for kind, key in (("", ""), (NEAREST, "_near")):
            name = point(system, "10ms", TRACED, 64, kind)
            found[f"{system}_timeouts{key}"] = _at(runs, name, timeouts_per_flow, 1)
    return found


def _queues(runs: Observations) -> Facts:
    """Tell QCN's mean queues at 256 KiB as taken and at a Q_eq of 10 %."""
    found = {}
    for n in (8, 64):
        for rto in ("200ms", "10ms"):
            found[f"queue_{n}_{rto}"] = _at(runs, point("I", rto, 256, n), queue_kilobytes)
            near = point("I", rto, 256, n, NEAREST)
            found[f"near_{n}_{rto}"] = _at(runs, near, queue_kilobytes)
    return found


def _before_collapse(runs: Observations) -> Facts:
    """Tell QCN's timeouts at 256 KiB, which cost only where RTO_min is 200 ms."""
    found = {}
    for n in SERVERS:
        name = point("I", "200ms", 256, n)
        found[f"timeouts_{n}"] = _at(runs, name, timeouts_per_flow, 1)
        found[f"long_{n}"] = _at(runs, name)
        found[f"short_{n}"] = _at(runs, point("I", "10ms", 256, n))
    return found


def _small_buffers(runs: Observations) -> Facts:
    """Tell TCP's and QCN's goodput at 32 and 64 KiB, by n."""
    return {
        f"{system}_{buffer}_{n}": _at(runs, point(system, "200ms", buffer, n))
        for system in ("tcp", "I", "every", "IV")
        for buffer in (32, 64)
        for n in SERVERS
    }


def _least(runs: Observations) -> Facts:
    name = point("I", "200ms", TRACED, 8)
    return {"least": _at(runs, name, rates.mean_least, 1), "goodput": _at(runs, name)}


# ---- beside UDP


def _udp(runs: Observations) -> Facts:
    """Tell what both get, at 256 KiB without QCN and with V and VI."""
    found = {}
    for n in (2, 4, 8, 16, 32, 64):
        short = point("tcp", "10ms", 256, n, "udp/")
        found[f"udp_{n}"] = _at(runs, short, udp_goodput)
        found[f"tcp_{n}"] = _at(runs, short)
        found[f"queue_{n}"] = _at(runs, short, queue_kilobytes)
        found[f"I_{n}"] = _at(runs, point("I", "200ms", 256, n, "udp/"))
    for system in ("III", "V", "VI"):
        for buffer in (32, 256):
            name = point(system, "200ms", buffer, 64, "udp/")
            found[f"{system}_{buffer}"] = _at(runs, name)
            found[f"{system}_{buffer}_udp"] = _at(runs, name, udp_goodput)
            found[f"{system}_{buffer}_queue"] = _at(runs, name, queue_kilobytes)
            found[f"{system}_{buffer}_timeouts"] = _at(runs, name, timeouts_per_flow, 1)
            near = f"{NEAREST}{name}"
            found[f"{system}_{buffer}_near"] = _at(runs, near)
            found[f"{system}_{buffer}_udp_near"] = _at(runs, near, udp_goodput)
            found[f"{system}_{buffer}_queue_near"] = _at(runs, near, queue_kilobytes)
    return found


def _collapses(runs: Observations) -> Facts:
    """Tell TCP's goodput at few servers, alone and beside UDP."""
    return {
        f"{key}_{buffer}_{n}": _at(runs, point("tcp", "200ms", buffer, n, prefix))
        for key, prefix in (("alone", ""), ("beside", "udp/"))
        for buffer in BUFFERS
        for n in SERVERS
    }


def _fair(runs: Observations) -> Facts:
    """Tell what fair queueing does to QCN, and to TCP without QCN."""
    found = {}
    for buffer in BUFFERS:
        name = point("I", "200ms", buffer, 8)
        found[f"plain_{buffer}"] = _at(runs, name)
        found[f"fair_{buffer}"] = _at(runs, f"drr/{name}")
    for n in (8, 64):
        name = point("tcp", "200ms", REMEDY_BUFFER, n)
        found[f"tcp_{n}"] = _at(runs, f"remedy/none/{name}")
        found[f"tcp_fair_{n}"] = _at(runs, f"remedy/fair queueing/{name}")
    return found


def _remedies(runs: Observations) -> Facts:
    """Tell the goodput of each remedy with 32 servers, or with the most of this length."""
    counts = [
        n for n in (64, 32) if f"remedy/none/{point('tcp', '200ms', REMEDY_BUFFER, n)}" in runs.runs
    ]
    n = counts[-1]
    found = {"servers": str(n)}
    for place, (name, (system, rto, _)) in enumerate(remedies(n).items()):
        path = f"remedy/{name}/{point(system, rto, REMEDY_BUFFER, n)}"
        found[f"remedy_{place}"] = _at(runs, path)
    return found


FACTS: dict[str, Callable[[Observations], Facts]] = {
    "fig2-collapse-32": _small_buffer,
    "fig4-small": _small_buffers,
    "fig5-before": _before_collapse,
    "queue-qcn-8": _queues,
    "queue-qcn-64": _queues,
    "fig6-least": _least,
    "every-collapse": _first_burst,
    "fig9-10-every": lambda runs: _detail(runs) | _memory(runs),
    "fig9-10-better": lambda runs: _detail(runs) | _memory(runs),
    "fig11-better": _adaptive,
    "fig11-collapse": lambda runs: _adaptive(runs) | _small_buffers(runs),
    "fig12-13-best": _combined,
    "fig12-13-256": _combined,
    "fig12-13-32": _combined,
    "fig12-13-queue": _combined,
    "fig12-13-rto": _combined,
    "table2-more": _detail,
    "table2-fewer": lambda runs: _memory(runs) | _detail(runs),
    "table2-detail": _detail,
    "table3-few": _combined,
    "fig14-half": _collapses,
    "fig15-udp": _udp,
    "fig16-better": _udp,
    "fig17-18-large": _udp,
    "fig17-18-small": _udp,
    "fig17-18-large-all": _udp,
    "fig17-18-small-all": _udp,
    "fig17-18-dip": _udp,
    "udp-queue-tcp": _udp,
    "udp-queue-combined": _udp,
    "udp-queue-detailed": _udp,
    "fair-queueing": _fair,
    "open-nearest": _again,
    "beyond-remedies": _remedies,
}
"""By claim, and by figure for its note."""
