"""Results: what one run measured, as polars frames with units in their column names.

Column names end in their unit: `_s` seconds, `_bytes` bytes, `_bit_s` bits per second; everything
else is a count, a name or a ratio. A missing value means "did not happen": a flow without
`completed_s` was not finished when the run ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from incastle.analysis import bins, completions
from incastle.errors import TableMissing
from incastle.storage import results as store

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from typing import Unpack

    import polars as pl
    from matplotlib.figure import Figure

    from incastle.plotting.api import Choices

HOW_TO_ASK = {
    "queue_samples": 'queue = { every = "100 us" }',
    "buffer_occupancy": 'buffer_occupancy = { every = "1 ms" }',
    "windows": 'window = ["GROUP:INDEX"]',
    "throughput": 'throughput = { every = "10 ms" }',
    "timeouts": "timeouts = true",
    "dcudp_modes": 'dcudp = { flows = "all", every = "1 ms" }',
    "dcudp_rates": 'dcudp = { flows = "all", every = "1 ms" }',
    "goodput": "goodput = true",
    "rates": 'qcn = { flows = "all" }',
    "cnms": 'qcn = { ports = "all" }',
    "pause_record": "pauses = true",
    "events": 'events = ["GROUP:INDEX"]',
}
"""Keys under [measure] for the tables that a run does not store by default."""


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The measurements of one run. Immutable; pickles; saves to a directory and loads from it.

    Attributes:
        name: the scenario's name.
        seed: the seed of this run.
        digest: 16 hexadecimal digits over every event of every port and flow. Two runs with equal
            digests took exactly the same course.
        version: the version of Incastle that computed it.
        wall_s: seconds that the engine took, from building the network to tables in memory.
        interrupted: true if the run was stopped before its end; everything here is up to then.
        totals: the summary's numbers by name: counts as int, `simulated_s` as float.
        scenario: the complete scenario as TOML, every default written out.
        tables: every table by name; those below are attributes as well.
        warnings: what was probably not as intended in the scenario, each with its place.
        sources: files of controllers of your own, by their paths from the scenario's folder.
        captures: files in pcapng by the name of their link, with `[measure] pcap`.
        offered_load: what the scenario offers to links on average, as `Scenario.offered_load`;
            empty where an earlier version wrote the result.
        world: of a run in another world than the simulated one, its name, its dilation, how late
            packets were, and whether it is `comparable`; empty of a simulation.

    """

    name: str
    seed: int
    digest: str
    version: str
    wall_s: float
    interrupted: bool
    totals: dict[str, int | float]
    scenario: str
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    sources: dict[str, str] = field(default_factory=dict)
    captures: dict[str, bytes] = field(default_factory=dict)
    offered_load: dict[str, Any] = field(default_factory=dict)
    world: dict[str, Any] = field(default_factory=dict)

    @property
    def summary(self) -> pl.DataFrame:
        """One row: the totals of the run, as in `totals`."""
        return self.table("summary")

    @property
    def flows(self) -> pl.DataFrame:
        """One row per flow.

        flow, group, index, from, to, started_s, completed_s (null if not completed), sent_bytes,
        delivered_bytes (application, in order), goodput_bit_s, packets, retransmissions, timeouts,
        fast_retransmits, marks, drops, ecn_reductions, cnms (notifications received),
        send_buffer_drops (datagrams that found the send buffer full).
        """
        return self.table("flows")

    @property
    def transfers(self) -> pl.DataFrame:
        """One row per finite transfer, request or response.

        group, index, kind, flow, started_s, completed_s and fct_s (the flow completion time, from
        the write or the request to the last byte at the receiver; both null if not completed),
        bytes, deadline_s (the instant at which it is due, null without one); with [measure]
        slowdown also ideal_fct_s (null of rounds) and slowdown (null also where not completed).
        """
        return self.table("transfers")

    @property
    def rounds(self) -> pl.DataFrame:
        """One row per request to several servers, incast or all-reduce, where there are any.

        group, index (the client or the receiver, else 0), round, started_s, completed_s (null if
        not completed), bytes, goodput_bit_s, deadline_s (null without one); with [measure]
        timeouts also timeouts, and idle_s of the link to the client or receiver.
        """
        return self.table("rounds")

    @property
    def timeouts(self) -> pl.DataFrame:
        """One row per retransmission timeout, with `[measure] timeouts`.

        time_s, flow, group, index, host (whose timer), round (of a barrier, else null),
        kind (lost-retransmission, last-packet, full-window, few-duplicates), port (where
        the first missing segment was last sent and dropped, empty if it was in flight),
        lost_segments, waited_s, rto_s, idle_s (this timeout's share of the time in which
        the receiver's link was idle).
        """
        return self.table("timeouts")

    @property
    def events(self) -> pl.DataFrame:
        """Every event of recorded flows, in order, with `[measure] events`.

        time_s, flow, end (sender or receiver), event, packet (its number among those of its end),
        kind (what the packet is), port, seq, bytes, ack, count, queue_packets, queue_bytes,
        limit_packets, limit_bytes, serialisation_s, propagation_s, cwnd_bytes, ssthresh_bytes,
        rate_bit_s, waited_s, rto_s, priority, paused_until_s, cause; null or empty where the event
        has none. docs/explain.md has the events; `explain` makes sentences of them.
        """
        return self.table("events")

    @property
    def rates(self) -> pl.DataFrame:
        """The reaction points of QCN at each change, with `[measure] qcn`.

        time_s, flow, current_bit_s, target_bit_s, byte_stage, time_stage, memory. `flow` is the
        number in `flows`; `with_groups("rates")` adds its group and index.
        """
        return self.table("rates")

    @property
    def cnms(self) -> pl.DataFrame:
        """The samples of QCN's congestion points, with `[measure] qcn`.

        time_s, port, flow, psi (0: no notification), feedback_bytes, queue_bytes, interval_bytes.
        """
        return self.table("cnms")

    @property
    def queues(self) -> pl.DataFrame:
        """How long each switch port's queue had each length: a time-weighted histogram.

        port, packets (the bin's lower edge; one bin per packet up to 1024, then powers of two),
        seconds. Packets that wait count, the one being sent does not. Bounded by [measure]
        warmup and until.
        """
        return self.table("queues")

    @property
    def queue_samples(self) -> pl.DataFrame:
        """The queue at regular instants, with `[measure] queue`.

        time_s, port, packets, bytes.
        """
        return self.table("queue_samples")

    @property
    def buffer_occupancy(self) -> pl.DataFrame:
        """Buffer occupancy of switches at regular instants, with `[measure] buffer_occupancy`.

        time_s, switch, port ("all": of all ports together; ports that store nothing have no row),
        bytes, threshold_bytes (of "all" the shared memory, of a port what it may hold then).
        """
        return self.table("buffer_occupancy")

    @property
    def goodput(self) -> pl.DataFrame:
        """Bytes received by each host per millisecond, from time zero to its last bin.

        time_s (start of the bin), host, bytes (to the application, in order), ip_bytes (received on
        the host's link, headers and ACKs included, Ethernet framing not). A millisecond in which
        nothing arrived has zeros; in `table("goodput")` and in goodput.parquet it has no row.
        """
        return self.over_time("goodput")

    @property
    def links(self) -> pl.DataFrame:
        """One row per port and its link.

        port, packets, bytes, drops, marks, cnms (notifications sent), utilisation (0 to 1),
        mean_queue_packets, max_queue_packets, bounded by [measure] warmup and until; max_bytes
        (stored at once by the port of a switch, in the whole run).
        """
        return self.table("links")

    @property
    def switch_ports(self) -> pl.DataFrame:
        """The rows of `links` whose port is a switch's: those that have a queue in `queues`."""
        return self.links.join(self.queues.select("port").unique(), on="port", how="semi")

    @property
    def windows(self) -> pl.DataFrame:
        """The sender's state over time, with `[measure] window`.

        time_s, flow, cwnd_bytes, ssthresh_bytes, alpha (0 to 1), rtt_s (smoothed). `flow` is the
        number in `flows`; `with_groups("windows")` adds its group and index.
        """
        return self.table("windows")

    @property
    def throughput(self) -> pl.DataFrame:
        """Bytes delivered per interval and flow, with `[measure] throughput`.

        time_s (start of the interval), flow, bytes. `flow` is the number in `flows`;
        `with_groups("throughput")` adds its group and index. From time zero to a flow's last
        interval: one in which nothing arrived has zero bytes, and no row in `table("throughput")`
        and in throughput.parquet.
        """
        return self.over_time("throughput")

    def completions(self, sizes: Sequence[int] = completions.SIZE_CLASSES) -> pl.DataFrame:
        """Summarise the FCTs of the transfers that began in the measured interval.

        By group, kind and size class: group, kind, min_bytes (the class: from this to the next of
        `sizes`), begun, completed, unfinished, and mean_s, median_s, p95_s, p99_s, p99_9_s; with
        [measure] slowdown also slowdown_mean, slowdown_median, slowdown_p95, slowdown_p99,
        slowdown_p99_9. Each statistic has two more columns, its ends, such as p99_low_s and
        p99_high_s: with the unfinished transfers at what they had reached, and at infinity. Where
        the ends differ the statistic itself is null.

        Raises:
            ValueError: the sizes do not ascend from above 0.

        """
        return completions.by_size(self.observed, sizes)

    @property
    def observed(self) -> pl.DataFrame:
        """The rows of `transfers` that began in the measured interval, with two more columns each.

        fct_low_s and fct_high_s: both the FCT, or of an unfinished transfer the time that it had
        lasted, and infinity; with [measure] slowdown also slowdown_low and slowdown_high.
        """
        return completions.observed(self.transfers, self.totals)

    def with_groups(self, name: str) -> pl.DataFrame:
        """Return a table that has a column `flow`, with `group` and `index` added from `flows`.

        Raises:
            TableMissing: this result has no such table.

        """
        names = self.flows.select("flow", "group", "index")
        return self.over_time(name).join(names, on="flow", how="left", maintain_order="left")

    def over_time(self, name: str) -> pl.DataFrame:
        """Return a table by its name; `goodput` and `throughput` with empty bins as zeros.

        Raises:
            TableMissing: this result has no such table.
            ResultError: the empty bins are far too many; `table` has the others.

        """
        frame = self.table(name)
        return bins.filled(name, frame, self.scenario) if name in bins.OWNERS else frame

    @property
    def pauses(self) -> pl.DataFrame:
        """One row per port and priority that was paused by PFC, or that paused its peer.

        port, priority, pauses (of the port by its peer), expired (of these, with their quanta),
        paused_s, longest_s, pause_frames, resume_frames; pauses_sent, refreshes_sent,
        resumes_sent (by the port's switch); headroom_drops; storms, storm_s, storm_drops.
        """
        return self.table("pauses")

    def table(self, name: str) -> pl.DataFrame:
        """Return a table by its name, as it is saved.

        Raises:
            TableMissing: this result has no such table; the message has the remedy.

        """
        frame = self.tables.get(name)
        if frame is None:
            self._missing(name)
        return frame

    def _missing(self, name: str) -> NoReturn:
        if name in HOW_TO_ASK:
            advice = f"its scenario did not ask for it: under [measure], write {HOW_TO_ASK[name]}"
            if name == "rates" and "dcudp_rates" in self.tables:
                advice = "these are QCN's; those of DCUDP are in dcudp_rates (plot: dcudp-rates)"
            if name == "windows" and "dcudp_rates" in self.tables:
                advice += "; what DCUDP has instead is in dcudp_rates (plot: dcudp-rates)"
        else:
            advice = "it has " + ", ".join(sorted(self.tables))
        raise TableMissing(f"the result of {self.name!r} has no table {name!r}: {advice}")

    def plot(self, kind: str, **choices: Unpack[Choices]) -> Figure:
        """Draw a kind of plot of this result; `incastle.plot.draw` has the choices.

        Raises:
            PlotError: no such kind, or there is nothing to draw.
            TableMissing: this result has no such table.

        """
        from incastle.plotting import api  # noqa: PLC0415  slow to import: only to draw

        return api.draw(self, kind, **choices)

    def to_summary(self) -> dict[str, Any]:
        """Return what summary.json holds: all but tables, captures and the contents of files."""
        summary = {
            "name": self.name,
            "version": self.version,
            "seed": self.seed,
            "digest": self.digest,
            "interrupted": self.interrupted,
            "wall_s": self.wall_s,
            "totals": self.totals,
            "warnings": list(self.warnings),
            "offered_load": self.offered_load,
        }
        if self.sources:
            summary["sources"] = list(self.sources)
        return {**summary, "world": self.world} if self.world else summary

    @property
    def directory_name(self) -> str:
        """NAME-DIGEST8: the default name of its directory."""
        return f"{store.file_name(self.name)}-{self.digest[:8]}"

    def save(self, directory: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write scenario.toml, summary.json and one Parquet file per table into a new directory.

        Captures are in its folder `captures`, NAME.pcapng each.

        All or nothing: the directory appears under its name only when it is complete. `force`
        replaces an earlier result there, in one step where the file system can.

        Raises:
            ResultError: the directory exists (and `force` is false, or it is no result, or a
                symbolic link), or a name in `sources` leads out of it.
            OSError: it cannot be written: no permission, a full disk.

        """
        return store.save(self, Path(directory), force=force)

    @classmethod
    def load(cls, directory: str | os.PathLike[str], *, verify: bool = True) -> Result:
        """Read back what `save` wrote.

        Args:
            directory: of a result.
            verify: hold every file against its hash in summary.json.

        Raises:
            ResultError: the directory is missing, or no complete result, or a file was changed
                since: the message names it.

        """
        return cls(**store.load(Path(directory), verify=verify))

    def __repr__(self) -> str:
        """Name, seed, digest, and the size of each table."""
        sizes = ", ".join(f"{name} {len(frame)}" for name, frame in self.tables.items())
        state = ", interrupted" if self.interrupted else ""
        return f"<Result {self.name!r}, seed {self.seed}, digest {self.digest}{state}; {sizes}>"

    def _repr_html_(self) -> str:
        """Show a figure, the totals and how to see it in motion, as the value of a cell."""
        from incastle.display import html  # noqa: PLC0415  slow to import: only to show

        return html.of_result(self)
