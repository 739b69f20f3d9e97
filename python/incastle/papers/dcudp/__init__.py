"""dcudp: UDT with ECN and two modes for data centers (Ye, Mhamdi and Hamdi).

Figures 6 to 9 for every reading of its damaged law and of its exit rule, its claims about UDT,
fairness and convergence, and tables of the readings under which its figures appear.
"""

from pathlib import Path

from incastle.reproduction.declarations import Declarations

from . import answer, drawings, readings, runs

DECLARED = Declarations(Path(__file__).parent, (runs, answer, drawings), readings.AXES)
PAPER = DECLARED.paper()
