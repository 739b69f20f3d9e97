"""Incastle: a laboratory and toolkit for congestion control in data centers.

>>> import incastle as ic
>>> scenario = ic.load("scenario.toml")                     # doctest: +SKIP
>>> result = ic.run(scenario, seed=1)                       # doctest: +SKIP
>>> result.flows.select("group", "index", "goodput_bit_s")  # doctest: +SKIP

`load` and `Scenario` make scenarios, `run` and `run_many` simulate them, `Result` holds what was
measured as polars frames. Units are in the names: `_s` seconds, `_bytes`, `_bit_s` bits per second.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from incastle._engine import __version__
    from incastle.errors import (
        Diagnostic,
        IncastleError,
        InternalError,
        Interrupted,
        PlotError,
        ResultError,
        RunError,
        ScenarioError,
        TableMissing,
    )
    from incastle.results import Result
    from incastle.runner import Progress, run, run_many
    from incastle.scenario import Scenario, load

__all__ = [
    "Diagnostic",
    "IncastleError",
    "InternalError",
    "Interrupted",
    "PlotError",
    "Progress",
    "Result",
    "ResultError",
    "RunError",
    "Scenario",
    "ScenarioError",
    "TableMissing",
    "__version__",
    "load",
    "run",
    "run_many",
]

_HOMES = {
    "_engine": ("__version__",),
    "results": ("Result",),
    "runner": ("Progress", "run", "run_many"),
    "scenario": ("Scenario", "load"),
}
"""Where public names live; the others are errors."""


def __getattr__(name: str) -> object:
    """Import what a name needs when it is first asked for.

    The command line has to answer Ctrl-C before all of that is there.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((home for home, names in _HOMES.items() if name in names), "errors")
    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted({*globals(), *__all__})
