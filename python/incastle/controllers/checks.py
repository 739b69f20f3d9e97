"""Checks of a controller's class: errors are reported with their line before the run begins.

Checked are the methods, what they are called with, and which parameters `__init__` takes. Leaves
out: methods that are no plain functions (made by `functools.partial`, written in C), and what a
method gives back.
"""

from __future__ import annotations

import ast
import dis
import inspect
from difflib import get_close_matches
from types import FunctionType
from typing import TYPE_CHECKING

from incastle.controllers.base import OPTIONAL, REQUIRED, Controller
from incastle.errors import ControllerError

if TYPE_CHECKING:
    from collections.abc import Sequence

CALLED_WITH = {
    "on_ack": ("ack",),
    "on_congestion": ("event",),
    "on_sent": ("now", "size_bytes"),
    "on_timer": ("now",),
}
"""The arguments of each method that has some."""

_OF_KIND = 'on_congestion(self, event) and look for event.kind == "{}"'.format
NO_HOOKS = {
    "on_loss": _OF_KIND("loss"),
    "on_packet_loss": _OF_KIND("loss"),
    "on_timeout": _OF_KIND("timeout"),
    "on_rto": _OF_KIND("timeout"),
    "on_ecn": _OF_KIND("ecn"),
    "on_mark": _OF_KIND("ecn"),
    "on_idle": _OF_KIND("idle"),
    "on_rtt": "on_ack(self, ack), which has ack.rtt_s",
    "on_send": "on_sent(self, now, size_bytes)",
    "on_packet_sent": "on_sent(self, now, size_bytes)",
}
"""Methods of other interfaces, which nothing calls, and what is written here instead."""


def checked(name: str, kind: object, place: str | None = None) -> type:
    """Refuse what is no class, lacks a method, or has one that cannot be called.

    Args:
        name: of the controller in the scenario.
        kind: what should be its class.
        place: file and line of the class, where they are known.

    Raises:
        ControllerError: it will not do.

    """
    if not isinstance(kind, type):
        raise ControllerError(f'the controller "{name}" is {kind!r}; a class is expected')
    lacking = [method for method in REQUIRED if not callable(getattr(kind, method, None))]
    if issubclass(kind, Controller) and kind.on_ack is Controller.on_ack:
        lacking = ["on_ack"]
    if hasattr(kind, "on_timer") != hasattr(kind, "next_timer"):
        lacking.append("next_timer" if hasattr(kind, "on_timer") else "on_timer")
    place = place or _place_of(kind)
    if lacking:
        other = "" if issubclass(kind, Controller) else "; incastle.Controller has all but on_ack"
        what = f"the class {kind.__name__} lacks {' and '.join(lacking)}{_meant(kind, lacking)}"
        raise _error(place, name, what + other)
    _check_names(name, kind, place)
    for method in (*REQUIRED, *OPTIONAL):
        member = inspect.getattr_static(kind, method, None)
        if isinstance(member, FunctionType):
            _check_method(name, kind, method, member)
    return kind


def _meant(kind: type, lacking: Sequence[str]) -> str:
    """Name the methods of a class that were probably meant for those that it lacks."""
    own = {_plain(one): one for one in _own(kind)}
    near = [(method, get_close_matches(_plain(method), own, 1, 0.75)) for method in lacking]
    renamed = [f"{own[found[0]]} should be {method}" for method, found in near if found]
    return f": {', '.join(renamed)}" if renamed else ""


def _own(kind: type) -> list[str]:
    """Return the names of everything that the user's classes define."""
    theirs = [one for one in kind.__mro__ if one not in (Controller, object)]
    return list(dict.fromkeys(name for one in theirs for name in vars(one)))


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _check_names(name: str, kind: type, place: str | None) -> None:
    """Refuse methods and windows under other names: they would have no effect."""
    hooks = {_plain(hook): hook for hook in (*REQUIRED, *OPTIONAL)}
    there = _own(kind)
    for own in there:
        hook = hooks.get(_plain(own), own)
        if hook not in there:
            what = f"{kind.__name__}.{own} is never called: did you mean {hook}?"
            raise _error(place, name, what)
    members = [inspect.getattr_static(kind, own) for own in there]
    used = {
        word for one in members if isinstance(one, FunctionType) for word in one.__code__.co_names
    }
    for own, right in NO_HOOKS.items():
        if own in there and own not in used:
            raise _error(place, name, f"{kind.__name__}.{own} is never called: write {right}")
    if kind.window is not Controller.window or {"cwnd", "cwnd_bytes"} & {*there}:  # type: ignore[attr-defined]
        return
    stored = {
        step.argval
        for member in members
        if isinstance(member, FunctionType)
        for step in dis.get_instructions(member)
        if step.opname == "STORE_ATTR"
    }
    if "cwnd" in stored and "cwnd_bytes" not in stored:
        what = f"{kind.__name__} sets cwnd, which has no effect: did you mean cwnd_bytes?"
        raise _error(place, name, what)


def _check_method(name: str, kind: type, method: str, function: FunctionType) -> None:
    """Refuse what cannot be called as controllers are, or would not be executed when it is."""
    code = function.__code__
    place = f"{code.co_filename}:{code.co_firstlineno}"
    wanted = ("self", *CALLED_WITH.get(method, ()))
    right = f"def {method}({', '.join(wanted)})"
    why = _never_executed(function)
    if why is not None:
        raise _error(place, name, f"{kind.__name__}.{method} {why}; expected {right}")
    try:
        inspect.signature(function, follow_wrapped=False).bind(*wanted)
    except TypeError:
        found = ", ".join(str(one.replace(annotation=one.empty)) for one in _of(function))
        what = f"{kind.__name__} has {method}({found}); expected {right}"
        raise _error(place, name, what) from None


def _of(function: FunctionType) -> list[inspect.Parameter]:
    return list(inspect.signature(function, follow_wrapped=False).parameters.values())


def _never_executed(function: FunctionType) -> str | None:
    """Describe why a call of a function makes an object and executes nothing, if that is so."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return "is async, which is never executed"
    if inspect.isgeneratorfunction(function):
        return "has a yield, with which it is never executed"
    return None


def _place_of(kind: type) -> str | None:
    try:
        return f"{inspect.getsourcefile(kind)}:{inspect.getsourcelines(kind)[1]}"
    except (OSError, TypeError):
        return None  # typed in


def _error(place: str | None, name: str, what: str) -> ControllerError:
    where = "" if place is None else f"{place}: "
    return ControllerError(f'{where}the controller "{name}": {what}')


def parameters_of(kind: type) -> list[str] | None:
    """Return the names of a class's parameters; None where that cannot be determined."""
    if type(kind) is not type:
        return None  # a metaclass may do anything
    made = inspect.getattr_static(kind, "__init__")
    if not isinstance(made, FunctionType) or inspect.getattr_static(kind, "__new__") is not (
        object.__new__
    ):
        return None
    named = _of(made)[2:]  # after self and the connection
    if any(one.kind is one.VAR_KEYWORD for one in named):
        return None
    return [one.name for one in named if one.kind in {one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY}]


def parameters_in(tree: ast.Module, name: str) -> list[str] | None:
    """Return the names of all parameters that a class in a file takes, without executing the file.

    None where that cannot be determined: `__init__` takes any (`**more`), is decorated, or lies
    elsewhere.
    """
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    seen: set[str] = set()
    while name in classes and name not in seen:
        seen.add(name)
        node = classes[name]
        if node.decorator_list or node.keywords:
            return None
        own = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
        if "__init__" in own:
            return None if "__new__" in own else _names_in(own["__init__"])
        if "__new__" in own or len(node.bases) != 1:
            return None
        base = node.bases[0]
        if isinstance(base, ast.Attribute) and base.attr == Controller.__name__:
            return []
        name = base.id if isinstance(base, ast.Name) else ""
    return [] if name == Controller.__name__ and name not in classes else None


def _names_in(function: ast.FunctionDef) -> list[str] | None:
    arguments = function.args
    if function.decorator_list or arguments.kwarg is not None:
        return None
    before = len(arguments.posonlyargs)
    by_name = arguments.args[max(0, 2 - before) :]
    return [one.arg for one in (*by_name, *arguments.kwonlyargs)]


def lacks_on_ack(tree: ast.Module, name: str) -> int | None:
    """Return the line of a class of a file that derives from `Controller` alone without on_ack.

    None where it has one, or a name close to it, or that cannot be determined without executing.
    """
    node = next(
        (one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == name), None
    )
    if node is None or node.decorator_list or node.keywords or len(node.bases) != 1:
        return None
    base = node.bases[0]
    named = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
    known = {ast.FunctionDef, ast.Pass, ast.Expr}
    if named != Controller.__name__ or not {type(one) for one in node.body} <= known:
        return None
    own = [_plain(one.name) for one in node.body if isinstance(one, ast.FunctionDef)]
    return None if get_close_matches(_plain("on_ack"), own, 1, 0.75) else node.lineno
