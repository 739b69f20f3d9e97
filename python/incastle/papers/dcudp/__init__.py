"""dcudp: UDT with ECN and two modes for data centers (Ye, Mhamdi and Hamdi).

Figures 6 to 9 for every reading of its damaged law and of its exit rule, its claims about UDT,
fairness and convergence, and tables that tell under which reading its figures appear.
"""

from dataclasses import replace
from pathlib import Path

from incastle.reproduction.papers import Paper

from .drawings import FIGURES
from .facts import FACTS, needed
from .measures import MEASURES
from .plan import experiments

PAPER = Paper(
    name="dcudp",
    folder=Path(__file__).parent,
    tables=("flows", "links"),
    plan=experiments,
    figures=tuple(replace(one, uses=(*one.uses, *needed(*one.claims))) for one in FIGURES),
    measures=MEASURES,
    facts=FACTS,
)
