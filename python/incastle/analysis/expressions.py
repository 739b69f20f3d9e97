"""Expressions of declarations: numbers of runs, seed by seed, in a part of Python's own syntax.

`goodput('tcp/n={n}')` is a *statistic* of each run of the experiment with that name: one value per
seed (`Seeds`). Braces in strings hold expressions, too. Arithmetic pairs the values of equal seeds;
a comprehension folds them: `min(goodput('tcp/n={n}') for n in servers if n > 8)`, where a condition
on runs chooses seed by seed. A number of runs that a length leaves out is not a number, and a fold
leaves it out. Values with ends (`incastle.analysis.ends`) keep them.

This is no general interpreter: no attributes but a choice's, no calls but of the given functions.
"""

from __future__ import annotations

import ast
import math
import operator
import string
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

from incastle.analysis import ends
from incastle.analysis.ends import Ends
from incastle.errors import IncastleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from incastle.reproduction.papers import Observation, Observations


class ExpressionError(IncastleError):
    """An expression that cannot be read, or that has a name without a meaning."""


class Seeds(tuple[Any, ...]):
    """The values of the seeds of an experiment, in their order."""

    __slots__ = ()


class Choice(str):
    """One of the values of an axis: its key, and what belongs to it as attributes."""

    __slots__ = ("of",)
    of: Mapping[str, Any]

    def __new__(cls, key: str, of: Mapping[str, Any]) -> Self:
        """Make it of a key and its table."""
        made = super().__new__(cls, key)
        made.of = of
        return made


@dataclass(frozen=True)
class Definition:
    """A named expression: evaluated where its name stands, with the names that hold there."""

    text: str


@dataclass(frozen=True)
class Scope:
    """The scope of an expression: runs, names with their values, functions.

    `missing` collects the experiments that were asked for and have no runs.
    """

    runs: Observations
    names: Mapping[str, Any]
    functions: Mapping[str, Callable[..., Any]]
    missing: set[str] = field(default_factory=set)

    def having(self, **names: Any) -> Scope:  # noqa: ANN401  values of any kind
        """Give the same with further names."""
        return replace(self, names={**self.names, **names})

    def evaluate(self, text: str) -> Any:  # noqa: ANN401
        """Give an expression's value: of runs `Seeds`, else a number or a text."""
        return self.value_of(_parsed(text))

    def fill(self, template: str) -> str:
        """Put the values of the expressions in braces in their places."""
        return "".join(
            text if name is None else text + format(self.evaluate(name), spec or "")
            for text, name, spec, _ in string.Formatter().parse(template)
        )

    def seeds(self, text: str) -> list[Any]:
        """Give the values of an expression that is about runs."""
        value = self.evaluate(text)
        if not isinstance(value, Seeds):
            raise ExpressionError(f"`{text}` is about no run")
        return list(value)

    # ---- the kinds of expressions

    def value_of(self, node: ast.expr) -> Any:  # noqa: ANN401, C901, PLR0911, PLR0912
        """Give the value of a part of an expression, by its kind."""
        match node:
            case ast.Constant(value=value):
                return self.fill(value) if isinstance(value, str) else value
            case ast.Name(id=name):
                return self._name(name)
            case ast.Attribute(value=of, attr=name):
                return self.value_of(of).of[name]
            case ast.Subscript(value=of, slice=place):
                if isinstance(place, ast.Tuple):
                    return tuple(_item(self.value_of(of), self.value_of(key)) for key in place.elts)
                return _item(self.value_of(of), self.value_of(place))
            case ast.Tuple(elts=parts):
                return each_seed(lambda *values: values, *map(self.value_of, parts))
            case ast.UnaryOp(op=op, operand=of):
                return each_seed(_UNARY[type(op)], self.value_of(of))
            case ast.BinOp(left=left, op=op, right=right):
                return each_seed(_BINARY[type(op)], self.value_of(left), self.value_of(right))
            case ast.BoolOp(op=op, values=parts):
                every = isinstance(op, ast.And)
                return each_seed(lambda *v: all(v) if every else any(v), *map(self.value_of, parts))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return each_seed(_COMPARED[type(op)], self.value_of(left), self.value_of(right))
            case ast.IfExp(test=test, body=body, orelse=other):
                branches = (self.value_of(one) for one in (test, body, other))
                return each_seed(lambda chosen, a, b: a if chosen else b, *branches)
            case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as over], keywords=[]):
                return self._fold(_FOLDS.get(name) or self._function(name), over)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, [self.value_of(one) for one in args])
        raise ExpressionError(f"`{ast.unparse(node)}` is none of what an expression may be")

    def _name(self, name: str) -> Any:  # noqa: ANN401
        if name not in self.names:
            raise ExpressionError(f"nothing is called {name}")
        value = self.names[name]
        return self.evaluate(value.text) if isinstance(value, Definition) else value

    def _function(self, name: str) -> Callable[..., Any]:
        if name not in self.functions:
            raise ExpressionError(f"no function is called {name}")
        return self.functions[name]

    def _call(self, name: str, args: list[Any]) -> Any:  # noqa: ANN401
        """Call a statistic of the runs of an experiment, or a function of numbers."""
        if name in _OVER_SEEDS:
            return ends.rising(_OVER_SEEDS[name], args[0])
        if name in _NUMBERS:
            return each_seed(_NUMBERS[name], *args)
        what = self._function(name)
        if args and isinstance(args[0], str):
            return self._statistic(what, args[0], tuple(args[1:]))
        return each_seed(what, *args)

    def _statistic(self, what: Callable[..., Any], name: str, args: tuple[Any, ...]) -> Seeds:
        if name in self.runs.runs:
            return Seeds(once(what, run, *args) for run in self.runs[name])
        self.missing.add(name)
        return Seeds([math.nan] * self._seeds_of(name))

    def _seeds_of(self, name: str) -> int:
        """Give how many seeds an experiment would have: as many as others of its kind."""
        kind = f"{name.rpartition('/')[0]}/"
        of_kind = (len(found) for known, found in self.runs.runs.items() if known.startswith(kind))
        return next(of_kind, 1)

    def _fold(self, how: Callable[[list[Any]], float], over: ast.GeneratorExp) -> Any:  # noqa: ANN401
        """Fold, seed by seed, what remains of several columns; of nothing there is no number."""
        columns = [
            each_seed(
                lambda value, chosen: value if chosen else None, scope.value_of(over.elt), chosen
            )
            for scope, chosen in self.rounds(over.generators)
        ]
        kept = [one for one in columns if not (isinstance(one, Seeds) and all(map(_nothing, one)))]
        if not any(isinstance(one, Seeds) for one in columns):
            return _folded(how, *columns)
        if not any(isinstance(one, Seeds) for one in kept):
            kept = columns[:1]
        return each_seed(lambda *values: _folded(how, *values), *kept)

    def rounds(self, loops: Sequence[ast.comprehension]) -> Iterator[tuple[Scope, Any]]:
        """Give the scope of each round of nested loops, and the condition there."""
        if not loops:
            yield self, True
            return
        loop, *inner = loops
        if not isinstance(loop.target, ast.Name):
            raise ExpressionError("a loop has one name")
        for value in self.value_of(loop.iter):
            scope = self.having(**{loop.target.id: value})
            chosen = each_seed(lambda *v: all(v), *(scope.value_of(one) for one in loop.ifs))
            if chosen is False:
                continue
            for innermost, further in scope.rounds(inner):
                yield innermost, each_seed(lambda a, b: a and b, chosen, further)


@cache
def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(f"`{text}` cannot be read: {error.msg}") from error


def fields(template: str) -> list[str]:
    """Give the names that stand in braces of a template, in their order, each once."""
    parts = (_parsed(name) for _, name, _, _ in string.Formatter().parse(template) if name)
    nodes = (node for part in parts for node in ast.walk(part))
    return list(dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name)))


_known: WeakKeyDictionary[Observation, dict[Any, Any]] = WeakKeyDictionary()


def once(what: Callable[..., Any], run: Observation, *args: Any) -> Any:  # noqa: ANN401
    """Give a statistic of a run, computed once: claims, figures and texts ask for the same."""
    of_run = _known.setdefault(run, {})
    key = (what, args)
    if key not in of_run:
        found = what(run, *args)
        if not isinstance(found, float | Ends):
            return found  # tables are made where they are shown, and not kept
        of_run[key] = found
    return of_run[key]


# ---- arithmetic, seed by seed


def each_seed(function: Callable[..., Any], *values: Any) -> Any:  # noqa: ANN401
    """Apply a function to the values of each seed that all have; of plain values once."""
    counts = [len(value) for value in values if isinstance(value, Seeds)]
    if not counts:
        return function(*values)
    columns = [value if isinstance(value, Seeds) else [value] * min(counts) for value in values]
    return Seeds(function(*of_seed) for of_seed in zip(*columns, strict=False))


def divide(a: ends.Value, b: ends.Value) -> ends.Value:
    """Divide; x / 0 is infinite, 0 / 0 is no value."""
    if isinstance(a, Ends) or isinstance(b, Ends):
        return ends.ratio(a, b)
    return quotient(a, b)


def quotient(a: float, b: float) -> float:
    """Divide plain numbers; x / 0 is infinite, 0 / 0 is no number."""
    return a / b if b else (math.copysign(math.inf, a) if a else math.nan)


def _rising(function: Callable[[float, float], float]) -> Callable[[Any, Any], Any]:
    """Let a function of two numbers take values with ends."""

    def of_values(a: Any, b: Any) -> Any:  # noqa: ANN401
        if isinstance(a, Ends) or isinstance(b, Ends):
            return ends.rising(lambda both: function(*both), (a, b))
        return function(a, b)

    return of_values


def _subtract(a: Any, b: Any) -> Any:  # noqa: ANN401
    return ends.difference(a, b) if isinstance(a, Ends) or isinstance(b, Ends) else a - b


def _folded(how: Callable[[list[Any]], float], *values: Any) -> Any:  # noqa: ANN401
    present = [value for value in values if value is not None]
    return ends.rising(how, present) if present else math.nan


def _item(table: Any, key: Any) -> Any:  # noqa: ANN401
    """Give an entry of a table, or of an axis the choice with a key."""
    if isinstance(table, tuple):
        return next(one for one in table if str(one) == str(key))
    return table[key if key in table else str(key)]


def _nothing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


_UNARY: dict[type, Callable[[Any], Any]] = {ast.USub: operator.neg, ast.Not: operator.not_}
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: _rising(operator.add),
    ast.Mult: _rising(operator.mul),
    ast.Sub: _subtract,
    ast.Div: divide,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARED: dict[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_FOLDS: dict[str, Callable[[list[float]], float]] = {
    "min": min,
    "max": max,
    "mean": fmean,
    "sum": sum,
}
_OVER_SEEDS: dict[str, Callable[[list[float]], float]] = {
    "over_seeds": fmean,
    "min_over_seeds": min,
    "max_over_seeds": max,
    "sum_over_seeds": sum,
    "median_over_seeds": median,
}
_NUMBERS: dict[str, Callable[..., Any]] = {
    "abs": ends.size,
    "round": round,
    "min": min,
    "max": max,
    "sqrt": math.sqrt,
}
