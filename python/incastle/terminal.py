"""What the command line shows: tables on standard output, everything else on standard error.

Standard output carries results only, so that it can be piped; messages, warnings and progress bars
go to standard error, and a progress bar only to a terminal.
"""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import contextmanager, nullcontext, redirect_stdout
from math import isfinite, nan
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from incastle import completions
from incastle.completions import class_name, ends_of
from incastle.reproduction.confidence import interval
from incastle.units import DIGITS, between, si

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl

    from incastle import runner
    from incastle.errors import Diagnostic, ScenarioError
    from incastle.results import Result

MAX_PORTS = 6
"""Rows of the table of switch ports."""

CLOSE_DIGITS = 9
"""Of the ends of a measured interval that are the same in fewer."""

PIPE_WIDTH = 150
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
    """Print JSON, and nothing else, on standard output.

    Infinity, the upper end of what unfinished transfers could raise without limit, becomes null:
    JSON has no word for it.
    """
    print(json.dumps(_known_to_json(value), indent=2, allow_nan=False))


def _known_to_json(value: Any) -> Any:  # noqa: ANN401  any JSON
    if isinstance(value, dict):
        return {key: _known_to_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_known_to_json(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


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
    unfinished([outcome], console)
    _foreknown(outcome, console)


def _foreknown(outcome: Result, console: Console) -> None:
    """Repeat what was known before the run: figures are read with it in mind."""
    from incastle import terminal_load  # noqa: PLC0415  it draws with the tables of this module

    terminal_load.show(outcome.offered_load, console)
    terminal_load.drawn(outcome, console)
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
    goodput = ("goodput\nmean", "goodput\nmin to max")
    shown = ("group", "flows", "delivered", *goodput, "resent", "timeouts", "marks", "drops")
    table = aligned("Flows, whole run; goodput of each over its own time", *shown)
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
    """Show the FCTs of one run, or of several together."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frame = _observed(outcomes)
    if frame is None:
        return None
    in_time = pl.col("completed_s") <= pl.col("deadline_s")
    # What is still open at the end, with time left, is neither met nor missed.
    decided = pl.col("completed_s").is_not_null() | (pl.col("deadline_s") <= pl.col("end_s"))
    names = ("mean", "median", "p99")
    groups = frame.group_by("group", "kind", maintain_order=True).agg(
        *completions.counts(),
        *completions.statistics_of("fct_s", names, "", "_s"),
        (pl.col("deadline_s").is_not_null() & decided).sum().alias("wanted"),
        in_time.sum().alias("in_time"),
    )
    has_deadlines = groups["wanted"].sum() > 0
    columns = ("group", "kind", "begun", "unfinished", "mean", "median", "99th")
    deadlines = ["in time"] if has_deadlines else []
    title = f"Flow completion times, {_begun(outcomes)}{_together(outcomes)}"
    table = aligned(title, *columns, *deadlines)
    for row in groups.iter_rows(named=True):
        cells = [escape(row["group"]), escape(row["kind"]), *_counts(row)]
        cells += (_bounded(row, f"{name}_s", "s") for name in names)
        if has_deadlines:
            cells.append(f"{row['in_time']:,} of {row['wanted']:,}" if row["wanted"] else "")
        table.add_row(*cells)
    return table


def _observed(outcomes: Sequence[Result]) -> pl.DataFrame | None:
    """Give the transfers that count, of all runs together, with the end of each one's run."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frames = [
        one.observed.with_columns(pl.lit(one.totals["simulated_s"]).alias("end_s"))
        for one in outcomes
        if "transfers" in one.tables
    ]
    whole = pl.concat(frames) if frames else pl.DataFrame()
    return None if whole.is_empty() else whole


def _begun(outcomes: Sequence[Result]) -> str:
    """Say which transfers count."""
    if all(_is_whole(one) for one in outcomes):
        return "all transfers"
    return f"transfers that began from {_measured(*outcomes)}"


def _is_whole(outcome: Result) -> bool:
    """Tell whether the measured interval is the whole run."""
    totals = outcome.totals
    return not totals["measured_from_s"] and totals["measured_to_s"] == totals["simulated_s"]


def _counts(row: dict[str, Any]) -> list[str]:
    return [f"{row['begun']:,}", f"{row['unfinished']:,}" if row["unfinished"] else "-"]


def _bounded(row: dict[str, Any], column: str, unit: str) -> str:
    low, high = (row[end] for end in ends_of(column))
    return completions.shown(low, high, unit)


def slowdowns(*outcomes: Result) -> Table | None:
    """Show those of all transfers with an ideal FCT, where [measure] slowdown asks."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    frame = _observed(outcomes)
    if frame is None or "slowdown" not in frame.columns:
        return None
    # A round has no ideal FCT: it is many transfers.
    classes = completions.by_size(frame.filter(pl.col("kind") != "round"))
    if classes.is_empty():
        return None
    columns = ("group", "kind", "size", "begun", "unfinished", "median", "95th", "99th", "99.9th")
    title = f"Slowdowns (FCT / ideal FCT), {_begun(outcomes)}{_together(outcomes)}"
    table = aligned(title, *columns)
    for row in classes.iter_rows(named=True):
        names = ("median", "p95", "p99", "p99_9")
        table.add_row(
            *(escape(row["group"]), escape(row["kind"]), class_name(row["least_bytes"])),
            *_counts(row),
            *(_bounded(row, f"slowdown_{name}", "") for name in names),
        )
    return table


def unfinished(outcomes: Sequence[Result], console: Console) -> None:
    """Say how many transfers were unfinished, or that none counts, and what can be done."""
    frame = _observed(outcomes)
    told = _none_began(outcomes) if frame is None else completions.unfinished_note(frame)
    if told is not None:
        console.print(f"\n{escape(told)}", soft_wrap=True)


def _none_began(outcomes: Sequence[Result]) -> str | None:
    """Say why there are no FCTs, where there are transfers."""
    count = sum(len(one.tables.get("transfers", ())) for one in outcomes)
    if not count:
        return None
    return (
        f"no flow completion times: none of {count:,} transfers began in the measured interval, "
        f"{_measured(*outcomes)} ([measure] warmup to until)"
    )


def _together(outcomes: Sequence[Result]) -> str:
    return f", {len(outcomes)} runs together" if len(outcomes) > 1 else ""


def _ports(outcome: Result) -> Table | None:
    ports = _switch_ports(outcome)
    if ports is None or ports.is_empty():
        return None
    shown = ports.sort("mean_queue_packets", descending=True).head(MAX_PORTS)
    of_all = f", {len(shown)} of {len(ports)}" if len(shown) < len(ports) else ""
    whole = "" if _is_whole(outcome) else "; marks and drops of the whole run"
    table = aligned(
        f"Switch ports, {_measured(outcome)}, longest queues first{of_all}{whole}",
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


def _measured(*outcomes: Result) -> str:
    """Name the time that means and shares cover; of several runs the latest end."""
    totals = max((one.totals for one in outcomes), key=lambda one: one["measured_to_s"])
    begin, end = totals["measured_from_s"], totals["measured_to_s"]
    alike = si(begin, "s") == si(end, "s")
    return between(begin, end, "s", CLOSE_DIGITS if alike else DIGITS)


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
        names = ("delivered_bytes", *counters)
        columns = [[one.totals.get(name, 0) for one in results] for name in names]
        for word, of in (("min", min), ("median", median), ("max", max), ("mean", fmean)):
            most, *counts = (of(values) for values in columns)
            cells = (f"{count:,.6g}" for count in counts)
            style = "bold" if word == "median" else ""
            table.add_row(word, si(most, "B"), *cells, "", style=style)
        table.add_row("95 % of mean", *_of_means(columns), "")
    console = output()
    console.print(table)
    for more in (_fairness(results), _transfers(*results), slowdowns(*results)):
        if more is not None:
            console.print(more)
    unfinished(results, console)
    _foreknown(results[0], console)


def _of_means(columns: Sequence[Sequence[float]]) -> list[str]:
    """Write the 95 % intervals of the means over the seeds: of bytes, then of counts."""
    (low, high), *counts = (interval(values) or (nan, nan) for values in columns)
    return [between(low, high, "B"), *(f"{low:,.4g} to {high:,.4g}" for low, high in counts)]


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
    table = aligned(title, "group", "flows", "mean", "median", "min to max")
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
