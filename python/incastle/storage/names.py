"""Names of files that come from outside: what one shows on a terminal is what it is.

A name with a control character, a line separator or a mark that turns the direction of writing
round looks like another one: `gpj.exe` like `exe.jpg`. These are the Unicode general categories Cc,
Cf, Zl and Zp (The Unicode Standard, section 4.5), invisible all of them. Names within a result are
relative paths of plain parts besides, so that none leads out of its directory. The program `dcudp`
has the same rules in `crates/dcudp/src/protocol/name.rs`.

Leaves out names that look alike in two alphabets.
"""

from __future__ import annotations

import re
import unicodedata

UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp"})
"""Control, format (the marks of direction among them), line and paragraph separators."""
DRIVE = re.compile(r"[A-Za-z]:")


def unseen(name: str) -> str | None:
    """Describe the invisible character of a name, if any."""
    found = next((letter for letter in name if unicodedata.category(letter) in UNSEEN), None)
    if found is None:
        return None
    what = unicodedata.name(found, "a control character")
    return f"the name {name!a} has an invisible character in it: U+{ord(found):04X}, {what}"


def no_plain_path(name: str) -> str | None:
    """Describe why a name is no relative path of plain parts, if so."""
    if (why := unseen(name)) is not None:
        return why
    shown = ascii(name)
    if "\\" in name:
        return f"the name {shown} has a backslash in it: folders are divided by /"
    if name.startswith("/") or DRIVE.match(name):
        return f"the name {shown} is absolute: it must be relative to the directory"
    if any(part in {"", ".", ".."} for part in name.split("/")):
        return f"the name {shown} has an empty part, or '.' or '..', and could lead elsewhere"
    return None
