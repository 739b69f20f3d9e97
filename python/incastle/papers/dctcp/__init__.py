"""dctcp: "Data Center TCP" (slides on Alizadeh et al., SIGCOMM 2010), DCTCP's own evaluation.

Two long flows, convergence, incast with static and dynamic buffers, all-to-all incast, queue
build-up, buffer pressure, the cluster benchmark; and the same with hosts of today.
"""

from pathlib import Path

from incastle.papers import Paper

from .drawings import FIGURES
from .facts import FACTS
from .measures import MEASURES
from .plan import experiments

PAPER = Paper(
    name="dctcp",
    folder=Path(__file__).parent,
    tables=("summary",),
    plan=experiments,
    figures=FIGURES,
    measures=MEASURES,
    facts=FACTS,
)
