"""`run_linux` and `run_sockets`: a scenario in real time, over the kernel's TCP or our sockets."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import time
from typing import TYPE_CHECKING, Any

from incastle import _engine, runner
from incastle.results import Result
from incastle.units import si
from incastle.worlds import counterpart, plan, process, sockets, tables
from incastle.worlds import kernel as controls

if TYPE_CHECKING:
    from collections.abc import Callable

    from incastle.scenario import Scenario

ALLOWED_LATENESS = 0.1
"""Of the base RTT: packets later than this change the control's loop, and responses that one
machine writes one after another no longer meet in a queue."""
ALLOWED_STALLS = 0.01
"""Of the time: while the switch stands still few packets are late, because none arrive."""
STEPS = (1, 2, 5)
"""First digits of the dilations that are advised."""


def run_linux(
    scenario: Scenario,
    *,
    dilation: int = 1,
    progress: Callable[[runner.Progress], object] | None = None,
) -> Result:
    """Run a scenario over the kernel's TCP, through the soft switch, in real time.

    It takes `dilation` times the scenario's duration. Needs Linux and root. The result has the
    tables of a simulation, in the scenario's own time; `Result.world` has what the machine did.

    Args:
        scenario: what to run; it is simulated first, for the instants and sizes of its flows.
        dilation: rates are divided by it and times multiplied, 1 to 100000.
        progress: called about ten times a second, in this thread.

    Raises:
        WorldError: the scenario has no counterpart, or the machine lacks something.
        KeyboardInterrupt: Ctrl-C; nothing is left.

    """
    return _run(scenario, counterpart.of(scenario), dilation, progress)


def run_sockets(
    scenario: Scenario,
    *,
    dilation: int = 1,
    progress: Callable[[runner.Progress], object] | None = None,
) -> Result:
    """Run a scenario over our transport on real UDP sockets, else as `run_linux`.

    UDT and DCUDP are themselves; flows of TCP run as UDT with the same congestion control.

    Raises as `run_linux`.

    """
    return _run(scenario, sockets.of(scenario), dilation, progress)


def _run(
    scenario: Scenario,
    other: counterpart.Counterpart,
    dilation: int,
    progress: Callable[[runner.Progress], object] | None,
) -> Result:
    simulated = runner.run(scenario)
    experiment = plan.experiment(scenario, simulated, other, dilation)
    duration_s = scenario.duration_s
    began = time.monotonic()

    def show(real_s: float) -> None:
        if progress is not None:
            progress(runner.Progress(0, 1, real_s / dilation, duration_s))

    outcome = process.outcome(
        experiment, _ours(scenario, other, dilation), duration_s * dilation, show
    )
    found = tables.of(outcome, simulated, scenario.to_dict())
    world = _world(outcome, dilation, other)
    totals = _totals(found, simulated)
    return Result(
        name=scenario.name,
        seed=scenario.seed,
        digest=_digest(outcome),
        version=_engine.__version__,
        wall_s=time.monotonic() - began,
        interrupted=False,
        totals=totals,
        sources=simulated.sources,
        scenario=scenario.resolved,
        tables={"summary": _row(totals, simulated), **found},
        warnings=(*(one.in_one_line for one in scenario.warnings), *other.warnings, *notes(world)),
        offered_load=scenario.offered_load,
        world=world,
    )


def _ours(scenario: Scenario, other: counterpart.Counterpart, dilation: int) -> process.Ours:
    """Return our parts of the run: controls for the kernel, or transports on sockets."""
    if other.transports:
        parts = other.transports.items()
        transports = tuple((name, one.resolved, scenario.file) for name, one in parts)
        return process.Ours(world=other.world, transports=transports)
    if other.bridged is None:
        return process.Ours(other.registered)
    plan = {"scenario": controls.scenario_of(other.bridged), "file": scenario.file}
    return process.Ours(other.registered, {**plan, "dilation": dilation})


def _world(
    outcome: dict[str, Any], dilation: int, other: counterpart.Counterpart
) -> dict[str, Any]:
    """Return what the machine did, and whether the result can be compared."""
    network = outcome["network"]
    base_rtt_s = outcome["base_rtt_s"]
    found = {
        "name": other.world,
        "kernel": platform.release(),
        "dilation": dilation,
        "base_rtt_s": base_rtt_s,
        "lateness": network["lateness"],
        "endpoint_lateness": outcome["endpoint_lateness"],
        "stalled_share": network["stalled_s"] / (network["seconds"] * dilation),
        "stolen_s": network["stolen_s"],
        "real_time": outcome["real_time"],
        "refused": network["refused"],
        "missing_settings": outcome["missing_settings"],
        "not_scaled": list(other.not_scaled) if dilation > 1 else [],
        "controls": other.controls,
    }
    if "bridge" in outcome:
        found["bridge"] = outcome["bridge"]
    excess = max(_excesses(found).values())
    found["comparable"] = excess <= 1
    if excess > 1:
        found["dilation_needed"] = _round_up(dilation * excess)
    return found


def _excesses(world: dict[str, Any]) -> dict[str, float]:
    """Return each error of the machine over what is allowed of it."""
    rtt_us = world["base_rtt_s"] * world["dilation"] * 1e6
    answered_s = world.get("bridge", {}).get("report_to_answer", {}).get("p99_s") or 0.0
    return {
        # A switch that stands still needs more idle time, and so slower packets.
        "stalls": world["stalled_share"] / ALLOWED_STALLS,
        "lateness": world["lateness"]["p99_us"] / (ALLOWED_LATENESS * rtt_us),
        "endpoints": world["endpoint_lateness"]["p99_us"] / (ALLOWED_LATENESS * rtt_us),
        "bridge": answered_s * 1e6 / (ALLOWED_LATENESS * rtt_us),
    }


def _round_up(factor: float) -> int:
    """Return the next of 1, 2, 5, 10, 20, 50 and so on."""
    power = 1
    while True:
        for step in STEPS:
            if step * power >= factor:
                return step * power
        power *= 10


def notes(world: dict[str, Any]) -> list[str]:
    """Describe what is to be known of a result from another world."""
    late, written = world["lateness"], world["endpoint_lateness"]
    found = [
        (
            f"world {world['name']}, kernel {world['kernel']}, dilation {world['dilation']}: "
            f"packets left {late['mean_us']:.1f} us late on average, 99 % within "
            f"{late['p99_us']:.0f} us, at most {late['max_us']:.0f} us, in real time; "
            f"the switch stood still for {100 * world['stalled_share']:.2g} % of it"
        )
    ]
    if written["max_us"]:
        found.append(
            f"endpoints wrote flows, messages, requests and responses {written['mean_us']:.0f} us "
            f"late on average, 99 % within {written['p99_us']:.0f} us, in real time"
        )
    if not world["comparable"]:
        found.append(
            f"not comparable with the simulation: {why_not(world)}; "
            f"--dilate {world['dilation_needed']} would do"
        )
    if world["refused"]:
        found.append(f"{world['refused']} packets were not taken by their hosts")
    if world["missing_settings"]:
        found.append(f"this kernel has no setting {', '.join(world['missing_settings'])}")
    if world["not_scaled"]:
        found.append(f"dilation does not scale {'; '.join(world['not_scaled'])}")
    if "bridge" in world:
        found.append(controls.described(world["bridge"]))
    return found


def why_not(world: dict[str, Any]) -> str:
    """Return why a run is no comparison."""
    rtt = si(world["base_rtt_s"], "s")
    excesses = _excesses(world)
    worst = max(excesses, key=lambda name: excesses[name])
    if worst == "stalls":
        share = f"{100 * world['stalled_share']:.1f} %"
        return f"the switch stood still for {share} of the time: others had the processor"
    if worst == "bridge":
        answered = si(world["bridge"]["report_to_answer"]["p99_s"], "s")
        return (
            f"99 % of the answers of the control took up to {answered}, more than a tenth of the "
            f"base RTT ({rtt})"
        )
    if worst == "endpoints":
        return (
            f"99 % of flows, messages, requests and responses were written up to "
            f"{world['endpoint_lateness']['p99_us']:.0f} us late, more than a tenth of the base "
            f"RTT ({rtt}): one machine serves all hosts"
        )
    return (
        f"99 % of packets were up to {world['lateness']['p99_us']:.0f} us late, more than a tenth "
        f"of the base RTT ({rtt})"
    )


def _totals(found: dict[str, Any], simulated: Result) -> dict[str, int | float]:
    """Return the totals that real tables have, with the names of a simulation's."""
    flows, links, transfers = found["flows"], found["links"], found["transfers"]
    kept = ("simulated_s", "measured_from_s", "measured_to_s")
    sums = ("delivered_bytes", "retransmissions", "timeouts")
    late = transfers["completed_s"].fill_null(math.inf) > transfers["deadline_s"]
    passed = transfers["deadline_s"] <= simulated.totals["simulated_s"]
    return {
        **{name: simulated.totals[name] for name in kept},
        "packet_hops": int(links["packets"].sum()),
        "data_packets": int(flows["packets"].sum()),
        "flows": len(flows),
        **{name: int(flows[name].sum()) for name in sums},
        "drops": int(links["drops"].sum()),
        "marks": int(links["marks"].sum()),
        "transfers": int(transfers["completed_s"].count()),
        "met_deadlines": int((~late).sum()),
        "missed_deadlines": int((late & passed).sum()),
    }


def _row(totals: dict[str, int | float], simulated: Result) -> Any:  # noqa: ANN401  a frame
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are made

    schema = simulated.summary.schema
    return pl.DataFrame([totals], schema={name: schema[name] for name in totals})


def _digest(outcome: dict[str, Any]) -> str:
    """Return 16 hexadecimal digits of everything measured: no two real runs have the same."""
    return hashlib.sha256(json.dumps(outcome, sort_keys=True).encode()).hexdigest()[:16]
