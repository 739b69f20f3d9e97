"""`incastle reproduce`: run what the papers need, measure, judge, draw, and write the report.

The plan of a paper is a list of experiments; each becomes one run per seed. Equal runs are run
once, finished ones are kept below the report's folder and reused, so that a reproduction that was
stopped goes on where it was. The report appears as a whole, when everything is done.
"""

from __future__ import annotations

import difflib
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from incastle import runner, terminal
from incastle.analysis.ends import shown
from incastle.errors import IncastleError
from incastle.reproduction import claims, render_pool, report
from incastle.reproduction.papers import Length, Observations, discover, selected
from incastle.reproduction.run_cache import RunCache, observe
from incastle.scenario import load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from incastle.reproduction.papers import Experiment, FigureSpec, Observation, Paper
    from incastle.results import Result
    from incastle.scenario import Scenario

CHUNK = 96
"""Runs that are handed to the engine at once; bounds the results that lie in memory."""

FOLDERS = {
    Length.QUICK: "report-quick",
    Length.DEFAULT: "report",
    Length.FULL: "report-full",
}
"""Where reports go unless told: a quick look must not replace what took an hour."""

QUICK = (
    "quick: one seed and short runs; verdicts may differ from the default length, which also gives "
    "the reasons"
)

_COLOURS = {
    claims.Verdict.HOLDS: "green",
    claims.Verdict.PARTLY: "yellow",
    claims.Verdict.FAILS: "red",
    claims.Verdict.BASE: "magenta",
    claims.Verdict.UNCLEAR: "bright_black",
}


class ReproduceError(IncastleError):
    """A paper or figure that does not exist, or a place that cannot take the report."""


@dataclass(frozen=True)
class Part:
    """The part of one paper to reproduce."""

    paper: Paper
    figures: tuple[FigureSpec, ...]

    def experiments(self, length: Length) -> list[Experiment]:
        """Give the experiments that the figures use."""
        return selected(self.paper.plan(length), self.figures)


@dataclass(frozen=True)
class _Run:
    """One run of the plan: an experiment with one seed."""

    paper: str
    experiment: Experiment
    seed: int
    scenario: Scenario
    tables: tuple[str, ...]

    def with_tables(self, tables: Sequence[str]) -> _Run:
        """Keep these tables of it, too: another experiment is the same run."""
        return replace(self, tables=tuple(dict.fromkeys((*self.tables, *tables))))


def papers() -> list[tuple[str, str]]:
    """Give the shipped papers: name and title."""
    return [(name, paper.listed()) for name, paper in discover().items()]


def main(
    names: Sequence[str] = (),
    figure: str | int | None = None,
    length: str = "default",
    out: str | Path | None = None,
    threads: int | None = None,
    formats: Sequence[str] = (),
) -> int:
    """Reproduce papers and write their report.

    Args:
        names: which papers; all but drafts if empty.
        figure: only this figure of theirs, by its number in the paper or in the original.
        length: "quick", "default" or "full".
        out: the report's folder, where an earlier report is replaced; `FOLDERS` if None.
        threads: runs at the same time; all cores if None.
        formats: those of figures for other uses than the page: "svg", "png", "pdf".

    Returns:
        The exit status, 0.

    Raises:
        ReproduceError: no such paper or figure, or `out` is something else than a report.
        Interrupted: Ctrl-C; finished runs are kept, and the same command goes on from there.
        OSError: the report cannot be written.

    """
    chosen = Length(length)
    folder = Path(FOLDERS[chosen] if out is None else out)
    one = None if figure is None else str(figure)
    contents = make_report(report.Asked(names, one, chosen, tuple(formats)), folder, threads)
    _tell([one for content in contents for one in content.judged], folder / "index.html")
    if chosen is Length.QUICK:
        terminal.output().print(QUICK)
    return 0


def make_report(asked: report.Asked, place: Path, threads: int | None) -> list[report.PaperReport]:
    """Reproduce papers and write their report, as `main` does; return its contents."""
    chosen = asked.length
    parts = choose(discover(), asked.names, asked.figure)
    folder = report.prepare_folder(place)
    cache = RunCache(folder / report.RUNS)
    observed = run_all(parts, chosen, cache, threads)
    judged = {part.paper.name: judge(part, observed[part.paper.name]) for part in parts}
    contents = [
        report.PaperReport(
            paper=part.paper,
            figures=part.figures,
            experiments=part.experiments(chosen),
            observations=observed[part.paper.name],
            judged=judged[part.paper.name],
        )
        for part in parts
    ]
    terminal.note(f"drawing {sum(len(part.figures) for part in parts):,} figures")
    report.write(folder, contents, asked, render_pool.render)
    cache.forget_other_engines()
    return contents


def choose(shipped: Mapping[str, Paper], names: Sequence[str], figure: str | None) -> list[Part]:
    """Find the papers and figures that are meant."""
    for name in names:
        if name not in shipped:
            raise ReproduceError(f"no paper is called {name!r}{_near(name, list(shipped))}")
    chosen = [shipped[name] for name in dict.fromkeys(names)]
    ordered = sorted(shipped.values(), key=lambda paper: not paper.document)
    chosen = chosen or [paper for paper in ordered if not paper.draft]
    if figure is None:
        return [Part(paper, paper.figures) for paper in chosen]
    parts = [
        Part(paper, tuple(one for one in paper.figures if one.answers_to(figure)))
        for paper in chosen
    ]
    if not any(part.figures for part in parts):
        known = {name for paper in chosen for one in paper.figures for name in _names(one)}
        raise ReproduceError(
            f"no figure {figure} here{_near(figure, sorted(known, key=_by_number))}"
        )
    return [part for part in parts if part.figures]


def run_all(
    parts: Sequence[Part], length: Length, cache: RunCache, threads: int | None
) -> dict[str, Observations]:
    """Give the runs of all parts, by paper: from the cache, or from the engine."""
    plan = [run for part in parts for run in _plan(part, length)]
    wanted: dict[str, _Run] = {}
    for run in plan:
        resolved = run.scenario.resolved
        wanted[resolved] = wanted[resolved].with_tables(run.tables) if resolved in wanted else run
    found: dict[str, Observation] = {}
    missing: list[_Run] = []
    for resolved, run in wanted.items():
        kept = cache.load(resolved)
        if kept is None or not set(run.tables) <= kept.tables.keys():
            missing.append(run)
        else:
            found[resolved] = kept

    def keep(run: _Run, result: Result) -> None:
        resolved = run.scenario.resolved
        found[resolved] = observe(result, run.tables)
        cache.keep(resolved, found[resolved])

    terminal.note(f"{len(wanted):,} runs, {len(found):,} of them from before")
    with terminal.progress_bar("reproduce") as show:
        _run_missing(missing, threads, keep, show)
    observed: dict[str, dict[str, list[Observation]]] = {part.paper.name: {} for part in parts}
    for run in plan:
        of_paper = observed[run.paper].setdefault(run.experiment.name, [])
        of_paper.append(found[run.scenario.resolved])
    return {name: Observations(length, runs) for name, runs in observed.items()}


def judge(part: Part, observations: Observations) -> list[claims.Judged]:
    """Judge the claims that belong to the figures, in the order of claims.toml.

    Reasons are written for runs of the default length and above. The quick one shows no causes.
    """
    folder = part.paper.folder
    known = claims.load(folder / "claims.toml")
    quick = observations.length is Length.QUICK
    reasons = {} if quick else claims.load_reasons(folder / "reasons.toml", known)
    asked = {name for figure in part.figures for name in figure.claims}
    judged = []
    for claim in known:
        if claim.id in asked:
            measured = part.paper.measures[claim.id](observations)
            base = part.paper.bases.get(claim.id)
            one = claims.judge(claim, measured, reasons, base and base(observations))
            facts = part.paper.facts.get(claim.id) if one.explanation else None
            judged.append(claims.with_facts(one, facts(observations)) if facts else one)
    return judged


def _plan(part: Part, length: Length) -> list[_Run]:
    """Make every run of a part, checked: a mistake in a scenario is told before anything runs."""
    runs = []
    for experiment in part.experiments(length):
        path = part.paper.scenario(experiment)
        for seed in range(1, experiment.seeds + 1):
            settings = {**experiment.overrides, "run.seed": str(seed)}
            scenario = load(path, tuple(settings.items()))
            tables = (*part.paper.tables, *experiment.tables)
            runs.append(_Run(part.paper.name, experiment, seed, scenario, tables))
    return runs


def _run_missing(
    runs: list[_Run],
    threads: int | None,
    keep: Callable[[_Run, Result], object],
    show: Callable[[runner.Progress], object] | None,
) -> None:
    """Run chunk by chunk, the longest first so that no long one is left to run alone at the end."""
    runs = sorted(runs, key=lambda run: -run.experiment.cost)
    for begin in range(0, len(runs), CHUNK):
        chunk = _Chunk(runs, begin, keep, show)
        scenarios = [run.scenario for run in chunk.runs]
        runner.run_many(scenarios, threads, chunk.progress, chunk.take)


class _Chunk:
    """The runs from `begin` on that the engine has at the moment.

    Progress counts expected work instead of simulated time: a second at 10 Gbit/s takes a hundred
    times as long as one at 100 Mbit/s.
    """

    def __init__(
        self,
        plan: list[_Run],
        begin: int,
        keep: Callable[[_Run, Result], object],
        show: Callable[[runner.Progress], object] | None,
    ) -> None:
        self.runs = plan[begin : begin + CHUNK]
        self.begin = begin
        self.keep = keep
        self.show = show
        self.behind, self.ahead = _work(plan[:begin]), _work(self.runs)
        self.total, self.work = len(plan), _work(plan)

    def take(self, index: int, result: Result) -> None:
        """Keep a finished run."""
        self.keep(self.runs[index], result)

    def progress(self, state: runner.Progress) -> None:
        """Tell how far the whole plan is, from how far this chunk is."""
        if self.show is not None:
            done = self.behind + state.fraction * self.ahead
            self.show(runner.Progress(self.begin + state.finished, self.total, done, self.work))


def _work(runs: Sequence[_Run]) -> float:
    return sum(run.experiment.cost for run in runs)


def _tell(judged: Sequence[claims.Judged], page: Path) -> None:
    """Show every claim with its verdict on the terminal, and where the report is."""
    console = terminal.output()
    if judged:
        console.print(_verdicts(judged))
    console.print(f"The report: {escape(str(page))}", soft_wrap=True)


def _verdicts(judged: Sequence[claims.Judged]) -> Table:
    table = Table(box=SIMPLE_HEAD, title_justify="left")
    for column in ("paper", "claim", "measured", "band", "verdict"):
        table.add_column(column, no_wrap=column != "measured")
    for one in judged:
        claim = one.claim
        colour = _COLOURS[one.verdict]
        row = (claim.paper, claim.id, _told(one), str(claim.band))
        table.add_row(*(escape(text) for text in row), f"[{colour}]{one.verdict}[/]")
    return table


def _told(judged: claims.Judged) -> str:
    """Give the deciding value, of several cases with its case, and how many were measured."""
    if not judged.deciding.known:
        return "not measurable in this run"
    words = [report.decided_by(judged)] if len(judged.cases) > 1 else []
    words += [judged.coverage] if judged.coverage else []
    words += filter(None, [claims.unfinished_words(judged.deciding)])
    measured = f"{shown(judged.deciding.value, claims.number)} {judged.claim.unit}"
    return f"{measured} ({'; '.join(words)})" if words else measured


def _names(figure: FigureSpec) -> list[str]:
    return [figure.number, *([figure.original] if figure.original else [])]


def _by_number(name: str) -> tuple[int, str]:
    """Order figures as a reader counts: 2 before 13, and what has no number at the end."""
    digits = re.match(r"\d*", name)
    return (int(digits[0]) if digits and digits[0] else sys.maxsize, name)


def _near(name: str, known: Sequence[str]) -> str:
    """List close names, and all that exist."""
    listed = ", ".join(known)
    close = difflib.get_close_matches(name, known, 1)
    return f": did you mean {close[0]!r}? There are {listed}" if close else f"; there are {listed}"
