"""Numbers of one run of dcudp, and of the seeds of an experiment."""

from __future__ import annotations

import math
from functools import wraps
from statistics import fmean
from typing import TYPE_CHECKING, ParamSpec, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import polars as pl

from .plan import BURST_S, LINK, MANY, PERIOD_S, PORT
from .readings import TH_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from typing import Concatenate

    from incastle.reproduction.papers import Observation, Observations

Values: TypeAlias = list[float]
Statistic: TypeAlias = "Callable[[Observation], float]"

SMALL = 3 * TH_MAX
"""Packets: the queue that the claims call small at first."""
WATCHED_S = 0.1
"""What is looked at before and after the end of figure 8's bulk transfer."""
LINEAR_S = 0.01
NEW_S = 0.01
"""What is looked at of a newcomer."""
LAST_S = 0.025
"""Of a burst: where shares should have converged."""
PAYLOAD = {"tcp": 1460, "dcudp": 1456, "udt": 1456}
"""Application bytes of a packet of 1500 bytes."""
PACKET = 1500
MSS = PAYLOAD["tcp"]
_EDGE = 1e-9
_THIRD = round(MANY / 3)


_Rest = ParamSpec("_Rest")
_Measured = TypeVar("_Measured")


def _once(
    measure: Callable[Concatenate[Observation, _Rest], _Measured],
) -> Callable[Concatenate[Observation, _Rest], _Measured]:
    """Measure each run once: claims, tables, notes and drawings ask for the same numbers."""
    known: WeakKeyDictionary[Observation, dict[Hashable, _Measured]] = WeakKeyDictionary()

    @wraps(measure)
    def measured(run: Observation, /, *args: _Rest.args, **kwargs: _Rest.kwargs) -> _Measured:
        of_run = known.setdefault(run, {})
        key = (args, tuple(kwargs.items()))
        if key not in of_run:
            of_run[key] = measure(run, *args, **kwargs)
        return of_run[key]

    return measured


# ---- figures 6 and 7


@_once
def throughput(run: Observation, seconds: float) -> float:
    """Give the IP bytes that came to the receiver in the first so many seconds, in Gbit/s."""
    inside = (pl.col("host") == "receiver") & (pl.col("time_s") < seconds - _EDGE)
    came = run["goodput"].filter(inside)["ip_bytes"].sum()
    return float(came) * 8 / seconds / 1e9


def timeouts_per_flow(run: Observation) -> float:
    """Give the timeouts of a run per flow."""
    return number(run["flows"]["timeouts"].mean())


@_once
def mean_queue(run: Observation) -> float:
    """Give the mean queue to the receiver over the run, in packets."""
    return float(_port(run)["mean_queue_packets"].item())


def queue(run: Observation, begin: float = 0.0, end: float = math.inf) -> pl.Series:
    """Give the samples of the queue to the receiver between two instants, in packets."""
    samples = run["queue_samples"]
    time = pl.col("time_s")
    here = (pl.col("port") == PORT) & (time >= begin - _EDGE) & (time < end - _EDGE)
    return samples.filter(here)["packets"].cast(pl.Float64)


@_once
def burst(run: Observation, seconds: float) -> float:
    """Give the longest queue in the first 10 ms over the mean of the second half."""
    return divide(number(queue(run, 0.0, 0.01).max()), number(queue(run, seconds / 2).mean()))


@_once
def calm_after(run: Observation, seconds: float) -> float:
    """Give when the queue is small after its first peak, in ms; the run's length if it never is."""
    here = run["queue_samples"].filter(pl.col("port") == PORT).sort("time_s")
    early = here.filter(pl.col("time_s") < 0.01 - _EDGE)
    peak = early.filter(pl.col("packets") == early["packets"].max())["time_s"].min()
    small = (pl.col("time_s") >= number(peak)) & (pl.col("packets") <= SMALL)
    first = here.filter(small)["time_s"].min()
    return 1e3 * (seconds if first is None else number(first))


@_once
def loss(run: Observation) -> float:
    """Give what the port to the receiver drops of the data packets sent, in per cent.

    Those that neither arrived nor wait at the end: the port's own count has ACK2s in it, which RED
    drops where data are marked.
    """
    sent = float(run["flows"]["packets"].sum())
    arrived = float(run["udt"]["packets_received"].sum())
    samples = run["queue_samples"].filter(pl.col("port") == PORT).sort("time_s")
    return 100 * divide(max(sent - arrived - float(samples["packets"][-1]), 0.0), sent)


def packets_per_ack(run: Observation) -> float:
    """Give the data packets that arrived for each ACK that the receivers sent."""
    counters = run["udt"]
    return divide(float(counters["packets_received"].sum()), float(counters["acks_sent"].sum()))


# ---- figures 8 and 9


def share_after(run: Observation, kind: str, ended: float) -> float:
    """Give the share of the link that the constant sender takes after the other's end, in per cent.

    Its data in order, with headers; `kind` is that of the scenario.
    """
    return share(run, kind, "cbr", ended, ended + WATCHED_S)


def share(run: Observation, kind: str, group: str, begin: float, end: float) -> float:
    """Give the share of the link that a group of flows takes between two instants, in per cent."""
    came = _between(run["throughput"], begin, end).join(_of(run, group), on="flow", how="semi")
    wire = float(came["bytes"].sum()) * PACKET / PAYLOAD[kind]
    return 100 * wire * 8 / (LINK * (end - begin))


def growth_per_round_trip(run: Observation, ended: float) -> float:
    """Give the segments by which the constant sender's window grows in a round trip, after the end.

    The number of round trips is the sum of the time between samples over the round-trip time then.
    """
    after = _windows(run, ended, ended + LINEAR_S).drop_nulls(["cwnd_bytes", "rtt_s"])
    if len(after) < 2:  # noqa: PLR2004  a growth needs two windows
        return math.nan
    trips = float((after["time_s"].diff() / after["rtt_s"]).drop_nulls().sum())
    grown = float(after["cwnd_bytes"][-1]) - float(after["cwnd_bytes"][0])
    return divide(grown / MSS, trips)


def window_before(run: Observation, ended: float) -> float:
    """Give the constant sender's mean window before the other's end, in segments."""
    return number(_windows(run, ended - WATCHED_S, ended)["cwnd_bytes"].mean()) / MSS


def window_after(run: Observation, ended: float) -> float:
    """Give the constant sender's largest window after the other's end, in segments."""
    return number(_windows(run, ended, ended + WATCHED_S)["cwnd_bytes"].max()) / MSS


def until_udp_mode(run: Observation, ended: float, lasts: float) -> float:
    """Give when the constant sender is in UDP mode after the other's end, in ms.

    What the run has left if it never is.
    """
    modes = run["dcudp_modes"].join(_of(run, "cbr"), on="flow", how="semi").sort("time_s")
    before = modes.filter(pl.col("time_s") <= ended)
    if len(before) and before["mode"][-1] == "udp":
        return 0.0
    free = modes.filter((pl.col("time_s") > ended) & (pl.col("mode") == "udp"))["time_s"].min()
    return 1e3 * ((lasts if free is None else number(free)) - ended)


# ---- newcomers and bursts


def newcomer(run: Observation, begin: float) -> float:
    """Give the bytes that the newcomer delivers in its first 10 ms."""
    came = _between(run["throughput"], begin, begin + NEW_S)
    return float(came.join(_of(run, "newcomer"), on="flow", how="semi")["bytes"].sum())


def jain_of_bursts(run: Observation, bursts: int, last: float = BURST_S) -> float:
    """Give the mean over the bursts of Jain's index in the last so many seconds of a burst.

    A burst in which nothing was delivered then has no index.
    """
    found = [jain(_delivered(run, number_, last)) for number_ in range(bursts)]
    known = [index for index in found if not math.isnan(index)]
    return fmean(known) if known else math.nan


def burst_bytes(run: Observation, bursts: int) -> float:
    """Give what all senders deliver within the bursts, in bytes."""
    return sum(sum(_delivered(run, number_)) for number_ in range(bursts))


def short_over_long(run: Observation, bursts: int) -> float:
    """Give what a sender of the third with the shortest round trips delivers over one of the last.

    Senders are numbered by their round trips, and flows by their senders.
    """
    sums = [_delivered(run, number_) for number_ in range(bursts)]
    short = sum(sum(one[:_THIRD]) for one in sums)
    return divide(short, sum(sum(one[-_THIRD:]) for one in sums))


def jain(shares: Values) -> float:
    """Jain's index of fairness; of nothing it is no number."""
    return divide(sum(shares) ** 2, len(shares) * sum(one**2 for one in shares))


@_once
def _delivered(run: Observation, number_: int, last: float = BURST_S) -> Values:
    """Give the bytes of every sender in a burst; who delivered nothing has no row in the table."""
    end = number_ * PERIOD_S + BURST_S
    came = _between(run["throughput"], end - last, end).group_by("flow").agg(pl.col("bytes").sum())
    found: dict[int, float] = dict(came.iter_rows())
    return [float(found.get(flow, 0)) for flow in run["flows"].sort("index")["flow"]]


# ---- of seeds


def of(runs: Observations, name: str, what: Statistic) -> Values:
    """Give a number of each seed of an experiment."""
    return [what(run) for run in runs[name]]


def by_seed(choose: Callable[[Iterable[float]], float], lists: Iterable[Values]) -> Values:
    """Choose, for each seed, among the values of several experiments."""
    return [choose(values) for values in zip(*lists, strict=True)]


def change(ours: Values, theirs: Values) -> Values:
    """Give ours / theirs, less 1, in per cent, seed by seed."""
    return [100 * (value - 1) for value in ratio(ours, theirs)]


def ratio(ours: Values, theirs: Values) -> Values:
    """Give ours / theirs, seed by seed."""
    return [divide(a, b) for a, b in zip(ours, theirs, strict=True)]


def difference(ours: Values, theirs: Values) -> Values:
    """Give ours less theirs, seed by seed."""
    return [a - b for a, b in zip(ours, theirs, strict=True)]


def divide(above: float, below: float) -> float:
    """Divide; x / 0 is infinite, 0 / 0 is no number."""
    if below:
        return above / below
    return math.copysign(math.inf, above) if above else math.nan


def number(value: object) -> float:
    """Take a number of polars; what has no value (no rows) is not a number."""
    return float(value) if isinstance(value, int | float) else math.nan


def _port(run: Observation) -> pl.DataFrame:
    return run["links"].filter(pl.col("port") == PORT)


def _of(run: Observation, group: str) -> pl.DataFrame:
    return run["flows"].filter(pl.col("group") == group).select("flow")


def _between(table: pl.DataFrame, begin: float, end: float) -> pl.DataFrame:
    time = pl.col("time_s")
    return table.filter((time >= begin - _EDGE) & (time < end - _EDGE))


def _windows(run: Observation, begin: float, end: float) -> pl.DataFrame:
    return _between(run["windows"], begin, end).sort("time_s")
