"""The measures of one run that are compared: goodput, mean queue, FCTs.

Leaves out windows, losses and fairness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incastle.results import Result

NAMES = ("goodput_bit_s", "mean_queue_packets", "fct_p50_s", "fct_p99_s")
HIGHEST = 0.99
COUNTED = 0.8
"""Transfers that begin in this first part of the measured interval count: the others may be open at
its end, in whatever state they are."""


@dataclass(frozen=True)
class Measures:
    """What one run shows.

    Attributes:
        goodput_bit_s: payload that all receivers got in the measured interval.
        mean_queue_packets: at the bottleneck, in the same interval.
        fct_p50_s: the median FCT of finite flows or responses; None without such.
        fct_p99_s: their 99th percentile; infinite where an unfinished transfer is at it.

    """

    goodput_bit_s: float
    mean_queue_packets: float
    fct_p50_s: float | None = None
    fct_p99_s: float | None = None

    def to_dict(self) -> dict[str, float | None]:
        """Return the numbers by name."""
        return {name: getattr(self, name) for name in NAMES}

    @classmethod
    def of(cls, result: Result, port: str) -> Measures:
        """Measure a result; `port` is the bottleneck."""
        import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

        begin, end = (result.totals[f"measured_{name}_s"] for name in ("from", "to"))
        arrived = result.goodput.filter((pl.col("time_s") >= begin) & (pl.col("time_s") < end))
        queue = result.links.filter(pl.col("port") == port)["mean_queue_packets"]
        latest = begin + COUNTED * (end - begin)
        begun = result.transfers.filter(
            pl.col("kind").is_in(["flow", "response"])
            & pl.col("started_s").is_between(begin, latest)
        )
        fcts = sorted(math.inf if one is None else one for one in begun["fct_s"])
        return cls(
            float(arrived["bytes"].sum()) * 8 / (end - begin),
            float(queue.item()),
            _percentile(fcts, 0.5),
            _percentile(fcts, HIGHEST),
        )


def _percentile(values: Sequence[float], share: float) -> float | None:
    """Return an element of sorted values, the one at or above the share (nearest rank)."""
    return values[max(0, math.ceil(share * len(values)) - 1)] if values else None


def middle(runs: Sequence[dict[str, Any]], name: str) -> float | None:
    """Return the median of a measure over runs; None where they do not have it."""
    values = [run[name] for run in runs]
    return None if None in values else float(median(values))
