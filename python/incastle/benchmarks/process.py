"""`incastle bench`: packet-hops per second on this machine.

Each scenario runs in a separate process, so that neither caches nor memory of an earlier one
count. `wall_s` is the engine's work, from building the network to result tables in memory, `cpu_s`
the processor time of the same; `process_wall_s` is the whole process, the interpreter's start and
imports included. Peak memory is the process's largest resident size, measured by the process
itself. One run each: no warming up, no choice of the best of several; `incastle bench --all`
repeats (`incastle.benchmarks`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path
from typing import Any

from incastle.benchmarks.suite import BY_NAME, SHORT
from incastle.errors import IncastleError, InternalError


def shipped(name: str) -> Path:
    """Return the path of a shipped benchmark scenario."""
    return Path(str(resources.files("incastle") / "benchmarks" / f"{name}.toml"))


def find(name: str) -> Path:
    """Return the path of a shipped benchmark scenario by its name, or of a file.

    Raises:
        IncastleError: there is neither.

    """
    if name in BY_NAME:
        return shipped(name)
    if not Path(name).is_file():
        names = ", ".join(dict.fromkeys((*SHORT, *BY_NAME)))
        raise IncastleError(f"--scenario {name}: neither a file nor a benchmark; there are {names}")
    return Path(name)


def measure(scenario: Path, threads: int = 1) -> dict[str, Any]:
    """Run a scenario in a separate process, on as many threads.

    Returns:
        scenario (its name), threads, packet_hops_per_s and data_packets_per_s (of wall time),
        wall_s, cpu_s, simulated_s, peak_memory_bytes, events, process_wall_s, packet_hops,
        data_packets, digest.

    Raises:
        IncastleError: the scenario is not right.
        InternalError: the process died.

    """
    started = time.perf_counter()
    module = "incastle.benchmarks.process"
    command = [sys.executable, "-m", module, str(scenario), str(threads)]
    done = subprocess.run(command, capture_output=True, check=False)
    process_wall_s = time.perf_counter() - started
    message = done.stderr.decode(errors="replace").strip()
    if done.returncode == IncastleError.exit_status:
        raise IncastleError(message)
    if done.returncode != 0:
        raise InternalError(f"the benchmark of {scenario} ended with {done.returncode}: {message}")
    row: dict[str, Any] = json.loads(done.stdout)
    return {**row, "process_wall_s": process_wall_s}


def measure_here(scenario: Path, threads: int = 1) -> dict[str, Any]:
    """Run a scenario in this process, which must be fresh for its peak memory to mean anything.

    Uses the native module alone: polars would weigh more than the engine.
    """
    from incastle import _engine  # noqa: PLC0415  not needed by the parent

    text = scenario.read_text(encoding="utf-8")
    checked, found = _engine.parse(text, str(scenario), [])
    if checked is None:
        raise IncastleError("\n".join(f"{one.file}:{one.line}: {one.message}" for one in found))
    alone = checked.alone_because() if threads > 1 else None
    if alone is not None:
        raise IncastleError(f"{scenario} has {alone}: one thread runs it")
    outcomes: list[_engine.Output | _engine.Failure] = []
    before = time.process_time()
    limits = (1, threads)
    _engine.run_many([checked], limits, lambda _, outcome: outcomes.append(outcome), lambda _: None)
    cpu_s = time.process_time() - before
    outcome = outcomes[0]
    if isinstance(outcome, _engine.Failure):
        raise IncastleError(outcome.message)
    totals, wall_s = outcome.totals(), outcome.wall_s
    return {
        "scenario": checked.name,
        "threads": threads,
        "packet_hops_per_s": totals["packet_hops"] / wall_s,
        "data_packets_per_s": totals["data_packets"] / wall_s,
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "simulated_s": totals["simulated_s"],
        "peak_memory_bytes": peak_memory_bytes(),
        "events": totals["events"],
        "packet_hops": totals["packet_hops"],
        "data_packets": totals["data_packets"],
        "digest": outcome.digest,
    }


def peak_memory_bytes() -> int:
    """Return the largest resident size that this process has had, in bytes; 0 where unknown."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not ru_maxrss: on Linux it starts from the size of the parent that forked this process.
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource  # noqa: PLC0415  not on every platform
    except ImportError:
        return 0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


def main() -> None:
    """Measure a scenario, by its path and the number of threads, and print its row as JSON."""
    try:
        print(json.dumps(measure_here(Path(sys.argv[1]), int(sys.argv[2]))))
    except (IncastleError, OSError) as error:
        print(error, file=sys.stderr)
        sys.exit(IncastleError.exit_status)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
