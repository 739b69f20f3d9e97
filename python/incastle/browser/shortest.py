"""The shortest text of a scenario: without keys whose value is the default, or a preset's.

A resolved scenario has every key. A link with all of them is three times as long, and its reader
does not see what the run is about. Leaves out: other orders of leaving keys out, of which some may
give a text that is shorter still.
"""

from __future__ import annotations

import re
from functools import cache

from incastle.errors import ScenarioError
from incastle.scenario import Scenario


@cache
def shortest(resolved: str) -> str:
    """Return a text of the same scenario, of which no table or line could be left out.

    The last tables are tried first: those of flows repeat what holds for all.
    """
    blocks = [block.split("\n") for block in re.split(r"\n\n+", resolved.strip())]
    for place in reversed(range(len(blocks))):
        whole, blocks[place] = blocks[place], []
        if not _same(blocks, resolved):
            blocks[place] = whole
            _leave_out(blocks, place, 1 if whole[0].startswith("[") else 0, len(whole), resolved)
    return _text(blocks)


def _leave_out(blocks: list[list[str]], place: int, begin: int, end: int, resolved: str) -> None:
    """Leave out lines of a block, from `begin` to before `end`: all of them, or parts of halves."""
    whole = blocks[place]
    blocks[place] = whole[:begin] + whole[end:]
    if begin == end or _same(blocks, resolved):
        return
    blocks[place] = whole
    if end - begin > 1:
        half = (begin + end) // 2
        _leave_out(blocks, place, half, end, resolved)
        _leave_out(blocks, place, begin, half, resolved)


def _text(blocks: list[list[str]]) -> str:
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _same(blocks: list[list[str]], resolved: str) -> bool:
    """Tell whether the text is that of the scenario; what is none is another."""
    try:
        return Scenario.from_text(_text(blocks)).resolved == resolved
    except ScenarioError:
        return False
