"""The kind of a file, by its content."""

from __future__ import annotations

import re
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from incastle.errors import IncastleError
from incastle.importers.hpcc_keys import KEYS

if TYPE_CHECKING:
    from incastle.importers.lines import Lines

LOOK_AT = 50
"""Lines that decide."""


class Form(NamedTuple):
    """A kind of file: the simulator, what it describes, and its name."""

    system: str
    role: str
    words: str


class Kind(Enum):
    """The kinds of files that can be read."""

    HPCC_TOPOLOGY = Form("hpcc", "topology", "a topology of HPCC's simulator")
    HPCC_CONFIG = Form("hpcc", "configuration", "a configuration of HPCC's simulator")
    HPCC_FLOWS = Form("hpcc", "flows", "flows of HPCC's simulator")
    HTSIM_TOPOLOGY = Form("htsim", "topology", "a topology of htsim (.topo)")
    HTSIM_MATRIX = Form("htsim", "flows", "a connection matrix of htsim (.cm)")


def recognise(lines: Lines, system: str | None = None, role: str | None = None) -> Kind:
    """Determine what a file is; `system` and `role` are given by the caller.

    Raises:
        BrokenFile: it is nothing that can be read.
        IncastleError: it is, but not of this system or in this role.

    """
    fitting = [
        kind
        for kind in Kind
        if system in (None, kind.value.system) and role in (None, kind.value.role)
    ]
    if len(fitting) == 1:
        return fitting[0]
    found = _by_content(lines)
    if found is None:
        _refuse(lines, fitting)
    if found not in fitting:
        wanted = " or ".join(kind.value.words for kind in fitting)
        raise IncastleError(f"{lines.file}: looks like {found.value.words}, not like {wanted}")
    return found


def _by_content(lines: Lines) -> Kind | None:
    top = [
        text.split()
        for _, text in islice(lines.filled(), LOOK_AT)
        if not text.lstrip().startswith("#")
    ]
    if not top:
        return None
    if any(fields[0] in KEYS for fields in top):
        return Kind.HPCC_CONFIG
    words = {fields[0].lower() for fields in top}
    if words & {"tiers", "podsize", "tier"}:
        return Kind.HTSIM_TOPOLOGY
    if "connections" in words or any("->" in word for word in words):
        return Kind.HTSIM_MATRIX
    if not all(re.fullmatch(r"\d+", field, re.ASCII) for field in top[0]):
        return None
    return {1: Kind.HPCC_FLOWS, 3: Kind.HPCC_TOPOLOGY}.get(len(top[0]))


def _refuse(lines: Lines, fitting: list[Kind]) -> NoReturn:
    first, text = next(lines.filled(), (0, ""))
    if lines.file.endswith(".toml"):
        lines.fail(first, f"a TOML file; a scenario needs no import: incastle run {lines.file}")
    wanted = ", ".join(kind.value.words for kind in fitting)
    what = "an empty file" if not text else "not recognised"
    lines.fail(first, f"{what}; expected one of: {wanted}; --format names its simulator")
