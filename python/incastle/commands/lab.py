"""`incastle lab`: the page that runs the engine in a browser, from this machine."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from incastle import terminal

EXAMPLES = (
    "incastle lab",
    "incastle lab examples/incast.toml",
    "incastle lab '#1.LETTERS'  # a link of the lab, or of a report's figure",
    "incastle lab --no-browser --port 8000",
)


def lab(
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="[SCENARIO|LINK]",
            help="A scenario to open there, or a link of the lab (in quotes).",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, metavar="N", help="Port on 127.0.0.1; 0: a free one."),
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Experiment in the browser, with the same engine.

    Serves the page on 127.0.0.1 until Ctrl-C. Simulations run in the page: no other machine is
    reached. With a scenario or a link, the page opens it and runs it.
    """
    from incastle.browser import server  # noqa: PLC0415  slow to import

    fragment = "" if scenario is None else _fragment(scenario)
    with server.server(port) as serving:
        address = server.address(serving) + fragment
        print(address, flush=True)
        if browser and not webbrowser.open(address):
            terminal.note("no browser was found here: open the address by hand")
        terminal.note("serving the lab on this machine alone; Ctrl-C ends it")
        with suppress(KeyboardInterrupt):  # the way to end it, and no failure
            serving.serve_forever()


def _fragment(given: str) -> str:
    """Return the fragment that opens a scenario's file or a link; mistakes are reported here."""
    from incastle.browser import link  # noqa: PLC0415  slow to import
    from incastle.scenario import load  # noqa: PLC0415

    fragment = link.fragment_of(given)
    if fragment is not None:
        link.opened(fragment)
        return fragment
    load(given)
    return link.fragment(Path(given).read_text(encoding="utf-8"))
