"""Scenarios: what to simulate, read from TOML, checked, and changed by dotted keys.

The language itself, its defaults and its messages live in the Rust core, once. A `Scenario` here
is a string, the overrides applied to it, and the checked form of the two.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import tomli_w

from incastle import _engine
from incastle.controllers.sources import Bound, Origins, Watched, bind, makers
from incastle.errors import Diagnostic, InternalError, ScenarioError, ScenarioNotFound
from incastle.toml import one_line_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Parts: TypeAlias = "tuple[str, str, tuple[tuple[str, str], ...], Mapping[str, Bound]]"
"""The source of a scenario: text, name of the file, overrides, classes of controllers."""
Value: TypeAlias = "str | int | float | bool | list[Any] | dict[str, Any]"

FOR_SWEEPS = "`incastle sweep` takes several values"
"""What the help of a message has where one value is expected."""

IN_CODE = "(scenario built in code)"
"""The file name in diagnostics of a scenario without a file."""

FILES: tuple[tuple[bytes, str, str], ...] = (
    (b"\x1f\x8b", "a gzip file", "unpack it: gunzip FILE"),
    (b"PK\x03\x04", "a zip file", "unpack it: unzip FILE"),
    (b"BZh", "a bzip2 file", "unpack it: bunzip2 FILE"),
    (b"\xfd7zXZ", "an xz file", "unpack it: unxz FILE"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file", "unpack it: unzstd FILE"),
    (b"\xff\xfe", "text in UTF-16", "save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16", "save it as UTF-8"),
    (b"\xd4\xc3\xb2\xa1", "a capture (pcap)", "a scenario is a TOML file"),
    (b"\x0a\x0d\x0d\x0a", "a capture (pcapng)", "a scenario is a TOML file"),
    (b"PAR1", "a table (Parquet)", "a result has its scenario in scenario.toml"),
    (b"%PDF", "a PDF", "a scenario is a TOML file"),
    (b"\x89PNG", "a picture", "a scenario is a TOML file"),
)
"""First bytes of files that are not in UTF-8, their kind, and the remedy."""


class Scenario:
    """A checked scenario, immutable.

    Make one with `incastle.load`, `Scenario.from_file`, `Scenario.from_text` or
    `Scenario.from_dict`; all take the same fields as the TOML file. Every one of them raises
    `ScenarioError`, with all mistakes and their places, if the scenario is not right.

    Two scenarios are equal if they mean the same: if they resolve to the same text.
    """

    __slots__ = ("_checked", "_file", "_origins", "_overrides", "_text", "warnings")

    warnings: tuple[Diagnostic, ...]
    """Settings that are valid, but probably not intended."""

    def __init__(
        self,
        text: str,
        file: str = IN_CODE,
        overrides: tuple[tuple[str, str], ...] = (),
        controllers: Mapping[str, Bound] | None = None,
    ) -> None:
        origins = Origins(file, controllers or {})
        try:
            checked, found = _engine.parse(text, file, list(overrides), origins.source)
        except RuntimeError as error:
            raise InternalError(f"while checking {file}: {error}") from None
        diagnostics = tuple(_diagnostic(one) for one in found)
        if checked is None:
            raise ScenarioError(diagnostics)
        self._text = text
        self._file = file
        self._overrides = overrides
        self._checked = checked
        self._origins = origins
        self.warnings = diagnostics

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], overrides: Sequence[tuple[str, str]] = ()
    ) -> Scenario:
        """Read a TOML file; `overrides` are (key, value) as after `--set`.

        Raises:
            OSError: the file cannot be read.
            ScenarioError: it can, and is not a right scenario.

        """
        return cls(read_text(path), os.fspath(path), tuple(overrides))

    @classmethod
    def from_text(cls, text: str, file: str = IN_CODE) -> Scenario:
        """Take TOML text; `file` is the name that messages give it."""
        return cls(text, file)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Scenario:
        """Build from nested dictionaries with the same keys and values as the TOML file.

        Example:
            >>> scenario = Scenario.from_dict({
            ...     "name": "two-flows",
            ...     "run": {"duration": "10 ms"},
            ...     "network": {"topology": "star", "senders": 2, "rate": "1 Gbit/s"},
            ...     "flows": {"bulk": {"workload": "bulk", "from": "senders", "to": "receiver"}},
            ... })

        """
        try:
            text = tomli_w.dumps(plain(fields))
        except TypeError as error:
            raise ScenarioError([Diagnostic("error", IN_CODE, 0, 0, "", str(error))]) from None
        return cls(text)

    def with_overrides(
        self, overrides: Mapping[str, Value] | None = None, **more: Value
    ) -> Scenario:
        """Return this scenario with some keys changed or added; the original stays as it is.

        Keys are dotted, as for `--set`: `with_overrides({"flows.storage.count": 40})`, or
        `with_overrides(**{"switch.queue.marking_threshold": "65 packets"})`.

        Raises:
            TypeError: the overrides are no dictionary, or TOML has no such value.
            ScenarioError: a key does not exist, or a value does not fit it.

        """
        added = tuple(_pairs({} if overrides is None else overrides) + _pairs(more))
        with _in_words_of_python(added):
            return Scenario(self._text, self._file, self._overrides + added, self._origins.bound)

    def with_controllers(self, controllers: Mapping[str, type]) -> Scenario:
        """Return this scenario with classes behind the names of controllers.

        Where the scenario has `congestion = "custom"` and `controller = "mine"`, write
        `with_controllers({"mine": Mine})`. Classes in files need no such word.

        Raises:
            ControllerError: one is no class, or lacks a method.

        """
        bound = {**self._origins.bound, **bind(controllers)}
        return Scenario(self._text, self._file, self._overrides, bound)

    def with_seed(self, seed: int) -> Scenario:
        """Return this scenario with another seed, 0 to 2^64 - 1."""
        return self.with_overrides({"run.seed": seed})

    @property
    def name(self) -> str:
        """The scenario's `name`."""
        return self._checked.name

    @property
    def file(self) -> str:
        """Where the text came from."""
        return self._file

    @property
    def seed(self) -> int:
        """The seed, `run.seed`."""
        return self._checked.seed

    @property
    def duration_s(self) -> float:
        """Simulated time, in seconds."""
        return self._checked.duration_s

    @property
    def resolved(self) -> str:
        """The complete scenario as TOML, every default written out."""
        return self._checked.resolved()

    @property
    def offered_load(self) -> dict[str, Any]:
        """The mean load that the groups offer to links, before anything is simulated.

        `together` has a row for each tier of links (`hosts`, `uplinks`, `core`, `trunk`, or the
        `links` of a graph) and direction: the `links` that data cross, `of` how many; the load of
        these links on average, as a fraction of their rates, in `application` bytes and on the
        `wire` (headers and framing included, each packet once, without ACKs); `max` and `max_link`,
        the link with the most on the wire. `groups` has the rows of each group, `left_out` the
        groups that have no such load, and why. docs/models/workloads.md has the rest.
        """
        load: dict[str, Any] = json.loads(self._checked.offered_load())
        return load

    def to_dict(self) -> dict[str, Any]:
        """Return the complete scenario as nested dictionaries, every default written out."""
        return tomllib.loads(self.resolved)

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401  a TOML value of any type
        """Look up a dotted key of the complete scenario: `scenario["transport.min_rto"]`."""
        value: Any = self.to_dict()
        for part in key.split("."):
            if not isinstance(value, dict) or part not in value:
                raise KeyError(key)
            value = value[part]
        return value

    def __eq__(self, other: object) -> bool:
        """Return whether both resolve to the same text."""
        if not isinstance(other, Scenario):
            return NotImplemented
        return self.resolved == other.resolved

    def __hash__(self) -> int:
        """Hash what equality compares."""
        return hash(self.resolved)

    def __repr__(self) -> str:
        """Name, seed and length."""
        return f"<Scenario {self.name!r}, seed {self.seed}, {self['run.duration']}>"

    def _repr_html_(self) -> str:
        """Show its facts and its text, as the value of a notebook's cell."""
        from incastle.display import html  # noqa: PLC0415  slow to import: only to show

        return html.of_scenario(
            resolved=self.resolved,
            text=self._text,
            overrides=self._overrides,
            warnings=self.warnings,
        )

    def __reduce__(self) -> tuple[type[Scenario], Parts]:
        """Pickle as text and overrides, and classes as pickle does."""
        return (Scenario, (self._text, self._file, self._overrides, self._origins.bound))


def load(
    path: str | os.PathLike[str],
    overrides: Mapping[str, Value] | Sequence[tuple[str, str]] = (),
) -> Scenario:
    """Read and check a scenario file.

    Args:
        path: the file.
        overrides: keys with their values, `{"flows.storage.count": 40}`; or pairs (key, value) of
            strings as after `--set`.

    Raises:
        ScenarioNotFound: there is no such file; an OSError, too.
        OSError: the file cannot be read.
        ScenarioError: it can, and is not a right scenario: `.diagnostics` has all mistakes.

    """
    pairs = _pairs(overrides)
    with _in_words_of_python(pairs if isinstance(overrides, Mapping) else ()):
        return Scenario.from_file(path, pairs)


@contextmanager
def _in_words_of_python(added: Sequence[tuple[str, str]]) -> Iterator[None]:
    """Name overrides that a dictionary gave in messages, in place of options of a command."""
    typed = {f"--set {key}={value}": f"overrides: {key} = {value}" for key, value in added}
    try:
        yield
    except ScenarioError as broken:
        raise ScenarioError([_of_python(one, typed) for one in broken.diagnostics]) from None


def _of_python(one: Diagnostic, typed: Mapping[str, str]) -> Diagnostic:
    if one.file not in typed:
        return one
    help_ = one.help
    if help_ is not None and FOR_SWEEPS in help_:
        help_ = "several values are for ic.sweep(scenario, {KEY: [VALUE, ...]}), each in turn"
    key, _, value = typed[one.file].removeprefix("overrides: ").partition(" = ")
    if value.startswith("{"):
        help_ = f'a dictionary replaces the whole table; one key of it is {{"{key}.KEY": VALUE}}'
    return replace(one, file=typed[one.file], help=help_)


def _pairs(overrides: object) -> list[tuple[str, str]]:
    """Return overrides as (key, value) of strings.

    Raises:
        TypeError: they are something else.

    """
    if isinstance(overrides, Mapping):
        return [(key, one_line_toml(plain(value, key))) for key, value in overrides.items()]
    if isinstance(overrides, list | tuple) and all(map(_is_pair, overrides)):
        return [(key, value) for key, value in overrides]
    raise TypeError(
        f"overrides are a dictionary, found {overrides!r}: write "
        '{"flows.storage.count": 40}, or [("flows.storage.count", "40")]'
    )


def _is_pair(pair: object) -> bool:
    return isinstance(pair, tuple | list) and [type(one) for one in pair] == [str, str]


def plain(value: object, key: str = "") -> Any:  # noqa: ANN401  a TOML value of any type
    """Return a value as TOML has it: scalars and arrays of NumPy as Python's, paths as strings.

    Raises:
        TypeError: TOML has nothing of the kind; the message names the key.

    """
    if isinstance(value, Mapping):
        inner = f"{key}." if key else ""
        return {name: plain(item, f"{inner}{name}") for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, key) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):  # NumPy, which need not be installed
        return plain(value.tolist(), key)
    if isinstance(value, str | int | float):
        return value
    what = "leave the key out" if value is None else "write a string, a number, a list or a table"
    raise TypeError(f"{key}: {value!r} is no value of a key: {what}")


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a scenario's file, without checking more than that it is text."""
    file = _file_name(path)
    if "\n" in file:
        message = "the name of a file is expected, found several lines of text"
        how = "Scenario.from_text takes the text of a scenario"
        raise ScenarioError([Diagnostic("error", IN_CODE, 0, 0, "", message, how)])
    if Path(file).suffix == ".py":
        message = "this is a file of Python, not a scenario"
        how = f'a scenario names a controller in it as congestion = "{Path(file).name}:CLASS"'
        raise ScenarioError([Diagnostic("error", file, 0, 0, "", message, how)])
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        reason = f"{error.strerror}{_meant(Path(file))}"
        raise ScenarioNotFound(error.errno, reason, file) from None
    except IsADirectoryError as error:
        error.strerror = f"{error.strerror}{_meant(Path(file))}"
        raise
    except UnicodeDecodeError as error:
        message, how = _no_text(error)
        raise ScenarioError([Diagnostic("error", file, 0, 0, "", message, how)]) from None


def _no_text(error: UnicodeDecodeError) -> tuple[str, str]:
    """Name the kind of a file that is not in UTF-8 by its first bytes, and the remedy."""
    for beginning, kind, how in FILES:
        if error.object.startswith(beginning):
            return f"this is {kind}, not a scenario", how
    return f"not a UTF-8 file (byte {error.start} is not)", "save it as UTF-8"


def _file_name(given: object) -> str:
    if isinstance(given, str | os.PathLike):
        return os.fspath(given)
    how = "; Scenario.from_dict takes a dictionary" if isinstance(given, Mapping) else ""
    raise TypeError(f"the name of a scenario's file is expected, found {given!r}{how}")


def _meant(path: Path) -> str:
    """Name the scenario that this path was probably meant to be."""
    if path.is_symlink() and not path.exists():
        return f": it is a link to {path.readlink()}, which is not there"
    inside, sibling = path / "scenario.toml", Path(f"{path}.toml")
    if inside.is_file():
        return f": the scenario in it is {inside}"
    if held := sorted(path.glob("*.toml")):
        return f": name a scenario in it, such as {held[0]}"
    if sibling.is_file():
        return f": did you mean {sibling}?"
    there = [one.name for one in path.parent.glob("*.toml")] if path.parent.is_dir() else []
    near = get_close_matches(path.name, there, 1, 0.75)
    return f": did you mean {path.with_name(near[0])}?" if near else ""


def no_other_than(scenario: object) -> Scenario:
    """Return what is a scenario back.

    Raises:
        TypeError: it is something else, such as the name of a file.

    """
    if isinstance(scenario, Scenario):
        return scenario
    what = f"a scenario is expected, found {scenario!r}"
    is_path = isinstance(scenario, str | os.PathLike)
    raise TypeError(f"{what}: incastle.load reads a file" if is_path else what)


def source_of(scenario: Scenario) -> Parts:
    """Return what a scenario was made from."""
    _, parts = no_other_than(scenario).__reduce__()
    return parts


def checked_form(scenario: Scenario) -> _engine.Scenario:
    """Return what the engine has checked."""
    return scenario._checked  # noqa: SLF001  private to the package, not to the class


def runnable_form(scenario: Scenario, watched: Watched | None = None) -> _engine.Scenario:
    """Return what the engine runs, with its controllers in Python; the first are put in `watched`.

    Raises:
        IncastleError: a controller is unknown.
        ControllerError: the file of one raised, or a class lacks a method.

    """
    checked = checked_form(scenario)
    return checked.with_makers(makers(controllers_of(scenario), {} if watched is None else watched))


def controllers_of(scenario: Scenario) -> dict[str, Bound]:
    """Return the classes that a scenario needs; their files are executed.

    Raises as `runnable_form`.
    """
    return _origins(scenario).load(checked_form(scenario).custom_controllers())


def controller_files(scenario: Scenario) -> dict[str, str]:
    """Return path and text of the files of its controllers that lie in the scenario's folder."""
    return _origins(scenario).texts(checked_form(scenario).custom_controllers())


def _origins(scenario: Scenario) -> Origins:
    return scenario._origins  # noqa: SLF001  as for `checked_form`


def _diagnostic(one: _engine.Diagnostic) -> Diagnostic:
    return Diagnostic(one.severity, one.file, one.line, one.column, one.key, one.message, one.help)
