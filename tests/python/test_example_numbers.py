"""The figures in the heads of examples and in the tutorial are those of the runs that they name."""

from __future__ import annotations

from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import incastle as ic
from incastle.commands.options import setting
from incastle.scenario import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from incastle.results import Result

ROOT = Path(__file__).parents[2]
NEW_RENO = "transport.congestion=new-reno"
NO_QCN = "switch.qcn=off"
SMALL_BUFFER = "switch.buffer=32 KiB"
NS_2 = "transport.preset=ns-2-2010"
TREE = "flows.gradients.algorithm=tree"
NEAR = "flows.urgent.deadline=8 ms"


def head(path: str) -> str:
    """Return the comments before a scenario's first key, or the whole page, on one line."""
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    if path.endswith(".toml"):
        lines = [line[1:] for line in takewhile(lambda line: line.startswith("#"), lines)]
    return " ".join(" ".join(lines).split())


@cache
def run(example: str, *settings: str) -> Result:
    """Run an example with settings as on the command line."""
    keys = [setting(one) for one in settings]
    return ic.run(load(ROOT / "examples" / f"{example}.toml", keys))


def mbit_s(result: Result, group: str = "storage") -> str:
    """Return what a group's receivers got, over the whole run, in Mbit/s."""
    delivered = float(result.flows.filter(pl.col("group") == group)["delivered_bytes"].sum())
    return f"{delivered * 8 / result.totals['simulated_s'] / 1e6:.0f}"


def rounds_s(result: Result) -> pl.Series:
    """Return the times of the finished rounds, in seconds."""
    ended = result.rounds.filter(pl.col("completed_s").is_not_null())
    return ended["completed_s"] - ended["started_s"]


def total(result: Result, name: str) -> str:
    """Return a total of a run."""
    return f"{int(result.totals[name]):,}"


def missed(result: Result) -> str:
    """Return how many of the transfers with deadlines missed theirs."""
    late = int(result.totals["missed_deadlines"])
    return f"{late} of {late + int(result.totals['met_deadlines'])}"


def waits(result: Result) -> str:
    """Return how many of the finished rounds took more than 200 ms."""
    times = rounds_s(result)
    return f"In {(times > 0.2).sum()} of {len(times)} rounds"


def timeouts_a_round(result: Result) -> str:
    """Return the timeouts of a round, as a word."""
    each = round(int(result.totals["timeouts"]) / len(rounds_s(result)))
    return {3: "three", 4: "four", 5: "five", 6: "six"}[each]


def queue(result: Result) -> pl.DataFrame:
    """Return how long the client's port had each length."""
    return result.queues.filter(pl.col("port") == "switch->receiver")


def mean_queue(result: Result) -> str:
    """Return the mean queue of the client's port, in packets."""
    rows = queue(result)
    mean = float((rows["packets"] * rows["seconds"]).sum()) / float(rows["seconds"].sum())
    return f"{mean:.0f} packets"


def empty(result: Result) -> str:
    """Return the share of time in which the client's port had no queue."""
    rows = queue(result)
    idle = float(rows.filter(pl.col("packets") == 0)["seconds"].sum())
    return f"empty for {100 * idle / float(rows['seconds'].sum()):.0f} % of the time"


def ms(result: Result, digits: int, share: float = 0.5) -> str:
    """Return a quantile of the rounds' times, in ms."""
    return f"{1e3 * (rounds_s(result).quantile(share) or 0):.{digits}f} ms"


INCAST, RENO = ("incast",), ("incast", NEW_RENO)
QCN = "qcn-incast"
TEXTS: dict[str, list[Callable[[], str]]] = {
    "examples/incast.toml": [
        lambda: f"the client receives {mbit_s(run(*INCAST))} Mbit/s",
        lambda: f"The queue has {mean_queue(run(*INCAST))} on average",
        lambda: (
            f"{mbit_s(run('incast', 'network.senders=10'))} Mbit/s, and "
            f"{mean_queue(run('incast', 'network.senders=10'))} on average"
        ),
        lambda: f"{mbit_s(run(*RENO))} Mbit/s: the buffer overflows. {waits(run(*RENO))}",
        lambda: (
            f"{mbit_s(run(*RENO, 'transport.min_rto=1 ms'))} Mbit/s: a round has "
            f"{timeouts_a_round(run(*RENO, 'transport.min_rto=1 ms'))} timeouts"
        ),
        lambda: f"{mbit_s(run(*RENO, NS_2))} Mbit/s: without RACK-TLP",
        lambda: f"{mbit_s(run('incast', 'network.senders=60'))} Mbit/s: 60 first windows",
    ],
    "docs/tutorial.md": [
        lambda: (
            f"{100 * int(mbit_s(run(*RENO))) / int(mbit_s(run(*INCAST))):.0f} % of that goodput: "
            f"{waits(run(*RENO)).lower()}"
        ),
        lambda: (
            f"a round then has {timeouts_a_round(run(*RENO, 'transport.min_rto=1 ms'))} timeouts"
        ),
        lambda: f"yet {mean_queue(run(*INCAST))} wait on average",
        lambda: f"the average is {mean_queue(run('incast', 'network.senders=10'))}",
        lambda: f"Under NewReno the queue is {empty(run(*RENO))}",
    ],
    "examples/fair-queueing.toml": [
        lambda: (
            f"the requests get {mbit_s(run('fair-queueing'))} Mbit/s and the stream "
            f"{mbit_s(run('fair-queueing'), 'background')}"
        ),
        lambda: (
            f"{mbit_s(run('fair-queueing', 'switch.queue.kind=drop-tail'))} Mbit/s and "
            f"{mbit_s(run('fair-queueing', 'switch.queue.kind=drop-tail'), 'background')}"
        ),
        lambda: (
            f"{mbit_s(run('fair-queueing', NS_2))} Mbit/s and "
            f"{mbit_s(run('fair-queueing', NS_2), 'background')}"
        ),
    ],
    "examples/qcn-incast.toml": [
        lambda: f"receives {mbit_s(run(QCN))} Mbit/s; {total(run(QCN), 'drops')} packets are lost",
        lambda: (
            f"{mbit_s(run(QCN, NO_QCN))} Mbit/s, but {total(run(QCN, NO_QCN), 'drops')} packets"
        ),
        lambda: (
            f"{mbit_s(run(QCN, SMALL_BUFFER))} Mbit/s; without QCN "
            f"{mbit_s(run(QCN, SMALL_BUFFER, NO_QCN))}: incast collapse; with variant I "
            f"{mbit_s(run(QCN, SMALL_BUFFER, 'switch.qcn.variant=I'))}"
        ),
        lambda: (
            f"every-packet "
            f"{mbit_s(run(QCN, SMALL_BUFFER, 'switch.qcn.sampling=every-packet'))} Mbit/s"
        ),
        lambda: (
            f"{mbit_s(run(QCN, NS_2))} Mbit/s, without QCN {mbit_s(run(QCN, NS_2, NO_QCN))}; "
            f"with 32 KiB {mbit_s(run(QCN, NS_2, SMALL_BUFFER))}, without QCN "
            f"{mbit_s(run(QCN, NS_2, SMALL_BUFFER, NO_QCN))}, with variant I "
            f"{mbit_s(run(QCN, NS_2, SMALL_BUFFER, 'switch.qcn.variant=I'))}"
        ),
    ],
    "examples/deadlines.toml": [
        lambda: f"{missed(run('deadlines'))} deadlines",
        lambda: (
            f"{total(run('deadlines', 'transport.congestion=dctcp'), 'missed_deadlines')}: the same"
        ),
        lambda: (
            f"{total(run('deadlines', NEAR), 'missed_deadlines')} (DCTCP: "
            f"{total(run('deadlines', NEAR, 'transport.congestion=dctcp'), 'missed_deadlines')})"
        ),
    ],
    "examples/degraded-link.toml": [
        lambda: f"no timeout, in place of {run('degraded-link').flows['timeouts'].sum()}",
    ],
    "examples/all-reduce.toml": [
        lambda: f"headers and the latency of 30 steps make {ms(run('all-reduce'), 2)}",
        lambda: f"{ms(run('all-reduce', 'flows.gradients.segments=10'), 2)}: a pipeline",
        lambda: f"{ms(run('all-reduce', TREE), 1)}: up and down a tree",
        lambda: f"{ms(run('all-reduce', TREE, 'flows.gradients.segments=100'), 1)}: the same",
        lambda: f"{ms(run('all-reduce', 'flows.gradients.start_spread=2 ms'), 2, 1)}, the first",
    ],
    "examples/changing-rate.toml": [
        lambda: f"{total(run('changing-rate'), 'drops')} packets are lost",
        lambda: f"{round(int(run('changing-rate', NO_QCN).totals['drops']), -3):,} packets",
    ],
    "examples/query.toml": [
        lambda: (
            f"{ms(run('query', NEW_RENO), 0, 0.99)}: behind long flows, and "
            f"{total(run('query', NEW_RENO), 'timeouts')} timeouts"
        ),
    ],
}


@pytest.mark.parametrize(
    ("path", "text"),
    [(path, text) for path, texts in TEXTS.items() for text in texts],
    ids=lambda one: one if isinstance(one, str) else "",
)
@pytest.mark.xdist_group("example-numbers")
def test_heads_of_examples_have_the_figures_of_their_runs(
    path: str, text: Callable[[], str]
) -> None:
    assert text() in head(path)
