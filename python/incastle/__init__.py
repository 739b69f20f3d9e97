"""Incastle: a laboratory and toolkit for congestion control in data centers.

>>> import incastle as ic
>>> scenario = ic.load("scenario.toml")                     # doctest: +SKIP
>>> result = ic.run(scenario, seed=1)                       # doctest: +SKIP
>>> result.flows.select("group", "index", "goodput_bit_s")  # doctest: +SKIP

`load` and `Scenario` make scenarios, `run` and `run_many` simulate them, `Result` holds what was
measured as polars frames. Units are in the names: `_s` seconds, `_bytes`, `_bit_s` bits per second.
"""

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
