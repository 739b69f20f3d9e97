# ruff: noqa: INP001
"""Compares the controller of delay.py with DCTCP on the network of versus.toml.

Prints goodput and queue of each, and draws window and queue over time. docs/own-controller.md leads
there.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

import incastle as ic

SCENARIO = Path(__file__).with_name("versus.toml")
PORT = "switch->receiver"
RUNS: dict[str, dict[str, str | int]] = {
    "Delay, 100 us": {"transport.congestion": "delay.py:Delay"},
    "Delay, 90 us": {
        "transport.congestion": "delay.py:Delay",
        "transport.parameters.target_us": 90,
    },
    "DCTCP, K = 65": {"transport.congestion": "dctcp"},
}


def line(name: str, result: ic.Result) -> str:
    """Give goodput, queue and drops of a run."""
    port = result.links.row(by_predicate=pl.col("port") == PORT, named=True)
    goodput = sum(result.flows["goodput_bit_s"].to_list()) / 1e9
    return (
        f"{name:14} {goodput:8.2f} {port['utilisation']:8.1%} {port['mean_queue_packets']:10.1f}"
        f" {port['max_queue_packets']:8} {port['drops']:8}"
    )


def draw(results: dict[str, ic.Result], out: Path) -> None:
    """Draw the first flow's window, and the queue, of each run."""
    from matplotlib.figure import Figure  # noqa: PLC0415  slow to import

    figure = Figure(figsize=(7, 6), layout="constrained")
    windows, queues = figure.subplots(2, 1, sharex=True)
    for name, result in results.items():
        own = result.windows.filter(pl.col("flow") == 0)
        windows.plot(own["time_s"] * 1e3, own["cwnd_bytes"] / 1e3, label=name, linewidth=1)
        queue = result.queue_samples.filter(pl.col("port") == PORT)
        queues.plot(queue["time_s"] * 1e3, queue["packets"], linewidth=1)
    windows.set(ylabel="window of one flow (KB)", ylim=(0, None))
    windows.legend()
    queues.set(xlabel="time (ms)", ylabel="queue (packets)", ylim=(0, None))
    figure.savefig(out)


def main() -> None:
    """Run all, print a table, draw a figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("versus.png"), help="the figure")
    parser.add_argument("--quick", action="store_true", help="a shorter run")
    arguments = parser.parse_args()
    scenario = ic.load(SCENARIO)
    if arguments.quick:
        scenario = scenario.with_overrides({"run.duration": "25 ms"})
    results = {name: ic.run(scenario.with_overrides(changes)) for name, changes in RUNS.items()}
    print(f"{'':14} {'Gbit/s':>8} {'busy':>8} {'mean queue':>10} {'longest':>8} {'drops':>8}")
    for name, result in results.items():
        print(line(name, result))
    draw(results, arguments.out)
    print(f"figure: {arguments.out}")


if __name__ == "__main__":
    main()
