"""A scenario taken apart link by link, and the errors of that and of links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incastle import _engine
from incastle.errors import Diagnostic, InternalError, RunError, ScenarioError
from incastle.scenario import checked_form

if TYPE_CHECKING:
    from incastle.scenario import Scenario


def take_apart(scenario: Scenario, links: int | None, threads: int) -> _engine.Estimation:
    """Find the paths of all flows, and the links that are to be simulated.

    Raises:
        ScenarioError: the scenario has something that single links cannot show.
        RunError: the network cannot be built.

    """
    try:
        apart, why = _engine.take_apart(checked_form(scenario), links, threads)
    except ValueError as error:
        raise RunError(f"{scenario.name}: {error}") from None
    if why is not None:
        key, message, advice = why
        found = Diagnostic("error", scenario.file, 0, 0, key, f"{key}: {message}", advice)
        raise ScenarioError([found])
    assert apart is not None  # noqa: S101  one of the two is there
    return apart


def failed(what: str, failure: _engine.Failure) -> RunError:
    """Return the error of a failure of the engine."""
    kind = InternalError if failure.internal else RunError
    return kind(f"{what}: {failure.message}")
