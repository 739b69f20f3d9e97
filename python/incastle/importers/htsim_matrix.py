"""Connection matrices of htsim (`.cm`): one line for each connection.

    Nodes 16                                     hosts
    Connections 2
    0->13 id 1 start 0 size 2000000              picoseconds, bytes; size 0: until the end
    failure switch_type AGG switch_id 0 link_id 0

Source: Broadcom/csg-htsim, sim/datacenter/connection_matrix.cpp (load) and connection_matrix.h; the
meaning of sizes from main_ndp.cpp.

Triggers, by which connections begin when others are over, are in `htsim_triggers`. Leaves out:
priorities, which are reported; `addon`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from incastle.importers import quantities
from incastle.importers.htsim_triggers import Triggers
from incastle.importers.lines import shown
from incastle.importers.model import Failure, Transfer, Transfers
from incastle.units import PS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from incastle.importers.lines import Lines

NUMBERED = ("start", "size", "id", "trigger", "send_done_trigger", "recv_done_trigger", "prio")
"""Words of a connection that a number follows."""
ALONE = "addon"
FAILURE = ("switch_type", "switch_id", "link_id")
COLUMNS = "SOURCE->DESTINATION [id N] start PICOSECONDS size BYTES"
LATEST = 8_640_000 * PS_PER_S
"""The longest run."""
MAX_BYTES = 10**15
STEP = 10_000
"""Lines from one report of progress to the next."""


def read(lines: Lines, report: Callable[[int], None] | None = None) -> Transfers:
    """Read a connection matrix; `report` is called with the number of connections read.

    Raises:
        BrokenFile: it is none.

    """
    matrix = _Matrix(lines, Triggers(lines))
    for line, text in lines.filled():
        words = text.split()
        if words[0].startswith("#"):
            continue
        matrix.take(line, words)
        if report and len(matrix.rows) % STEP == 0:
            report(len(matrix.rows))
    return matrix.finish()


@dataclass
class _Matrix:
    """The lines read so far."""

    lines: Lines
    triggers: Triggers
    head: dict[str, tuple[int, int]] = field(default_factory=dict)
    rows: list[Transfer] = field(default_factory=list)
    ids: dict[int, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    priority: int = 0

    HEAD: ClassVar = ("Nodes", "Connections", "Triggers", "Failures")

    def take(self, line: int, words: Sequence[str]) -> None:
        """Take a line."""
        first, rest = words[0], words[1:]
        if "->" in first:
            self.rows.append(self._connection(line, first, rest))
        elif first in self.HEAD:
            self._header(line, first, rest)
        elif first == "trigger":
            self.triggers.read(line, rest)
        elif first == "failure":
            self.failures.append(self._failure(line, rest))
        else:
            known = ", ".join(self.HEAD)
            self.lines.fail(
                line, f"expected {known}, {COLUMNS}, trigger or failure, found {shown(first)}"
            )

    def _header(self, line: int, key: str, rest: Sequence[str]) -> None:
        if key in self.head:
            self.lines.fail(line, f"{key} is given twice (the first: line {self.head[key][1]})")
        if len(rest) != 1:
            self.lines.fail(line, f"expected {key} and a number")
        minimum = 1 if key in ("Nodes", "Connections") else 0
        self.head[key] = (self.lines.whole(line, rest[0], key, minimum), line)

    def _connection(self, line: int, ends: str, rest: Sequence[str]) -> Transfer:
        source, _, destination = ends.partition("->")
        given = self._attributes(line, rest)
        if "size" not in given or not given.keys() & {"start", "trigger"}:
            missing = "start or trigger" if "size" in given else "size"
            self.lines.fail(line, f"expected {missing} in {ends}: {COLUMNS}")
        self._identify(line, given.get("id"))
        self.triggers.wire(line, ends, given)
        if "prio" in given:
            self.priority = self.priority or line
        size = self.lines.whole(line, given["size"], "size")
        if size > MAX_BYTES:
            self.lines.fail(line, f"size must be at most {MAX_BYTES} bytes, found {size}")
        return Transfer(
            self._start(line, given.get("start", "0")),
            self.lines.whole(line, source, "the source"),
            self.lines.whole(line, destination, "the destination"),
            size or None,
            line,
        )

    def _identify(self, line: int, text: str | None) -> None:
        """Take the id of a connection, which no other has."""
        if text is None:
            return
        number = self.lines.whole(line, text, "id", 1)
        first = self.ids.setdefault(number, line)
        if first != line:
            self.lines.fail(line, f"id {number} is given twice (the first: line {first})")

    def _attributes(self, line: int, rest: Sequence[str]) -> dict[str, str]:
        given: dict[str, str] = {}
        words = iter(rest)
        for word in words:
            if word == ALONE:
                continue
            if word not in NUMBERED:
                known = ", ".join((*NUMBERED, ALONE))
                self.lines.fail(line, f"unknown word {shown(word)}; known are {known}")
            value = next(words, None)
            if value is None:
                self.lines.fail(line, f"expected a number after {word}")
            if word in given:
                self.lines.fail(line, f"{word} is given twice")
            given[word] = value
        return given

    def _start(self, line: int, text: str) -> int:
        """Read picoseconds; a fraction of one is cut off, as there."""
        if text.isdecimal() and text.isascii() and len(text) <= len(str(LATEST)):
            start = int(text)
        else:
            found = quantities.number(text)
            start = -1 if found is None else int(found)
        if not 0 <= start <= LATEST:
            self.lines.fail(
                line, f"expected a start in picoseconds, up to {LATEST}, found {shown(text)}"
            )
        return start

    def _failure(self, line: int, rest: Sequence[str]) -> Failure:
        given = dict(zip(rest[::2], rest[1::2], strict=False))
        if sorted(rest[::2]) != sorted(FAILURE) or len(rest) != 2 * len(FAILURE):
            self.lines.fail(line, "expected failure switch_type AGG switch_id N link_id N")
        if given["switch_type"] != "AGG":
            self.lines.fail(
                line,
                "htsim fails links of aggregation switches to cores only: expected switch_type "
                f"AGG, found {shown(given['switch_type'])}",
            )
        return Failure(
            self.lines.whole(line, given["switch_id"], "switch_id"),
            self.lines.whole(line, given["link_id"], "link_id"),
            line,
        )

    def finish(self) -> Transfers:
        """Check the numbers of the head, and give what there is."""
        lines = self.lines
        for key in ("Nodes", "Connections"):
            if key not in self.head:
                lines.fail(lines.last, f"expected {key} and a number at the top of the file")
        there = {
            "Connections": len(self.rows),
            "Triggers": len(self.triggers.by_number),
            "Failures": len(self.failures),
        }
        for key, count in there.items():
            wanted, line = self.head.get(key, (0, lines.last))
            if count != wanted:
                lines.fail(line, f"{key} {wanted}: the file has {count}")
        if self.priority:
            lines.note(self.priority, "prio: all flows are of one traffic class")
        return Transfers(
            lines.file,
            f"htsim's connection matrix {lines.file}",
            self.triggers.tied(self.rows),
            self.head["Nodes"],
            self.failures,
            lines.notes,
        )
