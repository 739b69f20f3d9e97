"""`incastle run`: simulate a scenario, save its result and show it."""

from __future__ import annotations

from math import nan
from pathlib import Path  # noqa: TC003  typer looks at it
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.markup import escape

from incastle import offered_load, pauses, terminal
from incastle.analysis import failed_pairs, first_rto
from incastle.analysis.confidence import interval
from incastle.commands.options import (
    MAX_SEED,
    RESULTS,
    AsJson,
    ScenarioFile,
    Settings,
    load_scenario,
)
from incastle.display import tables
from incastle.errors import Interrupted
from incastle.interrupts import INTERRUPTED
from incastle.runner import run_many, why_alone
from incastle.storage.files import recover
from incastle.storage.results import (
    CAPTURES,
    check_folder_of_seeds,
    holds,
    may_hold,
    prepare_place,
)
from incastle.terminal import aligned
from incastle.units import between, si
from incastle.worlds.command import (
    Dilate,
    Real,
    Repeat,
    World,
    WorldOption,
    check_world,
    run_real,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from rich.console import Console
    from rich.table import Table

    from incastle.results import Result
    from incastle.scenario import Scenario

EXAMPLES = (
    "incastle run examples/incast.toml",
    "incastle run my.toml --set transport.congestion=new-reno --set 'run.duration=100 ms'",
    "incastle run my.toml --seeds 10 --out results/ten",
    "incastle run my.toml --json --out results/one > summary.json",
    "sudo incastle run my.toml --set transport.congestion=cubic --world linux --dilate 10",
)

MAX_PORTS = 6
"""Rows of the table of switch ports."""


def run(
    scenario: ScenarioFile,
    settings: Settings = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=MAX_SEED,
            help="Seed of the first run.",
            show_default="run.seed of the scenario",
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Run N consecutive seeds, in parallel."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Directory of the result; with --seeds, one subdirectory per seed.",
            show_default="results/NAME-DIGEST",
        ),
    ] = None,
    as_json: AsJson = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing result.")] = False,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of concurrent runs; for a single run, of partitions of its network.",
            show_default="all cores; 1",
        ),
    ] = None,
    world: WorldOption = World.SIMULATED,
    dilate: Dilate = None,
    repeat: Repeat = None,
) -> None:
    """Simulate a scenario and save the result.

    The result is a directory: scenario.toml with every default written out, summary.json, and one
    Parquet file per table. An existing directory is replaced only with --force; if it holds the
    same result already, nothing is written. With --seeds, each seed gets a directory seed-N.
    With --json, the summary is printed as an object, with --seeds as a list of objects.
    With --world linux or sockets the network runs in real time, between network namespaces. Its
    hosts are the kernel's TCP, or our transport on UDP sockets. It needs root.
    """
    check_world(world, {"--dilate": dilate, "--repeat": repeat}, {"--seeds": seeds})
    first = load_scenario(scenario, settings, seed)
    runs = [first.with_seed(first.seed + index) for index in range(seeds)] if seeds else [first]
    keeper = _Keeper(out, several=seeds is not None, force=force)
    keeper.check(runs, may_be_same=world is World.SIMULATED)
    if world is not World.SIMULATED:
        run_real(first, Real(world, dilate or 1, repeat or 1), keeper, as_json=as_json)
        return
    what = f"{first.name}, {len(runs)} seeds" if seeds else first.name
    each = threads or 1 if len(runs) == 1 else 1
    if why := why_alone(first, each):
        terminal.note(why)
    try:
        with terminal.json_alone(as_json), terminal.progress_bar(what) as progress:
            run_many(runs, threads, progress, lambda _, result: keeper.keep(result), each)
    except Interrupted as stop:
        _stopped(stop, keeper)
    finally:
        keeper.show(as_json=as_json)
        keeper.tidy()


class _Keeper:
    """Saves each result as soon as it is there, and shows all in the order of their seeds.

    A result that cannot be saved is shown all the same: the run was not for nothing.
    """

    def __init__(self, out: Path | None, *, several: bool, force: bool) -> None:
        self.out = out
        self.several = several
        self.force = force
        self.kept: list[tuple[Result, Path | None]] = []
        self.there_already = 0
        self.made: list[Path] = []

    def check(self, runs: list[Scenario], *, may_be_same: bool) -> None:
        """Refuse, before anything is run, places that are taken or cannot be written.

        One that holds a result of the same scenario is taken as well where the new result cannot
        be the same: each run in real time is another.
        """
        if self.out is None:
            places = {RESULTS / "NAME-DIGEST": runs[0]}
        else:
            places = {self._place(self.out, one.seed): one for one in runs}
            if self.several:
                check_folder_of_seeds(self.out)
        first = next(iter(places))
        self.made = [folder for folder in first.parents if not folder.exists()]
        for place, scenario in places.items():
            recover(place)
            if self.force or not (may_be_same and may_hold(place, scenario)):
                prepare_place(place, force=self.force)

    def tidy(self) -> None:
        """Remove the folders that were made for results if none came."""
        for folder in self.made:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def _place(self, out: Path, seed: int) -> Path:
        return out / f"seed-{seed}" if self.several else out

    def _default_place(self, result: Result) -> Path:
        # Without anything random in the scenario, two seeds have the same digest.
        name = result.directory_name
        return RESULTS / (f"{name}-seed-{result.seed}" if self.several else name)

    def keep(self, result: Result, suffix: str = "") -> None:
        """Save a result; with an `out`, its name gets the suffix."""
        place = self._place(self.out, result.seed) if self.out else self._default_place(result)
        place = place.with_name(place.name + suffix)
        self.kept.append((result, None))
        if not self.force and holds(place, result):
            self.there_already += 1
            self.kept[-1] = (result, place)
            return
        self.kept[-1] = (result, result.save(place, force=self.force))

    def show(self, *, as_json: bool) -> None:
        """Print what there is."""
        self.kept.sort(key=lambda pair: pair[0].seed)
        if as_json:
            summaries = [_summary(result, place) for result, place in self.kept]
            if self.several or summaries:
                several = self.several or len(summaries) > 1
                terminal.print_json(summaries if several else summaries[0])
        elif self.several and self.kept:
            show_seeds([result for result, _ in self.kept])
        else:
            for result, _ in self.kept:
                show_run(result)
        self._say_where()

    def _say_where(self) -> None:
        places = [place for _, place in self.kept if place is not None]
        if not places:
            return
        where = places[0].parent if self.several else places[0]
        written = len(places) - self.there_already
        if written:
            number = f"{written} result{'s' if written > 1 else ''} " if self.several else ""
            terminal.note(f"{number}written to {where}")
            captures = [name for result, _ in self.kept[:1] for name in result.captures]
            if captures:
                files = f"{len(captures)} file{'s' if len(captures) > 1 else ''}"
                folder = (where / "seed-N" if self.several else where) / CAPTURES
                terminal.note(f"captures: {files} for Wireshark in {folder}")
        if self.there_already:
            number = f"{self.there_already} of them: " if self.several else ""
            terminal.note(f"{number}the same result is already in {where}, nothing is replaced")


def _summary(result: Result, place: Path | None) -> dict[str, Any]:
    return {**result.to_summary(), "directory": None if place is None else str(place)}


def _stopped(stop: Interrupted, keeper: _Keeper) -> NoReturn:
    """After Ctrl-C: finished runs are already kept; a single run is kept as far as it went."""
    if len(stop.results) == 1 and stop.partial:
        keeper.keep(stop.partial[0], suffix="-interrupted")
        reached = stop.partial[0].totals["simulated_s"]
        terminal.error(f"interrupted after {si(reached, 's')} of simulated time")
        if why := _without_ideals(stop.partial[0]):
            terminal.note(why)
    else:
        terminal.error(str(stop))
    raise typer.Exit(INTERRUPTED)


def _without_ideals(outcome: Result) -> str | None:
    """Describe why an interrupted run has transfers without slowdowns, if it has."""
    transfers = outcome.tables.get("transfers")
    if transfers is None or "ideal_fct_s" not in transfers.columns:
        return None
    single = transfers.filter(transfers["kind"] != "round")
    if not single["ideal_fct_s"].null_count():
        return None
    return (
        "ideal_fct_s and slowdown are empty where the interrupt came first: "
        "ideal FCTs are computed after the run"
    )


def show_run(outcome: Result) -> None:
    """Show one run: flows by group, transfers by group, the busiest switch ports, warnings."""
    console = terminal.output()
    console.print(_headline(outcome))
    for table in tables_of(outcome):
        console.print(table)
    for note in notes_of([outcome]):
        console.print(f"\n{escape(note)}", soft_wrap=True)
    _foreknown([outcome], console)


def notes_of(outcomes: Sequence[Result]) -> list[str]:
    """Describe unfinished or few transfers, failed queue pairs, waits for an initial RTO."""
    kinds = (tables.unfinished_note, tables.few_note, failed_pairs.note, first_rto.note)
    found = [one(outcomes) for one in kinds]
    of_pauses = pauses.notes_of(outcomes[0]) if len(outcomes) == 1 else []
    return [note for note in found if note is not None] + of_pauses


def tables_of(outcome: Result) -> list[Table]:
    """Return the tables of one run: flows, FCTs, slowdowns, switch ports."""
    found = (
        _flows(outcome),
        tables.transfers(outcome),
        tables.slowdowns(outcome),
        _ports(outcome),
        pauses.table_of(outcome),
        pauses.roots_of(outcome),
    )
    return [table for table in found if table is not None]


def _foreknown(outcomes: Sequence[Result], console: Console) -> None:
    """Show the offered load, and the warnings from before the run again, next to the figures."""
    offered_load.show(outcomes[0].offered_load, console)
    offered_load.drawn(outcomes, console)
    _warnings(outcomes[0], console)


def _warnings(outcome: Result, console: Console) -> None:
    """Repeat the warnings from before the run in short, next to the figures."""
    if outcome.warnings:
        console.print("\n[bold]Warnings[/]")
    for warning in outcome.warnings:
        console.print(escape(warning), soft_wrap=True)


def _headline(outcome: Result) -> str:
    simulated, wall = float(outcome.totals["simulated_s"]), outcome.wall_s
    hops = outcome.totals.get("packet_hops", 0) / wall if wall > 0 else 0.0
    state = ", [yellow]interrupted[/]" if outcome.interrupted else ""
    losses = {
        "failure_drops": "lost on failed links",
        "lost_on_wire": "lost on the wire of degraded links",
        "corrupted": "corrupted on degraded links",
    }
    counts = {words: int(outcome.totals.get(name, 0)) for name, words in losses.items()}
    failed = "".join(
        f"\n[yellow]{count:,} {'packet' if count == 1 else 'packets'} {words}[/]"
        for words, count in counts.items()
        if count
    )
    took = (
        f"{si(simulated, 's')} simulated in {si(wall, 's')}, {hops / 1e6:.3g} million packet-hops/s"
    )
    if outcome.world:
        took = f"{si(simulated, 's')} in the world {outcome.world['name']}, in {si(wall, 's')}"
    return (
        f"[bold]{escape(outcome.name)}[/]  seed {outcome.seed}  digest {outcome.digest}{state}\n"
        f"{took}{failed}"
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
        pl.col("goodput_bit_s").min().alias("minimum"),
        pl.col("goodput_bit_s").max().alias("maximum"),
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
            between(row["minimum"], row["maximum"], "bit/s") if row["flows"] > 1 else "",
            *numbers,
        )
    return table


def _ports(outcome: Result) -> Table | None:
    ports = _switch_ports(outcome)
    if ports is None or ports.is_empty():
        return None
    shown = ports.sort("mean_queue_packets", descending=True).head(MAX_PORTS)
    of_all = f", {len(shown)} of {len(ports)}" if len(shown) < len(ports) else ""
    whole = "" if tables.is_whole(outcome) else "; marks and drops of the whole run"
    table = aligned(
        f"Switch ports, {tables.measured(outcome)}, longest queues first{of_all}{whole}",
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
    """Return the rows of `links` of switches where packets waited, or of their busiest port."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    if "links" not in outcome.tables or "queues" not in outcome.tables:
        return None
    ports = outcome.switch_ports
    queued = ports.filter((pl.col("max_queue_packets") > 0) | (pl.col("drops") > 0))
    return queued if len(queued) else ports.sort("utilisation", descending=True).head(1)


def show_seeds(results: Sequence[Result]) -> None:
    """Show runs of one scenario that differ by their seeds."""
    console = terminal.output()
    for table in tables_of_seeds(results):
        console.print(table)
    for note in notes_of(results):
        console.print(f"\n{escape(note)}", soft_wrap=True)
    _foreknown(results, console)


def tables_of_seeds(results: Sequence[Result]) -> list[Table]:
    """Return the tables of runs that differ by their seeds.

    Of the runs with the median and the range of each column, and of the FCTs of all together.
    """
    found = (
        _runs(results),
        _fairness(results),
        tables.transfers(*results),
        tables.slowdowns(*results),
        tables.by_seed(results),
    )
    return [table for table in found if table is not None]


def _runs(results: Sequence[Result]) -> Table:
    """Show each run, and the median, range and mean of each column."""
    from statistics import fmean, median  # noqa: PLC0415  slow to import

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
            cells = map(_count, counts)
            style = "bold" if word == "median" else ""
            table.add_row(word, si(most, "B"), *cells, "", style=style)
        table.add_row("95 % interval of mean", *_of_means(columns), "")
    return table


def _of_means(columns: Sequence[Sequence[float]]) -> list[str]:
    """Write the 95 % intervals of the means over the seeds: of bytes, then of counts."""
    (low, high), *counts = (interval(values) or (nan, nan) for values in columns)
    # No count is below zero, wherever Student's t would end.
    counted = (f"{_count(max(low, 0))} to {_count(high)}" for low, high in counts)
    return [between(max(low, 0), high, "B"), *counted]


def _count(value: float) -> str:
    """Write a count, or a mean of counts: never in powers of ten."""
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"  # noqa: PLR2004


def _fairness(results: Sequence[Result]) -> Table | None:
    """Show, by group, the goodput of its flows in all runs: their mean, minimum and maximum.

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
            goodput.min().alias("minimum"),
            goodput.max().alias("maximum"),
        )
    )
    if groups.is_empty():
        return None
    together = f", {len(results)} runs together" if len(results) > 1 else ""
    title = f"Goodput of flows, whole run{together}"
    table = aligned(title, "group", "flows", "mean", "median", "min to max")
    for row in groups.iter_rows(named=True):
        middle = (si(row[name], "bit/s") for name in ("mean", "median"))
        spread = between(row["minimum"], row["maximum"], "bit/s")
        table.add_row(escape(row["group"]), f"{row['flows']:,}", *middle, spread)
    return table
