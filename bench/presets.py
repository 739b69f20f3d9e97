"""Every congestion control of TCP under every preset: the table of docs/validation.md.

    .venv/bin/python bench/presets.py

Controls and presets are those that the engine lists. Each cell is one run of an example with its
seed, in a minute for all. Leaves out the spread over seeds: `incastle sweep` has it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import incastle as ic
from incastle import _engine

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


def fct(row: dict[str, Any]) -> str:
    """Write the 99th percentile of FCTs, or the bounds that unfinished transfers leave."""
    low, high = row["completion_p99_low_s"], row["completion_p99_high_s"]
    if low is None:
        return "-"
    if high is None or high == float("inf"):
        return f"≥ {ms(low)} ms"
    return f"{ms(low)} ms" if ms(low) == ms(high) else f"{ms(low)} to {ms(high)} ms"


def main() -> None:
    """Print the table: a row for each control and preset, three columns for each workload."""
    rows: dict[tuple[str, str], list[str]] = {}
    head = ["control", "preset"]
    for workload, settings in WORKLOADS.items():
        head += [f"{workload}: Gbit/s", "timeouts", "FCT, p99"]
        scenario = ic.load(EXAMPLES / f"{workload}.toml").with_overrides(settings)
        keys = {"transport.congestion": "algorithms", "transport.preset": "presets"}
        values = {key: names(scenario, listed, key) for key, listed in keys.items()}
        for row in ic.sweep(scenario, values).frame.iter_rows(named=True):
            control, preset = (row[key] for key in keys)
            rows.setdefault((control, preset), []).extend(
                (f"{1e-9 * row['goodput_bit_s']:.3g}", f"{row['timeouts']:,}", fct(row))
            )
    for cells in (head, ["---", "---", *["--:"] * (len(head) - 2)]):
        print(f"| {' | '.join(cells)} |")
    for (control, preset), measured in rows.items():
        print(f"| {control} | `{preset}` | {' | '.join(measured)} |")


if __name__ == "__main__":
    main()
