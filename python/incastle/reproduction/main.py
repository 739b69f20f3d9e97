"""`incastle reproduce`: run what the papers need, measure, judge, draw, and write the report.

The plan of a paper is a list of experiments; each becomes one run per seed
(`incastle.reproduction.running`). Where a claim is unclear, seeds are added
(`incastle.reproduction.deciding`). The report appears as a whole, when everything is done.
"""

from __future__ import annotations

import difflib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from incastle import terminal
from incastle.analysis.ends import shown
from incastle.errors import IncastleError
from incastle.reproduction import claims, render_pool, report
from incastle.reproduction.deciding import Judging, decide
from incastle.reproduction.papers import Length, discover
from incastle.reproduction.run_cache import RunCache
from incastle.reproduction.running import Machine, Part, run_all
from incastle.storage import places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from incastle.reproduction.papers import FigureSpec, Paper

FOLDERS = {
    Length.QUICK: "report-quick",
    Length.DEFAULT: "report",
    Length.FULL: "report-full",
}
"""Where reports go unless told: a quick look must not replace what took an hour."""
PART = "-part"
"""Ends the name of the folder of a part, where its report would replace one that holds more."""

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
        out: the report's folder, where an earlier report is replaced that holds no more; `FOLDERS`
            if None, or next to it where that holds more.
        threads: runs at the same time; all cores if None.
        formats: those of figures for other uses than the page: "svg", "png", "pdf".

    Returns:
        The exit status, 0.

    Raises:
        ReproduceError: no such paper or figure, or `out` is something else than a report, or one
            that holds more.
        Interrupted: Ctrl-C; finished runs are kept, and the same command goes on from there.
        OSError: the report cannot be written.

    """
    chosen = Length(length)
    folder = Path(FOLDERS[chosen] if out is None else out)
    one = None if figure is None else str(figure)
    asked = report.Asked(names, one, chosen, tuple(formats))
    parts = choose(discover(), names, one)
    runs = report.prepare_folder(folder) / report.RUNS
    if lost := _lost(folder, parts, one):
        if out is not None:
            raise ReproduceError(f"{folder} also holds {lost}: choose another --out")
        folder = folder.with_name(folder.name + PART)
        terminal.note(f"{FOLDERS[chosen]} also holds {lost}: this report goes to {folder}")
    contents = make_report(asked, folder, threads, runs)
    _tell([one for content in contents for one in content.judged], folder / "index.html")
    if chosen is Length.QUICK:
        terminal.output().print(QUICK)
    return 0


def _lost(folder: Path, parts: Sequence[Part], figure: str | None) -> str:
    """Name what the report in a folder holds that one of these parts would not."""
    papers, held = places.held(folder)
    others = [name for name in papers if name not in {part.paper.name for part in parts}]
    if others:
        return ", ".join(others)
    return "the other figures" if papers and held is None and figure is not None else ""


def make_report(
    asked: report.Asked, place: Path, threads: int | None, runs: Path | None = None
) -> list[report.PaperReport]:
    """Reproduce papers and write their report, as `main` does; return its contents.

    Finished runs are in `runs`, or with the report.
    """
    chosen = asked.length
    parts = choose(discover(), asked.names, asked.figure)
    folder = report.prepare_folder(place)
    cache = RunCache(runs or folder / report.RUNS)
    machine = Machine(cache, threads)
    observed = run_all(parts, chosen, machine)
    judgings = [Judging(part, observed[part.paper.name]) for part in parts]
    contents = [
        report.PaperReport(
            paper=one.part.paper,
            figures=one.part.figures,
            experiments=one.part.experiments(chosen),
            observations=one.planned,
            judged=judged,
            added=one.added,
        )
        for one, judged in zip(judgings, decide(judgings, machine), strict=True)
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


def _tell(judged: Sequence[claims.Judged], page: Path) -> None:
    """Show every claim with its verdict on the terminal, and where the report is."""
    console = terminal.output()
    if judged:
        console.print(_verdicts(judged))
    console.print(f"The report: {escape(str(page))}", soft_wrap=True)


def _verdicts(judged: Sequence[claims.Judged]) -> Table:
    table = Table(box=SIMPLE_HEAD, title_justify="left")
    for column in ("paper", "claim", "measured", "band", "seeds", "verdict"):
        table.add_column(column, no_wrap=column != "measured")
    for one in judged:
        claim = one.claim
        colour = _COLOURS[one.verdict]
        row = (claim.paper, claim.id, _told(one), str(claim.band), _seeds(one))
        table.add_row(*(escape(text) for text in row), f"[{colour}]{one.verdict}[/]")
    return table


def _told(judged: claims.Judged) -> str:
    """Give the deciding value, of several cases with its case, and how many were measured."""
    if not judged.deciding.known:
        return "not measurable in this run"
    words = [report.decided_by(judged)] if len(judged.cases) > 1 else []
    words += [judged.coverage] if judged.coverage else []
    words += filter(None, [claims.unfinished_words(judged.deciding), judged.deciding.outlook])
    measured = f"{shown(judged.deciding.value, claims.number)} {judged.claim.unit}"
    return f"{measured} ({'; '.join(words)})" if words else measured


def _seeds(judged: claims.Judged) -> str:
    """Give the seeds of the cases: their range where they differ."""
    counts = sorted(len(case.values) for case in judged.cases)
    return str(counts[0]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"


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
