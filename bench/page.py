"""Writes docs/benchmarks.md and its figure from what `bench.py` measured.

The text is here, the figures come from the measurements, and the rows from the list of benchmarks.
`tests/python/test_bench.py` checks that the page has every benchmark of that list.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from incastle.benchmarks.engines import Incastle
from incastle.benchmarks.rows import GROWTH, exponents, rows
from incastle.benchmarks.suite import FLOWS, HOSTS, PUBLISHED_SOURCE, RATES
from incastle.benchmarks.turns import by_name, points
from incastle.commands.bench import million
from incastle.plotting import style
from incastle.storage.files import scratch_file
from incastle.units import si

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incastle.benchmarks.memory import Cost
    from incastle.benchmarks.rows import Row
    from incastle.benchmarks.turns import Measured

PAGE, FIGURE = "benchmarks.md", "images/benchmarks.png"
ONCE = Path(__file__).with_name("once.md")
"""Figures that `make bench` does not measure."""
BUSY = 0.05
"""Share of the machine above which others disturbed the measurement."""
PANELS: tuple[tuple[str, Mapping[int, str]], ...] = (
    ("hosts of a fat tree, 10 Gbit/s", HOSTS),
    ("flows in the star, 10 Gbit/s", FLOWS),
    ("Gbit/s in the star of 20", RATES),
)
COLOURS = {"Incastle": style.BLUE, "ns-2": style.ORANGE, "ns-3, wheel": style.RED}
MARKERS = {"Incastle": "o", "ns-2": "s", "ns-3, wheel": "^"}


@dataclass(frozen=True)
class Setting:
    """Where and how it was measured.

    Attributes:
        machine: its description, from `machine.description`.
        versions: the version of each program measured, by name.
        others, stolen: shares of CPU time that other programs used, and that the hypervisor took.
        repeats: runs of each benchmark.
        costs: memory per item.

    """

    machine: Mapping[str, str]
    versions: Mapping[str, str]
    others: float
    stolen: float
    repeats: int
    costs: tuple[Cost, ...] = ()


def write(docs: Path, measured: Sequence[Measured], setting: Setting) -> None:
    """Write the page and its figure into the folder of the documents."""
    with style.canvas() as figure:
        draw(figure, measured)
        image = style.encode(figure, "png")
    for name, content in ((FIGURE, image), (PAGE, text(measured, setting).encode())):
        with scratch_file(docs / name) as scratch:
            scratch.write_bytes(content)


def text(measured: Sequence[Measured], setting: Setting) -> str:
    """Return the page."""
    parts = [INTRODUCTION, busy(setting), of_machine(setting), TABLE, table(measured)]
    parts += [
        PUBLISHED.format(source=PUBLISHED_SOURCE),
        GROWS,
        growth(measured),
        memory(measured),
        costs(setting),
        ONCE.read_text(encoding="utf-8").strip(),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


INTRODUCTION = """\
# Benchmarks

The engine's speed, compared with other simulators where they can be installed, and how its cost
grows. `make bench` measures yours and writes this page and its figure anew; `incastle bench --all`
prints the table alone. `bench/README.md` has the method."""
TABLE = """\
## Speed

Packet-hops per second of processor time of one core: packets of any kind, ACKs too, fully received
at the end of a link. Medians, with the range from the minimum to the maximum; *times ours*: how
many times faster Incastle is, by the medians. Long DCTCP flows with one ACK per packet everywhere,
but NewReno with ECN on ns-2, which has no DCTCP, and DCUDP or RDMA where the name has it. With two
threads, which share one network, the rate is per second of the clock, and the time that of both."""
PUBLISHED = "\\* Not in this run, but {source}."
GROWS = """\
## Growth

![Cost of a packet-hop against hosts, flows and rate](images/benchmarks.png)

Processor time grows as packet-hops to the power of:"""


def busy(setting: Setting) -> str:
    """Warn of a busy machine."""
    if setting.others + setting.stolen <= BUSY:
        return ""
    return (
        f"**The machine was busy**: other programs had {100 * setting.others:.0f} % of its "
        f"processors meanwhile, and its host took {100 * setting.stolen:.0f} %. They share caches "
        "and memory with what is measured, so that rates are lower than on an idle machine, and "
        "spread more."
    )


def of_machine(setting: Setting) -> str:
    """Return the table of the machine and the versions."""
    entries = {
        "processor": f"{setting.machine['processor']}, {setting.machine['processors']} cores",
        "system": f"{setting.machine['system']}, Linux {setting.machine['kernel']}",
        "measured": f"{setting.machine['date']}, {setting.repeats} runs of each, in turns",
        "others meanwhile": f"{100 * setting.others:.1f} % of the processors' time",
        "taken by its host": f"{100 * setting.stolen:.1f} %",
        **setting.versions,
    }
    rows = (f"| {key} | {value} |" for key, value in entries.items())
    return "\n".join(("| | |", "|---|---|", *rows))


def table(measured: Sequence[Measured]) -> str:
    """Return the table of all rows."""
    head = (
        (
            "| benchmark | | preset | on | million packet-hops/s | range | times ours | goal "
            "| time | memory |"
        ),
        "|---|---|---|---|--:|--:|--:|--:|--:|--:|",
    )
    return "\n".join((*head, *(line(row) for row in rows(measured))))


def line(row: Row) -> str:
    """Return a line of the table; the benchmark is named in the first of its lines."""
    ours, rate = row.engine == Incastle.name, row.rate
    cells = (
        f"`{row.benchmark.name}`" if ours else "",
        row.benchmark.words if ours else "",
        f"`{row.benchmark.preset}`" if ours and row.benchmark.preset else "",
        row.engine + ("" if row.measured else " \\*"),
        million(row.median),
        "" if rate is None else f"{million(rate.minimum)} to {million(rate.maximum)}",
        "" if row.ratio is None else f"{row.ratio:.3g}",
        "" if row.goal is None else million(row.goal),
        "" if row.cpu_s is None else si(row.cpu_s, "s"),
        si(row.memory_bytes, "B") if row.memory_bytes else "",
    )
    return f"| {' | '.join(cells)} |"


def growth(measured: Sequence[Measured]) -> str:
    """Return the exponents."""
    lines = [
        f"| {GROWTH[name].words} | {found:.2f} |" for name, found in exponents(measured).items()
    ]
    return "\n".join(("| along | exponent |", "|---|--:|", *lines))


def memory(measured: Sequence[Measured]) -> str:
    """Describe the growth of memory."""
    ours = by_name(measured, Incastle.name)
    long, short = ours["star-20-long"], ours["star-20"]
    grown = (long.memory_bytes - short.memory_bytes) / 1e6
    packets = [one.runs[0].data_packets / 1e6 for one in (short, long)]
    large, small = ours["fat-tree-8192"], ours["fat-tree-1024"]
    per_host = (large.memory_bytes - small.memory_bytes) / (8192 - 1024) / 1e3
    return (
        f"From {packets[0]:.2g} to {packets[1]:.2g} million data packets the memory of the whole "
        f"process grows by {grown:.1f} MB, result tables included; from 1024 to 8192 hosts by "
        f"{per_host:.1f} KB per host, with its flow, its three links, its part of the switches, "
        "and the rows of the result tables."
    )


def costs(setting: Setting) -> str:
    """Describe the memory of one flow and one packet, and the goals."""
    parts = (
        f"{cost.of.words} {si(cost.bytes, 'B')} (goal {si(cost.of.goal, 'B')})"
        for cost in setting.costs
    )
    return f"One more takes, at the peak: {', '.join(parts)}." if setting.costs else ""


def draw(figure: Figure, measured: Sequence[Measured]) -> None:
    """Draw the cost of a packet-hop against size, and processor time against packet-hops."""
    figure.set_size_inches(9, 6)
    axes = figure.subplots(2, 2).ravel()
    for panel, (label, series) in zip(axes, PANELS, strict=False):
        cost(panel, measured, series)
        panel.set_xlabel(label)
        panel.set_ylabel("ns of processor time\nper packet-hop")
    axes[1].legend()
    work(axes[3], measured)


def cost(axes: Axes, measured: Sequence[Measured], series: Mapping[int, str]) -> None:
    """Draw the median cost of each engine along a series, with its range."""
    for engine, colour in COLOURS.items():
        of_engine = by_name(measured, engine)
        known = {
            size: of_engine[name].cost_ns for size, name in series.items() if name in of_engine
        }
        if not known:
            continue
        middle = [spread.median for spread in known.values()]
        below = [spread.median - spread.minimum for spread in known.values()]
        above = [spread.maximum - spread.median for spread in known.values()]
        axes.errorbar(
            list(known),
            middle,
            yerr=[below, above],
            label=engine,
            color=colour,
            marker=MARKERS[engine],
            capsize=2,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(list(series), [str(size) for size in series])
    axes.minorticks_off()


def work(axes: Axes, measured: Sequence[Measured]) -> None:
    """Draw processor time against packet-hops, both per simulated second, and linear growth."""
    ours = by_name(measured, Incastle.name)
    powers = exponents(measured)
    for name, colour, marker in (("hosts", style.BLUE, "o"), ("rate", style.GREEN, "s")):
        found = points(GROWTH[name].names, ours, per_second=True)
        xs, ys = [x for x, _ in found], [y for _, y in found]
        label = f"{GROWTH[name].words}: exponent {powers[name]:.2f}"
        axes.plot(xs, ys, color=colour, marker=marker, label=label)
        linear = [ys[0] * x / xs[0] for x in xs]
        axes.plot(xs, linear, color=style.GREY, lw=0.9, ls=(0, (4, 3)))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("packet-hops per simulated second (dashed: linear growth)")
    axes.set_ylabel("processor time\nper simulated second (s)")
    axes.legend()
