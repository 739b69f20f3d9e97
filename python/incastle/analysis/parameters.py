"""Parameters of complete scenarios: as one level of keys, and what tells some scenarios apart.

A name that tells a scenario apart is what a legend says of its curve: `DCTCP`, or `CUBIC, load
0.5`. Defaults that follow from the congestion control, such as DCTCP's gain, are no part of it.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

from incastle import _engine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Value = int | float | str | bool | None

IGNORED = ("run.seed", "measure.")
CONTROLS = ("congestion", "transport.kind")
"""Ends of the keys that select an algorithm, on which the defaults of others depend."""
OF_ALL = tuple(f"transport.{key.rpartition('.')[2]}" for key in CONTROLS)
"""The same keys of [transport], which hold for all groups of flows."""
CONTROLLER = ".controller"
"""End of the key that selects a user's own controller: FILE:CLASS or MODULE:CLASS."""
SOURCE = ".controller_source"
"""End of the key with the hash of a controller's file: it differs where only the file does."""
HASH_DIGITS = 4
"""Of a controller's file, where nothing else tells two apart."""
MAX_NAMED = 3
"""Keys in a name."""


def flat(table: Mapping[str, Any]) -> dict[str, Value]:
    """Return a table of TOML as one level: `flows.storage.count`."""
    return dict(_flat(table, ""))


def _flat(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Value]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            yield f"{prefix}{key}", json.dumps(value, default=str, ensure_ascii=False)
        else:
            yield f"{prefix}{key}", value


def with_tables(scenarios: Sequence[Mapping[str, Value]]) -> list[dict[str, Value]]:
    """Name each table in whose place another scenario has a value: "on" where that is "off"."""
    every = dict.fromkeys(key for one in scenarios for key in one)
    off = {key for one in scenarios for key, value in one.items() if value == "off"}
    return [
        {
            **{
                key: "on" if key in off else "(table)"
                for key in every
                if key not in one and any(other.startswith(f"{key}.") for other in one)
            },
            **one,
        }
        for one in scenarios
    ]


def of_series(scenario: str) -> dict[str, Value]:
    """Return what runs share that are one series: all but the seed and what is measured."""
    every = flat(tomllib.loads(scenario))
    return {key: value for key, value in every.items() if not key.startswith(IGNORED)}


def told_apart(scenarios: Sequence[Mapping[str, Value]]) -> list[str] | None:
    """Return a name for each, of what differs; none where that does not tell all apart."""
    plain = [_with_controller(one) for one in with_tables(scenarios)]
    sources = [{**one, **_sources(whole)} for one, whole in zip(plain, scenarios, strict=True)]
    return _told_apart(plain) or _told_apart(sources)


def _with_controller(scenario: Mapping[str, Value]) -> dict[str, Value]:
    """Put a user's own controller in the place of `custom`; leave out the hash of its file."""
    found = dict(scenario)
    for key in [key for key in scenario if key.endswith(CONTROLLER)]:
        found[f"{key.removesuffix(CONTROLLER)}.congestion"] = found.pop(key)
    return {key: value for key, value in found.items() if not key.endswith(SOURCE)}


def _sources(scenario: Mapping[str, Value]) -> dict[str, Value]:
    """Return the hashes of the controllers' files, short."""
    every = ((key, value) for key, value in scenario.items() if key.endswith(SOURCE))
    return {key: str(value)[:HASH_DIGITS] for key, value in every}


def _told_apart(scenarios: Sequence[Mapping[str, Value]]) -> list[str] | None:
    every = dict.fromkeys(key for one in scenarios for key in one)
    differing = [key for key in every if len({one.get(key) for one in scenarios}) > 1]
    if len(differing) > 1 and "name" in differing:
        differing.remove("name")
    controls = [key for key in OF_ALL if key in differing]
    controls = controls or [key for key in differing if key.endswith(CONTROLS)]
    selected = [[str(one[key]) for key in controls if key in one] for one in scenarios]
    others = [
        key
        for key in differing
        if not key.endswith(CONTROLS)
        and not ("transport." in key and _follows(key, scenarios, selected))
        and not (key.startswith("flows.") and f"transport.{last(key)}" in differing)
    ]
    proper = algorithms([select[0] for select in selected if select])
    names = [
        ", ".join(
            [
                *(proper[name] for name in select[:1]),
                *(_named(key, one) for key in others[:MAX_NAMED]),
            ]
        )
        for select, one in zip(selected, scenarios, strict=True)
    ]
    return names if all(names) and len(set(names)) == len(names) else None


def _follows(
    key: str, scenarios: Sequence[Mapping[str, Value]], selected: Sequence[Sequence[str]]
) -> bool:
    """Return whether a key has one value for each algorithm, and not the same for all."""
    values: dict[tuple[str, ...], set[Value]] = {}
    for select, one in zip(selected, scenarios, strict=True):
        values.setdefault(tuple(select), set()).add(one.get(key))
    return len(values) > 1 and all(len(of_one) == 1 for of_one in values.values())


def _named(key: str, scenario: Mapping[str, Value]) -> str:
    value = scenario.get(key)
    if value is None:
        return f"no {words(key)}"
    return str(value) if key == "name" else f"{words(key)} {value}"


def summary(scenario: str) -> str:
    """Name the algorithms and the network: `DCTCP, leaf-spine (leaves 8, spines 2, ...)`."""
    every = tomllib.loads(scenario)
    transports = [group["transport"] for group in every.get("flows", {}).values()]
    named = algorithms(
        dict.fromkeys(
            one.get("controller", one["congestion"]) if "congestion" in one else one["kind"]
            for one in transports
        )
    )
    network = every["network"]
    counts = [f"{words(key)} {value:,}" for key, value in network.items() if type(value) is int]
    sizes = f" ({', '.join(counts)})" if counts else ""
    return ", ".join([*named.values(), f"{network['topology']}{sizes}"])


def last(key: str) -> str:
    """Return the end of a key."""
    return key.rpartition(".")[2]


def words(key: str) -> str:
    """Return the end of a key as words: `network.hosts_per_leaf` is "hosts per leaf"."""
    return last(key).replace("_", " ")


def algorithm(name: str) -> str:
    """Return the name of an algorithm as papers write it; of a user's own the class."""
    return _names().get(name) or name.rpartition(":")[2]


def algorithms(names: Iterable[str]) -> dict[str, str]:
    """Return the same of several; classes of one name with their files: Lean (old.py)."""
    found = {name: algorithm(name) for name in names}
    alike = Counter(found.values())
    return {
        name: proper if alike[proper] == 1 else f"{proper} ({name.rpartition(':')[0] or name})"
        for name, proper in found.items()
    }


@cache
def _names() -> dict[str, str]:
    """Return the proper name of each algorithm and transport."""
    catalog = dict(_engine.catalog())
    entries = [*catalog["algorithms"], *catalog["transports"]]
    proper = {name: text.partition(":")[0] for name, text in entries}
    return {
        name: text if text.replace("-", "").lower() == name.replace("-", "") else name.upper()
        for name, text in proper.items()
    }
