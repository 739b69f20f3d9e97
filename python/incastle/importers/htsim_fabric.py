"""The networks that htsim builds: leaf-spine, or three tiers with pods, from their numbers.

Source: Broadcom/csg-htsim, sim/datacenter/fat_tree_topology.cpp: set_custom_params (how many
switches there are), init_network (which are linked), add_failed_link, set_params (fat trees by
their number of hosts alone).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from incastle.importers import quantities
from incastle.importers.lines import BrokenFile
from incastle.importers.model import HOST, Failure, Link, Network, Node, graph, names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from incastle.importers.lines import Lines
    from incastle.scenario import Value

TWO_TIERS, THREE_TIERS = 2, 3
MAX_HOSTS, MAX_LINKS = 1_000_000, 4_000_000
MAX_K = 128
"""Ports of a switch of a fat tree, in the scenario language."""
DEFAULT_RATE = 100 * 10**9
"""HOST_NIC of sim/datacenter/main.h."""
DEFAULT_DELAY = 10**6
"""hop_latency of sim/datacenter/main_ndp.cpp."""


@dataclass(frozen=True)
class Tier:
    """The switches of a tier, and their links downwards.

    Attributes:
        line: where it begins.
        speed: of a link downwards, in bit/s.
        delay: of a link downwards, in picoseconds.
        latency: of a switch, in picoseconds.
        down: links downwards of a switch.
        up: links upwards of a switch.
        bundle: parallel links downwards to the same neighbour.
        oversubscribed: the rates of its links downwards over those upwards.
        buffer: bytes of a port; 0 where the file has none.

    """

    line: int
    speed: int
    delay: int
    latency: int
    down: int
    up: int
    bundle: int = 1
    oversubscribed: int = 1
    buffer: int = 0


@dataclass(frozen=True)
class Fabric:
    """A network by its numbers.

    Attributes:
        lines: the file, for messages.
        hosts: how many there are.
        pod: hosts of a pod.
        tiers: from the hosts upwards.
        pod_line: the line to name where hosts and pods do not fit each other.
        origin: where it comes from, in words.

    """

    lines: Lines
    hosts: int
    pod: int
    tiers: Sequence[Tier]
    pod_line: int
    origin: str

    @property
    def pods(self) -> int:
        """How many pods there are."""
        return self.hosts // self.pod

    @property
    def edges(self) -> int:
        """Edge switches (ToR) of each pod."""
        return self.pod // self.tiers[0].down

    @property
    def aggregations(self) -> int:
        """Aggregation switches of each pod; the spines of two tiers."""
        return self.tiers[0].up // self.tiers[1].bundle

    @property
    def cores(self) -> int:
        """Core switches."""
        if len(self.tiers) == TWO_TIERS:
            return 0
        return self.aggregations * (self.tiers[1].up // self.tiers[2].bundle)

    def check(self) -> None:
        """Refuse what htsim refuses (set_custom_params).

        Raises:
            BrokenFile: the numbers do not fit each other.

        """
        if self.hosts > MAX_HOSTS:
            self.lines.fail(self.pod_line, f"Nodes {self.hosts}: at most {MAX_HOSTS} here")
        if self.hosts % self.pod:
            self._refuse_pod(f"Nodes {self.hosts} is no multiple of it")
        if len(self.tiers) == TWO_TIERS and self.hosts != self.pod:
            self._refuse_pod(f"two tiers are one pod, of Nodes {self.hosts}")
        if self.pod % self.tiers[0].down:
            self._refuse_pod(f"no multiple of Radix_Down {self.tiers[0].down} of tier 0")
        if self.tiers[0].bundle > 1:
            self.lines.fail(self.tiers[0].line, "tier 0: Bundle must be 1: a host has one link")
        ratio = self.tiers[0].down // self.tiers[0].up
        if ratio != self.tiers[0].oversubscribed:
            self.lines.fail(
                self.tiers[0].line,
                f"tier 0: Oversubscribed {self.tiers[0].oversubscribed}; Radix_Down "
                f"{self.tiers[0].down} over Radix_Up {self.tiers[0].up} is {ratio}",
            )
        links = self.hosts
        for number, above in enumerate(self.tiers[1:]):
            links = self._check_uplinks(number, self.tiers[number], above, links)
        if self._link_count > MAX_LINKS:
            self.lines.fail(
                self.pod_line, f"a network of {self._link_count} links: at most {MAX_LINKS} here"
            )
        self._tell_radix_down()

    def _refuse_pod(self, why: str) -> None:
        self.lines.fail(self.pod_line, f"Podsize {self.pod}: {why}")

    def _check_uplinks(self, number: int, tier: Tier, above: Tier, below: int) -> int:
        """Check the links from a tier to the one above; return how many htsim counts."""
        for word, radix, where in (("Up", tier.up, number), ("Down", above.down, number + 1)):
            if radix % above.bundle:
                self.lines.fail(
                    above.line,
                    f"tier {number + 1}: Bundle {above.bundle}; Radix_{word} {radix} of tier "
                    f"{where} is no multiple of it",
                )
        links, rest = divmod(below * tier.speed, above.speed * tier.oversubscribed)
        # Neighbours upwards of a switch: those of its pod, or of its place in the pod.
        sets = (self.pods, self.aggregations)[number]
        needed = Fraction(links * above.bundle, sets * above.down)
        if rest or needed != tier.up:
            self.lines.fail(
                tier.line,
                f"tier {number}: {below} links downwards of {quantities.rate(tier.speed)} and "
                f"Oversubscribed {tier.oversubscribed}, with links upwards of "
                f"{quantities.rate(above.speed)} to switches with Radix_Down {above.down} and "
                f"Bundle {above.bundle}, need Radix_Up {needed}, found {tier.up}",
            )
        return links

    def _tell_radix_down(self) -> None:
        """Report what htsim's arithmetic accepts and its wiring does otherwise."""
        wired = [self.edges * self.tiers[1].bundle]
        if len(self.tiers) == THREE_TIERS:
            wired.append(self.pods * self.tiers[2].bundle)
        for number, links in enumerate(wired, 1):
            if self.tiers[number].down != links:
                self.lines.note(
                    self.tiers[number].line,
                    f"tier {number}: Radix_Down {self.tiers[number].down}; htsim gives each of "
                    f"its switches {links} links downwards, and so does the scenario",
                )

    def network(self, failures: Sequence[Failure], file: str) -> Network:
        """Return the network, without the links that are down in `file`.

        By its numbers where the scenario language has a topology for it; else link by link.

        Raises:
            BrokenFile: a link that is not there cannot be down.

        """
        down = self._failed(failures, file)
        if down or any(tier.bundle > 1 for tier in self.tiers):
            links = list(self._links(down))
            network = graph(self.origin, range(self.hosts), links, self.lines.notes)
        else:
            network = self._by_numbers()
        for role, tier, count in zip(self._roles, self.tiers, self._switches, strict=True):
            if tier.buffer:
                (switches,) = names(Node(role, number) for number in range(count))
                network.buffers[switches] = tier.buffer
        return network

    @property
    def _roles(self) -> tuple[str, ...]:
        two = len(self.tiers) == TWO_TIERS
        return ("leaf", "spine") if two else ("edge", "aggregation", "core")

    @property
    def _switches(self) -> tuple[int, ...]:
        counts = (self.edges * self.pods, self.aggregations * self.pods, self.cores)
        return counts[: len(self.tiers)]

    @property
    def _link_count(self) -> int:
        edges, aggregations, *_ = self._switches
        return self.hosts + edges * self.tiers[0].up + aggregations * self.tiers[1].up

    def _delay(self, number: int) -> int:
        """Return the one-way delay of the links downwards of a tier, in picoseconds.

        A switch of htsim holds each packet for its latency before it queues. Half of it is put on
        each link of the switch: all paths between hosts take as long, and all packets of a queue
        are early by the same half, so that they meet as they would.
        """
        below = self.tiers[number - 1].latency if number else 0
        return self.tiers[number].delay + (self.tiers[number].latency + below) // 2

    def _by_numbers(self) -> Network:
        per_pod = (self.edges, self.aggregations)
        keys: dict[str, Value]
        labels: tuple[str, ...]
        if len(self.tiers) == TWO_TIERS:
            labels = ("hosts", "leaf-spine")
            words = ("leaves", "spines", "hosts_per_leaf")
            numbers = (*per_pod, self.tiers[0].down)
            keys = {"topology": "leaf-spine", **dict(zip(words, numbers, strict=True))}
        else:
            labels = ("hosts", "edge-aggregation", "aggregation-core")
            keys = self._three_tiers()
        groups: dict[str, dict[str, Value]] = {
            label: {
                "rate": quantities.rate(tier.speed),
                "delay": quantities.time(self._delay(number)),
            }
            for number, (label, tier) in enumerate(zip(labels, self.tiers, strict=True))
        }
        access = dict.fromkeys(range(self.hosts), self.tiers[0].speed)
        return Network(
            self.origin,
            keys,
            groups,
            access,
            sum(self._switches),
            self._link_count,
            notes=self.lines.notes,
        )

    def _three_tiers(self) -> dict[str, Value]:
        k = self.pods
        half = k // 2
        numbers = (self.edges, self.aggregations, self.cores, self.tiers[0].down)
        if k % 2 == 0 and numbers == (half, half, half * half, half):
            return {"topology": "fat-tree", "k": k}
        words = ("edges_per_pod", "aggregations_per_pod", "cores", "hosts_per_edge")
        return {"topology": "clos", "pods": k, **dict(zip(words, numbers, strict=True))}

    def _links(self, down: set[tuple[int, int]]) -> Iterator[Link]:
        """Yield every link (init_network); of a bundle that is down the first."""
        edge, aggregation, *_ = self._roles
        speeds = [tier.speed for tier in self.tiers]
        for host in range(self.hosts):
            leaf = Node(edge, host // self.tiers[0].down)
            yield Link(Node(HOST, host), leaf, speeds[0], self._delay(0))
        for switch in range(self.edges * self.pods):
            first = switch // self.edges * self.aggregations
            for other in range(first, first + self.aggregations):
                for _ in range(self.tiers[1].bundle):
                    ends = Node(edge, switch), Node(aggregation, other)
                    yield Link(*ends, speeds[1], self._delay(1))
        if self.cores:
            for switch in range(self.aggregations * self.pods):
                for core in range(switch % self.aggregations, self.cores, self.aggregations):
                    failed = (switch, core) in down
                    for _ in range(self.tiers[2].bundle - failed):
                        ends = Node(aggregation, switch), Node("core", core)
                        yield Link(*ends, speeds[2], self._delay(2))

    def _failed(self, failures: Sequence[Failure], file: str) -> set[tuple[int, int]]:
        """Return aggregation switch and core of each link that is down (add_failed_link)."""
        down: set[tuple[int, int]] = set()
        for failure in failures:
            count = self.aggregations * self.pods if self.cores else 0
            if failure.switch >= count:
                raise BrokenFile(
                    file,
                    failure.line,
                    f"aggregation switch {failure.switch}: the network has {count} that have "
                    "links to cores",
                )
            place = failure.switch % self.aggregations
            first = place * self.aggregations
            core = first + failure.link
            # Cores of this switch are those of its place; htsim counts as if they were adjacent.
            cores = range(place, min(self.tiers[1].up, self.cores - first), self.aggregations)
            if failure.link not in cores:
                right = ", ".join(str(link) for link in cores)
                raise BrokenFile(
                    file,
                    failure.line,
                    f"link {failure.link}: htsim takes it for one to core {core}; links of "
                    f"aggregation switch {failure.switch} that can fail there: {right or 'none'}",
                )
            down.add((failure.switch, core))
        return down


def default_fat_tree(lines: Lines, hosts: int, line: int) -> Fabric:
    """Return what htsim builds without a topology (set_params): k^3/4 hosts, k ports per switch.

    Raises:
        BrokenFile: there is no such k.

    """
    k = next((k for k in range(2, MAX_K + 1, 2) if k**3 // 4 == hosts), 0)
    if not k:
        lines.fail(
            line,
            f"Nodes {hosts}: no fat tree has as many hosts (k^3/4 for an even k up to {MAX_K}); "
            "name the network with --topology FILE",
        )
    lines.note(
        line,
        f"no topology: a fat tree of k = {k} with {quantities.rate(DEFAULT_RATE)} and "
        f"{quantities.time(DEFAULT_DELAY)} per link, as htsim has it by default",
    )
    half = k // 2
    tier = Tier(0, DEFAULT_RATE, DEFAULT_DELAY, 0, half, half)
    top = Tier(0, DEFAULT_RATE, DEFAULT_DELAY, 0, k, 0)
    return Fabric(lines, hosts, half * half, [tier, tier, top], line, "htsim's default")
