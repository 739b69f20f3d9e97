# ruff: noqa: INP001
"""Tells at how many servers a storage cluster collapses, and which remedy is worth it.

Runs examples/cluster.toml for several numbers of servers, without and with each remedy, in
parallel; prints goodput, the 99th percentile of a round's completion and timeouts per round, and
draws them. The first round of each run is left out: its windows are initial ones, those of a
cluster at work are not. docs/storage-cluster.md explains what comes out.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias

import polars as pl

import incastle as ic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes

Overrides: TypeAlias = "dict[str, str | int]"

SCENARIO = Path(__file__).with_name("cluster.toml")
EXAMPLES = """\
examples:
  python examples/collapse.py
  python examples/collapse.py --rate "25 Gbit/s" --buffer "1 MiB" --servers 8,16,32,64
  python examples/collapse.py --remedies none --servers 25,27,29,31
  python examples/collapse.py --remedies none,rto,dctcp --seeds 10 --rounds 200
  python examples/collapse.py --set transport.delayed_ack_count=2 --out delayed-acks.png
"""

UNITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12}
UNITS |= {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
UNITS |= {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
UNITS |= {"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}
LONG = "600 s"
"""Far more than the rounds need: they end the traffic, and silence costs nothing to simulate."""
PACKET = 1500
"""Bytes of a full packet, for a buffer that is given in packets."""
QUICK_RTO_S = 1e-3
DARK = 0.6
"""Cells that are worse have white numbers."""

OPTIONS = {
    "network.rate": "rate",
    "network.delay": "delay",
    "switch.buffer": "buffer",
    "flows.storage.sru": "unit",
    "transport.min_rto": "min_rto",
    "transport.initial_rto": "min_rto",
}
"""What each number of the reader sets. Connections that are in use have a round-trip sample: their
first timeout is RTO_min as well."""


def amount(text: str) -> float:
    """Read a quantity as the scenario writes it, in bits per second, seconds or bytes."""
    number, _, unit = text.partition(" ")
    if unit.startswith("packet"):
        return float(number) * PACKET
    return float(number) * UNITS[unit]


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
    def of(cls, scenario: ic.Scenario) -> Cluster:
        """Take them from a checked scenario."""
        if scenario["network.topology"] != "star":
            raise ic.IncastleError("only a star is swept; for another network see ic.run_many")
        if not re.match(r"\d", str(scenario["switch.buffer"])):
            raise ic.IncastleError("the buffer must be an amount per port, as '512 KiB' is")
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
    """What is changed, in words and in the scenario."""

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


def measure(results: Sequence[ic.Result], cluster: Cluster) -> dict[str, float]:
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


def sweep(scenario: ic.Scenario, cluster: Cluster, chosen: argparse.Namespace) -> pl.DataFrame:
    """Run every remedy with every number of servers and every seed."""
    points = [(name, servers) for name in chosen.remedies for servers in chosen.servers]
    jobs = [
        (scenario, REMEDIES[name].change(cluster, servers) | {"network.senders": servers}, seed)
        for name, servers in points
        for seed in range(1, chosen.seeds + 1)
    ]
    results = ic.run_many(jobs, chosen.threads, show_progress if sys.stderr.isatty() else None)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    rows = []
    for index, (name, servers) in enumerate(points):
        own = results[index * chosen.seeds : (index + 1) * chosen.seeds]
        best = cluster.best(servers)
        row = {
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


def show_progress(progress: ic.Progress) -> None:
    """Keep one line on the terminal up to date."""
    text = f"\r\033[K{progress.finished} of {progress.total} runs"
    print(text, end="", file=sys.stderr, flush=True)


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
    import matplotlib as mpl  # noqa: PLC0415  slow to import: only once the runs are done

    mpl.use("agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

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
    with plt.style.context({"font.size": 9, "axes.titlesize": 10, "axes.titlelocation": "left"}):
        figure, parts = plt.subplots(1, 3, figsize=size, layout="constrained", sharey=True)
        for axes, (name, value, badness) in zip(parts, panels, strict=True):
            shown = table.with_columns(value.alias("value"), badness.fill_null(0).alias("badness"))
            draw_map(axes, shown)
            axes.set_title(name)
        parts[0].set_yticks(range(len(remedies)), [REMEDIES[name].words for name in remedies])
        figure.suptitle(f"{title}; bold: collapsed", x=0.01, ha="left", fontsize=10.5)
        figure.savefig(path, dpi=150)
        plt.close(figure)


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
            fontsize=8.5,
        )
    axes.set_xticks(range(len(columns)), [str(number) for number in columns])
    axes.set_xlabel("servers")
    axes.set_xticks([index + 0.5 for index in range(len(columns) - 1)], minor=True)
    axes.set_yticks([index + 0.5 for index in range(len(rows) - 1)], minor=True)
    axes.grid(which="minor", color="white", lw=2)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)


def three_digits(value: float) -> str:
    """Write 203, 14.3, 1.81, 0.003 or 0."""
    digits = 3 if value < 0.1 else 2 if value < 10 else 1 if value < 100 else 0  # noqa: PLR2004
    return f"{value:.{digits}f}" if value else "0"


def explain(error: Exception) -> str:
    """Say what is wrong, under the names of the options here."""
    if not isinstance(error, ic.ScenarioError):
        return str(error)
    lines: dict[str, str] = {}
    for found in error.diagnostics:
        option = OPTIONS.get(found.key)
        place = f"--{option.replace('_', '-')}" if option else found.place
        text = f"{place}: {found.message}" + (f"\n  {found.help}" if found.help else "")
        lines.setdefault(option or text, text)
    return "\n".join(lines.values())


def numbers(text: str) -> list[int]:
    """Read "4,8,16"."""
    return sorted({positive(part) for part in text.split(",")})


def names(text: str) -> list[str]:
    """Read "none,rto"."""
    found = text.split(",")
    for name in found:
        if name not in REMEDIES:
            raise argparse.ArgumentTypeError(f"no {name!r}: there are {', '.join(REMEDIES)}")
    return found


def positive(text: str) -> int:
    """Read a whole number above zero."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def setting(text: str) -> tuple[str, str]:
    """Read KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not (key and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="At how many servers does a storage cluster collapse, and which remedy is\n"
        "worth it? Quantities have units, as in a scenario; those not given are those of\n"
        "examples/cluster.toml.",
        epilog=EXAMPLES
        + "\nremedies:\n"
        + "\n".join(f"  {name:10} {remedy.words}" for name, remedy in REMEDIES.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--servers",
        type=numbers,
        metavar="N,...",
        help="(4,8,16,32,64)",
    )
    add("--rate", help='of every link: "10 Gbit/s"')
    add("--delay", help='of a link, a quarter of the round trip: "25 us"')
    add("--buffer", help='of the port to the client: "512 KiB"')
    add("--unit", help='bytes of each server\'s answer: "256 KiB"')
    add("--min-rto", help='RTO_min of the servers: "200 ms"')
    add("--remedies", type=names, default=list(REMEDIES), metavar="A,...", help="see below (all)")
    add("--rounds", type=positive, help="in each run, after the first (100)")
    add("--seeds", type=positive, help="runs of each, with other random numbers (3)")
    add("--set", type=setting, action="append", default=[], metavar="KEY=VALUE", help="other keys")
    add("--threads", type=positive, help="runs at the same time (all cores)")
    add("--out", type=Path, default=Path("collapse.png"), help="the figure (collapse.png)")
    add(
        "--quick",
        action="store_true",
        help="for a test: 4 and 16 servers, 5 rounds, 1 seed, unless told otherwise",
    )
    chosen = parser.parse_args()
    servers, rounds, seeds = ([4, 16], 5, 1) if chosen.quick else ([4, 8, 16, 32, 64], 100, 3)
    chosen.servers = chosen.servers or servers
    chosen.rounds = chosen.rounds or rounds
    chosen.seeds = chosen.seeds or seeds
    if chosen.out.suffix not in (".png", ".svg", ".pdf"):
        parser.error(f"--out {chosen.out}: it must end in .png, .svg or .pdf")
    if not chosen.out.parent.is_dir():
        parser.error(f"--out {chosen.out}: there is no directory {chosen.out.parent}")
    return chosen


def cluster_scenario(chosen: argparse.Namespace) -> ic.Scenario:
    """Put the reader's numbers into the scenario."""
    given = {key: getattr(chosen, name) for key, name in OPTIONS.items()}
    overrides = [(key, value) for key, value in given.items() if value is not None]
    rounds = [("flows.storage.rounds", str(chosen.rounds + 1)), ("measure.timeouts", "true")]
    return ic.load(SCENARIO, [*overrides, *chosen.set, *rounds, ("run.duration", LONG)])


def main() -> NoReturn:
    """Sweep, print, draw."""
    chosen = arguments()
    try:
        scenario = cluster_scenario(chosen)
        cluster = Cluster.of(scenario)
        table = sweep(scenario, cluster, chosen)
        print_tables(table)
        title = (
            f"{scenario['network.rate']}, {scenario['switch.buffer']} per port, "
            f"{scenario['flows.storage.sru']} per server, RTO_min {scenario['transport.min_rto']}"
        )
        draw(table, title, chosen.out)
        print(f"drawn: {chosen.out}", file=sys.stderr)
    except (ic.IncastleError, OSError) as error:
        print(f"collapse.py: error: {explain(error)}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        print(f"\n{stop or 'interrupted'}", file=sys.stderr)
        sys.exit(130)
    sys.exit(0)


if __name__ == "__main__":
    main()
