"""The offered load: a table of tiers of links, what it leaves out, and what a run drew of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape

from incastle import terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from incastle.results import Result

MAX_GROUPS = 8
"""Groups that are shown one by one; of more, only the sum is shown."""

TITLE = "Offered load, on average (wire: with headers, without ACKs)"

CHANCE = 0.05
"""Deviation of drawn bytes from those expected that is not reported."""


def show(load: dict[str, Any], console: Console) -> None:
    """Show the load of each tier, by group where there are several, and what is left out."""
    if load.get("groups"):
        console.print(_table(load))
    if left_out := _left_out(load):
        console.print(f"offered load of {escape(left_out)}", soft_wrap=True)


def drawn(outcomes: Sequence[Result], console: Console) -> None:
    """Report groups whose drawn transfers have other bytes than expected, of runs by seeds."""
    groups = outcomes[0].offered_load.get("groups", ())
    shares = {one["group"]: [_drawn(outcome, one) for outcome in outcomes] for one in groups}
    apart = [
        f"{_from_to([share for share in of_runs if share is not None])} ({group})"
        for group, of_runs in shares.items()
        if any(map(_is_apart, of_runs))
    ]
    if apart:
        runs = "this run" if len(outcomes) == 1 else f"these {len(outcomes)} runs"
        *others, last = apart
        named = f"{', '.join(others)} and {last}" if others else last
        console.print(
            f"flows are drawn at random: {runs} drew {escape(named)} of the bytes that the load "
            "above gives on average in the same time; longer runs come closer",
            soft_wrap=True,
        )


def _from_to(shares: Sequence[float]) -> str:
    low, high = f"{100 * min(shares):.0f}", f"{100 * max(shares):.0f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def _is_apart(share: float | None) -> bool:
    return share is not None and abs(share - 1) > CHANCE


def _drawn(outcome: Result, load: dict[str, Any]) -> float | None:
    """Return the share of the expected bytes that a group drew; None where nothing is drawn."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    if "transfers" not in outcome.tables or not load.get("drawn"):
        return None
    end = min(load["until_s"], outcome.totals["simulated_s"])
    expected = load["application_bytes_s"] * (end - load["from_s"])
    of_group = (pl.col("group") == load["group"]) & (pl.col("kind") == "flow")
    flows = outcome.transfers.filter(of_group)
    return float(flows["bytes"].sum()) / expected if len(flows) and expected > 0 else None


def _table(load: dict[str, Any]) -> Table:
    groups = load["groups"]
    several = 1 < len(groups) <= MAX_GROUPS
    columns = ("links", "", "crossed", "application", "wire", "most loaded, wire", "")
    table = terminal.aligned(TITLE, *(["group"] if several else []), *columns)
    # The words after the numbers.
    table.columns[-1].justify = "left"
    table.columns[1 + several].justify = "left"
    blocks = [(one["group"], one["tiers"]) for one in groups] if several else []
    for group, tiers in [*blocks, ("all together", load["together"])]:
        for row in tiers:
            name = [escape(group) if row is tiers[0] else ""] if several else []
            table.add_row(*name, *_cells(row))
        if several:
            table.add_section()
    return table


def _cells(row: dict[str, Any]) -> list[str]:
    direction = "" if row["direction"] == "any" else row["direction"]
    loads = [f"{100 * row[name]:.1f} %" for name in ("application", "wire", "max")]
    style = "[yellow]{}[/]" if row["max"] > 1 else "{}"
    crossed = f"{row['links']:,} of {row['of']:,}"
    if row["links"] == 0:
        return [row["tier"], direction, crossed, "", "", "", ""]
    marked = [loads[0], *(style.format(one) for one in loads[1:])]
    return [row["tier"], direction, crossed, *marked, escape(row["max_link"])]


def _left_out(load: dict[str, Any]) -> str:
    """Name groups that are not counted, those with one reason together."""
    reasons: dict[str, list[str]] = {}
    for one in load.get("left_out", []):
        reasons.setdefault(one["reason"], []).append(f"{one['group']} ({one['workload']})")
    return "; ".join(f"{', '.join(groups)}: {reason}" for reason, groups in reasons.items())
