"""A paper's declarations: what it runs, measures, draws and quotes, read from TOML in its folder.

- `experiments.toml`: `[constants]` and `[axes]`, by length where they differ; `[define]`, named
  expressions; `[[experiments]]`, grids of runs: loops over axes, a name, a scenario, what is set,
  perhaps `reading = "nearest"`, that of open.toml;
- `measures.toml`: for each claim its cases, labels with loops in braces, each with an expression;
  below `[bases]` what claims rest on;
- `medians.toml`: the claims that are judged by medians, and why;
- `facts.toml`: for each claim or figure the numbers that its texts quote: `expression | format`;
- `figures.toml`: for each figure its texts, the rows of its table, and how it is drawn.

Expressions are those of `incastle.analysis.expressions`. What is a paper's own is a function of
its package: statistics of a run, folds, and whole facts, tables or drawings by name.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any

from incastle.analysis.confidence import interval_of
from incastle.analysis.ends import ends, rising, shown
from incastle.analysis.expressions import (
    Choice,
    Definition,
    Scope,
    Seeds,
    fields,
)
from incastle.reproduction import cells, drawings, lasting, statistics
from incastle.reproduction.changes import changed, open_points
from incastle.reproduction.papers import Experiment, FigureSpec, Length, Observations, Paper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    import polars as pl

    from incastle.analysis.ends import Value
    from incastle.reproduction.papers import Measure

UNREAD_SEEDS = 2
"""They show whether seeds differ; claims need more, and may get further ones."""
_LENGTHS = {str(length) for length in Length}
_SHARED = {**vars(statistics), **vars(drawings), **vars(cells)}


@dataclass(frozen=True)
class Declarations:
    """The declarations of a paper, with the functions of its modules."""

    folder: Path
    modules: tuple[ModuleType, ...] = ()
    axes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Axes that the paper's own modules make."""

    # ---- what is written

    @cached_property
    def experiments(self) -> dict[str, Any]:
        """Give experiments.toml."""
        return self._read("experiments")

    def _read(self, name: str) -> dict[str, Any]:
        path = self.folder / f"{name}.toml"
        return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    @cached_property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """Give the shared functions, and over them the paper's own."""
        own = {name: of for module in self.modules for name, of in vars(module).items()}
        return {**_SHARED, **own}

    @cache  # noqa: B019  papers live as long as the program
    def names(self, length: Length) -> dict[str, Any]:
        """Give constants, axes and definitions at a length."""
        found: dict[str, Any] = {"inf": math.inf, "nan": math.nan, "length": str(length)}
        found |= {
            name: _at_length(value, length)
            for name, value in self.experiments.get("constants", {}).items()
        }
        found |= self.axes
        axes = self.experiments.get("axes", {}).items()
        for name, values in sorted(axes, key=lambda one: _refers(one[1])):
            found[name] = self._axis(found, _at_length(values, length))
        define = self.experiments.get("define", {})
        return found | {name: Definition(text) for name, text in define.items()}

    def _axis(self, known: Mapping[str, Any], values: Any) -> tuple[Any, ...]:  # noqa: ANN401
        """Give an axis: a list, choices by key, or some keys of another axis."""
        match values:
            case list():
                return tuple(values)
            case {"of": str(of), "only": list(keys)}:
                return chosen(known[of], keys)
            case {"of": str(of), "first": dict(first)}:
                return (*self._axis(known, first), *known[of])
        return tuple(
            Choice(key, {"key": key, "place": place, "label": key, **of})
            for place, (key, of) in enumerate(values.items())
        )

    def scope(self, runs: Observations) -> Scope:
        """Give what expressions may use."""
        return Scope(runs, self.names(runs.length), self.functions)

    # ---- the plan

    def plan(self, length: Length) -> list[Experiment]:
        """List every experiment at a length; of a name that is declared twice the first counts.

        At the default length those that no claim reads have `UNREAD_SEEDS` at most, unless the
        paper has no claims at all.
        """
        scope = self.scope(Observations(length))
        found: dict[str, Experiment] = {}
        for declared in self.experiments["experiments"]:
            for one in self._grid(scope, declared):
                found.setdefault(one.name, one)
        read = self._all_read(length)
        if length is not Length.DEFAULT or not read:
            return list(found.values())
        return [
            one if name in read else replace(one, seeds=min(one.seeds, UNREAD_SEEDS))
            for name, one in found.items()
        ]

    @cache  # noqa: B019  papers live as long as the program
    def _all_read(self, length: Length) -> frozenset[str]:
        """Give the experiments that any claim reads."""
        claims = self._measures.keys() - {"bases"}
        read = (names for claim in claims for names in self.reads(claim, length).values())
        return frozenset().union(*read)

    def _grid(self, scope: Scope, declared: Mapping[str, Any]) -> Iterator[Experiment]:
        """Give the experiments of a grid, or of the grids within each round of its loops."""
        grid = {
            **self.experiments.get("templates", {}).get(declared.get("like", ""), {}),
            **declared,
        }
        for here in loops(scope, grid.get("over", {}), grid.get("let", {})):
            if not all(here.evaluate(one) for one in grid.get("when", [])):
                continue
            for inner in grid.get("each", ()):
                yield from self._grid(here, inner)
            if "each" not in grid:
                yield self._as_read(_experiment(here, grid), grid.get("reading", ""))

    def _as_read(self, experiment: Experiment, reading: str) -> Experiment:
        """Give an experiment in a reading of open.toml: as taken, or the nearest."""
        if not reading:
            return experiment
        path = self.folder / "scenarios" / experiment.scenario
        settings = {"nearest": open_points(self.folder).nearest}[reading]
        return replace(experiment, overrides=changed(path, experiment.overrides, settings))

    # ---- measures and facts

    @cached_property
    def _measures(self) -> dict[str, Any]:
        return self._read("measures")

    def measure(self, claim: str) -> Measure:
        """Give the measure of a claim: values by case."""
        return partial(self._measured, self._measures[claim])

    def of_case(self, claim: str, scope: Scope, label: str) -> list[Any]:
        """Give the values of a case of a claim by its label's template, with the scope's names."""
        cases = self._measures[claim]
        (here,) = loops(scope, {}, cases.get("let", {}))
        return here.seeds(cases[label])

    def bases(self) -> dict[str, Measure]:
        """Give the measures of what claims rest on."""
        bases = self._measures.get("bases", {})
        return {claim: partial(self._measured, cases) for claim, cases in bases.items()}

    def _measured(self, cases: Mapping[str, Any] | str, runs: Observations) -> dict[str, Any]:
        if isinstance(cases, str):
            found: dict[str, Any] = self.functions[cases](self, runs)
            return found
        return {name: here.seeds(text) for name, here, text in _cases(self.scope(runs), cases)}

    def reads(self, claim: str, length: Length) -> dict[str, frozenset[str]]:
        """Give the experiments that each case of a claim reads, its base's among them."""
        scope = self.scope(Observations(length))
        found: dict[str, frozenset[str]] = {}
        for part in (self._measures[claim], self._measures.get("bases", {}).get(claim, {})):
            for name, here, text in _cases(scope, part):
                scope.missing.clear()
                here.evaluate(text)
                found[name] = found.get(name, frozenset()) | scope.missing
        return found

    def facts(self) -> dict[str, Callable[[Observations], dict[str, str]]]:
        """Give the facts of each claim and figure."""
        return {name: partial(self._told, name) for name in self._facts if name != "style"}

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return self._read("facts")

    def _told(self, name: str, runs: Observations) -> dict[str, str]:
        facts = self._facts[name]
        if isinstance(facts, str):
            found: dict[str, str] = self.functions[facts](self, runs)
            return found
        scope = self.scope(runs)
        write = {"mean": mean_of_finite, "interval": mean_and_interval}[
            self._facts.get("style", "mean")
        ]
        told: dict[str, str] = {}
        for label, text in facts.items():
            if label == "also":  # the facts of others, or of a function
                for other in text:
                    told |= self._also(other, runs)
                continue
            if label == "over":
                continue
            expression, _, spec = text.partition(" | ")
            for here in loops(scope, _named(label, facts.get("over", {})), {}):
                value = here.evaluate(expression)
                values = value if isinstance(value, Seeds) else (value,)
                plain = isinstance(value, str)
                told[here.fill(label)] = value if plain else write(values, spec or ".0f")
        return told

    def _also(self, other: str, runs: Observations) -> dict[str, str]:
        if other in self._facts:
            return self._told(other, runs)
        found: dict[str, str] = self.functions[other](self, runs)
        return found

    # ---- figures

    def figures(self) -> tuple[FigureSpec, ...]:
        """Give the figures in the order of figures.toml."""
        templates = self._figures.get("templates", {})
        return tuple(
            self._figure({**templates.get(one.get("like", ""), {}), **one})
            for one in self._figures["figure"]
        )

    @cached_property
    def _figures(self) -> dict[str, Any]:
        return self._read("figures")

    def _figure(self, one: dict[str, Any]) -> FigureSpec:
        at = self.scope(Observations(Length.FULL)).having(**one.get("let", {}))
        uses = (at.fill(name) for name in one["uses"])
        claims = tuple(one.get("claims", ()))
        data = one.get("table")
        grid = one.get("grid")
        return FigureSpec(
            number=one["number"],
            title=one["title"],
            caption=at.fill(one["caption"]),
            uses=(*uses, *self._needed(claims)),
            claims=claims,
            data=partial(self.functions[data], self) if data else Table(self, one),
            draw=self._drawing(one),
            original=one.get("original", ""),
            kind=one.get("kind", "figure"),
            grid=self.functions[grid] if grid else None,
        )

    def _drawing(self, one: Mapping[str, Any]) -> Callable[..., None]:
        options = dict(one["draw"])
        what = self.functions[options.pop("kind")]
        if isinstance(what, type) and issubclass(what, drawings.Panels):
            for name in ("styles", "names"):  # those of all figures, and over them its own
                options[name] = {**self._figures.get(name, {}), **options.get(name, {})}
        return what(**options) if isinstance(what, type) else what

    def _needed(self, claims: Iterable[str]) -> tuple[str, ...]:
        """Give the experiments that the reasons of claims quote."""
        scope = self.scope(Observations(Length.FULL))
        for claim in claims:
            facts = self._facts.get(claim, {})
            if isinstance(facts, dict):
                parts = [facts, *(self._facts.get(other, {}) for other in facts.get("also", ()))]
                for part in parts:
                    for label in part.keys() - {"also", "over"}:
                        for here in loops(scope, _named(label, part.get("over", {})), {}):
                            here.evaluate(part[label].partition(" | ")[0])
        return tuple(sorted(scope.missing))

    # ---- the paper

    def paper(self, *, document: bool = True) -> Paper:
        """Give the paper of these declarations."""
        return Paper(
            name=self.experiments["paper"],
            folder=self.folder,
            tables=tuple(self.experiments.get("tables", ())),
            plan=self.plan,
            figures=self.figures(),
            measures={claim: self.measure(claim) for claim in self._measures if claim != "bases"},
            facts=self.facts(),
            reads=self.reads,
            bases=self.bases(),
            medians=frozenset(self._read("medians").get("claims", ())),
            document=document,
        )

    def __hash__(self) -> int:
        """Give an identity by the folder: a paper has one."""
        return hash(self.folder)


@dataclass(frozen=True)
class Table:
    """The table of a figure: its rows by loops, with one row for each seed."""

    declarations: Declarations
    figure: Mapping[str, Any]

    def __call__(self, runs: Observations) -> pl.DataFrame:
        """Give the table. What a length leaves out has no rows."""
        scope = self.declarations.scope(runs).having(**self.figure.get("let", {}))
        rows = [row for part in self.figure["rows"] for row in self._rows(scope, part)]
        columns = self.figure["columns"]
        cells = [[row.get(column) for column in columns] for row in rows]
        return lasting.table(cells, list(columns), infer_schema_length=None)

    def _rows(self, scope: Scope, part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        for here in loops(scope, part.get("over", {}), part.get("let", {})):
            if not all(here.evaluate(one) for one in part.get("when", [])):
                continue
            here.missing.clear()
            cells = {name: _cell(here, text) for name, text in part.items() if name not in _LOOP}
            for column, text in part.get("each", {"": ""}).items():
                of_column = {"column": column, "value": here.evaluate(text)} if column else {}
                if not here.missing:
                    yield from _by_seed(cells | of_column, first=part.get("first", False))


_LOOP = {"over", "let", "when", "first", "each"}


def _cell(scope: Scope, text: Any) -> Any:  # noqa: ANN401
    """Give a cell: after `=` an expression, else a text with expressions in braces."""
    if not isinstance(text, str):
        return text
    return scope.evaluate(text[1:]) if text.startswith("=") else scope.fill(text)


def _by_seed(cells: Mapping[str, Any], *, first: bool) -> Iterator[dict[str, Any]]:
    """Give a row for each seed, numbered from 1; records of a run become rows of their own."""
    counts = [len(value) for value in cells.values() if isinstance(value, Seeds)]
    if not counts:
        yield dict(cells)
        return
    for place in range(1 if first else min(counts)):
        row: dict[str, Any] = {"seed": place + 1}
        row |= {k: v[place] if isinstance(v, Seeds) else v for k, v in cells.items()}
        records = row.pop("records", None)
        yield from [row] if records is None else [{**row, **one} for one in _records(records)]


def _records(value: pl.DataFrame | list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    return value if isinstance(value, list) else value.iter_rows(named=True)


# ---- loops


def chosen(axis: Sequence[Any], keys: Iterable[Any]) -> tuple[Any, ...]:
    """Give the choices of an axis by their keys."""
    known = {str(one): one for one in axis}
    return tuple(known[str(key)] for key in keys)


def loops(scope: Scope, over: Mapping[str, Any], let: Mapping[str, Any]) -> Iterator[Scope]:
    """Give a scope for each combination of the loops, the last one fastest; then what is let."""
    for values in product(*(_values(scope, of) for of in over.values())):
        here = scope.having(**dict(zip(over, values, strict=True)))
        for name, text in let.items():
            here = here.having(**{name: Definition(text) if isinstance(text, str) else text})
        yield here


def _values(scope: Scope, of: Any) -> Sequence[Any]:  # noqa: ANN401
    """Give the values of a loop: a list, or an axis or a part of one, by an expression."""
    found = scope.evaluate(of) if isinstance(of, str) else of
    return (found,) if isinstance(found, Choice) else tuple(found)


def _cases(scope: Scope, cases: Mapping[str, Any]) -> Iterator[tuple[str, Scope, str]]:
    """Give the cases of a measure: name, scope and expression of each."""
    for label, text in cases.items():
        if label not in {"over", "let"}:
            named = _named(label, cases.get("over", {}))
            for here in loops(scope, named, cases.get("let", {})):
                yield here.fill(label), here, text


def _named(label: str, over: Mapping[str, Any]) -> dict[str, Any]:
    """Give the loops that a label names."""
    names = fields(label)
    return {name: of for name, of in over.items() if name in names}


def _experiment(scope: Scope, grid: Mapping[str, Any]) -> Experiment:
    overrides: dict[str, str] = {}
    tables = [*grid.get("tables", ())]
    for part in grid.get("set", []):
        found = scope.evaluate(part) if isinstance(part, str) else part
        if isinstance(found, Choice):
            tables += found.of.get("tables", ())
            found = found.of.get("set", {})
        overrides |= {key: scope.fill(text) for key, text in found.items()}
    return Experiment(
        name=scope.fill(grid["name"]),
        scenario=scope.fill(grid["scenario"]),
        overrides=overrides,
        seeds=scope.evaluate(str(grid["seeds"])),
        cost=float(scope.evaluate(str(grid["cost"]))),
        tables=tuple(tables),
    )


def _refers(values: Any) -> bool:  # noqa: ANN401
    return isinstance(values, dict) and "of" in values


def _at_length(value: Any, length: Length) -> Any:  # noqa: ANN401
    by_length = isinstance(value, dict) and value.keys() == _LENGTHS
    return value[length] if by_length else value


# ---- numbers as texts quote them


def mean_of_finite(values: Sequence[Value], spec: str) -> str:
    """Print the mean of what is finite, with its ends; a dash where nothing is."""
    finite = [value for value in values if math.isfinite(ends(value).low)]
    if not finite:
        return "-"
    return shown(rising(fmean, finite), lambda value: format(value, spec))


def mean_and_interval(values: Sequence[Value], spec: str) -> str:
    """Print the mean with its 95 % interval, "2.1 [1.8, 2.4]"; alone where all are equal.

    Where transfers were unfinished the mean has its ends, and the interval is that of both. A value
    that no run reaches (`min(... else inf)`) is "none".
    """
    if any(math.isinf(ends(value).low) for value in values):
        return "none"

    def write(value: float) -> str:
        return "∞" if math.isinf(value) else format(value, spec)

    mean, around = shown(rising(fmean, values), write), interval_of(values)
    if around is None or around[0] == around[1]:
        return mean
    return f"{mean} [{write(around[0])}, {write(around[1])}]"
