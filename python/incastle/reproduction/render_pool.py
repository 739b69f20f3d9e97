"""Renders many figures on all cores: other interpreters take their shares over pipes.

`multiprocessing` would not do. Forking is unsafe with the threads of the engine and of polars,
and spawning imports the user's own program again. Here each helper is
`python -m incastle.reproduction.render_pool`, which reads its drawings from its standard input.
Files are the same as from one process.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from incastle.reproduction import figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incastle.reproduction.figures import Drawing

SHARE = 4
"""A helper takes half a second to start, as long as one or two figures: it must have this many."""


def render(drawings: Sequence[Drawing]) -> None:
    """Write each figure's files."""
    hands = max(1, min(os.cpu_count() or 1, len(drawings) // SHARE))
    shares = [drawings[hand::hands] for hand in range(hands)]
    with ThreadPoolExecutor(hands) as pool:
        helped = [pool.submit(_help, share) for share in shares[1:]]
        _render(shares[0])
        for share, helper in zip(shares[1:], helped, strict=True):
            # The share of a failed helper is done here, in the only thread that draws.
            if not helper.result():
                _render(share)


def _render(drawings: Sequence[Drawing]) -> None:
    for drawing in drawings:
        figures.render(drawing)


def _help(drawings: Sequence[Drawing]) -> bool:
    """Let a helper draw; return whether it has."""
    command = [sys.executable, "-m", "incastle.reproduction.render_pool"]
    try:
        work = pickle.dumps(list(drawings))
    except (pickle.PicklingError, AttributeError, TypeError):
        return False  # a drawing that is a function within a function cannot travel
    return subprocess.run(command, input=work, capture_output=True, check=False).returncode == 0


def main() -> None:
    """Draw what the standard input holds, as a helper."""
    _render(pickle.load(sys.stdin.buffer))  # noqa: S301  from our own process


if __name__ == "__main__":
    main()
