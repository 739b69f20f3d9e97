"""Where the classes of controllers come from, and the hash of their source.

A scenario names a class in a file next to it (`delay.py:Delay`), or something that `controllers=`
binds to a class. To check a scenario its files are read and parsed; they are executed when a run
needs them. The hash is that of the whole file, or of the source of a class and its bases where no
file is named.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import marshal
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from incastle import _engine
from incastle.controllers.base import OPTIONAL, REQUIRED, Controller
from incastle.controllers.checks import checked, lacks_on_ack, parameters_in, parameters_of
from incastle.controllers.faults import raised_outside
from incastle.controllers.remarks import MAX_WATCHED
from incastle.errors import ControllerError, IncastleError
from incastle.storage.names import no_plain_path, unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

AS_FILE = re.compile(r"(?P<path>.+\.py):(?P<name>[^\W\d]\w*)")
Answer = tuple[str | None, list[str] | None, str | None, str | None]
"""The hash of a source and the parameters of the class, or the mistake and its remedy.

The parameters are None where they show only when a controller is made.
"""

Watched = dict[str, list[Any]]
"""The first controllers that a run makes, by name."""


@dataclass(frozen=True)
class Bound:
    """A class that stands behind a name, and the hash of its source."""

    kind: type
    source: str


class _Mistake(Exception):  # noqa: N818  it becomes a message, users never see it raised
    def __init__(self, message: str, help_: str | None = None) -> None:
        super().__init__(message)
        self.message, self.help = message, help_


class Origins:
    """The classes that one scenario's names of controllers stand for: a file is read once.

    Args:
        file: the scenario's file: others are looked for in its folder, then in the working folder.
        bound: classes by name; they come before files.

    """

    def __init__(self, file: str, bound: Mapping[str, Bound]) -> None:
        self.folder = Path(file).parent
        self.bound = bound
        self._texts: dict[str, str] = {}

    def source(self, name: str) -> Answer:
        """Answer the engine, which calls this while it checks a scenario."""
        if name in self.bound:
            one = self.bound[name]
            return one.source, parameters_of(one.kind), None, None
        file = name.partition(":")[0]
        if not file.endswith(".py"):
            return None, None, None, None  # to be bound when it is run
        try:
            return *self._source_in_file(name), None, None
        except _Mistake as found:
            return None, None, found.message, found.help

    def _source_in_file(self, name: str) -> tuple[str, list[str] | None]:
        found = AS_FILE.fullmatch(name)
        if found is None:
            file = name.partition(":")[0]
            those = self._classes_in(file)
            forms = " or ".join(f'"{file}:{one}"' for one in those or ["MyClass"])
            raise _Mistake(f'"{name}" names no class', f"name one as in {forms}")
        path = found["path"]
        if "\\" in path:
            raise _Mistake(f"{path!r} has a backslash in it", "write / between folders")
        if (why := unseen(path)) is not None:
            raise _Mistake(why, "rename the file")
        try:
            text = self._read(path)
            tree = ast.parse(text)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not a UTF-8 file"
            raise _Mistake(
                f"{self.folder / path}: {reason}", self._looked_for(path, error)
            ) from None
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None) or 1
            raise _Mistake(f"{path}:{line}: {getattr(error, 'msg', error)}") from None
        classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
        if found["name"] not in {*classes, *_other_names(tree)}:
            there = f"its classes are {', '.join(classes)}" if classes else "it has no class at all"
            raise _Mistake(f"{path} has no class {found['name']}", there)
        if (line := lacks_on_ack(tree, found["name"])) is not None:
            raise _Mistake(
                f'{path}:{line}: the controller "{name}": the class {found["name"]} lacks on_ack',
                "write def on_ack(self, ack)",
            )
        return _hash(text), parameters_in(tree, found["name"])

    def _looked_for(self, path: str, error: Exception) -> str | None:
        """Name the folders where a file is looked for, if it is not there."""
        missing = isinstance(error, FileNotFoundError) and not Path(path).is_absolute()
        where = f"{self.folder.absolute()}, the scenario's folder, and {Path.cwd()}"
        return f"it is looked for in {where}" if missing else None

    def _classes_in(self, path: str) -> list[str]:
        """Return the classes of a file, as far as it can be read."""
        try:
            tree = ast.parse(self._read(path))
        except (OSError, UnicodeDecodeError, SyntaxError, ValueError):
            return []
        return [node.name for node in tree.body if isinstance(node, ast.ClassDef)]

    def load(self, names: Iterable[str]) -> dict[str, Bound]:
        """Return the classes of these names; files are executed.

        Raises:
            IncastleError: a controller is unknown.
            ControllerError: a file raised, or a class lacks a method.

        """
        return {name: self._load(name) for name in names}

    def texts(self, names: Iterable[str]) -> dict[str, str]:
        """Return the text of each file within the scenario's folder that these names need.

        The names are plain: of `./own.py` it is `own.py`.
        """
        found = (AS_FILE.fullmatch(name) for name in names if name not in self.bound)
        paths = {str(Path(one["path"])): one["path"] for one in found if one is not None}
        inside = sorted(path for path in paths if no_plain_path(path) is None)
        return {path: self._read(paths[path]) for path in inside}

    def _load(self, name: str) -> Bound:
        if name in self.bound:
            return self.bound[name]
        found = AS_FILE.fullmatch(name)
        if found is None:
            raise IncastleError(
                f'unknown controller "{name}": bind it to a class, as in '
                f'ic.run(scenario, controllers={{"{name}": MyClass}}), or name a file next to the '
                'scenario: controller = "my_controller.py:MyClass"'
            )
        text = self._read(found["path"])
        file = str(self._place(found["path"]))
        kind = getattr(_executed(file, text), found["name"], None)
        lines = (
            node.lineno
            for node in ast.parse(text).body
            if isinstance(node, ast.ClassDef) and node.name == found["name"]
        )
        place = next((f"{file}:{line}" for line in lines), None)
        return Bound(checked(name, kind, place), _hash(text))

    def _place(self, path: str) -> Path:
        """Return where a file is: beside the scenario, or else in the working folder."""
        beside = self.folder / path
        return Path(path) if not beside.exists() and Path(path).is_file() else beside

    def _read(self, path: str) -> str:
        if path not in self._texts:
            self._texts[path] = self._place(path).read_text(encoding="utf-8")
        return self._texts[path]


def bind(controllers: Mapping[str, type]) -> dict[str, Bound]:
    """Check classes, and hash their sources.

    Raises:
        TypeError: they are no dictionary.
        ControllerError: one is no class, or lacks a method.

    """
    if not isinstance(controllers, Mapping):
        raise TypeError(
            f'classes by name are expected, found {controllers!r}: write {{"mine": Mine}}'
        )
    return {
        name: Bound(checked(name, kind), _class_hash(kind)) for name, kind in controllers.items()
    }


def makers(
    classes: Mapping[str, Bound],
    watched: Watched,
    kind: Any = _engine.ControllerMaker,  # noqa: ANN401
) -> list[Any]:
    """Return what makes the controllers of each name, for the engine; the first are watched.

    Another module than the engine has a `kind` of makers that is not the engine's.
    """
    return [
        kind(name, _maker(one.kind, watched.setdefault(name, []))) for name, one in classes.items()
    ]


def _maker(
    kind: type, watched: list[Any]
) -> Callable[[_engine.Connection, dict[str, Any]], tuple[Any, ...]]:
    there = [name for name in OPTIONAL if hasattr(kind, name)]

    def make(connection: _engine.Connection, parameters: dict[str, Any]) -> tuple[Any, ...]:
        one = kind(connection, **parameters)
        if len(watched) < MAX_WATCHED:
            watched.append(one)
        methods = [getattr(one, name) for name in REQUIRED]
        return (
            one,
            *methods,
            *(getattr(one, name) if name in there else None for name in OPTIONAL),
        )

    return make


@lru_cache(maxsize=64)
def _executed(file: str, text: str) -> ModuleType:
    """Execute a file as a module that no import finds: its classes travel with their code."""
    module = ModuleType(f"incastle_controller_{Path(file).stem}")
    module.__file__ = file
    try:
        exec(compile(text, file, "exec"), module.__dict__)  # noqa: S102  the user requests it
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  whatever a file of the user's raises, sys.exit too
        raise ControllerError(f"{file} cannot be used:\n{raised_outside(error)}") from None
    return module


def _other_names(tree: ast.Module) -> set[str]:
    """Return the names that a file has at its top other than by a class statement."""
    names = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    targets = [node.targets for node in tree.body if isinstance(node, ast.Assign)]
    return names | {one.id for some in targets for one in some if isinstance(one, ast.Name)}


def _class_hash(kind: type) -> str:
    """Hash the source of a class and of the bases that are not ours."""
    theirs = [one for one in kind.__mro__ if one.__module__ not in sys.stdlib_module_names]
    return _hash("".join(_text_of(one) for one in theirs if one is not Controller))


def _text_of(kind: type) -> str:
    """Return the source of a class; of one that was typed in, what its methods were compiled to."""
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        members = sorted(vars(kind).items())
        codes = [(name, getattr(value, "__code__", None)) for name, value in members]
        compiled = [
            f"{name} {marshal.dumps(code).hex()}\n"
            for name, code in codes
            if isinstance(code, CodeType)
        ]
        return f"class {kind.__qualname__}\n{''.join(compiled)}"


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
