"""Further numbers of qcn-incast, for the sentences of reasons.toml and the notes of paper.toml.

They do not decide a verdict; they show why it is as it is. Each is a text for a name in braces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from incastle.papers import Observations

Facts: TypeAlias = dict[str, str]

FACTS: dict[str, Callable[[Observations], Facts]] = {}
"""By claim, and by figure for its note."""
