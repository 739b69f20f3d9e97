"""Results of HPCC's ns-3 simulator: flows with their FCTs, and FCTs of a random case over runs.

flow,src,dst,size_B,start_ns,fct_ns,ideal_ns        fct.csv, shardN.csv; an FCT may be empty
case,rng_run,finished,...,median_fct_ns,last_fct_ns,...         spread-dcqcn.csv
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from incastle.importers.lines import Lines
from incastle.importers.model import DATA_PRIORITY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLOW_COLUMNS = ("flow", "src", "dst", "size_B", "start_ns", "fct_ns", "ideal_ns")
SPREAD_COLUMNS = ("case", "median_fct_ns", "last_fct_ns")
"""Those that are used; others may be there."""


class Flow(NamedTuple):
    """A flow and its FCT in the other simulator: nanoseconds and bytes.

    An FCT counts from the start to the arrival of the last byte at the receiver; None where the
    flow was not finished at the end of the simulation.
    """

    number: int
    source: int
    destination: int
    bytes: int
    start_ns: int
    fct_ns: int | None
    ideal_ns: int
    line: int = 0
    priority: int = DATA_PRIORITY


class Spread(NamedTuple):
    """Median and last FCT of a case, of each of several random runs there."""

    medians_ns: tuple[int, ...]
    lasts_ns: tuple[int, ...]


def read_flows(path: Path) -> list[Flow]:
    """Read flows with their FCTs.

    Raises:
        OSError: the file cannot be read.
        BrokenFile: it is no such table.

    """
    lines = Lines.read(path)
    flows = []
    for line, cells in _rows(lines, FLOW_COLUMNS):
        values = dict(zip(FLOW_COLUMNS, cells, strict=True))
        fct = values.pop("fct_ns")
        least = {"size_B": 1, "ideal_ns": 1}
        numbers = {
            name: lines.whole(line, text, name, least.get(name, 0)) for name, text in values.items()
        }
        number, source, destination, size, start, ideal = numbers.values()
        if source == destination:
            lines.fail(line, f"host {source} sends to itself")
        done = lines.whole(line, fct, "fct_ns", 1) if fct else None
        flows.append(Flow(number, source, destination, size, start, done, ideal, line))
    if not flows:
        lines.fail(lines.last, "expected at least one flow")
    return flows


def read_spread(path: Path) -> dict[str, Spread]:
    """Read median and last FCTs over random runs, by the case.

    Raises:
        OSError: the file cannot be read.
        BrokenFile: it is no such table.

    """
    lines = Lines.read(path)
    runs: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for line, (case, median, last) in _rows(lines, SPREAD_COLUMNS):
        runs[case].append(
            (
                lines.whole(line, median, "median_fct_ns", 1),
                lines.whole(line, last, "last_fct_ns", 1),
            )
        )
    return {
        case: Spread(*(tuple(column) for column in zip(*pairs, strict=True)))
        for case, pairs in runs.items()
    }


def _rows(lines: Lines, columns: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of these columns, in their order, with the number of the line."""
    filled = lines.filled()
    top, header = next(filled, (1, ""))
    names = [name.strip() for name in header.split(",")]
    lacking = [name for name in columns if name not in names]
    if lacking:
        lines.fail(top, f"expected the columns {','.join(columns)}; {lacking[0]} is missing")
    places = [names.index(name) for name in columns]
    for line, text in filled:
        cells = [cell.strip() for cell in text.split(",")]
        if len(cells) != len(names):
            lines.fail(line, f"expected {len(names)} cells as in line {top}, found {len(cells)}")
        yield line, [cells[place] for place in places]
