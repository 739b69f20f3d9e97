"""qcn-incast: QCN in TCP incast scenarios (Devkota and Reddy).

Figures 2 to 18 and tables I to III, section IX in its style, what the paper leaves open, and
beyond it where collapse begins, what a request takes, why timeouts happen, and what helps.
"""

from pathlib import Path

from incastle.reproduction.declarations import Declarations

from . import counters, nearest, rates, runs, traces

DECLARED = Declarations(Path(__file__).parent, (runs, rates, counters, traces, nearest))
PAPER = DECLARED.paper()
