"""comparison: eight algorithms over the same six workloads, and DCTCP beside CUBIC. No document.

One table with the best of each row, one figure of the same numbers, what wins where, the shares of
mixed round trips, and what DCTCP and CUBIC do to each other in one queue and in two.
"""

from pathlib import Path

from incastle.reproduction.papers import Paper

from .drawings import FIGURES
from .facts import FACTS
from .plan import experiments

PAPER = Paper(
    name="comparison",
    folder=Path(__file__).parent,
    tables=(),
    plan=experiments,
    figures=FIGURES,
    measures={},
    facts=FACTS,
    document=False,
)
