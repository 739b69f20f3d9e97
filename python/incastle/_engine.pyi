# Types of the native module, which is private: use `incastle` instead.

from collections.abc import Callable, Sequence
from typing import Any, final

from typing_extensions import CapsuleType

__all__ = [
    "Diagnostic",
    "Failure",
    "Output",
    "Scenario",
    "Table",
    "__version__",
    "catalog",
    "parse",
    "run_many",
    "schema",
]

__version__: str

@final
class Diagnostic:
    @property
    def severity(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def key(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def help(self) -> str | None: ...

@final
class Scenario:
    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def duration_s(self) -> float: ...
    def resolved(self) -> str: ...

@final
class Table:
    @property
    def name(self) -> str: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType: ...

@final
class Output:
    @property
    def digest(self) -> str: ...
    @property
    def interrupted(self) -> bool: ...
    @property
    def wall_s(self) -> float: ...
    def totals(self) -> dict[str, int | float]: ...
    def tables(self) -> list[Table]: ...

@final
class Failure:
    @property
    def message(self) -> str: ...
    @property
    def internal(self) -> bool: ...

def parse(
    text: str, file: str, overrides: Sequence[tuple[str, str]]
) -> tuple[Scenario | None, list[Diagnostic]]: ...
def run_many(
    scenarios: Sequence[Scenario],
    threads: int,
    on_finished: Callable[[int, Output | Failure], Any],
    on_progress: Callable[[list[float]], Any],
) -> None: ...
def schema() -> str: ...
def catalog() -> list[tuple[str, list[tuple[str, str]]]]: ...
