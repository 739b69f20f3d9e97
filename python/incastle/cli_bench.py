"""`incastle bench`: how fast the engine is here, and beside others."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  typer looks at it
from typing import Annotated

import typer

from incastle import terminal
from incastle.commands.options import AsJson  # noqa: TC001  typer looks at it
from incastle.errors import IncastleError

BENCH_EXAMPLES = (
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
        typer.Option("--all", help="All benchmarks, in turns with ns-2 and ns-3, several times."),
    ] = False,
    repeats: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="With --all: runs of each.", show_default="5"),
    ] = None,
    ns3: Annotated[
        Path | None,
        typer.Option(metavar="PROGRAM", help="With --all: what bench/versus_ns3 builds."),
    ] = None,
) -> None:
    """Measure packet-hops per second, each scenario in a process of its own.

    A packet-hop is a packet of any kind, ACKs too, received at the far end of a link. wall_s is the
    engine's work, from building the network to tables in memory, cpu_s its processor time;
    process_wall_s the whole process. With --all, rates are per second of processor time, ns-2 takes
    part where its program `ns` is installed, and what others did elsewhere is shown as such.
    """
    if everything:
        if scenarios:
            raise IncastleError("--all and --scenario exclude each other")
        _measure_all(repeats, ns3, as_json=as_json)
        return
    for name, value in (("--repeats", repeats), ("--ns3", ns3)):
        if value is not None:
            raise IncastleError(f"{name} goes with --all")
    from incastle.benchmarks import process as module  # noqa: PLC0415  only here
    from incastle.benchmarks.suite import SHORT  # noqa: PLC0415

    paths = [module.find(name) for name in scenarios or SHORT]
    rows = [module.measure(path) for path in paths]
    if as_json:
        terminal.print_json(rows)
    else:
        terminal.benchmarks(rows)


def _measure_all(repeats: int | None, ns3: Path | None, *, as_json: bool) -> None:
    from incastle import terminal_bench  # noqa: PLC0415  only here
    from incastle.benchmarks import engines, memory, suite, turns  # noqa: PLC0415

    with terminal_bench.progress() as show:
        measured = turns.measure(
            suite.SUITE, engines.installed(ns3), repeats or turns.REPEATS, show
        )
    if as_json:
        terminal.print_json([one.as_row() for one in measured])
    else:
        terminal_bench.suite(measured, memory.measure())
