"""What dctcp varies to show why a verdict is as it is, and how much it rests on what was assumed.

Names: `why/WHAT/SETTING/...`, then as in plan.py. Variations have three seeds at most, and are
shorter than what they vary where they cost more than they tell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from . import plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from incastle.reproduction.papers import Experiment

    from .plan import Extent

Kind = TypeVar("Kind")

SEEDS = 3
MOST_PRESSURE_S = 10
"""Of buffer pressure that is varied: 1000 queries of each seed tell a factor well enough."""
MANY_SERVERS = 20
"""From so many on, three packets of each do not fit into a static buffer."""
MEMORIES = {"1MB": "1 MB", "1.5MB": "1500 KB", "2MB": "2 MB", "4MB": "4 MB"}
"""Of the switch, in all-to-all incast; 4 MB is the paper's."""
WINDOWS = {"64KiB": "64 KiB", "32KiB": "32 KiB", "16KiB": "16 KiB", "8KiB": "8 KiB"}
"""Receive windows in static incast; 64 KiB is what the experiments have."""
WINDOW_SERVERS = (1, 2, 4, 6, 8, 9, 10, 11, 12, 14, 16, 20)
LONG_WINDOWS = {"256KB": "256 KB", "512KB": "512 KB", "unlimited": "unlimited"}
"""Of the flows that come and go; 512 KB is what the experiment has."""


@dataclass(frozen=True)
class Variation:
    """One thing that is otherwise, in words and in keys."""

    words: str
    keys: dict[str, str]


def _memory(size: str) -> dict[str, str]:
    return {"switch.buffer": f"{{ shared = '{size}', alpha = 0.21 }}"}


_NO_SACK = Variation("without SACK", {"transport.recovery": "new-reno"})
_BURSTS = Variation("bursts of 10 packets", {"host.tso_burst": "10"})
ALL = {
    "jitter": Variation("no jitter", {"host.jitter": "0 s"}),
    "burst": _BURSTS,
    "sack": _NO_SACK,
    "request": Variation("requests of 1.6 KB", {"flows.query.request": "1600 B"}),
}
"""In all-to-all incast."""


def _more_long_flows() -> dict[str, str]:
    """Two more long flows to each of the 33 hosts."""
    keys: dict[str, str] = {}
    for name, to in (
        ("third", '["sender:17..43", "sender:11..16"]'),
        ("fourth", '["sender:30..43", "sender:11..29"]'),
    ):
        keys |= {
            f"flows.{name}.workload": "bulk",
            f"flows.{name}.from": "sender:11..43",
            f"flows.{name}.to": to,
            f"flows.{name}.count": "33",
            f"flows.{name}.start_spread": "100 ms",
        }
    return keys


PRESSURE = {
    "sack": _NO_SACK,
    "burst": _BURSTS,
    "four": Variation("four long flows each", _more_long_flows()),
    "2MB": Variation("memory of 2 MB", _memory("2 MB")),
    "1MB": Variation("memory of 1 MB", _memory("1 MB")),
}
"""Under buffer pressure."""
BOTH = ("1MB",)
"""Of these DCTCP is run, too."""
STAGGERS = {"1ms": "1 ms", "2ms": "2 ms"}
"""Spread of the servers' answers, without background traffic."""


def _half_with_the_rest() -> dict[str, str]:
    """Half of the background flows within the cluster, a quarter each way with the rest."""
    flows = {
        "background": ("senders", "senders", 166.5),
        "inward": ("receiver", "senders", 83.25),
        "outward": ("senders", "receiver", 83.25),
    }
    keys: dict[str, str] = {}
    for name, (source, to, arrivals) in flows.items():
        keys |= {
            f"flows.{name}.workload": "poisson",
            f"flows.{name}.from": source,
            f"flows.{name}.to": to,
            f"flows.{name}.sizes": "websearch",
            f"flows.{name}.flow_rate": f"{arrivals:g}",
        }
    return keys


REST = Variation("half with the rest", _half_with_the_rest())
MOST_REST_S = 30


def chosen(extent: Extent, kinds: Mapping[str, Kind]) -> Mapping[str, Kind]:
    """Take all variations of a kind, or the last one alone."""
    last = list(kinds)[-1]
    return kinds if extent.variations else {last: kinds[last]}


def variations(extent: Extent) -> Iterator[Experiment]:
    """List what is varied."""
    few = replace(extent, seeds=min(extent.seeds, SEEDS))
    yield from _basic(extent)
    yield from _convergence(extent)
    yield from _static(extent, few)
    yield from _all(extent, few)
    yield from _pressure(few)
    seconds = min(extent.cluster_s / 4, MOST_REST_S)
    yield from plan.cluster(replace(few, cluster_s=seconds), "why/rest/", REST.keys)


def _basic(extent: Extent) -> Iterator[Experiment]:
    """Two long flows that cannot lock each other out."""
    limited = next(one for one in plan.basic(extent) if one.name == "basic/1G/tcp")
    keys = {**limited.overrides, "transport.receive_window": "512 KB"}
    yield replace(limited, name="why/basic/tcp", overrides=keys)


def _convergence(extent: Extent) -> Iterator[Experiment]:
    for key, window in chosen(extent, LONG_WINDOWS).items():
        if window != "512 KB":
            keys = {"transport.receive_window": window}
            yield from plan.convergence(extent, f"why/convergence/{key}/", keys)


def _static(extent: Extent, few: Extent) -> Iterator[Experiment]:
    two = {**plan.STATIC, "transport.initial_window": "2 packets"}
    for n in extent.servers:
        if n >= MANY_SERVERS:
            yield plan.query(f"why/static/dctcp/rto=10ms/n={n}", extent, two)
    for key, window in chosen(extent, WINDOWS).items():
        for n in extent.servers:
            if n in WINDOW_SERVERS and window != "64 KiB":
                keys = {**plan.STATIC, "transport.receive_window": window}
                yield plan.query(f"why/window/{key}/tcp/rto=10ms/n={n}", few, keys)


def _all(extent: Extent, few: Extent) -> Iterator[Experiment]:
    rounds = max(4, extent.all_rounds // 3)
    for key, memory in MEMORIES.items():
        if memory != "4 MB":
            shorter = replace(extent, all_rounds=rounds)
            yield from plan.all_to_all(shorter, f"why/memory/{key}/", _memory(memory))
    for key, one in chosen(extent, ALL).items():
        both = plan.all_to_all(replace(few, all_rounds=rounds), f"why/all/{key}/", one.keys)
        yield from (run for run in both if run.name.endswith("/tcp"))


def _pressure(few: Extent) -> Iterator[Experiment]:
    short = replace(few, pressure_s=min(few.pressure_s / 3, MOST_PRESSURE_S))
    for key, one in chosen(few, PRESSURE).items():
        both = plan.pressure(short, f"why/pressure/{key}/", one.keys)
        yield from (
            run for run in both if run.name.endswith("/tcp") or (key in BOTH and few.variations)
        )
    for key, stagger in chosen(few, STAGGERS).items():
        keys = {"flows.query.request_jitter": stagger}
        both = plan.pressure(short, f"why/stagger/{key}/", keys)
        yield from (run for run in both if "/alone/" in run.name)
    # Hosts of today but for the window, which stays at 64 KiB.
    both = plan.pressure(short, "why/today/", plan.TODAY, plan.LONGER_ALONE)
    yield from (run for run in both if run.name.endswith("/tcp"))
