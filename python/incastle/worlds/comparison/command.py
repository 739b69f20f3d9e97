"""`incastle validate-worlds`: the worlds in real time against the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incastle import terminal
from incastle.errors import IncastleError
from incastle.interrupts import INTERRUPTED
from incastle.worlds.command import MAX_DILATION

if TYPE_CHECKING:
    from incastle.worlds.comparison.verdicts import Row

EXAMPLES = (
    "incastle validate-worlds --quick",
    "incastle validate-worlds --only 'long-reno-*' --repeat 3",
    "incastle validate-worlds --out worlds --figure worlds.png",
    "incastle validate-worlds --only 'long-cubic-*' --set transport.timestamps=false",
)
NOT_MET = 1
"""The exit status where a goal is missed."""
FOLDER = Path("validate-worlds")


def _option(help_: str, *names: str, metavar: str | None = None) -> Any:  # noqa: ANN401  as typer
    return typer.Option(*names, metavar=metavar, help=help_)


Only = Annotated[
    list[str] | None,
    _option("Only cases of this name, with * and ?. Repeatable.", metavar="PATTERN"),
]
Quick = Annotated[bool, _option("One short case of each kind.", "--quick")]
Repeat = Annotated[
    int,
    typer.Option(min=1, metavar="N", help="Real runs of each case; medians are compared."),
]
Dilate = Annotated[
    int,
    typer.Option(
        min=1,
        max=MAX_DILATION,
        metavar="N",
        help="Real time is N times slower, at least as a case needs.",
    ),
]
Out = Annotated[Path, _option("Folder of finished runs, which are not run again.", metavar="DIR")]
Figure = Annotated[
    Path | None, _option("Draw the ratios into this .png, .svg or .pdf file.", metavar="FILE")
]
Table = Annotated[
    Path | None, _option("Write the table in Markdown into this file.", metavar="FILE")
]
Settings = Annotated[
    list[str] | None,
    _option("Override a key in both worlds. Repeatable.", "--set", metavar="KEY=VALUE"),
]
SimulatedSettings = Annotated[
    list[str] | None,
    _option("As --set, for the simulation alone. Repeatable.", metavar="KEY=VALUE"),
]
AsJson = Annotated[bool, _option("Print JSON, and nothing else, on standard output.", "--json")]


def validate_worlds(
    only: Only = None,
    quick: Quick = False,
    repeat: Repeat = 1,
    dilate: Dilate = 1,
    out: Out = FOLDER,
    figure: Figure = None,
    table: Table = None,
    settings: Settings = None,
    set_simulated: SimulatedSettings = None,
    as_json: AsJson = False,
) -> None:
    """Run scenarios in real time and in the simulator, and compare what comes out.

    Real time is the kernel's TCP, and our transport on UDP sockets, through the soft switch.

    Goals: goodput within 3 %, mean queue within 15 %, median FCT within 10 %, 99th percentile
    within 25 %. Runs that were too late are no comparisons. Needs root; cases that this machine
    cannot run are skipped with the reason. Exit status: 0 no goal is missed, 1 one is, 2 bad input.
    """
    from incastle.plotting import style  # noqa: PLC0415  only here
    from incastle.worlds.comparison import campaign, cases, tables, verdicts  # noqa: PLC0415  slow
    from incastle.worlds.comparison import figure as picture  # noqa: PLC0415

    if figure is not None:
        style.check_file(figure)
    both = [_setting(one, "--set") for one in settings or ()]
    alone = [_setting(one, "--set-simulated") for one in set_simulated or ()]
    there = cases.quick_cases() if quick else cases.all_cases()
    wanted = cases.changed(cases.chosen(there, only or ()), both, alone)
    with terminal.json_alone(as_json), terminal.progress_bar("validate-worlds") as progress:
        found = campaign.run(wanted, out, repeat, dilate, progress)
    rows = verdicts.rows(found.cases)
    met = _met(rows)

    def show() -> None:
        if as_json:
            terminal.print_json(tables.to_json(rows, found, met))
        else:
            tables.show(rows, found)

    drawn = figure if met is not None else None
    terminal.figure_first(drawn, lambda path: picture.draw(rows, path), show)
    if table is not None:
        table.write_text(tables.markdown(rows, found), encoding="utf-8")
    if found.interrupted:
        terminal.error(
            f"interrupted: {len(rows)} of {len(wanted)} cases are finished; finished runs are "
            f"kept in {out}, and the same command goes on"
        )
        raise typer.Exit(INTERRUPTED)
    if met is False:
        raise typer.Exit(NOT_MET)


def _setting(text: str, name: str) -> tuple[str, str]:
    """Split KEY=VALUE of an option."""
    key, _, value = (part.strip() for part in text.partition("="))
    if not (key and value):
        raise IncastleError(f"{name} {text}: expected KEY=VALUE, as in {name} run.seed=2")
    return key, value


def _met(rows: list[Row]) -> bool | None:
    """Return whether all goals are met; none where nothing was compared."""
    judged = [one.met for row in rows for one in row.findings if one.met is not None]
    return all(judged) if judged else None
