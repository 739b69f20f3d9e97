"""dctcp: "Data Center TCP" (slides on Alizadeh et al., SIGCOMM 2010), DCTCP's own evaluation.

Two long flows, convergence, incast with static and dynamic buffers, all-to-all incast, queue
build-up, buffer pressure, the cluster benchmark; and the same with hosts of today.
"""

from pathlib import Path

from incastle.reproduction.papers import Experiment, Length, Paper

from . import plan, why
from .drawings import FIGURES
from .facts import FACTS
from .measures import BASES, MEASURES


def experiments(length: Length) -> list[Experiment]:
    """List every experiment at this length."""
    extent = plan.EXTENTS[length]
    return [*plan.of_the_paper(extent), *why.variations(extent)]


PAPER = Paper(
    name="dctcp",
    folder=Path(__file__).parent,
    tables=("summary",),
    plan=experiments,
    figures=FIGURES,
    measures=MEASURES,
    facts=FACTS,
    bases=BASES,
)
