"""Incastle: a laboratory and toolkit for congestion control in data centers.

>>> import incastle as ic
>>> scenario = ic.load("scenario.toml")                     # doctest: +SKIP
>>> result = ic.run(scenario, seed=1)                       # doctest: +SKIP
>>> result.flows.select("group", "index", "goodput_bit_s")  # doctest: +SKIP

`load` and `Scenario` make scenarios, `run` and `run_many` simulate them, `Result` holds what was
measured as polars frames. `sweep` runs every combination of the values of some keys, `find` and
`optimize` search among them, `diff` compares two results or two reports, `explain` shows why a flow
took its time, `plot` draws the standard figures. `estimate` gives completion times where a network
is too large to simulate. `lab` shows a scenario in motion, in a notebook. `Controller` is what
congestion controls of your own derive from. Units are in the names: `_s` seconds, `_bytes` bytes,
`_bit_s` bits per second.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from incastle._engine import Ack, CongestionEvent, Connection, ControllerContext, __version__
    from incastle.browser.notebook import lab
    from incastle.controllers.base import Controller, Hop
    from incastle.difference.api import diff
    from incastle.errors import (
        ClusterError,
        ControllerError,
        Diagnostic,
        IncastleError,
        InternalError,
        Interrupted,
        PlotError,
        ResultError,
        RunError,
        ScenarioError,
        ScenarioNotFound,
        TableMissing,
    )
    from incastle.estimates.api import EstimateStopped, estimate
    from incastle.explanation.api import Explanation, explain
    from incastle.plotting import api as plot
    from incastle.results import Result
    from incastle.runner import Progress, run, run_many
    from incastle.scenario import Scenario, load
    from incastle.sweeps.api import find, optimize, sweep
    from incastle.sweeps.bisect import SearchResult
    from incastle.sweeps.optimize import Optimum
    from incastle.sweeps.progress import SweepProgress
    from incastle.sweeps.sweep import Sweep, SweepStopped

__all__ = [
    "Ack",
    "ClusterError",
    "CongestionEvent",
    "Connection",
    "Controller",
    "ControllerContext",
    "ControllerError",
    "Diagnostic",
    "EstimateStopped",
    "Explanation",
    "Hop",
    "IncastleError",
    "InternalError",
    "Interrupted",
    "Optimum",
    "PlotError",
    "Progress",
    "Result",
    "ResultError",
    "RunError",
    "Scenario",
    "ScenarioError",
    "ScenarioNotFound",
    "SearchResult",
    "Sweep",
    "SweepProgress",
    "SweepStopped",
    "TableMissing",
    "__version__",
    "diff",
    "estimate",
    "explain",
    "find",
    "lab",
    "load",
    "optimize",
    "plot",
    "run",
    "run_many",
    "sweep",
]

_HOMES = {
    "_engine": ("Ack", "CongestionEvent", "Connection", "ControllerContext", "__version__"),
    "controllers.base": ("Controller", "Hop"),
    "difference.api": ("diff",),
    "estimates.api": ("EstimateStopped", "estimate"),
    "explanation.api": ("Explanation", "explain"),
    "browser.notebook": ("lab",),
    "results": ("Result",),
    "runner": ("Progress", "run", "run_many"),
    "scenario": ("Scenario", "load"),
    "sweeps.api": ("find", "optimize", "sweep"),
    "sweeps.bisect": ("SearchResult",),
    "sweeps.optimize": ("Optimum",),
    "sweeps.progress": ("SweepProgress",),
    "sweeps.sweep": ("Sweep", "SweepStopped"),
}
"""Where public names live; the others are errors."""


def __getattr__(name: str) -> object:
    """Import what a name needs at its first use.

    The command line has to answer Ctrl-C before all of that is there.
    """
    if name == "plot":
        value: object = import_module(f"{__name__}.plotting.api")
        globals()[name] = value
        return value
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((home for home, names in _HOMES.items() if name in names), "errors")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted({*globals(), *__all__})
