"""Values as TOML writes them, on one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tomli_w

if TYPE_CHECKING:
    from incastle.scenario import Value


def one_line_toml(value: Value) -> str:
    """Write a value as TOML writes it on the right of an equals sign, on one line."""
    if isinstance(value, dict):
        pairs = (
            f"{one_line_toml(str(key))} = {one_line_toml(item)}" for key, item in value.items()
        )
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(one_line_toml(item) for item in value) + "]"
    return tomli_w.dumps({"x": value}).removeprefix("x = ").rstrip("\n")


def as_words(value: Value) -> str:
    """Write a value for readers: a string as it is, all else as TOML has it."""
    return value if isinstance(value, str) else one_line_toml(value)
