"""Rows of the table of benchmarks: one per engine and scenario, ours first, and growth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from incastle.benchmarks import suite
from incastle.benchmarks.engines import OURS, Incastle
from incastle.benchmarks.turns import by_name, exponent, points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incastle.benchmarks.suite import Benchmark
    from incastle.benchmarks.turns import Measured, Spread


@dataclass(frozen=True)
class Growth:
    """Benchmarks along which processor time is held against packet-hops.

    Attributes:
        words: from what to what.
        names: of the benchmarks.
        per_second: compared per simulated second, because they simulate different times.

    """

    words: str
    names: tuple[str, ...]
    per_second: bool


GROWTH = {
    "hosts": Growth("128 to 8192 hosts of a fat tree", tuple(suite.HOSTS.values()), True),
    "rate": Growth("1 to 100 Gbit/s, the star of 20", tuple(suite.RATES.values()), True),
    "length": Growth("1 to 10 s of the star of 20", tuple(suite.LENGTHS.values()), False),
}


@dataclass(frozen=True)
class Row:
    """An engine on a benchmark.

    Attributes:
        engine: its name.
        median: packet-hops per second of processor time; with two threads, of wall time.
        rate: their spread; None of a figure that was not measured in this run.
        ratio: ours over its median; None of ours.
        goal: of ours, where there is one.
        cpu_s: the median of the processor time of a run.
        memory_bytes: of ours; 0 where unknown.

    """

    benchmark: Benchmark
    engine: str
    median: float
    rate: Spread | None = None
    ratio: float | None = None
    goal: float | None = None
    cpu_s: float | None = None
    memory_bytes: float = 0

    @property
    def measured(self) -> bool:
        """Whether it was measured in this run."""
        return self.rate is not None


def rows(measured: Sequence[Measured]) -> list[Row]:
    """Return all rows, those of one benchmark together."""
    ours = by_name(measured, Incastle.name)
    found: list[Row] = []
    for one in ours.values():
        own = one.rate.median
        of_this = [other for other in measured if other.benchmark == one.benchmark]
        found += [_row(other, None if other.engine in OURS else own) for other in of_this]
        found += [
            Row(
                one.benchmark,
                other.peer,
                other.packet_hops_per_s,
                ratio=own / other.packet_hops_per_s,
            )
            for other in one.benchmark.published
        ]
    return found


def _row(one: Measured, own: float | None) -> Row:
    rate = one.rate
    return Row(
        benchmark=one.benchmark,
        engine=one.engine,
        median=rate.median,
        rate=rate,
        ratio=None if own is None else own / rate.median,
        goal=one.benchmark.goal if one.engine == Incastle.name else None,
        cpu_s=one.cpu_s.median,
        memory_bytes=one.memory_bytes,
    )


def exponents(measured: Sequence[Measured]) -> dict[str, float]:
    """Return e of processor time as packet-hops to the power of e, along each of `GROWTH`.

    One is linear. What was not measured is left out.
    """
    ours = by_name(measured, Incastle.name)
    return {
        name: exponent(points(one.names, ours, per_second=one.per_second))
        for name, one in GROWTH.items()
        if set(one.names) <= ours.keys()
    }
