"""Further numbers of dctcp-ns2, for the sentences of reasons.toml and the notes of paper.toml.

They do not decide a verdict; they show why it is as it is. Each is a text for a name in braces.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

from . import measures, plan, theory
from .cycles import cycles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from incastle.reproduction.papers import Observation, Observations

LOCKED_OUT = 0.9
"""With two flows: one has locked the other out when it has more than this of what arrives."""
HYSTERESIS = 0.4
"""What counts as a turn of the queue, in shares of the model's swing."""

Facts: TypeAlias = dict[str, str]


def _delivered(run: Observation) -> list[int]:
    return run["flows"]["delivered_bytes"].to_list()


def _largest_share(run: Observation) -> float:
    """Give the largest flow's share of what was delivered."""
    delivered = _delivered(run)
    return max(delivered) / sum(delivered)


def _others_timeouts(run: Observation) -> float:
    """Give the timeouts per flow, without the flow that has most."""
    delivered, timeouts = _delivered(run), run["flows"]["timeouts"].to_list()
    largest = delivered.index(max(delivered))
    return fmean(count for flow, count in enumerate(timeouts) if flow != largest)


def _mean(values: Iterable[float], digits: int) -> str:
    """Print the mean of what is finite; a dash where nothing is."""
    finite = [value for value in values if math.isfinite(value)]
    return f"{fmean(finite):.{digits}f}" if finite else "-"


def _lockouts(speed: str) -> Callable[[Observations], Facts]:
    """Tell in how many seeds one of two flows has locked the other out, and the losses of all."""

    def facts(runs: Observations) -> Facts:
        found = runs[f"queue/{speed}/tcp/n=2"]
        window = plan.queue_window(speed, runs.length)
        locked = [_largest_share(run) > LOCKED_OUT for run in found]
        queues = (measures.samples(run, window).to_list() for run in found)
        shared = [fmean(queue) for queue, out in zip(queues, locked, strict=True) if not out]
        return {
            "locked": str(sum(locked)),
            "seeds": str(len(found)),
            "shared_mean": _mean(shared, 0),
            "drops": _mean((float(run["flows"]["drops"].sum()) for run in found), 0),
        }

    return facts


def _sharing(variant: str) -> Callable[[Observations], Facts]:
    """Tell how 20 flows share the link with jitter, and without it in this variant."""

    def facts(runs: Observations) -> Facts:
        found = {}
        cases = (("jitter", "queue/100M/tcp/n=20"), ("none", f"queue/100M/tcp/n=20/{variant}"))
        for key, name in cases:
            found[f"largest_{key}"] = _mean((100 * _largest_share(run) for run in runs[name]), 0)
            found[f"timeouts_{key}"] = _mean(map(_others_timeouts, runs[name]), 1)
        return found

    return facts


def _never_began(runs: Observations) -> Facts:
    """Tell how many of 20 flows delivered nothing at the faster links, in the mean."""
    return {
        f"{name}_{speed}": _mean(
            (float(_delivered(run).count(0)) for run in runs[f"queue/{speed}/{name}/n=20"]), 1
        )
        for name in plan.ALGORITHMS
        for speed in measures.FAST
    }


def _growing(runs: Observations) -> Facts:
    """Tell knee and least throughput where ACKs with marks grow the window."""
    values = measures.curve(runs, f"steady/dctcp/n=48/{plan.GROWING}")
    mean = {k: sum(seeds) / len(seeds) for k, seeds in values.items()}
    least = min(value for k, value in mean.items() if k >= measures.FULL_ABOVE[48])
    return {"knee": f"{measures.knee(mean):.0f}", "least": f"{least:.2f}"}


def _fluid_knee(runs: Observations) -> Facts:
    """Tell where the fluid model itself passes the 99.9 % by which the knee is measured."""
    del runs  # the model needs none
    found = {}
    for n in plan.STEADY_FLOWS:
        model = {k: 100 * theory.throughput(n, theory.PIPE, k) for k in range(1, 101)}
        found[f"fluid_{n}"] = f"{measures.knee(model):.1f}"
    return found


def _swings(runs: Observations) -> Facts:
    """Tell how the queue swings above the knee, measured and by the model, and which knee follows.

    The model's knee is where K + N = A (theory.knee); with the measured A it is near A - N.
    """
    found: Facts = {}
    for flows, threshold in plan.SWINGS.items():
        window = (theory.PIPE + threshold) / flows
        swing = theory.amplitude(flows, window, exact=True)
        found[f"at_{flows}"] = str(threshold)
        found[f"model_swing_{flows}"] = f"{swing:.0f}"
        found[f"model_period_{flows}"] = f"{theory.period(window):.1f}"
        for kind, suffix in (("", ""), (plan.GROWING, "_growing")):
            name = f"steady/dctcp/n={flows}/{kind}k={threshold}"
            if name not in runs.runs:
                continue
            seen = [cycle(run, plan.steady_window(runs.length), swing) for run in runs[name]]
            found[f"swing_{flows}{suffix}"] = _mean((one[0] for one in seen), 0)
            found[f"period_{flows}{suffix}"] = _mean((one[1] for one in seen), 1)
            found[f"empty_{flows}{suffix}"] = _mean((one[0] - flows for one in seen), 0)
    return found


def cycle(run: Observation, window: plan.Window, swing: float) -> tuple[float, float]:
    """Give one run's swing in packets and its period in round trips, the queue's wait in them."""
    samples = measures.evaluated(run, window)
    queue = samples["packets"].cast(float).to_list()
    found = cycles(queue, HYSTERESIS * swing)
    if found is None:
        return math.nan, math.nan
    times = samples["time_s"]
    step = (times[-1] - times[0]) / (len(queue) - 1)
    round_trip = (theory.PIPE + fmean(queue)) * plan.PACKET_BITS / plan.SPEEDS["100M"].rate
    return found.swing, found.period * step / round_trip


def _steady(runs: Observations) -> Facts:
    return _growing(runs) | _fluid_knee(runs) | _swings(runs)


FACTS: dict[str, Callable[[Observations], Facts]] = {
    "fig2-tcp-queue": _lockouts("100M"),
    "fig3-gradual": _sharing("jitter=0"),
    "fig3-together": _sharing("together"),
    "steady-full": _steady,
    "steady-knee-2": _steady,
    "steady-knee-48": _steady,
    "2": _lockouts("100M"),
    "3": _sharing("jitter=0"),
    "4-steady": _steady,
    "2-speed": _lockouts("10G"),
    "3-speed": _never_began,
}
"""By claim, and by figure for its note."""
