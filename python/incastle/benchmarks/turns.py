"""Measures the benchmarks in turns: every engine on every scenario, then all of it again.

What disturbs a machine for a while then disturbs a few runs of each, not all runs of one. Medians
count; with the minimum and the maximum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from incastle.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from incastle.benchmarks.engines import Engine, Run
    from incastle.benchmarks.suite import Benchmark

REPEATS = 5


@dataclass(frozen=True)
class Spread:
    """The median of some values, and their range."""

    median: float
    minimum: float
    maximum: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return it for these values."""
        return cls(median(values), min(values), max(values))


@dataclass(frozen=True)
class Measured:
    """All runs of one scenario on one engine."""

    benchmark: Benchmark
    engine: str
    runs: tuple[Run, ...]

    @property
    def rate(self) -> Spread:
        """Packet-hops per second of processor time; with several threads, of wall time."""
        return Spread.of([run.packet_hops_per_s for run in self.runs])

    @property
    def cpu_s(self) -> Spread:
        """Processor time."""
        return Spread.of([run.cpu_s for run in self.runs])

    @property
    def cost_ns(self) -> Spread:
        """Nanoseconds of processor time per packet-hop."""
        return Spread.of([1e9 * run.cpu_s / run.packet_hops for run in self.runs])

    @property
    def wall_s(self) -> Spread:
        """The clock's time."""
        return Spread.of([run.wall_s for run in self.runs])

    @property
    def memory_bytes(self) -> float:
        """The median of the peak memory of the process."""
        return median([run.peak_memory_bytes for run in self.runs])

    def _per(self, time: str) -> Spread:
        return Spread.of([run.packet_hops / getattr(run, time) for run in self.runs])

    def as_row(self) -> dict[str, Any]:
        """Return it for JSON."""
        first = self.runs[0]
        return {
            "benchmark": self.benchmark.name,
            "preset": self.benchmark.preset,
            "engine": self.engine,
            "runs": len(self.runs),
            "simulated_s": first.simulated_s,
            "packet_hops": first.packet_hops,
            "data_packets": first.data_packets,
            "threads": first.threads,
            "packet_hops_per_cpu_s": vars(self._per("cpu_s")),
            "packet_hops_per_wall_s": vars(self._per("wall_s")),
            "cpu_s": vars(self.cpu_s),
            "wall_s": vars(self.wall_s),
            "peak_memory_bytes": self.memory_bytes,
        }


def measure(
    suite: Sequence[Benchmark],
    engines: Sequence[Engine],
    repeats: int,
    progress: Callable[[int, int, str], object] | None = None,
) -> list[Measured]:
    """Measure in turns.

    Args:
        suite: what to measure.
        engines: simulators; each runs the benchmarks that it supports.
        repeats: runs of each, 1 or more.
        progress: called before each run with the number of finished ones, of all, and a name.

    Raises:
        IncastleError: an engine cannot be run.
        InternalError: two runs of the same scenario did different work.

    """
    places = [(one, engine) for one in suite for engine in engines if engine.supports(one)]
    runs: dict[tuple[str, str], list[Run]] = {}
    for number, (one, engine) in enumerate(places * repeats):
        if progress is not None:
            progress(number, repeats * len(places), f"{one.name}, {engine.name}")
        runs.setdefault((one.name, engine.name), []).append(engine.run(one))
    for (name, engine_name), found in runs.items():
        if len({(run.packet_hops, run.data_packets) for run in found}) > 1:
            raise InternalError(f"{name}: two runs on {engine_name} did different work")
    return [
        Measured(one, engine.name, tuple(runs[one.name, engine.name])) for one, engine in places
    ]


def by_name(measured: Sequence[Measured], engine: str) -> dict[str, Measured]:
    """Return what one engine did, by the names of the benchmarks."""
    return {one.benchmark.name: one for one in measured if one.engine == engine}


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return e where y grows as x to the power of e: the least-squares slope of the logarithms."""
    xs = [math.log(x) for x, _ in points]
    ys = [math.log(y) for _, y in points]
    mean_x, mean_y = fmean(xs), fmean(ys)
    both = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return both / sum((x - mean_x) ** 2 for x in xs)


def points(
    names: Iterable[str], ours: Mapping[str, Measured], *, per_second: bool
) -> list[tuple[float, float]]:
    """Return packet-hops and processor time of benchmarks, in total or per simulated second.

    Per simulated second where networks differ: larger ones are simulated for a shorter time.
    """
    found = []
    for name in names:
        first, cpu_s = ours[name].runs[0], ours[name].cpu_s.median
        unit = first.simulated_s if per_second else 1.0
        found.append((first.packet_hops / unit, cpu_s / unit))
    return found
