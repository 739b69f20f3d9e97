"""`incastle readings`: the reading of a paper under which most of its claims hold."""

from __future__ import annotations

import typer

from incastle.commands.options import AsJson, Threads  # noqa: TC001  typer looks at them
from incastle.commands.paper_studies import BudgetText, LengthName, PaperName, Report, Seeds  # noqa: TC001

EXAMPLES = (
    "incastle readings dt-cwa",
    "incastle readings qcn-incast --seeds 1 --budget 30m",
    "incastle readings dcudp --length quick --json",
)


def readings(
    paper: PaperName,
    length: LengthName = "default",
    seeds: Seeds = None,
    budget: BudgetText = None,
    out: Report = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Search what a paper leaves open for the reading under which most of its claims hold.

    Readings are chosen on some experiments and scored on the others, so that a good fit alone
    does not count. Writes studies/PAPER/readings.html and readings.json into the report's
    directory; `incastle reproduce` shows the result with the paper. Finished runs are reused.
    """
    from incastle.variation import readings_study  # noqa: PLC0415  slow to import
    from incastle.variation.prepared import Asked  # noqa: PLC0415

    asked = Asked(paper, length, budget, out, threads, as_json, seeds)
    raise typer.Exit(readings_study.main(asked))
