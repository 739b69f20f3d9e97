"""`incastle bench`: how fast the engine is here, and compared with others."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path  # noqa: TC003  typer looks at it
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from incastle import terminal
from incastle.commands.options import AsJson  # noqa: TC001  typer looks at it
from incastle.errors import IncastleError
from incastle.units import si

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from incastle.benchmarks.memory import Cost
    from incastle.benchmarks.rows import Row
    from incastle.benchmarks.turns import Measured

EXAMPLES = (
    "incastle bench",
    "incastle bench --json",
    "incastle bench --scenario fat-tree-128 --scenario my.toml",
    "incastle bench --all",
)


def bench(
    as_json: AsJson = False,
    scenarios: Annotated[
        list[str] | None,
        typer.Option(
            "--scenario",
            metavar="NAME|FILE",
            help="A benchmark, such as star-20 or fat-tree-1024, or a file. Repeatable.",
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="All benchmarks, several times, alternating with ns-2 and ns-3."
        ),
    ] = False,
    repeats: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="With --all: runs of each benchmark.", show_default="5"
        ),
    ] = None,
    ns3: Annotated[
        Path | None,
        typer.Option(
            metavar="PROGRAM", help="With --all: the ns-3 program that bench/versus_ns3 builds."
        ),
    ] = None,
) -> None:
    """Measure the speed of the engine in packet-hops per second.

    A packet-hop is one packet, data or ACK, that crosses one link. Each scenario runs in a separate
    process. wall_s and cpu_s are the engine's time, from building the network to tables in memory;
    process_wall_s is the time of the whole process. With --all, rates are per second of processor
    time, those of two threads per second of wall time; ns-2 is included if its program `ns` is
    installed, and published figures are marked.
    """
    if everything:
        if scenarios:
            raise IncastleError("--all and --scenario cannot be used together")
        _measure_all(repeats, ns3, as_json=as_json)
        return
    for name, value in (("--repeats", repeats), ("--ns3", ns3)):
        if value is not None:
            raise IncastleError(f"{name} needs --all")
    from incastle.benchmarks import process as module  # noqa: PLC0415  only here
    from incastle.benchmarks.suite import SHORT  # noqa: PLC0415

    paths = [module.find(name) for name in scenarios or SHORT]
    rows = [module.measure(path) for path in paths]
    if as_json:
        terminal.print_json(rows)
    else:
        _show(rows)


def _measure_all(repeats: int | None, ns3: Path | None, *, as_json: bool) -> None:
    from incastle.benchmarks import engines, memory, suite, turns  # noqa: PLC0415

    with progress() as show:
        measured = turns.measure(
            suite.SUITE, engines.installed(ns3), repeats or turns.REPEATS, show
        )
    if as_json:
        terminal.print_json([one.as_row() for one in measured])
    else:
        show_suite(measured, memory.measure())


def _show(rows: Sequence[dict[str, Any]]) -> None:
    """Show what `bench` measured."""
    table = terminal.aligned(
        "Speed of the engine",
        *("scenario", "packet-hops\nper second", "data packets\nper second", "events"),
        *("wall", "whole\nprocess", "peak\nmemory"),
    )
    for row in rows:
        table.add_row(
            escape(row["scenario"]),
            f"{row['packet_hops_per_s'] / 1e6:.1f} M",
            f"{row['data_packets_per_s'] / 1e6:.2f} M",
            f"{row['events'] / 1e6:.3g} M",
            si(row["wall_s"], "s"),
            si(row["process_wall_s"], "s"),
            si(row["peak_memory_bytes"], "B"),
        )
    terminal.output().print(table)


@contextmanager
def progress() -> Iterator[Callable[[int, int, str], None] | None]:
    """Yield a callable that draws a bar, or None where nobody would see it."""
    with terminal.bars() as shown:
        if shown is None:
            yield None
            return
        task = shown.add_task("bench", total=1.0, runs="")

        def show(finished: int, total: int, name: str) -> None:
            shown.update(task, completed=finished / total, runs=escape(name))

        yield show


def show_suite(measured: Sequence[Measured], costs: Sequence[Cost]) -> None:
    """Show the table, and below it how processor time grows and what memory is taken by."""
    from incastle.benchmarks.rows import GROWTH, exponents, rows  # noqa: PLC0415  slow to import
    from incastle.benchmarks.suite import PUBLISHED_SOURCE  # noqa: PLC0415

    table = terminal.aligned(
        "Speed, per second of processor time; with 2 threads, of wall time",
        *("benchmark", "preset", "on", "million\npacket-hops/s", "min to\nmax"),
        *("Incastle\nfaster by", "goal", "processor\ntime", "peak\nmemory"),
    )
    for column in table.columns[1:3]:
        column.justify = "left"
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
    """Return the cells of a row."""
    spread = row.rate
    several = spread is not None and spread.minimum < spread.maximum
    return (
        row.benchmark.name,
        row.benchmark.preset,
        row.engine + ("" if row.measured else " *"),
        million(row.median),
        f"{million(spread.minimum)} to {million(spread.maximum)}" if several and spread else "",
        "" if row.ratio is None else f"{row.ratio:.3g} times",
        "" if row.goal is None else million(row.goal),
        "" if row.cpu_s is None else si(row.cpu_s, "s"),
        si(row.memory_bytes, "B") if row.memory_bytes else "",
    )


def million(value: float) -> str:
    """Write a rate in millions, with three digits."""
    return f"{value / 1e6:.3g}"
