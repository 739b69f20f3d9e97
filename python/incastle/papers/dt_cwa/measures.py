"""What dt-cwa measures for its claims: per claim and case one value for each seed.

A case is a reading of DT-CWA. Comparisons with DCTCP are formed between runs of the same seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from incastle import ends

from . import plan
from .readings import DCTCP, MARKERS, REACTIONS, READINGS, SWITCH_ALONE, reading
from .runs import (
    Values,
    at_one_segment,
    change,
    deviation,
    difference,
    drops,
    message_completion,
    of,
    query_completion,
    query_throughput,
    ratio,
    throughput,
    timeouts_per_flow,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from incastle.ends import Value
    from incastle.reproduction.papers import Observations

    from .readings import System
    from .runs import Statistic

Cases: TypeAlias = "Mapping[str, Values]"
Measure: TypeAlias = "Callable[[Observations], Cases]"
Measured: TypeAlias = "Callable[[Observations, System], Values]"


def throughputs(runs: Observations, name: str) -> list[float]:
    """Give the throughput of long flows, for each seed, in Mbit/s."""
    seconds = plan.seconds(runs.length)
    return [throughput(run, seconds) for run in runs[name]]


def timeouts(runs: Observations, name: str) -> list[float]:
    """Give the timeouts of long flows per flow and second."""
    seconds = plan.seconds(runs.length)
    return [timeouts_per_flow(run) / seconds for run in runs[name]]


def seed_by_seed(choose: Callable[[list[float]], float], lists: Iterable[Values]) -> Values:
    """Choose, for each seed, among the values of several experiments."""
    return [ends.rising(choose, values) for values in zip(*lists, strict=True)]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


# ---- figure 4


def _beta(system: System, tenths: int) -> str:
    return f"beta/{system.key}/b=0.{tenths}"


def _falls(runs: Observations, system: System) -> Values:
    return change(throughputs(runs, _beta(system, 9)), throughputs(runs, _beta(system, 2)))


def _best(runs: Observations, system: System) -> Values:
    beyond = [
        throughputs(runs, _beta(system, tenths))
        for tenths in plan.betas(runs.length)
        if tenths > 2  # noqa: PLR2004
    ]
    return change(seed_by_seed(max, beyond), throughputs(runs, _beta(system, 2)))


def _beta_timeouts(runs: Observations, system: System) -> Values:
    return difference(timeouts(runs, _beta(system, 9)), timeouts(runs, _beta(system, 2)))


# ---- figure 6


def _ftp(system: System, n: int) -> str:
    return f"ftp/{system.key}/n={n}"


def ftp_change(runs: Observations, system: System, n: int) -> Values:
    """Give DT-CWA's throughput over DCTCP's with n long flows, less 1, in percent."""
    return change(throughputs(runs, _ftp(system, n)), throughputs(runs, _ftp(DCTCP, n)))


def _never_less(runs: Observations, system: System) -> Values:
    return seed_by_seed(min, [ftp_change(runs, system, n) for n in plan.flows(runs.length)])


def _collapse(runs: Observations, system: System) -> Values:
    past = [n for n in plan.flows(runs.length) if n > 35]  # noqa: PLR2004  "after 35 flows"
    return seed_by_seed(max, [throughputs(runs, _ftp(system, n)) for n in past])


def query_change(runs: Observations, kind: str, system: System, n: int) -> Values:
    """Give the throughput of DT-CWA's queries over that of DCTCP's, less 1, in percent."""
    names = (f"{kind}/{one.key}/n={n}" for one in (system, DCTCP))
    return change(*(of(runs, name, query_throughput) for name in names))


# ---- figures 7 and 8


def at_same_thresholds(runs: Observations, kinds: Iterable[str]) -> Value:
    """Give how far the completion under DT-CWA is from that under DCTCP's sender, in percent.

    Both at the same thresholds; the largest, over the kinds, readings and numbers of flows.
    """
    found: list[Value] = [0.0]
    for kind in kinds:
        for n in plan.many(runs.length):
            for marker, alone in zip(MARKERS, SWITCH_ALONE, strict=True):
                of_dctcp = of(runs, f"{kind}/{alone.key}/n={n}", completion(kind))
                for one in (reading(marker, reaction) for reaction in REACTIONS):
                    ours = of(runs, f"{kind}/{one.key}/n={n}", completion(kind))
                    found.append(ends.size(ends.rising(_mean, change(ours, of_dctcp))))
    return ends.rising(max, found)


def completion(kind: str) -> Statistic:
    """Give what completion means: of queries that of their last flow, of messages their own."""
    return query_completion if kind in plan.QUERY_KINDS else message_completion


def _ratios(runs: Observations, kind: str, system: System) -> Values:
    what = completion(kind)
    pairs = [
        tuple(of(runs, f"{kind}/{one.key}/n={n}", what) for one in (system, DCTCP))
        for n in plan.many(runs.length)
    ]
    return seed_by_seed(max, [ratio(ours, theirs) for ours, theirs in pairs])


def _until_35(runs: Observations, kind: str, system: System) -> Values:
    few = [n for n in plan.many(runs.length) if n <= 35]  # noqa: PLR2004  "until 35 flows"
    names = [f"{kind}/{system.key}/n={n}" for n in few]
    return seed_by_seed(max, [of(runs, name, query_completion) for name in names])


def _shorter(runs: Observations, system: System) -> Values:
    found = []
    for n in plan.many(runs.length):
        messages = of(runs, f"short20/{system.key}/n={n}", message_completion)
        found.append(ratio(messages, of(runs, f"unit/{system.key}/n={n}", query_completion)))
    return seed_by_seed(max, found)


# ---- the reasons


def _timeouts(runs: Observations, system: System) -> Values:
    many = [n for n in plan.flows(runs.length) if n >= 30]  # noqa: PLR2004
    pairs = [[timeouts(runs, _ftp(one, n)) for one in (system, DCTCP)] for n in many]
    return seed_by_seed(_mean, [difference(ours, theirs) for ours, theirs in pairs])


def deviations(runs: Observations, system: System, n: int) -> Values:
    """Give the deviation of the queue over DCTCP's, with n long flows."""
    ours, theirs = (of(runs, _ftp(one, n), deviation) for one in (system, DCTCP))
    return ratio(ours, theirs)


def _marker(runs: Observations) -> Cases:
    pairs = zip(MARKERS, SWITCH_ALONE, strict=True)
    return {marker: deviations(runs, system, 10) for marker, system in pairs}


def _one_segment(runs: Observations) -> Cases:
    return {f"n = {n}": of(runs, f"floor/dctcp/n={n}", at_one_segment) for n in plan.FLOOR_FLOWS}


def _alpha_0(runs: Observations) -> Cases:
    def dropped(kind: str, alpha: int) -> Values:
        return [drops(run) / plan.QUERIES for run in runs[f"alpha/{kind}/a={alpha}"]]

    return {
        plan.KINDS[kind].label: difference(dropped(kind, 0), dropped(kind, 1))
        for kind in plan.QUERY_KINDS
    }


def _alpha_1(runs: Observations) -> Cases:
    def completed(kind: str, alpha: int) -> Values:
        return of(runs, f"alpha/{kind}/a={alpha}", query_completion)

    return {
        plan.KINDS[kind].label: ratio(completed(kind, 1), completed(kind, 0))
        for kind in plan.QUERY_KINDS
    }


def _each(measure: Measured, systems: tuple[System, ...] = READINGS) -> Measure:
    return lambda runs: {system.label: measure(runs, system) for system in systems}


def _at(measure: Callable[[Observations, System, int], Values], n: int) -> Measure:
    return _each(lambda runs, system: measure(runs, system, n))


def _of(kind: str, measure: Callable[[Observations, str, System], Values]) -> Measure:
    return _each(lambda runs, system: measure(runs, kind, system))


def _query_at(kind: str, n: int) -> Measure:
    return _each(lambda runs, system: query_change(runs, kind, system, n))


MEASURES: dict[str, Measure] = {
    "fig4-falls": _each(_falls),
    "fig4-best": _each(_best),
    "fig4-timeouts": _each(_beta_timeouts),
    "fig6-never-less": _each(_never_less),
    **{f"fig6-{n}": _at(ftp_change, n) for n in plan.ASKED},
    "fig6-collapse": _each(_collapse),
    **{f"fig6-{kind}-{n}": _query_at(kind, n) for kind in plan.QUERY_KINDS for n in plan.ASKED},
    **{f"fig7-{kind}-35": _of(kind, _until_35) for kind in plan.QUERY_KINDS},
    **{f"fig7-{kind}-less": _of(kind, _ratios) for kind in plan.QUERY_KINDS},
    **{f"fig8-{kind}-less": _of(kind, _ratios) for kind in ("short20", "short50")},
    "fig8-shorter": _each(_shorter, (DCTCP, *READINGS)),
    "reason-timeouts": _each(_timeouts),
    "reason-queue-10": _at(deviations, 10),
    "reason-queue-30": _at(deviations, 30),
    "reason-marker": _marker,
    "reason-one-segment": _one_segment,
    "reason-alpha-0": _alpha_0,
    "reason-alpha-1": _alpha_1,
}
