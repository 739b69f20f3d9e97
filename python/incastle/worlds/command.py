"""`incastle run --world linux|sockets`: options, progress and what is kept of runs in real time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from incastle import interrupts, terminal
from incastle.interrupts import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from incastle.results import Result
    from incastle.scenario import Scenario

    class Keeper(Protocol):
        """Saves results, and shows them at the end."""

        def keep(self, result: Result, suffix: str = "") -> None:
            """Save a result."""

        def show(self, *, as_json: bool) -> None:
            """Print what there is."""

        def tidy(self) -> None:
            """Remove folders that were made for nothing."""


MAX_DILATION = 100_000


class World(StrEnum):
    """Where a scenario runs."""

    SIMULATED = "simulated"
    LINUX = "linux"
    SOCKETS = "sockets"


WorldOption = Annotated[
    World,
    typer.Option(
        help="Simulate, or run in real time: over the kernel's TCP, or over our transport on UDP "
        "sockets (docs/worlds.md)."
    ),
]
Dilate = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MAX_DILATION,
        metavar="N",
        help="In real time: it is N times slower.",
        show_default="1",
    ),
]
Repeat = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="In real time: run it N times.", show_default="1"),
]


@dataclass(frozen=True)
class Real:
    """How a scenario runs in real time."""

    world: World
    dilation: int = 1
    repeats: int = 1


def check_world(
    world: World, of_real: Mapping[str, object], of_simulated: Mapping[str, object]
) -> None:
    """Refuse options that the world does not have."""
    others = of_real if world is World.SIMULATED else of_simulated
    for name, value in others.items():
        if value is not None:
            raise typer.BadParameter(f"{name} is not for --world {world}")


def run_real(scenario: Scenario, real: Real, keeper: Keeper, *, as_json: bool) -> None:
    """Run a scenario in real time, as often as requested; what is finished is kept."""
    repeats = real.repeats
    kept = 0
    try:
        # Python drops an exception in the callback of a weak reference, as imports have them.
        with interrupts.put_off():
            from incastle.worlds import api  # noqa: PLC0415  slow to import
        run = api.run_linux if real.world is World.LINUX else api.run_sockets
        for number in range(1, repeats + 1):
            what = f"{scenario.name}, run {number} of {repeats}" if repeats > 1 else scenario.name
            with terminal.json_alone(as_json), terminal.progress_bar(what) as progress:
                result = run(scenario, dilation=real.dilation, progress=progress)
            keeper.keep(result, suffix=f"-{number}" if repeats > 1 else "")
            kept = number
    except KeyboardInterrupt:
        finished = f"{kept} of {repeats} runs are finished and kept; " if repeats > 1 else ""
        terminal.error(f"interrupted: {finished}nothing of this run is kept, and nothing is left")
        raise typer.Exit(INTERRUPTED) from None
    finally:
        keeper.show(as_json=as_json)
        keeper.tidy()
