"""`incastle collapse`: the number of servers at which a storage cluster collapses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from incastle import terminal
from incastle.commands.options import Settings, Threads, count_option, option, setting
from incastle.errors import IncastleError
from incastle.studies.inputs import integers

EXAMPLES = (
    "incastle collapse",
    "incastle collapse --rate '25 Gbit/s' --buffer '1 MiB' --servers 8,16,32,64",
    "incastle collapse --remedies none --servers 25,27,29,31",
    "incastle collapse --remedies none,rto,dctcp --seeds 10 --rounds 200",
    "incastle collapse --set transport.delayed_ack_count=2 --out delayed-acks.png",
)

Servers = Annotated[str, option("Numbers of servers.", metavar="N,...")]
Rate = Annotated[str | None, option("Rate of every link.", default="10 Gbit/s")]
Delay = Annotated[
    str | None, option("One-way delay of a link, a quarter of the RTT.", default="25 us")
]
Buffer = Annotated[
    str | None, option("Buffer of the port to the client.", metavar="SIZE", default="512 KiB")
]
Sru = Annotated[
    str | None, option("Bytes of each server's response.", metavar="SIZE", default="256 KiB")
]
MinRto = Annotated[str | None, option("RTO_min of the servers.", default="200 ms")]
Remedies = Annotated[
    str | None,
    option(
        "Any of none, rto, window, stagger, buffer, dctcp, dctcp+rto, qcn, qcn-v, qcn-vi, drr.",
        metavar="NAME,...",
        default="all",
    ),
]
Rounds = Annotated[int, count_option("Rounds of each run, after the first.", metavar="N")]
Seeds = Annotated[int, count_option("Number of seeds per case.", metavar="N")]
Out = Annotated[Path, option("File of the figure: .png, .svg or .pdf.", metavar="FILE")]


def collapse(
    servers: Servers = "4,8,16,32,64",
    rate: Rate = None,
    delay: Delay = None,
    buffer: Buffer = None,
    sru: Sru = None,
    min_rto: MinRto = None,
    remedies: Remedies = None,
    rounds: Rounds = 100,
    seeds: Seeds = 3,
    settings: Settings = None,
    threads: Threads = None,
    out: Out = Path("collapse.png"),
) -> None:
    """Find the number of servers at which a storage cluster collapses, and what remedies gain.

    A client requests data from all servers at once (barrier incast). Prints goodput, the 99th
    percentile of a round and timeouts per round, and draws them. Quantities have units, as in a
    scenario. docs/storage-cluster.md explains the results.
    """
    from incastle.plotting import style  # noqa: PLC0415  only here
    from incastle.studies import collapse as study  # noqa: PLC0415  slow to import

    style.check_file(out)
    names = list(study.REMEDIES) if remedies is None else remedies.split(",")
    for name in names:
        if name not in study.REMEDIES:
            raise IncastleError(
                f"--remedies: no remedy is called {name!r}; there are {', '.join(study.REMEDIES)}"
            )
    plan = study.Points(names, integers("--servers", servers), seeds)
    overrides = [setting(text) for text in settings or []]
    scenario = study.cluster_scenario(
        study.Inputs(rate, delay, buffer, sru, min_rto, rounds, overrides)
    )
    cluster = study.Cluster.of(scenario)
    with terminal.progress_bar("collapse") as progress:
        table = study.sweep(scenario, cluster, plan, threads, progress)
    title = (
        f"{scenario['network.rate']}, {scenario['switch.buffer']} per port, "
        f"{scenario['flows.storage.sru']} per server, RTO_min {scenario['transport.min_rto']}"
    )
    terminal.figure_first(
        out, lambda path: study.draw(table, title, path), lambda: study.print_tables(table)
    )
