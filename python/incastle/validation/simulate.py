"""The cases with Incastle's engine: a scenario for each case and seed, all of them in parallel."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from incastle import runner
from incastle.errors import Interrupted, RunError
from incastle.importers import hpcc_scenario, quantities
from incastle.importers.model import HOST, Transfer, graph
from incastle.scenario import Scenario
from incastle.units import PS_PER_S
from incastle.validation.compare import FIRST_SEED, Comparison, Outcome, seeds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from incastle.results import Result
    from incastle.scenario import Value
    from incastle.validation.cases import Case

PS_PER_NS = 1000


class Job(NamedTuple):
    """A simulation of a case."""

    case: Case
    seed: int


OnEnd: TypeAlias = "Callable[[int, Outcome | RunError], object]"
Report: TypeAlias = "Callable[[runner.Progress], object]"
Simulate: TypeAlias = "Callable[[Sequence[Job], int | None, OnEnd], None]"
"""Simulates jobs on some threads, and hands over what comes of each, in this thread."""


@dataclass
class Compared:
    """What came of the cases.

    Attributes:
        comparisons: of the cases of which every simulation is finished, in their order.
        failures: why there is no result, by the name of the case.
        runs: simulations that are finished.
        interrupted: whether Ctrl-C ended it before the last simulation.

    """

    comparisons: list[Comparison] = field(default_factory=list)
    failures: dict[str, RunError] = field(default_factory=dict)
    runs: int = 0
    interrupted: bool = False


def compare(
    cases: Sequence[Case],
    threads: int | None = None,
    progress: Report | None = None,
    simulate: Simulate | None = None,
) -> Compared:
    """Simulate cases with each of their seeds, and compare them.

    Args:
        cases: what to simulate.
        threads: simulations at the same time; all cores if None.
        progress: called when a simulation is finished.
        simulate: instead of Incastle's engine.

    Returns:
        Comparisons; after Ctrl-C, those of the cases that were finished.

    """
    jobs = [Job(case, seed) for case in cases for seed in seeds_of(case)]
    outcomes: dict[int, Outcome] = {}
    found = Compared()

    def on_end(index: int, outcome: Outcome | RunError) -> None:
        found.runs += 1
        if isinstance(outcome, RunError):
            found.failures.setdefault(jobs[index].case.name, outcome)
        else:
            outcomes[index] = outcome
        if progress is not None:
            done = float(found.runs)
            progress(runner.Progress(found.runs, len(jobs), done, len(jobs)))

    try:
        (simulate or with_engine)(jobs, threads, on_end)
    except Interrupted:
        found.interrupted = True
    by_case: defaultdict[int, list[Outcome]] = defaultdict(list)
    for index, outcome in sorted(outcomes.items()):
        by_case[id(jobs[index].case)].append(outcome)
    found.comparisons = [
        Comparison(case, tuple(by_case[id(case)]))
        for case in cases
        if len(by_case[id(case)]) == len(seeds_of(case))
    ]
    return found


def with_engine(jobs: Sequence[Job], threads: int | None, on_end: OnEnd) -> None:
    """Simulate jobs with Incastle's engine.

    Raises:
        Interrupted: Ctrl-C.
        ScenarioError: a case cannot be had here.

    """
    made = {id(job.case): scenario_of(job.case) for job in jobs if job.seed == FIRST_SEED}
    scenarios = [made[id(job.case)].with_seed(job.seed) for job in jobs]

    def hand_over(index: int, result: Result | RunError) -> None:
        if isinstance(result, RunError):
            on_end(index, result)
        else:
            on_end(index, outcome_of(jobs[index].case, result))

    runner.run_each(scenarios, threads, hand_over)


def scenario_of(case: Case) -> Scenario:
    """Return the scenario of a case.

    Raises:
        ScenarioError: it cannot be had here.
        BrokenFile: its configuration has what is not simulated here.

    """
    groups = _groups(case)
    lists: dict[str, Value] = {
        label: {"list": [_row(transfer) for transfer in rows]} for label, rows in groups.items()
    }
    hosts, links = case.topology
    tables = hpcc_scenario.tables(case.config, links, groups)
    tables["run"] = hpcc_scenario.run(case.config)
    lines = hpcc_scenario.lines(case.name, graph(case.name, hosts, links), tables, lists)
    return Scenario.from_text("\n".join(lines) + "\n", case.name)


def outcome_of(case: Case, result: Result) -> Outcome:
    """Return the FCTs of a result, in the order of the flows of its case."""
    groups = _groups(case)
    fcts: list[float | None] = [None] * len(case.flows)
    rows = result.transfers.select("group", "index", "fct_s").iter_rows()
    for group, index, fct_s in rows:
        if fct_s is not None:
            # Whole picoseconds again: seconds are doubles in a result.
            fcts[groups[group][index].line] = round(fct_s * PS_PER_S) / PS_PER_NS
    return Outcome(tuple(fcts), int(result.totals["drops"]))


def _groups(case: Case) -> dict[str, list[Transfer]]:
    """Return the groups of flows; the line of each flow is its place in the case."""
    return hpcc_scenario.groups(
        [
            Transfer(
                PS_PER_NS * flow.start_ns,
                flow.source,
                flow.destination,
                flow.bytes,
                place,
                priority=flow.priority,
            )
            for place, flow in enumerate(case.flows)
        ]
    )


def _row(row: Transfer) -> list[Value]:
    """Return a row of a list of flows."""
    ends = (f"{HOST}:{number}" for number in (row.source, row.destination))
    return [quantities.time(row.start), *ends, row.bytes or 0]
