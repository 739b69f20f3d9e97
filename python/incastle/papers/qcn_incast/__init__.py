"""qcn-incast: QCN in TCP incast scenarios (Devkota and Reddy).

Figures 2 to 18 and tables I to III, section IX in its style, what the paper leaves open, and
beyond it where collapse begins, what a request takes, why timeouts happen, and what helps.
"""

from dataclasses import replace
from pathlib import Path

from incastle.reproduction.papers import Paper

from . import drawings, drawings_beyond, drawings_open, drawings_trace, sensitivity
from .facts import FACTS, needed
from .measures import MEASURES
from .plan import experiments

_FIGURES = (
    *drawings.TCP_AND_QCN,
    *drawings_trace.FIGURES,
    *drawings.MODIFICATIONS,
    *drawings_open.TABLE,
    *drawings.MIXED,
    *drawings_open.SECTION_9,
    *drawings_open.OPEN,
    *sensitivity.FIGURES,
    *drawings_beyond.FIGURES,
)

PAPER = Paper(
    name="qcn-incast",
    folder=Path(__file__).parent,
    tables=("flows", "links", "summary"),
    plan=experiments,
    figures=tuple(replace(one, uses=(*one.uses, *needed(*one.claims))) for one in _FIGURES),
    measures=MEASURES,
    facts=FACTS,
)
