"""comparison: eight algorithms over the same six workloads, and DCTCP with CUBIC. No document.

One table with the best of each row, one figure of the same numbers, what wins where, the shares of
mixed round trips, and DCTCP with CUBIC in one queue and in two.
"""

from pathlib import Path

from incastle.reproduction.declarations import Declarations

from . import drawings, facts, runs, standings

DECLARED = Declarations(Path(__file__).parent, (runs, standings, facts, drawings))
PAPER = DECLARED.paper(document=False)
