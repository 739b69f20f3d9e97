"""The report of a reproduction: figures, claims.json, and one self-contained page.

The page carries its figures inside, needs neither network nor scripts, and follows the reader's
light or dark mode. Beside it lie, for each paper, every figure as SVG, PNG, PDF and CSV, and
`runs.csv` with the digest of each run. Nothing in it depends on the day or the machine: the same
engine and the same length give the same bytes.
"""

from __future__ import annotations

import base64
import csv
import json
import os
import shlex
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incastle import _engine
from incastle.analysis.ends import shown
from incastle.errors import IncastleError
from incastle.reproduction.claims import Verdict, number, unfinished_words
from incastle.reproduction.figures import Drawing
from incastle.reproduction.papers import Length
from incastle.storage.files import put_in_place, recover, scratch_folder
from incastle.storage.places import CLAIMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from incastle.reproduction.claims import Claim, Judged, JudgedCase
    from incastle.reproduction.papers import Cell, Experiment, FigureSpec, Grid, Observations, Paper

RUNS = "runs"
_PAGE = "index.html"
_BASIS = {
    "words": "the document says it in words; the number is ours",
    "number": "the document's number",
    "figure": "read from the document's figure",
    "theory": "from the fluid model",
    "ours": "the document gives no measure; this one is ours",
}


_REASONS = {
    False: "Its reason stands beside it.",
    True: "Reasons and notes on figures are given at the default length and above: this length "
    "runs too little to show causes.",
}


class ReportError(IncastleError):
    """A place that holds something else than a report, so that it must not be replaced."""


@dataclass(frozen=True)
class PaperReport:
    """One paper's part of a report."""

    paper: Paper
    figures: tuple[FigureSpec, ...]
    experiments: list[Experiment]
    observations: Observations
    judged: list[Judged]


@dataclass(frozen=True)
class Shown:
    """A figure in the page: its image's address, and its table, if it has one."""

    image: str
    grid: str


def prepare_folder(folder: Path) -> Path:
    """Check, before long work, that a report can be put there; make the folder.

    Raises:
        ReportError: there is something else than an earlier report.
        OSError: the folder cannot be made or written.

    """
    if folder.is_symlink():
        folder = folder.resolve()  # what a link leads to is exchanged, not the link
    recover(folder)
    if folder.exists() and not folder.is_dir():
        raise ReportError(f"{folder} exists and is not a folder: choose another --out")
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if names and not names <= {RUNS} and not {_PAGE, CLAIMS} <= names:
        raise ReportError(f"{folder} exists and is not a report: choose another --out")
    folder.mkdir(parents=True, exist_ok=True)
    for place in (folder, folder.absolute().parent):
        if not os.access(place, os.W_OK | os.X_OK):
            raise PermissionError(13, "no permission to write there", str(place))
    return folder


def write(
    folder: Path,
    contents: Sequence[PaperReport],
    length: Length,
    render: Callable[[Sequence[Drawing]], list[str]],
) -> None:
    """Write the whole report beside its place, then exchange it with an earlier one.

    Raises:
        OSError: it cannot be written; the earlier one is what it was.

    """
    try:
        _write(folder, contents, length, render)
    except OSError as error:
        # The place that the user knows; a failed write (a full disk) names none by itself.
        error.filename, error.filename2 = str(folder), None
        raise


def _write(
    folder: Path,
    contents: Sequence[PaperReport],
    length: Length,
    render: Callable[[Sequence[Drawing]], list[str]],
) -> None:
    with scratch_folder(folder) as scratch:
        drawings, grids = {}, {}
        for content in contents:
            place = scratch / content.paper.name
            place.mkdir()
            for figure in content.figures:
                data = figure.data(content.observations)
                drawing = Drawing(place / figure.stem, data, figure.draw)
                drawings[content.paper.name, figure.number] = drawing
                if figure.grid is not None:
                    grids[content.paper.name, figure.number] = _grid(figure.grid(data))
        images = dict(zip(drawings, map(_image, render(list(drawings.values()))), strict=True))
        shown = {name: Shown(image, grids.get(name, "")) for name, image in images.items()}
        for content in contents:
            _write_runs(scratch / content.paper.name / "runs.csv", content)
        entries = [judged.as_json() for content in contents for judged in content.judged]
        text = json.dumps(entries, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        (scratch / CLAIMS).write_text(text, encoding="utf-8")
        page = _page(contents, length, shown)
        (scratch / _PAGE).write_text(page, encoding="utf-8")
        _exchange(scratch, folder)


def _exchange(scratch: Path, folder: Path) -> None:
    """Put the new report in the old one's place; finished runs move over to it."""
    runs = folder / RUNS
    if runs.exists():
        runs.rename(scratch / RUNS)
    try:
        put_in_place(scratch, folder)
    except OSError:
        if (scratch / RUNS).exists():
            (scratch / RUNS).rename(runs)
        raise


def _write_runs(path: Path, content: PaperReport) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["experiment", "seed", "digest", "command"])
        for experiment in content.experiments:
            for seed, run in enumerate(content.observations[experiment.name], 1):
                command = _command(content.paper, experiment, seed)
                table.writerow([experiment.name, seed, run.digest, command])


def _command(paper: Paper, experiment: Experiment, seed: int | None = None) -> str:
    """Give the command that repeats an experiment alone."""
    path = paper.scenario(experiment)
    shown = Path("python", "incastle") / path.relative_to(Path(__file__).parents[1])
    words = ["incastle", "run", str(shown)]
    for key, value in experiment.overrides.items():
        words += ["--set", f"{key}={value}"]
    words += ["--seed", str(seed)] if seed is not None else ["--seeds", str(experiment.seeds)]
    return shlex.join(words)


# ---- the page


def _page(
    contents: Sequence[PaperReport], length: Length, shown: dict[tuple[str, str], Shown]
) -> str:
    papers = "\n".join(_paper(content, length, shown) for content in contents)
    counts = _counts(judged for content in contents for judged in content.judged)
    title = "Incastle: " + ", ".join(content.paper.name for content in contents)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="Incastle {escape(_engine.__version__)}">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<header>
<h1>What the papers claim, and what runs here</h1>
<p>Computed by Incastle {escape(_engine.__version__)}, length
<strong>{length}</strong>. {counts}</p>
<p class="small">A claim <em>holds</em> when the whole 95&nbsp;% interval of what was measured
(Student's t over the seeds, comparisons paired by seed) lies in the band that was fixed before
measuring; it <em>fails</em> when the interval lies outside, and is <em>unclear</em> when it spans
an edge. With one seed there is no interval and the value alone decides. Where the situation that
a claim begins from has failed already, it <em>fails: base</em>. A claim over several cases of
which some hold, <em>holds in part</em>; one of which a part could not be measured is at best
<em>unclear</em>. A failing claim is a finding, not a defect. {_REASONS[length is Length.QUICK]}</p>
{_contents(contents)}
</header>
<main>
{papers}
</main>
</body>
</html>
"""


def _contents(contents: Sequence[PaperReport]) -> str:
    """List the papers with their verdicts, where there are several."""
    if len(contents) == 1:
        return ""
    items = "".join(
        f'<li><a href="#{escape(content.paper.name)}">{escape(content.paper.name)}</a>: '
        f"{escape(content.paper.about()['title'])}. {_counts(content.judged)}</li>"
        for content in contents
    )
    return f"<ul>{items}</ul>"


def _paper(content: PaperReport, length: Length, shown: dict[tuple[str, str], Shown]) -> str:
    about, name = content.paper.about(), content.paper.name
    by_id = {judged.claim.id: judged for judged in content.judged}
    sections = "\n".join(
        _figure(
            name,
            figure,
            shown[name, figure.number],
            _paragraphs(content, about, figure.number),
            [by_id[claim] for claim in figure.claims],
            length,
        )
        for figure in content.figures
    )
    return f"""<section id="{escape(name)}">
<h2>{escape(name)}: {escape(about["title"])}</h2>
<p class="source">{escape(about["source"])}</p>
{_texts(about["summary"])}
<p>This report shows: {escape(about["lengths"][length])}</p>
{_guide(content, about)}
{_overview(content.judged)}
{_open(content, about.get("open", []))}
{sections}
<h3 id="{escape(name)}-parameters">Parameters</h3>
{_parameters(about["parameter"])}
<h3 id="{escape(name)}-deviations">{_departs(content.paper).capitalize()}</h3>
<ul>{"".join(f"<li>{escape(text)}</li>" for text in about["deviations"])}</ul>
<h3>Every experiment</h3>
<p>All of it again: <code>{escape(_again(name, length))}</code>. One experiment alone, in a clone of
the repository (digests of each run in <a href="{escape(name)}/runs.csv">runs.csv</a>):</p>
<details><summary>{len(content.experiments)} experiments</summary>
{_experiments(content)}
</details>
</section>"""


def _departs(paper: Paper) -> str:
    return "where this departs from the document" if paper.document else "what this leaves out"


def _guide(content: PaperReport, about: dict[str, Any]) -> str:
    """Link to what is to be known before a result, and to what stands after the figures."""
    name = content.paper.name
    question = ("open", "what the document leaves open, and what was taken")
    parts = [question] if "open" in about else []
    parts += [("parameters", "parameters"), ("deviations", _departs(content.paper))]
    links = (f'<a href="#{escape(name)}-{place}">{words}</a>' for place, words in parts)
    claims = "; first every claim with its verdict:" if content.judged else "."
    return f"<p>In this part: {', '.join(links)}{claims}</p>"


def _again(name: str, length: Length, figure: str | None = None) -> str:
    option = "" if length == "default" else f" --{length}"
    return f"incastle reproduce {name}{f' --figure {figure}' if figure else ''}{option}"


def _figure(
    paper: str,
    figure: FigureSpec,
    shown: Shown,
    paragraphs: str,
    judged: Sequence[Judged],
    length: Length,
) -> str:
    stem = f"{paper}/{figure.stem}"
    files = " · ".join(
        f'<a href="{escape(stem)}.{form}">{form.upper()}</a>'
        for form in ("svg", "png", "pdf", "csv")
    )
    original = f" (figure {figure.original} of the original)" if figure.original else ""
    return f"""<section class="figure" id="{escape(paper)}-{escape(figure.stem)}">
<h3>{escape(figure.kind.capitalize())} {escape(figure.number)}{escape(original)}: \
{escape(figure.title)}</h3>
<figure>
<img alt="{escape(figure.title)}" src="{shown.image}">
<figcaption>{escape(figure.caption)} <span class="small">{files} · again:
<code>{escape(_again(paper, length, figure.number))}</code></span></figcaption>
</figure>
{shown.grid}
{paragraphs}
{_claims(judged)}
</section>"""


def _image(svg: str) -> str:
    """Give a drawing as the address of an image."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _grid(grid: Grid) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in grid.head)
    rows = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in grid.rows)
    return f"""<div class="wide"><table class="grid"><thead><tr>{head}</tr></thead>
<tbody>
{rows}
</tbody>
</table></div>"""


def _cell(cell: Cell) -> str:
    title = f' title="{escape(cell.title)}"' if cell.title else ""
    text = f'<span class="{escape(cell.kind)}">{escape(cell.text)}</span>' if cell.kind else ""
    return f"<td{title}>{text or escape(cell.text)}</td>"


def _claims(judged: Sequence[Judged]) -> str:
    if not judged:
        return ""
    rows = "\n".join(_claim(one) for one in judged)
    return f"""<div class="wide"><table class="claims">
<thead><tr><th>claim</th><th>the paper</th><th>band</th><th>measured here</th>
<th>verdict</th></tr></thead>
<tbody>
{rows}
</tbody>
</table></div>"""


def _claim(judged: Judged) -> str:
    claim = judged.claim
    cases = "".join(_case(case, claim) for case in judged.cases)
    return f"""<tr id="{escape(claim.paper)}-{escape(claim.id)}">
<td><strong>{escape(claim.statement)}</strong>
<div class="small">{escape(claim.id)} · {escape(claim.document)}, {escape(claim.place)} ·
{escape(claim.metric)}, {escape(claim.unit)}{_rests_on(claim)}</div></td>
<td>{escape(_paper_value(claim))}</td>
<td><span class="nowrap">{escape(str(claim.band))}</span>
<div class="small" title="{escape(_BASIS[claim.basis])}">{escape(claim.basis)}</div></td>
<td>{cases}</td>
<td>{_badge(judged.verdict)}{_coverage(judged)}</td>
</tr>{_explanation(judged)}"""


def _rests_on(claim: Claim) -> str:
    """Tell the condition without which a claim says nothing."""
    if claim.base is None:
        return ""
    base = claim.base
    return f" · base: {escape(base.metric)} {escape(str(base.band))} {escape(base.unit)}"


def _coverage(judged: Judged) -> str:
    return f'<div class="small">{escape(judged.coverage)}</div>' if judged.coverage else ""


def _explanation(judged: Judged) -> str:
    if not judged.explanation:
        return ""
    return f'\n<tr class="reason"><td colspan="5">{escape(judged.explanation)}</td></tr>'


def _paper_value(claim: Claim) -> str:
    """Give the paper's value, with its unit where it is a bare number."""
    bare = claim.paper_value.replace(".", "", 1).isdigit()
    return f"{claim.paper_value} {claim.unit}" if bare else claim.paper_value


def _case(case: JudgedCase, claim: Claim) -> str:
    if not case.known:
        return f'<div class="case unclear">{escape(case.case)}: not measurable in this run</div>'
    base = ""
    if case.base is not None and claim.base is not None:
        base = f'<div class="small">base: {_value(case.base, claim.base.unit)}</div>'
    return (
        f'<div class="case {_css(case.verdict)}">{escape(case.case)}: '
        f"{_value(case, claim.unit)}{base}</div>"
    )


def _value(case: JudgedCase, unit: str) -> str:
    """Give a case's mean and, where there are such, its interval and what was unfinished."""
    text = shown(case.value, number)
    mean = f'<span class="nowrap"><strong>{text}</strong> {escape(unit)}</span>'
    if case.range is not None:
        low, high = case.range
        mean += f' <span class="small nowrap">[{number(low)}, {number(high)}]</span>'
    words = unfinished_words(case)
    return f'{mean} <span class="small">({words})</span>' if words else mean


def _overview(judged: Sequence[Judged]) -> str:
    if not judged:
        return ""
    items = "".join(
        f'<li><a href="#{escape(claim.paper)}-{escape(claim.id)}">{escape(claim.id)}</a> '
        f"{_badge(verdict)}</li>"
        for claim, verdict in ((one.claim, one.verdict) for one in judged)
    )
    return f'<ul class="overview">{items}</ul>'


def _parameters(parameters: Sequence[dict[str, str]]) -> str:
    rows = "".join(
        f"<tr><td>{escape(one['name'])}</td><td>{escape(one['value'])}</td>"
        f"<td>{escape(one['source'])}</td></tr>"
        for one in parameters
    )
    head = "<thead><tr><th>parameter</th><th>value</th><th>source</th></tr></thead>"
    return f'<div class="wide"><table>{head}<tbody>{rows}</tbody></table></div>'


def _open(content: PaperReport, questions: Sequence[dict[str, str]]) -> str:
    """Tell what the document leaves open, what was taken, why, and which figure shows another."""
    if not questions:
        return ""
    links = {
        figure.stem: f' (<a href="#{escape(content.paper.name)}-{escape(figure.stem)}">'
        f"{escape(figure.kind)} {escape(figure.number)}</a>)"
        for figure in content.figures
    }
    rows = "".join(
        f"<tr><td>{escape(one['what'])}</td><td>{escape(one['taken'])}</td>"
        f"<td>{escape(one['why'])}{links.get(one['shown'], '')}</td></tr>"
        for one in questions
    )
    head = "<thead><tr><th>open</th><th>taken</th><th>why</th></tr></thead>"
    return f"""<h3 id="{escape(content.paper.name)}-open">What the document leaves open</h3>
<p>What was taken was chosen before any result was seen. Where another value was tried only after
the results, the row says so.</p>
<div class="wide"><table>{head}<tbody>{rows}</tbody></table></div>"""


def _experiments(content: PaperReport) -> str:
    items = "\n".join(
        f"<dt>{escape(one.name)}</dt><dd><code>{escape(_command(content.paper, one))}</code></dd>"
        for one in content.experiments
    )
    first = {one.scenario: one for one in content.experiments}
    scenarios = "".join(
        f"<details><summary>{escape(name)}, complete, as {escape(one.name)} runs it</summary>"
        f"<pre>{escape(content.observations[one.name][0].resolved)}</pre></details>"
        for name, one in sorted(first.items())
    )
    return f"<dl>{items}</dl>{scenarios}"


def _paragraphs(content: PaperReport, about: dict[str, Any], figure: str) -> str:
    """Give the paper's own text on a figure, where it has one, with the measured facts in it.

    Like reasons, these texts are written for runs of the default length and above.
    """
    if content.observations.length is Length.QUICK:
        return ""
    notes: dict[str, str] = about.get("notes", {})
    facts = content.paper.facts.get(figure)
    text = notes.get(figure, "")
    return _texts(text.format_map(facts(content.observations)) if facts else text)


def _texts(text: str) -> str:
    parts = [" ".join(part.split()) for part in text.split("\n\n")]
    return "\n".join(f"<p>{escape(part)}</p>" for part in parts if part)


def _counts(judged: Iterable[Judged]) -> str:
    found = [one.verdict for one in judged]
    counts = [(verdict, found.count(verdict)) for verdict in Verdict]
    told = ", ".join(f"{count} {_badge(verdict)}" for verdict, count in counts if count)
    return f"{len(found)} claims: {told}." if found else "No claims."


def _badge(verdict: Verdict) -> str:
    return f'<span class="badge {_css(verdict)}">{verdict}</span>'


def _css(verdict: Verdict) -> str:
    return verdict.replace(":", "").replace(" ", "-")


_STYLE = """
:root { color-scheme: light dark; --text: #1c1e21; --soft: #5b6169; --page: #ffffff;
  --card: #f6f7f9; --line: #d9dde2; --link: #0b57a4;
  --good: #0a6b3d; --part: #7a5200; --bad: #a3241b; --base: #7b3294; --open: #4f5661; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --soft: #a2a9b2; --page: #14161a;
  --card: #1d2025; --line: #363b43; --link: #7db8f2;
  --good: #5fd39a; --part: #e8b64c; --bad: #ff8d82; --base: #d9a6ee; --open: #b3bac4; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page);
  max-width: 62rem; margin: 0 auto; padding: 1rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.35rem; margin-top: 2.5rem; }
h3 { font-size: 1.1rem; margin-top: 2.2rem; }
a { color: var(--link); }
.small { font-size: .8rem; color: var(--soft); } .source { color: var(--soft); }
.nowrap { white-space: nowrap; }
figure { margin: 0; padding: .75rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .5rem; }
figure img { display: block; width: 100%; height: auto; background: #fff; border-radius: .25rem; }
figcaption { margin-top: .6rem; font-size: .9rem; }
code { font-size: .85em; overflow-wrap: anywhere; }
pre { font-size: .8rem; overflow-x: auto; background: var(--card); padding: .75rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .45rem .6rem;
  border-top: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); }
.claims td:first-child { min-width: 17rem; width: 45%; }
.claims strong { font-weight: 600; }
.grid { font-size: .78rem; } .grid th { white-space: nowrap; }
.grid td, .grid th { padding: .35rem .4rem; }
.grid .best { font-weight: 600; color: var(--good); border: 1.5px solid currentColor;
  border-radius: .25rem; padding: 0 .25rem; }
.grid .equal { text-decoration: underline dotted; text-underline-offset: .2em; }
.grid .none { color: var(--soft); }
.reason td { border-top: 0; padding-top: 0; font-size: .85rem; color: var(--soft); }
.badge { display: inline-block; white-space: nowrap; font-size: .78rem; font-weight: 600;
  padding: .05rem .5rem; border: 1px solid currentColor; border-radius: 1rem; }
.holds { color: var(--good); } .holds-in-part { color: var(--part); }
.fails { color: var(--bad); } .fails-base { color: var(--base); } .unclear { color: var(--open); }
.case { padding-left: .5rem; border-left: 3px solid currentColor; margin-bottom: .25rem; }
.case > * { color: var(--text); } .case > .small { color: var(--soft); }
.overview { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .35rem 1rem; }
dt { font-weight: 600; margin-top: .5rem; } dd { margin: 0; }
"""
