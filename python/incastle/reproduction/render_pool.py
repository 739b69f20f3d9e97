"""Renders many figures on all cores: other interpreters take their shares over pipes.

`multiprocessing` would not do. Forking is unsafe with the threads of the engine and of polars,
and spawning imports the user's own program again. Here each helper is
`python -m incastle.reproduction.render_pool`, which reads its drawings from its standard input and
answers with the SVGs.
Files and texts are the same as from one process.
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


def render(drawings: Sequence[Drawing]) -> list[str]:
    """Write each figure's files; give the texts of the SVGs in the order of the drawings."""
    hands = max(1, min(os.cpu_count() or 1, len(drawings) // SHARE))
    shares = [drawings[hand::hands] for hand in range(hands)]
    texts = [""] * len(drawings)
    with ThreadPoolExecutor(hands) as pool:
        helped = [pool.submit(_help, share) for share in shares[1:]]
        texts[0::hands] = _render(shares[0])
        for hand, answer in enumerate(helped, 1):
            # The share of a failed helper is done here, in the only thread that draws.
            texts[hand::hands] = answer.result() or _render(shares[hand])
    return texts


def _render(drawings: Sequence[Drawing]) -> list[str]:
    return [figures.render(drawing) for drawing in drawings]


def _help(drawings: Sequence[Drawing]) -> list[str]:
    """Let a helper draw; nothing if it could not start or failed."""
    command = [sys.executable, "-m", "incastle.reproduction.render_pool"]
    try:
        work = pickle.dumps(list(drawings))
    except (pickle.PicklingError, AttributeError, TypeError):
        return []  # a drawing that is a function within a function cannot travel
    helper = subprocess.run(command, input=work, capture_output=True, check=False)
    answer: list[str] = []
    if helper.returncode == 0:
        answer = pickle.loads(helper.stdout)  # noqa: S301  from our own helper
    return answer


def main() -> None:
    """Draw what the standard input holds, as a helper."""
    drawings: list[Drawing] = pickle.load(sys.stdin.buffer)  # noqa: S301  from our own process
    answer = _render(drawings)
    sys.stdout.buffer.write(pickle.dumps(answer))


if __name__ == "__main__":
    main()
