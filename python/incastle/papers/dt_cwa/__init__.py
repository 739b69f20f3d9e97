"""dt-cwa: double threshold and congestion window adjustment (Sreekumari 2018).

Figures 4, 6, 7 and 8 for every reading of its equations and thresholds, its reasons as claims, and
one table that tells under which reading its numbers appear.
"""

from pathlib import Path

from incastle.reproduction.papers import Paper

from .drawings import FIGURES
from .facts import FACTS
from .measures import MEASURES
from .plan import experiments

PAPER = Paper(
    name="dt-cwa",
    folder=Path(__file__).parent,
    tables=("flows", "links"),
    plan=experiments,
    figures=FIGURES,
    measures=MEASURES,
    facts=FACTS,
)
