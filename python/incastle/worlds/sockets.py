"""The counterpart of a scenario on real UDP sockets.

UDT and DCUDP are themselves. TCP's window controls run over UDT with accurate ACKs, the same
objects with the same parameters: our TCP exists in simulations alone.
"""

from __future__ import annotations

from typing import Any

from incastle.scenario import Scenario
from incastle.worlds import kernel, plan
from incastle.worlds.counterpart import (
    SOCKETS,
    Counterpart,
    WorldError,
    check_framing,
    check_workload,
    common_warnings,
)

OURS = ("udt", "dcudp")
"""The kinds of transport that sockets have."""
PARAMETERS = (
    *("g", "initial_alpha", "d_min", "d_max", "b", "readings"),
    *("cubic_c", "cubic_beta", "fast_convergence", "rtt_target", "rtt_transition"),
    *("base_target", "hop_scale", "fs_range", "fs_min_cwnd", "fs_max_cwnd", "ai", "beta"),
    *("max_mdf", "retx_reset_threshold", "initial_window", "handshake"),
    *("controller", "parameters", "controller_source"),
)
"""Keys that a window control has over TCP and UDT alike, where it has them."""


def of(scenario: Scenario) -> Counterpart:
    """Return the counterpart of a scenario.

    Raises:
        WorldError: it has none; the message has the key and what would do.

    """
    fields = scenario.to_dict()
    check_framing(fields)
    names: dict[str, str] = {}
    transports: dict[str, Scenario] = {}
    used: dict[str, dict[str, Any]] = {}
    warnings = []
    for group, flows in fields["flows"].items():
        check_workload(group, flows, SOCKETS)
        transport = _transport(group, flows["transport"])
        warnings += _warnings(group, flows["transport"])
        same = [name for name, other in used.items() if other == transport]
        names[group] = same[0] if same else group
        if not same:
            used[group] = transport
            transports[group] = Scenario(kernel.scenario_of(transport), scenario.file)
    warnings += common_warnings(fields, SOCKETS)
    return Counterpart(SOCKETS, names, transports=transports, warnings=warnings)


def as_udt(transport: dict[str, Any]) -> dict[str, Any]:
    """Return UDT with the window control of a TCP, and packets of the same size."""
    congestion = transport["congestion"]
    found = {key: transport[key] for key in PARAMETERS if key in transport}
    return {
        "kind": "udt",
        # It differs by TCP's recovery alone.
        "congestion": "new-reno" if congestion == "reno" else congestion,
        "packet_size": f"{plan.payload(transport) + plan.HEADERS['tcp']} B",
        "ecn": "off" if transport["ecn"] == "off" else "on",
        **found,
    }


def _transport(group: str, transport: dict[str, Any]) -> dict[str, Any]:
    where, kind = f"flows.{group}.transport", transport["kind"]
    if kind not in (*OURS, "tcp"):
        raise WorldError(
            f'{where}.kind = "{kind}" has no counterpart in the world sockets: our sockets are '
            '"udt" and "dcudp", and flows of "tcp" run over UDT'
        )
    return as_udt(transport) if kind == "tcp" else transport


def _warnings(group: str, transport: dict[str, Any]) -> list[str]:
    where, found = f"flows.{group}.transport", []
    if transport["kind"] == "tcp":
        found.append(
            f"{where}.kind: our TCP exists in simulations alone; {transport['congestion']} runs "
            "over UDT with accurate ACKs, whose recovery and timers are its own "
            "(--set transport.kind=udt simulates that)"
        )
    if not transport["handshake"]:
        found.append(f"{where}.handshake: connections open by a handshake in the world sockets")
    if transport.get("send_buffer", "unlimited") != "unlimited":
        found.append(f"{where}.send_buffer: applications wait for room in the world sockets")
    return found
