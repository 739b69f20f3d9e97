"""`incastle pack`: a report or results with all that repeats them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incastle import terminal
from incastle.commands.options import option

EXAMPLES = (
    "incastle pack report --out artifact",
    "incastle pack results/incast-20-1a2b3c4d --author 'Jo Doe' --out artifact",
)
PLACE = Path("artifact")


def pack(
    place: Annotated[
        Path,
        typer.Argument(
            metavar="PLACE",
            help="Directory of a report, of a result, or of `run --seeds --out`.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Directory of the artifact.")] = PLACE,
    author: Annotated[
        list[str] | None,
        option("Author of the artifact. Repeatable.", "--author", default="anonymous"),
    ] = None,
) -> None:
    """Pack a report or results with all that repeats them, as an RO-Crate.

    The artifact has the declarations of the papers or the scenarios, the results, the digests of
    runs, the environment, a citation, the licences, the SHA-256 of each file, and a README with
    one command: `incastle verify .`. Its metadata follow RO-Crate 1.1 and Process Run Crate 0.5.
    """
    from incastle.artifact import pack as module  # noqa: PLC0415  slow to import

    print(module.pack(place, out, author or ()))
    terminal.note(f"`incastle verify {out}` checks it and runs all of it again")
