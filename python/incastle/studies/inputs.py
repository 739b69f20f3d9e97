"""Numbers of a study: quantities of a scenario, lists, and messages that name the options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incastle.errors import IncastleError, ScenarioError
from incastle.units import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from incastle.scenario import Scenario

PACKET = 1500
"""Bytes of a full packet, for a quantity in packets."""


def amount(text: str) -> float:
    """Read a quantity as a checked scenario writes it, in bits per second, seconds or bytes."""
    parsed = parse(text)
    if parsed is None:
        raise IncastleError(f"{text} is no quantity")
    number, unit = parsed
    return number * PACKET if unit == "packets" else number


def check_star(scenario: Scenario) -> None:
    """Refuse another topology.

    Raises:
        IncastleError: names what runs those.

    """
    if scenario["network.topology"] != "star":
        raise IncastleError("only a star is swept; for another network see incastle.run_many")


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
