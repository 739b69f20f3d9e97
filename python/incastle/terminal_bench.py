"""What `incastle bench --all` shows: a table of all benchmarks, ours beside others, and growth."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.markup import escape

from incastle import terminal
from incastle.benchmarks.rows import GROWTH, Row, exponents, rows
from incastle.benchmarks.suite import PUBLISHED_SOURCE
from incastle.units import si

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from incastle.benchmarks.memory import Cost
    from incastle.benchmarks.turns import Measured


@contextmanager
def progress() -> Iterator[Callable[[int, int, str], None] | None]:
    """Give a callable that draws a bar, or None where nobody would see it."""
    with terminal.bars() as shown:
        if shown is None:
            yield None
            return
        task = shown.add_task("bench", total=1.0, runs="")

        def show(finished: int, total: int, name: str) -> None:
            shown.update(task, completed=finished / total, runs=escape(name))

        yield show


def suite(measured: Sequence[Measured], costs: Sequence[Cost]) -> None:
    """Show the table, and below it how processor time grows and what memory is taken by."""
    table = terminal.aligned(
        "Speed, per second of processor time",
        *("benchmark", "on", "million\npacket-hops/s", "least to\ngreatest"),
        *("Incastle\nfaster by", "goal", "processor\ntime", "peak\nmemory"),
    )
    table.columns[1].justify = "left"
    for row in rows(measured):
        table.add_row(*(escape(cell) for cell in cells(row)))
    console = terminal.output()
    console.print(table)
    for name, found in exponents(measured).items():
        console.print(
            f"{GROWTH[name].words}: processor time grows as packet-hops to the {found:.2f}"
        )
    for cost in costs:
        goal = si(cost.of.goal, "B")
        console.print(f"{cost.of.words} takes {si(cost.bytes, 'B')} of memory, goal {goal}")
    console.print(f"* not measured in this run: {PUBLISHED_SOURCE}", soft_wrap=True)


def cells(row: Row) -> tuple[str, ...]:
    """Give the texts of a row."""
    spread = row.rate
    several = spread is not None and spread.least < spread.greatest
    return (
        row.benchmark.name,
        row.engine + ("" if row.measured else " *"),
        million(row.median),
        f"{million(spread.least)} to {million(spread.greatest)}" if several and spread else "",
        "" if row.ratio is None else f"{row.ratio:.3g} times",
        "" if row.goal is None else million(row.goal),
        "" if row.cpu_s is None else si(row.cpu_s, "s"),
        si(row.memory_bytes, "B") if row.memory_bytes else "",
    )


def million(value: float) -> str:
    """Write a rate in millions, with three digits."""
    return f"{value / 1e6:.3g}"
