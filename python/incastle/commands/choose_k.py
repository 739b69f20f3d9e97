"""`incastle choose-k`: the marking threshold K that a switch port needs."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from incastle import terminal
from incastle.commands.options import Settings, Threads, count_option, option, setting
from incastle.studies.inputs import integers

EXAMPLES = (
    "incastle choose-k",
    "incastle choose-k --rate '100 Gbit/s' --k 20,65,120,240",
    "incastle choose-k --burst 32",
    "incastle choose-k --beside cubic-ecn",
)


class Beside(StrEnum):
    """One long flow of another kind in the same queue."""

    NONE = "none"
    CUBIC = "cubic"
    CUBIC_ECN = "cubic-ecn"


Rate = Annotated[str | None, option("Rate of every link.", default="10 Gbit/s")]
Delay = Annotated[
    str | None, option("One-way delay of a link, a quarter of the RTT.", default="25 us")
]
Buffer = Annotated[str | None, option("Buffer of the port.", metavar="SIZE", default="4 MB")]
Flows = Annotated[int, count_option("Number of long DCTCP flows.", metavar="N")]
Burst = Annotated[
    str | None, option("Packets that a host sends at once.", metavar="N", default="1")
]
Other = Annotated[Beside, option("A long flow of another kind in the same queue.")]
Thresholds = Annotated[
    str | None, option("Thresholds in packets.", "--k", metavar="K,...", default="parts of C x RTT")
]
Duration = Annotated[
    str | None, option("Length of a run, evaluated from 50 ms on.", default="200 ms")
]
Seeds = Annotated[int, count_option("Number of seeds per threshold.", metavar="N")]
Out = Annotated[Path, option("File of the figure: .png, .svg or .pdf.", metavar="FILE")]


def choose_k(
    rate: Rate = None,
    delay: Delay = None,
    buffer: Buffer = None,
    flows: Flows = 2,
    burst: Burst = None,
    beside: Other = Beside.NONE,
    k: Thresholds = None,
    duration: Duration = None,
    seeds: Seeds = 3,
    settings: Settings = None,
    threads: Threads = None,
    out: Out = Path("choose-k.png"),
) -> None:
    """Find the marking threshold K of a switch port for its rate, RTT and hosts.

    Long DCTCP flows share a port with messages of 20 KB. Prints throughput, queue and completion of
    the messages for each K, with the rules of the literature, and draws them. Quantities have
    units, as in a scenario. docs/choose-k.md explains the results.
    """
    from incastle.plotting import style  # noqa: PLC0415  only here
    from incastle.studies import choose_k as study  # noqa: PLC0415  slow to import

    style.check_file(out)
    overrides = [setting(text) for text in settings or []]
    scenario = study.port_scenario(
        study.Inputs(rate, delay, buffer, burst, duration, flows, beside.value, overrides)
    )
    port = study.Port.of(scenario)
    thresholds = port.thresholds() if k is None else integers("--k", k)
    study.print_rules(port, scenario)
    table = study.sweep(scenario, thresholds, seeds, threads)
    title = (
        f"{scenario['network.rate']}, round trip {math.ceil(port.rtt * 1e6)} us, "
        f"{flows} long flows, bursts of {scenario['host.tso_burst']}"
    )
    terminal.figure_first(
        out,
        lambda path: study.draw(table, port, title, path),
        lambda: study.print_table(table, shared=beside is not Beside.NONE),
    )
