"""Every congestion control of TCP under every preset: the table of docs/validation.md.

    .venv/bin/python bench/presets.py

Controls and presets are those that the engine lists. Each cell is the median of five runs of an
example, with different seeds, and their range where they differ. All take five minutes. Leaves out
intervals of confidence: `incastle sweep --seeds` has them.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import incastle as ic
from incastle import _engine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SEEDS = 5
EXAMPLES = Path(__file__).parents[1] / "examples"
WORKLOADS: dict[str, dict[str, Any]] = {
    "two-flows": {},
    "incast": {},
    "web-search": {"run.duration": "100 ms", "measure.until": "60 ms"},
}
"""Examples, and what is set."""


def names(scenario: ic.Scenario, listed: str, key: str) -> list[str]:
    """Return the names of a list of the engine that are values of a key."""
    found = []
    for name, _ in dict(_engine.catalog())[listed]:
        try:
            scenario.with_overrides({key: name})
        except ic.ScenarioError:
            continue
        found.append(name)
    return found


def ms(seconds: float) -> str:
    """Write milliseconds with three digits, without an exponent."""
    return f"{float(f'{1e3 * seconds:.3g}'):g}"


def spread(values: Sequence[float], write: Callable[[float], str]) -> str:
    """Write the median, and the range where it is one."""
    low, middle, high = (write(of(values)) for of in (min, median, max))
    return middle if low == high else f"{middle} ({low} to {high})"


def fct(rows: Sequence[dict[str, Any]]) -> str:
    """Write the 99th percentile of FCTs; `≥` where unfinished transfers leave it open above."""
    bounds = [(row["completion_p99_low_s"], row["completion_p99_high_s"]) for row in rows]
    known = [low for low, _ in bounds if low is not None]
    if not known:
        return "-"
    left_open = any(high is None or high > low for low, high in bounds if low is not None)
    return f"{'≥ ' if left_open else ''}{spread(known, ms)} ms"


def cells(rows: Sequence[dict[str, Any]]) -> tuple[str, str, str]:
    """Write goodput, timeouts and FCT of the runs of one control and preset."""
    goodput = spread([1e-9 * row["goodput_bit_s"] for row in rows], lambda value: f"{value:.3g}")
    return (
        goodput,
        spread([row["timeouts"] for row in rows], lambda value: f"{value:,.0f}"),
        fct(rows),
    )


def main() -> None:
    """Print the table: a row for each control and preset, three columns for each workload."""
    rows: dict[tuple[str, str], list[str]] = {}
    head = ["control", "preset"]
    for workload, settings in WORKLOADS.items():
        scenario = ic.load(EXAMPLES / f"{workload}.toml").with_overrides(settings)
        keys = {"transport.congestion": "algorithms", "transport.preset": "presets"}
        values = {key: names(scenario, listed, key) for key, listed in keys.items()}
        frame = ic.sweep(scenario, values, seeds=SEEDS).frame
        timed = frame["completion_p99_low_s"].is_not_null().any()
        columns = 3 if timed else 2
        head += [f"{workload}: Gbit/s", "timeouts", "FCT, p99"][:columns]
        for of, runs in frame.group_by(list(keys), maintain_order=True):
            written = cells(list(runs.iter_rows(named=True)))[:columns]
            rows.setdefault((str(of[0]), str(of[1])), []).extend(written)
    for line in (head, ["---", "---", *["--:"] * (len(head) - 2)]):
        print(f"| {' | '.join(line)} |")
    for (control, preset), measured in rows.items():
        print(f"| {control} | `{preset}` | {' | '.join(measured)} |")


if __name__ == "__main__":
    main()
