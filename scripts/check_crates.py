# ruff: noqa: INP001
"""Checks the crates from `cargo metadata`: arrows point down only, and every licence is allowed.

The order of the crates is the architecture: the engine depends on endpoints, not on scenarios, and
the pure side not on Python. The allowed licences are those of deny.toml. Leaves out, as `cargo
deny` checks them: the texts of the licences, yanked releases and security advisories.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OURS = "incastle-"
FOR_TESTS = {("incastle-cases", "dev"), ("incastle-recorder", "dev")}
"""The crates that every other may have for its tests, and as what."""

# Allowed dependencies of each crate inside the workspace, tests included.
BELOW: dict[str, set[str]] = {
    "units": set(),
    "cases": set(),
    "memory": set(),
    "congestion": {"units"},
    "queueing": {"units"},
    "recovery": {"units", "congestion"},
    "udt-wire": set(),
    "transport": {"units", "congestion", "recovery", "udt-wire"},
    "rdma": {"units", "congestion"},
    "routing": {"units", "memory"},
    "links": {"units", "queueing"},
    "events": {"units"},
    "slots": {"units", "memory"},
    "capture": {"units", "congestion", "queueing", "transport", "rdma"},
    "secure": {"units"},
    "socket": {"units", "congestion", "transport", "secure"},
    "dcudp": {"units", "congestion", "transport", "socket"},
    "softswitch": {"units", "links", "queueing"},
    "realtime": {"units", "congestion", "transport", "scenario", "socket", "softswitch"},
    "testbed": {
        *("units", "congestion", "queueing", "transport", "capture", "socket", "secure"),
        "softswitch",
    },
    "engine": {
        *("units", "memory", "congestion", "queueing", "transport", "rdma", "routing", "links"),
        *("events", "slots"),
    },
    "recorder": {"units", "memory", "congestion", "queueing", "transport", "engine"},
    "text": set(),
    "language": {"units", "congestion", "queueing", "transport", "rdma", "text"},
    "scenario": {"units", "congestion", "queueing", "transport", "text", "language"},
    "workload": {"units", "congestion", "transport", "rdma", "engine", "scenario"},
    "experiment": {
        *("units", "congestion", "queueing", "transport", "rdma", "capture", "engine", "recorder"),
        *("scenario", "workload"),
    },
    "explanation": {"units"},
    "estimate": {
        "memory",
        *("units", "congestion", "queueing", "transport", "engine", "recorder"),
        *("scenario", "workload", "experiment"),
    },
    "wasm": {
        *("units", "congestion", "engine", "recorder", "scenario", "experiment", "explanation"),
    },
    "xtask": {"units", "congestion", "scenario", "experiment"},
    "driver": {
        *("units", "congestion", "queueing", "transport", "capture", "engine", "recorder"),
        *("scenario", "workload", "experiment", "estimate"),
    },
    "python": {
        *("units", "congestion", "queueing", "transport", "capture", "engine", "scenario"),
        *("experiment", "estimate", "explanation", "driver", "secure", "socket", "dcudp", "memory"),
        *("softswitch", "realtime"),
    },
}


def metadata(folder: Path = ROOT) -> dict[str, Any]:
    """Return cargo's metadata of a workspace, the one of all crates, and its dependencies."""
    command = ["cargo", "metadata", "--format-version=1", "--locked"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"cargo metadata failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def arrows(packages: list[dict[str, Any]]) -> list[str]:
    """Return a complaint for each dependency inside the workspace that does not point down."""
    complaints = []
    for package in packages:
        name = package["name"].removeprefix(OURS)
        if name not in BELOW:
            complaints.append(f"{package['name']}: not in the list of scripts/check_crates.py")
            continue
        found = [(d["name"], d["kind"]) for d in package["dependencies"]]
        inside = [one[0] for one in found if one[0].startswith(OURS) and one not in FOR_TESTS]
        complaints += [
            f"{package['name']} must not depend on {dependency}"
            for dependency in inside
            if dependency.removeprefix(OURS) not in BELOW[name]
        ]
    return complaints


def allows(expression: str, allowed: set[str]) -> bool:
    """Evaluate an SPDX expression: OR needs one side allowed, AND both."""
    tokens = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))

    def disjunction() -> bool:
        value = conjunction()
        while tokens[:1] == ["OR"]:
            tokens.pop(0)
            value = conjunction() or value
        return value

    def conjunction() -> bool:
        value = operand()
        while tokens[:1] == ["AND"]:
            tokens.pop(0)
            value = operand() and value
        return value

    def operand() -> bool:
        word = tokens.pop(0)
        if word == "(":
            value = disjunction()
            tokens.pop(0)
            return value
        if tokens[:1] == ["WITH"]:
            tokens.pop(0)
            word = f"{word} WITH {tokens.pop(0)}"
        return word in allowed

    return disjunction()


def licences(packages: list[dict[str, Any]]) -> list[str]:
    """Return a complaint for each package whose licence is missing or not in deny.toml."""
    with (ROOT / "deny.toml").open("rb") as file:
        allowed = set(tomllib.load(file)["licenses"]["allow"])
    return [
        f"{package['name']} {package['version']}: licence {package['license']!r} is not allowed"
        for package in packages
        if not (package["license"] and allows(package["license"], allowed))
    ]


def main() -> None:
    """Check, and leave with status 1 where something is wrong."""
    packages = metadata()["packages"]
    ours = [package for package in packages if package["source"] is None]
    complaints = arrows(ours) + licences(packages)
    if complaints:
        sys.exit("\n".join(complaints))
    print(f"{len(ours)} crates point down only; the licences of {len(packages)} crates are allowed")


if __name__ == "__main__":
    main()
