"""Which unclear cases of a claim are worth further seeds: those that are likely to settle it.

Cases are taken in order of least cost to decide, as far as the claim's budget goes, unless they are
futile (`incastle.analysis.futility`). Each is expected to be decided as its centre lies. Cases that
the claim's verdict then no longer depends on are left. Where it would not be settled, one case that
is expected to hold is taken, so that the claim holds in part, and else none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from incastle.reproduction.claims import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from incastle.analysis.futility import Candidate, Price
    from incastle.reproduction.claims import Claim, Judged, JudgedCase

FAILING = {Verdict.FAILS, Verdict.BASE}


def chosen(
    judged: Judged, candidates: Iterable[Candidate], bought: Mapping[str, int], price: Price
) -> list[Candidate]:
    """Give the cases of a claim that are worth their next look."""
    cases = {case.case: case for case in judged.cases if case.known}
    known = {name: case.verdict for name, case in cases.items()}
    whole = len(cases) == len(judged.cases)
    found: list[Candidate] = []
    holds: list[Candidate] = []
    for one in sorted(candidates, key=lambda one: one.cost(bought, price)):
        goal = one.goal(bought, price)
        if goal is None:
            continue
        bought = goal
        found.append(one)
        known[one.case] = expected(judged.claim, cases[one.case])
        if known[one.case] is Verdict.HOLDS:
            holds.append(one)
        if whole and settled(known.values(), whole=whole):
            return found
    if settled(known.values(), whole=whole):
        return found
    return holds[:1] if whole and judged.verdict is Verdict.UNCLEAR else []


def needs(case: JudgedCase) -> int | None:
    """Give how many seeds would decide what is unclear about a case, or its base, extrapolated."""
    return None if case.unclear is None else case.unclear.needs


def expected(claim: Claim, case: JudgedCase) -> Verdict:
    """Give the verdict of a case if its centre, and its base's, stay where they are."""
    base = case.base
    if base is not None and claim.base is not None and not claim.base.band.contains(base.measured):
        return Verdict.BASE
    return Verdict.HOLDS if claim.band.contains(case.measured) else Verdict.FAILS


def settled(verdicts: Collection[Verdict], *, whole: bool) -> bool:
    """Tell whether a claim's verdict is final: none unclear, or some hold and others fail.

    Where cases were not measured only that all others fail can be said.
    """
    seen = set(verdicts)
    if not whole:
        return seen <= FAILING
    return Verdict.UNCLEAR not in seen or (Verdict.HOLDS in seen and bool(seen & FAILING))


def undecided(judged: Judged) -> Sequence[JudgedCase]:
    """Give the unclear cases on which a claim's verdict depends, as far as seeds can decide them.

    Where some cases hold and others fail, the claim holds in part, whatever the rest does; where
    some hold and others cannot be measured, it stays unclear.
    """
    verdicts = {case.verdict for case in judged.cases if case.known}
    failing = bool(verdicts & FAILING)
    if Verdict.HOLDS in verdicts and (failing or not all(case.known for case in judged.cases)):
        return []
    return [
        case
        for case in judged.cases
        if case.known and case.unclear is not None and case.unclear.seeds_help
    ]
