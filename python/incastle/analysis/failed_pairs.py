"""Queue pairs of RDMA that failed: their retry limit was exceeded, and they never send again.

Retries are timeouts, NAKs and implied NAKs without progress between them (docs/models/rdma.md).
What such a queue pair had not delivered by then never arrives, however long the run is. Where none
of its packets was dropped in either direction, its timer is shorter than the round trip.

Leaves out: which packets were lost. The events of `incastle explain` name them.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from incastle.units import parse, si

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from incastle.results import Result

LONGER = "a transport.ack_timeout above the round trip, queues and pauses included"


def note(outcomes: Sequence[Result]) -> str | None:
    """Describe how many queue pairs failed, why, and the remedy; None where none failed."""
    whole, groups, with_drops = 0, [], 0
    keys: dict[str, set[str]] = {"retry_limit": set(), "ack_timeout": set()}
    for one in outcomes:
        if "queue_pairs" not in one.tables:
            continue
        whole += len(one.table("queue_pairs"))
        failed = _failed(one)
        groups += failed["group"].to_list()
        with_drops += int((failed["drops"] > 0).sum())
        flows = tomllib.loads(one.scenario)["flows"]
        for key, values in keys.items():
            values |= {_words(flows[group]["transport"][key]) for group in failed["group"].unique()}
    if not groups:
        return None
    limit, timeout = (", ".join(sorted(values)) for values in keys.values())
    return (
        f"{len(groups):,} of {whole:,} queue pairs failed: retry_limit ({limit}) was exceeded by "
        "retries without progress, and no packet of theirs is sent any more. "
        f"{_why(with_drops, groups)}"
        f" (ack_timeout is {timeout}; [switch.pfc] prevents drops of full buffers)"
    )


def _words(value: object) -> str:
    """Write a limit or a span; exact spans have more digits than a reader needs."""
    quantity = parse(value) if isinstance(value, str) else None
    return str(value) if quantity is None else si(*quantity)


def _why(with_drops: int, failed: Sequence[str]) -> str:
    """Describe the causes: losses, or a timer that is too short, with the remedies."""
    if with_drops == len(failed):
        return (
            "Packets of each were dropped: prevent losses, set a higher transport.retry_limit, or "
            f"{LONGER}"
        )
    others = f"{len(failed) - with_drops:,} of them" if with_drops else "them"
    return f"No packet of {others} was dropped: set {LONGER}"


def remedy(outcomes: Sequence[Result], longer: str) -> str:
    """Return the remedy for unfinished transfers: none for those of failed queue pairs.

    Args:
        outcomes: the runs.
        longer: the remedy for those that go on.

    """
    singles = [one.observed.filter(one.observed["kind"] != "round") for one in outcomes]
    left = sum(frame["fct_s"].null_count() for frame in singles)
    dead = sum(counts(one)[1] for one in outcomes if "queue_pairs" in one.tables)
    return advice(dead, left, longer)


def advice(dead: int, left: int, longer: str) -> str:
    """Return the remedy for unfinished transfers.

    Args:
        dead: those of failed queue pairs.
        left: all of them.
        longer: the remedy for those that go on.

    """
    if not dead:
        return longer
    if dead < left:
        others = longer.replace("complete them", "complete the others", 1)
        return f"{dead:,} of {left:,} flows never complete: their queue pairs failed. {others}"
    return "They never complete, because their queue pairs failed"


def counts(outcome: Result) -> tuple[int, int]:
    """Count the queue pairs that failed, and the unfinished transfers of these."""
    failed = _failed(outcome)["flow"].to_list()
    if not failed:
        return 0, 0
    single = outcome.observed.filter(outcome.observed["kind"] != "round")
    unfinished = single.filter(single["fct_s"].is_null())
    return len(failed), int(unfinished["flow"].is_in(failed).sum())


def _failed(outcome: Result) -> pl.DataFrame:
    """Return the rows of `flows` of queue pairs that failed."""
    pairs = outcome.table("queue_pairs")
    failed = pairs.filter(pairs["failed"] > 0)["flow"].to_list()
    return outcome.flows.filter(outcome.flows["flow"].is_in(failed))
