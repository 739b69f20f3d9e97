"""Options of the commands that study a paper: `readings` and `robust`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incastle.commands.options import count_option, option

PaperName = Annotated[
    str, typer.Argument(metavar="PAPER", help="One of `incastle list papers` that has claims.")
]
LengthName = Annotated[
    str,
    option("Length of the runs: quick, default or full, as of `incastle reproduce`.", "--length"),
]
BudgetText = Annotated[
    str | None,
    option("Time to spend, such as 90s, 5m or 1h.", "--budget", metavar="TIME", default="no end"),
]
Report = Annotated[
    Path | None,
    option("Directory of the report.", "--out", default="report, report-quick, report-full"),
]
Seeds = Annotated[
    int | None,
    count_option("Seeds of each experiment, at most.", "--seeds", metavar="N", default="its own"),
]
