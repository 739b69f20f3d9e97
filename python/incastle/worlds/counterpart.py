"""What of a scenario the kernel's TCP and the soft switch have, and what they lack.

`sockets` has the same for our transport. Leaves out: the network, which the engine checks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incastle.errors import IncastleError
from incastle.worlds import kernel

if TYPE_CHECKING:
    from incastle.scenario import Scenario

CONTROLS = {"new-reno": "reno", "cubic": "cubic", "bbr": "bbr", "dctcp": "dctcp"}
"""The kernel's name of each control of scenarios."""
LINUX, SOCKETS = "linux", "sockets"
"""The worlds in real time."""
WORKLOADS = (
    "bulk",
    "cbr",
    "on-off",
    "flow-list",
    "permutation",
    "poisson",
    "barrier-incast",
    "query",
    "all-to-all",
)
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
CUBIC = " (cubic)"
NOT_SCALED = (
    "the delayed-ACK timeout (40 ms in the kernel)",
    "the initial RTO (1 s)",
    f"HyStart's threshold of delay (4 to 16 ms) and the time-out of its train{CUBIC}",
    f"the 1/32 s for which growth rests{CUBIC}",
    "the kernel's clock of RTT samples (1 us) and of timers (1 ms to 4 ms)",
)
"""Times of the kernel that dilation does not multiply."""


class WorldError(IncastleError):
    """A scenario without a counterpart in another world, or a machine that lacks something."""


@dataclass(frozen=True)
class Counterpart:
    """The endpoints of a scenario in another world.

    Attributes:
        world: the name of the world.
        controls: the kernel's congestion control by group, or the name of its transport on sockets.
        settings: names under /proc/sys/net/ipv4 and their values.
        registered: our controls that run in the kernel, which it gets for the run.
        bridged: the transport whose controller decides through the bridge, if there is one.
        transports: on sockets: a scenario that has each of the transports, by its name.
        not_scaled: times that dilation does not multiply.
        warnings: what differs from the scenario, each with its reason.

    """

    world: str
    controls: dict[str, str]
    settings: list[tuple[str, str]] = field(default_factory=list)
    registered: tuple[str, ...] = ()
    bridged: dict[str, Any] | None = None
    transports: dict[str, Scenario] = field(default_factory=dict)
    not_scaled: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)


def of(scenario: Scenario) -> Counterpart:
    """Return the counterpart of a scenario.

    Raises:
        WorldError: it has none; the message has the key and what would do.

    """
    fields = scenario.to_dict()
    available = _available()
    controls, bridged = {}, {}
    for group, flows in fields["flows"].items():
        check_workload(group, flows, LINUX)
        _check_kind(group, flows["transport"])
        controls[group] = _control(group, flows["transport"], available)
        if controls[group] in {kernel.BRIDGE, kernel.BRIDGE_ECN}:
            bridged[group] = flows["transport"]
    check_framing(fields)
    if any(one != next(iter(bridged.values())) for one in bridged.values()):
        raise WorldError(
            f"flows {', '.join(bridged)}: the bridge to the kernel has one control at a time; "
            "give them the same transport"
        )
    return Counterpart(
        LINUX,
        controls,
        _settings(fields["transport"]),
        tuple(name for name, ours in kernel.NAMES.items() if ours in controls.values()),
        next(iter(bridged.values()), None),
        not_scaled=tuple(
            one for one in NOT_SCALED if CUBIC not in one or "cubic" in controls.values()
        ),
        warnings=[*_warnings(fields), *_delayed_acks(bridged)],
    )


def _available() -> list[str]:
    try:
        return AVAILABLE.read_text(encoding="ascii").split()
    except OSError:
        raise WorldError("--world linux needs Linux: this system has no TCP of it") from None


def check_workload(group: str, flows: dict[str, Any], world: str) -> None:
    """Refuse a workload that no world in real time has.

    Raises:
        WorldError: the message names the key.

    """
    workload = flows["workload"]
    where = f"flows.{group}.workload"
    if workload not in WORKLOADS:
        raise WorldError(
            f'{where} = "{workload}" has no counterpart in the world {world}; '
            f"there are: {', '.join(WORKLOADS)}"
        )
    if flows.get("periods") == "exponential":
        raise WorldError(
            f'flows.{group}.periods = "exponential": random periods have no counterpart in the '
            f'world {world}; "constant" ones have'
        )


def _check_kind(group: str, transport: dict[str, Any]) -> None:
    where = f"flows.{group}.transport"
    if transport["kind"] != "tcp":
        raise WorldError(
            f'{where}.kind = "{transport["kind"]}" has no counterpart in the world linux: '
            'the kernel\'s sockets are "tcp"'
        )


def check_framing(fields: dict[str, Any]) -> None:
    """Refuse flows with and without frames on one network.

    Raises:
        WorldError: the message names the key.

    """
    groups = {name: flows["transport"]["framing"] for name, flows in fields["flows"].items()}
    first = next(iter(groups.values()))
    for group, framing in groups.items():
        if framing != first:
            raise WorldError(
                f'flows.{group}.transport.framing = "{framing}": the soft switch frames all '
                f"packets alike; --set transport.framing={first}"
            )


def _control(group: str, transport: dict[str, Any], available: list[str]) -> str:
    wanted = transport["congestion"]
    if wanted in kernel.NAMES and kernel.is_built():
        return kernel.name_of(transport)
    if CONTROLS.get(wanted) in available:
        return CONTROLS[wanted]
    if kernel.is_built():
        return kernel.name_of(transport)
    there = [name for name, theirs in CONTROLS.items() if theirs in available]
    raise WorldError(
        f'flows.{group}.transport.congestion = "{wanted}": this kernel has no such control; '
        f"{kernel.REMEDY}; it has {', '.join(there)} (--set transport.congestion={there[-1]})"
    )


def _settings(transport: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the kernel's settings for the keys of [transport]."""

    def flag(key: str, on: str = "1") -> str:
        return on if transport.get(key) else "0"

    by_time = transport["recovery"] == "rack-tlp"
    return [
        ("tcp_ecn", "0" if transport["ecn"] == "off" else "1"),
        ("tcp_ecn_fallback", "0"),
        ("tcp_sack", "0" if transport["recovery"] == "new-reno" else "1"),
        ("tcp_recovery", "1" if by_time else "0"),
        ("tcp_early_retrans", flag("tail_loss_probe", "3")),
        ("tcp_dsack", flag("dsack")),
        ("tcp_frto", flag("f_rto", "2")),
        ("tcp_timestamps", flag("timestamps")),
        ("tcp_slow_start_after_idle", flag("slow_start_after_idle")),
        # No connection begins with what an earlier one has learnt.
        ("tcp_no_metrics_save", "1"),
        # The kernel takes little that it cannot send yet, so that a stop is one.
        ("tcp_notsent_lowat", "131072"),
        ("tcp_rmem", "4096 1048576 67108864"),
        ("tcp_wmem", "4096 1048576 67108864"),
    ]


def _warnings(fields: dict[str, Any]) -> list[str]:
    found = []
    transport = fields["transport"]
    for group, flows in fields["flows"].items():
        one = flows["transport"]
        # A control that needs marks has its connections negotiate ECN, whatever the host's value.
        keys = ("recovery", "min_rto") if one["ecn"] == "dctcp" else ("ecn", "recovery", "min_rto")
        differs = [key for key in keys if one[key] != transport[key]]
        if differs:
            found.append(
                f"flows.{group}.transport.{differs[0]}: the kernel has one value for each host; "
                "that of [transport] holds"
            )
        if one["congestion"] == "bbr":
            found.append(f"flows.{group}: the kernel's BBR is version 1, the simulator's is 3")
    if transport["timestamps"]:
        found.append(
            "transport.timestamps: the kernel's take 12 bytes of each segment's payload, "
            "the simulator's none"
        )
    return found + common_warnings(fields, LINUX)


def _delayed_acks(bridged: dict[str, dict[str, Any]]) -> list[str]:
    """Return that the control sees other round trips under delayed ACKs, where it does."""
    if all(one["delayed_ack_count"] == 1 for one in bridged.values()):
        return []
    # The kernel's rate_sample.rtt_us is of the last packet, a timestamp's echo (RFC 7323) of the
    # first.
    return [
        (
            f"flows {', '.join(bridged)}: transport.delayed_ack_count: of the packets that one "
            "ACK covers, the kernel gives the control the round trip of the last, the simulation "
            "that of the first (delayed_ack_count = 1 simulates what the control sees there)"
        ),
    ]


def common_warnings(fields: dict[str, Any], world: str) -> list[str]:
    """Return what differs in every world in real time."""
    found = [
        f"flows.{group}.request_jitter: requests leave at once in the world {world}"
        for group, flows in fields["flows"].items()
        if flows.get("request_jitter", "0 s") != "0 s"
    ]
    found += [
        f"flows.{group}.deadline: no control sees deadlines in the world {world}: "
        "d2tcp reacts as dctcp"
        for group, flows in fields["flows"].items()
        if flows["transport"].get("congestion") == "d2tcp" and flows.get("deadline")
    ]
    if fields["host"]["jitter"] != "0 s":
        found.append("host.jitter: the machine has its own")
    return found
