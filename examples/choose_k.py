# ruff: noqa: INP001
"""Tells which marking threshold K a switch port needs: for its rate, its round trip and its hosts.

Runs examples/choose-k.toml for several K and seeds, in parallel; prints throughput, queue and the
completion of 20 KB messages for each K, beside the rules of the literature, and draws them.
docs/choose-k.md explains what comes out.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import polars as pl

import incastle as ic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

SCENARIO = Path(__file__).with_name("choose-k.toml")
EXAMPLES = """\
examples:
  python examples/choose_k.py
  python examples/choose_k.py --rate "100 Gbit/s" --k 20,65,120,240
  python examples/choose_k.py --burst 32
  python examples/choose_k.py --beside cubic-ecn
"""
PORT = "switch->receiver"
PACKET_BITS = 1500 * 8
PARTS = (0.025, 0.05, 0.1, 1 / 7, 0.25, 0.5, 1, 2)
"""Thresholds that are tried, in parts of C x RTT."""
FULL = 0.99
"""Of the most that any K reaches: the link is full."""
UNITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12}
UNITS |= {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
OPTIONS = {
    "network.rate": "rate",
    "network.delay": "delay",
    "switch.buffer": "buffer",
    "host.tso_burst": "burst",
    "run.duration": "duration",
}
"""What each number of the reader sets."""
BESIDE = {
    "none": {},
    "cubic": {"flows.other.transport.congestion": "cubic"},
    "cubic-ecn": {
        "flows.other.transport.congestion": "cubic",
        "flows.other.transport.ecn": "classic",
    },
}
"""One long flow of another kind in the same queue."""


@dataclass(frozen=True)
class Port:
    """The reader's port: its rate in bits per second, the round trip through it in seconds."""

    rate: float
    rtt: float

    @classmethod
    def of(cls, scenario: ic.Scenario) -> Port:
        """Take it from a checked scenario: four delays, and a full packet on two links."""
        if scenario["network.topology"] != "star":
            raise ic.IncastleError("only a star is swept; for another network see ic.run_many")
        rate, delay = (amount(scenario[f"network.{key}"]) for key in ("rate", "delay"))
        return cls(rate, 4 * delay + 2 * PACKET_BITS / rate)

    @property
    def product(self) -> float:
        """Give C x RTT in packets."""
        return self.rate * self.rtt / PACKET_BITS

    def thresholds(self) -> list[int]:
        """Give the K that are tried unless told."""
        return sorted({max(1, round(part * self.product)) for part in PARTS})


def amount(text: str) -> float:
    """Read a quantity as the scenario writes it, in bits per second or seconds."""
    number, _, unit = text.partition(" ")
    return float(number) * UNITS[unit]


def sweep(scenario: ic.Scenario, chosen: argparse.Namespace) -> pl.DataFrame:
    """Run every K with every seed."""
    jobs = [
        (scenario, {"switch.queue.marking_threshold": f"{k} packets"}, seed)
        for k in chosen.k
        for seed in range(1, chosen.seeds + 1)
    ]
    results = ic.run_many(jobs, chosen.threads)
    rows = [
        {"k": k, **measure(results[index * chosen.seeds : (index + 1) * chosen.seeds])}
        for index, k in enumerate(chosen.k)
    ]
    return pl.DataFrame(rows)


def measure(results: Sequence[ic.Result]) -> dict[str, float]:
    """Sum the seeds of one K up."""
    links = pl.concat(one.links.filter(pl.col("port") == PORT) for one in results)
    samples = pl.concat(one.queue_samples["packets"] for one in results)
    transfers = pl.concat(one.transfers for one in results)
    messages = transfers.filter(pl.col("kind") == "round")["fct_s"]
    time_us = 1e6 * messages.drop_nulls()
    flows = pl.concat(one.flows.filter(pl.col("group") != "message") for one in results)
    ours = flows.filter(pl.col("group") == "long")["delivered_bytes"].sum()
    return {
        "throughput": float(links["utilisation"].mean() or 0.0),  # type: ignore[arg-type]
        "queue": float(links["mean_queue_packets"].mean() or 0.0),  # type: ignore[arg-type]
        "queue_p99": float(samples.quantile(0.99) or 0.0),
        "drops": int(links["drops"].sum()),
        "median_us": float(time_us.quantile(0.5) or 0.0),
        "p99_us": float(time_us.quantile(0.99) or 0.0),
        "unfinished": messages.null_count() / len(messages),
        "share": int(ours) / int(flows["delivered_bytes"].sum()),
    }


def print_rules(port: Port, scenario: ic.Scenario) -> None:
    """Print what the literature says of this port."""
    product = port.product
    print(f"{scenario['network.rate']}, round trip {port.rtt * 1e6:.1f} us")
    for words, value in (
        ("C x RTT", product),
        ("C x RTT / 7     (Alizadeh et al. 2010)", product / 7),
        ("0.17 x C x RTT  (Alizadeh et al. 2011)", 0.17 * product),
        ("and what the hosts send at once", 0.17 * product + scenario["host.tso_burst"]),
    ):
        print(f"{words:40} {value:7.1f} packets")
    print()


def print_table(table: pl.DataFrame, *, shared: bool) -> None:
    """Print a row for each K, and the least that fills the link."""
    heads = ["throughput", "queue", "99th", "20 KB", "99th", "drops"]
    units = ["%", "packets", "packets", "us", "us", ""]
    if shared:
        heads, units = [*heads, "DCTCP's"], [*units, "share, %"]
    for name, cells in (("K", heads), ("", units)):
        print(f"{name:>5}", *(f"{cell:>10}" for cell in cells))
    for row in table.iter_rows(named=True):
        cells = [
            f"{100 * row['throughput']:.1f}",
            f"{row['queue']:.1f}",
            f"{row['queue_p99']:.0f}",
            f"{row['median_us']:.0f}",
            f"{row['p99_us']:.0f}",
            f"{row['drops']:,}",
        ]
        cells += [f"{100 * row['share']:.1f}"] if shared else []
        print(f"{row['k']:>5}", *(f"{cell:>10}" for cell in cells))
    left_out = 100 * max(table["unfinished"])
    print(f"\nmessages that a run cut off, not in these times: at most {left_out:.2g} %")
    print(f"least K of these within 1 % of the best: {least_full(table)}")


def least_full(table: pl.DataFrame) -> int:
    """Give the least K from which on the throughput stays within 1 % of the best."""
    rows = table.sort("k")
    enough = rows["throughput"] >= FULL * max(rows["throughput"])
    return int(min(k for k in rows["k"] if all(enough.filter(rows["k"] >= k))))


def draw(table: pl.DataFrame, port: Port, title: str, path: Path) -> None:
    """Draw throughput, queue and completion over K, with C x RTT / 7."""
    import matplotlib as mpl  # noqa: PLC0415  slow to import: only once the runs are done

    mpl.use("agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    panels: tuple[tuple[str, dict[str, str], float], ...] = (
        ("throughput (%)", {"throughput": ""}, 100),
        ("queue (packets)", {"queue": "mean", "queue_p99": "99th percentile"}, 1),
        ("completion of 20 KB (us)", {"median_us": "median", "p99_us": "99th percentile"}, 1),
    )
    with plt.style.context({"font.size": 9, "axes.titlesize": 10, "axes.titlelocation": "left"}):
        figure, parts = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
        for axes, (name, columns, scale) in zip(parts, panels, strict=True):
            for column, label in columns.items():
                style = {"ls": "--"} if label.startswith("99th") else {}
                axes.plot(table["k"], scale * table[column], marker="o", ms=3, label=label, **style)
            axes.set_ylabel(name)
            finish(axes, port, table["k"].to_list(), legend=len(columns) > 1)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10.5)
        figure.savefig(path, dpi=150)
        plt.close(figure)


def finish(axes: Axes, port: Port, thresholds: Sequence[int], *, legend: bool) -> None:
    """Give a panel its axes and the rule's place."""
    axes.axvline(port.product / 7, color="#888888", lw=1, ls=":")
    axes.set_xscale("log")
    axes.set_xticks(thresholds, [str(k) for k in thresholds], fontsize=8)
    axes.minorticks_off()
    axes.set_xlabel("K (packets); dotted: C x RTT / 7")
    axes.set_ylim(0, 1.06 * axes.get_ylim()[1])
    axes.grid(alpha=0.3)
    if legend:
        axes.legend(frameon=False)


def explain(error: Exception) -> str:
    """Say what is wrong, under the names of the options here."""
    if not isinstance(error, ic.ScenarioError):
        return str(error)
    lines: dict[str, str] = {}
    for found in error.diagnostics:
        option = OPTIONS.get(found.key)
        place = f"--{option}" if option else found.place
        text = f"{place}: {found.message}" + (f"\n  {found.help}" if found.help else "")
        lines.setdefault(option or text, text)
    return "\n".join(lines.values())


def numbers(text: str) -> list[int]:
    """Read "20,40,65"."""
    return sorted({positive(part) for part in text.split(",")})


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
        description="Which marking threshold K does a switch port need? Quantities have units, as\n"
        "in a scenario; those not given are those of examples/choose-k.toml.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--rate", help='of every link: "10 Gbit/s"')
    add("--delay", help='of a link, a quarter of the round trip: "25 us"')
    add("--buffer", help='of the port: "4 MB"')
    add("--flows", type=positive, default=2, metavar="N", help="long DCTCP flows (2)")
    add("--burst", metavar="N", help="packets that a host sends at once (1)")
    add("--beside", choices=list(BESIDE), default="none", help="a flow in the same queue (none)")
    add("--k", type=numbers, metavar="K,...", help="thresholds (parts of C x RTT)")
    add("--duration", help='of a run: "200 ms", evaluated from 50 ms on')
    add("--seeds", type=positive, help="runs of each, with other random numbers (3)")
    add("--set", type=setting, action="append", default=[], metavar="KEY=VALUE", help="other keys")
    add("--threads", type=positive, help="runs at the same time (all cores)")
    add("--out", type=Path, default=Path("choose-k.png"), help="the figure (choose-k.png)")
    add("--quick", action="store_true", help="for a test: two K, one seed, 60 ms")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.k, chosen.duration = chosen.k or [10, 65], chosen.duration or "60 ms"
    chosen.seeds = chosen.seeds or (1 if chosen.quick else 3)
    if chosen.out.suffix not in (".png", ".svg", ".pdf"):
        parser.error(f"--out {chosen.out}: it must end in .png, .svg or .pdf")
    if not chosen.out.parent.is_dir():
        parser.error(f"--out {chosen.out}: there is no directory {chosen.out.parent}")
    return chosen


def port_scenario(chosen: argparse.Namespace) -> ic.Scenario:
    """Put the reader's numbers into the scenario."""
    given = {key: getattr(chosen, name) for key, name in OPTIONS.items()}
    overrides = [(key, value) for key, value in given.items() if value is not None]
    last = chosen.flows
    overrides += [("network.senders", str(last + 2)), ("flows.long.from", f"sender:1..{last}")]
    if beside := BESIDE[chosen.beside]:
        other = {"workload": "bulk", "from": f"sender:{last + 1}", "to": "receiver"}
        overrides += [(f"flows.other.{key}", value) for key, value in other.items()]
        overrides += list(beside.items())
    return ic.load(SCENARIO, [*overrides, *chosen.set])


def main() -> NoReturn:
    """Sweep, print, draw."""
    chosen = arguments()
    try:
        scenario = port_scenario(chosen)
        port = Port.of(scenario)
        chosen.k = chosen.k or port.thresholds()
        print_rules(port, scenario)
        table = sweep(scenario, chosen)
        print_table(table, shared=chosen.beside != "none")
        title = (
            f"{scenario['network.rate']}, round trip {math.ceil(port.rtt * 1e6)} us, "
            f"{chosen.flows} long flows, bursts of {scenario['host.tso_burst']}"
        )
        draw(table, port, title, chosen.out)
        print(f"drawn: {chosen.out}", file=sys.stderr)
    except (ic.IncastleError, OSError) as error:
        print(f"choose_k.py: error: {explain(error)}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        print(f"\n{stop or 'interrupted'}", file=sys.stderr)
        sys.exit(130)
    sys.exit(0)


if __name__ == "__main__":
    main()
