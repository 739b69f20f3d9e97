"""`incastle schema`: the JSON Schema of the scenario language."""

from __future__ import annotations

from incastle import _engine

EXAMPLES = ("incastle schema > incastle.schema.json",)


def schema() -> None:
    """Print the JSON Schema of the scenario language, for use in editors."""
    print(_engine.schema())
