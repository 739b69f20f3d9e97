"""Goals of the comparison: goals.toml.

    [[goal]]
    measure = "per-flow"                 per-flow, spread, seeds or drops
    layouts = ["shards"]                 without it, both
    controls = ["hpcc", "timely"]        without it, all
    median = "0.1 %"                     the limits of the measure, each of them

The first goal that fits a kind of cases counts; kinds without one are measured and not judged. The
file next to this one has the goals of folders without a goals.toml.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from incastle.importers.hpcc_keys import Control
from incastle.importers.lines import BrokenFile
from incastle.validation.cases import GOALS, Layout
from incastle.validation.compare import Measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

BUILT_IN = Path(__file__).with_name(GOALS)
PERCENT = re.compile(r"(\d+(?:\.\d+)?) *%", re.ASCII)
HEADER = re.compile(r"\s*\[\[\s*goal\s*\]\]")


LIMITS = {
    Measure.PER_FLOW: ("median", "within", "share"),
    Measure.SPREAD: ("widened",),
    Measure.SEEDS: ("widened", "scenarios", "mean_ratio"),
    Measure.DROPS: ("within",),
}
"""The limits of each measure: shares of something."""
ABOVE_ZERO = "median"
"""A median is to be below it, and none is below 0."""


@dataclass(frozen=True)
class Goal:
    """A goal for cases of some layouts and controls in one measure."""

    measure: Measure
    layouts: tuple[Layout, ...]
    controls: tuple[Control, ...]
    limits: Mapping[str, float]

    def fits(self, layout: Layout, control: Control, measure: Measure) -> bool:
        """Return whether the goal is for these cases."""
        return measure is self.measure and layout in self.layouts and control in self.controls


def read_goals(folder: Path) -> list[Goal]:
    """Read the goals of a folder of cases: its own, or the usual ones.

    Raises:
        OSError: the file cannot be read.
        BrokenFile: the file is not right.

    """
    own = folder / GOALS
    return read_file(own if own.exists() else BUILT_IN)


def read_file(path: Path) -> list[Goal]:
    """Read goals.

    Raises:
        OSError: the file cannot be read.
        BrokenFile: it is not right.

    """
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except UnicodeDecodeError:
        raise BrokenFile(str(path), 0, "not a UTF-8 file") from None
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        message = re.sub(r" \(at .*\)", "", str(error))
        raise BrokenFile(str(path), int(line[1]) if line else 0, f"no TOML: {message}") from None
    file = _File(str(path), text.split("\n"))
    others = [name for name in table if name != "goal"]
    found = table.get("goal")
    if others or not isinstance(found, list) or not found:
        what = f", found {others[0]}" if others else ""
        file.fail(-1, others[0] if others else "", f"expected tables [[goal]] alone{what}")
    return [_goal(file, place, values) for place, values in enumerate(found)]


class _File(NamedTuple):
    """A file, for the places of its mistakes."""

    name: str
    lines: Sequence[str]

    def fail(self, place: int, key: str, message: str) -> NoReturn:
        """Refuse a key of the goal at a place, from 0; -1 is outside of all."""
        headers = [number for number, line in enumerate(self.lines, 1) if HEADER.match(line)]
        first = headers[place] if 0 <= place < len(headers) else 0
        word = re.compile(rf"""\s*\[*["']?{re.escape(key)}["']?\s*[=\]]""")
        line = next(
            (n for n, text in enumerate(self.lines, 1) if n > first and key and word.match(text)),
            first,
        )
        raise BrokenFile(self.name, line, message)


def _goal(file: _File, place: int, values: Mapping[str, Any]) -> Goal:
    if not isinstance(values, dict):
        file.fail(-1, "goal", "expected tables [[goal]]")
    if "measure" not in values:
        file.fail(place, "", f"a goal needs a measure: {', '.join(Measure)}")
    (measure,) = _names(file, place, "measure", [values["measure"]], Measure)
    limits = LIMITS[Measure(measure)]
    allowed = ("measure", "layouts", "controls", *limits)
    for key in values:
        if key not in allowed:
            near = get_close_matches(key, allowed, 1, 0.7)
            meant = f"did you mean {near[0]}?" if near else f"{', '.join(allowed)} are allowed"
            file.fail(place, key, f"no key {key} in a goal of {measure}: {meant}")
    for key in limits:
        if key not in values:
            file.fail(place, "", f"a goal of {measure} needs {key}")
    layouts = _names(file, place, "layouts", values.get("layouts", list(Layout)), Layout)
    controls = _names(file, place, "controls", values.get("controls", list(Control)), Control)
    return Goal(
        Measure(measure),
        tuple(Layout(name) for name in layouts),
        tuple(Control(name) for name in controls),
        {key: _share(file, place, key, values[key]) for key in limits},
    )


def _names(file: _File, place: int, key: str, found: object, names: Iterable[str]) -> list[str]:
    """Return a list of names that exist."""
    known = [str(name) for name in names]
    if not isinstance(found, list) or not found:
        file.fail(place, key, f'{key} must be a list of names such as ["{known[0]}"]')
    for name in found:
        if name not in known:
            near = get_close_matches(str(name), known, 1, 0.6)
            meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            file.fail(place, key, f"{key}: no {name!r}: {meant}")
    return [str(name) for name in found]


def _share(file: _File, place: int, key: str, found: object) -> float:
    """Read "5 %" or 0.05."""
    if isinstance(found, str) and (written := PERCENT.fullmatch(found.strip())):
        # Not times 0.01: 95 % would be a little above 0.95.
        value = float(written[1]) / 100
    elif isinstance(found, int | float) and not isinstance(found, bool):
        value = float(found)
    else:
        file.fail(place, key, f'{key} must be a share such as "5 %", found {found!r}')
    if not 0 <= value <= 1 or (key == ABOVE_ZERO and value == 0):
        least = "above 0 %" if key == ABOVE_ZERO else "0 %"
        file.fail(place, key, f"{key} {found}: {least} to 100 % is allowed")
    return value
