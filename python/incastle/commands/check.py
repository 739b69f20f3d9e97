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
    scenarios: Annotated[list[Path], typer.Argument(metavar="SCENARIO...", help="Files.")],
    settings: Settings = None,
    resolved: Annotated[
        bool,
        typer.Option("--resolved", help="Print the complete scenario, every default included."),
    ] = False,
) -> None:
    """Check scenarios: mistakes with their places, the valid choices, and "did you mean".

    For groups that send whatever the network does (poisson, random incasts, cbr, on-off, queries
    with a rate, datagrams, lists) it shows the load that they offer on average to each tier of
    links (hosts, uplinks, core), without simulating anything, and warns where that is above 100 %.
    docs/models/workloads.md says what is counted.
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
