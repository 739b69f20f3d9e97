"""Rates, times and sizes: as ns-3 and the peers write them, and as a scenario does.

Everything is exact: bits per second, picoseconds and bytes as whole numbers. Sources: ns-3, the
attributes DataRate (src/network/utils/data-rate.cc) and Time (src/core/model/time.cc), of the
version that HPCC's simulator ships.
"""

from __future__ import annotations

import re
from decimal import Decimal

from incastle.units import PS_PER_S, RATES, SIZES, TIMES, exact

NS_PER_S, PS_PER_NS = 10**9, 1000
DIGITS = 12
"""Decimals of a second that are whole picoseconds."""

NUMBER = r"\d+(?:\.\d*)?(?:[eE][+-]?\d{1,2})?"
NUMBERS = re.compile(NUMBER, re.ASCII)
QUANTITY = re.compile(rf"({NUMBER})([A-Za-z/]*)", re.ASCII)

_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_KINDS = {"bps": 1, "b/s": 1, "Bps": 8, "B/s": 8}
NS3_RATES = {
    **{prefix + kind: n * bits for prefix, n in _PREFIXES.items() for kind, bits in _KINDS.items()},
    **{f"{prefix}b/s": n for prefix, n in _BINARY.items()},
    **{f"{prefix}B/s": 8 * n for prefix, n in _BINARY.items()},
}
"""Units of ns-3's rates, in bits per second; a number alone is in bits per second."""

NS3_TIMES = TIMES | {"": PS_PER_S, "min": 60 * PS_PER_S, "h": 3600 * PS_PER_S}
"""Units of ns-3's times, in picoseconds; a number alone is in seconds."""


def ns3_rate(text: str) -> int | None:
    """Read "100Gbps" as bits per second; None where it is no rate, or no whole number of them."""
    return _quantity(text, NS3_RATES | {"": 1})


def ns3_time(text: str) -> int | None:
    """Read "0.001ms" as picoseconds; None where it is no time, or no whole number of them."""
    return _quantity(text, NS3_TIMES)


def _quantity(text: str, units: dict[str, int]) -> int | None:
    found = QUANTITY.fullmatch(text)
    if found is None or found[2] not in units:
        return None
    return _whole(Decimal(found[1]) * units[found[2]])


def _whole(value: Decimal) -> int | None:
    return int(value) if value == value.to_integral_value() else None


def seconds(text: str) -> int | None:
    """Read seconds as picoseconds; None where it is no number, or no whole number of them."""
    units, _, part = text.partition(".")
    if units.isdecimal() and len(part) <= DIGITS and (not part or part.isdecimal()):
        # Exact, and several times faster than decimal numbers.
        return int(units) * PS_PER_S + int(part.ljust(DIGITS, "0"))
    value = number(text)
    return None if value is None else _whole(value * PS_PER_S)


def ns3_instant(picoseconds: int) -> int:
    """Return the instant that ns-3 makes of seconds in a file, in picoseconds.

    The seconds are a double there, its fraction is cut to 64 binary digits, and the product with
    10^9 to whole nanoseconds: many whole numbers of them come out 1 ns less (int64x64-128.h).
    """
    seconds = picoseconds / PS_PER_S
    whole = int(seconds)
    fraction = int((seconds - whole) * 2**64)
    return whole * PS_PER_S + (fraction * NS_PER_S >> 64) * PS_PER_NS


def number(text: str) -> Decimal | None:
    """Read a number that is not negative, such as 0.5 or 1e-6; None where it is none."""
    return Decimal(text) if NUMBERS.fullmatch(text) else None


def in_seconds(picoseconds: int) -> str:
    """Write picoseconds as seconds, every digit that there is."""
    units, part = divmod(picoseconds, PS_PER_S)
    return f"{units}.{part:012d}".rstrip("0").rstrip(".") if part else str(units)


def rate(bits_per_second: int) -> str:
    """Write a rate as a scenario has it."""
    return exact(bits_per_second, RATES)


def time(picoseconds: int) -> str:
    """Write a time as a scenario has it."""
    return exact(picoseconds, TIMES)


def size(count: int) -> str:
    """Write a number of bytes as a scenario has it."""
    return exact(count, SIZES)
