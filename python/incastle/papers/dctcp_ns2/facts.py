"""Further numbers of dctcp-ns2, for the sentences of reasons.toml.

They do not decide a verdict; they show why it is as it is. Each is a text for a name in braces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from . import measures, plan, theory

if TYPE_CHECKING:
    from collections.abc import Callable

    from incastle.papers import Observations

LOCKED_OUT = 0.9
"""With two flows: one has locked the other out when it has more than this of what arrives."""

Facts: TypeAlias = dict[str, str]


def _largest_shares(runs: Observations, name: str) -> list[float]:
    """Give, for each seed, the largest flow's share of what was delivered."""
    delivered = [run["flows"]["delivered_bytes"].to_list() for run in runs[name]]
    return [max(flows) / sum(flows) for flows in delivered]


def _timeouts(runs: Observations, name: str) -> float:
    """Give the timeouts per flow, over all seeds."""
    counters = [float(count) for run in runs[name] for count in run["flows"]["timeouts"]]
    return sum(counters) / len(counters)


def _lockouts(runs: Observations) -> Facts:
    """Tell in how many seeds one of two flows has locked the other out."""
    shares = _largest_shares(runs, "queue/100M/tcp/n=2")
    locked = sum(share > LOCKED_OUT for share in shares)
    return {"locked": str(locked), "seeds": str(len(shares))}


def _sharing(variant: str) -> Callable[[Observations], Facts]:
    """Tell how 20 flows share the link with jitter, and without it in this variant."""

    def facts(runs: Observations) -> Facts:
        found = {}
        cases = (("jitter", "queue/100M/tcp/n=20"), ("none", f"queue/100M/tcp/n=20/{variant}"))
        for key, name in cases:
            largest = _largest_shares(runs, name)
            found[f"largest_{key}"] = f"{100 * sum(largest) / len(largest):.0f}"
            found[f"timeouts_{key}"] = f"{_timeouts(runs, name):.1f}"
        return found

    return facts


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


FACTS: dict[str, Callable[[Observations], Facts]] = {
    "fig2-tcp-queue": _lockouts,
    "fig3-gradual": _sharing("jitter=0"),
    "fig3-together": _sharing("together"),
    "steady-full": _growing,
    "steady-knee-2": _fluid_knee,
    "steady-knee-48": lambda runs: _growing(runs) | _fluid_knee(runs),
}
