"""Further numbers of qcn-incast, for the sentences of reasons.toml and the notes of paper.toml.

They do not decide a verdict; they show why it is as it is. Each is a text for a name in braces: the
mean over the seeds of one number of one experiment, or of the means over n of several. `NEEDED`
tells which experiments a claim's texts rest on besides its figure's own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from . import nearest, rates
from .measures import slowest_rules
from .plan import NEAREST, REMEDY_BUFFER, TRACED, remedies
from .points import SERVERS, point
from .runs import (
    each,
    goodput,
    notifications,
    queue_kilobytes,
    timeouts_per_flow,
    udp_goodput,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from incastle.papers import Observation, Observations

    from .runs import Statistic

Facts: TypeAlias = dict[str, str]
_FOLDER = Path(__file__).parent
_LONG, _SHORT = "200ms", "10ms"


def _text(values: Iterable[float], digits: int = 0) -> str:
    """Print the mean of what is finite; a dash where nothing is."""
    finite = [value for value in values if math.isfinite(value)]
    return f"{fmean(finite):,.{digits}f}" if finite else "-"


@dataclass(frozen=True)
class Fact:
    """One number: of the experiments at one or several n, the mean."""

    system: str
    rto: str
    buffer: int
    servers: tuple[int, ...]
    prefix: str = ""
    what: Statistic = goodput
    digits: int = 0

    def names(self) -> list[str]:
        """Give the experiments."""
        return [point(self.system, self.rto, self.buffer, n, self.prefix) for n in self.servers]

    def text(self, runs: Observations) -> str:
        """Give the number."""
        return _text(
            (value for name in self.names() for value in each(runs, name, self.what)), self.digits
        )


def _at(
    system: str, buffer: int, n: int, what: Statistic = goodput, *, rto: str = _LONG,
    prefix: str = "", digits: int = 0,
) -> Fact:  # fmt: skip
    return Fact(system, rto, buffer, (n,), prefix, what, digits)


def _over(system: str, buffer: int, *, rto: str = _LONG, prefix: str = "") -> Fact:
    """Give the goodput over all n."""
    return Fact(system, rto, buffer, SERVERS, prefix)


def _kind(kind: str) -> Statistic:
    """Give the share of a run's timeouts of a kind, in per cent."""

    def share(run: Observation) -> float:
        found = run["timeouts"]
        if found.is_empty():
            return math.nan
        return 100 * len(found.filter(pl.col("kind") == kind)) / len(found)

    return share


_BARRIER, _UDP, _NEAR_UDP, _DRR = "barrier/", "udp/", f"{NEAREST}udp/", "drr/"
_ALL_64 = {"II": 64, "III": 64, "IV": 64, "V": 64, "VI": 64}


def _both(
    buffer: int, n: int, what: Statistic = goodput, prefix: str = "", systems: str = "V VI"
) -> dict[str, Fact]:
    """Give a number of these systems as taken, and under the nearest readings as `NAME_near`."""
    found = {}
    for system in systems.split():
        found[system] = _at(system, buffer, n, what, prefix=prefix)
        found[f"{system}_near"] = _at(system, buffer, n, what, prefix=f"{NEAREST}{prefix}")
    return found


def _queues_at(n: int) -> dict[str, Fact]:
    q = queue_kilobytes
    return {
        "here": _at("I", 256, n, q),
        "near": _at("I", 256, n, q, prefix=NEAREST),
        "here_short": _at("I", 256, n, q, rto=_SHORT),
        "near_short": _at("I", 256, n, q, rto=_SHORT, prefix=NEAREST),
    }


_SAMPLED = {
    "plain": _at("I", TRACED, 64),
    "detailed": _at("III", TRACED, 64),
    "detailed_near": _at("III", TRACED, 64, prefix=NEAREST),
    "every": _at("every", TRACED, 64),
    "memory": _at("II", TRACED, 64),
    "kept": _at("II", TRACED, 64, prefix="open/memory/kept/"),
}
_WITH_UDP = {
    **_both(256, 64, prefix=_UDP),
    "V_udp": _at("V", 256, 64, udp_goodput, prefix=_UDP),
    "VI_udp": _at("VI", 256, 64, udp_goodput, prefix=_UDP),
}
_SENT = notifications
_WINDOW = "open/ends/rtt=400us,window=20/"

TABLE: Mapping[str, Mapping[str, Fact]] = {
    "fig2-collapse-32": {
        "timeouts": _at("tcp", 32, 2, timeouts_per_flow),
        "retransmission": _at("tcp", 32, 2, _kind("lost-retransmission"), prefix=_BARRIER),
        "last": _at("tcp", 32, 2, _kind("last-packet"), prefix=_BARRIER),
        "few": _at("tcp", 32, 2, prefix=_WINDOW),
        "four": _at("tcp", 32, 4, prefix=_WINDOW),
        "eight": _at("tcp", 32, 8, prefix=_WINDOW),
    },
    "fig3-large": {"large": _at("tcp", 256, 64, rto=_SHORT)},
    "fig3-32": {"small": _at("tcp", 32, 64, rto=_SHORT)},
    "fig3-64": {"middle": _at("tcp", 64, 64, rto=_SHORT)},
    "fig3-1ms": {
        "short": _at("tcp", 256, 16, timeouts_per_flow, rto="1ms"),
        "long": _at("tcp", 256, 16, timeouts_per_flow, rto=_SHORT),
    },
    "fig4-small": {
        f"{key}_{n}": _at(system, 32, n)
        for key, system in (("qcn", "I"), ("tcp", "tcp"))
        for n in (8, 16, 64)
    },
    "fig4-large": {
        f"{key}_{n}": _at(system, 256, n)
        for key, system in (("qcn", "I"), ("tcp", "tcp"))
        for n in (32, 64)
    },
    "fig5-limit": {"high": _at("I", 32, 64, rto=_SHORT)},
    "fig5-dip": {
        "left": _at("I", TRACED, 4, rto=_SHORT),
        "here": _at("I", TRACED, 8, rto=_SHORT),
        "right": _at("I", TRACED, 16, rto=_SHORT),
        "near": _at("I", TRACED, 8, rto=_SHORT, prefix=NEAREST),
    },
    "fig5-before": {
        "timeouts": _at("I", 256, 32, timeouts_per_flow, digits=1),
        "long": _at("I", 256, 32),
        "short": _at("I", 256, 32, rto=_SHORT),
    },
    "queue-tcp-8": {
        "here": _at("tcp", TRACED, 8, queue_kilobytes, rto=_SHORT),
        "delayed": _at(
            "tcp", TRACED, 8, queue_kilobytes, rto=_SHORT, prefix="open/ends/rtt=400us/"
        ),
    },
    "queue-qcn-8": _queues_at(8),
    "queue-qcn-64": _queues_at(64),
    "fig6-least": {"least": _at("I", TRACED, 8, rates.mean_least)},
    "every-collapse": {
        "whole": _at("every", 32, 64, _kind("full-window"), prefix=_BARRIER),
        "retransmission": _at("every", 32, 64, _kind("lost-retransmission"), prefix=_BARRIER),
        "most": _at("every", 32, 64),
        "half": _at("every", 32, 32),
        "short": _at("VI", 32, 64, rto=_SHORT),
    },
    "older-sampling": {"older": _over("older", 32), "newer": _over("I", 32)},
    "fig9-10-every": _SAMPLED,
    "fig9-10-better": _SAMPLED,
    "fig11-better": {
        "plain": _at("I", TRACED, 32),
        "scaled": _at("IV", TRACED, 32),
        "raw": _at("IV", TRACED, 32, prefix="open/adaptive/raw/"),
        "plain_8": _at("I", TRACED, 8),
        "raw_8": _at("IV", TRACED, 8, prefix="open/adaptive/raw/"),
    },
    "fig11-collapse": {
        "small": _at("IV", 32, 16),
        "small_raw": _at("IV", 32, 16, prefix="open/adaptive/raw/"),
    },
    "fig12-13-best": {
        "V": _over("V", TRACED),
        "VI": _over("VI", TRACED),
        **{f"{one}_near": _over(one, TRACED, prefix=NEAREST) for one in ("II", "IV", "V", "VI")},
    },
    "fig12-13-256": {
        "V": _over("V", 256),
        "VI": _over("VI", 256),
        "V_near": _over("V", 256, prefix=NEAREST),
        "VI_near": _over("VI", 256, prefix=NEAREST),
        "V_64_near": _at("V", 256, 64, prefix=NEAREST),
        "VI_64_near": _at("VI", 256, 64, prefix=NEAREST),
    },
    "fig12-13-32": {
        "V_64": _at("V", 32, 64),
        "VI_64": _at("VI", 32, 64),
        "V_64_near": _at("V", 32, 64, prefix=NEAREST),
        "VI_64_near": _at("VI", 32, 64, prefix=NEAREST),
        "V_short": _at("V", 32, 64, rto=_SHORT),
        "VI_short": _at("VI", 32, 64, rto=_SHORT),
    },
    "fig12-13-queue": _both(256, 64, queue_kilobytes),
    "fig12-13-rto": {
        "V": _over("V", 32),
        "V_short": _over("V", 32, rto=_SHORT),
        "V_large_near": _over("V", 256, prefix=NEAREST),
        "V_large_near_short": _over("V", 256, rto=_SHORT, prefix=NEAREST),
    },
    "table2-more": {
        "I": _at("I", TRACED, 64, _SENT),
        "II": _at("II", TRACED, 64, _SENT),
        "II_near": _at("II", TRACED, 64, _SENT, prefix="open/memory/kept/"),
    },
    "table2-fewer": {
        "III": _at("III", TRACED, 64, _SENT),
        **{f"{one}_near": _at(one, TRACED, 64, _SENT, prefix=NEAREST) for one in _ALL_64},
    },
    "table2-detail": {
        "plain": _at("I", TRACED, 64, _SENT),
        "harmonic": _at("III", TRACED, 64, _SENT),
        "geometric": _at("III-geometric", TRACED, 64, _SENT),
        "near": _at("III", TRACED, 64, _SENT, prefix=NEAREST),
        "near_plain": _at("I", TRACED, 64, _SENT, prefix=NEAREST),
    },
    "table3-few": {
        f"{one}{key}": _at(one, TRACED, 64, timeouts_per_flow, rto=_SHORT, prefix=prefix, digits=1)
        for one in ("II", "III", "V", "VI")
        for key, prefix in (("", ""), ("_near", NEAREST))
    },
    "fig15-udp": {
        "two": _at("tcp", 256, 2, udp_goodput, rto=_SHORT, prefix=_UDP),
        "most": _at("tcp", 256, 64, udp_goodput, rto=_SHORT, prefix=_UDP),
        "servers": _at("tcp", 256, 64, rto=_SHORT, prefix=_UDP),
    },
    "fig16-better": {
        **{f"qcn_{n}": _at("I", 256, n, prefix=_UDP) for n in (16, 32, 64)},
        **{f"tcp_{n}": _at("tcp", 256, n, rto=_SHORT, prefix=_UDP) for n in (16, 32, 64)},
        "udp_32": _at("I", 256, 32, udp_goodput, prefix=_UDP),
    },
    "fig17-18-large": _WITH_UDP,
    "fig17-18-small": _both(32, 64, prefix=_UDP),
    "fig17-18-large-all": _WITH_UDP,
    "fig17-18-dip": {
        "V_8": _at("V", 256, 8, prefix=_UDP),
        "VI_8": _at("VI", 256, 8, prefix=_UDP),
        "V_udp": _at("V", 256, 8, udp_goodput, prefix=_UDP),
        "VI_udp": _at("VI", 256, 8, udp_goodput, prefix=_UDP),
    },
    "udp-queue-tcp": {
        "two": _at("tcp", 256, 2, queue_kilobytes, rto=_SHORT, prefix=_UDP),
        "sixteen": _at("tcp", 256, 16, queue_kilobytes, rto=_SHORT, prefix=_UDP),
    },
    "udp-queue-combined": _both(256, 64, queue_kilobytes, _UDP),
    "udp-queue-detailed": {
        "here": _at("III", 256, 64, queue_kilobytes, prefix=_UDP),
        "near": _at("III", 256, 64, queue_kilobytes, prefix=_NEAR_UDP),
    },
    "fair-queueing": {
        "plain_32": _at("I", 32, 8),
        "fair_32": _at("I", 32, 8, prefix=_DRR),
        "plain_64": _at("I", TRACED, 64),
        "fair_64": _at("I", TRACED, 64, prefix=_DRR),
    },
}
"""The numbers in the reasons of each claim."""


def needed(*claims: str) -> tuple[str, ...]:
    """Give the experiments that the reasons of these claims rest on."""
    facts = (fact for claim in claims for fact in TABLE.get(claim, {}).values())
    return tuple(dict.fromkeys(name for fact in facts for name in fact.names()))


def _of(claim: str) -> Callable[[Observations], Facts]:
    return lambda runs: {key: fact.text(runs) for key, fact in TABLE[claim].items()}


def _ratios(runs: Observations) -> Facts:
    """Tell table I's ratio at 2 and at 8 servers."""
    return {key: _text(slowest_rules(runs, n), 2) for key, n in (("two", 2), ("eight", 8))}


def _again(runs: Observations) -> Facts:
    """Tell which claims would be in their bands under the nearest readings, and as taken."""
    before = nearest.shares(nearest.taken(runs), _FOLDER)
    after = nearest.shares(nearest.instead(runs), _FOLDER)
    return {
        "judged": str(len(after)),
        "before": str(sum(share == 1 for share in before.values())),
        "after": str(sum(share == 1 for share in after.values())),
        "gained": nearest.listed(name for name in after if after[name] > before[name]),
        "lost": nearest.listed(name for name in after if after[name] < before[name]),
        "out": nearest.listed(name for name, share in after.items() if share == 0),
    }


def _remedies(runs: Observations) -> Facts:
    """Tell the goodput of each remedy with 32 servers, or with 64 where those are left out."""
    ends = [point("tcp", _LONG, REMEDY_BUFFER, n) for n in (32, 64)]
    n = 32 if f"remedy/none/{ends[0]}" in runs.runs else 64
    found = {"servers": str(n)}
    for place, (name, (system, rto, _)) in enumerate(remedies(n).items()):
        path = f"remedy/{name}/{point(system, rto, REMEDY_BUFFER, n)}"
        found[f"remedy_{place}"] = _text(each(runs, path, goodput))
    return found


FACTS: dict[str, Callable[[Observations], Facts]] = {
    **{claim: _of(claim) for claim in TABLE},
    "table1-before": _ratios,
    "open-nearest": _again,
    "beyond-remedies": _remedies,
}
"""By claim, and by figure for its note."""
