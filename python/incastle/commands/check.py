"""`incastle check`: the mistakes of scenarios, and the load that they offer."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  typer looks at it
from typing import Annotated

import typer

from incastle import terminal
from incastle.commands import offered_load
from incastle.commands.options import Settings, load_scenario
from incastle.errors import IncastleError, ScenarioError

EXAMPLES = (
    "incastle check my.toml",
    "incastle check my.toml --resolved > complete.toml",
    "incastle check my.toml --set flows.storage.count=40",
)


def check(
    scenarios: Annotated[
        list[Path], typer.Argument(metavar="SCENARIO...", help="Scenario files in TOML.")
    ],
    settings: Settings = None,
    resolved: Annotated[
        bool,
        typer.Option("--resolved", help="Print the complete scenario with all defaults."),
    ] = False,
) -> None:
    """Check scenarios without running them: each mistake with its line and the valid choices.

    Also prints the offered load on average, for each tier of links (hosts, uplinks, core), with a
    warning above 100 %. It counts groups whose load does not depend on the network: poisson,
    random-incast, cbr, on-off, queries with a rate, UDP and flow lists. Details:
    docs/models/workloads.md.
    """
    broken = 0
    for path in scenarios:
        try:
            scenario = load_scenario(path, settings)
        except ScenarioError as found:
            terminal.scenario_error(found)
            broken += 1
            continue
        if resolved:
            print(scenario.resolved, end="")
        else:
            print(f"{path}: correct")
            offered_load.show(scenario.offered_load, terminal.output())
    if broken:
        raise typer.Exit(IncastleError.exit_status)
