"""Whether two worlds agree: each measure against its goal, where the run can be compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incastle.worlds.api import why_not
from incastle.worlds.comparison.measures import NAMES, middle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incastle.worlds.comparison.campaign import Compared

GOALS = dict(zip(NAMES, (0.03, 0.15, 0.10, 0.25), strict=True))
"""The largest difference from the simulation, as a fraction of it."""


@dataclass(frozen=True)
class Finding:
    """A measure of a case in both worlds: medians over seeds and runs."""

    measure: str
    simulated: float
    real: float
    judged: bool

    @property
    def ratio(self) -> float:
        """The real world over the simulation."""
        if self.simulated == self.real:
            return 1.0
        if self.simulated == 0 or math.isinf(self.simulated):
            return math.inf if self.simulated == 0 else 0.0
        return self.real / self.simulated

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; none where the run is no comparison."""
        if not self.judged:
            return None
        return abs(self.ratio - 1) <= GOALS[self.measure]


@dataclass(frozen=True)
class Row:
    """A case with its findings.

    Attributes:
        compared: all that is known of it.
        findings: the measures that it has.
        why_not: why it is no comparison, if it is none.

    """

    compared: Compared
    findings: tuple[Finding, ...]
    why_not: str | None

    @property
    def name(self) -> str:
        """The case's."""
        return self.compared.case.name

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "case": self.name,
            "world": self.compared.case.world,
            "not_compared": self.why_not,
            "measures": [
                {
                    "measure": one.measure,
                    "simulated": one.simulated,
                    "real": one.real,
                    "ratio": one.ratio,
                    "goal": GOALS[one.measure],
                    "met": one.met,
                }
                for one in self.findings
            ],
            "runs": self.compared.real,
            "worlds": self.compared.worlds,
        }


def rows(cases: Sequence[Compared]) -> list[Row]:
    """Judge each case."""
    return [_row(one) for one in cases]


def _row(compared: Compared) -> Row:
    why_not = compared.skipped or _not_comparable(compared.worlds)
    found = []
    for name in NAMES if compared.real else ():
        simulated, real = (middle(runs, name) for runs in (compared.simulated, compared.real))
        if simulated is not None and real is not None:
            found.append(Finding(name, simulated, real, judged=why_not is None))
    return Row(compared, tuple(found), why_not)


def _not_comparable(worlds: Sequence[dict[str, Any]]) -> str | None:
    """Return why runs are no comparison: one of them was late."""
    late = [world for world in worlds if not world["comparable"]]
    if not late:
        return None
    worst = max(late, key=lambda world: world["dilation_needed"])
    return f"not comparable: {why_not(worst)}; --dilate {worst['dilation_needed']} would do"
