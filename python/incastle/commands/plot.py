"""`incastle plot`: one picture of one result."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  typer looks at it
from typing import Annotated

import typer

from incastle.commands.options import Unverified  # noqa: TC001  typer looks at it
from incastle.errors import IncastleError
from incastle.results import Result

EXAMPLES = (
    "incastle plot results/incast-20-1a2b3c4d queue",
    "incastle plot results/incast-20-1a2b3c4d window --out windows.pdf",
)


def plot(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="A result directory.")],
    kind: Annotated[
        str | None,
        typer.Argument(metavar="KIND", help="The kind of plot; see `incastle list plots`."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File of the figure: .png, .svg or .pdf.", show_default="RESULT/KIND.png"
        ),
    ] = None,
    unverified: Unverified = False,
) -> None:
    """Draw one figure of a result.

    `incastle list plots` lists the kinds. The queue is drawn from samples where the scenario
    records them, else from the time-weighted histogram; the output names the source.
    """
    from incastle.plotting import results as plots  # noqa: PLC0415  only here

    if kind is None:
        raise IncastleError(f"incastle plot {result} KIND: the kinds are {', '.join(plots.KINDS)}")
    place = out or result / f"{kind}.png"
    source = plots.plot(Result.load(result, verify=not unverified), kind, place)
    print(f"{place}, drawn from {source}")
