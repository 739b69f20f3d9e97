"""The program `dcudp`, the very same code as the binary, and under a class of Python."""

from __future__ import annotations

import sys

from incastle import _engine


def program(words: list[str]) -> int:
    """Run it with what was typed, and return its exit status."""
    name = _own_control(words)
    if name is None:
        status, _ = _engine.dcudp_program(["dcudp", *words])
        return status
    return _main_with(name, words)


def _own_control(words: list[str]) -> str | None:
    """Return the class of Python that --cc names, if it names one."""
    for place, word in enumerate(words):
        option, _, value = word.partition("=")
        if option == "--cc":
            value = value or (words[place + 1] if place + 1 < len(words) else "")
            return value if ".py:" in value else None
    return None


def _main_with(name: str, words: list[str]) -> int:
    """Run the program under a class of Python, and return its exit status."""
    from incastle.controllers import faults  # noqa: PLC0415  slow to import: only here
    from incastle.errors import IncastleError  # noqa: PLC0415  likewise
    from incastle.scenario import Scenario, controllers_of, runnable_form  # noqa: PLC0415  likewise
    from incastle.worlds.kernel import scenario_of  # noqa: PLC0415  likewise

    try:
        scenario = Scenario(scenario_of({"kind": "udt", "congestion": name}), "--cc")
        status, fault = _engine.dcudp_program(["dcudp", *words], runnable_form(scenario))
    except IncastleError as why:
        print(f"dcudp: {why}", file=sys.stderr)
        return why.exit_status
    if fault is None:
        return status
    kind = controllers_of(scenario)[fault.controller].kind
    print(f"dcudp: {faults.words_of(fault, kind, 'after the start')}", file=sys.stderr)
    return status or 1
