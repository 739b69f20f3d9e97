"""The tracks of a trace by their owners: flows, ports, hosts and rounds of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from incastle.report.tracks import Tracks
    from incastle.results import Result

FAMILIES = {"round": "Rounds", "flow": "Flows", "port": "Ports", "host": "Hosts"}
"""The columns that name owners, and the tracks above theirs, in their order."""


class Places:
    """Returns the tracks of owners; one is made when something is on it.

    Attributes:
        tracks: where they are.

    """

    def __init__(self, result: Result, tracks: Tracks) -> None:
        self.tracks = tracks
        self._root = f"{result.name}, seed {result.seed}"
        for family in FAMILIES.values():
            tracks.track((self._root, family))
        flows = result.flows
        ends = ("group", "index", "from", "to")
        self._flows = list(zip(*(flows[name] for name in ends), strict=True))
        self._ports = {port: rank for rank, port in enumerate(result.links["port"])}

    def name(self, flow: int) -> str:
        """Return the name of a flow, GROUP:INDEX."""
        group, index, *_ = self._flows[flow]
        return f"{group}:{index}"

    def track(self, family: str, owner: int | str, *inner: str) -> int:
        """Return the track of an owner, or one below it."""
        path = self._path(family, owner)
        own = self.tracks.track(path, self._rank(family, owner))
        return self.tracks.track((*path, *inner)) if inner else own

    def counter(self, family: str, owner: int | str, name: str) -> int:
        """Return a counter of an owner."""
        self.track(family, owner)
        return self.tracks.track((*self._path(family, owner), name), is_counter=True)

    def _path(self, family: str, owner: int | str) -> tuple[str, ...]:
        name = str(owner)
        if isinstance(owner, int):
            _, _, sender, receiver = self._flows[owner]
            name = f"{self.name(owner)}, {sender} to {receiver}"
        return self._root, FAMILIES[family], name

    def _rank(self, family: str, owner: int | str) -> int | None:
        if isinstance(owner, int):
            return owner
        return self._ports.get(owner) if family == "port" else None
