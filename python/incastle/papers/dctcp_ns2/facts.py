"""Facts of dctcp-ns2 that are no mean of one number: lockouts, and the swings of the queue."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

from incastle.reproduction.declarations import mean_of_finite

from . import theory
from .cycles import cycles
from .runs import fluid, knee, largest_share, queue_mean, samples

if TYPE_CHECKING:
    from incastle.analysis.expressions import Choice
    from incastle.reproduction.declarations import Declarations
    from incastle.reproduction.papers import Observation, Observations

LOCKED_OUT = 0.9
"""With two flows: one has locked the other out when it has more than this of what arrives."""
HYSTERESIS = 0.4
"""The smallest swing that counts as a turn of the queue, in shares of the model's swing."""
SWINGS = {2: 20, 48: 100}
"""For each number of flows a K of every length at which the queue never runs empty."""
_FULL_ABOVE = 60


def lockouts(declared: Declarations, runs: Observations) -> dict[str, str]:
    """Give in how many seeds one of two flows has locked the other out, and the losses of all."""
    return _lockouts(declared, runs, "100M")


def lockouts_fast(declared: Declarations, runs: Observations) -> dict[str, str]:
    """Give the same at 10 Gbit/s."""
    return _lockouts(declared, runs, "10G")


def _lockouts(declared: Declarations, runs: Observations, speed: str) -> dict[str, str]:
    found = runs[f"queue/{speed}/tcp/n=2"]
    window = declared.scope(runs).evaluate(f"windows[speeds['{speed}'].window]").of
    shared = [
        queue_mean(run, window["begin"], window["end"])
        for run in found
        if largest_share(run) <= LOCKED_OUT
    ]
    drops = [float(run["flows"]["drops"].sum()) for run in found]
    return {
        "locked": str(len(found) - len(shared)),
        "shared": str(len(shared)),
        "seeds": str(len(found)),
        "shared_mean": mean_of_finite(shared, ".0f"),
        "drops": mean_of_finite(drops, ".0f"),
    }


def steady_facts(declared: Declarations, runs: Observations) -> dict[str, str]:
    """Give knees and swings of the steady state, measured and by the fluid model.

    The model's knee is where K + N = A (theory.knee); with the measured A it is near A - N.
    """
    scope = declared.scope(runs)
    plain, growing = (
        {
            k: fmean(scope.having(k=k).seeds(f"throughput('steady/dctcp/n=48/{kind}k={{k}}')"))
            for k in scope.names["ks_48"]
        }
        for kind in ("", "growing/")
    )
    smallest = min(value for k, value in growing.items() if k >= _FULL_ABOVE)
    found = {
        "knee": f"{knee(growing.items()):.0f}",
        "knee_plain": f"{knee(plain.items()):.0f}",
        "min": f"{smallest:.2f}",
    }
    for n in SWINGS:
        found[f"fluid_{n}"] = f"{knee((k, fluid(n, k)) for k in range(1, 101)):.1f}"
        found |= _swings(runs, n, scope.evaluate("windows['steady']"))
    return found


def _swings(runs: Observations, flows: int, window: Choice) -> dict[str, str]:
    at = (theory.PIPE + SWINGS[flows]) / flows
    swing = theory.amplitude(flows, at, exact=True)
    found = {
        f"at_{flows}": str(SWINGS[flows]),
        f"model_swing_{flows}": f"{swing:.0f}",
        f"model_period_{flows}": f"{theory.period(at):.1f}",
    }
    for kind, suffix in (("", ""), ("growing/", "_growing")):
        name = f"steady/dctcp/n={flows}/{kind}k={SWINGS[flows]}"
        if name in runs.runs:
            seen = [cycle(run, window, swing) for run in runs[name]]
            swings = [one[0] for one in seen]
            found[f"swing_{flows}{suffix}"] = mean_of_finite(swings, ".0f")
            found[f"period_{flows}{suffix}"] = mean_of_finite([one[1] for one in seen], ".1f")
            found[f"empty_{flows}{suffix}"] = mean_of_finite([one - flows for one in swings], ".0f")
    return found


def cycle(run: Observation, window: Choice, swing: float) -> tuple[float, float]:
    """Give one run's swing in packets and its period in round trips, the queue's wait in them."""
    seen = samples(run, window.of["begin"], window.of["end"])
    queue = seen["packets"].cast(float).to_list()
    found = cycles(queue, HYSTERESIS * swing)
    if found is None:
        return math.nan, math.nan
    times = seen["time_s"]
    step = (times[-1] - times[0]) / (len(queue) - 1)
    round_trip = (theory.PIPE + fmean(queue)) * 12_000 / 100e6
    return found.swing, found.period * step / round_trip
