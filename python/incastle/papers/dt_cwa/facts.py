"""Further measured numbers for the texts of reasons.toml and paper.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from incastle.papers import Observations

FACTS: dict[str, Callable[[Observations], dict[str, str]]] = {}
