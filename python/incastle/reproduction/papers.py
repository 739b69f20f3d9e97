"""The papers that Incastle ships, and the parts that every one of them has.

A paper is a package in `incastle.papers` whose `PAPER` names what to run, what to measure and what
to draw. `incastle reproduce` finds it there: adding a paper touches that folder alone. A
comparison is a paper without a document and claims. Its files:

- `paper.toml`: title, source, parameters, and where the reproduction departs from the document;
- `claims.toml`, `reasons.toml`: see `incastle.reproduction.claims`;
- `open.toml`: what the document leaves open, with other values (`incastle.reproduction.changes`);
- `scenarios/*.toml`: the scenarios, each complete in itself;
- `experiments.toml`, `measures.toml`, `facts.toml`, `figures.toml`: see
  `incastle.reproduction.declarations`;
- `__init__.py` and its modules: its statistics and drawings.

Nothing here runs a simulation: `incastle.reproduction.main` does.
"""

from __future__ import annotations

import importlib
import pkgutil
import tomllib
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from incastle import papers as shipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import polars as pl
    from matplotlib.figure import Figure

    from incastle.analysis.ends import Value


OPEN = "open.toml"
"""What a document leaves open, with other values (`incastle.reproduction.changes`)."""


class Length(StrEnum):
    """How much a reproduction runs: more seeds and longer runs cost time and narrow intervals."""

    QUICK = "quick"
    DEFAULT = "default"
    FULL = "full"


@dataclass(frozen=True)
class Experiment:
    """One scenario with its overrides, run once for each of the seeds 1 to `seeds`.

    Overrides are keys and texts as `--set` takes them.
    `cost` is its expected work in packet-hops. It orders the runs and feeds the time left.
    `tables` are kept of its runs in addition to those that the paper keeps of all.
    """

    name: str
    scenario: str
    overrides: Mapping[str, str]
    seeds: int
    cost: float = 1.0
    tables: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Observation:
    """The stored part of one finished run: the tables that the paper asks for."""

    tables: Mapping[str, pl.DataFrame]
    digest: str
    resolved: str

    def __getitem__(self, table: str) -> pl.DataFrame:
        """Give a result table by its name."""
        return self.tables[table]


@dataclass(frozen=True)
class Observations:
    """The finished runs of a plan: per experiment one observation per seed, in the seeds' order."""

    length: Length
    runs: Mapping[str, Sequence[Observation]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Sequence[Observation]:
        """Give the runs of one experiment."""
        return self.runs[name]

    def names(self, prefix: str) -> list[str]:
        """Give the experiments whose names begin so, in the plan's order."""
        return [name for name in self.runs if name.startswith(prefix)]


Measure: TypeAlias = "Callable[[Observations], Mapping[str, Sequence[Value]]]"
"""The values of a claim: for each case one per seed, with ends if need be (`lasting`)."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table in the page.

    Its `kind` is `best`, `equal` (to the best), `none` (no number) or empty; `title` is shown under
    the pointer.
    """

    text: str
    kind: str = ""
    title: str = ""


@dataclass(frozen=True)
class Grid:
    """A table in the page: the names of its columns, and its rows."""

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class FigureSpec:
    """One figure: which experiments it uses, its data as one table, how to draw it.

    `uses` holds names of experiments, and beginnings of names where it ends in a slash.
    `number` is the figure's in the paper, with a suffix where it is an addition of ours; `original`
    is its number in the document that the paper itself reproduces, if it does. A table of the paper
    is drawn, too, with the `kind` of one. Drawing and `grid`, a table below it, get the data alone,
    which are also the CSV.
    """

    number: str
    title: str
    caption: str
    uses: tuple[str, ...]
    claims: tuple[str, ...]
    data: Callable[[Observations], pl.DataFrame]
    draw: Callable[[Figure, pl.DataFrame], None]
    original: str = ""
    kind: str = "figure"
    grid: Callable[[pl.DataFrame], Grid] | None = None

    @property
    def stem(self) -> str:
        """Name its files, and its place in the page."""
        return f"{self.kind}-{self.number}"

    def answers_to(self, asked: str) -> bool:
        """Tell whether `--figure` means this one: its number (with additions) or the original's."""
        return asked != "" and asked in {self.number, self.number.split("-")[0], self.original}


@dataclass(frozen=True)
class Paper:
    """A paper: its plan, its figures, and per claim the measure that yields its values.

    `reads` gives the experiments that each case of a claim reads, its base's among them.
    `bases` are the measures of what claims rest on, by claim, where claims.toml declares a base.
    `medians` are the claims that are judged by medians.
    `facts` gives further measured numbers: what stands in braces in a claim's texts in reasons.toml
    (by the claim's id) and in a figure's note in paper.toml (by the figure's number). Without a
    `document` its `deviations` are what it leaves out. The results of a `draft` have not been
    examined yet: it is reproduced by name only.
    """

    name: str
    folder: Path
    tables: tuple[str, ...]
    plan: Callable[[Length], list[Experiment]]
    figures: tuple[FigureSpec, ...]
    measures: Mapping[str, Measure]
    facts: Mapping[str, Callable[[Observations], dict[str, str]]]
    reads: Callable[[str, Length], Mapping[str, frozenset[str]]]
    bases: Mapping[str, Measure] = field(default_factory=dict)
    medians: frozenset[str] = frozenset()
    document: bool = True
    draft: bool = False

    def about(self) -> dict[str, Any]:
        """Read paper.toml and open.toml: the texts of the report."""
        files = [path for name in ("paper.toml", OPEN) if (path := self.folder / name).exists()]
        texts = [tomllib.loads(path.read_text(encoding="utf-8")) for path in files]
        return {key: value for text in texts for key, value in text.items()}

    def listed(self) -> str:
        """Give the title as lists of papers show it."""
        title: str = self.about()["title"]
        return f"{title} (a draft: by name only)" if self.draft else title

    def scenario(self, experiment: Experiment) -> Path:
        """Give the path of an experiment's scenario file."""
        return self.folder / "scenarios" / experiment.scenario


def discover() -> dict[str, Paper]:
    """Find the shipped papers by name, in alphabetical order."""
    found = {}
    for module in pkgutil.iter_modules(shipped.__path__, f"{shipped.__name__}."):
        if module.ispkg:
            paper: Paper = importlib.import_module(module.name).PAPER
            found[paper.name] = paper
    return dict(sorted(found.items()))


def selected(plan: Iterable[Experiment], figures: Iterable[FigureSpec]) -> list[Experiment]:
    """Give the part of a plan that these figures use."""
    parts = {part for figure in figures for part in figure.uses}
    groups = tuple(part for part in parts if part.endswith("/"))
    return [run for run in plan if run.name in parts or run.name.startswith(groups)]
