"""What qcn-incast measures for its claims: per claim and case one value for each seed.

Goodput is application bytes delivered at the client per second, in Mbit/s. Comparisons are formed
between runs of the same seed. A length that leaves a setting out cannot measure what rests on it:
its value is not a number, and the claim unclear.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

from . import rates
from .plan import BASELINES, TRACED, TRACED_SERVERS
from .points import BUFFERS, SERVERS, VARIANTS, Line
from .runs import (
    COLLAPSE,
    LINK,
    REST,
    Values,
    baseline_queue,
    baseline_throughput,
    curve,
    each,
    flows_mean,
    goodput,
    notifications,
    queue_kilobytes,
    timeouts_per_flow,
    udp_goodput,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from incastle.ends import Value
    from incastle.reproduction.papers import Observation, Observations

    from .runs import Statistic

Cases: TypeAlias = "Mapping[str, Sequence[Value]]"
Measure: TypeAlias = "Callable[[Observations], Cases]"

SMALL, LARGE = BUFFERS[:2], BUFFERS[2:]
COMBINED = ("V", "VI")
MANY = (16, 32, 64)
NONE = math.inf
"""The number of servers at which something collapses that does not."""


def ratio(above: Sequence[float], below: Sequence[float], scale: float = 1) -> Values:
    """Divide seed by seed, those that both have; x / 0 is infinite, 0 / 0 is no value."""
    return [
        scale * a / b if b else (math.inf if a else math.nan)
        for a, b in zip(above, below, strict=False)
    ]


def by_seed(columns: Iterable[Sequence[float]]) -> list[tuple[float, ...]]:
    """Turn values per setting and seed into values per seed and setting, what is missing left out.

    Settings that a length leaves out are not numbers for every seed.
    """
    kept = [column for column in columns if not all(math.isnan(value) for value in column)]
    return list(zip(*kept, strict=True))


def _fold(columns: Iterable[Sequence[float]], how: Callable[[Sequence[float]], float]) -> Values:
    """Give, seed by seed, a number of its values at several settings."""
    columns = list(columns)
    found = by_seed(columns)
    return [how(values) for values in found] if found else [math.nan] * len(columns[0])


def at(runs: Observations, line: Line, n: int, what: Statistic = goodput) -> Values:
    """Give a number of the runs at one point, seed by seed."""
    return each(runs, line.at(n), what)


def over(
    runs: Observations,
    line: Line,
    how: Callable[[Sequence[float]], float],
    what: Statistic = goodput,
    among: Sequence[int] = SERVERS,
) -> Values:
    """Fold a number over the servers, seed by seed."""
    columns = curve(runs, line, what)
    return _fold([columns[n] for n in among], how)


def mean(runs: Observations, line: Line) -> Values:
    """Give the mean goodput over all n, seed by seed."""
    return over(runs, line, fmean)


def collapse_at(points: dict[int, float], below: float = COLLAPSE) -> float:
    """Give the least number of servers with less goodput than this; infinite if there is none."""
    return min((n for n, value in points.items() if value < below), default=NONE)


def collapses(runs: Observations, line: Line, below: float = COLLAPSE) -> Values:
    """Give, seed by seed, the number of servers at which the goodput collapses."""
    columns = curve(runs, line)
    known = {n: v for n, v in columns.items() if not any(math.isnan(x) for x in v)}
    seeds = len(next(iter(columns.values())))
    return [collapse_at({n: v[seed] for n, v in known.items()}, below) for seed in range(seeds)]


def _kib(buffer: int) -> str:
    return f"{buffer} KiB"


def _by_buffer(
    measure: Callable[[Observations, int], Values], buffers: Sequence[int] = BUFFERS
) -> Measure:
    return lambda runs: {_kib(buffer): measure(runs, buffer) for buffer in buffers}


def _by(measure: Callable[[Observations, str], Values], names: Sequence[str] = COMBINED) -> Measure:
    return lambda runs: {name: measure(runs, name) for name in names}


def _by_both(
    measure: Callable[[Observations, str, int], Values],
    names: Sequence[str] = COMBINED,
    buffers: Sequence[int] = BUFFERS,
) -> Measure:
    return lambda runs: {
        f"{name}, {_kib(buffer)}": measure(runs, name, buffer)
        for name in names
        for buffer in buffers
    }


def _by_servers(measure: Callable[[Observations, int], Values], *servers: int) -> Measure:
    return lambda runs: {f"n = {n}": measure(runs, n) for n in servers}


def _share(values: Sequence[float]) -> Values:
    """Turn Mbit/s into per cent of the link."""
    return [100 * value / LINK for value in values]


# ---- figures 2 to 5, the queues


def _one_millisecond(runs: Observations, buffer: int) -> Values:
    short, long = (curve(runs, Line("tcp", buffer, rto)) for rto in ("1ms", "10ms"))
    return _fold((ratio(short[n], long[n]) for n in SERVERS), min)


def where(
    condition: Callable[[float, float], bool],
    first: dict[int, Values],
    second: dict[int, Values],
) -> list[tuple[list[float], list[float]]]:
    """Give per seed the pairs of two curves, as two lists, at the n that fulfil a condition."""
    found = []
    for seed in range(len(first[SERVERS[0]])):
        pairs = [(first[n][seed], second[n][seed]) for n in SERVERS]
        chosen = [pair for pair in pairs if condition(*pair)]
        found.append(([a for a, _ in chosen], [b for _, b in chosen]))
    return found


def _compared(runs: Observations, buffer: int, condition: Callable[[float, float], bool]) -> Values:
    """Compare QCN with TCP alone where one of both has collapsed."""
    curves = (curve(runs, Line(system, buffer)) for system in ("I", "tcp"))
    pairs = where(condition, *curves)
    return [fmean(qcn) / fmean(tcp) if qcn else math.nan for qcn, tcp in pairs]


def _before(runs: Observations, buffer: int) -> Values:
    curves = (curve(runs, Line("I", buffer, rto)) for rto in ("200ms", "10ms"))
    pairs = where(lambda a, b: a >= COLLAPSE and b >= COLLAPSE, *curves)
    return [
        max((100 * abs(a - b) / b for a, b in zip(*pair, strict=True)), default=math.nan)
        for pair in pairs
    ]


def _queue(n: int, *settings: tuple[str, str, str]) -> Measure:
    return lambda runs: {
        case: at(runs, Line(system, 256, rto), n, queue_kilobytes) for case, system, rto in settings
    }


_QCN_QUEUES = (("RTO_min 200 ms", "I", "200ms"), ("RTO_min 10 ms", "I", "10ms"))


# ---- figures 6 to 8 and table I


def _trace(what: Callable[[Observation], Value]) -> Measure:
    name = Line("I", TRACED).at(TRACED_SERVERS)
    return lambda runs: {f"n = {TRACED_SERVERS}": each(runs, name, what)}


def slowest_rules(runs: Observations, n: int) -> Values:
    """Give goodput / (n x mean least rate), seed by seed: table I."""
    least = at(runs, Line("I", TRACED), n, rates.mean_least)
    return ratio(at(runs, Line("I", TRACED), n), [n * value for value in least])


# ---- sampling, modifications, tables II and III


def _every_notifications(runs: Observations, buffer: int) -> Values:
    every, plain = (
        over(runs, Line(system, buffer), sum, notifications) for system in ("every", "I")
    )
    return ratio(every, plain)


def _better_where_collapsed(runs: Observations, system: str) -> Values:
    """Give the least ratio to I over all buffers and n at which I has collapsed."""
    found: list[list[float]] = []
    for buffer in BUFFERS:
        curves = (curve(runs, Line(one, buffer)) for one in (system, "I"))
        pairs = where(lambda _, plain: plain < COLLAPSE, *curves)
        found.append(
            [min((a / b for a, b in zip(*p, strict=True)), default=math.nan) for p in pairs]
        )
    seeds = zip(*found, strict=True)
    return [min((x for x in seed if not math.isnan(x)), default=math.nan) for seed in seeds]


def _best(runs: Observations, system: str, buffer: int) -> Values:
    single = _fold([mean(runs, Line(one, buffer)) for one in VARIANTS[:4]], max)
    return ratio(mean(runs, Line(system, buffer)), single)


def _least_share(buffer: int) -> Measure:
    return _by(lambda runs, system: _share(over(runs, Line(system, buffer), min)))


def _timeouts_matter(runs: Observations, system: str) -> Values:
    short, long = (
        _fold([mean(runs, Line(system, buffer, rto)) for buffer in BUFFERS], fmean)
        for rto in ("10ms", "200ms")
    )
    return ratio(short, long)


def sent(runs: Observations, system: str, n: int) -> Values:
    """Give the notifications in 20 s at 128 KiB: table II."""
    return at(runs, Line(system, TRACED), n, notifications)


def _more(runs: Observations) -> Cases:
    return {
        f"{system}, n = {n}": ratio(sent(runs, system, n), sent(runs, "I", n))
        for system in ("II", "III")
        for n in SERVERS
    }


def _fewer(runs: Observations, system: str) -> Values:
    least = _fold([sent(runs, one, 64) for one in ("II", "III")], min)
    return ratio(sent(runs, system, 64), least)


def _detail(runs: Observations) -> Cases:
    plain = sent(runs, "I", 64)
    tables = {"harmonic": "III", "geometric": "III-geometric"}
    return {case: ratio(sent(runs, system, 64), plain) for case, system in tables.items()}


def _few_timeouts(runs: Observations, system: str) -> Values:
    return over(runs, Line(system, TRACED, "10ms"), max, timeouts_per_flow, MANY)


def _many_timeouts(runs: Observations, system: str) -> Values:
    return at(runs, Line(system, TRACED, "10ms"), 64, timeouts_per_flow)


# ---- figures 14 to 18: beside UDP


def _half(runs: Observations, buffer: int) -> Values:
    """Without a collapse alone the ratio is only bounded, above or below: not a number."""
    beside = collapses(runs, Line("tcp", buffer, prefix="udp/"), REST / 2)
    alone = collapses(runs, Line("tcp", buffer))
    return [math.nan if math.isinf(b) else a / b for a, b in zip(beside, alone, strict=False)]


def _beside_udp(runs: Observations, n: int) -> Values:
    qcn = at(runs, Line("I", 256, prefix="udp/"), n)
    return ratio(qcn, at(runs, Line("tcp", 256, "10ms", "udp/"), n))


def _past_eight(what: Statistic, buffers: Sequence[int]) -> Measure:
    def measure(runs: Observations, system: str, buffer: int) -> Values:
        return over(runs, Line(system, buffer, prefix="udp/"), fmean, what, MANY)

    return _by_both(measure, buffers=buffers)


def _dip(runs: Observations, system: str, buffer: int) -> Values:
    return over(runs, Line(system, buffer, prefix="udp/"), min, among=(4, 8))


def _udp_queue(system: str, how: Callable[[Sequence[float]], float], rto: str = "200ms") -> Measure:
    case = "256 KiB" if system == "tcp" else system
    line = Line(system, 256, rto, "udp/")
    return lambda runs: {case: over(runs, line, how, queue_kilobytes)}


def _udp_queues(runs: Observations) -> Cases:
    return {**_udp_queue("V", max)(runs), **_udp_queue("VI", max)(runs)}


def _fair(runs: Observations, buffer: int) -> Values:
    fair = at(runs, Line("I", buffer, prefix="drr/"), 8)
    return ratio(fair, at(runs, Line("I", buffer), 8))


# ---- section IX


def _differences(what: Statistic, *pairs: tuple[str, str, str]) -> Measure:
    """Give |a - b| / b in per cent for each pair (name, a, b) of systems and each scenario."""

    def measure(runs: Observations) -> Cases:
        cases = {}
        for name, system, base in pairs:
            for scenario, label in BASELINES.items():
                first, second = (
                    each(runs, f"baseline/{scenario}/{one}", what) for one in (system, base)
                )
                case = f"{name}, {label}" if name else label
                off = [a - b for a, b in zip(first, second, strict=True)]
                cases[case] = [abs(value) for value in ratio(off, second, 100)]
        return cases

    return measure


_SLIGHT = (("II", "II", "I"), ("IV", "IV", "I"))
_DETAILED = (("", "III", "older"),)
_FOLLOWS = (("V", "V", "II"), ("VI", "VI", "III"))


MEASURES: dict[str, Measure] = {
    "fig2-collapse-32": _by_buffer(lambda runs, b: collapses(runs, Line("tcp", b)), (32,)),
    "fig2-collapse-256": _by_buffer(lambda runs, b: collapses(runs, Line("tcp", b)), (256,)),
    "fig3-large": _by_buffer(lambda r, b: _share(over(r, Line("tcp", b, "10ms"), min)), (256,)),
    "fig3-32": _by_buffer(lambda r, b: _share(over(r, Line("tcp", b, "10ms"), min)), (32,)),
    "fig3-64": _by_buffer(lambda r, b: _share(over(r, Line("tcp", b, "10ms"), min)), (64,)),
    "fig3-1ms": _by_buffer(_one_millisecond),
    "fig4-small": _by_buffer(lambda r, b: _compared(r, b, lambda qcn, _: qcn < COLLAPSE), SMALL),
    "fig4-large": _by_buffer(lambda r, b: _compared(r, b, lambda _, tcp: tcp < COLLAPSE), LARGE),
    "fig5-limit": _by_buffer(lambda r, b: _share(over(r, Line("I", b, "10ms"), max, among=MANY))),
    "fig5-dip": _by_buffer(lambda r, b: _share(at(r, Line("I", b, "10ms"), 8)), (128,)),
    "fig5-before": _by_buffer(_before),
    "queue-tcp-8": _queue(8, ("n = 8", "tcp", "10ms")),
    "queue-tcp-64": _queue(64, ("n = 64", "tcp", "10ms")),
    "queue-qcn-8": _queue(8, *_QCN_QUEUES),
    "queue-qcn-64": _queue(64, *_QCN_QUEUES),
    "fig6-least": _trace(rates.share_below),
    "fig7-changes": _trace(rates.longest_slowest),
    "fig8-wait": _trace(rates.waiting),
    "table1-before": _by_servers(slowest_rules, 2, 4, 8, 16),
    "table1-after": _by_servers(slowest_rules, 32, 64),
    "every-collapse": _by_buffer(lambda r, b: over(r, Line("every", b), min), (32,)),
    "every-cnms": _by_buffer(_every_notifications, (32, 128)),
    "older-sampling": _by_buffer(
        lambda r, b: ratio(mean(r, Line("older", b)), mean(r, Line("I", b)))
    ),
    "fig9-10-every": _by_both(
        lambda r, system, b: ratio(mean(r, Line(system, b)), mean(r, Line("every", b))),
        ("II", "III"),
    ),
    "fig9-10-better": _by(_better_where_collapsed, ("II", "III")),
    "fig11-better": _by_buffer(lambda r, b: ratio(mean(r, Line("IV", b)), mean(r, Line("I", b)))),
    "fig11-collapse": _by_buffer(lambda r, b: collapses(r, Line("IV", b)), SMALL),
    "fig12-13-best": _by_both(_best),
    "fig12-13-256": _least_share(256),
    "fig12-13-32": _least_share(32),
    "fig12-13-queue": _by(lambda r, system: over(r, Line(system, 256), max, queue_kilobytes)),
    "fig12-13-rto": _by(_timeouts_matter),
    "table2-more": _more,
    "table2-fewer": _by(_fewer, ("IV", "V", "VI")),
    "table2-detail": _detail,
    "table3-few": _by(_few_timeouts, ("II", "III", "V", "VI")),
    "table3-many": _by(_many_timeouts, ("I", "IV")),
    "fig14-half": _by_buffer(_half),
    "fig15-udp": _by_buffer(
        lambda r, b: over(r, Line("tcp", b, "10ms", "udp/"), min, udp_goodput), (256,)
    ),
    "fig15-rest": _by_buffer(
        lambda r, b: [100 * v / REST for v in over(r, Line("tcp", b, "10ms", "udp/"), min)],
        (256,),
    ),
    "fig16-better": _by_servers(_beside_udp, 2, 4, 16, 32, 64),
    "fig16-dip": _by_buffer(lambda r, b: at(r, Line("I", b, prefix="udp/"), 8), (256,)),
    "fig17-18-large": _past_eight(goodput, BUFFERS[1:]),
    "fig17-18-small": _past_eight(goodput, BUFFERS[:1]),
    "fig17-18-large-all": _past_eight(flows_mean, BUFFERS[1:]),
    "fig17-18-small-all": _past_eight(flows_mean, BUFFERS[:1]),
    "fig17-18-dip": _by_both(_dip, buffers=LARGE),
    "udp-queue-tcp": _udp_queue("tcp", min, "10ms"),
    "udp-queue-combined": _udp_queues,
    "udp-queue-detailed": _udp_queue("III", max),
    "fair-queueing": _by_buffer(_fair),
    "baseline-throughput": _differences(baseline_throughput, *_SLIGHT),
    "baseline-queue": _differences(baseline_queue, *_SLIGHT),
    "baseline-detailed-throughput": _differences(baseline_throughput, *_DETAILED),
    "baseline-detailed-queue": _differences(baseline_queue, *_DETAILED),
    "baseline-combined-throughput": _differences(baseline_throughput, *_FOLLOWS),
    "baseline-combined-queue": _differences(baseline_queue, *_FOLLOWS),
}
