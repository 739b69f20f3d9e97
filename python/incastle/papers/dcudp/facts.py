"""Further numbers of dcudp, for the sentences of reasons.toml and the notes of paper.toml.

They decide no verdict; they show why it is as it is. Each is a text for a name in braces: the mean
over the seeds of one number of one experiment, or what the map says as a whole. `needed` tells
which experiments a claim's texts rest on besides its figure's own.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

from . import answer, measures, plan
from .plan import MANY, NEWCOMER_S, SHORT_MS
from .readings import DCTCP, DCTCP_50, DCTCP_ONE, SHOWN, TCP, UDT
from .runs import (
    calm_after,
    jain_of_bursts,
    loss,
    mean_queue,
    newcomer,
    number,
    of,
    queue,
    share_after,
    short_over_long,
    throughput,
    window_after,
    window_before,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from incastle.reproduction.papers import Length, Observation, Observations

    from .readings import System

Facts: TypeAlias = dict[str, str]
Statistic: TypeAlias = "Callable[[Observation, Length], float]"
_SYSTEM = {system.label: system for system in SHOWN}
_DEFAULT, _ECT, _DROPS = (
    _SYSTEM[label] for label in ("default", "control ECT, K = 64", "red drops at th_max")
)


def _text(values: Iterable[float], digits: int) -> str:
    """Print the mean of what is finite; a dash where nothing is."""
    finite = [value for value in values if math.isfinite(value)]
    return f"{fmean(finite):,.{digits}f}" if finite else "-"


@dataclass(frozen=True)
class Fact:
    """One number of one experiment."""

    name: str
    what: Statistic
    digits: int = 0

    def text(self, runs: Observations) -> str:
        """Give the mean over the seeds."""
        return _text(of(runs, self.name, lambda run: self.what(run, runs.length)), self.digits)


# ---- what is told of a run


def _whole(run: Observation, length: Length) -> float:
    return throughput(run, plan.seconds(length))


def _short(run: Observation, _: Length) -> float:
    return throughput(run, SHORT_MS / 1e3)


def _mean_queue(run: Observation, _: Length) -> float:
    return mean_queue(run)


def _early_queue(run: Observation, _: Length) -> float:
    return number(queue(run, 0.0, 0.1).mean())


def _calm(run: Observation, length: Length) -> float:
    return calm_after(run, plan.seconds(length))


def _lost(run: Observation, _: Length) -> float:
    return loss(run)


def _taken(system: System) -> Statistic:
    return lambda run, length: share_after(run, system.scenarios, plan.ended(length))


def _before(run: Observation, length: Length) -> float:
    return window_before(run, plan.ended(length))


def _after(run: Observation, length: Length) -> float:
    return window_after(run, plan.ended(length))


def _newcomer(run: Observation, _: Length) -> float:
    return newcomer(run, NEWCOMER_S) / 1e3


def _jain(run: Observation, length: Length) -> float:
    return jain_of_bursts(run, plan.bursts(length))


def _short_over_long(run: Observation, length: Length) -> float:
    return short_over_long(run, plan.bursts(length))


# ---- by system


def _long(system: System, n: int, what: Statistic, digits: int = 0) -> Fact:
    return Fact(f"long/{system.key}/n={n}", what, digits)


def _left(system: System, what: Statistic, digits: int = 0) -> Fact:
    return Fact(f"after/{system.key}", what, digits)


def _come(system: System) -> Fact:
    return Fact(f"newcomer/{system.key}", _newcomer)


def _burst(system: System, what: Statistic) -> Fact:
    return Fact(f"bursts/{system.key}", what, 3)


_FULL = {
    "dcudp": _long(_DEFAULT, MANY, _mean_queue),
    "ect": _long(_ECT, MANY, _mean_queue),
    "drops": _long(_DROPS, MANY, _mean_queue),
    "tcp": _long(TCP, MANY, _mean_queue),
    "ect_calm": _long(_ECT, MANY, _calm),
    "drops_calm": _long(_DROPS, MANY, _calm, 1),
}
_TEN_MS = {
    "tcp": _long(TCP, MANY, _short, 4),
    "dctcp": _long(DCTCP, MANY, _short, 4),
    "dcudp": _long(_DEFAULT, MANY, _short, 4),
    "one": _long(_DEFAULT, 1, _short, 2),
    "tcp_one": _long(TCP, 1, _short, 2),
    "dctcp_one": _long(DCTCP, 1, _short, 2),
    "one_ect": _long(_ECT, 1, _short, 2),
}
_FAIR = {
    "dcudp": _burst(_DEFAULT, _jain),
    "printed": _burst(_SYSTEM["as printed"], _jain),
    "ect": _burst(_ECT, _jain),
    "drops": _burst(_DROPS, _jain),
    "tcp": _burst(TCP, _jain),
    "dctcp": _burst(DCTCP, _jain),
    "dctcp_one": _burst(DCTCP_ONE, _jain),
}
_RTT = {
    "dcudp": _burst(_DEFAULT, _short_over_long),
    "dctcp": _burst(DCTCP, _short_over_long),
    "dctcp_one": _burst(DCTCP_ONE, _short_over_long),
}
TABLE: Mapping[str, Mapping[str, Fact]] = {
    "fig6a-dcudp": {
        "many": _long(_DEFAULT, MANY, _whole, 2),
        "one": _long(_DEFAULT, 1, _whole, 2),
        "one_64": _long(_SYSTEM["K = 64"], 1, _whole, 2),
        "one_printed": _long(_SYSTEM["exit printed"], 1, _whole, 2),
        "one_growth": _long(_SYSTEM["growth per-rtt"], 1, _whole, 2),
        "one_ect": _long(_ECT, 1, _whole, 2),
    },
    "fig6a-tcp": {"tcp": _long(TCP, 1, _whole, 2), "many": _long(TCP, MANY, _whole, 2)},
    "fig6b-dcudp-tcp": _TEN_MS,
    "fig6b-dcudp-dctcp": _TEN_MS,
    "fig6b-tcp-dctcp": _TEN_MS,
    "fig7-tcp-worst": _FULL,
    "fig7-burst": _FULL,
    "fig7-quickly": _FULL,
    "fig7-small": _FULL,
    "fig7-stable": _FULL,
    "fig8-dcudp": {
        "dcudp": _left(_DEFAULT, _taken(_DEFAULT)),
        "printed": _left(_SYSTEM["exit printed"], _taken(_DEFAULT)),
        "late": _left(_SYSTEM["K = 64"], _taken(_DEFAULT)),
        "growth": _left(_SYSTEM["growth per-rtt"], _taken(_DEFAULT)),
    },
    "fig8-tcp": {
        "tcp": _left(TCP, _taken(TCP)),
        "dctcp": _left(DCTCP, _taken(DCTCP), 1),
        "before": _left(DCTCP, _before),
        "after": _left(DCTCP, _after),
    },
    "fig9-10": {
        "before": _left(DCTCP, _before),
        "after": _left(DCTCP, _after),
        "before_50": _left(DCTCP_50, _before),
        "after_50": _left(DCTCP_50, _after),
    },
    "text-dcudp-loss": {
        "dcudp": _long(_DEFAULT, MANY, _lost),
        "ect": _long(_ECT, MANY, _lost),
        "drops": _long(_DROPS, MANY, _lost),
    },
    "text-faster": {
        "dcudp": _long(_DEFAULT, MANY, _early_queue),
        "udt": _long(UDT, MANY, _early_queue),
        "ect": _long(_ECT, MANY, _early_queue),
        "drops": _long(_DROPS, MANY, _early_queue),
    },
    "text-newcomer-dctcp": {"as_taken": _come(DCTCP), "one": _come(DCTCP_ONE)},
    "text-newcomer-dcudp": {
        "queue": Fact(f"newcomer/{_DEFAULT.key}", _mean_queue),
        "ect": _come(_ECT),
        "drops": _come(_DROPS),
        "dctcp": _come(DCTCP),
    },
    "abstract-fair": _FAIR,
    "abstract-fairer-dctcp": _FAIR,
    "abstract-fairer-tcp": _FAIR,
    "abstract-converges": _FAIR,
    "abstract-converges-dctcp": _FAIR,
    "text-dctcp-unfair": _FAIR,
    "text-rtt-dctcp": _RTT,
    "text-rtt-dcudp": _RTT,
}
"""The numbers in the reasons of each claim."""


def needed(*claims: str) -> tuple[str, ...]:
    """Give the experiments that the reasons of these claims rest on."""
    facts = (fact for claim in claims for fact in TABLE.get(claim, {}).values())
    return tuple(dict.fromkeys(fact.name for fact in facts))


def _of(facts: Mapping[str, Fact], runs: Observations) -> Facts:
    return {key: fact.text(runs) for key, fact in facts.items()}


def _waiting(runs: Observations) -> Facts:
    """Tell in how many runs TCP's constant sender has no window to show after the other's end."""
    ended = plan.ended(runs.length)
    here = runs[f"after/{TCP.key}"]
    silent = [math.isnan(number(_after(run, runs.length))) for run in here]
    return {"waiting": str(sum(silent)), "seeds": str(len(here)), "ended": f"{1e3 * ended:g}"}


def _windows(runs: Observations) -> Facts:
    return {**_of(TABLE["fig8-tcp"], runs), **_waiting(runs)}


def _map(runs: Observations) -> Facts:
    """Count in how many combinations each figure appears, and which appear together."""
    found = answer.appearing(answer.combined(runs))
    alone = Counter(figure for figures in found.values() for figure in figures)
    most = max(len(figures) for figures in found.values())
    sets = Counter(
        " and ".join(sorted(figures)) for figures in found.values() if len(figures) == most
    )
    best = ", ".join(f"{name} in {times}" for name, times in sorted(sets.items()))
    places = {f"n{figure}": str(alone[figure]) for figure in answer.FIGURES_ASKED}
    both = sum({"6a", "7b"} <= figures for figures in found.values())
    return {
        **places,
        "all": str(len(found)),
        "most": str(most),
        "best": best,
        "with_7b": _places(found, {"7b"}),
        "with_8": _places(found, {"6a", "8"}),
        "both": str(both),
    }


def _places(found: Mapping[tuple[str, str], set[str]], asked: set[str]) -> str:
    """Count the combinations that give these figures, by what the switch and the packets do."""
    groups = Counter(row.partition(":")[0] for (row, _), given in found.items() if asked <= given)
    listed = [f"{group} ({times})" for group, times in sorted(groups.items())]
    return "; ".join(listed) or "no reading"


def _default(runs: Observations) -> Facts:
    """Tell which figures the default reading gives."""
    table = answer.as_taken(runs).filter(row="default", in_band=False)
    missing = {column.partition(",")[0] for column in table["column"]}
    return {"appear": ", ".join(sorted({*answer.FIGURES_ASKED} - missing)) or "none"}


def _gain(runs: Observations) -> Facts:
    """Tell by how much DCUDP with ECN-capable control packets is ahead after 10 ms."""
    seconds = SHORT_MS / 1e3
    ours, theirs = (measures.throughputs(runs, system, MANY, seconds) for system in (_ECT, TCP))
    gain = [100 * (a / b - 1) for a, b in zip(ours, theirs, strict=True)]
    return {"gain": _text(gain, 2)}


FACTS: dict[str, Callable[[Observations], Facts]] = {
    **{name: partial(_of, facts) for name, facts in TABLE.items()},
    "fig8-tcp": _windows,
    "fig8-linear": _waiting,
    "answer": _default,
    "answer-map": _map,
    "6-b": _gain,
}
"""By claim, and by figure for its note."""
