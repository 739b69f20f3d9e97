"""Numbers of a study: quantities of a scenario, lists, and messages that name the options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incastle.errors import IncastleError, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKET = 1500
"""Bytes of a full packet, for a quantity in packets."""
UNITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12}
UNITS |= {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
UNITS |= {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
UNITS |= {"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}


def amount(text: str) -> float:
    """Read a quantity as a checked scenario writes it, in bits per second, seconds or bytes."""
    number, _, unit = text.partition(" ")
    if unit.startswith("packet"):
        return float(number) * PACKET
    return float(number) * UNITS[unit]


def integers(option: str, text: str) -> list[int]:
    """Read "4,8,16" of an option."""
    parts = [part.strip() for part in text.split(",")]
    wrong = [part for part in parts if not (part.isascii() and part.isdigit() and int(part) > 0)]
    if wrong:
        raise IncastleError(
            f"{option} {text}: {wrong[0]!r} is not an integer above 0, as in 4,8,16"
        )
    return sorted({int(part) for part in parts})


def with_options(error: ScenarioError, options: Mapping[str, str]) -> IncastleError:
    """Return the error with the names of options in place of the keys that they set."""
    lines: dict[str, str] = {}
    for found in error.diagnostics:
        option = options.get(found.key)
        text = f"{option or found.place}: {found.message}"
        lines.setdefault(option or text, text + (f"\n  {found.help}" if found.help else ""))
    return IncastleError("\n".join(lines.values()))
