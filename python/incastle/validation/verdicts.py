"""The cases of a layout and a control together: their measures, and whether these meet a goal."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from incastle.validation.compare import (
    HALF,
    HIGH,
    HIGHEST,
    Comparison,
    Measure,
    percentile,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from incastle.importers.hpcc_keys import Control
    from incastle.validation.cases import Layout
    from incastle.validation.goals import Goal

NEAR = 0.01
"""The difference up to which the table counts flows, whatever the goal is."""


class Finding(NamedTuple):
    """One demand of a goal: what was found, what is demanded, whether it is met.

    What was found is a share, unless it is a ratio.
    """

    name: str
    value: float
    demand: str
    met: bool
    is_ratio: bool = False


@dataclass(frozen=True)
class Row:
    """The cases of one layout, control and measure.

    Attributes:
        layout: of the cases.
        control: of the cases.
        measure: how they are compared.
        comparisons: the cases.
        goal: their goal, if there is one.

    """

    layout: Layout
    control: Control
    measure: Measure
    comparisons: tuple[Comparison, ...]
    goal: Goal | None

    @cached_property
    def differences(self) -> list[float]:
        """|FCT - theirs| / theirs of the flows of all cases and seeds, ascending."""
        return sorted(one for case in self.comparisons for one in case.differences)

    @property
    def flows(self) -> int:
        """Flows of all cases."""
        return sum(len(one.case.flows) for one in self.comparisons)

    def slowdown(self, percent: int) -> tuple[float, float]:
        """Return the mean over the cases of a percentile of slowdown, here and there."""
        ours, theirs = zip(*(one.slowdown(percent) for one in self.comparisons), strict=True)
        return fmean(ours), fmean(theirs)

    @property
    def findings(self) -> list[Finding]:
        """The demands of the goal; none without one."""
        return _FINDINGS[self.measure](self, self.goal.limits) if self.goal else []

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without one."""
        return all(one.met for one in self.findings) if self.goal else None

    def meets_alone(self, comparison: Comparison) -> bool | None:
        """Return whether a case of this row would meet the goal if it were the only one.

        A scenario of `seeds` is inside or not; the mean ratio is of all of them.
        """
        if self.goal is None:
            return None
        if self.measure is Measure.SEEDS:
            return _is_inside(comparison, self.goal.limits)
        alone = Row(self.layout, self.control, self.measure, (comparison,), self.goal)
        return alone.met

    def to_dict(self) -> dict[str, Any]:
        """Return the row for JSON."""
        p50, p99 = self.slowdown(HALF), self.slowdown(HIGHEST)
        return {
            "layout": str(self.layout),
            "control": str(self.control),
            "measure": str(self.measure),
            "cases": len(self.comparisons),
            "flows": self.flows,
            "difference_median": percentile(self.differences, HALF) if self.differences else None,
            "difference_p95": percentile(self.differences, HIGH) if self.differences else None,
            "within_1_percent": within(self.differences, NEAR),
            "slowdown_p50": p50[0],
            "slowdown_p50_theirs": p50[1],
            "slowdown_p99": p99[0],
            "slowdown_p99_theirs": p99[1],
            "findings": [one._asdict() for one in self.findings],
            "met": self.met,
        }


def rows(comparisons: Iterable[Comparison], goals: Sequence[Goal]) -> list[Row]:
    """Put cases together by layout, control and measure, in the order in which they come."""
    groups: defaultdict[tuple[Layout, Control, Measure], list[Comparison]] = defaultdict(list)
    for one in comparisons:
        groups[one.case.layout, one.case.control, one.measure].append(one)
    return [
        Row(*key, tuple(group), next((goal for goal in goals if goal.fits(*key)), None))
        for key, group in groups.items()
    ]


def case_to_dict(row: Row, one: Comparison) -> dict[str, Any]:
    """Return a case for JSON."""
    alone = Row(row.layout, row.control, row.measure, (one,), None).to_dict()
    del alone["cases"], alone["findings"]
    unfinished, theirs = one.unfinished
    return {
        "case": one.case.name,
        **alone,
        "seeds": len(one.outcomes),
        "unfinished": unfinished,
        "unfinished_theirs": theirs,
        "drops": one.drops,
        "met": row.meets_alone(one),
    }


def _per_flow(row: Row, limits: Mapping[str, float]) -> list[Finding]:
    median = percentile(row.differences, HALF) if row.differences else 0.0
    near = within(row.differences, limits["within"])
    return [
        Finding(
            "median difference",
            median,
            f"below {in_percent(limits['median'])}",
            median < limits["median"],
        ),
        Finding(
            f"flows within {in_percent(limits['within'])}",
            near,
            f"at least {in_percent(limits['share'])}",
            near >= limits["share"],
        ),
    ]


def _spread(row: Row, limits: Mapping[str, float]) -> list[Finding]:
    widened = limits["widened"]
    inside = [
        all(ends.holds(value, widened) for value, ends in one.medians_and_lasts)
        for one in row.comparisons
    ]
    name = f"cases inside their range, widened by {in_percent(widened)}"
    return [_share(name, inside, 1.0)]


def _seeds(row: Row, limits: Mapping[str, float]) -> list[Finding]:
    inside = [_is_inside(one, limits) for one in row.comparisons]
    name = f"scenarios inside our range, widened by {in_percent(limits['widened'])}"
    return [
        _share(name, inside, limits["scenarios"]),
        *(_mean_ratio(row, percent, limits["mean_ratio"]) for percent in (HALF, HIGHEST)),
    ]


def _is_inside(one: Comparison, limits: Mapping[str, float]) -> bool:
    """Return whether both percentiles there are in the range of our seeds."""
    return all(
        one.central(percent).holds(percentile(one.their_slowdowns, percent), limits["widened"])
        for percent in (HALF, HIGHEST)
    )


def _mean_ratio(row: Row, percent: int, limit: float) -> Finding:
    pairs = [one.slowdown(percent) for one in row.comparisons]
    ratio = fmean(ours / theirs for ours, theirs in pairs)
    return Finding(
        f"mean ratio of p{percent} slowdown",
        ratio,
        f"1 within {in_percent(limit)}",
        abs(ratio - 1) <= limit,
        is_ratio=True,
    )


def _drops(row: Row, limits: Mapping[str, float]) -> list[Finding]:
    near = [_is_like(one, limits["within"]) for one in row.comparisons]
    name = (
        f"cases with p50 and p99 within {in_percent(limits['within'])}, or losses where flows hang"
    )
    return [_share(name, near, 1.0)]


def _is_like(one: Comparison, limit: float) -> bool:
    """Return whether a case with losses is like theirs."""
    if one.unfinished[1]:
        return one.drops > 0
    pairs = (one.of_both(percent) for percent in (HALF, HIGHEST))
    return all(abs(ours - theirs) <= limit * theirs for ours, theirs in pairs)


def _share(name: str, fitting: Sequence[bool], least: float) -> Finding:
    share = sum(fitting) / len(fitting)
    demand = "all" if least == 1 else f"at least {in_percent(least)}"
    return Finding(name, share, demand, share >= least)


def in_percent(share: float) -> str:
    """Write a share as a goal has it."""
    return f"{100 * share:.6g} %"


_FINDINGS: dict[Measure, Callable[[Row, Mapping[str, float]], list[Finding]]] = {
    Measure.PER_FLOW: _per_flow,
    Measure.SPREAD: _spread,
    Measure.SEEDS: _seeds,
    Measure.DROPS: _drops,
}
