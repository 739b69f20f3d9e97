"""The number of servers at which a storage cluster collapses, and the worth of each remedy.

cluster.toml is run for several numbers of servers, without and with each remedy. The first round of
each run is left out: its windows are initial ones, those of a cluster at work are not.
docs/storage-cluster.md explains the results.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from incastle.errors import IncastleError, ScenarioError
from incastle.plotting.style import canvas, save
from incastle.runner import run_many
from incastle.scenario import load
from incastle.studies.inputs import PACKET, amount, check_star, with_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes

    from incastle.results import Result
    from incastle.runner import Progress
    from incastle.scenario import Scenario

Overrides: TypeAlias = "dict[str, str | int]"

SCENARIO = Path(__file__).with_name("cluster.toml")
LONG = "600 s"
"""Far more than the rounds need: they end the traffic, and silence costs nothing to simulate."""
QUICK_RTO_S = 1e-3
DARK = 0.6
"""Cells that are worse have white numbers."""

OPTIONS = {
    "network.rate": "--rate",
    "network.delay": "--delay",
    "switch.buffer": "--buffer",
    "flows.storage.sru": "--sru",
    "transport.min_rto": "--min-rto",
    "transport.initial_rto": "--min-rto",
}
"""The option that sets a key. Connections in use have a round-trip sample: their first timeout is
RTO_min as well."""


@dataclass(frozen=True)
class Cluster:
    """The reader's numbers, in bits per second, seconds and bytes."""

    rate: float
    delay: float
    buffer: float
    unit: float
    min_rto: float
    mss: float
    header: float

    @classmethod
    def of(cls, scenario: Scenario) -> Cluster:
        """Take them from a checked scenario."""
        check_star(scenario)
        if not re.match(r"\d", str(scenario["switch.buffer"])):
            raise IncastleError("the buffer must be an amount per port, as '512 KiB' is")
        framing = 38 if scenario["transport.framing"] == "ethernet" else 0
        return cls(
            rate=amount(scenario["network.rate"]),
            delay=amount(scenario["network.delay"]),
            buffer=amount(scenario["switch.buffer"]),
            unit=amount(scenario["flows.storage.sru"]),
            min_rto=amount(scenario["transport.min_rto"]),
            mss=amount(scenario["transport.mss"]),
            header=40.0 + framing,
        )

    def answers_s(self, servers: int) -> float:
        """Tell how long the answers of one round occupy the client's link at least."""
        segments = math.ceil(self.unit / self.mss)
        return servers * (self.unit + self.header * segments) * 8 / self.rate

    def round_s(self, servers: int) -> float:
        """Tell how long a round takes at least: the answers, and one round trip."""
        return self.answers_s(servers) + 4 * self.delay

    def best(self, servers: int) -> float:
        """Give the goodput of such rounds, as a share of the link's rate."""
        return servers * self.unit * 8 / self.rate / self.round_s(servers)


@dataclass(frozen=True)
class Remedy:
    """A change of the scenario, and its words."""

    words: str
    change: Callable[[Cluster, int], Overrides]


def quick_rto(cluster: Cluster, _servers: int) -> Overrides:
    """Time out after 1 ms."""
    rto = f"{min(QUICK_RTO_S, cluster.min_rto) * 1e9:.0f} ns"
    return {"transport.min_rto": rto, "transport.initial_rto": rto}


def stagger(cluster: Cluster, servers: int) -> Overrides:
    """Spread the requests over the time that the answers need."""
    return {"flows.storage.request_jitter": f"{cluster.answers_s(servers) * 1e9:.0f} ns"}


def window(cluster: Cluster, servers: int) -> Overrides:
    """Let the windows of all servers together fit into the buffer: at least one packet each."""
    packets = max(1, int(cluster.buffer / PACKET / servers))
    return {"transport.receive_window": f"{packets} packets"}


def larger_buffer(cluster: Cluster, _servers: int) -> Overrides:
    """Buy four times the memory."""
    return {"switch.buffer": f"{4 * cluster.buffer:.0f} B"}


def dctcp(cluster: Cluster, _servers: int) -> Overrides:
    """Mark above K: 65 packets at 10 Gbit/s, at least 20, at most half the buffer."""
    packets = max(20.0, 65 * cluster.rate / 1e10)
    marking_threshold = f"{min(packets, cluster.buffer / PACKET / 2):.0f} packets"
    return {
        "transport.congestion": "dctcp",
        "switch.queue.kind": "threshold",
        "switch.queue.marking_threshold": marking_threshold,
    }


def qcn(variant: str) -> Callable[[Cluster, int], Overrides]:
    """Let the switch slow the servers' NICs down."""
    return lambda _cluster, _servers: {"switch.qcn.variant": variant}


REMEDIES = {
    "none": Remedy("as it is", lambda _cluster, _servers: {}),
    "rto": Remedy("RTO_min 1 ms", quick_rto),
    "window": Remedy("receive window: buffer / servers", window),
    "stagger": Remedy("requests staggered", stagger),
    "buffer": Remedy("four times the buffer", larger_buffer),
    "dctcp": Remedy("DCTCP", dctcp),
    "dctcp+rto": Remedy(
        "DCTCP and RTO_min 1 ms",
        lambda cluster, servers: dctcp(cluster, servers) | quick_rto(cluster, servers),
    ),
    "qcn": Remedy("QCN (I)", qcn("I")),
    "qcn-v": Remedy("QCN V (II and IV)", qcn("V")),
    "qcn-vi": Remedy("QCN VI (III and IV)", qcn("VI")),
    "drr": Remedy("fair queueing (DRR)", lambda _cluster, _servers: {"switch.queue.kind": "drr"}),
}


def measure(results: Sequence[Result], cluster: Cluster) -> dict[str, float]:
    """Sum the rounds of some seeds up, without the first round of each."""
    frames = [
        one.rounds.filter(pl.col("round") > 0).with_columns(
            pl.col("completed_s").is_null().alias("cut_off"),
            # A round that the end of the run cuts off took at least until then.
            pl.col("completed_s").fill_null(one.totals["simulated_s"]),
            pl.when(pl.col("completed_s").is_null()).then(0).otherwise("bytes").alias("bytes"),
        )
        for one in results
    ]
    rounds = pl.concat(frames)
    took = rounds["completed_s"] - rounds["started_s"]
    return {
        "goodput": int(rounds["bytes"].sum()) * 8 / float(took.sum()) / cluster.rate,
        "p99_ms": 1e3 * float(took.quantile(0.99) or 0.0),
        "timeouts": int(rounds["timeouts"].sum()) / len(rounds),
        "cut_off": int(rounds["cut_off"].sum()) / len(rounds),
    }


@dataclass(frozen=True)
class Inputs:
    """The numbers that were given; None is that of cluster.toml."""

    rate: str | None
    delay: str | None
    buffer: str | None
    sru: str | None
    min_rto: str | None
    rounds: int
    settings: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Points:
    """The runs of a sweep: every remedy with every number of servers and every seed."""

    remedies: Sequence[str]
    servers: Sequence[int]
    seeds: int


def sweep(
    scenario: Scenario,
    cluster: Cluster,
    plan: Points,
    threads: int | None,
    progress: Callable[[Progress], object] | None,
) -> pl.DataFrame:
    """Run every remedy with every number of servers and every seed."""
    points = [(name, servers) for name in plan.remedies for servers in plan.servers]
    jobs = [
        (scenario, REMEDIES[name].change(cluster, servers) | {"network.senders": servers}, seed)
        for name, servers in points
        for seed in range(1, plan.seeds + 1)
    ]
    results = run_many(jobs, threads, progress)
    rows = []
    for index, (name, servers) in enumerate(points):
        own = results[index * plan.seeds : (index + 1) * plan.seeds]
        best = cluster.best(servers)
        row: dict[str, Any] = {
            "remedy": name,
            "servers": servers,
            "best": best,
            "best_ms": 1e3 * cluster.round_s(servers),
        }
        row |= measure(own, cluster)
        # Without timeouts a low goodput has another cause, as windows that are too small.
        collapsed = row["timeouts"] > 0 and row["goodput"] < best / 2
        rows.append(row | {"collapsed": collapsed})
    return pl.DataFrame(rows)


def print_tables(table: pl.DataFrame) -> None:
    """Print one table for each measure, and where each remedy collapses."""
    parts: tuple[tuple[str, str, Callable[[Mapping[str, float]], str]], ...] = (
        (
            "Goodput in % of the link (*: less than half of what is possible, with timeouts)",
            "collapses at",
            lambda row: f"{100 * row['goodput']:.0f}{'*' if row['collapsed'] else ' '}",
        ),
        ("99th percentile of a round's completion, ms", "", lambda row: f"{row['p99_ms']:.1f} "),
        ("Timeouts per round", "", lambda row: f"{row['timeouts']:.3f} "),
    )
    numbers = table["servers"].unique().sort().to_list()
    for title, last, cell in parts:
        print(title)
        print_row("servers", [f"{n} " for n in numbers], last)
        for (name,), rows in table.group_by("remedy", maintain_order=True):
            cells = [cell(row) for row in rows.sort("servers").iter_rows(named=True)]
            print_row(str(name), cells, first_collapse(rows) if last else "")
        print()
    most = 100 * max(table["cut_off"])
    print(f"Rounds that a run cut off (at most {most:.2g} %) count with the time that they had.")
    print()


def first_collapse(rows: pl.DataFrame) -> str:
    """Tell between which numbers of servers the goodput collapses first: "25 to 32", or "-"."""
    numbers = rows["servers"].to_list()
    collapsed = rows.filter("collapsed")["servers"].to_list()
    if not collapsed:
        return "-"
    first = min(collapsed)
    last_good = max((n for n in numbers if n < first), default=0)
    if last_good + 1 == first:
        return str(first)
    return f"{last_good + 1} to {first}" if last_good else f"up to {first}"


def print_row(name: str, cells: Sequence[str], end: str) -> None:
    """Print a row in columns."""
    print(f"{name:10}", *(f"{cell:>8}" for cell in cells), end.rjust(12) if end else "")


def draw(table: pl.DataFrame, title: str, path: Path) -> None:
    """Draw the three measures as maps, remedies against servers: the darker, the worse."""
    panels: tuple[tuple[str, pl.Expr, pl.Expr], ...] = (
        ("Goodput, % of the link", 100 * pl.col("goodput"), 1 - pl.col("goodput") / pl.col("best")),
        (
            "99th percentile of a round, ms",
            pl.col("p99_ms"),
            (pl.col("p99_ms") / pl.col("best_ms")).log10() / 2,
        ),
        (
            "Timeouts per round",
            pl.col("timeouts"),
            pl.when(pl.col("timeouts") > 0).then(0.25 * pl.col("timeouts").log10() + 0.65),
        ),
    )
    remedies = table["remedy"].unique(maintain_order=True).to_list()
    columns = table["servers"].n_unique()
    size = (2.6 + 3 * (0.3 + 0.52 * columns), 1.35 + 0.34 * len(remedies))
    with canvas() as figure:
        figure.set_size_inches(*size)
        parts = figure.subplots(1, 3, sharey=True)
        for axes, (name, value, badness) in zip(parts, panels, strict=True):
            shown = table.with_columns(value.alias("value"), badness.fill_null(0).alias("badness"))
            draw_map(axes, shown)
            axes.set_title(name)
        parts[0].set_yticks(range(len(remedies)), [REMEDIES[name].words for name in remedies])
        figure.suptitle(f"{title}; bold: collapsed", x=0.01, ha="left")
        save(figure, path)


def draw_map(axes: Axes, table: pl.DataFrame) -> None:
    """Draw a cell with its number for each remedy and number of servers; bold: collapsed."""
    columns = table["servers"].unique().sort().to_list()
    rows = table["remedy"].unique(maintain_order=True).to_list()
    badness = table.sort("servers").partition_by("remedy", maintain_order=True, as_dict=True)
    axes.imshow(
        [badness[name,]["badness"].to_list() for name in rows],
        cmap="OrRd",
        vmin=-0.05,
        vmax=1.1,
        aspect="auto",
    )
    for cell in table.iter_rows(named=True):
        axes.text(
            columns.index(cell["servers"]),
            rows.index(cell["remedy"]),
            three_digits(cell["value"]),
            color="white" if cell["badness"] > DARK else "#333333",
            weight="bold" if cell["collapsed"] else "normal",
            ha="center",
            va="center",
            fontsize="small",
        )
    axes.set_xticks(range(len(columns)), [str(number) for number in columns])
    axes.set_xlabel("servers")
    axes.set_xticks([index + 0.5 for index in range(len(columns) - 1)], minor=True)
    axes.set_yticks([index + 0.5 for index in range(len(rows) - 1)], minor=True)
    axes.grid(visible=False, which="major")
    axes.grid(which="minor", color="white", lw=2)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)


def three_digits(value: float) -> str:
    """Write 203, 14.3, 1.81, 0.003 or 0."""
    digits = 3 if value < 0.1 else 2 if value < 10 else 1 if value < 100 else 0  # noqa: PLR2004
    return f"{value:.{digits}f}" if value else "0"


def cluster_scenario(given: Inputs) -> Scenario:
    """Put the numbers into the scenario."""
    options = {key: getattr(given, name[2:].replace("-", "_")) for key, name in OPTIONS.items()}
    overrides = [(key, value) for key, value in options.items() if value is not None]
    rounds = [("flows.storage.rounds", str(given.rounds + 1)), ("measure.timeouts", "true")]
    try:
        return load(SCENARIO, [*overrides, *given.settings, *rounds, ("run.duration", LONG)])
    except ScenarioError as error:
        raise with_options(error, OPTIONS) from None
