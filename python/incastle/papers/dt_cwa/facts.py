"""Further measured numbers for the texts of reasons.toml and paper.toml."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from incastle.ends import rising, shown
from incastle.reproduction import lasting

from . import plan
from .answer import greatest, variants
from .measures import at_same_thresholds, ftp_change, throughputs, timeouts
from .readings import DCTCP, READINGS, reading
from .runs import drops, mean_queue, of, query_completion, timeouts_per_flow

if TYPE_CHECKING:
    from collections.abc import Callable

    from incastle.ends import Value
    from incastle.reproduction.papers import Observation, Observations

    from .readings import System

PIPE = 12.5
"""Packets that 1 Gbit/s holds in 150 us."""
PRINTED = reading("as-printed", "subtract")
AROUND = reading("around-k", "subtract")
ORIGIN = reading("dt-dctcp", "subtract")


def _number(value: Value, digits: int = 1) -> str:
    return shown(value, lambda one: f"{one:.{digits}f}")


def _completion(runs: Observations, name: str) -> str:
    return _number(rising(fmean, of(runs, name, query_completion)))


def _dropped(runs: Observations, system: System, n: int) -> str:
    return _number(fmean(map(drops, runs[f"total/{system.key}/n={n}"])) / plan.QUERIES)


def _timed_out(runs: Observations, system: System, n: int) -> str:
    """Give the timeouts in a query; flows of all queries are rows of the table."""
    return _number(fmean(map(timeouts_per_flow, runs[f"total/{system.key}/n={n}"])) * n)


def _sender(runs: Observations) -> str:
    """Give the largest difference between the two senders at the same thresholds, in percent."""
    return _number(at_same_thresholds(runs, plan.QUERY_KINDS))


def _answer(runs: Observations) -> dict[str, str]:
    value, at = greatest(runs, "total", AROUND)
    smallest = min(
        fmean(throughputs(runs, f"ftp/{DCTCP.key}/n={n}")) for n in plan.flows(runs.length)
    )
    numbers = plan.flows(runs.length)
    changes = [rising(fmean, ftp_change(runs, one, n)) for one in READINGS for n in numbers]
    return {
        "least": _number(smallest, 0),
        "most": _number(rising(max, [*changes, 0.0])),
        "filling": str(int(PIPE // 2) + 1),
        "sender": _sender(runs),
        "best": _number(value, 0),
        "best_at": str(at),
        "timeouts_dctcp_30": _timed_out(runs, DCTCP, 30),
        "timeouts_printed_30": _timed_out(runs, PRINTED, 30),
        "timeouts_dctcp_40": _timed_out(runs, DCTCP, 40),
        "timeouts_around_40": _timed_out(runs, AROUND, 40),
        "timeouts_dctcp_55": _timed_out(runs, DCTCP, 55),
        "timeouts_around_55": _timed_out(runs, AROUND, 55),
        "timeouts_printed_55": _timed_out(runs, PRINTED, 55),
    }


def _answer_open(runs: Observations) -> dict[str, str]:
    found = variants(runs)
    inside = found.filter(found["in_band"])
    hits = [
        f"{row['setting']} ({row['reading']}, {row['what']}, n = {row['n']})"
        for row in inside.iter_rows(named=True)
    ]
    most = found.row(found["change_percent"].arg_max() or 0, named=True)
    return {
        "hits": "; ".join(hits) or "none",
        "count": str(len(hits)),
        "all": str(len(found)),
        "most": _number(lasting.read(most, "change_percent"), 0),
        "most_where": f"{most['setting']}, {most['reading']}, {most['what']}, n = {most['n']}",
    }


def _first_windows(runs: Observations) -> dict[str, str]:
    return {
        "drops_dctcp": _dropped(runs, DCTCP, 30),
        "drops_printed": _dropped(runs, PRINTED, 30),
        "drops_origin": _dropped(runs, ORIGIN, 30),
        "drops_around": _dropped(runs, AROUND, 30),
        "sender": _sender(runs),
    }


def _completions(runs: Observations) -> dict[str, str]:
    return {kind: _completion(runs, f"{kind}/{DCTCP.key}/n=30") for kind in plan.QUERY_KINDS}


def _floor(runs: Observations) -> dict[str, str]:
    def mean(name: str, what: Callable[[Observation], float]) -> str:
        return _number(fmean(map(what, runs[name])))

    return {
        "queue_30": mean("floor/dctcp/n=30", mean_queue),
        "timeouts_30": mean("floor/dctcp/n=30", timeouts_per_flow),
        "timeouts_55": mean("floor/dctcp/n=55", timeouts_per_flow),
        "usual_55": _number(
            fmean(timeouts(runs, f"ftp/{DCTCP.key}/n=55")) * plan.seconds(runs.length)
        ),
    }


def _alpha(runs: Observations) -> dict[str, str]:
    def both(part: str, alpha: int) -> tuple[str, str]:
        name = f"alpha/total/{part}a={alpha}"
        dropped = fmean(map(drops, runs[name])) / plan.QUERIES
        return _number(dropped), _completion(runs, name)

    found = {}
    for part, suffix in (("", ""), ("iw=10/", "_10")):
        for alpha in (0, 1):
            found[f"drops{suffix}_{alpha}"], found[f"ms{suffix}_{alpha}"] = both(part, alpha)
    return found


FACTS: dict[str, Callable[[Observations], dict[str, str]]] = {
    "answer": _answer,
    "answer-open": _answer_open,
    "7": _first_windows,
    "8": _first_windows,
    "fig7-total-35": _completions,
    "fig7-unit-35": _completions,
    "reason-window": _floor,
    "reason-alpha": _alpha,
}
