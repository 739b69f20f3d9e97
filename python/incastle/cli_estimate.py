"""`incastle estimate`: completion times of fabrics too large for one event loop."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from incastle import terminal
from incastle.interrupts import INTERRUPTED
from incastle.options import MAX_SEED, AsJson, On, ScenarioFile, Settings, setting
from incastle.scenario import load
from incastle.store import file_name, prepare_place
from incastle.units import si

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from incastle.results import Result

RESULTS = Path("results")

ESTIMATE_EXAMPLES = (
    "incastle estimate examples/fabric.toml --set network.k=32 --links 60",
    "incastle estimate my.toml --set flows.web.load=0.5 --figure slowdowns.svg",
    "incastle estimate my.toml --links 100 --out results/mine --resume",
    "incastle estimate my.toml --on tcp://scheduler:8786",
)


def estimate(
    scenario: ScenarioFile,
    settings: Settings = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=MAX_SEED, help="Seed.", show_default="scenario's"),
    ] = None,
    links: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Of each class of links that are alike, simulate about N at the most.",
            show_default="all",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory of the result.", show_default="results/NAME-estimate"),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the slowdowns: a .png, .svg or .pdf file."),
    ] = None,
    as_json: AsJson = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with links that an earlier call has finished.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier result.")] = False,
    on: On = None,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, help="Links at the same time.", show_default="all cores"),
    ] = None,
) -> None:
    """Estimate completion times link by link, where a network is too large for one simulation.

    Each link is simulated by itself with all flows that cross it; delays along a flow's way are
    added. With --links, only some of each class of links that are alike are simulated, and flows
    elsewhere draw their delays from them. For flows that begin whatever the network does, over
    TCP. The result is a directory as that of `incastle run`, with the tables transfers and
    crossed_links.
    docs/estimate.md has what that leaves out, and how far it is off.
    """
    from incastle.estimates import api, picture  # noqa: PLC0415  slow to import
    from incastle.reproduction import figures  # noqa: PLC0415  only here

    if figure is not None:
        figures.form_of(figure)  # told before the estimate, not after it
    overrides = [setting(text) for text in settings or []]
    if seed is not None:
        overrides.append(("run.seed", str(seed)))
    wanted = load(scenario, overrides)
    terminal.diagnostics(wanted.warnings)
    place = out or RESULTS / f"{file_name(wanted.name)}-estimate"
    unfinished = place.with_name(f"{place.name}.unfinished")
    prepare_place(place, force=force)
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
        # What is there is of an earlier call.
        there = f"; --resume goes on with {unfinished}" if unfinished.exists() else ""
        terminal.error(f"interrupted before links were simulated{there}")
        raise typer.Exit(INTERRUPTED) from None
    result.save(place, force=force)
    if as_json:
        classes = result.completions().to_dicts()
        terminal.print_json(
            {**result.to_summary(), "completions": classes, "directory": str(place)}
        )
    else:
        show(result)
    terminal.note(f"written to {place}")
    if figure is not None:
        picture.draw(result, figure)
        terminal.note(f"{figure}, drawn from transfers")
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


def show(result: Result) -> None:
    """Show the slowdowns by group and size class."""
    totals = result.totals
    console = terminal.output()
    console.print(
        f"[bold]{escape(result.name)}[/]  seed {result.seed}  digest {result.digest}\n"
        f"estimated in {si(result.wall_s, 's')}: {totals['flows']:,} flows, "
        f"{totals['links_simulated']:,} of {totals['links_crossed']:,} links simulated"
    )
    table = terminal.slowdowns(result)
    if table is not None:
        console.print(table)
    terminal.unfinished([result], console)
