"""Our congestion controls in the kernel (eBPF), where `make kernel` has built them.

DCTCP runs in the kernel. For every other control the bridge reports each ACK to this process, and
the controller, of Rust or Python, answers with its window and rate. The module `incastle._kernel`
is optional: nothing else needs it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import tomli_w

from incastle.controllers import faults, sources
from incastle.errors import ControllerError, IncastleError
from incastle.scenario import Scenario, controllers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAMES = {"dctcp": "incastle_dctcp"}
"""The kernel's name of each control that runs in it."""
PARAMETERS = {"g": 0.0625, "initial_alpha": 1.0}
"""The parameters with which they run; others are the bridge's."""
BRIDGE, BRIDGE_ECN = "incastle_bridge", "incastle_b_ecn"
"""The kernel's names of the bridge, without and with DCTCP's echo."""
MODULE = "incastle._kernel"
REMEDY = "`make kernel` builds it as eBPF (docs/kernel.md)"
PRIORITY = 20
"""The real-time priority of a bridge: below the soft switch and its endpoints."""


class KernelError(IncastleError):
    """The kernel does not take a control, or it is not built."""


def is_built() -> bool:
    """Return whether `make kernel` has built our controls."""
    return importlib.util.find_spec(MODULE) is not None


def module() -> Any:  # noqa: ANN401  the module has no types
    """Return the optional module.

    Raises:
        KernelError: it is not built.

    """
    if not is_built():
        raise KernelError("the controls for the kernel are not built: `make kernel` builds them")
    return importlib.import_module(MODULE)


def register(name: str) -> Any:  # noqa: ANN401  as above
    """Register one of `NAMES`; the kernel has it until `close` or the end of the process.

    Raises:
        KernelError: the kernel does not take it; the message has the remedy.

    """
    try:
        return {"dctcp": module().register_dctcp}[name]()
    except OSError as why:
        raise KernelError(str(why)) from None


def name_of(transport: Mapping[str, Any]) -> str:
    """Return the kernel's name of the control for a transport: one that runs in it, or a bridge."""
    congestion = transport["congestion"]
    if congestion in NAMES and all(transport[key] == value for key, value in PARAMETERS.items()):
        return NAMES[congestion]
    return BRIDGE_ECN if transport["ecn"] == "dctcp" else BRIDGE


def scenario_of(transport: Mapping[str, Any]) -> str:
    """Return the text of a scenario that has this transport, and nothing else of interest."""
    return tomli_w.dumps(
        {
            "name": "kernel",
            "run": {"duration": "1 s"},
            "network": {"topology": "star", "senders": 1, "rate": "1 Gbit/s", "delay": "10 us"},
            "transport": dict(transport),
            "flows": {"all": {"workload": "bulk", "from": "senders", "to": "receiver"}},
        }
    )


class Bridge:
    """The kernel's connections under a controller of this process.

    All calls must come from the thread that made it.

    Args:
        scenario: its first group of flows has the transport.
        dilation: real time is slower than the controller's by this factor.

    Raises:
        KernelError: the kernel does not take it, or the control cannot be bridged.

    """

    def __init__(self, scenario: Scenario, dilation: int = 1) -> None:
        transport = next(iter(scenario.to_dict()["flows"].values()))["transport"]
        self.name = name_of(transport)
        built = module()
        self._classes = controllers_of(scenario)
        makers = sources.makers(self._classes, {}, built.ControllerMaker)
        ecn = self.name == BRIDGE_ECN
        try:
            self._bridge = built.KernelBridge(scenario.resolved, makers, ecn, dilation)
        except (OSError, ValueError) as why:
            raise KernelError(str(why)) from None

    def serve(self, stop: Callable[[], bool]) -> None:
        """Answer until `stop()` is true, which is called about twenty times a second.

        Raises:
            ControllerError: the controller failed; its connections fall back to NewReno.

        """
        fault = self._bridge.run(stop)
        if fault is not None:
            kind = self._classes[fault.controller].kind
            raise ControllerError(faults.words_of(fault, kind, "after the start"))

    def statistics(self) -> dict[str, Any]:
        """Return what was measured: counts, and delays in seconds."""
        connections, reports, answered, applied, fallen_back = self._bridge.statistics()
        names = ("p50_s", "p99_s")
        return {
            "control": self.name,
            "connections": connections,
            "reports": reports,
            "report_to_answer": dict(zip(names, answered, strict=True)),
            "report_to_window": dict(zip(names, applied, strict=True)),
            "reports_after_fallback": fallen_back,
        }

    def close(self) -> None:
        """Unregister it; connections that have it keep it, and fall back to NewReno."""
        self._bridge.close()


def hurry() -> None:
    """Give this thread a real-time priority, where that is permitted."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))


def described(measured: Mapping[str, Any]) -> str:
    """Describe what a bridge measured, in a line."""

    def micro(delays: Mapping[str, float | None]) -> str:
        median, p99 = (delays[name] for name in ("p50_s", "p99_s"))
        if median is None or p99 is None:
            return "none"
        return f"median {median * 1e6:.0f} us, 99 % within {p99 * 1e6:.0f} us"

    text = (
        f"{measured['control']}: {measured['connections']} connections, "
        f"{measured['reports']} reports; report to answer: "
        f"{micro(measured['report_to_answer'])}; report to window applied: "
        f"{micro(measured['report_to_window'])}"
    )
    late = measured["reports_after_fallback"]
    return f"{text}; {late} reports after a fallback to NewReno" if late else text
