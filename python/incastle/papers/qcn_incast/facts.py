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

from . import counters, nearest, rates
from .measures import slowest_rules
from .plan import EARLY, LIMITER, NEAREST, REMEDY_BUFFER, TRACED, TRACES, remedies
from .points import SERVERS, VARIANTS, Line, point
from .runs import (
    UNDER_WAY,
    datagrams_refused,
    each,
    early_waits,
    goodput,
    notifications,
    queue_kilobytes,
    share_of_kind,
    timeouts_per_flow,
    udp_goodput,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from incastle.reproduction.papers import Observations

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

    line: Line
    servers: tuple[int, ...]
    what: Statistic = goodput
    digits: int = 0

    def names(self) -> list[str]:
        """Give the experiments."""
        return [self.line.at(n) for n in self.servers]

    def text(self, runs: Observations) -> str:
        """Give the number."""
        return _text(
            (value for name in self.names() for value in each(runs, name, self.what)), self.digits
        )


_LOST_AGAIN = share_of_kind("lost-retransmission")


def _at(line: Line, n: int, what: Statistic = goodput, digits: int = 0) -> Fact:
    return Fact(line, (n,), what, digits)


def _over(system: str, buffer: int, *, rto: str = _LONG, prefix: str = "") -> Fact:
    """Give the goodput over all n."""
    return Fact(Line(system, buffer, rto, prefix), SERVERS)


_BARRIER, _UDP, _NEAR_UDP, _DRR = "barrier/", "udp/", f"{NEAREST}udp/", "drr/"


def _both(buffer: int, n: int, what: Statistic = goodput, prefix: str = "") -> dict[str, Fact]:
    """Give a number of V and VI as taken, and under the nearest readings as `NAME_near`."""
    found = {}
    for system in ("V", "VI"):
        found[system] = _at(Line(system, buffer, prefix=prefix), n, what)
        found[f"{system}_near"] = _at(Line(system, buffer, prefix=f"{NEAREST}{prefix}"), n, what)
    return found


def _queues_at(n: int) -> dict[str, Fact]:
    q = queue_kilobytes
    return {
        "here": _at(Line("I", 256), n, q),
        "near": _at(Line("I", 256, prefix=NEAREST), n, q),
        "here_short": _at(Line("I", 256, rto=_SHORT), n, q),
        "near_short": _at(Line("I", 256, rto=_SHORT, prefix=NEAREST), n, q),
    }


def _traced(system: str, what: Statistic, digits: int = 0) -> Fact:
    return _at(Line(system, TRACED, prefix="trace/"), TRACES[system], what, digits)


def _waits(system: str) -> dict[str, Fact]:
    """Tell of a system's timeouts with 64 servers and 10 ms their shares, in per cent."""
    line = Line(system, TRACED, _SHORT, _BARRIER)
    return {
        f"{system}_again": _at(line, 64, _LOST_AGAIN),
        f"{system}_kept": _at(line, 64, share_of_kind(UNDER_WAY)),
        f"{system}_whole": _at(line, 64, share_of_kind("full-window")),
        f"{system}_early": _at(line, 64, early_waits),
    }


_SAMPLED = {
    "reached": _traced("III", counters.beyond_first_table, 1),
    "fall_ms": _traced("II", counters.milliseconds_to_zero, 1),
    "fall_samples": _traced("II", counters.samples_to_zero),
    "plain": _at(Line("I", TRACED), 64),
    "detailed": _at(Line("III", TRACED), 64),
    "detailed_near": _at(Line("III", TRACED, prefix=NEAREST), 64),
    "every": _at(Line("every", TRACED), 64),
    "memory": _at(Line("II", TRACED), 64),
    "kept": _at(Line("II", TRACED, prefix="open/memory/kept/"), 64),
}
_WITH_UDP = {
    "refused": _at(Line("V", 256, prefix=_UDP), 64, datagrams_refused),
    **_both(256, 64, prefix=_UDP),
    "V_udp": _at(Line("V", 256, prefix=_UDP), 64, udp_goodput),
    "VI_udp": _at(Line("VI", 256, prefix=_UDP), 64, udp_goodput),
}
_SENT = notifications
_WINDOW = "open/ends/rtt=400us,window=20/"

TABLE: Mapping[str, Mapping[str, Fact]] = {
    "fig2-collapse-32": {
        "timeouts": _at(Line("tcp", 32), 2, timeouts_per_flow),
        "retransmission": _at(Line("tcp", 32, prefix=_BARRIER), 2, _LOST_AGAIN),
        "last": _at(Line("tcp", 32, prefix=_BARRIER), 2, share_of_kind("last-packet")),
        "few": _at(Line("tcp", 32, prefix=_WINDOW), 2),
        "four": _at(Line("tcp", 32, prefix=_WINDOW), 4),
        "eight": _at(Line("tcp", 32, prefix=_WINDOW), 8),
    },
    "fig3-large": {"large": _at(Line("tcp", 256, rto=_SHORT), 64)},
    "fig3-32": {"small": _at(Line("tcp", 32, rto=_SHORT), 64)},
    "fig3-64": {"middle": _at(Line("tcp", 64, rto=_SHORT), 64)},
    "fig3-1ms": {
        "kept": _at(
            Line("tcp", EARLY.buffer, EARLY.rto, _BARRIER), EARLY.servers, share_of_kind(UNDER_WAY)
        ),
        "short": _at(Line("tcp", 256, rto="1ms"), 16, timeouts_per_flow),
        "long": _at(Line("tcp", 256, rto=_SHORT), 16, timeouts_per_flow),
    },
    "fig4-small": {
        f"{key}_{n}": _at(Line(system, 32), n)
        for key, system in (("qcn", "I"), ("tcp", "tcp"))
        for n in (8, 16, 64)
    },
    "fig4-large": {
        f"{key}_{n}": _at(Line(system, 256), n)
        for key, system in (("qcn", "I"), ("tcp", "tcp"))
        for n in (32, 64)
    },
    "fig5-limit": {"high": _at(Line("I", 32, rto=_SHORT), 64)},
    "fig5-dip": {
        "left": _at(Line("I", TRACED, rto=_SHORT), 4),
        "here": _at(Line("I", TRACED, rto=_SHORT), 8),
        "right": _at(Line("I", TRACED, rto=_SHORT), 16),
        "near": _at(Line("I", TRACED, rto=_SHORT, prefix=NEAREST), 8),
    },
    "fig5-before": {
        "timeouts": _at(Line("I", 256), 32, timeouts_per_flow, digits=1),
        "long": _at(Line("I", 256), 32),
        "short": _at(Line("I", 256, rto=_SHORT), 32),
    },
    "queue-tcp-8": {
        "here": _at(Line("tcp", TRACED, rto=_SHORT), 8, queue_kilobytes),
        "delayed": _at(
            Line("tcp", TRACED, rto=_SHORT, prefix="open/ends/rtt=400us/"), 8, queue_kilobytes
        ),
    },
    "queue-qcn-8": _queues_at(8),
    "queue-qcn-64": _queues_at(64),
    "fig6-least": {"least": _at(Line("I", TRACED), 8, rates.mean_least)},
    "every-collapse": {
        "middle": _at(Line("every", 64), 64),
        "middle_timeouts": _at(Line("every", 64), 64, timeouts_per_flow, 1),
        "whole": _at(Line("every", 32, prefix=_BARRIER), 64, share_of_kind("full-window")),
        "retransmission": _at(Line("every", 32, prefix=_BARRIER), 64, _LOST_AGAIN),
        "most": _at(Line("every", 32), 64),
        "half": _at(Line("every", 32), 32),
        "short": _at(Line("VI", 32, rto=_SHORT), 64),
    },
    "older-sampling": {"older": _over("older", 32), "newer": _over("I", 32)},
    "fig9-10-every": _SAMPLED,
    "fig9-10-better": _SAMPLED,
    "fig11-better": {
        "above": _traced("IV", counters.remembering, 1),
        "greatest": _traced("IV", counters.greatest_memory, 1),
        "plain_64": _over("I", 64),
        "scaled_64": _over("IV", 64),
        "plain": _at(Line("I", TRACED), 32),
        "scaled": _at(Line("IV", TRACED), 32),
        "raw": _at(Line("IV", TRACED, prefix="open/adaptive/raw/"), 32),
        "plain_8": _at(Line("I", TRACED), 8),
        "raw_8": _at(Line("IV", TRACED, prefix="open/adaptive/raw/"), 8),
    },
    "fig11-collapse": {
        "small": _at(Line("IV", 32), 16),
        "small_raw": _at(Line("IV", 32, prefix="open/adaptive/raw/"), 16),
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
        "V_64_near": _at(Line("V", 256, prefix=NEAREST), 64),
        "VI_64_near": _at(Line("VI", 256, prefix=NEAREST), 64),
    },
    "fig12-13-32": {
        "V_64": _at(Line("V", 32), 64),
        "VI_64": _at(Line("VI", 32), 64),
        "V_64_near": _at(Line("V", 32, prefix=NEAREST), 64),
        "VI_64_near": _at(Line("VI", 32, prefix=NEAREST), 64),
        "V_short": _at(Line("V", 32, rto=_SHORT), 64),
        "VI_short": _at(Line("VI", 32, rto=_SHORT), 64),
    },
    "fig12-13-queue": _both(256, 64, queue_kilobytes),
    "fig12-13-rto": {
        "V": _over("V", 32),
        "V_short": _over("V", 32, rto=_SHORT),
        "V_large_near": _over("V", 256, prefix=NEAREST),
        "V_large_near_short": _over("V", 256, rto=_SHORT, prefix=NEAREST),
    },
    "table2-more": {
        "I": _at(Line("I", TRACED), 64, _SENT),
        "II": _at(Line("II", TRACED), 64, _SENT),
        "II_near": _at(Line("II", TRACED, prefix="open/memory/kept/"), 64, _SENT),
    },
    "table2-fewer": {
        "reached": _SAMPLED["reached"],
        "III": _at(Line("III", TRACED), 64, _SENT),
        **{
            f"{one}_near": _at(Line(one, TRACED, prefix=NEAREST), 64, _SENT) for one in VARIANTS[1:]
        },
    },
    "table2-detail": {
        "plain": _at(Line("I", TRACED), 64, _SENT),
        "harmonic": _at(Line("III", TRACED), 64, _SENT),
        "geometric": _at(Line("III-geometric", TRACED), 64, _SENT),
        "near": _at(Line("III", TRACED, prefix=NEAREST), 64, _SENT),
        "near_plain": _at(Line("I", TRACED, prefix=NEAREST), 64, _SENT),
    },
    "table3-few": {
        **_waits("II"),
        **_waits("III"),
        **_waits("V"),
        **_waits("VI"),
        **{
            f"{one}{key}": _at(Line(one, TRACED, _SHORT, prefix), 64, timeouts_per_flow, 1)
            for one in ("II", "III", "V", "VI")
            for key, prefix in (("", ""), ("_near", NEAREST))
        },
    },
    "table3-many": {
        one: _at(Line(one, TRACED, _SHORT), 64, timeouts_per_flow) for one in ("I", "IV")
    },
    "fig15-udp": {
        "two": _at(Line("tcp", 256, rto=_SHORT, prefix=_UDP), 2, udp_goodput),
        "most": _at(Line("tcp", 256, rto=_SHORT, prefix=_UDP), 64, udp_goodput),
        "servers": _at(Line("tcp", 256, rto=_SHORT, prefix=_UDP), 64),
    },
    "fig16-better": {
        **{f"qcn_{n}": _at(Line("I", 256, prefix=_UDP), n) for n in (16, 32, 64)},
        **{f"tcp_{n}": _at(Line("tcp", 256, rto=_SHORT, prefix=_UDP), n) for n in (16, 32, 64)},
        "refused": _at(Line("I", 256, prefix=_UDP), 32, datagrams_refused),
        "udp_32": _at(Line("I", 256, prefix=_UDP), 32, udp_goodput),
    },
    "fig17-18-large": _WITH_UDP,
    "fig17-18-small": _both(32, 64, prefix=_UDP),
    "fig17-18-large-all": _WITH_UDP,
    "fig17-18-dip": {
        "V_8": _at(Line("V", 256, prefix=_UDP), 8),
        "VI_8": _at(Line("VI", 256, prefix=_UDP), 8),
        "V_udp": _at(Line("V", 256, prefix=_UDP), 8, udp_goodput),
        "VI_udp": _at(Line("VI", 256, prefix=_UDP), 8, udp_goodput),
    },
    "udp-queue-tcp": {
        "two": _at(Line("tcp", 256, rto=_SHORT, prefix=_UDP), 2, queue_kilobytes),
        "sixteen": _at(Line("tcp", 256, rto=_SHORT, prefix=_UDP), 16, queue_kilobytes),
    },
    "udp-queue-combined": _both(256, 64, queue_kilobytes, _UDP),
    "udp-queue-detailed": {
        "here": _at(Line("III", 256, prefix=_UDP), 64, queue_kilobytes),
        "near": _at(Line("III", 256, prefix=_NEAR_UDP), 64, queue_kilobytes),
    },
    "fair-queueing": {
        "plain_32": _at(Line("I", 32), 8),
        "fair_32": _at(Line("I", 32, prefix=_DRR), 8),
        "plain_64": _at(Line("I", TRACED), 64),
        "fair_64": _at(Line("I", TRACED, prefix=_DRR), 64),
    },
}
"""The numbers in the reasons of each claim."""

_NOTES: Mapping[str, Mapping[str, Fact]] = {
    "16": {"refused": _at(Line("I", 256, prefix=_UDP), 32, datagrams_refused)},
    "17": {"refused": _at(Line("V", 256, prefix=_UDP), 64, datagrams_refused)},
    "open-limiter": {
        f"{system}{key}": _at(Line(system, TRACED, prefix=prefix), 16)
        for system in ("I", "VI")
        for key, prefix in (("", ""), ("_long", LIMITER))
    },
}
"""The numbers in the notes on figures, all of them of the figure's own experiments."""


def needed(*claims: str) -> tuple[str, ...]:
    """Give the experiments that the reasons of these claims rest on."""
    facts = (fact for claim in claims for fact in TABLE.get(claim, {}).values())
    return tuple(dict.fromkeys(name for fact in facts for name in fact.names()))


def _of(facts: Mapping[str, Fact]) -> Callable[[Observations], Facts]:
    return lambda runs: {key: fact.text(runs) for key, fact in facts.items()}


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
    **{name: _of(facts) for name, facts in (*TABLE.items(), *_NOTES.items())},
    "table1-before": _ratios,
    "open-nearest": _again,
    "beyond-remedies": _remedies,
}
"""By claim, and by figure for its note."""
