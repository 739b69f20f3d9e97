"""Options and arguments that several commands have, and how their help is laid out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incastle import terminal
from incastle.errors import IncastleError

if TYPE_CHECKING:
    from incastle.scenario import Scenario

MAX_SEED = 2**64 - 1
RESULTS = Path("results")
"""Where results go without --out."""

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario in TOML.")]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="Number of concurrent runs.", show_default="all cores"),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the scenario. Repeatable."),
]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="ADDRESS",
        help="Address of a Dask scheduler, such as tcp://host:8786.",
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")
]

Unverified = Annotated[
    bool,
    typer.Option("--unverified", help="Skip the check of files against their hashes."),
]


def examples(*lines: str) -> str:
    """Lay out examples for the end of a command's help."""
    return "\n\n".join(("Examples:", *(f"`{line}`" for line in lines)))


def setting(text: str) -> tuple[str, str]:
    """Split KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not (equals and key.strip() and value.strip()):
        raise IncastleError(f"--set {text}: expected KEY=VALUE, as in --set flows.storage.count=40")
    return key.strip(), value.strip()


def load_scenario(path: Path, settings: list[str] | None, seed: int | None = None) -> Scenario:
    """Read, override and check a scenario; warnings are shown."""
    from incastle.scenario import load  # noqa: PLC0415  slow to import

    overrides = [setting(text) for text in settings or []]
    if seed is not None:
        overrides.append(("run.seed", str(seed)))
    scenario = load(path, overrides)
    terminal.diagnostics(scenario.warnings)
    return scenario
