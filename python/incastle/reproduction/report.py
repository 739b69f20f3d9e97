"""The report of a reproduction: figures, claims.json, a first page, and a page per paper.

The first page has a summary to quote, a table of all claims and the conclusion of each paper. Pages
need no network, and follow the reader's light or dark mode; a script filters and sorts the table,
which is whole without it. With them are, for each paper, every figure as a picture and a table, in
other formats on demand, and `runs.csv.gz` with the digest and command of each run; and the lab,
which figures open. Nothing in it depends on the day or the machine: the same engine and the same
length give the same bytes.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incastle import _engine
from incastle.analysis.ends import shown as write_ends
from incastle.errors import IncastleError
from incastle.reproduction.claims import Verdict, number, unfinished_words
from incastle.reproduction.figures import DIGITS, Drawing
from incastle.reproduction.live import FOLDER as LAB
from incastle.reproduction.live import Live, copy_page, links
from incastle.reproduction.papers import Length, selected
from incastle.reproduction.studies import FOLDER as STUDIES
from incastle.reproduction.studies import kept
from incastle.storage.compressed import CSV, write_csv
from incastle.storage.files import put_in_place, recover, scratch_folder
from incastle.storage.places import CLAIMS, REPORT_HEADER
from incastle.templates import templates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from incastle.reproduction.claims import Claim, Judged
    from incastle.reproduction.papers import (
        Experiment,
        FigureSpec,
        Grid,
        Observation,
        Observations,
        Paper,
    )
    from incastle.reproduction.studies import Kept

RUNS = "runs"
RUN_LIST = f"runs{CSV}"
_PAGE = "index.html"
_KEPT = (RUNS, STUDIES)
"""What a report that is written again keeps."""
_MOST_FIGURES = 3
"""Figures with failing claims that a conclusion names."""
_FAILED = (Verdict.FAILS, Verdict.BASE)
_VERBS = {
    Verdict.HOLDS: ("holds", "hold"),
    Verdict.PARTLY: ("holds in part", "hold in part"),
    Verdict.FAILS: ("fails", "fail"),
    Verdict.BASE: ("fails: base", "fail: base"),
    Verdict.UNCLEAR: ("is unclear", "are unclear"),
}
"""Each verdict as a verb: of one claim, of several."""
_BASIS = {
    "words": "the document says it in words; the number is ours",
    "number": "the document's number",
    "figure": "read from the document's figure",
    "theory": "from the fluid model",
    "ours": "the document gives no measure; this one is ours",
}


class ReportError(IncastleError):
    """A place that holds something else than a report, so that it must not be replaced."""


@dataclass(frozen=True)
class Asked:
    """What a report is made of.

    Attributes:
        names: the papers; all but drafts if empty.
        figure: one of theirs alone, by its number; None for all.
        length: of the runs.
        formats: those of figures at full size, in addition to the picture of the page.

    """

    names: Sequence[str]
    figure: str | None
    length: Length
    formats: tuple[str, ...] = ()


@dataclass(frozen=True)
class PaperReport:
    """One paper's part of a report."""

    paper: Paper
    figures: tuple[FigureSpec, ...]
    experiments: list[Experiment]
    observations: Observations
    judged: list[Judged]
    added: Mapping[str, Sequence[Observation]] = field(default_factory=dict)
    """Runs beyond the plan, by which unclear claims were judged; figures have those of the plan."""

    def judged_of(self, figure: FigureSpec) -> list[Judged]:
        """Give the claims of a figure, in its order."""
        by_id = {judged.claim.id: judged for judged in self.judged}
        return [by_id[claim] for claim in figure.claims]

    def seeds_of(self, figure: FigureSpec) -> str:
        """Tell how many seeds the experiments of a figure have."""
        used = selected(self.experiments, [figure])
        counts = sorted({len(self.observations[one.name]) for one in used})
        if not counts:
            return "no runs"
        if counts[-1] == 1:
            return "one seed: no spread"
        few = "1 (no spread)" if counts[0] == 1 else str(counts[0])
        return f"{few} to {counts[-1]} seeds" if len(counts) > 1 else f"{few} seeds"

    def live_runs(self, figure: FigureSpec) -> list[Live]:
        """Give the runs of a figure that the lab can open."""
        used = selected(self.experiments, [figure])
        return links(used, self.observations)

    def scenarios(self) -> list[tuple[str, Experiment]]:
        """Give each scenario file with an experiment that runs it."""
        return sorted({one.scenario: one for one in self.experiments}.items())


@dataclass(frozen=True)
class Shown:
    """A figure in the page: its files, the picture first, its table, if any, runs in the lab."""

    files: list[str]
    grid: Grid | None
    live: list[Live]


def prepare_folder(folder: Path) -> Path:
    """Check, before long work, that a report can be put there; make the folder.

    Raises:
        ReportError: there is something else than an earlier report.
        OSError: the folder cannot be made or written.

    """
    if folder.is_symlink():
        folder = folder.resolve()  # what a link leads to is exchanged, not the link
    recover(folder, _KEPT)
    if folder.exists() and not folder.is_dir():
        raise ReportError(f"{folder} exists and is not a folder: choose another --out")
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if names and not names <= set(_KEPT) and not {_PAGE, CLAIMS} <= names:
        raise ReportError(f"{folder} exists and is not a report: choose another --out")
    folder.mkdir(parents=True, exist_ok=True)
    for place in (folder, folder.absolute().parent):
        if not os.access(place, os.W_OK | os.X_OK):
            raise PermissionError(13, "no permission to write there", str(place))
    return folder


def write(
    folder: Path,
    contents: Sequence[PaperReport],
    asked: Asked,
    render: Callable[[Sequence[Drawing]], None],
) -> None:
    """Write the whole report next to its place, then exchange it with an earlier one.

    Raises:
        OSError: it cannot be written; the earlier one is what it was.

    """
    try:
        with scratch_folder(folder) as scratch:
            studies = {one.paper.name: kept(folder, one.paper.name) for one in contents}
            _write(scratch, contents, asked, render, studies)
            put_in_place(scratch, folder, _KEPT)
    except OSError as error:
        # The place that the user knows; a failed write (a full disk) names none by itself.
        error.filename, error.filename2 = str(folder), None
        raise


def _write(
    scratch: Path,
    contents: Sequence[PaperReport],
    asked: Asked,
    render: Callable[[Sequence[Drawing]], None],
    studies: Mapping[str, Sequence[Kept]],
) -> None:
    drawings, parts = {}, {}
    for content in contents:
        place = scratch / content.paper.name
        place.mkdir()
        for figure in content.figures:
            name, data = (content.paper.name, figure.number), figure.data(content.observations)
            drawings[name] = Drawing(place / figure.stem, data, figure.draw, asked.formats)
            grid = None if figure.grid is None else figure.grid(data)
            parts[name] = (grid, content.live_runs(figure))
    render(list(drawings.values()))
    shown = {name: Shown(one.files(), *parts[name]) for name, one in drawings.items()}
    has_lab = copy_page(scratch)
    for content in contents:
        _write_runs(scratch / content.paper.name / RUN_LIST, content)
    _write_json(scratch / REPORT_HEADER, _header(contents, asked))
    _write_claims(scratch / CLAIMS, (one for part in contents for one in part.judged))
    for file, page in _pages(contents, asked, shown, studies, has_lab=has_lab).items():
        (scratch / file).write_text(_with_plain_quotes(page), encoding="utf-8")


def _header(contents: Sequence[PaperReport], asked: Asked) -> dict[str, object]:
    """Give what the report is made of, and the command that makes it again."""
    names = [content.paper.name for content in contents]
    return {
        "version": _engine.__version__,
        "length": asked.length,
        "papers": names,
        "figure": asked.figure,
        "command": _again(" ".join(names), asked.figure, length=asked.length),
    }


def _write_json(path: Path, content: dict[str, object]) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    path.write_text(text, encoding="utf-8")


def _write_claims(path: Path, judged: Iterable[Judged]) -> None:
    """Write a claim per line: with a line for each number they would be a third longer."""
    write = partial(json.dumps, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    lines = ",\n".join(write(_in_digits(one.as_json())) for one in judged)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _in_digits(value: Any) -> Any:  # noqa: ANN401  JSON
    """Round the numbers in JSON to `DIGITS` digits."""
    match value:
        case float():
            return float(f"{value:.{DIGITS}g}")
        case list():
            return [_in_digits(one) for one in value]
        case dict():
            return {key: _in_digits(one) for key, one in value.items()}
    return value


def _write_runs(path: Path, content: PaperReport) -> None:
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["experiment", "seed", "digest", "command"])
    for experiment in content.experiments:
        added = content.added.get(experiment.name, ())
        for seed, run in enumerate([*content.observations[experiment.name], *added], 1):
            command = _command(content.paper, experiment, seed)
            table.writerow([experiment.name, seed, run.digest, command])
    write_csv(path, file.getvalue())


def _command(paper: Paper, experiment: Experiment, seed: int) -> str:
    """Give the command that repeats a run alone."""
    path = paper.scenario(experiment)
    shown = Path("python", "incastle") / path.relative_to(Path(__file__).parents[1])
    words = ["incastle", "run", str(shown)]
    for key, value in experiment.overrides.items():
        words += ["--set", f"{key}={value}"]
    return shlex.join([*words, "--seed", str(seed)])


# ---- the page


def _pages(
    contents: Sequence[PaperReport],
    asked: Asked,
    shown: Mapping[tuple[str, str], Shown],
    studies: Mapping[str, Sequence[Kept]],
    *,
    has_lab: bool,
) -> dict[str, str]:
    """Give the pages by their names: the first, and one for each paper."""
    length = asked.length
    environment = templates(Path(__file__).parent)
    environment.filters["number"] = number
    common = {
        "length": length,
        "shown": shown,
        "studies": studies,
        "lab": f"{LAB}/{_PAGE}" if has_lab else None,
        "version": _engine.__version__,
        "basis": _BASIS,
        "verdicts": list(Verdict),
        "again": partial(_again, length=length),
        "by_verdict": _by_verdict,
        "conclusion": _conclusion,
        "css": _css,
        "decided_by": decided_by,
        "measured": lambda case: write_ends(case.value, number),
        "note": _note,
        "paper_value": _paper_value,
        "summary": partial(_summary, asked=asked),
        "unfinished": unfinished_words,
    }
    every = [judged for content in contents for judged in content.judged]
    first = environment.get_template("index.html.jinja")
    page = environment.get_template("paper.html.jinja")
    return {_PAGE: first.render(common, contents=contents, judged=every)} | {
        f"{one.paper.name}.html": page.render(common, content=one, judged=one.judged)
        for one in contents
    }


def _with_plain_quotes(page: str) -> str:
    """Write quotes as such where they are words between tags: escaped they take five bytes."""

    def plain(words: re.Match[str]) -> str:
        return words[0].replace("&#34;", '"').replace("&#39;", "'")

    return re.sub(r">[^<>]*<", plain, page)


def _again(name: str, figure: str | None = None, *, length: Length) -> str:
    option = "" if length == "default" else f" --{length}"
    return f"incastle reproduce {name}{f' --figure {figure}' if figure else ''}{option}"


def _summary(contents: Sequence[PaperReport], *, asked: Asked) -> str:
    """Give the verdicts of all papers in a paragraph, with the version and length they are of."""
    part = "" if asked.figure is None else f", figure {asked.figure} alone"
    by_paper = {content.paper.name: content.judged for content in contents if content.judged}
    every = [judged for of_paper in by_paper.values() for judged in of_paper]
    sentences = [f"{name}: {_verdicts(judged)[0]}" for name, judged in by_paper.items()]
    if len(by_paper) > 1:
        sentences.insert(0, f"{len(by_paper)} papers, {_verdicts(every)[0]}")
    return " ".join([f"Incastle {_engine.__version__}, {asked.length} length{part}.", *sentences])


def decided_by(judged: Judged) -> str:
    """Name the case that decides, and count those that hold where some do and some do not."""
    hold = sum(case.verdict is Verdict.HOLDS for case in judged.cases)
    some = 0 < hold < len(judged.cases) and not judged.coverage
    return judged.deciding.case + (f"; {hold} of {len(judged.cases)} hold" if some else "")


def _conclusion(content: PaperReport) -> str:
    """Give the conclusion: the verdicts and where claims fail, then the paper's own sentences.

    A sentence of the paper with measured facts stands only where the claims that it rests on have
    these verdicts. It is about the whole paper, at the default length and above.
    """
    sentences = [*_verdicts(content.judged), *_where(content)]
    paper = content.paper
    if content.observations.length is Length.QUICK or len(content.figures) < len(paper.figures):
        return " ".join(sentences)
    facts = paper.facts["conclusion"](content.observations)
    verdicts = {one.claim.id: one.verdict for one in content.judged}
    for one in paper.about()["conclusion"]:
        holds = all(verdicts[name] is Verdict.HOLDS for name in one.get("holds", ()))
        if holds and all(verdicts[name] in _FAILED for name in one.get("fails", ())):
            sentences.append(one["text"].format_map(facts))
    return " ".join(sentences)


def _verdicts(judged: Sequence[Judged]) -> list[str]:
    """Count the verdicts in a sentence."""
    counts = [f"{count} {_VERBS[verdict][count != 1]}" for verdict, count in _by_verdict(judged)]
    if not counts:
        return ["No claims."]
    listed = " and ".join(filter(None, (", ".join(counts[:-1]), counts[-1])))
    of = "1 claim" if len(judged) == 1 else f"{len(judged)} claims"
    return [f"{of}: {listed}."]


def _where(content: PaperReport) -> list[str]:
    """Name the figures in which claims fail, those with most of them first."""
    failed = []
    for figure in content.figures:
        judged = content.judged_of(figure)
        if count := sum(one.verdict in _FAILED for one in judged):
            name = f"{figure.kind} {figure.number} ({count} of {len(judged)})"
            failed.append((count, name))
    failed.sort(key=lambda one: -one[0])
    if not failed:
        return []
    named = [name for _, name in failed[:_MOST_FIGURES]]
    more = len(failed) - len(named)
    return [f"Claims fail in {', '.join(named)}{f' and {more} more' if more else ''}."]


def _note(content: PaperReport, figure: FigureSpec) -> str:
    """Give the paper's own text on a figure, where it has one, with the measured facts in it.

    Like reasons, these texts are written for runs of the default length and above.
    """
    if content.observations.length is Length.QUICK:
        return ""
    text: str = content.paper.about().get("notes", {}).get(figure.number, "")
    facts = content.paper.facts.get(figure.number)
    return text.format_map(facts(content.observations)) if facts else text


def _paper_value(claim: Claim) -> str:
    """Give the paper's value, with its unit where it is a bare number."""
    bare = claim.paper_value.replace(".", "", 1).isdigit()
    return f"{claim.paper_value} {claim.unit}" if bare else claim.paper_value


def _by_verdict(judged: Iterable[Judged]) -> list[tuple[Verdict, int]]:
    """Count the verdicts that occur."""
    found = Counter(one.verdict for one in judged)
    return [(verdict, found[verdict]) for verdict in Verdict if found[verdict]]


def _css(verdict: Verdict) -> str:
    return verdict.replace(":", "").replace(" ", "-")
