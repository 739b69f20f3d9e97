"""What a user can choose of a figure, and its defaults."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from incastle.analysis.completions import QUANTILES, SIZE_CLASSES
from incastle.errors import PlotError
from incastle.plotting.style import STYLES, unknown
from incastle.units import parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

MM_PER_INCH = 25.4
MAX_INCHES = 100
OPTIONS = {"groups": "--group", "labels": "--label", "where": "KEY=VALUE"}
"""Choices whose name on the command line is another one."""
CLASSES = "classes"
"""The name of the size classes of DCTCP's evaluation."""


@dataclass(frozen=True)
class Options:
    """What is chosen of a figure.

    Attributes:
        by: the horizontal axis: `size`, or a key of a sweep; None for the kind's own.
        percentiles: names of `QUANTILES`, a panel for each.
        bins: how many bins of equal counts, or the sizes at which bins begin.
        ccdf: of distributions, draw the share above a value.
        groups: patterns of groups of flows; empty for all.
        pool: draw all groups of flows together, not a panel for each.
        ports: patterns of ports; empty for all.
        title: None for the default, which columns of papers do not have.
        size: width and height in inches; None for those of the style.
        style: a name of `STYLES`.
        where: values of swept keys: of a sweep, only these combinations are drawn.
        given: `percentiles` and `bins` where they are chosen: kinds that have none ignore their
            defaults, and refuse a choice.
        typed: whether messages name options of the command line, not arguments.

    """

    by: str | None = None
    percentiles: tuple[str, ...] = ("median", "p95", "p99")
    bins: int | tuple[int, ...] = 10
    ccdf: bool = False
    groups: tuple[str, ...] = ()
    pool: bool = False
    ports: tuple[str, ...] = ()
    title: str | None = None
    size: tuple[float, float] | None = None
    style: str = "screen"
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    typed: bool = False

    def __post_init__(self) -> None:
        """Check what has a form of its own; a `PlotError` names what is wrong."""
        if self.style not in STYLES:
            raise PlotError(unknown(f"no style {self.style!r}", self.style, STYLES))
        for name in self.percentiles:
            if name not in QUANTILES:
                raise PlotError(unknown(f"no percentile {name!r}", name, QUANTILES))
        sizes = self.bins if isinstance(self.bins, tuple) else ()
        if sizes == () and (isinstance(self.bins, tuple) or self.bins < 1):
            raise PlotError("bins are a number from 1, or sizes")
        if any(low >= high for low, high in pairwise((0, *sizes))):
            raise PlotError(f"sizes of bins ascend from above 0, not {list(sizes)}")

    def name(self, choice: str) -> str:
        """Name a choice as its user writes it."""
        return OPTIONS.get(choice, f"--{choice}") if self.typed else choice

    def of_ports(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of the ports that a pattern names.

        Raises:
            PlotError: a pattern names none.

        """
        import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

        there = frame["port"].unique(maintain_order=True).to_list()
        return frame.filter(pl.col("port").is_in(matching("port", self.ports, there)))

    def by_group(self, frame: pl.DataFrame) -> list[pl.DataFrame]:
        """Return the rows of each group of flows that a pattern names, or of all together.

        Raises:
            PlotError: a pattern names none.

        """
        import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

        there = frame["group"].unique(maintain_order=True).to_list()
        names = matching("group", self.groups, there)
        if self.pool:
            return [frame.filter(pl.col("group").is_in(names))]
        return [frame.filter(group=name) for name in names]


def matching(what: str, patterns: Sequence[str], there: Sequence[str]) -> list[str]:
    """Return the names that a pattern matches, in their order; without patterns all.

    Raises:
        PlotError: a pattern matches none.

    """
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in there):
            raise PlotError(unknown(f"no {what} {pattern!r} in the table", pattern, there))
    return [name for name in there if not patterns or any(fnmatchcase(name, p) for p in patterns)]


def percentiles(text: str) -> tuple[str, ...]:
    """Read `50,95,99`.

    Raises:
        PlotError: one of them is none that is drawn.

    """
    names = {f"{100 * share:g}": name for name, share in QUANTILES.items()}
    found = [names.get(word.strip().removesuffix("%").strip()) for word in text.split(",")]
    if None in found:
        raise PlotError(f"percentiles {text}: there are {', '.join(names)}, as in 50,99")
    return tuple(dict.fromkeys(name for name in found if name))


def bins(text: str) -> int | tuple[int, ...]:
    """Read the number of bins, `classes`, or the sizes at which they begin: `10 KB,1 MB`.

    Raises:
        PlotError: it is none of these.

    """
    if text == CLASSES:
        return SIZE_CLASSES
    if text.isdecimal():
        return int(text)
    parsed = [parse(word) for word in text.split(",")]
    sizes = [int(one[0]) for one in parsed if one is not None and one[1] == "B"]
    if len(sizes) < len(parsed):
        raise PlotError(
            f"bins {text}: expected a number of bins of equal counts (10), {CLASSES}, or the sizes "
            "at which bins begin ('10 KB,100 KB,1 MB')"
        )
    return tuple(sizes)


def inches(text: str) -> tuple[float, float]:
    """Read a size: `3.5x2.4` inches, `3.5x2.4 in` or `89x60 mm`.

    Raises:
        PlotError: it is none, or out of all measure.

    """
    found = re.fullmatch(r"\s*([\d.]+)\s*(?:x|\u00d7)\s*([\d.]+)\s*(in|mm|cm)?\s*", text)
    try:
        width, height = (float(one) for one in found.groups()[:2]) if found else (0.0, 0.0)
    except ValueError:
        width = height = 0.0
    unit = {"mm": MM_PER_INCH, "cm": MM_PER_INCH / 10}.get(found[3] if found else "", 1.0)
    size = (width / unit, height / unit)
    if not all(0 < side <= MAX_INCHES for side in size):
        raise PlotError(f"size {text}: expected WIDTHxHEIGHT, as 3.5x2.4 (inches) or '89x60 mm'")
    return size


def with_defaults(
    percentiles: tuple[str, ...] | None, bins: int | tuple[int, ...] | None
) -> dict[str, Any]:
    """Return the arguments of `Options` for what has a default: None where it is not chosen."""
    found = {"percentiles": percentiles, "bins": bins}
    chosen = {name: value for name, value in found.items() if value is not None}
    return {**chosen, "given": frozenset(chosen)}


def as_sequence(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return one string, several or none as a tuple."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def as_words(where: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return values of keys, one or several of each, as a sweep writes them."""

    def word(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    return {
        key: tuple(map(word, of)) if isinstance(of, list | tuple) else (word(of),)
        for key, of in where.items()
    }
