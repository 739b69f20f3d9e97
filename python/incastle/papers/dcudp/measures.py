"""What dcudp measures for its claims: per claim and case one value for each seed.

A case is a reading of DCUDP, or the protocol that the claim is about. Comparisons are formed
between runs of the same seed.
"""

from __future__ import annotations

from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

from . import plan
from .plan import LINK, MANY, NEWCOMER_S
from .readings import DCTCP, DCTCP_50, DCTCP_UNMARKED, READINGS, TCP, TCP_ECN, UDT
from .runs import (
    LAST_S,
    NEW_S,
    Values,
    burst,
    burst_bytes,
    by_seed,
    calm_after,
    change,
    difference,
    growth_per_round_trip,
    jain_of_bursts,
    loss,
    mean_queue,
    newcomer,
    number,
    of,
    packets_per_ack,
    queue,
    ratio,
    share_after,
    short_over_long,
    throughput,
    timeouts_per_flow,
    until_udp_mode,
    window_after,
    window_before,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from incastle.reproduction.papers import Observation, Observations

    from .readings import System

Cases: TypeAlias = dict[str, Values]
Measure: TypeAlias = "Callable[[Observations], Cases]"
Measured: TypeAlias = "Callable[[Observations, System], Values]"


# ---- figure 6


def throughputs(runs: Observations, system: System, n: int, seconds: float) -> Values:
    """Give the throughput of n senders until an instant, for each seed, in Gbit/s."""
    kind = "start" if system is DCTCP_UNMARKED else "long"
    return of(runs, f"{kind}/{system.key}/n={n}", lambda run: throughput(run, seconds))


def over_senders(
    runs: Observations, system: System, seconds: float | None = None
) -> dict[int, Values]:
    """Give the throughputs over n, of the whole run or until an instant."""
    until = plan.seconds(runs.length) if seconds is None else seconds
    return {n: throughputs(runs, system, n, until) for n in plan.senders(runs.length)}


def least(runs: Observations, system: System) -> Values:
    """Give the least throughput over n."""
    return by_seed(min, over_senders(runs, system).values())


def _falls_behind(runs: Observations, system: System) -> Values:
    means = [by_seed(fmean, over_senders(runs, one).values()) for one in (TCP, system)]
    return change(*means)


def _timeouts(runs: Observations) -> Cases:
    seconds = plan.seconds(runs.length)
    name = f"long/{TCP.key}/n={MANY}"
    return {f"n = {MANY}": of(runs, name, lambda run: timeouts_per_flow(run) / seconds)}


def ahead(runs: Observations, system: System, other: System) -> Values:
    """Give the share of n at which a system has more throughput than another in 10 ms, per cent."""
    ours, theirs = (over_senders(runs, one, plan.SHORT_MS / 1e3) for one in (system, other))
    won = [
        [100.0 * (a > b) for a, b in zip(ours[n], theirs[n], strict=True)]
        for n in plan.senders(runs.length)
    ]
    return by_seed(fmean, won)


def _gain(runs: Observations, system: System, other: System, milliseconds: int) -> Values:
    """Give the mean over n of how much more throughput a system has than another, in per cent."""
    ours, theirs = (over_senders(runs, one, milliseconds / 1e3) for one in (system, other))
    return by_seed(fmean, [change(ours[n], theirs[n]) for n in plan.senders(runs.length)])


def _first_millisecond(runs: Observations, system: System) -> Values:
    return _gain(runs, system, TCP, plan.EARLY_MS)


def _overreacting(runs: Observations) -> Cases:
    return {DCTCP.label: _gain(runs, DCTCP_UNMARKED, DCTCP, plan.SHORT_MS)}


# ---- figure 7, and what else is told of its 20 senders


def of_many(runs: Observations, system: System, what: Callable[[Observation], float]) -> Values:
    """Give a number of the runs with 20 senders."""
    return of(runs, f"long/{system.key}/n={MANY}", what)


def queues(runs: Observations, system: System) -> Values:
    """Give the mean queue of 20 senders in packets."""
    return of_many(runs, system, mean_queue)


def _tcp_worst(runs: Observations, system: System) -> Values:
    return ratio(queues(runs, TCP), queues(runs, system))


def _dctcp_least(runs: Observations, system: System) -> Values:
    return ratio(queues(runs, system), queues(runs, DCTCP))


def _burst(runs: Observations, system: System) -> Values:
    seconds = plan.seconds(runs.length)
    return of_many(runs, system, lambda run: burst(run, seconds))


def _quickly(runs: Observations, system: System) -> Values:
    seconds = plan.seconds(runs.length)
    return of_many(runs, system, lambda run: calm_after(run, seconds))


def _small(runs: Observations, system: System) -> Values:
    half = plan.seconds(runs.length) / 2
    return of_many(runs, system, lambda run: number(queue(run, half).mean()))


def _stable(runs: Observations, system: System) -> Values:
    half = plan.seconds(runs.length) / 2
    return of_many(runs, system, lambda run: number(queue(run, half).std(ddof=0)))


def _similar(runs: Observations, system: System) -> Values:
    until = plan.seconds(runs.length)
    return change(*(throughputs(runs, one, MANY, until) for one in (DCTCP, system)))


def _loss(runs: Observations, system: System) -> Values:
    return of_many(runs, system, loss)


def _udt_loss(runs: Observations) -> Cases:
    return {f"n = {n}": of(runs, f"long/{UDT.key}/n={n}", loss) for n in plan.UDT_SENDERS}


def _faster(runs: Observations, system: System) -> Values:
    def early(run: Observation) -> float:
        return number(queue(run, 0.0, 0.1).mean())

    return ratio(of_many(runs, system, early), of_many(runs, UDT, early))


def _packets(runs: Observations, system: System) -> Values:
    return of_many(runs, system, packets_per_ack)


# ---- figures 8 and 9


def taken(runs: Observations, system: System) -> Values:
    """Give the share of the link that figure 8's constant sender takes after the other's end."""
    ended = plan.ended(runs.length)
    name = f"after/{system.key}"
    return of(runs, name, lambda run: share_after(run, system.scenarios, ended))


def _growth(runs: Observations, system: System) -> Values:
    ended = plan.ended(runs.length)
    return of(runs, f"after/{system.key}", lambda run: growth_per_round_trip(run, ended))


def _mode(runs: Observations, system: System) -> Values:
    ended = plan.ended(runs.length)
    return of(runs, f"after/{system.key}", lambda run: until_udp_mode(run, ended, 2 * ended))


def _windows(runs: Observations, system: System) -> tuple[Values, Values]:
    """Give the largest window after the other's end, and the mean before, in segments."""
    ended = plan.ended(runs.length)
    name = f"after/{system.key}"
    before = of(runs, name, lambda run: window_before(run, ended))
    return of(runs, name, lambda run: window_after(run, ended)), before


def _sharp(system: System, case: str) -> Measure:
    return lambda runs: {case: ratio(*_windows(runs, system))}


def _contrast(runs: Observations) -> Cases:
    rises = [difference(*_windows(runs, system)) for system in (DCTCP_50, DCTCP)]
    return {"K = 50 against K = 10": ratio(*rises)}


# ---- newcomers and bursts


def newcomers(runs: Observations, system: System) -> Values:
    """Give the bytes that a newcomer among nine others delivers in its first 10 ms."""
    return of(runs, f"newcomer/{system.key}", lambda run: newcomer(run, NEWCOMER_S))


def _newcomer_dctcp(runs: Observations) -> Cases:
    fair = LINK * NEW_S / 8 / 10
    return {DCTCP.label: [100 * value / fair for value in newcomers(runs, DCTCP)]}


def _newcomer_dcudp(runs: Observations, system: System) -> Values:
    return change(newcomers(runs, system), newcomers(runs, DCTCP))


def fairness(runs: Observations, system: System) -> Values:
    """Give J over the bursts."""
    count = plan.bursts(runs.length)
    return of(runs, f"bursts/{system.key}", lambda run: jain_of_bursts(run, count))


def converged(runs: Observations, system: System) -> Values:
    """Give J over the last 25 ms of the bursts."""
    count = plan.bursts(runs.length)
    return of(runs, f"bursts/{system.key}", lambda run: jain_of_bursts(run, count, LAST_S))


def _fairer_than_dctcp(runs: Observations, system: System) -> Values:
    return difference(fairness(runs, system), fairness(runs, DCTCP))


def _fairer_than_tcp(runs: Observations, system: System) -> Values:
    best = by_seed(max, [fairness(runs, one) for one in (TCP, TCP_ECN)])
    return difference(fairness(runs, system), best)


def _converges_better(runs: Observations, system: System) -> Values:
    return difference(converged(runs, system), converged(runs, DCTCP))


def _more(runs: Observations, system: System) -> Values:
    count = plan.bursts(runs.length)
    pair = [
        of(runs, f"bursts/{one.key}", lambda run: burst_bytes(run, count))
        for one in (system, DCTCP)
    ]
    return change(*pair)


def _unfair(runs: Observations, system: System) -> Values:
    return difference(fairness(runs, DCTCP), fairness(runs, system))


def round_trips(runs: Observations, system: System) -> Values:
    """Give what short round trips get in the bursts over what long ones get."""
    count = plan.bursts(runs.length)
    return of(runs, f"bursts/{system.key}", lambda run: short_over_long(run, count))


def _less_difference(runs: Observations, system: System) -> Values:
    ours, theirs = ([abs(one - 1) for one in round_trips(runs, s)] for s in (system, DCTCP))
    return difference(ours, theirs)


OF_READING: dict[str, Measured] = {
    "fig6a-dcudp": least,
    "fig6a-tcp": _falls_behind,
    "fig6b-dcudp-tcp": partial(ahead, other=TCP),
    "fig6b-dcudp-dctcp": partial(ahead, other=DCTCP),
    "fig6b-slow-start": _first_millisecond,
    "fig7-tcp-worst": _tcp_worst,
    "fig7-dctcp-least": _dctcp_least,
    "fig7-burst": _burst,
    "fig7-quickly": _quickly,
    "fig7-small": _small,
    "fig7-stable": _stable,
    "fig7-throughput": _similar,
    "fig8-dcudp": taken,
    "fig8-mode": _mode,
    "text-dcudp-loss": _loss,
    "text-faster": _faster,
    "text-packets": _packets,
    "text-newcomer-dcudp": _newcomer_dcudp,
    "abstract-fair": fairness,
    "abstract-fairer-dctcp": _fairer_than_dctcp,
    "abstract-fairer-tcp": _fairer_than_tcp,
    "abstract-converges": converged,
    "abstract-converges-dctcp": _converges_better,
    "abstract-throughput": _more,
    "text-rtt-dcudp": _less_difference,
}
"""What a claim measures of one reading of DCUDP."""


def _each(measure: Measured, systems: tuple[System, ...]) -> Measure:
    return lambda runs: {system.label: measure(runs, system) for system in systems}


def _k10(measure: Measured) -> Measure:
    """Judge figure 8's slow ones, whose K has to be said there."""
    return lambda runs: {
        TCP.label: measure(runs, TCP),
        f"{DCTCP.label}, K = 10": measure(runs, DCTCP),
    }


_OTHERS: dict[str, tuple[System, ...]] = {
    "fig6a-tcp": (DCTCP,),
    "fig7-tcp-worst": (DCTCP, TCP_ECN),
    "fig7-dctcp-least": (TCP, TCP_ECN),
}
"""Of what else than DCUDP a claim measures the same."""
MEASURES: dict[str, Measure] = {
    **{
        claim: _each(measure, (*_OTHERS.get(claim, ()), *READINGS))
        for claim, measure in OF_READING.items()
    },
    "fig6a-dctcp": _each(least, (DCTCP,)),
    "fig6a-timeouts": _timeouts,
    "fig6b-tcp-dctcp": _each(partial(ahead, other=DCTCP), (TCP,)),
    "fig6b-overreacting": _overreacting,
    "fig8-dctcp-50": _each(taken, (DCTCP_50,)),
    "fig8-tcp": _k10(taken),
    "fig8-linear": _k10(_growth),
    "fig9-50": _sharp(DCTCP_50, "K = 50"),
    "fig9-10": _sharp(DCTCP, "K = 10"),
    "fig9-contrast": _contrast,
    "text-udt-loss": _udt_loss,
    "text-newcomer-dctcp": _newcomer_dctcp,
    "text-dctcp-unfair": _each(_unfair, (TCP, TCP_ECN)),
    "text-rtt-dctcp": _each(round_trips, (DCTCP,)),
}
