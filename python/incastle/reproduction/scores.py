"""The share of a claim that holds: a number by which readings are compared, and no verdict.

It is the share of the claim's cases whose mean over the seeds lies in the band, and the mean of
their base in its own. Intervals would make most cases unclear with few seeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from incastle.reproduction.claims import Band, Claim, Judged, JudgedCase


def in_band(case: JudgedCase, claim: Claim) -> bool:
    """Whether the mean of a case lies in its band, and that of its base in its own."""
    based = case.base is None or claim.base is None or _inside(case.base, claim.base.band)
    return based and _inside(case, claim.band)


def _inside(case: JudgedCase, band: Band) -> bool:
    """Whether both ends of a mean lie in a band."""
    return all(map(band.contains, case.value[:2]))


def share(judged: Judged) -> float:
    """Return the share of a claim's cases that are in their bands; what has no value is not."""
    inside = [in_band(case, judged.claim) for case in judged.cases]
    return sum(inside) / len(inside)
