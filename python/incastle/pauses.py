"""The tables of pauses (PFC) that a run prints: who was paused, how long, and from which root."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from rich.markup import escape

from incastle.terminal import aligned
from incastle.units import si

if TYPE_CHECKING:
    from rich.table import Table

    from incastle.results import Result

MAX_ROWS = 6


def table_of(outcome: Result) -> Table | None:
    """Return the ports that were paused longest; None where none was."""
    if "pauses" not in outcome.tables:
        return None
    rows = outcome.pauses
    paused = rows.filter(rows["pauses"] > 0).sort("paused_s", descending=True)
    if paused.is_empty():
        return None
    shown = paused.head(MAX_ROWS)
    of_all = f", {len(shown)} of {len(paused)}" if len(shown) < len(paused) else ""
    storms = int(rows["storms"].sum()) > 0
    names = ["port", "priority", "pauses", "paused in all", "share of the run", "longest"]
    names += ["storms", "dropped in storms"] if storms else []
    table = aligned(f"Ports paused by PFC, whole run, longest in all first{of_all}", *names)
    whole = float(outcome.totals["simulated_s"])
    for row in shown.iter_rows(named=True):
        of_storms = (f"{row['storms']:,}", f"{row['storm_drops']:,}") if storms else ()
        table.add_row(
            escape(row["port"]),
            str(row["priority"]),
            f"{row['pauses']:,}",
            si(row["paused_s"], "s"),
            f"{100 * row['paused_s'] / whole:.2f} %",
            si(row["longest_s"], "s"),
            *of_storms,
        )
    return table


def roots_of(outcome: Result) -> Table | None:
    """Return the roots of all pauses with their shares; None unless `[measure] pauses` is set."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    # Results of earlier versions have one root for each pause, whatever became of it.
    if "pause" not in outcome.tables.get("pause_record", ()):
        return None
    end = float(outcome.totals["simulated_s"])
    lasted = (pl.col("end_s").fill_null(end) - pl.col("begin_s")).alias("lasted_s")
    record = outcome.table("pause_record").with_columns(lasted)
    roots = record.group_by("root_port").agg(
        pl.col("pause").n_unique().alias("pauses"),
        pl.col("lasted_s").sum(),
        pl.col("port").n_unique().alias("ports"),
        pl.col("depth").max(),
    )
    if roots.is_empty():
        return None
    shown = roots.sort("lasted_s", descending=True).head(MAX_ROWS)
    of_all = f", {len(shown)} of {len(roots)}" if len(shown) < len(roots) else ""
    whole = float(roots["lasted_s"].sum()) or 1.0
    names = ("congested port", "pauses", "share of all paused time", "paused ports", "depth")
    table = aligned(f"Roots of the pauses{of_all}", *names)
    for row in shown.iter_rows(named=True):
        table.add_row(
            escape(row["root_port"] or "unknown"),
            f"{row['pauses']:,}",
            f"{100 * row['lasted_s'] / whole:.1f} %",
            f"{row['ports']:,}",
            str(row["depth"]),
        )
    return table


def notes_of(outcome: Result) -> list[str]:
    """Name the drops of lossless priorities, or that nothing was paused where that is measured."""
    dropped = int(outcome.totals.get("headroom_drops", 0))
    if not dropped:
        return _none_paused(outcome)
    rows = outcome.pauses.filter(outcome.pauses["headroom_drops"] > 0)
    worst = rows.sort("headroom_drops", descending=True).row(0, named=True)
    what = f"{dropped:,} packets of lossless priorities were dropped"
    # A headroom belongs to a port, and takes what comes from its other end.
    other_end = worst["port"].partition("->")[2].partition("#")[0]
    where = (
        f"{worst['headroom_drops']:,} of them at the headroom of {worst['port']}, "
        f"priority {worst['priority']}, for data of {other_end}"
    )
    if not int(outcome.pauses["pauses_sent"].sum()):
        return [f"{what}, because the switches send no pauses ({where})."]
    return [f"{what}, because headroom was full ({where}): a misconfiguration. {_remedy(outcome)}"]


def _remedy(outcome: Result) -> str:
    """Return the keys that keep headroom from being full."""
    tables = tomllib.loads(outcome.scenario)
    switches = [tables["switch"], *tables.get("switches", {}).values()]
    if any((one.get("pfc") or {}).get("headroom", "auto") != "auto" for one in switches):
        return 'switch.pfc.headroom = "auto" is enough.'
    return (
        'switch.pfc.headroom is "auto", which is enough where pauses last: look at '
        "switch.pfc.quanta, links that lose pause frames, and a watchdog that forwards."
    )


def _none_paused(outcome: Result) -> list[str]:
    """Describe, with `[measure] pauses`, that the record of pauses is empty."""
    if "pause_record" not in outcome.tables or len(outcome.table("pause_record")):
        return []
    pfc = tomllib.loads(outcome.scenario).get("switch", {}).get("pfc", "off")
    if pfc == "off":
        return ["No port was paused: [switch.pfc] is off."]
    if not pfc["pause_frames"]:
        return ["No port was paused: switch.pfc.pause_frames is false."]
    return ["No port was paused: no ingress port reached XOFF ([switch.pfc])."]
