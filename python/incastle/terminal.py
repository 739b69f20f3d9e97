"""What the command line shows: tables on standard output, everything else on standard error.

Standard output carries results only, so that it can be piped; messages, warnings and progress bars
go to standard error, and a progress bar only to a terminal.
"""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import contextmanager, nullcontext, redirect_stdout
from statistics import median
from typing import TYPE_CHECKING, Any, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from incastle.completions import by_size, class_name, quantile_of
from incastle.units import between, si

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl

    from incastle import runner
    from incastle.errors import Diagnostic, ScenarioError
    from incastle.results import Result

MAX_PORTS = 6
"""Rows of the table of switch ports."""

PIPE_WIDTH = 120
"""Columns where there is no terminal to ask."""


def output() -> Console:
    """Give standard output, made anew because tests and pipes replace it."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def errors() -> Console:
    """Give standard error."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def error(message: str) -> None:
    """Say what is wrong."""
    errors().print(f"[bold red]error:[/] {escape(message)}")


def note(message: str) -> None:
    """Say something in passing."""
    errors().print(escape(message))


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Say what the package warns of, without the line of ours; show other warnings as ever."""
    if category is UserWarning and file is None:
        errors().print(f"[yellow]warning:[/] {escape(str(message))}")
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
        (file or sys.stderr).write(text)


def diagnostics(found: Sequence[Diagnostic]) -> None:
    """Show mistakes and warnings, each with its place and what would be right."""
    console = errors()
    for one in found:
        colour = "yellow" if one.severity == "warning" else "red"
        console.print(
            f"[bold]{escape(one.place)}:[/] [{colour}]{one.severity}:[/] {escape(one.message)}"
        )
        for line in (one.help or "").splitlines():
            console.print(f"    {escape(line)}")


def scenario_error(broken: ScenarioError) -> None:
    """Show all mistakes of a scenario and their number."""
    diagnostics(broken.diagnostics)
    count = sum(one.severity != "warning" for one in broken.diagnostics)
    if count > 1:
        note(f"{count} mistakes")


def print_json(value: object) -> None:
    """Print JSON, and nothing else, on standard output."""
    print(json.dumps(value, indent=2))


@contextmanager
def json_alone(as_json: bool) -> Iterator[None]:
    """Send what controllers print to standard error where standard output has JSON alone."""
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        yield


@contextmanager
def bars() -> Iterator[Progress | None]:
    """Give room for bars with the time left, or None where nobody would see them."""
    console = errors()
    if not (console.is_terminal and sys.stderr.isatty()):
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    left = (TimeRemainingColumn(elapsed_when_finished=True), TextColumn("{task.fields[runs]}"))
    with Progress(*columns, *left, console=console, transient=True) as shown:
        yield shown


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[runner.Progress], None] | None]:
    """Give a callable that draws a bar with the time left, or None where nobody would see it."""
    with bars() as shown:
        if shown is None:
            yield None
            return
        task = shown.add_task(escape(what), total=1.0, runs="")

        def show(state: runner.Progress) -> None:
            runs = f"{state.finished} of {state.total} runs" if state.total > 1 else ""
            shown.update(task, completed=state.fraction, runs=runs)

        yield show


def aligned(title: str | None, *columns: str) -> Table:
    """Make a table whose first column is text and whose others are numbers."""
    table = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title=None if title is None else f"\n{title}",
        title_justify="left",
        title_style="bold",
    )
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left", overflow="fold")
    return table


def result(outcome: Result) -> None:
    """Show one run: flows by group, transfers by group, the busiest switch ports, warnings."""
    console = output()
    console.print(_headline(outcome))
    for table in (_flows(outcome), _transfers(outcome), slowdowns(outcome), _ports(outcome)):
        if table is not None:
            console.print(table)
    _warnings(outcome, console)


def _warnings(outcome: Result, console: Console) -> None:
    """Repeat in short what was told before the run: figures are read with it in mind."""
    if outcome.warnings:
        console.print("\n[bold]Warnings[/]")
    for warning in outcome.warnings:
        console.print(escape(warning), soft_wrap=True)


def _headline(outcome: Result) -> str:
    simulated, wall = float(outcome.totals["simulated_s"]), outcome.wall_s
    hops = outcome.totals.get("packet_hops", 0) / wall if wall > 0 else 0.0
    state = ", [yellow]interrupted[/]" if outcome.interrupted else ""
    lost = int(outcome.totals.get("failure_drops", 0))
    failed = f"\n[yellow]{lost:,} packets lost on failed links[/]" if lost else ""
    return (
        f"[bold]{escape(outcome.name)}[/]  seed {outcome.seed}  digest {outcome.digest}{state}\n"
        f"{si(simulated, 's')} simulated in {si(wall, 's')}, {hops / 1e6:.3g} million packet-hops/s"
        f"{failed}"
    )


def _flows(outcome: Result) -> Table | None:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    if "flows" not in outcome.tables or outcome.flows.is_empty():
        return None
    counters = ("retransmissions", "timeouts", "marks", "drops")
    groups = outcome.flows.group_by("group", maintain_order=True).agg(
        pl.len().alias("flows"),
        pl.col("delivered_bytes").sum(),
        pl.col("goodput_bit_s").mean().alias("mean"),
        pl.col("goodput_bit_s").min().alias("least"),
        pl.col("goodput_bit_s").max().alias("greatest"),
        *(pl.col(name).sum() for name in counters),
    )
    goodput = ("goodput\nmean", "goodput\nleast to greatest")
    shown = ("group", "flows", "delivered", *goodput, "resent", "timeouts", "marks", "drops")
    table = aligned("Flows", *shown)
    for row in groups.iter_rows(named=True):
        numbers = (f"{row[name]:,}" for name in counters)
        table.add_row(
            escape(row["group"]),
            f"{row['flows']:,}",
            si(row["delivered_bytes"], "B"),
            si(row["mean"], "bit/s"),
            between(row["least"], row["greatest"], "bit/s") if row["flows"] > 1 else "",
            *numbers,
        )
    return table


def _transfers(*outcomes: Result) -> Table | None:
    """Show the completion times of all transfers of one run, or of several together."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frames = [
        one.transfers.with_columns(pl.lit(one.totals["simulated_s"]).alias("end_s"))
        for one in outcomes
        if "transfers" in one.tables
    ]
    if not frames or all(frame.is_empty() for frame in frames):
        return None
    took = pl.col("completed_s") - pl.col("started_s")
    in_time = pl.col("completed_s") <= pl.col("deadline_s")
    # What is still open at the end, with time left, is neither met nor missed.
    decided = pl.col("completed_s").is_not_null() | (pl.col("deadline_s") <= pl.col("end_s"))
    groups = (
        pl.concat(frames)
        .group_by("group", "kind", maintain_order=True)
        .agg(
            pl.len().alias("begun"),
            pl.col("completed_s").is_not_null().sum().alias("completed"),
            took.mean().alias("mean"),
            took.median().alias("median"),
            quantile_of(took, 0.99).alias("p99"),
            (pl.col("deadline_s").is_not_null() & decided).sum().alias("wanted"),
            in_time.sum().alias("in_time"),
        )
    )
    has_deadlines = groups["wanted"].sum() > 0
    table = aligned(
        f"Completion times{_together(outcomes)}",
        "group",
        "kind",
        "begun",
        "completed",
        "mean",
        "median",
        "99th",
        *(["in time"] if has_deadlines else []),
    )
    for row in groups.iter_rows(named=True):
        times = (si(row[name], "s") for name in ("mean", "median", "p99"))
        counts = (f"{row[name]:,}" for name in ("begun", "completed"))
        cells = [escape(row["group"]), escape(row["kind"]), *counts, *times]
        if has_deadlines:
            cells.append(f"{row['in_time']:,} of {row['wanted']:,}" if row["wanted"] else "")
        table.add_row(*cells)
    return table


def slowdowns(*outcomes: Result) -> Table | None:
    """Show those of all transfers with an ideal time, where [measure] slowdown asks."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frames = [one.transfers for one in outcomes if "transfers" in one.tables]
    if not frames or "slowdown" not in frames[0].columns:
        return None
    # A round has no ideal time: it is many transfers.
    classes = by_size(pl.concat(frames).filter(pl.col("kind") != "round"))
    if classes.is_empty():
        return None
    columns = ("group", "kind", "size", "begun", "completed", "median", "95th", "99th", "99.9th")
    table = aligned(f"Slowdowns (completion time / ideal time){_together(outcomes)}", *columns)
    for row in classes.iter_rows(named=True):
        values = (row[f"slowdown_{name}"] for name in ("median", "p95", "p99", "p99_9"))
        table.add_row(
            *(escape(row["group"]), escape(row["kind"]), class_name(row["least_bytes"])),
            *(f"{row[name]:,}" for name in ("begun", "completed")),
            *("-" if one is None else f"{one:.3g}" for one in values),
        )
    return table


def _together(outcomes: Sequence[Result]) -> str:
    return f", {len(outcomes)} runs together" if len(outcomes) > 1 else ""


def _ports(outcome: Result) -> Table | None:
    ports = _switch_ports(outcome)
    if ports is None or ports.is_empty():
        return None
    shown = ports.sort("mean_queue_packets", descending=True).head(MAX_PORTS)
    of_all = f", {len(shown)} of {len(ports)}" if len(shown) < len(ports) else ""
    table = aligned(
        f"Switch ports, longest queues first{of_all}",
        *("port", "utilisation", "mean queue", "longest", "marks", "drops"),
    )
    for row in shown.iter_rows(named=True):
        table.add_row(
            escape(row["port"]),
            f"{100 * row['utilisation']:.1f} %",
            f"{row['mean_queue_packets']:.1f} packets",
            *(f"{row[name]:,.0f}" for name in ("max_queue_packets", "marks", "drops")),
        )
    return table


def _switch_ports(outcome: Result) -> pl.DataFrame | None:
    """Give the rows of `links` of switches where packets waited, or of their busiest port."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    if "links" not in outcome.tables or "queues" not in outcome.tables:
        return None
    ports = outcome.switch_ports
    queued = ports.filter((pl.col("max_queue_packets") > 0) | (pl.col("drops") > 0))
    return queued if len(queued) else ports.sort("utilisation", descending=True).head(1)


def seeds(results: Sequence[Result]) -> None:
    """Show runs of one scenario that differ by their seeds.

    Below them the median and the range of each column, and the completion times of all together.
    """
    counters = ("retransmissions", "timeouts", "marks", "drops")
    shown = ("seed", "delivered", "resent", "timeouts", "marks", "drops", "digest")
    table = aligned(f"{results[0].name}, by seed", *shown)
    for one in results:
        numbers = (f"{one.totals.get(name, 0):,}" for name in counters)
        delivered = si(one.totals.get("delivered_bytes", 0), "B")
        table.add_row(str(one.seed), delivered, *numbers, one.digest)
    if len(results) > 1:
        table.add_section()
        for word, of in (("least", min), ("median", median), ("greatest", max)):
            totals = {
                name: of([one.totals.get(name, 0) for one in results])
                for name in ("delivered_bytes", *counters)
            }
            delivered = si(totals["delivered_bytes"], "B")
            counts = (f"{totals[name]:,.10g}" for name in counters)
            table.add_row(word, delivered, *counts, "", style="bold" if word == "median" else "")
    console = output()
    console.print(table)
    for more in (_fairness(results), _transfers(*results), slowdowns(*results)):
        if more is not None:
            console.print(more)
    _warnings(results[0], console)


def _fairness(results: Sequence[Result]) -> Table | None:
    """Show, by group, the goodput of its flows in all runs: their mean, the least, the greatest.

    Flows that complete have completion times instead.
    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    flows = pl.concat(one.flows for one in results if "flows" in one.tables)
    goodput = pl.col("goodput_bit_s")
    groups = (
        flows.filter(pl.col("completed_s").is_null().any().over("group"))
        .group_by("group", maintain_order=True)
        .agg(
            pl.len().alias("flows"),
            goodput.mean().alias("mean"),
            goodput.median().alias("median"),
            goodput.min().alias("least"),
            goodput.max().alias("greatest"),
        )
    )
    if groups.is_empty():
        return None
    title = f"Goodput of flows, {len(results)} run{'s' if len(results) > 1 else ''} together"
    table = aligned(title, "group", "flows", "mean", "median", "least to greatest")
    for row in groups.iter_rows(named=True):
        middle = (si(row[name], "bit/s") for name in ("mean", "median"))
        spread = between(row["least"], row["greatest"], "bit/s")
        table.add_row(escape(row["group"]), f"{row['flows']:,}", *middle, spread)
    return table


def benchmarks(rows: Sequence[dict[str, Any]]) -> None:
    """Show what `bench` measured."""
    table = aligned(
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
    output().print(table)


def catalogue(entries: Sequence[tuple[str, str]], title: str | None) -> None:
    """Show names and what they stand for."""
    if title is not None:
        output().print(f"[bold underline]{title}[/]")
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for name, description in entries:
        table.add_row(escape(name), escape(description))
    output().print(table)
    if title is not None:
        output().print()
