"""dt-cwa: double threshold and congestion window adjustment (Sreekumari 2018).

Figures 4, 6, 7 and 8 for every reading of its equations and thresholds, its reasons as claims, and
one table of the readings under which its numbers appear.
"""

from pathlib import Path

from incastle.reproduction.declarations import Declarations

from . import answer, readings, runs

DECLARED = Declarations(Path(__file__).parent, (runs, answer), readings.AXES)
PAPER = DECLARED.paper()
