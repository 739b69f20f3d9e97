"""`incastle check`: the mistakes of scenarios, and the load that they offer."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path  # noqa: TC003  typer looks at it
from typing import Annotated, NoReturn

import typer

from incastle import offered_load, terminal
from incastle.commands.options import AsJson, Settings, load_scenario, setting
from incastle.errors import IncastleError, ScenarioError
from incastle.units import counted

EXAMPLES = (
    "incastle check my.toml",
    "incastle check my.toml --resolved > complete.toml",
    "incastle check my.toml --set flows.storage.count=40",
    "incastle check my.toml --json",
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
    as_json: AsJson = False,
) -> None:
    """Check scenarios without running them: each mistake with its line and the valid choices.

    Also prints the offered load on average, for each tier of links (hosts, uplinks, core), with a
    warning above 100 %. It counts groups whose load does not depend on the network: poisson,
    random-incast, cbr, on-off, queries with a rate, UDP and flow lists. Details:
    docs/models/workloads.md.

    With --json: a list with an object for each file, its mistakes and warnings, and whether it can
    run.
    """
    if as_json:
        _as_json(scenarios, settings)
    broken = 0
    for path in scenarios:
        try:
            scenario = load_scenario(path, settings, excerpts=True)
        except ScenarioError as found:
            terminal.scenario_error(found, excerpts=True)
            broken += 1
            continue
        if resolved:
            print(scenario.resolved, end="")
        else:
            count = len(scenario.warnings)
            print(f"{path}: correct" + (f", with {counted(count, 'warning')}" if count else ""))
            offered_load.show(scenario.offered_load, terminal.output())
    if broken:
        raise typer.Exit(IncastleError.exit_status)


def _as_json(scenarios: list[Path], settings: list[str] | None) -> NoReturn:
    """Print the findings of all files as JSON, and leave with the status of the worst."""
    from incastle.scenario import load  # noqa: PLC0415  slow to import

    overrides = [setting(text) for text in settings or []]
    rows = []
    for path in scenarios:
        try:
            found = load(path, overrides).warnings
        except ScenarioError as broken:
            found = broken.diagnostics
        errors = sum(one.severity == "error" for one in found)
        findings = [asdict(one) for one in found]
        rows.append({"file": str(path), "correct": not errors, "findings": findings})
    terminal.print_json(rows)
    raise typer.Exit(0 if all(row["correct"] for row in rows) else IncastleError.exit_status)
