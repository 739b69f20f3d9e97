"""`incastle robust`: how far the claims of a paper depend on what is varied."""

from __future__ import annotations

from typing import Annotated

import typer

from incastle.commands.options import AsJson, Threads, option
from incastle.commands.paper_studies import BudgetText, LengthName, PaperName, Report  # noqa: TC001

EXAMPLES = (
    "incastle robust dctcp-ns2 --budget 5m",
    "incastle robust qcn-incast --length quick",
    "incastle robust dt-cwa --budget 10m --json",
    "incastle robust dctcp-ns2 --full",
)

Full = Annotated[
    bool, option("Compute Sobol indices, too; only those known to 0.3 are shown.", "--full")
]


def robust(
    paper: PaperName,
    length: LengthName = "default",
    budget: BudgetText = None,
    out: Report = None,
    full: Full = False,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Try each claim of a paper over seeds, packet size, jitter, RTT and what is left open.

    One thing is changed at a time, with one seed each. Tells in how many variants a verdict stays,
    and at which values it turns. Writes studies/PAPER/robust.html, its figure and robust.json into
    the report's directory. Finished runs are reused.
    """
    from incastle.variation import robust_study  # noqa: PLC0415  slow to import
    from incastle.variation.prepared import Asked  # noqa: PLC0415

    asked = Asked(paper, length, budget, out, threads, as_json)
    raise typer.Exit(robust_study.main(asked, full=full))
