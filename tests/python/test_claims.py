"""Claims: their files, bands and intervals, and every way in which a verdict comes about."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incastle.analysis import confidence
from incastle.analysis.ends import Ends
from incastle.reproduction import claims
from incastle.reproduction.claims import Band, Claim, ClaimError, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from incastle.analysis.ends import Value

CLAIM = """
[[claim]]
id = "a"
document = "CS244 2017"
place = "figure 1"
statement = "It is so."
metric = "queue"
unit = "packets"
paper_value = "10"
band = { at_least = 10 }
basis = "number"
cases = ["n = 2", "n = 20"]
"""


def claim(band: dict[str, float], *cases: str) -> Claim:
    names = cases or ("n = 2",)
    return Claim(
        "p",
        "a",
        "CS244 2017",
        "figure 1",
        "s",
        "m",
        "packets",
        "10",
        Band.parse(band),
        "words",
        names,
    )


def verdict(band: dict[str, float], *values: float) -> Verdict:
    return claims.judge(claim(band), {"n = 2": values}).verdict


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    # Tables of Student's t, two-sided 95 %.
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (9, 2.2622), (19, 2.0930), (120, 1.9799)],
)
def test_student_t_gives_the_table(freedom: int, quantile: float) -> None:
    assert confidence.student_t(freedom) == pytest.approx(quantile, abs=5e-5)


def _density_within(t: float, freedom: int, steps: int = 20_000) -> float:
    """P(|T| <= t) by Simpson's rule over Student's density itself."""
    factor = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    factor /= math.sqrt(freedom * math.pi)
    width = t / steps
    weights = (1, *((4, 2) * (steps // 2 - 1)), 4, 1)
    heights = ((1 + (i * width) ** 2 / freedom) ** (-(freedom + 1) / 2) for i in range(steps + 1))
    return 2 * factor * width / 3 * math.fsum(w * h for w, h in zip(weights, heights, strict=True))


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 8, 19, 50])
def test_student_t_leaves_a_twentieth_outside(freedom: int) -> None:
    assert _density_within(confidence.student_t(freedom), freedom) == pytest.approx(0.95, abs=1e-9)


def test_the_interval_of_a_worked_example() -> None:
    # Mean 12, s = sqrt((4 + 0 + 4) / 2) = 2, t(2) = 4.3027: half of it is 4.3027 * 2 / sqrt(3).
    low, high = confidence.interval([10, 12, 14]) or (0, 0)
    assert low == pytest.approx(12 - 4.9683, abs=1e-3)
    assert high == pytest.approx(12 + 4.9683, abs=1e-3)


def test_a_single_value_has_no_interval() -> None:
    assert confidence.interval([3.0]) is None
    assert confidence.interval([3.0, math.inf]) is None


@pytest.mark.parametrize(
    ("band", "inside", "outside", "text"),
    [
        ({"above": 100}, [100.1, 1e9], [100, -5], "> 100"),
        ({"at_least": 95}, [95, 96], [94.9], "≥ 95"),
        ({"below": 1}, [0.9, -3], [1, 2], "< 1"),
        ({"at_most": 15}, [15, 0], [15.1], "≤ 15"),
        ({"from": 14, "to": 26}, [14, 20, 26], [13.9, 26.1], "14 to 26"),
    ],
)
def test_bands(
    band: dict[str, float], inside: list[float], outside: list[float], text: str
) -> None:
    parsed = Band.parse(band)
    assert all(parsed.contains(value) for value in inside)
    assert not any(parsed.contains(value) for value in outside)
    assert str(parsed) == text


@pytest.mark.parametrize(
    "band",
    [
        {},
        {"over": 3},
        {"above": 1, "below": 2},
        {"from": 3},
        {"from": 3, "to": 2},
        {"above": "1"},
        {"above": True},
    ],
)
def test_a_band_that_makes_no_sense_is_refused(band: dict[str, Any]) -> None:
    with pytest.raises(ClaimError):
        Band.parse(band)


def test_the_whole_interval_decides() -> None:
    assert verdict({"at_least": 10}, 20, 21, 22) is Verdict.HOLDS
    assert verdict({"at_least": 10}, 1, 2, 3) is Verdict.FAILS
    assert verdict({"at_least": 10}, 9, 12, 15) is Verdict.UNCLEAR
    assert verdict({"from": 14, "to": 26}, 20, 20.1, 19.9) is Verdict.HOLDS
    assert verdict({"from": 14, "to": 26}, 40, 40.1, 39.9) is Verdict.FAILS
    assert verdict({"from": 14, "to": 26}, 26, 26.1, 25.9) is Verdict.UNCLEAR


def test_an_open_edge_belongs_to_the_outside() -> None:
    assert verdict({"above": 100}, 100, 100) is Verdict.FAILS
    assert verdict({"at_least": 100}, 100, 100) is Verdict.HOLDS
    assert verdict({"below": 1}, 1, 1) is Verdict.FAILS
    assert verdict({"at_most": 1}, 1, 1) is Verdict.HOLDS


def test_one_seed_is_judged_by_its_value_and_says_so() -> None:
    judged = claims.judge(claim({"at_least": 10}), {"n = 2": [12.0]})
    assert judged.verdict is Verdict.HOLDS
    assert judged.cases[0].interval is None


def test_what_cannot_be_measured_counts_neither_way() -> None:
    two = claim({"at_least": 10}, "n = 2", "n = 20", "n = 40")
    judged = claims.judge(two, {"n = 2": [14.0], "n = 20": [math.nan], "n = 40": [12.0]})
    assert judged.cases[1].verdict is Verdict.UNCLEAR
    assert judged.verdict is Verdict.UNCLEAR
    assert judged.deciding.case == "n = 40"
    assert judged.coverage == "2 of 3 cases measured, both hold"
    json.dumps(judged.as_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("values", "verdict", "coverage"),
    [
        ((12.0, 13.0, 14.0), Verdict.HOLDS, ""),
        ((12.0, math.nan, math.nan), Verdict.UNCLEAR, "1 of 3 cases measured, it holds"),
        ((1.0, 2.0, math.nan), Verdict.FAILS, "2 of 3 cases measured, both fail"),
        ((1.0, 12.0, math.nan), Verdict.UNCLEAR, "2 of 3 cases measured, 1 of them holds"),
        ((math.nan, math.nan, math.nan), Verdict.UNCLEAR, ""),
    ],
)
def test_a_claim_measured_in_part_is_at_best_unclear(
    values: tuple[float, ...], verdict: Verdict, coverage: str
) -> None:
    three = claim({"at_least": 10}, "a", "b", "c")
    judged = claims.judge(three, {k: [v] for k, v in zip("abc", values, strict=True)})
    assert (judged.verdict, judged.coverage) == (verdict, coverage)


def on_base(low: float, *cases: str) -> Claim:
    """Give a claim of at least 10 whose base is below 1."""
    base = claims.Base("timeouts before", "%", Band.parse({"below": low}))
    return replace(claim({"at_least": 10}, *cases), base=base)


@pytest.mark.parametrize(
    ("values", "base", "expected"),
    [
        ([20, 21], [0, 0.1], Verdict.HOLDS),
        ([1, 2], [0, 0.1], Verdict.FAILS),
        # A condition that failed before cannot be spoilt, nor be kept.
        ([1, 2], [5, 5.1], Verdict.BASE),
        ([20, 21], [5, 5.1], Verdict.BASE),
        ([1, 2], [1, 1], Verdict.BASE),
        # The interval of 0.5 and 1.2 spans the edge: nothing can be said.
        ([20, 21], [0.5, 1.2], Verdict.UNCLEAR),
        ([20, 21], [math.nan, 0], Verdict.UNCLEAR),
        # One seed each: the values alone decide.
        ([20], [0.9], Verdict.HOLDS),
        ([20], [1.0], Verdict.BASE),
    ],
)
def test_a_claim_counts_only_on_a_sound_base(
    values: list[float], base: list[float], expected: Verdict
) -> None:
    judged = claims.judge(on_base(1), {"n = 2": values}, base={"n = 2": base})
    assert judged.verdict is expected
    entry = json.loads(json.dumps(judged.as_json(), allow_nan=False))
    assert entry["verdict"] == str(expected)
    assert entry["base"] == {"metric": "timeouts before", "unit": "%", "band": "< 1"}
    assert entry["cases"][0]["base"]["values"] == [None if math.isnan(one) else one for one in base]


def test_cases_that_fail_some_of_them_at_their_base_fail() -> None:
    two = on_base(1, "a", "b")
    bases = {"a": [0.0], "b": [5.0]}
    assert claims.judge(two, {"a": [1.0], "b": [1.0]}, base=bases).verdict is Verdict.FAILS
    assert claims.judge(two, {"a": [20.0], "b": [20.0]}, base=bases).verdict is Verdict.PARTLY
    # Measured in part: what was measured fails at its base.
    judged = claims.judge(two, {"a": [math.nan], "b": [20.0]}, base=bases)
    assert judged.verdict is Verdict.BASE
    assert judged.coverage == "1 of 2 cases measured, its base fails"


def test_a_base_is_declared_and_measured() -> None:
    with pytest.raises(ClaimError, match="declared and measured, or neither"):
        claims.judge(on_base(1), {"n = 2": [20.0]})
    with pytest.raises(ClaimError, match="declared and measured, or neither"):
        claims.judge(claim({"at_least": 10}), {"n = 2": [20.0]}, base={"n = 2": [0.0]})
    with pytest.raises(ClaimError, match="n = 3"):
        claims.judge(on_base(1), {"n = 2": [20.0]}, base={"n = 3": [0.0]})


def test_infinite_ratios_are_judged_by_their_side() -> None:
    assert verdict({"at_least": 3}, math.inf, 7) is Verdict.HOLDS
    assert verdict({"at_most": 3}, math.inf, math.inf) is Verdict.FAILS
    assert verdict({"at_most": 3}, math.inf, 1) is Verdict.UNCLEAR


@pytest.mark.parametrize(
    ("band", "ends", "expected", "swayed"),
    [
        ({"at_least": 10}, Ends(12, math.inf, 1), Verdict.HOLDS, False),
        ({"at_least": 10}, Ends(8, math.inf, 1), Verdict.UNCLEAR, True),
        ({"at_least": 10}, Ends(8, 9, 1), Verdict.FAILS, False),
        ({"at_most": 10}, Ends(8, 9, 1), Verdict.HOLDS, False),
        ({"at_most": 10}, Ends(8, 12, 1), Verdict.UNCLEAR, True),
        ({"at_most": 10}, Ends(12, math.inf, 1), Verdict.FAILS, False),
        # Both ends fail, but what lies between them could hold.
        ({"from": 9, "to": 11}, Ends(8, 12, 1), Verdict.UNCLEAR, True),
        ({"from": 9, "to": 11}, Ends(10, 10, 1), Verdict.HOLDS, False),
    ],
)
def test_a_value_with_ends_is_judged_wherever_it_may_lie(
    band: dict[str, float], ends: Ends, expected: Verdict, swayed: bool
) -> None:
    (case,) = claims.judge(claim(band), {"n = 2": [ends]}).cases
    assert (case.verdict, case.swayed, case.unfinished) == (expected, swayed, 1)
    (plain,) = claims.judge(claim(band), {"n = 2": [ends.low]}).cases
    assert (plain.verdict is expected) != swayed


def test_ends_of_several_seeds_are_judged_by_both_intervals() -> None:
    # 10, 12, 14: 7.03 to 16.97; 12, 14, 16: 9.03 to 18.97.
    seeds = [Ends(10, 12, 1), Ends(12, 14, 0), Ends(14, 16, 2)]
    for kind, edge, expected in (
        ("at_least", 7.0, Verdict.HOLDS),
        ("at_most", 18.0, Verdict.UNCLEAR),
        ("at_most", 19.0, Verdict.HOLDS),
        ("at_least", 19.0, Verdict.FAILS),
    ):
        judged = claims.judge(claim({kind: edge}), {"n = 2": seeds})
        assert judged.verdict is expected
    # One seed without an upper end: the lower ends still have their interval.
    endless: list[Value] = [Ends(10, math.inf, 1), 12.0, 14.0]
    assert claims.judge(claim({"at_least": 7}), {"n = 2": endless}).verdict is Verdict.HOLDS
    assert claims.judge(claim({"at_least": 8}), {"n = 2": endless}).verdict is Verdict.UNCLEAR


def test_claims_json_has_the_upper_end_where_it_differs() -> None:
    judged = claims.judge(claim({"at_most": 10}), {"n = 2": [Ends(8, math.inf, 3)]})
    entry = json.loads(json.dumps(judged.as_json(), allow_nan=False))
    assert entry["measured"] == 8
    assert entry["upper"] == {"measured": None, "interval": None, "values": [None]}
    (case,) = entry["cases"]
    assert (case["values"], case["unfinished"], case["upper"]) == ([8], 3, entry["upper"])
    agreed = claims.judge(claim({"at_most": 10}), {"n = 2": [Ends(8, 8, 3)]}).as_json()
    assert "upper" not in agreed
    assert "upper" not in agreed["cases"][0]
    assert agreed["cases"][0]["unfinished"] == 3
    plain = claims.judge(claim({"at_most": 10}), {"n = 2": [8.0]}).as_json()
    assert not {"upper", "unfinished"} & {*plain, *plain["cases"][0]}


def test_the_worse_end_decides_which_case_is_told() -> None:
    two = claim({"at_most": 10}, "a", "b")
    judged = claims.judge(two, {"a": [9.0], "b": [Ends(1, 9.5, 1)]})
    assert (judged.verdict, judged.deciding.case) == (Verdict.HOLDS, "b")


def test_a_base_with_ends_leaves_its_claim_unclear() -> None:
    judged = claims.judge(on_base(1), {"n = 2": [20.0]}, base={"n = 2": [Ends(0, 2, 1)]})
    assert judged.verdict is Verdict.UNCLEAR
    assert judged.cases[0].base is not None
    assert claims.unfinished_words(judged.cases[0].base) == "1 unfinished, which could change it"


def test_cases_that_differ_hold_in_part_and_are_named() -> None:
    two = claim({"at_least": 10}, "n = 2", "n = 20")
    judged = claims.judge(two, {"n = 2": [20, 21], "n = 20": [1, 1.1]})
    assert judged.verdict is Verdict.PARTLY
    assert judged.deciding.case == "n = 20"


def test_failing_and_unclear_cases_together_are_unclear() -> None:
    two = claim({"at_least": 10}, "n = 2", "n = 20")
    judged = claims.judge(two, {"n = 2": [1, 1.1], "n = 20": [9, 12]})
    assert judged.verdict is Verdict.UNCLEAR


def test_cases_must_be_those_of_the_claim() -> None:
    with pytest.raises(ClaimError, match="n = 3"):
        claims.judge(claim({"at_least": 10}), {"n = 3": [1.0]})
    with pytest.raises(ClaimError, match="no value"):
        claims.judge(claim({"at_least": 10}), {"n = 2": []})


def test_a_claim_in_json_has_every_field() -> None:
    entry = claims.judge(claim({"at_least": 10}), {"n = 2": [20.0, 21.0]}).as_json()
    assert {
        *("paper", "id", "place", "statement", "metric", "unit", "paper_value", "band", "basis"),
        *("measured", "interval", "verdict", "reason"),
    } <= entry.keys()
    assert entry["measured"] == 20.5
    assert entry["verdict"] == "holds"
    assert entry["interval"][0] < 20.5 < entry["interval"][1]


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8),
    st.floats(-1e6, 1e6),
    st.floats(0, 1e6),
)
def test_a_verdict_follows_from_the_interval(values: list[float], low: float, width: float) -> None:
    band = {"from": low, "to": low + width}
    judged = claims.judge(claim(band), {"n = 2": values})
    parsed = Band.parse(band)
    edges = judged.cases[0].interval or (values[0], values[0])
    inside = [parsed.contains(edge) for edge in edges]
    assert (judged.verdict is Verdict.HOLDS) == all(inside)
    if judged.verdict is Verdict.FAILS:
        assert not any(inside)


def test_a_claims_file(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text('paper = "p"\n' + CLAIM)
    (loaded,) = claims.load(path)
    assert loaded.paper == "p"
    assert loaded.cases == ("n = 2", "n = 20")


def test_a_base_in_a_claims_file(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    base = 'base = { metric = "timeouts", unit = "%", band = { below = 1 } }\n'
    path.write_text('paper = "p"\n' + CLAIM + base)
    (loaded,) = claims.load(path)
    assert loaded.base == claims.Base("timeouts", "%", Band(high=1, high_included=False))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('unit = "packets"\n', "", "missing unit"),
        ('unit = "packets"', 'units = "packets"', "missing unit"),
        ('unit = "packets"', 'unit = "packets"\nextra = 1', "unknown extra"),
        ('basis = "number"', 'basis = "hope"', "basis is one of"),
        ('["n = 2", "n = 20"]', "[]", "cases"),
        ('["n = 2", "n = 20"]', '["n = 2", "n = 2"]', "cases"),
        ('paper_value = "10"', "paper_value = 10", "not a text: paper_value"),
        ("at_least", "at_leest", "a band is one of"),
        ("cases =", 'base = "TCP"\ncases =', "a base has metric, unit and band"),
        (
            "cases =",
            'base = { metric = "m", unit = "%", band = { at = 1 } }\ncases =',
            "a band is one of",
        ),
        ('"It is so."', '"It is so.', "claims.toml"),
    ],
)
def test_a_broken_claims_file_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "claims.toml"
    path.write_text('paper = "p"\n' + CLAIM.replace(old, new))
    with pytest.raises(ClaimError, match=message):
        claims.load(path)


def test_two_claims_of_one_name_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text('paper = "p"\n' + CLAIM + CLAIM)
    with pytest.raises(ClaimError, match="more than one"):
        claims.load(path)
    with pytest.raises(ClaimError, match="nowhere"):
        claims.load(tmp_path / "nowhere.toml")


def test_a_reason_is_shown_only_for_its_verdict(tmp_path: Path) -> None:
    path = tmp_path / "reasons.toml"
    path.write_text('[a]\nfails = """\nThe flows\nrun in step."""\n')
    one = claim({"at_least": 10})
    reasons = claims.load_reasons(path, [one])
    failing = claims.judge(one, {"n = 2": [1.0]}, reasons)
    holding = claims.judge(one, {"n = 2": [11.0]}, reasons)
    assert failing.as_json()["reason"] == "The flows run in step."
    assert not holding.as_json()["reason"]


def test_reasons_for_unknown_claims_or_verdicts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "reasons.toml"
    one = claim({"at_least": 10})
    assert claims.load_reasons(path, [one]) == {}
    path.write_text('[b]\nfails = "x"\n')
    with pytest.raises(ClaimError, match="no claim"):
        claims.load_reasons(path, [one])
    path.write_text('[a]\nperhaps = "x"\n')
    with pytest.raises(ClaimError, match="no verdict"):
        claims.load_reasons(path, [one])


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.5, "0.5"), (95.1234, "95.12"), (100.0, "100"), (1e-5, "1e-05"), (2e7, "2e+07")],
)
def test_numbers_are_readable(value: float, text: str) -> None:
    assert claims.number(value) == text
