"""What dctcp-ns2 measures for its claims: per claim and case one value for each seed.

The queue is that of the switch's port to the receiver, in samples; throughput is IP bytes received
on the receiver's link per second as a share of its rate. Both only within the evaluated part of a
run. Comparisons are formed between runs of the same seed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from . import plan
from .plan import SPEEDS, Window

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from incastle.reproduction.papers import Observation, Observations

PORT = "switch->receiver"
FAST = ("1G", "10G")
ABOVE = 45.1  # "exceeds about 45 packets"
FULL_ABOVE = {2: 20, 48: 60}  # the next K of the grid above the knees 17 and 58.6

Values: TypeAlias = list[float]
Cases: TypeAlias = dict[str, Values]
Measure: TypeAlias = "Callable[[Observations], Cases]"


def evaluated(run: Observation, window: Window) -> pl.DataFrame:
    """Give the samples of the queue within the evaluated part of a run."""
    time = pl.col("time_s")
    inside = (time >= window.evaluated_from) & (time <= window.evaluated_to)
    return run["queue_samples"].filter((pl.col("port") == PORT) & inside)


def samples(run: Observation, window: Window) -> pl.Series:
    """Give the sampled queue in packets within the evaluated part of a run."""
    return evaluated(run, window)["packets"]


def throughput(run: Observation) -> float:
    """Give the throughput on the receiver's link in percent of its rate."""
    utilisation: float = run["links"].filter(pl.col("port") == PORT)["utilisation"].item()
    return 100 * utilisation


def throughputs(runs: Observations, name: str) -> Values:
    """Give the throughput of each seed of an experiment, in percent of the link."""
    return [throughput(run) for run in runs[name]]


def _mean(queue: pl.Series) -> float:
    return float(queue.mean() or 0)  # type: ignore[arg-type]


def _quantile(share: float) -> Callable[[pl.Series], float]:
    return lambda queue: float(queue.quantile(share) or 0)


def _spread(queue: pl.Series) -> float:
    return _quantile(0.9)(queue) - _quantile(0.1)(queue)


def _queue(
    runs: Observations, speed: str, case: str, statistic: Callable[[pl.Series], float]
) -> Values:
    """Give a statistic of the queue for each seed of `queue/SPEED/CASE`."""
    window = plan.queue_window(speed, runs.length)
    return [statistic(samples(run, window)) for run in runs[f"queue/{speed}/{case}"]]


def _ratio(above: Values, below: Values, scale: float = 1) -> Values:
    """Divide seed by seed; x / 0 is infinite, 0 / 0 is no value."""
    return [
        scale * a / b if b else (math.inf if a else math.nan)
        for a, b in zip(above, below, strict=True)
    ]


# ---- the measures of figures 2 and 3, at any speed


def _tcp_queue(runs: Observations, speed: str) -> Values:
    return _queue(runs, speed, "tcp/n=2", _mean)


def _dctcp_queue(runs: Observations, speed: str) -> Values:
    return _queue(runs, speed, "dctcp/n=2", _mean)


def _buffer(runs: Observations, speed: str) -> Values:
    high = _quantile(0.99)
    ours, theirs = (_queue(runs, speed, f"{name}/n=2", high) for name in ("dctcp", "tcp"))
    return _ratio(ours, theirs, 100)


def _bound(runs: Observations, speed: str, flows: int) -> Values:
    highs = _queue(runs, speed, f"dctcp/n={flows}", _quantile(0.99))
    return [high - SPEEDS[speed].threshold - flows for high in highs]


def _median(runs: Observations, speed: str, flows: int) -> Values:
    half = _quantile(0.5)
    tcp, dctcp = (_queue(runs, speed, f"{name}/n={flows}", half) for name in plan.ALGORITHMS)
    return _ratio(tcp, dctcp)


def _both_throughputs(runs: Observations, speed: str) -> Cases:
    return {
        name.upper(): throughputs(runs, f"queue/{speed}/{name}/n=2") for name in plan.ALGORITHMS
    }


def _by_flows(measure: Callable[[Observations, str, int], Values]) -> Measure:
    return lambda runs: {f"n = {n}": measure(runs, "100M", n) for n in plan.FLOWS}


def _by_speed(measure: Callable[[Observations, str], Values]) -> Measure:
    return lambda runs: {SPEEDS[key].name: measure(runs, key) for key in FAST}


def _by_speed_and_flows(measure: Callable[[Observations, str, int], Values]) -> Measure:
    return lambda runs: {
        f"{SPEEDS[key].name}, n = {n}": measure(runs, key, n) for key in FAST for n in plan.FLOWS
    }


def _two(measure: Callable[[Observations], Values]) -> Measure:
    return lambda runs: {"n = 2": measure(runs)}


def _gradual(variant: str) -> Measure:
    def measure(runs: Observations) -> Cases:
        without = _queue(runs, "100M", f"tcp/n=20/{variant}", _spread)
        return {"n = 20": _ratio(without, _queue(runs, "100M", "tcp/n=20", _spread))}

    return measure


def _speed_throughput(runs: Observations) -> Cases:
    return {
        f"{algorithm}, {SPEEDS[key].name}": values
        for key in FAST
        for algorithm, values in _both_throughputs(runs, key).items()
    }


# ---- the measures of figure 4 and of its additions: curves over K, seed by seed


def curve(runs: Observations, prefix: str) -> dict[int, Values]:
    """Give the throughput of each seed over K, for the experiments `PREFIXk=K`."""
    return {
        int(name.removeprefix(f"{prefix}k=")): throughputs(runs, name)
        for name in runs.names(f"{prefix}k=")
    }


def _from(values: Mapping[int, Values], least: float) -> list[tuple[float, ...]]:
    """Give, seed by seed, the throughputs at every K of at least `least`."""
    return list(zip(*(values[k] for k in sorted(values) if k >= least), strict=True))


def _flatness(values: Mapping[int, Values], least: float) -> Values:
    return [100 * (max(seed) - min(seed)) / max(seed) for seed in _from(values, least)]


def _threshold_tcp(runs: Observations) -> Values:
    lowest = [min(seed) for seed in _from(curve(runs, "threshold/dctcp/"), ABOVE)]
    pairs = zip(lowest, throughputs(runs, "threshold/tcp"), strict=True)
    return [dctcp - tcp for dctcp, tcp in pairs]


def _dip(runs: Observations) -> Values:
    values = curve(runs, "threshold/dctcp/")
    flat = [sum(seed) / len(seed) for seed in _from(values, ABOVE)]
    return _ratio(values[1], flat, 100)


def knee(points: Mapping[int, float], full: float = 99.9) -> float:
    """Give the least K from which on the throughput stays at `full`, between the K by a line.

    The largest K where it is never reached there, the least where it is never missed.
    """
    grid = sorted(points)
    short = [k for k in grid if points[k] < full]
    if not short:
        return grid[0]
    if short[-1] == grid[-1]:
        return grid[-1]
    last, following = short[-1], grid[grid.index(short[-1]) + 1]
    rise = points[following] - points[last]
    return last + (following - last) * (full - points[last]) / rise


def _knee(flows: int) -> Measure:
    def measure(runs: Observations) -> Cases:
        values = curve(runs, f"steady/dctcp/n={flows}/")
        seeds = range(len(next(iter(values.values()))))
        return {f"n = {flows}": [knee({k: v[seed] for k, v in values.items()}) for seed in seeds]}

    return measure


def _steady_flat(runs: Observations) -> Cases:
    return {
        f"n = {n}": _flatness(curve(runs, f"steady/dctcp/n={n}/"), least)
        for n, least in ((2, ABOVE), (48, FULL_ABOVE[48]))
    }


def _steady_full(runs: Observations) -> Cases:
    return {
        f"n = {n}": [min(seed) for seed in _from(curve(runs, f"steady/dctcp/n={n}/"), least)]
        for n, least in FULL_ABOVE.items()
    }


def _start(runs: Observations) -> Values:
    """Compare the loss at K = 1 late and early in a run, for the seeds that both have."""
    late = [100 - value for value in throughputs(runs, "steady/dctcp/n=2/k=1")]
    early = [100 - value for value in throughputs(runs, "threshold/dctcp/k=1")]
    return _ratio(late, early[: len(late)])


def _burst_share(threshold: int, *bursts: int) -> Measure:
    """Give the throughput at this K as a share of the largest over all K, per burst size."""

    def measure(runs: Observations) -> Cases:
        cases = {}
        for burst in bursts:
            values = curve(runs, f"burst/dctcp/b={burst}/")
            best = [max(seed) for seed in _from(values, 0)]
            cases[f"bursts of {burst}"] = _ratio(values[threshold], best, 100)
        return cases

    return measure


MEASURES: dict[str, Measure] = {
    "fig2-tcp-queue": _two(lambda runs: _tcp_queue(runs, "100M")),
    "fig2-dctcp-queue": _two(lambda runs: _dctcp_queue(runs, "100M")),
    "fig2-buffer": _two(lambda runs: _buffer(runs, "100M")),
    "fig2-throughput": lambda runs: _both_throughputs(runs, "100M"),
    "fig3-dctcp-bound": _by_flows(_bound),
    "fig3-tcp-median": _by_flows(_median),
    "fig3-gradual": _gradual("jitter=0"),
    "fig3-together": _gradual("together"),
    "fig4-flat": _two(lambda runs: _flatness(curve(runs, "threshold/dctcp/"), ABOVE)),
    "fig4-tcp": _two(_threshold_tcp),
    "fig4-dip": _two(_dip),
    "steady-flat": _steady_flat,
    "steady-full": _steady_full,
    "steady-knee-2": _knee(2),
    "steady-knee-48": _knee(48),
    "steady-start": _two(_start),
    "speed-tcp-queue": _by_speed(
        lambda runs, key: [100 * v / SPEEDS[key].buffer for v in _tcp_queue(runs, key)]
    ),
    "speed-dctcp-queue": _by_speed(
        lambda runs, key: [100 * v / SPEEDS[key].threshold for v in _dctcp_queue(runs, key)]
    ),
    "speed-buffer": _by_speed(_buffer),
    "speed-throughput": _speed_throughput,
    "speed-dctcp-bound": _by_speed_and_flows(_bound),
    "speed-tcp-median": _by_speed_and_flows(_median),
    "k65-enough": _burst_share(65, *plan.BURSTS),
    "k65-theory": _burst_share(20, 1),
    "k65-bursts": _burst_share(20, 32),
}
