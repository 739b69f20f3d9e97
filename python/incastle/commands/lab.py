"""`incastle lab`: the page that runs the engine in a browser, from this machine."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from pathlib import Path  # noqa: TC003  typer looks at it
from typing import Annotated

import typer

from incastle import terminal

EXAMPLES = (
    "incastle lab",
    "incastle lab examples/incast.toml",
    "incastle lab --no-browser --port 8000",
)


def lab(
    scenario: Annotated[
        Path | None,
        typer.Argument(metavar="[SCENARIO]", help="A scenario to open there.", show_default=False),
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
    reached. With a scenario, the page opens it and runs it.
    """
    from incastle.browser import link, server  # noqa: PLC0415  slow to import
    from incastle.scenario import load  # noqa: PLC0415

    fragment = ""
    if scenario is not None:
        load(scenario)  # a mistake is reported here, where the file is at hand
        fragment = link.fragment(scenario.read_text(encoding="utf-8"))
    with server.server(port) as serving:
        address = server.address(serving) + fragment
        print(address, flush=True)
        if browser and not webbrowser.open(address):
            terminal.note("no browser was found here: open the address by hand")
        terminal.note("serving the lab on this machine alone; Ctrl-C ends it")
        with suppress(KeyboardInterrupt):  # the way to end it, and no failure
            serving.serve_forever()
