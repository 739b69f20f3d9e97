"""Flows that wait for their first retransmission timeout: it is `initial_rto`, not `min_rto`.

Until a round trip is measured the RTO is the initial one (RFC 6298, section 2), by default a
second, in which many runs end. Leaves out: flows of which anything was acknowledged.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from incastle.units import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incastle.results import Result


def note(outcomes: Sequence[Result]) -> str | None:
    """Describe the flows that lost all packets they sent and still wait for the initial RTO."""
    count, initial, least = 0, set(), set()
    for one in outcomes:
        groups = tomllib.loads(one.scenario).get("flows", {})
        for group in _waiting(one):
            transport = groups.get(group, {}).get("transport", {})
            if _is_longer(transport):
                count += 1
                initial.add(transport["initial_rto"])
                least.add(transport["min_rto"])
    if not count:
        return None
    flows, their = ("1 flow", "its") if count == 1 else (f"{count:,} flows", "their")
    return (
        f"{flows} lost every packet sent so far and measured no RTT: {their} RTO is initial_rto "
        f"({', '.join(sorted(initial))}), not min_rto ({', '.join(sorted(least))}). Set "
        "transport.initial_rto, or a longer run.duration"
    )


def _waiting(result: Result) -> list[str]:
    """Return the group of each flow all of whose packets were lost, before its first timeout."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    if "flows" not in result.tables:
        return []
    sent, lost = pl.col("packets"), pl.col("drops")
    nothing = (pl.col("delivered_bytes") == 0) & (pl.col("timeouts") == 0)
    return result.flows.filter(nothing & (sent > 0) & (lost >= sent))["group"].to_list()


def _is_longer(transport: dict[str, Any]) -> bool:
    if transport.get("kind") != "tcp":
        return False
    spans = [parse(transport[key]) for key in ("initial_rto", "min_rto")]
    return spans[0] is not None and spans[1] is not None and spans[0][0] > spans[1][0]
