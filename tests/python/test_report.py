"""Reproducing with made-up runs: what is run, kept and reused, and what the report holds."""

from __future__ import annotations

import csv
import html
import json
import pickle
import re
import subprocess
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from markupsafe import Markup

from incastle import __version__, runner
from incastle.browser import link, server
from incastle.build import engine_build
from incastle.errors import IncastleError
from incastle.papers import dctcp_ns2
from incastle.plotting.style import FORMATS
from incastle.reproduction import claims, figures, live, render_pool, report
from incastle.reproduction import main as reproduce
from incastle.reproduction.deciding import Judging
from incastle.reproduction.figures import Drawing
from incastle.reproduction.papers import Experiment, Length, Observation, Observations, discover
from incastle.reproduction.run_cache import RunCache, observe
from incastle.reproduction.running import Part
from incastle.results import Result
from incastle.scenario import Scenario
from incastle.storage.compressed import read_csv
from incastle.templates import templates
from synthetic import observations, tables
from synthetic_papers import dctcp_ns2_made_up
from synthetic_qcn import made_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import polars as pl
    from matplotlib.figure import Figure

    from conftest import Output

PAPER = dctcp_ns2.PAPER
NAME = PAPER.name
FIELDS = (
    *("paper", "id", "place", "statement", "metric", "unit", "paper_value", "band", "basis"),
    *("measured", "interval", "verdict", "reason"),
)


@dataclass
class FakeEngine:
    """Takes the place of `run_each`: counts, makes up tables, and stops where it is told to."""

    ran: list[str] = field(default_factory=list)
    stop_after: int | None = None

    def run_each(
        self, scenarios: Sequence[Scenario], threads: int | None, on_end: Any, progress: Any
    ) -> None:
        """Give a made-up result for each scenario, until it is time to stop."""
        assert threads is None or threads >= 1
        for index, scenario in enumerate(scenarios):
            if self.stop_after is not None and len(self.ran) >= self.stop_after:
                raise KeyboardInterrupt
            result = fake_result(scenario)
            self.ran.append(scenario.resolved)
            on_end(index, result)
            progress(runner.Progress(index + 1, len(scenarios), index + 1, len(scenarios)))


def fake_result(scenario: Scenario) -> Result:
    if scenario.name.startswith("qcn-incast"):
        buffer, n = scenario["switch.buffer"].removesuffix(" KiB"), scenario["network.senders"]
        made = made_up(f"tcp/rto=200ms/b={buffer}/n={n}", scenario.seed)
        return Result(
            *(scenario.name, scenario.seed, made.digest, "0", 0.1, False, {}),
            scenario=scenario.resolved,
            tables=dict(made.tables),
        )
    dctcp = scenario["transport.congestion"] == "dctcp"
    queue = [(20 if dctcp else 150) + (i + scenario.seed) % 7 for i in range(1000)]
    begin = 0.0 if scenario["network.rate"] == "100 Mbit/s" else 0.1
    return Result(
        *(scenario.name, scenario.seed, "0123456789abcdef", "0", 0.1, False, {}),
        scenario=scenario.resolved,
        tables=tables(queue, 0.97, begin=begin) | {"summary": tables([], 0.0)["links"]},
    )


@pytest.fixture
def drawing_engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    fake = FakeEngine()
    monkeypatch.setattr(runner, "run_each", fake.run_each)
    return fake


@pytest.fixture
def engine(drawing_engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """Leave out the drawing, which takes most of the time."""

    def sketch(drawing: Drawing) -> None:
        drawing.stem.parent.mkdir(parents=True, exist_ok=True)
        drawing.stem.with_suffix(".svg").write_text("<svg/>")

    monkeypatch.setattr(figures, "render", sketch)
    return drawing_engine


def quick(out: Path, **options: Any) -> None:
    settings: dict[str, Any] = {"names": [NAME], "length": "quick", "out": out} | options
    assert reproduce.main(**settings) == 0


def test_the_report_has_every_figure_claim_and_run(
    drawing_engine: FakeEngine, tmp_path: Path
) -> None:
    out = tmp_path / "report"
    quick(out)
    first = (out / "index.html").read_text(encoding="utf-8")
    page = (out / f"{NAME}.html").read_text(encoding="utf-8")
    entries = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    known = claims.load(PAPER.folder / "claims.toml")
    assert [entry["id"] for entry in entries] == [claim.id for claim in known]
    for entry in entries:
        assert set(FIELDS) <= entry.keys()
        assert entry["verdict"] in set(claims.Verdict)
        assert f'id="{NAME}-{entry["id"]}"' in page
        assert f'href="{NAME}.html#{NAME}-{entry["id"]}">' in first
        assert html.escape(entry["statement"], quote=False) in html.unescape(first)
    for figure in PAPER.figures:
        stem = out / NAME / f"figure-{figure.number}"
        assert stem.with_suffix(".csv.gz").stat().st_size > 50
        (picture,) = [one for one in FORMATS if stem.with_suffix(f".{one}").exists()]
        assert stem.with_suffix(f".{picture}").stat().st_size < 40_000
        assert f'src="{NAME}/{figure.stem}.{picture}" loading="lazy">' in page
        assert f"--figure {figure.number} --quick" in page
    assert page.count("one seed: no spread · ") == len(PAPER.figures)
    assert "length\n<strong>quick</strong>" in page
    rows = list(csv.DictReader(read_csv(out / NAME / "runs.csv.gz").splitlines()))
    assert len(rows) >= len(drawing_engine.ran)
    assert rows[0]["digest"] == "0123456789abcdef"
    assert rows[0]["command"].startswith("incastle run python/incastle/papers/dctcp_ns2/scenarios")


@pytest.mark.parametrize(
    ("seeds", "told"),
    [
        ((1, 1), "one seed: no spread"),
        ((4, 4), "4 seeds"),
        ((2, 4), "2 to 4 seeds"),
        ((1, 4), "1 (no spread) to 4 seeds"),
    ],
)
def test_a_figure_tells_its_seeds(seeds: tuple[int, int], told: str) -> None:
    figure = replace(PAPER.figures[0], uses=("a", "b"))
    plan = [Experiment(name, "any.toml", {}, 1) for name in figure.uses]
    one = Observation({}, "0", "")
    runs = {name: [one] * count for name, count in zip(figure.uses, seeds, strict=True)}
    content = report.PaperReport(
        PAPER, (figure,), plan, Observations(Length.DEFAULT, runs), judged=[]
    )
    assert content.seeds_of(figure) == told


def figures_of(page: Path) -> dict[str, str]:
    """Split a page into its figures."""
    parts = re.split(r'<section class="figure" id="(.*?)">', page.read_text(encoding="utf-8"))[1:]
    return {
        name: text.partition("</section>")[0]
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }


@pytest.mark.usefixtures("engine")
def test_figures_open_their_runs_in_the_lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PAGE", tmp_path / "page")
    server.PAGE.mkdir()
    (server.PAGE / "index.html").write_text("<title>the lab</title>")
    out = tmp_path / "report"
    quick(out)
    assert (out / "lab" / "index.html").read_bytes() == (server.PAGE / "index.html").read_bytes()
    plan = {one.name: one for one in PAPER.plan(Length.QUICK)}
    shown = figures_of(out / f"{NAME}.html")
    assert len(shown) == len(PAPER.figures)
    for figure, text in shown.items():
        found = re.findall(r'<a href="lab/index\.html(#1\.[\w-]+)">(.*?)</a>', text)
        assert 1 <= len(found) <= live.MOST_LINKS, figure
        for fragment, name in found:
            one = plan[html.unescape(name)]
            settings = tuple({**one.overrides, "run.seed": "1"}.items())
            ran = Scenario.from_file(PAPER.scenario(one), settings)
            # As the page reads it: without the folder of the scenario.
            assert Scenario.from_text(link.opened(fragment)["text"]) == ran
            assert f"incastle lab '{fragment}'" not in text


@pytest.mark.usefixtures("engine")
def test_without_the_page_figures_have_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PAGE", tmp_path / "nothing")
    quick(tmp_path / "report")
    assert not (tmp_path / "report" / "lab").exists()
    for text in figures_of(tmp_path / "report" / f"{NAME}.html").values():
        assert "lab/index.html" not in text
        (first, *_) = re.findall(r"<code>incastle lab '(#1\.[\w-]+)'</code>", text)
        assert Scenario.from_text(link.opened(first)["text"]).seed == 1


@pytest.mark.usefixtures("engine")
def test_figures_of_long_runs_do_not_open_in_the_lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shortest = min(one.cost for one in PAPER.plan(Length.QUICK))
    monkeypatch.setattr(live, "MOST_HOPS", shortest / 2)
    quick(tmp_path / "report")
    assert "in the lab" not in (tmp_path / "report" / f"{NAME}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("count", "chosen"), [(0, ""), (1, "a"), (2, "ab"), (3, "ac"), (26, "az")])
def test_links_at_a_figure_are_spread_over_its_runs(count: int, chosen: str) -> None:
    assert "".join(live.spread("abcdefghijklmnopqrstuvwxyz"[:count])) == chosen


def test_the_conclusion_is_made_of_the_verdicts() -> None:
    holds, fails, base = (claims.Verdict.HOLDS, claims.Verdict.FAILS, claims.Verdict.BASE)
    runs = observations(PAPER, Length.DEFAULT, dctcp_ns2_made_up)

    def conclusion(verdict: claims.Verdict, length: Length = Length.DEFAULT) -> str:
        made = [
            replace(one, verdict=verdict if one.claim.id == "fig3-gradual" else holds)
            for one in Judging(Part(PAPER, PAPER.figures), runs).judge()
        ]
        made[0] = replace(made[0], verdict=base)
        observed = replace(runs, length=length)
        return report._conclusion(report.PaperReport(PAPER, PAPER.figures, [], observed, made))

    number = len(claims.load(PAPER.folder / "claims.toml"))
    failing = conclusion(fails)
    assert failing.startswith(
        f"{number} claims: {number - 2} hold, 1 fails and 1 fails: base. "
        "Claims fail in figure 2 (1 of 4), figure 3 (1 of 4). DCTCP fills the link"
    )
    assert "not wider than with it" in failing
    assert "not wider than with it" not in conclusion(holds)
    assert conclusion(fails, Length.QUICK).endswith("figure 3 (1 of 4).")


@pytest.mark.usefixtures("drawing_engine")
def test_one_report_holds_several_papers(tmp_path: Path) -> None:
    names = ["dctcp-ns2", "qcn-incast"]
    quick(tmp_path / "report", names=names, figure="2")
    first = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    for name in names:
        page = (tmp_path / "report" / f"{name}.html").read_text(encoding="utf-8")
        assert f'<section id="{name}">' in page
        assert f'id="{name}-figure-2"' in page
        assert f'href="{name}.html"' in first
        assert (tmp_path / "report" / name / "runs.csv.gz").is_file()
    entries = json.loads((tmp_path / "report" / "claims.json").read_text(encoding="utf-8"))
    assert {entry["paper"] for entry in entries} == set(names)
    assert "What the document leaves open" in page


def picture_of(drawing: Drawing) -> Path:
    return drawing.stem.parent.parent / drawing.files()[0]


def test_many_figures_are_drawn_by_helpers_alike(tmp_path: Path) -> None:
    paper = discover()["qcn-incast"]
    runs = observations(paper, Length.QUICK, made_up)
    specs = paper.figures[: 2 * render_pool.SHARE]

    def drawings(place: str) -> list[Drawing]:
        stems = [tmp_path / place / figure.stem for figure in specs]
        return [
            Drawing(stem, figure.data(runs), figure.draw)
            for stem, figure in zip(stems, specs, strict=True)
        ]

    render_pool.render(drawings("together"))
    for one in drawings("alone")[:3]:
        figures.render(one)
        name = picture_of(one).name
        assert (tmp_path / "together" / name).read_bytes() == picture_of(one).read_bytes()
    assert len(list((tmp_path / "together").glob("*.csv.gz"))) == len(specs)


def test_figures_are_drawn_without_helpers_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper = discover()["qcn-incast"]
    runs = observations(paper, Length.QUICK, made_up)
    monkeypatch.setattr(render_pool, "_help", lambda _drawings: False)
    drawings = [
        Drawing(tmp_path / str(place), paper.figures[0].data(runs), paper.figures[0].draw)
        for place in range(2 * render_pool.SHARE)
    ]
    render_pool.render(drawings)
    assert len({picture_of(one).read_bytes() for one in drawings}) == 1


def test_a_drawing_that_cannot_travel_is_drawn_at_home(tmp_path: Path) -> None:
    paper = discover()["qcn-incast"]
    runs = observations(paper, Length.QUICK, made_up)
    figure = paper.figures[0]
    table = figure.data(runs)

    def draw(canvas: Figure, data: pl.DataFrame) -> None:
        figure.draw(canvas, data)

    drawings = [
        Drawing(tmp_path / str(place), table, draw) for place in range(2 * render_pool.SHARE)
    ]
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(drawings)
    render_pool.render(drawings)
    assert len({picture_of(one).read_bytes() for one in drawings}) == 1


def test_a_draft_is_reproduced_by_name_only() -> None:
    finished, draft = PAPER, replace(PAPER, name="draft", draft=True)
    shipped = {paper.name: paper for paper in (finished, draft)}
    assert [part.paper for part in reproduce.choose(shipped, [], None)] == [finished]
    assert [part.paper for part in reproduce.choose(shipped, ["draft"], None)] == [draft]
    assert "draft" in draft.listed()
    assert "draft" not in finished.listed()


def test_figures_are_listed_in_their_order() -> None:
    numbers = ("13", "2", "I", "3-speed", "3", "2")
    figures = tuple(replace(PAPER.figures[0], number=number, original="") for number in numbers)
    shipped = {"one": replace(PAPER, name="one", figures=figures)}
    with pytest.raises(IncastleError, match=r"there are 2, 3, 3-speed, 13, I$"):
        reproduce.choose(shipped, [], "99")


@pytest.mark.parametrize("length", list(Length))
def test_each_length_has_a_folder_of_its_own(
    engine: FakeEngine,
    length: Length,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert not engine.ran
    monkeypatch.chdir(tmp_path)
    assert reproduce.main([NAME], figure="2", length=length) == 0
    folder = {"quick": "report-quick", "default": "report", "full": "report-full"}[length]
    assert [path.name for path in tmp_path.iterdir()] == [folder]
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("quick: one seed and short runs") == (length is Length.QUICK)


def test_the_page_needs_nothing_from_outside(engine: FakeEngine, tmp_path: Path) -> None:
    assert not engine.ran
    quick(tmp_path / "report", figure="2")
    pages = sorted((tmp_path / "report").glob("*.html"))
    assert [page.name for page in pages] == [f"{NAME}.html", "index.html"]
    page = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert not re.search(r"https?://|<script .*src|<link|@import|url\(", page)
    assert page.count("<script>") == 1, "the table's on the first page, inside"
    assert not re.search(r"\bfetch\(|\bimport\b|XMLHttpRequest", page)


def test_figures_have_more_formats_on_demand(
    drawing_engine: FakeEngine, tmp_path: Path, cli: Callable[..., Output]
) -> None:
    assert not drawing_engine.ran
    words = ("reproduce", NAME, "--figure", "2", "--quick", "--out", str(tmp_path / "report"))
    output = cli(*words, "--formats", "pdf, PNG,svg")
    assert output.status == 0, output.err
    names = {path.name for path in (tmp_path / "report" / NAME).glob("figure-2.*")}
    assert names == {f"figure-2.{form}" for form in (*FORMATS, "csv.gz")}
    page = (tmp_path / "report" / f"{NAME}.html").read_text(encoding="utf-8")
    assert f'<a href="{NAME}/figure-2.pdf">PDF</a>' in page
    output = cli(*words, "--formats", "eps")
    assert output.status == 2
    assert "--formats eps: there are png, svg, pdf" in output.err


def test_a_picture_is_small_and_has_its_letters_as_text(tmp_path: Path) -> None:
    runs = observations(PAPER, Length.DEFAULT, dctcp_ns2_made_up)
    figure = next(one for one in PAPER.figures if one.number == "4")
    figures.render(Drawing(tmp_path / "figure", figure.data(runs), figure.draw))
    text = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert ET.fromstring(text).tag.endswith("svg")  # noqa: S314  our own
    assert ">marking threshold K (packets)</text>" in text
    assert len(text) < 12_000
    # Of many points the PNG is smaller, in a few colours.
    figure = next(one for one in PAPER.figures if one.number == "3-speed")
    figures.render(Drawing(tmp_path / "dense", figure.data(runs), figure.draw))
    assert not (tmp_path / "dense.svg").exists()
    assert 10_000 < (tmp_path / "dense.png").stat().st_size < 40_000


def test_the_first_page_has_a_summary_and_a_table_of_all_claims(
    drawing_engine: FakeEngine, tmp_path: Path
) -> None:
    assert not drawing_engine.ran
    names = ["dctcp-ns2", "qcn-incast"]
    quick(tmp_path / "report", names=names, figure="2")
    first = html.unescape((tmp_path / "report" / "index.html").read_text(encoding="utf-8"))
    entries = json.loads((tmp_path / "report" / "claims.json").read_text(encoding="utf-8"))
    summary = re.search(r'id="summary">(.*?)</blockquote>', first)
    assert summary is not None
    assert summary[1].startswith(
        f"Incastle {__version__}, quick length, figure 2 alone. 2 papers, {len(entries)} "
    )
    for name in names:
        count = sum(entry["paper"] == name for entry in entries)
        assert f"{name}: {count} claims: " in summary[1]
    row = r'<tr data-paper="(.*?)">\n<td><span .*?>(.*?)</span></td>\n<td><a .*?>(.*?)</a>'
    rows = re.findall(row, first)
    expected = [(entry["paper"], entry["verdict"], entry["statement"]) for entry in entries]
    assert sorted(rows) == sorted(expected)


def test_the_same_runs_give_the_same_bytes(drawing_engine: FakeEngine, tmp_path: Path) -> None:
    assert not drawing_engine.ran
    for name in ("a", "b"):
        quick(tmp_path / name, figure="14")
    files = {
        path.relative_to(tmp_path / "a")
        for path in (tmp_path / "a").rglob("*")
        if path.is_file() and report.RUNS not in path.parts
    }
    # The copy of the lab, where it is built, is not counted.
    assert len([file for file in files if file.parts[0] != live.FOLDER]) == 4 + 2 + 1
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file


def test_no_run_is_computed_twice(engine: FakeEngine, tmp_path: Path) -> None:
    out = tmp_path / "report"
    quick(out)
    assert len(set(engine.ran)) == len(engine.ran)
    engine.ran.clear()
    quick(out)
    assert not engine.ran
    assert (out / "index.html").exists()


def test_one_figure_runs_what_it_needs(engine: FakeEngine, tmp_path: Path) -> None:
    quick(tmp_path / "report", figure="1")
    assert len(engine.ran) == 2
    entries = json.loads((tmp_path / "report" / "claims.json").read_text(encoding="utf-8"))
    assert [entry["id"][:4] for entry in entries] == ["fig2"] * 4


def test_a_stopped_reproduction_goes_on(engine: FakeEngine, tmp_path: Path) -> None:
    out = tmp_path / "report"
    engine.stop_after = 5
    with pytest.raises(KeyboardInterrupt):
        quick(out)
    assert not (out / "index.html").exists()
    before = set(engine.ran)
    engine.stop_after = None
    quick(out)
    assert len(engine.ran) == len(set(engine.ran))
    assert before < set(engine.ran)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["dctcp-ns3"]}, "did you mean 'dctcp-ns2'"),
        ({"names": ["x"]}, "there are comparison, dctcp, dctcp-ns2"),
        ({"figure": "7"}, "no figure 7"),
    ],
)
def test_unknown_papers_and_figures_are_told(
    engine: FakeEngine, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(IncastleError, match=message):
        quick(tmp_path / "report", **options)
    assert not engine.ran
    assert not (tmp_path / "report").exists()


def test_broken_and_old_runs_are_not_used(engine: FakeEngine, tmp_path: Path) -> None:
    out = tmp_path / "report"
    quick(out, figure="1")
    (kept,) = {path.parent for path in (out / report.RUNS).rglob("*.zip")}
    assert kept.name == engine_build()
    first, second = sorted(kept.iterdir())
    first.write_bytes(second.read_bytes()[:100])
    other = out / report.RUNS / "0.0.0-00000000"
    other.mkdir()
    engine.ran.clear()
    quick(out, figure="1")
    assert len(engine.ran) == 1
    assert not other.exists()


def test_a_kept_run_comes_back_as_it_was(tmp_path: Path) -> None:
    cache = RunCache(tmp_path)
    scenario = "name = 'x'\n"
    assert cache.load(scenario) is None
    kept = observe(
        Result("x", 1, "ab", "0", 0.1, False, {}, scenario, tables([1, 2, 3], 0.5)),
        ("queue_samples", "links"),
    )
    cache.keep(scenario, kept)
    back = cache.load(scenario)
    assert back is not None
    assert back.digest == "ab"
    assert back["queue_samples"].equals(kept["queue_samples"])
    assert back["links"].equals(kept["links"])
    assert cache.load("name = 'y'\n") is None


@pytest.mark.parametrize("room", [60_000, 250_000])
def test_full_disk_is_told_with_its_place(
    cli: Callable[..., Output], tiny_disk: Path, room: int
) -> None:
    mount = ["mount", "-o", f"remount,size={room}", str(tiny_disk)]
    subprocess.run(mount, check=True)
    out = tiny_disk / "report"
    output = cli("reproduce", "dctcp-ns2", "--figure", "3", "--quick", "--out", str(out))
    assert output.status == 2
    assert f"error: {out}" in output.err
    assert "No space left on device" in output.err
    assert "Traceback" not in output.err
    assert output.err.count("error: ") == 1


def test_words_between_backticks_are_code(tmp_path: Path) -> None:
    (tmp_path / "page").write_text("{{ words }}, {{ number }}, {{ done }}", encoding="utf-8")
    page = templates(tmp_path).get_template("page")
    written = page.render(words="`a < b`, `c", number=2, done=Markup("<i>`x`</i>"))
    assert written == "<code>a &lt; b</code>, `c, 2, <i>`x`</i>"
