"""Sobol indices: how much of the variance of what a claim measures comes from each parameter.

All parameters vary at once, the seed among them: independent of each other, every value equally
likely. A claim's number is the margin in its band of the case that decides (negative outside); a
claim whose margin is not finite somewhere has no indices, and neither has a parameter that changes
no margin of it in any sample. Estimates are
those of Saltelli et al. (2010), by `scipy.stats.sobol_indices`, with 95 % intervals by bootstrap
over the samples. An index is shown only where its interval is at most `WIDEST` wide.

n samples cost n (d + 2) trials of d parameters: n is the largest power of two that the budget
allows, at least `LEAST` and at most `MOST`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incastle.variation.robustness import SEED, SEEDS
from incastle.variation.trials import CannotRun

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from incastle.reproduction.changes import Parameter, Setting
    from incastle.reproduction.claims import Judged
    from incastle.variation.trials import Trials

WIDEST = 0.3
LEAST, MOST = 8, 64
RESAMPLES = 999
DRAWN = 1
"""The seed of the samples and of the bootstrap."""

Point = tuple["Setting", ...]


@dataclass(frozen=True)
class Index:
    """An index of a claim: the share of one parameter, alone (first) or with others (total)."""

    claim: str
    parameter: str
    kind: str
    value: float
    low: float
    high: float

    @property
    def is_known(self) -> bool:
        """Whether its interval is narrow enough to be shown."""
        return self.high - self.low <= WIDEST


@dataclass(frozen=True)
class Indices:
    """The indices of a paper's claims.

    Attributes:
        samples: n; 0 where none were computed.
        trials: how many trials they took.
        found: every index, also those that are not to be shown.
        why: why there are none, if there are none.

    """

    samples: int
    trials: int
    found: tuple[Index, ...]
    why: str = ""

    @property
    def shown(self) -> list[Index]:
        """The indices whose intervals are narrow enough."""
        return [one for one in self.found if one.is_known]


def none(why: str) -> Indices:
    """Return no indices, with the reason."""
    return Indices(0, 0, (), why)


def samples_for(trials: Trials, parameters: Sequence[Parameter]) -> int:
    """Return the largest number of samples that the budget allows; 0 where it is too few."""
    runs = len(parameters) + 3  # d + 2, with the seed as a parameter
    samples = MOST
    while samples >= LEAST and not trials.budget.allows(samples * runs * trials.whole):
        samples //= 2
    return samples if samples >= LEAST else 0


def indices(
    trials: Trials, parameters: Sequence[Parameter], told: Callable[[int, int], object]
) -> Indices:
    """Compute the indices of a paper's claims.

    Args:
        trials: the paper's.
        parameters: what varies, besides the seed.
        told: called before each trial with the number of trials so far, and of all.

    Raises:
        KeyboardInterrupt: Ctrl-C; finished runs are kept.

    """
    samples = samples_for(trials, parameters)
    if not samples:
        needed = LEAST * (len(parameters) + 3)
        return none(f"{LEAST} samples need {needed} trials, more than the budget allows")
    a, b, mixed = matrices(samples, len(parameters) + 1)
    columns = [*a.T, *b.T, *(one for matrix in mixed for one in matrix.T)]
    points = [_point(column, parameters) for column in columns]
    judged: dict[Any, Mapping[str, Judged]] = {}
    for count, point in enumerate(points):
        told(count, len(points))
        if point not in judged:
            try:
                judged[point] = trials.judge(point[0], (point[1],))
            except CannotRun as error:
                return none(f"values that cannot run together: {error}")
    names = [SEED, *(one.name for one in parameters)]
    margins = {claim: [margin(judged[point][claim]) for point in points] for claim in trials.claims}
    found = tuple(index for claim in margins for index in _of_claim(claim, margins[claim], names))
    return Indices(samples, len(judged), found)


def margin(judged: Judged) -> float:
    """Return how far inside its band the deciding case lies."""
    return judged.deciding.margin(judged.claim.band)


def matrices(samples: int, width: int) -> tuple[Any, Any, Any]:
    """Return Saltelli's matrices A and B, and A with each row of B in turn; a row a parameter."""
    import numpy as np  # noqa: PLC0415  slow to import: only for --full
    from scipy.stats import qmc  # type: ignore[import-untyped]  # noqa: PLC0415

    both = qmc.Sobol(2 * width, rng=np.random.default_rng(DRAWN)).random(samples).T
    a, b = both[:width], both[width:]
    mixed = np.repeat(a[np.newaxis], width, axis=0)
    for row in range(width):
        mixed[row, row] = b[row]
    return a, b, mixed


def _point(column: Any, parameters: Sequence[Parameter]) -> tuple[Point, int]:  # noqa: ANN401
    """Turn numbers from 0 to 1 into values: the seed, then those of the parameters."""
    seed = SEEDS[int(column[0] * len(SEEDS))]
    chosen = (
        one.values[int(share * len(one.values))]
        for share, one in zip(column[1:], parameters, strict=True)
    )
    return tuple(one for one in chosen if one.keys), seed


def _of_claim(claim: str, margins: Sequence[float], names: Sequence[str]) -> list[Index]:
    """Estimate the indices of a claim from its margins, in the order of the matrices."""
    import numpy as np  # noqa: PLC0415  slow to import: only for --full

    if not all(map(math.isfinite, margins)):
        return []
    parts = np.asarray(margins).reshape(len(names) + 2, 1, -1)
    idle = [name for row, name in enumerate(names) if (parts[2 + row] == parts[0]).all()]
    if len(idle) == len(names):
        return []
    estimate, spread = _estimates(parts[0], parts[1], parts[2:])
    found = []
    for kind in ("first", "total"):
        values = getattr(estimate, f"{kind}_order").ravel()
        around = getattr(spread, f"{kind}_order").confidence_interval
        ends = zip(np.ravel(around.low), np.ravel(around.high), strict=True)
        for name, value, (low, high) in zip(names, values, ends, strict=True):
            if name not in idle and math.isfinite(low) and math.isfinite(high):
                found.append(Index(claim, name, kind, float(value), float(low), float(high)))
    return found


def _estimates(a: Any, b: Any, mixed: Any) -> tuple[Any, Any]:  # noqa: ANN401  arrays of numpy
    """Return the indices and their bootstrap; resamples without variance give no number."""
    import numpy as np  # noqa: PLC0415  slow to import: only for --full
    from scipy.stats import sobol_indices  # noqa: PLC0415

    given = {"f_A": a, "f_B": b, "f_AB": mixed}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        estimate = sobol_indices(func=given, n=a.shape[-1], rng=np.random.default_rng(DRAWN))
        return estimate, estimate.bootstrap(confidence_level=0.95, n_resamples=RESAMPLES)
