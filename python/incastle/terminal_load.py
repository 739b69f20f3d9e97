"""The offered load on the terminal: a table of tiers of links, and what it does not count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape

from incastle import terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MAX_GROUPS = 8
"""Groups with rows of their own; of more, only their sum is shown."""
TITLE = "Offered load (wire: with headers, without ACKs)"


def show(load: dict[str, Any], console: Console) -> None:
    """Show the load of each tier, by group where there are several, and what is left out."""
    if load.get("groups"):
        console.print(_table(load))
    if left_out := _left_out(load):
        console.print(f"offered load of {escape(left_out)}", soft_wrap=True)


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
