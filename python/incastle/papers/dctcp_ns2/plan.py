"""What dctcp-ns2 runs: every experiment as a scenario file with its overrides.

Names say what differs: `queue/SPEED/ALGORITHM/n=FLOWS`, `threshold/...` (figure 4), `steady/...`
(figure 4 in the steady state) and `burst/...` (K at 10 Gbit/s with host bursts).

`steady/dctcp/n=48/growing/...` shows what it costs that ACKs with marks do not grow the window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from incastle.reproduction.papers import Experiment, Length

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKET_BITS = 12_000  # 1460 B and 40 B of headers
HOPS = 4  # a packet and its ACK, over two links each
ALGORITHMS = ("tcp", "dctcp")
FLOWS = (2, 20)


@dataclass(frozen=True)
class Speed:
    """A link speed with what belongs to it: delay, threshold, buffer, run and sampling times."""

    name: str
    rate: float
    delay: str
    threshold: int
    buffer: int
    seconds: float
    sample: str


@dataclass(frozen=True)
class Window:
    """The times of a run in seconds: flows from `start` to `stop`, evaluated in between."""

    duration: float
    start: float
    stop: float
    evaluated_from: float
    evaluated_to: float

    def overrides(self) -> dict[str, str]:
        """Give the window as a scenario's keys."""
        return {
            "run.duration": f"{self.duration:g} s",
            "flows.long.start": f"{self.start:g} s",
            "flows.long.stop": f"{self.stop:g} s",
            "measure.warmup": f"{self.evaluated_from:g} s",
            "measure.until": f"{self.evaluated_to:g} s",
        }


# Buffers and K as the papers give them. All sample every ten round trips; RTT 1 ms, 100 us, 100 us.
SPEEDS = {
    "100M": Speed("100 Mbit/s", 100e6, "0.25 ms", 20, 200, 10, "10 ms"),
    "1G": Speed("1 Gbit/s", 1e9, "25 us", 20, 200, 1, "1 ms"),
    "10G": Speed("10 Gbit/s", 10e9, "25 us", 65, 2000, 1, "1 ms"),
}

_SEEDS = {Length.QUICK: 1, Length.DEFAULT: 5, Length.FULL: 20}
_STEADY_SEEDS = {Length.QUICK: 1, Length.DEFAULT: 2, Length.FULL: 20}

# Figure 4: K = 1 to 10, 15 to 30 in steps of 5, 40 to 100 in steps of 10; quick: six of them.
_K = (*range(1, 11), *range(15, 31, 5), *range(40, 101, 10))
_K_QUICK = (1, 10, 20, 40, 50, 100)
# The steady state is finer around the knee of the theory: 17 for 2 flows, 47.6 to 58.6 for 48.
_K_STEADY = {
    2: (1, 4, 7, 10, 12, 14, 16, 18, 20, 25, 30, 50, 75, 100),
    48: (1, 10, 20, 30, 35, 40, 45, 50, 55, 60, 65, 70, 80, 100),
}
_K_STEADY_QUICK = {2: (1, 10, 14, 20, 50, 100), 48: (1, 20, 40, 50, 60, 100)}
_K_BURST = (5, 10, 15, 20, 25, 30, 40, 50, 65, 80, 100)
_K_BURST_QUICK = (5, 20, 40, 65, 80, 100)
# Bursts of 1 and of 32 packets; hosts that coalesce wait a few microseconds for more.
BURSTS = {
    1: {"host.tso_burst": "1"},
    32: {"host.tso_burst": "32", "host.interrupt_coalescing": "10 us"},
}
STEADY_FLOWS = (2, 48)
GROWING = "growing/"
SWINGS = {2: 20, 48: 100}
"""For each number of flows a K of every length at which the queue never runs empty."""
_GROWTHS = {"": {}, GROWING: {"transport.grow_on_ece": "true"}}


def queue_window(speed: str, length: Length) -> Window:
    """Figures 2 and 3: 10 s evaluated from 4 to 9; the faster links 1 s, its second half."""
    if speed == "100M":
        return _long_window(length)
    if length is Length.QUICK:
        return Window(0.3, 0.01, 0.3, 0.15, 0.3)
    return Window(1, 0.01, 1, 0.5, 1)


def threshold_window(length: Length) -> Window:
    """Figure 4: 10 s evaluated from 4 to 9."""
    return _long_window(length)


def steady_window(length: Length) -> Window:
    """Figure 4's steady state: evaluated from 20 to 40 s; quick: from 12 to 20 s."""
    if length is Length.QUICK:
        return Window(20, 0.1, 20, 12, 20)
    return Window(40, 0.1, 40, 20, 40)


def burst_window() -> Window:
    """K at 10 Gbit/s: 0.2 s, evaluated over its second half."""
    return Window(0.2, 0.01, 0.2, 0.1, 0.2)


def thresholds(length: Length) -> tuple[int, ...]:
    """Give figure 4's values of K."""
    return _K_QUICK if length is Length.QUICK else _K


def steady_thresholds(flows: int, length: Length) -> tuple[int, ...]:
    """Give the values of K in the steady state."""
    return (_K_STEADY_QUICK if length is Length.QUICK else _K_STEADY)[flows]


def burst_thresholds(length: Length) -> tuple[int, ...]:
    """Give the values of K at 10 Gbit/s."""
    return _K_BURST_QUICK if length is Length.QUICK else _K_BURST


def experiments(length: Length) -> list[Experiment]:
    """List every experiment of the paper at this length."""
    return [*_queues(length), *_thresholds(length), *_steady(length), *_bursts(length)]


def _queues(length: Length) -> list[Experiment]:
    found = []
    for key, speed in SPEEDS.items():
        window = queue_window(key, length)
        cases: list[tuple[str, int, str, dict[str, str]]] = [
            (name, flows, "", {}) for name in ALGORITHMS for flows in FLOWS
        ]
        if key == "100M":
            together = {"host.jitter": "0 s", "flows.long.start_spread": "0 s"}
            cases.append(("tcp", 20, "/jitter=0", {"host.jitter": "0 s"}))
            cases.append(("tcp", 20, "/together", together))
        for name, flows, suffix, extra in cases:
            overrides = {**_link(speed, name), **window.overrides(), **extra}
            overrides["network.senders"] = str(flows)
            found.append(
                _experiment(
                    f"queue/{key}/{name}/n={flows}{suffix}",
                    overrides,
                    _SEEDS[length],
                    speed.rate * window.duration,
                )
            )
    return found


def _thresholds(length: Length) -> list[Experiment]:
    """10 ms per link: RTT 40 ms."""
    window = threshold_window(length)
    base = {"network.delay": "10 ms", "network.senders": "2", **window.overrides()}
    bits = SPEEDS["100M"].rate * window.duration
    seeds = _SEEDS[length]
    return [
        _experiment("threshold/tcp", base, seeds, bits),
        *(
            _experiment(f"threshold/dctcp/k={k}", {**base, **_mark(k)}, seeds, bits)
            for k in thresholds(length)
        ),
    ]


def _steady(length: Length) -> list[Experiment]:
    window = steady_window(length)
    bits = SPEEDS["100M"].rate * window.duration
    seeds = _STEADY_SEEDS[length]
    found = []
    for flows in STEADY_FLOWS:
        base = {"network.delay": "10 ms", "network.senders": str(flows), **window.overrides()}
        base["measure.queue.every"] = "2 ms"  # for the queue's turns; a round trip is 40 ms
        growths = _GROWTHS if flows == max(STEADY_FLOWS) else {"": {}}
        found.append(_experiment(f"steady/tcp/n={flows}", base, seeds, bits))
        found += [
            _experiment(f"steady/dctcp/n={flows}/{kind}k={k}", base | _mark(k) | extra, seeds, bits)
            for kind, extra in growths.items()
            for k in steady_thresholds(flows, length)
        ]
    return found


def _bursts(length: Length) -> list[Experiment]:
    speed = SPEEDS["10G"]
    window = burst_window()
    base = {**_link(speed, "dctcp"), **window.overrides(), "network.senders": "2"}
    return [
        _experiment(
            f"burst/dctcp/b={burst}/k={k}",
            {**base, **_mark(k), **host},
            _SEEDS[length],
            speed.rate * window.duration,
        )
        for burst, host in BURSTS.items()
        for k in burst_thresholds(length)
    ]


def _long_window(length: Length) -> Window:
    """10 s at 100 Mbit/s; quick: 3 s, with every time scaled alike."""
    if length is Length.QUICK:
        return Window(3, 0.1, 2.85, 1.2, 2.7)
    return Window(10, 0.1, 9.5, 4, 9)


def _link(speed: Speed, algorithm: str) -> dict[str, str]:
    """Give a link speed as a scenario's keys; K only where there is a marker."""
    keys = {
        "network.rate": speed.name,
        "network.delay": speed.delay,
        "switch.buffer": f"{speed.buffer} packets",
        "host.queue": f"{speed.buffer} packets",
        "measure.queue.every": speed.sample,
    }
    return keys | (_mark(speed.threshold) if algorithm == "dctcp" else {})


def _mark(threshold: int) -> dict[str, str]:
    return {"switch.queue.marking_threshold": f"{threshold} packets"}


def _experiment(name: str, overrides: Mapping[str, str], seeds: int, bits: float) -> Experiment:
    scenario = f"{name.split('/')[2 if name.startswith('queue/') else 1]}.toml"
    return Experiment(name, scenario, dict(overrides), seeds, bits / PACKET_BITS * HOPS)
