"""qcn-incast: QCN in TCP incast scenarios (Devkota and Reddy).

Figures 2 to 18 and tables I to III, section IX in its style, what the paper leaves open, and
beyond it where collapse begins, what a request takes, why timeouts happen, and what helps.
"""

from pathlib import Path

from incastle.papers import Paper

from . import drawings, drawings_beyond, drawings_open, drawings_trace
from .facts import FACTS
from .measures import MEASURES
from .plan import experiments

PAPER = Paper(
    name="qcn-incast",
    folder=Path(__file__).parent,
    tables=("flows", "links", "summary"),
    plan=experiments,
    figures=(
        *drawings.TCP_AND_QCN,
        *drawings_trace.FIGURES,
        *drawings.MODIFICATIONS,
        *drawings_open.TABLE,
        *drawings.MIXED,
        *drawings_open.SECTION_9,
        *drawings_open.OPEN,
        *drawings_beyond.FIGURES,
    ),
    measures=MEASURES,
    facts=FACTS,
)
