"""Runs the cases one after the other, in both worlds, and keeps what is finished.

A run is a file of its measures, named by case and content: what a case is, and how it runs. A later
campaign in the same folder reads it instead of running again.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from incastle import _engine, runner
from incastle.storage.files import scratch_file
from incastle.worlds.api import run_linux, run_sockets
from incastle.worlds.comparison.cases import LINUX, SOCKETS
from incastle.worlds.comparison.measures import Measures
from incastle.worlds.counterpart import WorldError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from incastle.results import Result
    from incastle.scenario import Scenario
    from incastle.worlds.comparison.cases import Case

    Show = Callable[[runner.Progress], object]
    Run = Callable[[Scenario, int, Show], Result]

FORM = 2
"""Of the files of real runs; those of another one are not read."""
UNFINISHED = "unfinished"
"""In files, what is infinite here: JSON has no such number."""


def _linux(scenario: Scenario, dilation: int, show: Show) -> Result:
    return run_linux(scenario, dilation=dilation, progress=show)


def _sockets(scenario: Scenario, dilation: int, show: Show) -> Result:
    return run_sockets(scenario, dilation=dilation, progress=show)


RUNS: dict[str, Run] = {LINUX: _linux, SOCKETS: _sockets}
"""How a scenario runs in each world in real time."""


@dataclass
class Compared:
    """What is known of a case.

    Attributes:
        case: the case.
        simulated: the measures of each seed.
        real: the measures of each run in the other world.
        worlds: what the machine did in each.
        skipped: why there is no run, if there is none.

    """

    case: Case
    simulated: list[dict[str, Any]] = field(default_factory=list)
    real: list[dict[str, Any]] = field(default_factory=list)
    worlds: list[dict[str, Any]] = field(default_factory=list)
    skipped: str | None = None


@dataclass
class Campaign:
    """What happened.

    Attributes:
        cases: what is known of each case.
        runs: real runs that were made now; others had been kept.
        interrupted: Ctrl-C ended it.

    """

    cases: list[Compared] = field(default_factory=list)
    runs: int = 0
    interrupted: bool = False


def run(
    cases: Sequence[Case], folder: Path, repeats: int, dilation: int, progress: Show
) -> Campaign:
    """Run what is missing in the folder; Ctrl-C ends it with what is finished."""
    campaign = Campaign()
    folder.mkdir(parents=True, exist_ok=True)
    done, total_s = 0.0, sum(_real_s(one, dilation) for one in cases) * repeats
    jobs = len(cases) * repeats
    try:
        for number, case in enumerate(cases):
            compared = Compared(case)
            campaign.cases.append(compared)
            for repeat in range(1, repeats + 1):
                finished, passed_s = number * repeats + repeat - 1, done
                slower = max(case.dilation, dilation)

                def show(
                    state: runner.Progress,
                    at: int = finished,
                    base: float = passed_s,
                    slower: int = slower,
                ) -> None:
                    progress(runner.Progress(at, jobs, base + state.simulated_s * slower, total_s))

                if compared.skipped is None:
                    campaign.runs += _real(compared, folder, repeat, slower, show)
                done += _real_s(case, dilation)
            if compared.real:
                compared.simulated = _simulated(case, folder, repeats)
    except KeyboardInterrupt:
        campaign.interrupted = True
    # The last case may have been interrupted before it had anything.
    campaign.cases = [one for one in campaign.cases if one.simulated or one.skipped]
    return campaign


def _real_s(case: Case, dilation: int) -> float:
    """Return how long one real run takes."""
    return case.scenario.duration_s * max(case.dilation, dilation)


def _real(compared: Compared, folder: Path, repeat: int, dilation: int, show: Show) -> int:
    """Run a case in its world, or read that run; return how many were made."""
    case = compared.case
    scenario = case.scenario.with_seed(repeat)
    place = _place(folder, case, [case.world, scenario.resolved, dilation, repeat, FORM])
    kept = _read(place)
    if kept is None:
        try:
            load = os.getloadavg()[0]
            result = RUNS[case.world](scenario, dilation, show)
        except WorldError as why:
            compared.skipped = str(why)
            return 0
        world = {**result.world, "load": load, "cores": runner.cores()}
        measured = Measures.of(result, case.port).to_dict()
        _write(place, {"case": case.name, "measures": measured, "world": world})
    found = kept or _read(place) or {}
    compared.real.append(found["measures"])
    compared.worlds.append(found["world"])
    return int(kept is None)


def _simulated(case: Case, folder: Path, repeats: int) -> list[dict[str, Any]]:
    """Simulate a case with each of its seeds, or read what is known."""
    scenario = case.simulated or case.scenario
    found = []
    for seed in case.seeds(repeats):
        place = _place(folder, case, ["simulated", scenario.resolved, _engine.__version__, seed])
        kept = _read(place)
        if kept is None:
            measured = Measures.of(runner.run(scenario, seed), case.port).to_dict()
            kept = {"case": case.name, "measures": measured}
            _write(place, kept)
        found.append(kept["measures"])
    return found


def _place(folder: Path, case: Case, identity: list[Any]) -> Path:
    digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:12]
    return folder / f"{case.name}-{identity[0]}-{digest}.json"


def _write(place: Path, found: dict[str, Any]) -> None:
    values = {
        name: UNFINISHED if value == math.inf else value
        for name, value in found["measures"].items()
    }
    with scratch_file(place) as scratch:
        scratch.write_text(json.dumps({**found, "measures": values}, indent=1), encoding="utf-8")


def _read(place: Path) -> dict[str, Any] | None:
    """Return a kept run; none where there is none, or its file is no such thing."""
    try:
        found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
        values = found["measures"].items()
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    measures = {name: math.inf if one == UNFINISHED else one for name, one in values}
    return {**found, "measures": measures}
