"""dctcp: "Data Center TCP" (slides on Alizadeh et al., SIGCOMM 2010), DCTCP's own evaluation.

Two long flows, convergence, incast with static and dynamic buffers, all-to-all incast, queue
build-up, buffer pressure, the cluster benchmark; and the same with hosts of today.
"""

from pathlib import Path

from incastle.reproduction.declarations import Declarations

from . import drawings, runs

DECLARED = Declarations(Path(__file__).parent, (runs, drawings))
PAPER = DECLARED.paper()
