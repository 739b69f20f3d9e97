"""Triggers of htsim: connections that begin when others are over.

A connection may fire one trigger when its last byte is acknowledged (`send_done_trigger`),
another when its receiver has it all (`recv_done_trigger`), and may itself be started by one. A
`oneshot` starts all its connections and must not fire twice; a `barrier` does so when it has fired
`count` times, no more; a `multishot` starts one connection each time, in the order of the file.
Here a trigger is an event count, and all three are values of it that a transfer waits for.

Source: Broadcom/csg-htsim, sim/trigger.cpp; sim/datacenter/connection_matrix.cpp (load) and
main_ndp.cpp.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from incastle.importers.dependences import begins
from incastle.importers.lines import shown
from incastle.importers.model import Tie, Transfer, waits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from incastle.importers.lines import Lines

KINDS = ("oneshot", "multishot", "barrier")
WORDS = ("trigger", "send_done_trigger", "recv_done_trigger")
"""Words of a connection that name a trigger."""


class Trigger(NamedTuple):
    """A trigger: its kind, how often it fires before it starts all that waits, and its line."""

    kind: str
    fires: int
    line: int


class Wires(NamedTuple):
    """The triggers of a connection, 0 for none: which starts it, which it fires."""

    start: int
    acknowledged: int
    arrived: int


@dataclass
class Triggers:
    """The triggers of a file, and what its connections have to do with them."""

    lines: Lines
    by_number: dict[int, Trigger] = field(default_factory=dict)
    wires: dict[int, Wires] = field(default_factory=dict)
    """By the line of a connection."""

    def read(self, line: int, words: Sequence[str]) -> None:
        """Read what follows the word `trigger` at the beginning of a line."""
        given: dict[str, int] = {}
        kinds: list[str] = []
        rest = iter(words)
        for word in rest:
            if word in ("id", "count"):
                given[word] = self.lines.whole(line, next(rest, ""), word, 1)
            elif word in KINDS:
                kinds.append(word)
            else:
                known = ", ".join(("id", "count", *KINDS))
                self.lines.fail(line, f"unknown word {shown(word)}; known are {known}")
        if len(kinds) != 1 or "id" not in given:
            self.lines.fail(line, f"expected trigger id N and one of {', '.join(KINDS)}")
        number, (kind,) = given["id"], kinds
        if number in self.by_number:
            first = self.by_number[number].line
            self.lines.fail(line, f"trigger {number} is given twice (the first: line {first})")
        if kind == "barrier" and "count" not in given:
            self.lines.fail(line, f"trigger {number}: a barrier needs count N: how often it fires")
        self.by_number[number] = Trigger(kind, given["count"] if kind == "barrier" else 1, line)

    def wire(self, line: int, ends: str, given: Mapping[str, str]) -> None:
        """Take the triggers of a connection."""
        if "trigger" in given:
            self.lines.whole(line, given["trigger"], "trigger", 1)
            if "start" in given:
                self.lines.fail(line, f"{ends} has both a start and a trigger: give one of the two")
            if "id" not in given:
                self.lines.fail(line, f"expected id N in {ends}, which a trigger starts")
        wires = Wires(*(self.lines.whole(line, given.get(word, "0"), word) for word in WORDS))
        if any(wires):
            self.wires[line] = wires

    def tied(self, rows: Sequence[Transfer]) -> list[Transfer]:
        """Return the transfers with what they wait for, those that begin at an instant first.

        Those that never begin are left out, and reported.
        """
        for line, wires in self.wires.items():
            for number in filter(None, wires):
                if number not in self.by_number:
                    self.lines.fail(line, f"no line describes trigger {number}")
        started: Counter[int] = Counter()
        for wire in self.wires.values():
            started[wire.start] = 0
        del started[0]
        tied = [self._tied(row, started) for row in rows]
        begun = [begin is not None for begin in begins(tied, lambda _: 0)]
        fired = self._fired(row for row, begins in zip(tied, begun, strict=True) if begins)
        for row, begins_ever in zip(tied, begun, strict=True):
            if not begins_ever:
                number = self.wires[row.line].start
                self.lines.note(
                    row.line,
                    f"{row.source}->{row.destination} never begins: trigger {number} (line "
                    f"{self.by_number[number].line}) fires {fired[number]} times; left out",
                )
        rows = [row for row, begins_ever in zip(tied, begun, strict=True) if begins_ever]
        if not rows:
            self.lines.fail(self.lines.last, "no connection begins: none has a start")
        return sorted(rows, key=lambda row: (waits(row), 0 if waits(row) else row.start))

    def _fired(self, rows: Iterable[Transfer]) -> Counter[int]:
        """Count how often each trigger fires; refuse one that htsim does not let fire as often."""
        fired: Counter[int] = Counter()
        for row in rows:
            wires = self.wires.get(row.line)
            if wires is None or row.bytes is None:
                continue
            for number in filter(None, (wires.acknowledged, wires.arrived)):
                fired[number] += 1
                trigger = self.by_number[number]
                if trigger.kind != "multishot" and fired[number] > trigger.fires:
                    often = "once" if trigger.fires == 1 else f"{trigger.fires} times"
                    self.lines.fail(
                        row.line,
                        f"{row.source}->{row.destination} fires trigger {number}, a {trigger.kind}"
                        f" (line {trigger.line}), which has fired {often} before",
                    )
        return fired

    def _tied(self, row: Transfer, started: Counter[int]) -> Transfer:
        """Return a transfer with its counts; `started` counts the connections of each trigger.

        A trigger that starts none is no count.
        """
        wires = self.wires.get(row.line)
        if wires is None:
            return row
        start, acknowledged, arrived = wires
        if start and row.bytes is None:
            self.lines.fail(
                row.line,
                f"{row.source}->{row.destination} waits for trigger {start} and has no end: give "
                "it a size",
            )
        after = None
        if start:
            started[start] += 1
            after = (str(start), self._value(start, started[start]))
        fires = (str(number) if number in started else None for number in (acknowledged, arrived))
        tie = Tie(after, *fires)
        return row._replace(tie=tie) if any(tie) else row

    def _value(self, number: int, place: int) -> int:
        """Return how often a trigger fires before it starts the connection at a place, from 1."""
        trigger = self.by_number[number]
        return {"oneshot": 1, "barrier": trigger.fires, "multishot": place}[trigger.kind]
