"""`incastle validate`: the results of HPCC's ns-3 simulator against Incastle's, flow by flow."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incastle import terminal
from incastle.commands.options import AsJson, Threads, option
from incastle.errors import IncastleError, InternalError
from incastle.interrupts import INTERRUPTED

if TYPE_CHECKING:
    from incastle.validation.simulate import Compared

EXAMPLES = (
    "incastle validate examples/validate",
    "incastle validate ../oracle/ns3-rdma --figure fcts.png",
    "incastle validate ../oracle --cases 'star-16to1-*' --by-case",
    "incastle validate ../oracle --no-goals --json",
)
ORACLE = "INCASTLE_ORACLE"
NOT_MET = 1
"""The exit status where a goal is not met."""

Directory = Annotated[
    Path | None,
    typer.Argument(metavar="[DIR]", envvar=ORACLE, help="A folder of cases, or of such folders."),
]
Cases = Annotated[
    list[str] | None,
    option("Only cases of this name, with * and ?. Repeatable.", "--cases", metavar="PATTERN"),
]
Figure = Annotated[
    Path | None, option("Draw the FCTs of both into this .png, .svg or .pdf file.", metavar="FILE")
]
NoGoals = Annotated[bool, option("Measure without judging.", "--no-goals")]
ByCase = Annotated[bool, option("Print a row for each case.", "--by-case")]


def validate(
    directory: Directory = None,
    as_json: AsJson = False,
    cases: Cases = None,
    figure: Figure = None,
    no_goals: NoGoals = False,
    by_case: ByCase = False,
    threads: Threads = None,
) -> None:
    """Simulate cases of HPCC's ns-3 simulator and compare the FCTs flow by flow.

    Two layouts are read: NAME.conf with NAME.csv, and folders with config.txt, topology.txt,
    flows.txt and fct.csv. The goals are those of docs/validate.md, or of goals.toml in DIR. Exit
    status: 0 all goals are met, 1 one is not, 2 bad input.
    """
    from incastle.plotting import style  # noqa: PLC0415  only here
    from incastle.plotting import validation as picture  # noqa: PLC0415
    from incastle.validation import simulate, tables, verdicts  # noqa: PLC0415  slow to import
    from incastle.validation.cases import read_cases  # noqa: PLC0415
    from incastle.validation.goals import read_goals  # noqa: PLC0415

    if figure is not None:
        style.check_file(figure)
    if directory is None:
        raise IncastleError(f"DIR is missing: name a folder of cases, or set {ORACLE}")
    goals = [] if no_goals else read_goals(directory)
    read = read_cases(directory, cases or ())
    began = time.monotonic()
    with terminal.json_alone(as_json), terminal.progress_bar("validate") as progress:
        compared = simulate.compare(read, threads, progress)
    wall_s = time.monotonic() - began
    rows = verdicts.rows(compared.comparisons, goals)
    met = None if no_goals else all(row.met is not False for row in rows) and not compared.failures

    def show() -> None:
        if as_json:
            terminal.print_json(tables.to_json(directory, rows, compared, met))
        else:
            tables.show(rows, compared, wall_s, by_case=by_case)

    drawn = figure if rows else None
    terminal.figure_first(drawn, lambda path: picture.draw(rows, path), show)
    for name, failure in compared.failures.items():
        terminal.error(f"{name}: {failure}")
    _leave(compared, len(read), met)


def _leave(compared: Compared, cases: int, met: bool | None) -> None:
    """Leave with the status of what happened."""
    if compared.interrupted:
        finished = len(compared.comparisons)
        terminal.error(f"interrupted: {finished} of {cases} cases were finished")
        raise typer.Exit(INTERRUPTED)
    failed = max((one.exit_status for one in compared.failures.values()), default=0)
    if failed == InternalError.exit_status or (failed and met is None):
        raise typer.Exit(failed)
    if met is False:
        raise typer.Exit(NOT_MET)
