"""From a scenario to the experiment of the program `softswitch`.

The scenario is simulated first: the instants and sizes of its flows are those of the simulation.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from incastle.scenario import checked_form
from incastle.units import parse
from incastle.worlds.counterpart import LINUX, Counterpart, WorldError

if TYPE_CHECKING:
    from incastle.results import Result
    from incastle.scenario import Scenario

HEADERS = {"tcp": 40, "udt": 44, "dcudp": 44}
"""Bytes of the headers of a packet without options, by the kind of its transport."""
REQUESTS = ("barrier-incast", "query", "all-to-all")
TOGETHER = "all-to-all"
"""The workload whose clients begin each round together: one of the program's requests has all."""
MESSAGES = ("cbr", "on-off")
SAMPLES = 1000
"""Samples of a window that the scenario stores at each change: as many as this in all."""


def experiment(
    scenario: Scenario, simulated: Result, other: Counterpart, dilation: int
) -> dict[str, Any]:
    """Return the experiment as the program reads it.

    Raises:
        WorldError: the network has no counterpart; the message names what.

    """
    text, reason = checked_form(scenario).soft_network(dilation)
    if text is None:
        raise WorldError(f"this network has no counterpart in the world {other.world}: {reason}")
    fields = scenario.to_dict()
    measure = fields["measure"]
    network = json.loads(text)
    # Each group has a transport, that of [transport] may be of no group.
    used = [flows["transport"] for flows in fields["flows"].values()]
    network["framing"] = used[0]["framing"]
    network["mtu"] = f"{max(payload(one) + HEADERS[one['kind']] for one in used)} B"
    duration = fields["run"]["duration"]
    until = measure["until"] if measure["until"] != "end" else duration
    flows = _flows(fields, simulated, other)
    return {
        "network": network,
        "kernel": _kernel(fields, other) if other.world == LINUX else None,
        "duration": duration,
        "warmup": measure["warmup"],
        "until": until,
        "flows": flows,
        "requests": _requests(fields, simulated),
        "window_every": _every(measure["window"], duration),
        "throughput_every": _every(measure["throughput"], duration) or "10 ms",
        "queue_every": _every(measure["queue"], duration),
        "queue_ports": _queue_ports(simulated),
    }


def _kernel(fields: dict[str, Any], other: Counterpart) -> dict[str, Any]:
    """Return the kernel's settings; the transport is that of [transport]."""
    transport = fields["transport"]
    return {
        "settings": other.settings,
        "min_rto": transport["min_rto"],
        "initial_window": _packets(transport),
        "gso_max_segs": fields["host"]["tso_burst"],
    }


def _flows(fields: dict[str, Any], simulated: Result, other: Counterpart) -> list[dict[str, Any]]:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    finite = simulated.transfers.filter(pl.col("kind") == "flow")
    sizes = dict(zip(finite["flow"], finite["bytes"], strict=True))
    found = []
    for row in simulated.flows.iter_rows(named=True):
        group = fields["flows"][row["group"]]
        data: str | dict[str, Any] = "unlimited"
        if group["workload"] in REQUESTS:
            data = "responses"
        elif group["workload"] in MESSAGES:
            data = {"messages": _messages(group)}
        elif row["flow"] in sizes:
            data = {"size": f"{sizes[row['flow']]} B"}
        started = row["started_s"] or 0.0
        one = {
            "from": row["from"],
            "to": row["to"],
            "congestion": other.controls[row["group"]],
            "start": f"{round(started * 1e9)} ns",
            "data": data,
        }
        if group["stop"] != "end":
            one["stop"] = group["stop"]
        found.append(one)
    return found


def _messages(group: dict[str, Any]) -> dict[str, Any]:
    """Return the messages of a constant rate."""
    text = group["message"]
    message = payload(group["transport"]) if text == "packet" else _bytes(text)
    rate, _ = parse(group["rate"]) or (math.nan, "")
    every_s = message * 8 / rate
    found: dict[str, Any] = {"message": f"{message} B", "every": f"{round(every_s * 1e12)} ps"}
    if group["workload"] == "on-off":
        found["on_off"] = [group["on"], group["off"]]
    return found


def _requests(fields: dict[str, Any], simulated: Result) -> list[dict[str, Any]]:
    """Return the requests of each client of each group, in the order of `clients`."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    responses = simulated.transfers.filter(pl.col("kind") == "response")
    sizes = dict(zip(responses["flow"], responses["bytes"], strict=True))
    found = []
    for name, number, rows in asked_together(fields, simulated):
        group = fields["flows"][name]
        rounds = group["rounds"]
        numbers = list(rows["flow"])
        instants = None
        if "rate" in group:
            instants = _instants(simulated, name, number)
            if not instants:
                continue
        if missing := [flow for flow in numbers if flow not in sizes]:
            raise WorldError(
                f"flows.{name}: the simulation ended before flow {missing[0]} had a request; "
                "a longer run.duration shows the size of its response"
            )
        one = {
            "flows": numbers,
            "request": group["request"],
            "responses": [f"{sizes[flow]} B" for flow in numbers],
            "rounds": None if rounds == "unlimited" else rounds,
            "think_time": group["think_time"],
            "start": group["start"],
            "instants": instants,
        }
        if group["stop"] != "end":
            one["stop"] = group["stop"]
        found.append(one)
    return found


def _instants(simulated: Result, group: str, client: int) -> list[str]:
    """Return when each query of a client begins, which does not wait for those before."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    own = (pl.col("group") == group) & (pl.col("index") == client)
    queries = simulated.rounds.filter(own).sort("round")
    return [f"{round(started * 1e12)} ps" for started in queries["started_s"]]


def asked_together(fields: dict[str, Any], simulated: Result) -> list[tuple[str, int, Any]]:
    """Return group, first client and flows of each of the program's requests.

    A request is of one client, or of all clients together.
    """
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    found: list[tuple[str, int, Any]] = []
    for name, number, rows in clients(fields, simulated):
        if fields["flows"][name]["workload"] != TOGETHER:
            found.append((name, number, rows))
        elif number == 0:
            found.append((name, number, simulated.flows.filter(pl.col("group") == name)))
    return found


def clients(fields: dict[str, Any], simulated: Result) -> list[tuple[str, int, Any]]:
    """Return group, number and flows of each client that sends requests."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    found = []
    for name, group in fields["flows"].items():
        if group["workload"] in REQUESTS:
            own = simulated.flows.filter(pl.col("group") == name)
            parts = own.partition_by("to", maintain_order=True)
            found += [(name, number, part) for number, part in enumerate(parts)]
    return found


def _every(choice: Any, duration: str) -> str | None:  # noqa: ANN401  any TOML value
    """Return the interval of a key under [measure]."""
    if choice == "off":
        return None
    if isinstance(choice, dict) and "every" in choice:
        return str(choice["every"])
    number, unit = duration.split()
    return f"{float(number) / SAMPLES:g} {unit}"


def _queue_ports(simulated: Result) -> list[str]:
    samples = simulated.tables.get("queue_samples")
    return [] if samples is None else samples["port"].unique(maintain_order=True).to_list()


def payload(transport: dict[str, Any]) -> int:
    """Return the application bytes of a full packet."""
    if transport["kind"] == "tcp":
        return _bytes(transport["mss"])
    return _bytes(transport["packet_size"]) - HEADERS[transport["kind"]]


def _packets(transport: dict[str, Any]) -> int:
    text = str(transport["initial_window"])
    number, _, unit = text.partition(" ")
    if unit.startswith("packet"):
        return int(number)
    return max(1, _bytes(text) // _bytes(transport["mss"]))


def _bytes(text: str) -> int:
    number, _, unit = str(text).partition(" ")
    scale = {"B": 1, "KB": 1_000, "KiB": 1_024, "MB": 1_000_000, "MiB": 1 << 20}
    return round(float(number) * scale[unit])
