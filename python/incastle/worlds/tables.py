"""From the outcome of an experiment to the tables of a result, in the scenario's time.

Counters that the kernel does not have are null: fast retransmits, reductions by ECN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from incastle.worlds.plan import clients

if TYPE_CHECKING:
    import polars as pl

    from incastle.results import Result

LAST_SINGLE_BIN = 1024
"""The longest queue with a separate bin; then powers of two, as in the simulator."""


def of(outcome: dict[str, Any], simulated: Result, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the tables by name, with the columns and types of the simulation's."""
    found = {
        "flows": _flows(outcome, simulated),
        "transfers": _transfers(outcome, simulated, fields),
        "rounds": _rounds(outcome, simulated, fields),
        "links": _links(outcome),
        "queues": _queues(outcome),
        "goodput": _goodput(outcome),
        "windows": _windows(outcome, simulated),
        "throughput": _throughput(outcome, simulated),
        "queue_samples": _queue_samples(outcome),
    }
    return {
        name: _like(rows, simulated.tables[name])
        for name, rows in found.items()
        if name in simulated.tables
    }


def _like(rows: list[dict[str, Any]], model: pl.DataFrame) -> pl.DataFrame:
    """Return rows as a frame with the columns of another; what they lack is null."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are made

    complete = [{name: row.get(name) for name in model.columns} for row in rows]
    return pl.DataFrame(complete, schema=model.schema)


def _flows(outcome: dict[str, Any], simulated: Result) -> list[dict[str, Any]]:
    found = []
    names = simulated.flows.select("flow", "group", "index", "from", "to")
    own = {row["flow"]: row for row in outcome["flows"]}
    ends = {row["flow"]: _end(row, simulated) for row in simulated.flows.iter_rows(named=True)}
    for name in names.iter_rows(named=True):
        row = own[name["flow"]]
        lasted = (row["completed_s"] or ends[name["flow"]]) - row["started_s"]
        bits = row["delivered_bytes"] * 8
        row["goodput_bit_s"] = bits / lasted if lasted > 0 else None
        found.append({**row, **name, "cnms": 0, "send_buffer_drops": 0})
    return found


def _end(row: dict[str, Any], simulated: Result) -> float:
    """Return when a flow ends that has no last byte: as its goodput in the simulation counts."""
    end = float(simulated.totals["simulated_s"])
    if row["completed_s"] is not None or not row["goodput_bit_s"]:
        return end
    started = row["started_s"] or 0.0
    return float(min(end, started + row["delivered_bytes"] * 8 / row["goodput_bit_s"]))


def _transfers(
    outcome: dict[str, Any], simulated: Result, fields: dict[str, Any]
) -> list[dict[str, Any]]:
    names = {row["flow"]: row for row in simulated.flows.iter_rows(named=True)}
    allowed = _deadlines(simulated)
    found = []
    for row in outcome["transfers"]:
        flow = names[row["flow"]]
        kind = "flow" if row["round"] is None else "response"
        time = allowed.get(row["flow"])
        until = {} if time is None else {"deadline_s": row["started_s"] + time}
        of_flow = {"group": flow["group"], "index": flow["index"], "kind": kind}
        found.append({**row, **of_flow, **until})
    of_rounds = [
        {**row, "kind": "round", "flow": None} for row in _rounds(outcome, simulated, fields)
    ]
    for row in found + of_rounds:
        done = row["completed_s"]
        row["fct_s"] = None if done is None else done - row["started_s"]
    return found + of_rounds


def _deadlines(simulated: Result) -> dict[int, float]:
    """Return the seconds that the transfers of each flow with a deadline have."""
    with_deadline = simulated.transfers.drop_nulls(("flow", "deadline_s"))
    seconds = with_deadline["deadline_s"] - with_deadline["started_s"]
    return dict(zip(with_deadline["flow"], seconds, strict=True))


def _rounds(
    outcome: dict[str, Any], simulated: Result, fields: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return a row per client and round: the responses of the client's flows."""
    by_flow: dict[int, list[dict[str, Any]]] = {}
    for row in outcome["transfers"]:
        by_flow.setdefault(row["flow"], []).append(row)
    found = []
    for group, index, rows in clients(fields, simulated):
        rounds: dict[int, list[dict[str, Any]]] = {}
        for flow in rows["flow"]:
            for one in by_flow.get(flow, []):
                rounds.setdefault(one["round"], []).append(one)
        for number, responses in sorted(rounds.items()):
            started = min(one["started_s"] for one in responses)
            ends = [one["completed_s"] for one in responses]
            done = None if None in ends else max(ends)
            size = sum(one["bytes"] for one in responses)
            found.append(
                {
                    "group": group,
                    "index": index,
                    "round": number,
                    "started_s": started,
                    "completed_s": done,
                    "bytes": size,
                    "goodput_bit_s": None if done is None else size * 8 / (done - started),
                }
            )
    return found


def _links(outcome: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for port, whole in zip(outcome["network"]["ports"], outcome["whole_run"], strict=True):
        queue = port["queue_packets"] if port["of_switch"] else {}
        found.append(
            {
                "port": port["port"],
                "packets": whole["left"],
                "bytes": whole["left_bytes"],
                "drops": whole["dropped_full"] + whole["dropped_early"],
                "lost_on_wire": 0,
                "corrupted": 0,
                "marks": whole["marked"],
                "cnms": 0,
                "utilisation": port["utilisation"],
                "mean_queue_packets": queue.get("mean"),
                "max_queue_packets": queue.get("max"),
                "max_bytes": port["max_stored_bytes"] if port["of_switch"] else None,
            }
        )
    return found


def _queues(outcome: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for port in outcome["network"]["ports"]:
        if not port["of_switch"]:
            continue
        bins: dict[int, float] = {}
        for packets, seconds in enumerate(port["queue_seconds"]):
            if seconds > 0:
                lower = packets
                if packets > LAST_SINGLE_BIN:
                    lower = 1 << (packets.bit_length() - 1)
                bins[lower] = bins.get(lower, 0.0) + seconds
        found += [
            {"port": port["port"], "packets": packets, "seconds": seconds}
            for packets, seconds in bins.items()
        ]
    return found


def _goodput(outcome: dict[str, Any]) -> list[dict[str, Any]]:
    hosts = outcome["hosts"]
    receivers = {host for _, host, count in outcome["goodput"] if count}
    by_bin: dict[tuple[int, int], dict[str, int]] = {}
    for name, column in (("goodput", "bytes"), ("ip_bytes", "ip_bytes")):
        for number, host, count in outcome[name]:
            if host not in receivers:
                continue
            by_bin.setdefault((number, host), {})[column] = count
    return [
        {
            "time_s": number / 1000,
            "host": hosts[host],
            "bytes": counts.get("bytes", 0),
            "ip_bytes": counts.get("ip_bytes", 0),
        }
        for (number, host), counts in sorted(by_bin.items())
    ]


def _windows(outcome: dict[str, Any], simulated: Result) -> list[dict[str, Any]]:
    chosen = _chosen(simulated, "windows")
    return [row for row in outcome["windows"] if row["flow"] in chosen]


def _throughput(outcome: dict[str, Any], simulated: Result) -> list[dict[str, Any]]:
    chosen = _chosen(simulated, "throughput")
    every = outcome["throughput_every_s"]
    return [
        {"time_s": number * every, "flow": flow, "bytes": count}
        for number, flow, count in outcome["throughput"]
        if flow in chosen
    ]


def _chosen(simulated: Result, table: str) -> set[int]:
    frame = simulated.tables.get(table)
    return set() if frame is None else set(frame["flow"].unique())


def _queue_samples(outcome: dict[str, Any]) -> list[dict[str, Any]]:
    names = ("time_s", "port", "packets", "bytes")
    return [dict(zip(names, row, strict=True)) for row in outcome["queue_samples"]]
