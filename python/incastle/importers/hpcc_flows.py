"""Flows of HPCC's ns-3 simulator: one line for each transfer.

    2                            flows
    0 3 3 100 200000 2.000001    source, destination, priority, port, bytes, start in seconds

Sources: alibaba-edu/High-Precision-Congestion-Control, simulation/scratch/third.cc (ReadFlowInput),
simulation/mix/flow.txt and traffic_gen/. Later simulators differ in their columns. ConWeave's have
none for the port: five columns are read as those. m3's (kwzhao/High-Precision-Congestion-Control,
branch m3) have the number of the flow first: seven columns are read as those. Lines after the last
flow are not read there either.

Leaves out: ports, the numbers of flows, and without a configuration priorities (all flows are of
one class; reported where there are several).
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, NoReturn

from incastle.importers import quantities
from incastle.importers.model import DATA_PRIORITY, Transfer, Transfers
from incastle.units import PS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from incastle.importers.lines import Lines

_NUMBER, _PORT = "the number of the flow", "the port"
COLUMNS = [_NUMBER, "the source", "the destination", "the priority", _PORT, "the bytes"]
"""The columns before the start; the first and the port may be absent."""
ORDER = "[flow] source destination priority [port] bytes start_in_seconds"
_ENDS = rf"(\d{{1,15}})\s+({quantities.NUMBER})\s*"
ROWS = {
    width: re.compile(rf"\s*{number}(\d+)\s+(\d+)\s+(\d+)\s+{port}{_ENDS}", re.ASCII)
    for width, number, port in ((5, "", ""), (6, "", r"\d+\s+"), (7, r"\d+\s+", r"\d+\s+"))
}
"""A line of each number of columns: source, destination, priority, bytes, start."""
PRIORITIES = 8
LATEST = 8_640_000 * PS_PER_S
"""The longest run."""
STEP = 10_000
"""Lines from one report of progress to the next."""


def read(
    lines: Lines, report: Callable[[int], None] | None = None, *, with_priorities: bool = False
) -> Transfers:
    """Read flows; `report` is called with the number of those read.

    Without priorities, all flows have that of data.

    Raises:
        BrokenFile: it is no list of flows.

    """
    filled = lines.filled()
    top, header = next(filled, (1, ""))
    if len(header.split()) != 1:
        lines.fail(top, "expected one number: how many flows follow")
    count = lines.whole(top, header.strip(), "the number of flows", 1)
    rows: list[Transfer] = []
    width = 0
    priorities: dict[str, int] = {}
    for line, text in filled:
        if len(rows) == count:
            lines.note(line, f"what follows the {count} flows of the first line is not read")
            break
        width = width or len(text.split())
        found = ROWS[width].fullmatch(text) if width in ROWS else None
        if found is None:
            _explain(lines, line, text, width)
        rows.append(_transfer(lines, line, found, with_priorities=with_priorities))
        priorities.setdefault(found[3], line)
        if report and len(rows) % STEP == 0:
            report(len(rows))
    if len(rows) < count:
        lines.fail(lines.last, f"expected {count} flows as in line {top}, found {len(rows)}")
    if len(priorities) > 1 and not with_priorities:
        first, second, *_ = priorities
        lines.note(
            priorities[second],
            f"priorities {first} and {second}: all flows are of one traffic class",
        )
    _sort(lines, rows)
    return Transfers(lines.file, f"HPCC's flows {lines.file}", rows, notes=lines.notes)


def _transfer(lines: Lines, line: int, found: re.Match[str], *, with_priorities: bool) -> Transfer:
    start, count = quantities.seconds(found[5]), int(found[4])
    if start is None or start > LATEST:
        lines.fail(
            line,
            f'expected a start in seconds, whole picoseconds up to 8640000 s, found "{found[5]}"',
        )
    if not count:
        lines.fail(line, "a flow has at least 1 byte")
    priority = int(found[3]) if with_priorities else DATA_PRIORITY
    if priority >= PRIORITIES:
        lines.fail(line, f"priority {priority}: there are 0 to {PRIORITIES - 1}")
    return Transfer(start, int(found[1]), int(found[2]), count, line, priority=priority)


def _explain(lines: Lines, line: int, text: str, width: int) -> NoReturn:
    """Refuse a line that is no flow of this many columns, with its first field that is wrong."""
    fields = text.split()
    if len(fields) not in ROWS:
        lines.fail(line, f"expected a flow: {ORDER}, found {len(fields)} fields")
    if len(fields) != width:
        lines.fail(line, f"expected as many columns as above: {ORDER}")
    absent = {5: (_NUMBER, _PORT), 6: (_NUMBER,), 7: ()}[width]
    columns = (column for column in COLUMNS if column not in absent)
    for field, what in zip(fields, columns, strict=False):
        lines.whole(line, field, what)
    lines.fail(line, f'expected a start in seconds and at most 10^15 bytes, found "{text.strip()}"')


def _sort(lines: Lines, rows: list[Transfer]) -> None:
    """Put flows in the order of their starts, those of one instant as the file has them."""
    starts = [row.start for row in rows]
    late = next((i for i in range(1, len(rows)) if starts[i] < starts[i - 1]), None)
    if late is not None:
        lines.note(rows[late].line, "starts before the flow above it: sorted by start")
        rows.sort(key=itemgetter(0))
