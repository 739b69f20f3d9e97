"""Plain values side by side: parameters, totals, measured numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    Value = int | float | str | bool | None


@dataclass(frozen=True)
class Change:
    """A value that is different on both sides; None on the side that does not have it."""

    name: str
    a: Value
    b: Value

    @property
    def relative(self) -> float | None:
        """(b - a) / |a|; None where one of them is no number, or a is 0."""
        return relative(self.a, self.b)

    def as_json(self) -> dict[str, Any]:
        """Return its entry in the JSON of a comparison."""
        return {"name": self.name, "a": self.a, "b": self.b, "relative": self.relative}


def relative(a: Value, b: Value) -> float | None:
    """Return (b - a) / |a|; None where one of them is no number, or a is 0."""
    if not (_is_number(a) and _is_number(b)) or not a:
        return None
    change = (float(b) - float(a)) / abs(float(a))  # type: ignore[arg-type]
    return change if math.isfinite(change) else None


def changes(a: Mapping[str, Value], b: Mapping[str, Value]) -> list[Change]:
    """Return what differs, in the order of `a`, then what `b` alone has."""
    names = dict.fromkeys((*a, *b))
    pairs = (Change(name, a.get(name), b.get(name)) for name in names)
    return [pair for pair in pairs if not same(pair.a, pair.b)]


def same(a: Value, b: Value) -> bool:
    """Return whether two values are equal; what is not a number equals itself."""
    return a == b or (a != a and b != b)  # noqa: PLR0124  only NaN differs from itself


def differing(a: pl.DataFrame, b: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Put `value` of two frames side by side by their keys, and keep what is different.

    Where they have `high` as well, a value lies between the two, and its change is unknown unless
    both agree.

    Returns:
        The keys, `a`, `b` (null where a side has no such row), `a_high` and `b_high` where there
        are such, and `relative`, in the order of `a`, then what `b` alone has.

    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    sides = [
        frame.rename({"value": side, "high": f"{side}_high"}, strict=False)
        for side, frame in (("a", a), ("b", b))
    ]
    both = sides[0].join(sides[1], on=keys, how="full", coalesce=True, maintain_order="left_right")
    change = (pl.col("b") - pl.col("a")) / pl.col("a").abs()
    differs, certain = pl.col("a").ne_missing(pl.col("b")), change.is_finite()
    if "a_high" in both.columns:
        differs |= pl.col("a_high").ne_missing(pl.col("b_high"))
        certain &= (pl.col("a") == pl.col("a_high")) & (pl.col("b") == pl.col("b_high"))
    return both.filter(differs).with_columns(relative=pl.when(certain).then(change))


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
