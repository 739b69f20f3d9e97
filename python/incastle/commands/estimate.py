"""`incastle estimate`: completion times of fabrics too large for one event loop."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from incastle import terminal
from incastle.commands.options import (
    RESULTS,
    AsJson,
    On,
    ScenarioFile,
    Settings,
    count_option,
    load_scenario,
    option,
    seed_option,
)
from incastle.display import tables
from incastle.interrupts import INTERRUPTED
from incastle.storage.results import file_name, prepare_place
from incastle.units import si

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from incastle.results import Result

EXAMPLES = (
    "incastle estimate examples/fabric.toml --set network.k=32 --links 60",
    "incastle estimate my.toml --set flows.web.load=0.5 --figure slowdowns.svg",
    "incastle estimate my.toml --links 100 --out results/mine --resume",
    "incastle estimate my.toml --on tcp://scheduler:8786",
)


Seed = Annotated[int | None, seed_option("Seed.")]
Links = Annotated[
    int | None,
    count_option(
        "Simulate about N links of each class of similar links at most.", metavar="N", default="all"
    ),
]
Out = Annotated[Path | None, option("Directory of the result.", default="results/NAME-estimate")]
Figure = Annotated[
    Path | None, option("Draw the slowdowns into this .png, .svg or .pdf file.", metavar="FILE")
]
Resume = Annotated[bool, option("Reuse links that an interrupted call has finished.", "--resume")]
Threads = Annotated[
    int | None,
    count_option("Number of links simulated concurrently.", "--threads", default="all cores"),
]
Force = Annotated[bool, option("Replace an existing result.", "--force")]


def estimate(
    scenario: ScenarioFile,
    settings: Settings = None,
    seed: Seed = None,
    links: Links = None,
    out: Out = None,
    figure: Figure = None,
    as_json: AsJson = False,
    resume: Resume = False,
    force: Force = False,
    on: On = None,
    threads: Threads = None,
) -> None:
    """Estimate flow completion times link by link, for networks too large for one simulation.

    Each link is simulated separately with all flows that cross it; the delays along a flow's path
    are added. With --links, a sample of each class of similar links is simulated, and flows on
    the other links draw their delays from it. Only for TCP flows whose start does not depend on
    the network. The result is a directory as of `incastle run`, with the tables transfers and
    crossed_links. Accuracy and limits: docs/estimate.md.
    """
    from incastle.estimates import api  # noqa: PLC0415  slow to import
    from incastle.plotting import estimates as picture  # noqa: PLC0415  slow to import
    from incastle.plotting import style  # noqa: PLC0415  only here

    if figure is not None:
        style.form_of(figure)  # refused before the estimate, not after it
    wanted = load_scenario(scenario, settings, seed)
    place = out or RESULTS / f"{file_name(wanted.name)}-estimate"
    prepare_place(place, force=force)
    unfinished = place.with_name(f"{place.name}.unfinished")
    try:
        with _bar(wanted.name) as progress:
            result = api.estimate(
                wanted,
                links,
                on=on,
                threads=threads,
                progress=progress,
                file=unfinished,
                resume=resume,
                force=force,
            )
    except api.EstimateStopped as stopped:
        terminal.error(str(stopped))
        raise typer.Exit(INTERRUPTED) from None
    except KeyboardInterrupt:
        # The file is of an earlier call.
        there = f"; --resume goes on with {unfinished}" if unfinished.exists() else ""
        terminal.error(f"interrupted before links were simulated{there}")
        raise typer.Exit(INTERRUPTED) from None
    result.save(place, force=force)

    def print_it() -> None:
        if as_json:
            classes = result.completions().to_dicts()
            terminal.print_json(
                {**result.to_summary(), "completions": classes, "directory": str(place)}
            )
        else:
            _show(result)

    terminal.figure_first(figure, lambda path: picture.draw(result, path), print_it)
    terminal.note(f"written to {place}")
    if result.totals["flows"] == 0:
        terminal.note("no flow begins: flows stop too early, or their load is too low")
    elif result.totals["transfers"] == 0:
        terminal.note("no flow was completed: run.duration is too short")


@contextmanager
def _bar(what: str) -> Iterator[Callable[[float], None] | None]:
    with terminal.bars() as shown:
        if shown is None:
            yield None
            return
        task = shown.add_task(escape(what), total=1.0, runs="")
        yield lambda share: shown.update(task, completed=share)


def _show(result: Result) -> None:
    """Show the slowdowns by group and size class."""
    totals = result.totals
    console = terminal.output()
    console.print(
        f"[bold]{escape(result.name)}[/]  seed {result.seed}  digest {result.digest}\n"
        f"estimated in {si(result.wall_s, 's')}: {totals['flows']:,} flows, "
        f"{totals['links_simulated']:,} of {totals['links_crossed']:,} links simulated"
    )
    table = tables.slowdowns(result)
    if table is not None:
        console.print(table)
    if (note := tables.unfinished_note([result])) is not None:
        console.print(f"\n{escape(note)}", soft_wrap=True)
