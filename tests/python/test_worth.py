"""Which cases of a claim are worth further seeds: by need, cost, and what the verdict needs."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import pytest

from incastle.analysis.futility import Candidate, Price
from incastle.analysis.looks import CONFIDENCE, Look
from incastle.reproduction import claims, worth
from incastle.reproduction.claims import Band, Base, Claim, Judged, Verdict
from incastle.reproduction.worth import chosen, expected, settled, undecided

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BAND = Band.parse({"at_least": 10})
LEFT = (8, 16, 32, 64)
"""The seeds of the looks that are left, of a plan of four."""

H, F, U, B = Verdict.HOLDS, Verdict.FAILS, Verdict.UNCLEAR, Verdict.BASE


def judge(
    of: Mapping[str, Sequence[float]], bases: Mapping[str, Sequence[float]] | None = None
) -> Judged:
    """Judge a claim by its cases' values at a first look."""
    base = None if bases is None else Base("b", "u", BAND)
    claim = Claim("p", "i", "d", "p", "s", "m", "u", "10", BAND, "ours", tuple(of), base)
    return claims.judge(claim, of, base=bases, looks=dict.fromkeys(of, Look(1, CONFIDENCE)))


def near(distance: float, by: float = 3.0) -> list[float]:
    """Give four values that lie `distance` from the edge on average, and `by` from their mean."""
    return [10 + distance - by, 10 + distance + by] * 2


def taken(
    judged: Judged,
    reads: Mapping[str, str],
    work: Mapping[str, float],
    budget: float = math.inf,
) -> list[str]:
    """Give the cases that are worth it, each reading the experiments of one letter each."""
    planned = dict.fromkeys(work, 4)
    candidates = [
        Candidate(
            *(case.case, len(case.values), worth.needs(case)),
            experiments=frozenset(reads[case.case]),
            seeds=LEFT,
        )
        for case in undecided(judged)
    ]
    return [one.case for one in chosen(judged, candidates, planned, Price(work, planned, budget))]


def needs(values: list[float]) -> int:
    found = judge({"a": values}).cases[0].needs
    assert found is not None
    return found


def test_twice_the_seeds_of_the_last_look_are_the_most() -> None:
    # The deviation of four values is 3 sqrt(4 / 3): 2.61 * 3.46 / sqrt(128) = 0.80.
    little, more = near(0.85), near(0.75)
    assert needs(little) <= 2 * LEFT[-1] < needs(more)
    assert taken(judge({"a": little}), {"a": "x"}, {"x": 1}) == ["a"]
    assert taken(judge({"a": more}), {"a": "x"}, {"x": 1}) == []
    # On the edge no number is enough.
    assert taken(judge({"a": near(0)}), {"a": "x"}, {"x": 1}) == []


def test_too_few_values_to_extrapolate_from_have_a_further_look() -> None:
    # Three values, 1 from the edge: by an extrapolation some 500 seeds would be too few.
    few = [1.0, 11, 21]
    assert needs(few) > 500
    assert taken(judge({"a": few}), {"a": "x"}, {"x": 1}) == ["a"]
    assert taken(judge({"a": [*few, 11]}), {"a": "x"}, {"x": 1}) == []
    # Its next look is all that it is expected to cost.
    assert taken(judge({"a": few}), {"a": "x"}, {"x": 1}, 4) == ["a"]
    assert taken(judge({"a": few}), {"a": "x"}, {"x": 1}, 3.9) == []


def test_the_budget_ends_the_looks() -> None:
    # Some 24 seeds decide it: 32 cost 28, and 16, within the margin, 12; 8, which cost 4, are less.
    some = near(1.95)
    assert 16 < needs(some) <= 32
    for budget, found in ((28, ["a"]), (12, ["a"]), (11.9, []), (4, [])):
        assert taken(judge({"a": some}), {"a": "x"}, {"x": 1}, budget) == found


def test_the_least_cost_is_taken_first() -> None:
    # One holds; that any other fails settles the claim: "holds in part".
    values = {"holds": [60.0] * 4, "a": near(-3), "b": near(-6)}
    judged = judge(values)
    assert [case.verdict for case in judged.cases] == [H, U, U]
    reads = {"a": "x", "b": "y"}
    assert needs(values["b"]) < needs(values["a"])
    assert taken(judged, reads, {"x": 1, "y": 1}) == ["b"]
    assert taken(judged, reads, {"x": 1, "y": 100}) == ["a"]


def test_the_budget_is_that_of_the_claim() -> None:
    # Each needs a look with 32 seeds, 28 more than there are, and the claim needs both.
    both = {"a": near(-1.95), "b": near(-1.95)}
    work = {"x": 1, "y": 1}
    assert taken(judge(both), {"a": "x", "b": "y"}, work, 56) == ["a", "b"]
    # What the first one leaves pays 8 seeds of the second one, which is none then.
    assert taken(judge(both), {"a": "x", "b": "y"}, work, 35) == []
    # What both read is paid once.
    assert taken(judge(both), {"a": "x", "b": "x"}, work, 35) == ["a", "b"]


def test_a_claim_that_stays_unsettled_has_one_case_that_holds_and_no_more() -> None:
    work, reads = {"x": 1, "y": 2, "z": 1}, {"a": "x", "b": "y", "c": "z"}
    hopeless = near(0.1)
    # Then it holds in part: of two that may hold the cheaper one is enough.
    assert taken(judge({"a": near(4), "c": hopeless}), reads, work) == ["a"]
    assert taken(judge({"a": near(4), "b": near(4), "c": hopeless}), reads, work) == ["a"]
    # Where one holds already, or the other would fail, no seed helps.
    assert taken(judge({"a": [60.0] * 4, "b": near(4), "c": hopeless}), reads, work) == []
    assert taken(judge({"a": near(-4), "c": hopeless}), reads, work) == []
    # That one holds and another fails settles it.
    mixed = {"a": near(4), "b": hopeless, "c": near(-4)}
    assert taken(judge(mixed), reads, work) == ["a", "c"]


@pytest.mark.parametrize(("distance", "found"), [(-4, ["a"]), (4, [])])
def test_a_claim_that_is_not_measured_as_a_whole_can_only_fail(
    distance: float, found: list[str]
) -> None:
    values = {"a": near(distance), "not measured": [math.nan] * 4}
    assert taken(judge(values), {"a": "x"}, {"x": 1}) == found


def test_what_a_case_is_expected_to_become() -> None:
    for distance, verdict in ((4, H), (-4, F)):
        judged = judge({"a": near(distance)})
        assert expected(judged.claim, judged.cases[0]) is verdict
    # The base is unclear, and decides.
    for base, verdict in ((4, F), (-4, B)):
        judged = judge({"a": [0.0] * 4}, {"a": near(base)})
        assert judged.cases[0].verdict is U
        assert expected(judged.claim, judged.cases[0]) is verdict
        assert taken(judged, {"a": "x"}, {"x": 1}) == ["a"]


@pytest.mark.parametrize(
    ("verdicts", "whole", "final"),
    [
        ((H, H), True, True),
        ((F, B), True, True),
        ((H, U), True, False),
        ((F, U), True, False),
        ((H, F, U), True, True),
        ((H, B, U), True, True),
        ((F, F), False, True),
        ((H,), False, False),
        ((F, U), False, False),
    ],
)
def test_when_a_verdict_is_final(verdicts: tuple[Verdict, ...], whole: bool, final: bool) -> None:
    assert settled(verdicts, whole=whole) is final


def test_a_cost_does_not_depend_on_the_order_of_its_parts() -> None:
    work = {"a": 0.1, "b": 0.2, "c": 0.3}
    price = Price(work, dict.fromkeys(work, 1), 1.0)
    costs = {price.of(dict.fromkeys(names, 2)) for names in itertools.permutations(work)}
    assert len(costs) == 1
