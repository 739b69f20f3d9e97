"""The kind of result at a user's path: for messages with the command that takes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SUMMARY, HEADER, CLAIMS = "summary.json", "sweep.json", "claims.json"
"""The files by which the directory of a result, a sweep and a report is recognised."""
REPORT_HEADER = "report.json"
"""What a report was made of: version, length, papers, figure and command."""
MAX_NAMED = 3
"""Results of a folder that a message names."""


def described(path: Path) -> str | None:
    """Describe a path and the command that takes it; None where it is nothing of ours."""
    if path.is_file() and path.suffix == ".toml":
        return f"it is a scenario; `incastle run {path}` makes a result of it"
    if (path / SUMMARY).is_file():
        return "it is the result of one run; `incastle plot` and `incastle explain` take it"
    if (path / HEADER).is_file():
        return (
            "it is a sweep, which has a row for each run and no further tables; `incastle sweep "
            f"{path} --plot ...` draws it, `incastle run` makes the result of one combination"
        )
    if (path / CLAIMS).is_file():
        return "it is a report; `incastle diff` compares it with another"
    inside = sorted(one.parent for one in path.glob(f"*/{SUMMARY}"))
    if not inside:
        return None
    more = ", ..." if len(inside) > MAX_NAMED else ""
    shown = ", ".join(str(one) for one in inside[:MAX_NAMED]) + more
    return f"it holds {len(inside)} results: name one of them, as {shown}"


def held(folder: Path) -> tuple[list[str], str | None]:
    """Give the papers of the report in a folder, none without one, and its figure if it has one."""
    try:
        header = json.loads((folder / REPORT_HEADER).read_text(encoding="utf-8"))
        return [str(name) for name in header["papers"]], header["figure"]
    except (OSError, ValueError, KeyError, TypeError):
        return [], None
