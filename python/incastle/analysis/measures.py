"""Measures of one run: the columns of a sweep's summary.

The totals of the run come first, as in `Result.totals`; then the measures below, and with several
groups of flows those of each group, as `GROUP.measure`. A measure that does not exist in a run is
null: an FCT where nothing began. One that unfinished transfers could change is null as well, and
its ends bound it (`completions`).

Sums are exact (`math.fsum`) and quantiles those of `completions`, so that a number does not depend
on the order of summation that a machine or a library prefers.

Leaves out: everything over time. Keep such tables with `--tables`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incastle.analysis import failed_pairs, queues
from incastle.analysis.completions import ends_of, quantile
from incastle.errors import IncastleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import polars as pl

    from incastle.results import Result

TOTALS = {
    "simulated_s": "when the run ended",
    "measured_from_s": "begin of the interval of mean queues, utilisation and percentiles",
    "measured_to_s": "end of that interval",
    "packet_hops": "packets of any kind received over a link, at hosts and at switches",
    "data_packets": "packets with application data received by hosts",
    "events": "events of the simulation",
    "flows": "flows opened",
    "delivered_bytes": "application bytes delivered, in both directions: data and requests",
    "drops": "packets dropped, for any reason",
    "failure_drops": "drops that failed links caused",
    "lost_on_wire": "drops on degraded links",
    "corrupted": "drops of packets that degraded links corrupted",
    "headroom_drops": "drops of lossless priorities whose headroom was full",
    "pauses": "pauses of ports by their peers (PFC), of each priority",
    "marks": "packets marked (ECN)",
    "cnms": "congestion notifications sent by switches (QCN)",
    "send_buffer_drops": "datagrams, or writes to a UDT connection, that found a full send buffer",
    "retransmissions": "packets sent again",
    "timeouts": "retransmission timeouts",
    "fast_retransmits": "recoveries of TCP without a timeout",
    "ecn_reductions": "reductions of windows for marks (TCP, UDT, DCUDP)",
    "max_memory_bytes": "the most that the shared memory of any switch stored",
    "transfers": "transfers completed, rounds included",
    "met_deadlines": "transfers completed within their deadline",
    "missed_deadlines": "transfers whose deadline passed first",
}
"""The columns of `Result.summary`, totals of a run."""

OF_FLOWS = {
    "goodput_bit_s": "application bytes of flows, without requests, over the simulated time",
    "flow_goodput_mean_bit_s": "goodput of a flow over its own life: mean of the flows",
    "flow_goodput_min_bit_s": "goodput of a flow over its own life: the slowest flow",
    "fairness": "Jain's index of the flows' goodputs: 1 if all are equal, 1/n if one has all",
}
OF_TRANSFERS = {
    "completed": "finite flows and single responses that were completed",
    "unfinished": "finite flows and single responses that were unfinished at the end",
    "rounds": "rounds (all responses to one request) that were completed",
    "rounds_unfinished": "rounds (all responses to one request) that were unfinished at the end",
}
STATISTICS = {
    "completion_mean_s": "FCT of finite flows and single responses: mean",
    "completion_median_s": "FCT of finite flows and single responses: median",
    "completion_p99_s": "FCT of finite flows and single responses: 99th percentile",
    "round_mean_s": "completion time of rounds (all responses to one request): mean",
    "round_median_s": "completion time of rounds (all responses to one request): median",
    "round_p99_s": "completion time of rounds (all responses to one request): 99th percentile",
    "slowdown_median": "FCT over ideal FCT, with [measure] slowdown: median",
    "slowdown_p99": "FCT over ideal FCT, with [measure] slowdown: 99th percentile",
}
"""Of the transfers that began in the measured interval. Each has two columns more, its ends
(`completions.ends_of`), and is null where these differ: unfinished transfers could change it."""
MEASURES = OF_FLOWS | OF_TRANSFERS | STATISTICS
OF_PORTS = {
    "utilisation": "switch port with the longest mean queue: share of its rate in use",
    "queue_mean_packets": "switch port with the longest mean queue: that mean",
    "queue_median_packets": "switch port with the longest mean queue: median over time",
    "queue_p99_packets": "switch port with the longest mean queue: 99th percentile over time",
    "queue_max_packets": "switch port with the longest mean queue: its longest queue",
}
PAUSED = "paused_share"
OF_PAUSES = {
    PAUSED: "share of the whole run in which PFC paused a port (of several priorities the one "
    "paused longest): mean of all ports, of which those that were never paused count as 0",
}
FAILED, FAILED_UNFINISHED = "failed_queue_pairs", "failed_unfinished"
OF_QUEUE_PAIRS = {
    FAILED: "queue pairs of RDMA that failed: their retry limit was exceeded",
    FAILED_UNFINISHED: "unfinished finite flows and single responses of failed queue pairs, which "
    "never complete",
}
COUNTERS = ("retransmissions", "timeouts", "marks", "drops")
"""Of groups alone: those of the whole run are totals."""

SHARES = ("fairness", "utilisation", PAUSED)
"""Measures from 0 to 1."""

UNITS = {"_bit_s": "bit/s", "_bytes": "B", "_packets": "packets", "_s": "s"}
"""The unit by the end of a column's name; every other column is a plain number."""


@dataclass(frozen=True)
class Column:
    """A column of the summary that has a name for users."""

    name: str
    unit: str


def listed() -> Iterator[tuple[str, str]]:
    """Yield names, without units, and what they stand for."""
    for name, text in (MEASURES | OF_PORTS | OF_PAUSES | OF_QUEUE_PAIRS).items():
        yield shortened(name), text
    for name, text in TOTALS.items():
        yield shortened(name), f"total of the run: {text}"


def find_column(name: str, columns: Iterable[str]) -> Column:
    """Find a column by its name, with or without the unit at its end.

    Raises:
        IncastleError: there is none; the message has the nearest ones.

    """
    there = list(columns)
    for ending in ("", *UNITS):
        if name + ending in there:
            return Column(name + ending, unit_of(name + ending))
    import difflib  # noqa: PLC0415  only here

    short = [shortened(one) for one in there]
    near = difflib.get_close_matches(name, short, 3, 0.5)
    if near:
        raise IncastleError(f"no measure {name!r}: did you mean {' or '.join(near)}?")
    whole = [one for one in short if "." not in one]
    groups = list(dict.fromkeys(one.partition(".")[0] for one in short if "." in one))
    of_groups = f"; GROUP.NAME of {' or '.join(groups)}" if groups else ""
    raise IncastleError(f"no measure {name!r}: there are {', '.join(whole)}{of_groups}")


def unit_of(column: str) -> str:
    """Return the unit that the name of a column ends in, or nothing."""
    return next((unit for ending, unit in UNITS.items() if column.endswith(ending)), "")


def shortened(column: str) -> str:
    """Return a column's name without its unit."""
    ending = next((ending for ending in UNITS if column.endswith(ending)), "")
    return column.removesuffix(ending)


def ends_in(row: Mapping[str, Any], column: str) -> tuple[float, float] | None:
    """Return the ends of a measure in a row of the summary: twice its value where it has one."""
    value = row.get(column)
    if value is not None and column in queues.QUANTILES:
        return queues.ends_in(row, column)
    if value is not None:
        return value, value
    low, high = (row.get(end) for end in ends_of(column))
    return None if low is None or high is None else (low, high)


def columns_of(groups: Sequence[str]) -> list[str]:
    """Return the names of all measures of a scenario with these groups of flows."""
    measures = [*OF_FLOWS, *OF_TRANSFERS]
    measures += [column for name in STATISTICS for column in (name, *ends_of(name))]
    names = [*TOTALS, *measures, *OF_PORTS, *OF_PAUSES, *OF_QUEUE_PAIRS]
    if len(groups) > 1:
        names += [f"{group}.{name}" for group in groups for name in (*measures, *COUNTERS)]
    return names


def groups_of(columns: Iterable[str]) -> list[str]:
    """Return the groups of flows that have columns of their own: none where there is one group."""
    ending = ".goodput_bit_s"
    return [name.removesuffix(ending) for name in columns if name.endswith(ending)]


def measure(result: Result) -> dict[str, int | float | None]:
    """Return the totals and measures of a run."""
    flows, transfers = _Flows(result.flows), _Transfers(result.observed)
    seconds = float(result.totals["simulated_s"])
    row: dict[str, int | float | None] = dict(result.totals)
    row |= _of_flows(seconds, flows.all(), transfers.all()) | _of_ports(result)
    row[PAUSED] = _paused_share(result, seconds)
    pairs = failed_pairs.counts(result) if "queue_pairs" in result.tables else (None, None)
    row |= dict(zip(OF_QUEUE_PAIRS, pairs, strict=True))
    groups = list(dict.fromkeys(flows.groups))
    if len(groups) > 1:
        for group in groups:
            mine = flows.of(group)
            of_group = _of_flows(seconds, mine, transfers.of(group))
            of_group |= {name: sum(mine[name]) for name in COUNTERS}
            row |= {f"{group}.{name}": value for name, value in of_group.items()}
    return row


def measured(data: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """Return the columns that are measures."""
    return [name for name in data.columns if name not in {*keys, "seed", "digest"}]


class _Rows:
    """Columns of a table as lists, and the places of each group's rows.

    A run has several groups and few rows: polars would take longer to begin than this to end.
    """

    columns: tuple[str, ...] = ()

    def __init__(self, frame: pl.DataFrame) -> None:
        self.groups: list[str] = frame["group"].to_list()
        there = [name for name in self.columns if name in frame.columns]
        self.values: dict[str, list[Any]] = {name: frame[name].to_list() for name in there}
        self.places: dict[str, list[int]] = {}
        for place, group in enumerate(self.groups):
            self.places.setdefault(group, []).append(place)

    def all(self) -> dict[str, list[Any]]:
        """Return all rows, by column."""
        return self.values

    def of(self, group: str) -> dict[str, list[Any]]:
        """Return the rows of a group, by column."""
        places = self.places.get(group, [])
        return {name: [some[place] for place in places] for name, some in self.values.items()}


class _Flows(_Rows):
    columns = ("goodput_bit_s", "delivered_bytes", *COUNTERS)


class _Transfers(_Rows):
    columns = ("kind", "fct_low_s", "fct_high_s", "slowdown_low", "slowdown_high")


def _of_flows(
    seconds: float, flows: dict[str, list[Any]], transfers: dict[str, list[Any]]
) -> dict[str, int | float | None]:
    goodputs = [value for value in flows["goodput_bit_s"] if value is not None]
    values: dict[str, int | float | None] = {
        "goodput_bit_s": 8 * sum(flows["delivered_bytes"]) / seconds if seconds > 0 else None,
        "flow_goodput_mean_bit_s": _mean(goodputs),
        "flow_goodput_min_bit_s": min(goodputs, default=None),
        "fairness": _fairness(goodputs),
    }
    rounds = [kind == "round" for kind in transfers["kind"]]
    singles = [not one for one in rounds]
    unfinished = [math.isinf(high) for high in transfers["fct_high_s"]]
    for done, open_, those in (
        ("completed", "unfinished", singles),
        ("rounds", "rounds_unfinished", rounds),
    ):
        left = sum(itertools.compress(unfinished, those))
        values |= {done: sum(those) - left, open_: left}
    for kind, column, those in (
        ("completion", "fct_s", singles),
        ("round", "fct_s", rounds),
        ("slowdown", "slowdown", singles),
    ):
        low, high = (
            sorted(itertools.compress(transfers.get(end, ()), those)) for end in ends_of(column)
        )
        for name in STATISTICS:
            if name.startswith(f"{kind}_"):
                values |= _between(name, _statistic(name, low), _statistic(name, high))
    return values


def _statistic(name: str, ordered: Sequence[float]) -> float | None:
    if "_mean" in name:
        return _mean(ordered)
    return quantile(ordered, 0.99 if "_p99" in name else 0.5)


def _between(name: str, low: float | None, high: float | None) -> dict[str, float | None]:
    """Return a statistic, null where its ends differ, and the ends."""
    return {
        name: low if low == high else None,
        **dict(zip(ends_of(name), (low, high), strict=True)),
    }


def _of_ports(result: Result) -> dict[str, int | float | None]:
    """Measure the switch port with the longest mean queue, the first of its like."""
    bins: dict[str, list[tuple[int, float]]] = {}
    for port, packets, seconds in result.queues.select("port", "packets", "seconds").rows():
        bins.setdefault(port, []).append((packets, seconds))
    columns = ("port", "utilisation", "mean_queue_packets", "max_queue_packets")
    rows = [row for row in result.links.select(columns).rows() if row[0] in bins]
    if not rows:
        return dict.fromkeys(OF_PORTS)
    port, utilisation, mean, longest = max(rows, key=lambda row: (row[2], row[1]))
    middle, high = _time_quantile(bins[port], 0.5), _time_quantile(bins[port], 0.99)
    return dict(zip(OF_PORTS, (utilisation, mean, middle, high, longest), strict=True))


def _paused_share(result: Result, seconds: float) -> float | None:
    """Return the mean paused share of all ports; None without queues for priorities."""
    if "pauses" not in result.tables or seconds <= 0:
        return None
    longest: dict[str, float] = {}
    for port, paused_s in result.pauses.select("port", "paused_s").rows():
        longest[port] = max(paused_s, longest.get(port, 0.0))
    return math.fsum(longest.values()) / (seconds * len(result.links))


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _time_quantile(histogram: Sequence[tuple[int, float]], share: float) -> int | None:
    """Return the queue that was not exceeded for this share of the time."""
    ordered = sorted(histogram)
    wanted = share * math.fsum(seconds for _, seconds in ordered)
    passed = 0.0
    for packets, seconds in ordered:
        passed += seconds
        if passed >= wanted:
            return packets
    return ordered[-1][0] if ordered else None


def _fairness(values: Sequence[float]) -> float | None:
    """Compute Jain's index (Jain, Chiu, Hawe 1984): (sum x)^2 / (n sum x^2)."""
    squares = math.fsum(value * value for value in values)
    return math.fsum(values) ** 2 / (len(values) * squares) if squares > 0 else None
