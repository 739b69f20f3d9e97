"""dctcp-ns2: "CS244 '17: DCTCP" (Ibanez and Kaffes), the DCTCP paper reproduced in ns-2.

Figures 2, 3 and 4, which are figures 1, 13 and 14 of the DCTCP paper (Alizadeh et al. 2010), with
the additions that the authors' conclusions ask for: figure 4 in the steady state, figures 2 and 3
at 1 and 10 Gbit/s, and the recommended K = 65 at 10 Gbit/s.
"""

from pathlib import Path

from incastle.reproduction.declarations import Declarations

from . import drawings, facts, runs

DECLARED = Declarations(
    Path(__file__).parent, (runs, facts, drawings), {"fluid_ks": tuple(range(1, 101))}
)
PAPER = DECLARED.paper()
