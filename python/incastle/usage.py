"""Messages about commands, options and arguments that are wrong, instead of Typer's own."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OTHER_COMMANDS = {
    "simulate": "run",
    "sim": "run",
    "start": "run",
    "lint": "check",
    "optimize": "find",
    "optimise": "find",
    "search": "find",
    "compare": "diff",
    "draw": "plot",
    "figure": "plot",
    "benchmark": "bench",
    "convert": "import",
    "predict": "estimate",
    "why": "explain",
    "reading": "readings",
    "robustness": "robust",
    "sensitivity": "robust",
    "sobol": "robust",
}
"""Other words for commands."""

OTHER_OPTIONS = {
    "-o": "--out",
    "--output": "--out",
    "--duration": '--set run.duration="10 ms"',
    "--rtt": "--delay, a quarter of the round-trip time (choose-k), or --set network.delay=...",
}
"""What is written in place of other options."""

MORE = {
    "--seeds": "a number of seeds is expected; for 1, 2 and 3 write --seed 1 --seeds 3",
}
"""What is expected after an option, where its type does not say it."""

VALUE = r"Invalid value for '?(?P<name>[^':]+)'?: "

FORMS = (
    (VALUE + r".*as an integer", "{given}: a whole number is expected"),
    (VALUE + r".*as a number", "{given}: a number is expected"),
    (VALUE + r".*greater than or equal to (?P<bound>\S+)", "{given}: at least {bound} is expected"),
    (VALUE + r".*less than or equal to (?P<bound>\S+)", "{given}: at most {bound} is expected"),
    (VALUE + r"(?:Value error, )?(?P<why>.+)", "{given}: {why}"),
    (r"Option '(?P<name>.+)' does not take a value\.", "{name} has no value: write it alone"),
    (r"Option '(?P<name>.+)' requires an argument\.", "{name} needs a value"),
    (r"Missing (?:argument|option) '(?P<name>.+)'\.", "{name} is missing"),
    (r"Got unexpected extra argument(?:\(?s?\)?) \((?P<why>.+)\)", "unexpected: {why}{remedy}"),
    (
        r"No such option: (?P<name>\S+) \(Possible options: (?P<why>.+)\)",
        "no option {name}: did you mean {why}?",
    ),
    (r"No such option: (?P<name>\S+)(?: Did you mean (?P<why>\S+)\?)?", "no option {name}{meant}"),
    (r"No such command '(?P<name>.+?)'\..*", "no command {name}{meant}"),
)
"""Typer's messages, and ours."""


def message(typers: str, words: Sequence[str], commands: Iterable[str]) -> str:
    """Return the message for one of Typer's.

    Args:
        typers: Typer's message.
        words: the words of the command line.
        commands: the names of all commands.

    """
    for pattern, form in FORMS:
        found = re.fullmatch(pattern, typers.strip(), re.DOTALL)
        if found is not None:
            parts = {name: text or "" for name, text in found.groupdict().items()}
            name = parts.get("name", "")
            if form.startswith("no option") and name in OTHER_OPTIONS:
                return f"no option {name}: write {OTHER_OPTIONS[name]}"
            meant = parts.get("why") or _command_meant(name, commands)
            parts["given"] = _given(name, words)
            parts["meant"] = f": did you mean {meant}?" if meant else ""
            parts["remedy"] = _remedy(parts.get("why", ""), words)
            why = MORE.get(name) if "as an integer" in pattern else None
            return f"{parts['given']}: {why}" if why else form.format(**parts)
    return typers.replace("Value error, ", "")


def _given(name: str, words: Sequence[str]) -> str:
    """Return an option as it was typed, with its value."""
    options = [one.strip() for one in name.split("/")]
    for place, word in enumerate(words):
        if word in options and place + 1 < len(words):
            return f"{word} {words[place + 1]}"
        if word.partition("=")[0] in options:
            return word
    return name


def _remedy(extra: str, words: Sequence[str]) -> str:
    """Return the remedy for words that no argument takes: a value without quotes, a second file."""
    first = extra.partition(" ")[0]
    if first.endswith(".toml"):
        if not {"run", "estimate", "find"} & {*words}:
            return ""
        return "; one scenario at a time"
    place = words.index(first) if first in words[2:] else 0
    option, value = words[max(place - 2, 0)], words[max(place - 1, 0)]
    if place == 0 or value.startswith("-") or not option.startswith("-"):
        return ""
    return f'; a value with blanks has quotes: {option} "{value} {extra}"'


def _command_meant(name: str, commands: Iterable[str]) -> str:
    if name.startswith("-"):
        return ""
    near = get_close_matches(name, list(commands), 1)
    return OTHER_COMMANDS.get(name.lower()) or (near[0] if near else "")
