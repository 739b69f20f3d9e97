"""dcudp: UDT with ECN and two modes for data centers (Ye, Mhamdi and Hamdi).

Figures 6 to 9 for every reading of its damaged law and of its exit rule, its claims about UDT,
fairness and convergence, and tables that tell under which reading its figures appear.
"""

from pathlib import Path

from incastle.papers import Paper

from .drawings import FIGURES
from .measures import MEASURES
from .plan import experiments

PAPER = Paper(
    name="dcudp",
    folder=Path(__file__).parent,
    tables=("flows", "links"),
    plan=experiments,
    figures=FIGURES,
    measures=MEASURES,
    facts={},
    draft=True,
)
