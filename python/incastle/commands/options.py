"""Options and arguments that several commands have, and how their help is laid out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incastle import terminal
from incastle.errors import IncastleError

if TYPE_CHECKING:
    from incastle.scenario import Scenario

MAX_SEED = 2**64 - 1
RESULTS = Path("results")
"""Where results go without --out."""


def option(help_: str, *names: str, metavar: str | None = None, default: str | None = None) -> Any:  # noqa: ANN401  as typer.Option
    """Declare an option; `default` is shown in place of a default of None."""
    return typer.Option(*names, metavar=metavar, help=help_, show_default=default or True)


def count_option(
    help_: str, *names: str, metavar: str | None = None, default: str | None = None
) -> Any:  # noqa: ANN401  as typer.Option
    """Declare an option that takes an integer of at least 1."""
    return typer.Option(*names, min=1, metavar=metavar, help=help_, show_default=default or True)


def seed_option(help_: str) -> Any:  # noqa: ANN401  as typer.Option
    """Declare an option that takes a seed, by default the scenario's."""
    default = "run.seed of the scenario"
    return typer.Option(min=0, max=MAX_SEED, help=help_, show_default=default)


ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario in TOML.")]
Threads = Annotated[
    int | None, count_option("Number of concurrent runs.", "--threads", default="all cores")
]
Settings = Annotated[
    list[str] | None,
    option("Override a key of the scenario. Repeatable.", "--set", metavar="KEY=VALUE"),
]
On = Annotated[
    str | None,
    option("Address of a Dask scheduler, such as tcp://host:8786.", "--on", metavar="ADDRESS"),
]
Style = Annotated[
    str, typer.Option(help="`screen`, `ieee`, `acm` (columns of papers) or `slides`.")
]
Size = Annotated[
    str | None, typer.Option(metavar="WxH", help="Size, as 3.5x2.4 (inches) or '89x60 mm'.")
]
AsJson = Annotated[bool, option("Print JSON, and nothing else, on standard output.", "--json")]
Unverified = Annotated[
    bool, option("Skip the check of files against their hashes.", "--unverified")
]


def examples(*lines: str) -> str:
    """Lay out examples for the end of a command's help."""
    return "\n\n".join(("Examples:", *(f"`{line}`" for line in lines)))


def setting(text: str, option: str = "--set") -> tuple[str, str]:
    """Split KEY=VALUE of an option."""
    key, equals, value = text.partition("=")
    if not (equals and key.strip() and value.strip()):
        form = "KEY=VALUE, as in" if option == "--set" else "KEY=VALUES, as in"
        example = "flows.storage.count=40" if option == "--set" else "network.senders=2,4,8"
        raise IncastleError(f"{option} {text}: expected {form} {option} {example}")
    return key.strip(), value.strip()


def load_scenario(
    path: Path, settings: list[str] | None, seed: int | None = None, *, excerpts: bool = False
) -> Scenario:
    """Read, override and check a scenario; warnings are shown, with their lines if `excerpts`."""
    from incastle.scenario import load  # noqa: PLC0415  slow to import

    overrides = [setting(text) for text in settings or []]
    if seed is not None:
        overrides.append(("run.seed", str(seed)))
    scenario = load(path, overrides)
    terminal.diagnostics(scenario.warnings, excerpts=excerpts)
    return scenario
