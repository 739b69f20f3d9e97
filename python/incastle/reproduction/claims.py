"""The claims of a paper, and their verdicts.

A paper's folder holds `claims.toml`: what the paper claims, in our words, with the metric and the
band of values that confirms it. A measurement yields, for each case of a claim, one value per seed.
A case *holds* when the whole interval of its mean lies within the band, *fails* when it lies
outside as a whole, and is *unclear* when it spans an edge. The interval is Student's t over the
seeds, or that of the median by ranks, as the case's `Look` says, which has the confidence, too;
comparisons are formed seed by seed before, so they are paired. With a single seed there is
no interval and the value alone decides; the report states it. Cases that a run could not measure
do not count; but a claim of which a part was not measured is at best unclear.

A claim may rest on a *base*: a situation that must be sound before anything can be compared with
it, such as queries without timeouts before other traffic is added. It is a separate condition,
with metric and band, judged alike. Where the base fails the verdict is *fails: base*,
whatever was measured beyond it; where it is unclear, so is the case.

`reasons.toml`, next to it, has the reasons of verdicts that are understood. A text
is shown only where the verdict is the one that it explains, so that it cannot contradict what was
measured; numbers in it are names in braces, in whose place the paper's facts are put.

A value may have two ends (`incastle.analysis.ends`): what was unfinished when a run ended could
change it. The case is then judged as a whole, from the interval of the lower ends to that of
the upper ends: it holds or fails only if it does so wherever the value lies, and is unclear
otherwise.

What this leaves out: no correction for many claims at once, and no test of a distribution's shape.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from incastle.analysis.confidence import Method, interval_of
from incastle.analysis.ends import Ends, apart, unfinished
from incastle.analysis.looks import MOST_SEEDS, ONLY, Look
from incastle.analysis.peaks import two_peaks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from incastle.analysis.ends import Value

BASES = ("words", "number", "figure", "theory", "ours")
_TEXTS = ("id", "document", "place", "statement", "metric", "unit", "paper_value", "basis")


class ClaimError(ValueError):
    """A claims.toml or reasons.toml that cannot be read, or measurements that do not fit."""


class Verdict(StrEnum):
    """The verdict on a claim."""

    HOLDS = "holds"
    PARTLY = "holds in part"
    FAILS = "fails"
    BASE = "fails: base"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class Band:
    """The values that confirm a claim: an interval whose edges are open, closed or absent."""

    low: float = -math.inf
    high: float = math.inf
    low_included: bool = True
    high_included: bool = True

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Band:
        """Read `{ above | at_least | below | at_most = x }` or `{ from = a, to = b }`."""
        if any(isinstance(v, bool) or not isinstance(v, int | float) for v in table.values()):
            raise ClaimError(f"a band's edges are numbers, not {dict(table)}")
        match dict(table):
            case {"above": edge, **rest} if not rest:
                return cls(low=float(edge), low_included=False)
            case {"at_least": edge, **rest} if not rest:
                return cls(low=float(edge))
            case {"below": edge, **rest} if not rest:
                return cls(high=float(edge), high_included=False)
            case {"at_most": edge, **rest} if not rest:
                return cls(high=float(edge))
            case {"from": low, "to": high, **rest} if not rest and low <= high:
                return cls(low=float(low), high=float(high))
        raise ClaimError(
            f"a band is one of above, at_least, below, at_most, or from and to; found {dict(table)}"
        )

    def contains(self, value: float) -> bool:
        """Whether a value confirms the claim."""
        above = value > self.low or (self.low_included and value == self.low)
        below = value < self.high or (self.high_included and value == self.high)
        return above and below

    def nearest(self, value: float) -> float:
        """Give the edge that lies nearest to a value."""
        return min((self.low, self.high), key=lambda edge: abs(value - edge))

    def margin(self, value: float) -> float:
        """How far inside the band a value lies; negative outside."""
        return min(value - self.low, self.high - value)

    def judge(self, low: float, high: float) -> Verdict:
        """Judge an interval: wholly inside, wholly outside, or across an edge."""
        if self.contains(low) and self.contains(high):
            return Verdict.HOLDS
        beyond = low > self.high or (low == self.high and not self.high_included)
        short = high < self.low or (high == self.low and not self.low_included)
        return Verdict.FAILS if beyond or short else Verdict.UNCLEAR

    def __str__(self) -> str:
        """Print the band as a report shows it."""
        if math.isinf(self.high):
            return f"{'≥' if self.low_included else '>'} {self.low:g}"
        if math.isinf(self.low):
            return f"{'≤' if self.high_included else '<'} {self.high:g}"
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Base:
    """A condition without which a claim cannot be judged; it is measured, too."""

    metric: str
    unit: str
    band: Band


@dataclass(frozen=True)
class Claim:
    """One claim of a paper, as claims.toml gives it."""

    paper: str
    id: str
    document: str
    place: str
    statement: str
    metric: str
    unit: str
    paper_value: str
    band: Band
    basis: str
    cases: tuple[str, ...]
    base: Base | None = None


@dataclass(frozen=True)
class Upper:
    """The upper end of a case, where it differs: as the case's own numbers, but not the verdict."""

    measured: float
    interval: tuple[float, float] | None
    values: tuple[float, ...]

    def as_json(self) -> dict[str, Any]:
        """Give its entry in claims.json, where infinite is null."""
        return {
            "measured": _finite(self.measured),
            "interval": _interval_json(self.interval),
            "values": [_finite(value) for value in self.values],
        }


@dataclass(frozen=True)
class JudgedCase:
    """One case of a claim: its mean or median over the seeds, the interval of it, the verdict.

    Where transfers were unfinished these are the lower ends, `upper` has the others if they differ,
    and `swayed` tells that the lower ends alone would have another verdict. Where the claim rests
    on a base, the verdict heeds `base`, which was judged by its own band. Of an unclear one `needs`
    extrapolates how many seeds would decide it, and `outlook` tells it, or why none would.
    """

    case: str
    measured: float
    interval: tuple[float, float] | None
    verdict: Verdict
    values: tuple[float, ...]
    base: JudgedCase | None = None
    upper: Upper | None = None
    unfinished: int = 0
    swayed: bool = False
    look: Look = ONLY
    outlook: str = ""
    needs: int | None = None

    @property
    def known(self) -> bool:
        """Whether the run could measure it."""
        return not math.isnan(self.measured)

    @property
    def value(self) -> Ends:
        """The mean or median over the seeds, with its ends where they differ."""
        upper = self.measured if self.upper is None else self.upper.measured
        return Ends(self.measured, upper, self.unfinished)

    @property
    def range(self) -> tuple[float, float] | None:
        """The interval at this look, with that of the upper ends where they differ."""
        upper = self.values if self.upper is None else self.upper.values
        both = [Ends(*ends) for ends in zip(self.values, upper, strict=True)]
        return interval_of(both, self.look.confidence, self.look.method)

    @property
    def unclear(self) -> JudgedCase | None:
        """What is unclear about it: its base, itself, or nothing."""
        if self.base is not None and self.base.verdict is Verdict.UNCLEAR:
            return self.base
        return self if self.verdict is Verdict.UNCLEAR else None

    @property
    def sampled(self) -> str:
        """How many seeds at which look, the interval's confidence, and whether it is a median's."""
        words = [f"{len(self.values)} seeds"]
        words += [f"look {self.look.number}"] if self.look.number > 1 else []
        words += [f"{100 * self.look.confidence:.3g} %"]
        words += ["median"] if self.look.method is Method.MEDIAN else []
        return ", ".join(words)

    @property
    def seeds_help(self) -> bool:
        """Whether more seeds narrow its interval: it has one, and nothing unfinished decides."""
        return self.interval is not None and not self.swayed

    def margin(self, band: Band) -> float:
        """How far inside a band it lies, at the worse end."""
        return min(band.margin(end) for end in self.value[:2])

    def on(self, base: JudgedCase) -> JudgedCase:
        """Let it rest on a base: only where that holds, its own verdict counts."""
        given = {Verdict.HOLDS: self.verdict, Verdict.FAILS: Verdict.BASE}
        return replace(self, base=base, verdict=given.get(base.verdict, Verdict.UNCLEAR))

    def as_json(self) -> dict[str, Any]:
        """Give the case's entry in claims.json."""
        entry: dict[str, Any] = {
            "case": self.case,
            "measured": _finite(self.measured),
            "interval": _interval_json(self.interval),
            "verdict": str(self.verdict),
            "values": [_finite(value) for value in self.values],
            "seeds": len(self.values),
            "look": self.look.number,
            "confidence": self.look.confidence,
            "centre": str(self.look.method),
        }
        if self.outlook:
            entry["outlook"] = self.outlook
        if self.unfinished:
            entry["unfinished"] = self.unfinished
        if self.upper is not None:
            entry["upper"] = self.upper.as_json()
        return entry if self.base is None else {**entry, "base": self.base.as_json()}


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict. The measured case with the smallest margin in its band decides."""

    claim: Claim
    verdict: Verdict
    cases: tuple[JudgedCase, ...]
    deciding: JudgedCase
    explanation: str

    @property
    def coverage(self) -> str:
        """Give how many cases were measured, with their verdicts, if not all were; else nothing."""
        return _coverage(self.cases)

    def as_json(self) -> dict[str, Any]:
        """Give the claim's entry in claims.json; numbers that JSON does not know become null."""
        claim, deciding, base = self.claim, self.deciding, self.claim.base
        return {
            "paper": claim.paper,
            "id": claim.id,
            "document": claim.document,
            "place": claim.place,
            "statement": claim.statement,
            "metric": claim.metric,
            "unit": claim.unit,
            "paper_value": claim.paper_value,
            "band": str(claim.band),
            "basis": claim.basis,
            "base": base and {"metric": base.metric, "unit": base.unit, "band": str(base.band)},
            "measured": _finite(deciding.measured),
            "interval": _interval_json(deciding.interval),
            **({} if deciding.upper is None else {"upper": deciding.upper.as_json()}),
            "decided_by": deciding.case,
            "verdict": str(self.verdict),
            "reason": self.explanation,
            "cases": [case.as_json() for case in self.cases],
        }


def load(path: Path) -> list[Claim]:
    """Read a claims.toml. Every claim has every field, and a unique id."""
    document = _read(path)
    unknown = sorted(document.keys() - {"paper", "claim"})
    paper = document.get("paper")
    if not isinstance(paper, str) or unknown:
        raise ClaimError(f"{path}: expected `paper` and [[claim]] alone, found also {unknown}")
    claims = [_claim(paper, table, path) for table in document.get("claim", [])]
    ids = [claim.id for claim in claims]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise ClaimError(f"{path}: more than one claim named {', '.join(twice)}")
    return claims


def load_reasons(path: Path, claims: Sequence[Claim]) -> dict[tuple[str, Verdict], str]:
    """Read a reasons.toml: per claim id and verdict a text. A missing file means no reasons.

    A key may name several verdicts that a text explains: `"fails, unclear"`, `"fails: base"`.
    """
    if not path.exists():
        return {}
    known = {claim.id for claim in claims}
    reasons: dict[tuple[str, Verdict], str] = {}
    for name, texts in _read(path).items():
        if name not in known:
            raise ClaimError(f"{path}: a reason for `{name}`, which is no claim")
        for verdict, text in texts.items():
            for one in verdict.split(", "):
                if one not in set(Verdict):
                    raise ClaimError(f"{path}: `{one}` of `{name}` is no verdict")
                reasons[name, Verdict(one)] = " ".join(text.split())
    return reasons


def judge(
    claim: Claim,
    measured: Mapping[str, Sequence[Value]],
    reasons: Mapping[tuple[str, Verdict], str] | None = None,
    base: Mapping[str, Sequence[Value]] | None = None,
    looks: Mapping[str, Look] | None = None,
) -> Judged:
    """Judge a claim by its values per case and seed: the claim's own cases, all of them.

    `base` are those of the base, where the claim rests on one; `looks` are those of cases that are
    not judged at a first and only one.
    """
    at = looks or {}
    cases = _judge_cases(claim, claim.band, measured, at)
    if (claim.base is None) != (base is None):
        raise ClaimError(f"claim {claim.id}: a base is declared and measured, or neither")
    if claim.base is not None and base is not None:
        bases = _judge_cases(claim, claim.base.band, base, at)
        cases = tuple(case.on(one) for case, one in zip(cases, bases, strict=True))
    known = [case for case in cases if case.known]
    deciding = min(known or cases[:1], key=lambda case: case.margin(claim.band))
    verdict = _overall(cases)
    explanation = (reasons or {}).get((claim.id, verdict), "")
    return Judged(claim, verdict, cases, deciding, explanation)


def with_facts(judged: Judged, facts: Mapping[str, str]) -> Judged:
    """Put measured numbers in the place of the names in braces of an explanation."""
    return replace(judged, explanation=judged.explanation.format_map(facts))


def _judge_cases(
    claim: Claim, band: Band, measured: Mapping[str, Sequence[Value]], looks: Mapping[str, Look]
) -> tuple[JudgedCase, ...]:
    """Judge the claim's own cases, all of them, by a band."""
    if set(measured) != set(claim.cases):
        raise ClaimError(
            f"claim {claim.id} has the cases {list(claim.cases)}, measured were {list(measured)}"
        )
    return tuple(
        _judge_case(band, case, measured[case], looks.get(case, ONLY)) for case in claim.cases
    )


def _judge_case(band: Band, case: str, values: Sequence[Value], look: Look) -> JudgedCase:
    if not values:
        raise ClaimError(f"no value for the case {case}")
    lows, highs = apart(values)
    centre, around = look.method.centre, look.interval(lows)
    verdict = _judge_values(band, lows, around)
    judged = JudgedCase(
        *(case, centre(lows), around, verdict, tuple(lows)),
        unfinished=unfinished(values),
        look=look,
    )
    if lows != highs and not any(math.isnan(value) for value in (*lows, *highs)):
        upper = Upper(centre(highs), look.interval(highs), tuple(highs))
        spanned = interval_of(values, look.confidence, look.method)
        whole = band.judge(*(spanned or (min(lows), max(highs))))
        judged = replace(judged, verdict=whole, upper=upper, swayed=whole is not verdict)
    if judged.verdict is not Verdict.UNCLEAR or not judged.seeds_help:
        return judged
    needs = look.seeds_needed(lows, band.nearest(judged.measured))
    return replace(judged, needs=needs, outlook=_outlook(lows, needs))


def _outlook(values: Sequence[float], needs: int | None) -> str:
    """Tell of an unclear case how many seeds would decide it, or that there are two kinds."""
    if peaks := two_peaks(values):
        near, others = number(peaks.mean_of_few), number(peaks.mean_of_many)
        return f"bimodal: {peaks.few} of {len(values)} seeds near {near}, the others near {others}"
    words = f"more than {MOST_SEEDS:,}" if needs is None else f"about {needs:,}"
    return f"{words} seeds would decide it, extrapolated from {len(values)}"


def _judge_values(
    band: Band, values: Sequence[float], around: tuple[float, float] | None
) -> Verdict:
    """Judge by the interval, or, where there is none, by the values alone."""
    if around is not None:
        return band.judge(*around)
    inside = [band.contains(value) for value in values]
    if any(math.isnan(value) for value in values) or (any(inside) and not all(inside)):
        return Verdict.UNCLEAR
    return Verdict.HOLDS if all(inside) else Verdict.FAILS


_FAILING = ({Verdict.FAILS}, {Verdict.BASE})


def _overall(cases: Sequence[JudgedCase]) -> Verdict:
    """All alike: that. Some hold: in part. Otherwise what fails is mixed with what is unclear.

    Cases that fail, some of them at their base, fail.
    Of a claim that was measured in part, only that what was measured fails can be said.
    """
    known = [case for case in cases if case.known]
    verdicts = {case.verdict for case in known}
    if verdicts == {Verdict.FAILS, Verdict.BASE}:
        return Verdict.FAILS
    if len(known) < len(cases):
        return verdicts.pop() if verdicts in _FAILING else Verdict.UNCLEAR
    if len(verdicts) == 1:
        return verdicts.pop()
    return Verdict.PARTLY if Verdict.HOLDS in verdicts else Verdict.UNCLEAR


_DOES = {
    Verdict.HOLDS: ("it holds", "hold"),
    Verdict.FAILS: ("it fails", "fail"),
    Verdict.BASE: ("its base fails", "fail at their base"),
    Verdict.UNCLEAR: ("it is unclear", "are unclear"),
}


def _coverage(cases: Sequence[JudgedCase]) -> str:
    """Give "2 of 4 cases measured, both hold"; nothing where all or none were measured."""
    known = [case.verdict for case in cases if case.known]
    if len(known) in {0, len(cases)}:
        return ""
    if len(set(known)) == 1:
        alone, together = _DOES[known[0]]
        whole = "both" if len(known) == 2 else "all"  # noqa: PLR2004
        does = alone if len(known) == 1 else f"{whole} {together}"
    else:
        count = known.count(Verdict.HOLDS)
        does = f"{count} of them {'holds' if count == 1 else 'hold'}"
    return f"{len(known)} of {len(cases)} cases measured, {does}"


def unfinished_words(case: JudgedCase) -> str:
    """Give how many were unfinished, and whether they leave the verdict open; nothing for none."""
    if not case.unfinished:
        return ""
    return f"{case.unfinished:,} unfinished" + (", which could change it" if case.swayed else "")


def number(value: float) -> str:
    """Print a value with four significant digits, with an exponent only where it needs one."""
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "-∞"}.get(value, "-")
    if value != 0 and (abs(value) < 1e-3 or abs(value) >= 1e6):  # noqa: PLR2004
        return f"{value:.3g}"
    digits = 0 if value == 0 else max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _claim(paper: str, table: Mapping[str, Any], path: Path) -> Claim:
    name = table.get("id", "without an id")
    fields = {*_TEXTS, "band", "cases"}
    if missing := sorted(fields - table.keys()):
        raise ClaimError(f"{path}: claim {name}: missing {', '.join(missing)}")
    if unknown := sorted(table.keys() - fields - {"base"}):
        raise ClaimError(f"{path}: claim {name}: unknown {', '.join(unknown)}")
    if wrong := [key for key in _TEXTS if not isinstance(table[key], str) or not table[key]]:
        raise ClaimError(f"{path}: claim {name}: not a text: {', '.join(wrong)}")
    if table["basis"] not in BASES:
        raise ClaimError(f"{path}: claim {name}: basis is one of {', '.join(BASES)}")
    cases = table["cases"]
    if not cases or len(set(cases)) != len(cases):
        raise ClaimError(f"{path}: claim {name}: cases are one or more different names")
    texts = {key: table[key] for key in _TEXTS}
    base = _base(name, table["base"], path) if "base" in table else None
    band = Band.parse(table["band"])
    return Claim(paper=paper, band=band, cases=tuple(cases), base=base, **texts)


def _base(name: str, table: object, path: Path) -> Base:
    match table:
        case {"metric": str(metric), "unit": str(unit), "band": dict(band), **rest} if not rest:
            return Base(metric, unit, Band.parse(band))
    raise ClaimError(f"{path}: claim {name}: a base has metric, unit and band; found {table}")


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ClaimError(f"{path}: {error}") from error


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _interval_json(around: tuple[float, float] | None) -> list[float] | None:
    """Give an interval; none where it has no ends, as that of a median of too few seeds."""
    finite = around is not None and all(map(math.isfinite, around))
    return list(around) if around is not None and finite else None
