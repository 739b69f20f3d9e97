"""The marking threshold K that a switch port needs: for its rate, its round trip and its hosts.

choose-k.toml is run for several K and seeds. docs/choose-k.md explains the results.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from incastle.errors import ScenarioError
from incastle.plotting.style import GREY, canvas, look, save
from incastle.runner import run_many
from incastle.scenario import load
from incastle.studies.inputs import PACKET, amount, check_star, with_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from incastle.results import Result
    from incastle.scenario import Scenario

SCENARIO = Path(__file__).with_name("choose-k.toml")
PORT = "switch->receiver"
PACKET_BITS = 8 * PACKET
PARTS = (0.025, 0.05, 0.1, 1 / 7, 0.25, 0.5, 1, 2)
"""Thresholds that are tried, in parts of C x RTT."""
FULL = 0.99
"""Of the most that any K reaches: the link is full."""
OPTIONS = {
    "network.rate": "--rate",
    "network.delay": "--delay",
    "switch.buffer": "--buffer",
    "host.tso_burst": "--burst",
    "run.duration": "--duration",
}
"""The option that sets a key."""
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
    def of(cls, scenario: Scenario) -> Port:
        """Take it from a checked scenario: four delays, and a full packet on two links."""
        check_star(scenario)
        rate, delay = (amount(scenario[f"network.{key}"]) for key in ("rate", "delay"))
        return cls(rate, 4 * delay + 2 * PACKET_BITS / rate)

    @property
    def product(self) -> float:
        """Give C x RTT in packets."""
        return self.rate * self.rtt / PACKET_BITS

    def thresholds(self) -> list[int]:
        """Give the K that are tried unless told."""
        return sorted({max(1, round(part * self.product)) for part in PARTS})


@dataclass(frozen=True)
class Inputs:
    """The numbers that were given; None is that of choose-k.toml."""

    rate: str | None
    delay: str | None
    buffer: str | None
    burst: str | None
    duration: str | None
    flows: int
    beside: str
    settings: Sequence[tuple[str, str]] = ()


def sweep(
    scenario: Scenario, thresholds: Sequence[int], seeds: int, threads: int | None
) -> pl.DataFrame:
    """Run every K with every seed."""
    jobs = [
        (scenario, {"switch.queue.marking_threshold": f"{k} packets"}, seed)
        for k in thresholds
        for seed in range(1, seeds + 1)
    ]
    results = run_many(jobs, threads)
    rows = [
        {"k": k, **measure(results[index * seeds : (index + 1) * seeds])}
        for index, k in enumerate(thresholds)
    ]
    return pl.DataFrame(rows)


def measure(results: Sequence[Result]) -> dict[str, float]:
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


def print_rules(port: Port, scenario: Scenario) -> None:
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
    panels: tuple[tuple[str, dict[str, str], float], ...] = (
        ("throughput (%)", {"throughput": ""}, 100),
        ("queue (packets)", {"queue": "mean", "queue_p99": "99th percentile"}, 1),
        ("FCT of 20 KB (us)", {"median_us": "median", "p99_us": "99th percentile"}, 1),
    )
    with canvas() as figure:
        figure.set_size_inches(9, 2.8)
        for axes, (name, columns, scale) in zip(figure.subplots(1, 3), panels, strict=True):
            for place, (column, label) in enumerate(columns.items()):
                axes.plot(table["k"], scale * table[column], label=label, **look(place))
            axes.set_ylabel(name)
            finish(axes, port, table["k"].to_list(), legend=len(columns) > 1)
        figure.suptitle(title, x=0.01, ha="left")
        save(figure, path)


def finish(axes: Axes, port: Port, thresholds: Sequence[int], *, legend: bool) -> None:
    """Give a panel its axes and the rule's place."""
    axes.axvline(port.product / 7, color=GREY, lw=1, ls=":")
    axes.set_xscale("log")
    axes.set_xticks(thresholds, [str(k) for k in thresholds])
    axes.minorticks_off()
    axes.set_xlabel("K (packets); dotted: C x RTT / 7")
    axes.set_ylim(0, 1.06 * axes.get_ylim()[1])
    if legend:
        axes.legend()


def port_scenario(given: Inputs) -> Scenario:
    """Put the numbers into the scenario."""
    options = {key: getattr(given, name[2:]) for key, name in OPTIONS.items()}
    overrides = [(key, value) for key, value in options.items() if value is not None]
    last = given.flows
    overrides += [("network.senders", str(last + 2)), ("flows.long.from", f"sender:1..{last}")]
    if beside := BESIDE[given.beside]:
        other = {"workload": "bulk", "from": f"sender:{last + 1}", "to": "receiver"}
        overrides += [(f"flows.other.{key}", value) for key, value in other.items()]
        overrides += list(beside.items())
    try:
        return load(SCENARIO, [*overrides, *given.settings])
    except ScenarioError as error:
        raise with_options(error, OPTIONS | {"measure.warmup": "--duration"}) from None
